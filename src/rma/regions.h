/*
 * regions.h - the memory of a window: one block, or what is attached to a dynamic one.
 * Needs the lock.
 */
#ifndef WEFT_RMA_REGIONS_H
#define WEFT_RMA_REGIONS_H

#include "rma/win.h"

/* Attaches memory. WEFT_ERR_ARGUMENT: some of it is attached. */
WEFT_MUST_CHECK enum weft_rc weft_region_attach(struct weft_win *win, void *base,
                                                uint64_t bytes);

/* False: nothing was attached at this address. */
bool weft_region_detach(struct weft_win *win, const void *base);

/* Where a run of a packet begins in this process's memory; NULL: some of it is not in
 * the window. In a dynamic window each block of the run must be attached, be it in one
 * region or in several that touch. */
void *weft_region_find(const struct weft_win *win, const struct weft_rma_run *run);

void weft_regions_close(struct weft_win *win);

#endif
