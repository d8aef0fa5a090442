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

/* The table is here because every call in slots reads it several times. */
static inline const struct weft_coll_facts *weft_coll_facts(enum weft_coll_kind kind)
{
    static const struct weft_coll_facts facts_of[WEFT_COLL_KINDS] = {
        [WEFT_COLL_BARRIER] = {0},
        [WEFT_COLL_BCAST] = {.is_rooted = true},
        [WEFT_COLL_GATHER] = {.is_rooted = true, .has_recv_blocks = true},
        [WEFT_COLL_GATHERV] = {.is_rooted = true,
                               .has_recv_blocks = true,
                               .has_own_sizes = true},
        [WEFT_COLL_SCATTER] = {.is_rooted = true, .has_send_blocks = true},
        [WEFT_COLL_SCATTERV] = {.is_rooted = true,
                                .has_send_blocks = true,
                                .has_own_sizes = true},
        [WEFT_COLL_ALLGATHER] = {.has_recv_blocks = true},
        [WEFT_COLL_ALLGATHERV] = {.has_recv_blocks = true, .has_own_sizes = true},
        [WEFT_COLL_ALLTOALL] = {.has_send_blocks = true, .has_recv_blocks = true},
        [WEFT_COLL_ALLTOALLV] = {.has_send_blocks = true,
                                 .has_recv_blocks = true,
                                 .has_own_sizes = true},
        [WEFT_COLL_ALLTOALLW] = {.has_send_blocks = true,
                                 .has_recv_blocks = true,
                                 .has_own_sizes = true},
        [WEFT_COLL_REDUCE] = {.is_rooted = true, .is_reduction = true},
        [WEFT_COLL_ALLREDUCE] = {.is_reduction = true},
        [WEFT_COLL_REDUCE_SCATTER] = {.is_reduction = true},
        [WEFT_COLL_REDUCE_SCATTER_BLOCK] = {.is_reduction = true},
        [WEFT_COLL_SCAN] = {.is_reduction = true},
        [WEFT_COLL_EXSCAN] = {.is_reduction = true},
        [WEFT_COLL_NEIGHBOR_ALLGATHER] = {.is_around = true, .has_recv_blocks = true},
        [WEFT_COLL_NEIGHBOR_ALLGATHERV] = {.is_around = true,
                                           .has_recv_blocks = true,
                                           .has_own_sizes = true},
        [WEFT_COLL_NEIGHBOR_ALLTOALL] = {.is_around = true,
                                         .has_send_blocks = true,
                                         .has_recv_blocks = true},
        [WEFT_COLL_NEIGHBOR_ALLTOALLV] = {.is_around = true,
                                          .has_send_blocks = true,
                                          .has_recv_blocks = true,
                                          .has_own_sizes = true},
        [WEFT_COLL_NEIGHBOR_ALLTOALLW] = {.is_around = true,
                                          .has_send_blocks = true,
                                          .has_recv_blocks = true,
                                          .has_own_sizes = true},
    };

    return &facts_of[kind];
}

/* How many blocks this rank gives (is_send), or gets: one, or one for each peer. */
int weft_coll_block_peers(const struct weft_coll *coll, bool is_send);

static inline int weft_coll_peers(const struct weft_coll *coll, bool is_send)
{
    const struct weft_coll_facts *facts = weft_coll_facts(coll->kind);

    return (is_send ? facts->has_send_blocks : facts->has_recv_blocks)
               ? weft_coll_block_peers(coll, is_send)
               : 1;
}

/* Elements in all blocks of a side that follow each other. */
uint64_t weft_coll_block_elements(const struct weft_coll *coll, bool is_send);

static inline uint64_t weft_coll_elements(const struct weft_coll *coll, bool is_send)
{
    switch (coll->kind) {
    case WEFT_COLL_BCAST: /* these have one block on each side */
    case WEFT_COLL_REDUCE:
    case WEFT_COLL_ALLREDUCE:
    case WEFT_COLL_SCAN:
    case WEFT_COLL_EXSCAN:
        return (uint64_t)(is_send ? coll->send.count : coll->recv.count);
    default:
        return weft_coll_block_elements(coll, is_send);
    }
}

/*
 * The shape of a call. `sizes` has room for the sizes of all blocks that it gives and
 * gets, weft_coll_size_count() of them, and lives as long as the shape.
 */
size_t weft_coll_size_count(const struct weft_coll *coll);

/* Bytes of a block, the same on all members; 0 if blocks have sizes of their own. */
uint64_t weft_coll_common_bytes(const struct weft_coll *coll);
struct weft_shape weft_coll_shape(const struct weft_coll *coll, uint64_t *sizes);

#endif
