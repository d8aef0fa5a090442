#include "base/ranks.h"

#include <assert.h>
#include <stdlib.h>

static void put(struct weft_ranks *ranks, struct weft_ranked *item)
{
    uint32_t i = item->rank & ranks->mask;

    assert(ranks->count <= ranks->mask);
    while (ranks->slots[i] != NULL) {
        i = (i + 1) & ranks->mask;
    }
    ranks->slots[i] = item;
}

/* At most half of the slots are used, so that a search is short. */
static bool grow(struct weft_ranks *ranks)
{
    struct weft_ranks old = *ranks;
    uint32_t slots = old.mask == 0 ? 8 : 2 * (old.mask + 1);

    ranks->slots = calloc(slots, sizeof(struct weft_ranked *));
    if (ranks->slots == NULL) {
        *ranks = old;
        return false;
    }
    ranks->mask = slots - 1;
    for (uint32_t i = 0; old.mask != 0 && i <= old.mask; i++) {
        if (old.slots[i] != NULL) {
            put(ranks, old.slots[i]);
        }
    }
    free(old.slots);
    return true;
}

void *weft_ranks_add(struct weft_ranks *ranks, uint32_t rank, size_t bytes)
{
    struct weft_ranked *item;

    if (2 * (ranks->count + 1) > ranks->mask + 1 && !grow(ranks)) {
        return NULL;
    }
    item = calloc(1, bytes);
    if (item == NULL) {
        return NULL;
    }
    item->rank = rank;
    put(ranks, item);
    ranks->count++;
    return item;
}

void *weft_ranks_next(const struct weft_ranks *ranks, uint32_t *at)
{
    while (ranks->mask != 0 && *at <= ranks->mask) {
        struct weft_ranked *item = ranks->slots[(*at)++];

        if (item != NULL) {
            return item;
        }
    }
    return NULL;
}

void weft_ranks_close(struct weft_ranks *ranks)
{
    uint32_t at = 0;
    void *item;

    while ((item = weft_ranks_next(ranks, &at)) != NULL) {
        free(item);
    }
    free(ranks->slots);
    *ranks = (struct weft_ranks){.slots = NULL};
}
