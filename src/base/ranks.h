/*
 * ranks.h - things found by a process's rank in the job: an open hash, which grows with
 * the ranks that were met and not with the job.
 *
 * An item begins with a struct weft_ranked; the table has pointers to items, which belong
 * to the caller. Nothing is ever taken out but all at once.
 */
#ifndef WEFT_BASE_RANKS_H
#define WEFT_BASE_RANKS_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_ranked {
    uint32_t rank;
};

struct weft_ranks {
    struct weft_ranked **slots;
    uint32_t mask; /* slots - 1; 0: none yet */
    uint32_t count;
};

/* The item, or NULL. */
static inline void *weft_ranks_find(const struct weft_ranks *ranks, uint32_t rank)
{
    if (weft_unlikely(ranks->mask == 0)) {
        return NULL;
    }
    for (uint32_t i = rank & ranks->mask;; i = (i + 1) & ranks->mask) {
        struct weft_ranked *item = ranks->slots[i];

        if (weft_likely(item == NULL || item->rank == rank)) {
            return item;
        }
    }
}

/* A zeroed item of `bytes` for a rank that has none; NULL: no memory. */
void *weft_ranks_add(struct weft_ranks *ranks, uint32_t rank, size_t bytes);

/* The items one after the other: from 0 on, `at` is moved on; NULL: no more. */
void *weft_ranks_next(const struct weft_ranks *ranks, uint32_t *at);

/* Frees the items, and forgets them. */
void weft_ranks_close(struct weft_ranks *ranks);

#endif
