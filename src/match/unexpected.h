/*
 * unexpected.h - the store of unexpected messages.
 *
 * As in the Portals paper's second implementation: a few large buffers, made on need, are
 * filled by space, one message behind the other. A buffer is retired when the next
 * message does not fit, and goes back to the end of the line when everything in it was
 * taken. If a few survivors pin a retired buffer, they are copied out, into memory that
 * counts as well.
 *
 * When no room for a message of the largest size is left, the store is full; the
 * matcher's owner then takes further messages only by the grant rule (docs/design.md, 7),
 * and those live outside the buffers, counted as `beyond`. Needs the lock.
 */
#ifndef WEFT_MATCH_UNEXPECTED_H
#define WEFT_MATCH_UNEXPECTED_H

#include "match/match.h"
#include "engine/wire.h"

enum {
    WEFT_UNEXPECTED_BUFFERS = 3,
    WEFT_UNEXPECTED_BYTES = 2 * 1024 * 1024,
    WEFT_UNEXPECTED_OUTSIDE = 255, /* as `buffer`: in memory of its own */
};

struct weft_unexpected {
    struct weft_waiting waiting;
    struct weft_header header;
    struct weft_peer *from;
    uint32_t bytes; /* of this record in its buffer */
    uint8_t buffer;
    _Alignas(8) uint8_t data[];
};

struct weft_unexpected_buffer {
    uint8_t *memory; /* NULL: not made yet */
    uint32_t used;
    uint32_t live; /* bytes of records not taken yet */
};

struct weft_unexpected_store {
    struct weft_unexpected_buffer buffers[WEFT_UNEXPECTED_BUFFERS];
    uint32_t current;
    uint64_t beyond; /* bytes outside the buffers */
    bool is_full;
};

/*
 * Room for a message of `len` bytes, kept as waiting in `match`; header and data are
 * copied. NULL: no memory.
 */
struct weft_unexpected *weft_unexpected_keep(struct weft_unexpected_store *store,
                                             struct weft_match *match,
                                             struct weft_peer *from,
                                             const struct weft_header *header,
                                             const void *data, size_t len);

/* The message was taken out of the matcher: its room is free again. */
void weft_unexpected_free(struct weft_unexpected_store *store, struct weft_match *match,
                          struct weft_unexpected *message);

void weft_unexpected_close(struct weft_unexpected_store *store, struct weft_match *match);

#endif
