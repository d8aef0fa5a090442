#include "base/table.h"

#include "base/reserve.h"

#include <assert.h>

enum { SLOTS_LEAST = 8 };

static uint64_t *no_slots[1];
static uint64_t removed = UINT64_MAX;

void weft_table_open(struct weft_table *table)
{
    *table = (struct weft_table){.slots = no_slots};
}

/* As good as drawn, so that ranks which follow each other do not also step behind each
 * other; and odd, so that the steps lead to every slot. */
static uint32_t step_of(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(key >> 32) | 1;
}

void *weft_table_find_behind(const struct weft_table *table, uint64_t key, uint32_t at)
{
    const uint32_t step = step_of(key);
    uint64_t *item;

    do {
        at = (at + step) & table->mask;
        item = table->slots[at];
    } while (item != NULL && *item != key);
    return item;
}

static void put(struct weft_table *table, uint64_t *item)
{
    const uint32_t step = step_of(*item);
    uint32_t at = (uint32_t)*item & table->mask;

    assert(table->count + table->removed <= table->mask);
    while (table->slots[at] != NULL) {
        at = (at + step) & table->mask;
    }
    table->slots[at] = item;
}

static void *item_in(const struct weft_table *table, uint32_t at)
{
    return table->slots[at] != &removed ? table->slots[at] : NULL;
}

static void free_slots(struct weft_table *table)
{
    if (table->slots != no_slots) {
        weft_reserve_give(table->slots);
    }
}

/* At most half of the slots are used, and a quarter of new ones, so that a search is
 * short. Removed items are left behind. */
static bool make_room(struct weft_table *table)
{
    struct weft_table fresh = {.count = table->count};
    uint32_t slots = SLOTS_LEAST;

    while (slots < 4 * table->count) {
        slots *= 2;
    }
    fresh.mask = slots - 1;
    fresh.slots = weft_reserve_take_zeroed(slots * sizeof(uint64_t *));
    if (fresh.slots == NULL) {
        return false;
    }
    for (uint32_t at = 0; at <= table->mask; at++) {
        if (item_in(table, at) != NULL) {
            put(&fresh, table->slots[at]);
        }
    }
    free_slots(table);
    *table = fresh;
    return true;
}

void *weft_table_add(struct weft_table *table, uint64_t key, size_t bytes)
{
    uint64_t *item;

    assert(key != removed && weft_table_find(table, key) == NULL);
    if (2 * (table->count + table->removed + 1) > table->mask + 1 && !make_room(table)) {
        return NULL;
    }
    item = weft_reserve_take_zeroed(bytes);
    if (item == NULL) {
        return NULL;
    }
    *item = key;
    put(table, item);
    table->count++;
    return item;
}

void weft_table_remove(struct weft_table *table, void *item)
{
    const uint64_t key = *(const uint64_t *)item;
    uint32_t at = (uint32_t)key & table->mask;

    while (table->slots[at] != item) {
        assert(table->slots[at] != NULL);
        at = (at + step_of(key)) & table->mask;
    }
    table->slots[at] = &removed;
    table->removed++;
    table->count--;
    weft_reserve_give(item);
}

void *weft_table_next(const struct weft_table *table, uint32_t *at)
{
    while (*at <= table->mask) {
        void *item = item_in(table, (*at)++);

        if (item != NULL) {
            return item;
        }
    }
    return NULL;
}

void weft_table_close(struct weft_table *table)
{
    uint32_t at = 0;
    void *item;

    while ((item = weft_table_next(table, &at)) != NULL) {
        weft_reserve_give(item);
    }
    free_slots(table);
    weft_table_open(table);
}
