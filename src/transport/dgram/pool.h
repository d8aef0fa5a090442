/*
 * pool.h - memory for packets, whose sum is bounded. A block is freed with the number of
 * bytes that it was taken with.
 */
#ifndef WEFT_DGRAM_POOL_H
#define WEFT_DGRAM_POOL_H

#include "transport/dgram/core.h"

static inline bool weft_dgram_pool_has(const struct weft_dgram_pool *pool, size_t bytes)
{
    return pool->used + bytes <= pool->limit;
}

/* Takes a block, also beyond the limit; NULL: there is no memory. */
void *weft_dgram_pool_take(struct weft_dgram_pool *pool, size_t bytes);

void weft_dgram_pool_give(struct weft_dgram_pool *pool, void *block, size_t bytes);

#endif
