/*
 * pool.c - see pool.h. Chunk k holds first << k objects, so an index plus `first` has
 * its leading bit tell the chunk and the bits below it the place in it.
 */
#include "base/pool.h"

#include "base/reserve.h"

#include <assert.h>
#include <string.h>

/* Relaxed: a caller without the lock asks for a slot that it knows to exist. */
static uint32_t made(const struct weft_pool *pool)
{
    return atomic_load_explicit(&pool->made, memory_order_relaxed);
}

static unsigned log2_of(uint32_t x)
{
    return 31u - (unsigned)__builtin_clz(x);
}

static struct weft_pool_slot *slot_at(const struct weft_pool *pool, uint32_t index)
{
    uint32_t place = index + pool->first;
    unsigned bit = log2_of(place);
    char *chunk = pool->chunk[bit - log2_of(pool->first)];

    assert(pool->first > 0 && index < made(pool));
    return (struct weft_pool_slot *)(void *)(chunk +
                                             (place - (1u << bit)) * pool->object_size);
}

void weft_pool_init(struct weft_pool *pool, size_t object_size, uint32_t first,
                    uint32_t limit)
{
    const size_t align = _Alignof(max_align_t);
    size_t size = offsetof(struct weft_pool_slot, object) + object_size;

    assert(first > 0 && (first & (first - 1)) == 0);
    assert(limit <= (1u << 27));
    memset(pool, 0, sizeof(*pool));
    pool->object_size = (size + align - 1) / align * align;
    pool->zeroed = object_size;
    pool->first = first;
    pool->limit = limit;
}

void weft_pool_fini(struct weft_pool *pool)
{
    for (int i = 0; i < WEFT_POOL_CHUNKS; i++) {
        weft_reserve_give(pool->chunk[i]);
    }
    memset(pool, 0, sizeof(*pool));
}

/* Makes the chunk for the next new index, if it is not there yet. */
static enum weft_rc make_room(struct weft_pool *pool)
{
    unsigned bit = log2_of(made(pool) + pool->first);
    unsigned chunk = bit - log2_of(pool->first);

    if (made(pool) >= pool->limit || chunk >= WEFT_POOL_CHUNKS) {
        return WEFT_ERR_NOMEM;
    }
    if (pool->chunk[chunk] == NULL) {
        pool->chunk[chunk] = weft_reserve_take_zeroed(pool->object_size << bit);
    }
    return pool->chunk[chunk] == NULL ? WEFT_ERR_NOMEM : WEFT_OK;
}

enum weft_rc weft_pool_take(struct weft_pool *pool, void **object, uint32_t *index,
                            uint32_t *generation)
{
    uint32_t found;
    struct weft_pool_slot *slot;

    assert(pool->first > 0);
    if (pool->free_head != 0) {
        found = pool->free_head - 1;
        slot = slot_at(pool, found);
        pool->free_head = slot->next_free;
        memset(slot->object, 0, pool->zeroed);
    } else {
        if (make_room(pool) != WEFT_OK) {
            return WEFT_ERR_NOMEM;
        }
        found = made(pool);
        atomic_store_explicit(&pool->made, found + 1, memory_order_relaxed);
        slot = slot_at(pool, found);
        slot->generation = 1;
    }
    slot->next_free = WEFT_POOL_IN_USE;
    pool->in_use++;
    *object = slot->object;
    *index = found;
    *generation = slot->generation;
    return WEFT_OK;
}

static uint32_t next_generation(uint32_t generation)
{
    return generation == INT32_MAX ? 1 : generation + 1;
}

uint32_t weft_pool_renew(void *object)
{
    struct weft_pool_slot *slot =
        (struct weft_pool_slot *)(void *)((char *)object -
                                          offsetof(struct weft_pool_slot, object));

    assert(slot->next_free == WEFT_POOL_IN_USE);
    slot->generation = next_generation(slot->generation);
    return slot->generation;
}

void weft_pool_give(struct weft_pool *pool, uint32_t index)
{
    struct weft_pool_slot *slot = slot_at(pool, index);

    assert(index < made(pool) && slot->next_free == WEFT_POOL_IN_USE);
    slot->generation = next_generation(slot->generation);
    slot->next_free = pool->free_head;
    pool->free_head = index + 1;
    pool->in_use--;
}

void *weft_pool_find(const struct weft_pool *pool, uint32_t index, uint32_t generation)
{
    struct weft_pool_slot *slot;

    if (weft_unlikely(index >= made(pool))) {
        return NULL;
    }
    slot = slot_at(pool, index);
    if (weft_unlikely(slot->generation != generation ||
                      slot->next_free != WEFT_POOL_IN_USE)) {
        return NULL;
    }
    return slot->object;
}

/* Generations go round, so those of the last half of a round have been. */
bool weft_pool_was(const struct weft_pool *pool, uint32_t index, uint32_t generation)
{
    const uint32_t round = INT32_MAX;
    uint32_t next;

    if (index >= made(pool) || generation == 0 || generation > round) {
        return false;
    }
    next = slot_at(pool, index)->generation;
    return generation != next && (next + round - generation) % round < round / 2;
}

uint32_t weft_pool_generation(const struct weft_pool *pool, uint32_t index)
{
    const struct weft_pool_slot *slot;

    if (index >= made(pool)) {
        return 0;
    }
    slot = slot_at(pool, index);
    return slot->next_free == WEFT_POOL_IN_USE ? slot->generation : 0;
}
