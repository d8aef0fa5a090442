/*
 * table.h - items found by a key of 64 bits, such as a process (process.h): an open hash,
 * which grows with the items that are in it.
 *
 * An item begins with its key; the table has pointers to items, allocates them and frees
 * them. The lowest bits of a key say where a search begins: the ranks of one job, which
 * are numbers without gaps, begin at different slots. Equal ranks of two jobs begin at
 * the same one, so the whole key says in which steps a search goes on; with steps of one
 * slot, a search for the second job's ranks would pass those of all the first job's.
 *
 * The key UINT64_MAX, the process of no job, stands for items that were removed.
 */
#ifndef WEFT_BASE_TABLE_H
#define WEFT_BASE_TABLE_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_table {
    uint64_t **slots; /* NULL: free; else the item, or what stands for a removed one */
    uint32_t mask;    /* slots - 1 */
    uint32_t count;   /* of items */
    uint32_t removed; /* slots of removed items */
};

/* Makes an empty table, which takes no memory yet. */
void weft_table_open(struct weft_table *table);

/* The rest of a search: slot `at` has another item. */
void *weft_table_find_behind(const struct weft_table *table, uint64_t key, uint32_t at);

/* The item, or NULL. */
static inline void *weft_table_find(const struct weft_table *table, uint64_t key)
{
    const uint32_t at = (uint32_t)key & table->mask;
    uint64_t *item = table->slots[at];

    if (weft_likely(item == NULL || *item == key)) {
        return item;
    }
    return weft_table_find_behind(table, key, at);
}

/* A zeroed item of `bytes` for a key that has none; NULL: no memory. */
void *weft_table_add(struct weft_table *table, uint64_t key, size_t bytes);

/* Frees an item. Other items stay where they are, also for weft_table_next(). */
void weft_table_remove(struct weft_table *table, void *item);

/* The items one after the other: from 0 on, `at` is moved on; NULL: no more. */
void *weft_table_next(const struct weft_table *table, uint32_t *at);

/* Frees the items; the table is empty then. */
void weft_table_close(struct weft_table *table);

#endif
