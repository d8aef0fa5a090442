#include "tools/token.h"

#include "engine/lock.h"

#include <assert.h>

enum {
    FIRST = 2, /* 0 is null, 1 is MPI_T_PVAR_ALL_HANDLES */
    LIMIT = 1 << 20,
};

enum weft_rc weft_token_take(struct weft_pool *pool, size_t size, void **object,
                             uintptr_t *token)
{
    uint32_t index;
    uint32_t generation;
    enum weft_rc rc;

    weft_assert_locked();
    if (pool->limit == 0) {
        weft_pool_init(pool, size, 16, LIMIT);
    }
    rc = weft_pool_take(pool, object, &index, &generation);
    if (rc == WEFT_OK) {
        *token = (uintptr_t)generation << 32 | (index + FIRST);
    }
    return rc;
}

void weft_token_give(struct weft_pool *pool, uintptr_t token)
{
    weft_assert_locked();
    assert((uint32_t)token >= FIRST);
    weft_pool_give(pool, (uint32_t)token - FIRST);
}

void *weft_token_find(const struct weft_pool *pool, uintptr_t token)
{
    const uint32_t low = (uint32_t)token;

    weft_assert_locked();
    if (low < FIRST || pool->limit == 0) {
        return NULL;
    }
    return weft_pool_find(pool, low - FIRST, (uint32_t)(token >> 32));
}
