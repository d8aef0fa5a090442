#include "core/handle.h"

#include <assert.h>

_Static_assert(sizeof(uintptr_t) == 8, "handles keep their generation in the upper half");
_Static_assert(WEFT_KIND_END <= 16, "a kind has four bits");

static struct weft_pool *pools[WEFT_KIND_END];
static uintptr_t outside[WEFT_KIND_END]; /* 0: all are in the pool */

static uint32_t index_of(uintptr_t handle)
{
    return (uint32_t)handle & ((1u << WEFT_HANDLE_INDEX_BITS) - 1);
}

/* Bit 31 counts as part of the kind, so that a value with it set matches none. */
static unsigned kind_of(uintptr_t handle)
{
    return (uint32_t)handle >> WEFT_HANDLE_INDEX_BITS;
}

static uintptr_t make(enum weft_kind kind, uint32_t index, uint32_t generation)
{
    return (uintptr_t)generation << 32 | (uintptr_t)kind << WEFT_HANDLE_INDEX_BITS |
           index;
}

void weft_handle_register(enum weft_kind kind, struct weft_pool *pool)
{
    assert(kind > 0 && kind < WEFT_KIND_END);
    assert(pools[kind] == NULL || pools[kind] == pool);
    pools[kind] = pool;
}

const struct weft_pool *weft_handle_pool(enum weft_kind kind)
{
    return pools[kind];
}

void weft_handle_register_outside(enum weft_kind kind, uintptr_t handle)
{
    assert(kind_of(handle) == (unsigned)kind);
    outside[kind] = handle;
}

enum weft_rc weft_handle_take(enum weft_kind kind, void **object, uintptr_t *handle)
{
    uint32_t index;
    uint32_t generation;
    enum weft_rc rc = weft_pool_take(pools[kind], object, &index, &generation);

    assert(pools[kind] != NULL);
    if (rc == WEFT_OK) {
        *handle = make(kind, index, generation);
    }
    return rc;
}

void weft_handle_give(enum weft_kind kind, uintptr_t handle)
{
    assert(kind_of(handle) == (unsigned)kind);
    weft_pool_give(pools[kind], index_of(handle));
}

uintptr_t weft_handle_renew(uintptr_t handle, void *object)
{
    return (uintptr_t)weft_pool_renew(object) << 32 | (uint32_t)handle;
}

void *weft_handle_find(enum weft_kind kind, uintptr_t handle)
{
    const struct weft_pool *pool = pools[kind];

    if (weft_unlikely(kind_of(handle) != (unsigned)kind || pool == NULL)) {
        return NULL;
    }
    return weft_pool_find(pool, index_of(handle), (uint32_t)(handle >> 32));
}

int weft_handle_toint(uintptr_t handle)
{
    return (int)(uint32_t)handle;
}

uintptr_t weft_handle_fromint(enum weft_kind kind, int number)
{
    uintptr_t low = (uint32_t)number;
    uint32_t generation;

    if (weft_handle_is_predefined(low)) {
        return low;
    }
    if (kind_of(low) != (unsigned)kind || pools[kind] == NULL) {
        return 0;
    }
    if (low == (uint32_t)outside[kind]) {
        return outside[kind];
    }
    generation = weft_pool_generation(pools[kind], index_of(low));
    return generation == 0 ? 0 : make(kind, index_of(low), generation);
}

enum weft_kind weft_handle_kind(uintptr_t handle)
{
    const unsigned kind = kind_of(handle);

    return kind < WEFT_KIND_END && handle >> 32 != 0 ? (enum weft_kind)kind : 0;
}

const char *weft_kind_name(enum weft_kind kind)
{
    static const char *const names[WEFT_KIND_END] = {
        [WEFT_KIND_OP] = "operation",
        [WEFT_KIND_COMM] = "communicator",
        [WEFT_KIND_GROUP] = "group",
        [WEFT_KIND_WIN] = "window",
        [WEFT_KIND_FILE] = "file",
        [WEFT_KIND_SESSION] = "session",
        [WEFT_KIND_MESSAGE] = "message",
        [WEFT_KIND_INFO] = "info object",
        [WEFT_KIND_ERRHANDLER] = "errhandler",
        [WEFT_KIND_REQUEST] = "request",
        [WEFT_KIND_DATATYPE] = "datatype",
    };

    return names[kind];
}
