/*
 * pool.h - objects of one size, found by a small index, whose age can be told.
 *
 * Stands on libc only. An object never moves once it was given out, and its index is
 * reused after weft_pool_give(). Each slot has a generation, raised when the object is
 * given back, so (index, generation) names an object for ever: weft_pool_find() answers
 * NULL for one that is gone. Memory comes in chunks that double (the first holds
 * `first` objects), so an unused pool costs nothing and a lookup is two loads.
 *
 * Threads: taking and giving need the library's lock; finding needs it too, unless the
 * caller knows that the object lives, because a chunk never moves.
 */
#ifndef WEFT_BASE_POOL_H
#define WEFT_BASE_POOL_H

#include "base/rc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_POOL_CHUNKS = 24 };

#define WEFT_POOL_IN_USE UINT32_MAX

/* What precedes an object: for pool.c, and for debuggers (runtime/queues.h). */
struct weft_pool_slot {
    uint32_t generation; /* of the object in use, or of the next one */
    uint32_t next_free;  /* index + 1 of the next free slot, or WEFT_POOL_IN_USE */
    max_align_t object[];
};

struct weft_pool {
    size_t object_size; /* set by weft_pool_init, header of the slot included */
    size_t zeroed;      /* leading bytes of an object that are zeroed when it is reused */
    uint32_t first;     /* objects in the first chunk, a power of two */
    uint32_t limit;     /* indices below this one may be used */
    _Atomic uint32_t made; /* slots that exist, in use or free */
    uint32_t in_use;
    uint32_t free_head; /* index + 1 of the first free slot, 0: none */
    void *chunk[WEFT_POOL_CHUNKS];
};

/* Fills `pool`; `first` must be a power of two, `limit` at most 2^27. */
void weft_pool_init(struct weft_pool *pool, size_t object_size, uint32_t first,
                    uint32_t limit);

/* Frees all chunks; the objects in them are gone. */
void weft_pool_fini(struct weft_pool *pool);

/*
 * A zeroed object (or as much of it as `zeroed` says), its index and generation (1 or
 * more). WEFT_ERR_NOMEM if no memory or no index is left; then nothing was written.
 */
WEFT_MUST_CHECK enum weft_rc weft_pool_take(struct weft_pool *pool, void **object,
                                            uint32_t *index, uint32_t *generation);

/* Gives the object with this index back; it must be in use. */
void weft_pool_give(struct weft_pool *pool, uint32_t index);

/*
 * Makes an object in use a new one with the next generation, which it returns: for an
 * owner who keeps objects that it has given out before.
 */
uint32_t weft_pool_renew(void *object);

/* The object, or NULL if there is none of this index and generation. */
void *weft_pool_find(const struct weft_pool *pool, uint32_t index, uint32_t generation);

/*
 * The same in line, for one of the first `pool->first` objects; NULL: weft_pool_find()
 * may know more.
 */
static inline void *weft_pool_find_first(const struct weft_pool *pool, uint32_t index,
                                         uint32_t generation)
{
    struct weft_pool_slot *slot;

    if (__builtin_expect(index >= pool->first || pool->chunk[0] == NULL, 0)) {
        return NULL;
    }
    slot = (struct weft_pool_slot *)(void *)((char *)pool->chunk[0] +
                                             index * pool->object_size);
    return __builtin_expect(
               slot->generation == generation && slot->next_free == WEFT_POOL_IN_USE, 1)
               ? slot->object
               : NULL;
}

/* Has there been an object of this index and generation, which was given back since? */
bool weft_pool_was(const struct weft_pool *pool, uint32_t index, uint32_t generation);

/* The generation of the object now in use at this index, or 0. */
uint32_t weft_pool_generation(const struct weft_pool *pool, uint32_t index);

#endif
