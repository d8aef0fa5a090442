#include "rma/regions.h"

#include "rma/runs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 8 };

/* How many regions begin at this address or below. */
static size_t count_up_to(const struct weft_regions *list, uint64_t base)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (list->at[middle].base <= base) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The region that has the byte at this address, or NULL. Only the last one that is not
 * empty and begins there or below can have it. */
static const struct weft_region *find(const struct weft_regions *list, uint64_t address)
{
    size_t n = count_up_to(list, address);

    while (n > 0 && list->at[n - 1].bytes == 0) {
        n--;
    }
    return n > 0 && address - list->at[n - 1].base < list->at[n - 1].bytes
               ? &list->at[n - 1]
               : NULL;
}

/* ---- changes ---- */

static bool overlaps(const struct weft_regions *list, uint64_t base, uint64_t bytes)
{
    size_t behind = count_up_to(list, base);

    if (bytes == 0) {
        return false;
    }
    while (behind < list->count && list->at[behind].bytes == 0) {
        behind++;
    }
    return find(list, base) != NULL ||
           (behind < list->count && list->at[behind].base - base < bytes);
}

bool weft_regions_reserve(struct weft_regions *list, size_t count)
{
    size_t room = list->room > 0 ? list->room : FIRST_ROOM;
    struct weft_region *fresh;

    if (count <= list->room) {
        return true;
    }
    while (room < count) {
        room *= 2;
    }
    fresh = realloc(list->at, room * sizeof(*fresh));
    if (fresh == NULL) {
        return false;
    }
    list->at = fresh;
    list->room = room;
    return true;
}

enum weft_rc weft_regions_add(struct weft_regions *list, uint64_t base, uint64_t bytes,
                              size_t *place)
{
    const size_t at = count_up_to(list, base);

    if (overlaps(list, base, bytes)) {
        return WEFT_ERR_ARGUMENT;
    }
    if (!weft_regions_reserve(list, list->count + 1)) {
        return WEFT_ERR_NOMEM;
    }
    memmove(&list->at[at + 1], &list->at[at], (list->count - at) * sizeof(list->at[0]));
    list->at[at] = (struct weft_region){base, bytes};
    list->count++;
    *place = at;
    return WEFT_OK;
}

bool weft_regions_remove(struct weft_regions *list, uint64_t base, size_t *place)
{
    const size_t n = count_up_to(list, base);

    if (n == 0 || list->at[n - 1].base != base) {
        return false;
    }
    memmove(&list->at[n - 1], &list->at[n], (list->count - n) * sizeof(list->at[0]));
    list->count--;
    *place = n - 1;
    return true;
}

void weft_regions_close(struct weft_regions *list)
{
    free(list->at);
    *list = (struct weft_regions){0};
}

/* ---- runs ---- */

/* Is all of a block there? It may reach from one region into its neighbour. */
static bool holds_block(const struct weft_regions *list, uint64_t at, uint64_t bytes)
{
    while (bytes > 0) {
        const struct weft_region *region = find(list, at);
        uint64_t some;

        if (region == NULL) {
            return false;
        }
        some = region->bytes - (at - region->base);
        some = some < bytes ? some : bytes;
        at += some;
        bytes -= some;
    }
    return true;
}

bool weft_regions_hold(const struct weft_regions *list, const struct weft_rma_run *run)
{
    int64_t low;
    int64_t high;

    if (!weft_rma_run_span(run, &low, &high)) {
        return false;
    }
    /* All of the span is the common case. */
    if (holds_block(list, run->at + (uint64_t)low, (uint64_t)high - (uint64_t)low)) {
        return true;
    }
    for (uint32_t k = 0; k < run->count; k++) {
        if (!holds_block(list, run->at + (uint64_t)run->stride * k, run->length)) {
            return false;
        }
    }
    return true;
}
