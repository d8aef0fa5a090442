/*
 * regions.h - a list of regions of memory, in the order of their addresses. Regions do
 * not overlap, but for those of 0 bytes, which may be anywhere.
 *
 * The list is its owner's, who keeps others away from it. Nothing here locks.
 */
#ifndef WEFT_RMA_REGIONS_H
#define WEFT_RMA_REGIONS_H

#include "base/rc.h"
#include "rma/packets.h"

#include <stdbool.h>
#include <stddef.h>

struct weft_region {
    uint64_t base;
    uint64_t bytes;
};

/* Zero is an empty list. */
struct weft_regions {
    struct weft_region *at;
    size_t count;
    size_t room;
};

/* Adds a region; *place becomes its number. WEFT_ERR_ARGUMENT: it overlaps one that is
 * there; WEFT_ERR_NOMEM. */
WEFT_MUST_CHECK enum weft_rc weft_regions_add(struct weft_regions *list, uint64_t base,
                                              uint64_t bytes, size_t *place);

/* Removes the region that was the last to be added at this address; *place becomes the
 * number that it had. False: there is none. */
bool weft_regions_remove(struct weft_regions *list, uint64_t base, size_t *place);

/* Makes room for so many regions. False: there is no memory. */
WEFT_MUST_CHECK bool weft_regions_reserve(struct weft_regions *list, size_t count);

/* Is each block of the run, which is counted from address 0, in the list, be it in one
 * region or in several that touch? */
bool weft_regions_hold(const struct weft_regions *list, const struct weft_rma_run *run);

/* Frees what the list has, and leaves it empty. */
void weft_regions_close(struct weft_regions *list);

#endif
