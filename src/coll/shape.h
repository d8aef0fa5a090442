/*
 * shape.h - the shape of a call: what a builder and the choice of an algorithm see of it.
 *
 * Bytes are those of the type signature, so every member finds the same, whatever its
 * datatypes are. Nothing here needs the lock.
 */
#ifndef WEFT_COLL_SHAPE_H
#define WEFT_COLL_SHAPE_H

#include "coll/coll.h"

/* What a kind of call is like. */
struct weft_coll_facts {
    bool is_rooted;
    bool is_reduction;
    bool is_around;       /* in a neighbourhood */
    bool has_send_blocks; /* a rank gives a block for each peer; else one */
    bool has_recv_blocks; /* a rank gets a block from each peer; else one */
    bool has_own_sizes;   /* blocks have counts and places of their own */
};

const struct weft_coll_facts *weft_coll_facts(enum weft_coll_kind kind);

/* How many blocks this rank gives (is_send), or gets: one, or one for each peer. */
int weft_coll_peers(const struct weft_coll *coll, bool is_send);

/* Elements in all blocks of a side that follow each other. */
uint64_t weft_coll_elements(const struct weft_coll *coll, bool is_send);

/*
 * The shape of a call. `sizes` has room for the sizes of all blocks that it gives and
 * gets, weft_coll_size_count() of them, and lives as long as the shape.
 */
size_t weft_coll_size_count(const struct weft_coll *coll);
struct weft_shape weft_coll_shape(const struct weft_coll *coll, uint64_t *sizes);

#endif
