/* pool.c - memory for packets: see pool.h. */
#include "transport/dgram/pool.h"

#include <assert.h>
#include <stdlib.h>

void *weft_dgram_pool_take(struct weft_dgram_pool *pool, size_t bytes)
{
    void *block = malloc(bytes);

    if (block != NULL) {
        pool->used += bytes;
    }
    return block;
}

void weft_dgram_pool_give(struct weft_dgram_pool *pool, void *block, size_t bytes)
{
    assert(pool->used >= bytes);
    pool->used -= bytes;
    free(block);
}
