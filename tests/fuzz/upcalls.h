/*
 * upcalls.h - upcalls for targets that take frames: they look at all bytes of a packet,
 * and keep some.
 */
#ifndef WEFT_FUZZ_UPCALLS_H
#define WEFT_FUZZ_UPCALLS_H

#include "fuzz.h"

#include "transport/transport.h"

static int above; /* what the upcalls call the peer */
static unsigned offers;

static uint8_t sum_of(const struct weft_peer *from, const void *header, const void *bytes,
                      size_t len)
{
    uint8_t sum = 0;

    demand((void *)from == &above, "a frame of nobody");
    for (size_t i = 0; i < WEFT_HEADER_BYTES; i++) {
        sum ^= ((const uint8_t *)header)[i];
    }
    for (size_t i = 0; i < len; i++) {
        sum ^= ((const uint8_t *)bytes)[i];
    }
    return sum;
}

static void control(void *owner, struct weft_peer *from, const void *header,
                    const void *bytes, size_t len)
{
    (void)owner;
    (void)sum_of(from, header, bytes, len);
}

/* Some are kept, for as often as they are offered until a few others were. */
static enum weft_taken arrived(void *owner, struct weft_peer *from, const void *header,
                               const void *bytes, size_t len, unsigned flags)
{
    (void)owner;
    demand(flags == 0, "a queue that nobody shares");
    return (sum_of(from, header, bytes, len) + offers++ / 4) % 8 == 1 ? WEFT_KEEP
                                                                      : WEFT_TAKEN;
}

#endif
