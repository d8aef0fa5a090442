/*
 * tag_bits.h - what a network that matches messages compares, and what it delivers with
 * them (transport/tagged.h).
 *
 *   bits 0..30    the tag
 *   bits 31..58   the context of the communicator, without planes
 *   bit 59        SYNC: the sender waits for an acknowledgement; receives ignore it
 *   bit 60        ACK: an acknowledgement; its lower 32 bits are the number of the send
 *
 * Only messages between two processes (WEFT_PLANE_P2P) travel so. The data of a message:
 * the rank of its sender in the communicator above, and below the number of a
 * synchronous send.
 */
#ifndef WEFT_P2P_TAG_BITS_H
#define WEFT_P2P_TAG_BITS_H

#include "core/comm.h"
#include "match/match.h"
#include "transport/tagged.h"

#include <stdint.h>

enum {
    WEFT_BITS_TAG = 31,
    WEFT_BITS_CONTEXT = 28,
    WEFT_BITS_SYNC = WEFT_BITS_TAG + WEFT_BITS_CONTEXT, /* the place of the bit */
    WEFT_BITS_ACK,
    WEFT_BITS_COUNT,
};

_Static_assert((int)WEFT_BITS_COUNT == (int)WEFT_TAGGED_BITS,
               "the network compares all of them");
_Static_assert(WEFT_TAG_UB == (int)((UINT64_C(1) << WEFT_BITS_TAG) - 1),
               "every tag that MPI_TAG_UB allows, and no other, has its bits");
_Static_assert((UINT64_C(1) << WEFT_BITS_CONTEXT) * WEFT_PLANES == UINT64_C(1) << 31,
               "a context and its plane are the 31 bits of a packet's");

#define WEFT_BIT_SYNC (UINT64_C(1) << WEFT_BITS_SYNC)
#define WEFT_BIT_ACK  (UINT64_C(1) << WEFT_BITS_ACK)
#define WEFT_TAG_MASK ((UINT64_C(1) << WEFT_BITS_TAG) - 1)

static inline uint64_t weft_bits_of(uint32_t context, int tag)
{
    return (uint64_t)(context / WEFT_PLANES) << WEFT_BITS_TAG | (uint64_t)tag;
}

/* Of a receive, whose tag may be WEFT_ANY_TAG. */
static inline struct weft_tagged_pattern weft_bits_pattern(uint32_t context, int tag)
{
    const bool is_any = tag == WEFT_ANY_TAG;

    return (struct weft_tagged_pattern){
        .bits = weft_bits_of(context, is_any ? 0 : tag),
        .ignore = WEFT_BIT_SYNC | (is_any ? WEFT_TAG_MASK : 0),
    };
}

static inline int weft_bits_tag(uint64_t bits)
{
    return (int)(bits & WEFT_TAG_MASK);
}

static inline uint64_t weft_bits_data(int rank, uint32_t number)
{
    return (uint64_t)(uint32_t)rank << 32 | number;
}

static inline int weft_bits_rank(uint64_t data)
{
    return (int)(data >> 32);
}

static inline uint64_t weft_bits_ack(uint64_t data)
{
    return WEFT_BIT_ACK | (uint32_t)data;
}

#endif
