#include "rma/regions.h"

#include "rma/runs.h"

#include <stdlib.h>

struct weft_region {
    struct weft_region *next;
    uint64_t base;
    uint64_t bytes;
};

static bool overlaps(const struct weft_region *region, uint64_t base, uint64_t bytes)
{
    return bytes > 0 && region->bytes > 0 && base < region->base + region->bytes &&
           region->base < base + bytes;
}

enum weft_rc weft_region_attach(struct weft_win *win, void *base, uint64_t bytes)
{
    const uint64_t at = (uint64_t)(uintptr_t)base;
    struct weft_region *fresh;

    weft_assert_locked();
    for (const struct weft_region *r = win->regions; r != NULL; r = r->next) {
        if (overlaps(r, at, bytes)) {
            return WEFT_ERR_ARGUMENT;
        }
    }
    fresh = malloc(sizeof(*fresh));
    if (fresh == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *fresh = (struct weft_region){win->regions, at, bytes};
    win->regions = fresh;
    return WEFT_OK;
}

bool weft_region_detach(struct weft_win *win, const void *base)
{
    weft_assert_locked();
    for (struct weft_region **at = &win->regions; *at != NULL; at = &(*at)->next) {
        struct weft_region *region = *at;

        if (region->base == (uint64_t)(uintptr_t)base) {
            *at = region->next;
            free(region);
            return true;
        }
    }
    return false;
}

/* Are the bytes from `low` to `high`, counted from `at`, in the block? */
static bool is_within(uint64_t at, int64_t low, int64_t high, uint64_t base,
                      uint64_t bytes)
{
    const uint64_t from = at + (uint64_t)low - base;
    const uint64_t length = (uint64_t)high - (uint64_t)low;

    return from <= bytes && length <= bytes - from;
}

/* Is all of a block attached? It may reach from one region into its neighbour. */
static bool is_attached(const struct weft_win *win, uint64_t at, uint64_t bytes)
{
    while (bytes > 0) {
        const struct weft_region *r = win->regions;
        uint64_t some;

        while (r != NULL && at - r->base >= r->bytes) {
            r = r->next;
        }
        if (r == NULL) {
            return false;
        }
        some = r->bytes - (at - r->base);
        some = some < bytes ? some : bytes;
        at += some;
        bytes -= some;
    }
    return true;
}

/* The whole span in one region is the common case. */
static bool is_run_attached(const struct weft_win *win, const struct weft_rma_run *run,
                            int64_t low, int64_t high)
{
    for (const struct weft_region *r = win->regions; r != NULL; r = r->next) {
        if (is_within(run->at, low, high, r->base, r->bytes)) {
            return true;
        }
    }
    for (uint32_t k = 0; k < run->count; k++) {
        if (!is_attached(win, run->at + (uint64_t)run->stride * k, run->length)) {
            return false;
        }
    }
    return true;
}

void *weft_region_find(const struct weft_win *win, const struct weft_rma_run *run)
{
    int64_t low;
    int64_t high;

    if (!weft_rma_run_span(run, &low, &high)) {
        return NULL;
    }
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        return is_within(run->at, low, high, 0, (uint64_t)win->size)
                   ? (char *)win->base + run->at
                   : NULL;
    }
    return is_run_attached(win, run, low, high) ? (void *)(uintptr_t)run->at : NULL;
}

void weft_regions_close(struct weft_win *win)
{
    while (win->regions != NULL) {
        (void)weft_region_detach(win, (const void *)(uintptr_t)win->regions->base);
    }
}
