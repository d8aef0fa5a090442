/*
 * cut.h - which bytes of a rank belong to which window: its pieces, cut at the boundaries
 * of the windows of one pass (plan.h).
 *
 * A rank's pieces ascend in the file, and so do windows. So the data of a rank in one
 * window are neighbours in its buffer: they go to the aggregator, or come from there, as
 * one message, without being packed. What belongs where in the file is told by one list
 * of runs for each aggregator, window by window.
 */
#ifndef WEFT_IO_CUT_H
#define WEFT_IO_CUT_H

#include "io/pieces.h"
#include "io/plan.h"

/* What a rank has in one window. */
struct weft_io_share {
    uint64_t packed; /* where its data begin, in packed bytes */
    uint64_t bytes;
    uint64_t runs; /* in the list for the window's aggregator */
};

struct weft_io_cut {
    const struct weft_io_plan *plan;
    uint64_t first;              /* window of the pass */
    uint64_t windows;            /* of the pass */
    struct weft_io_runs *runs;   /* for each aggregator */
    struct weft_io_share *share; /* for each window of the pass */
    uint64_t packed;             /* bytes that were cut so far, in all passes */
    size_t least;                /* runs before those of the window */
    uint64_t window;             /* that is filled */
    struct weft_io_range range;  /* of it */
};

/* Takes memory for the passes of a plan, and gives it back. */
WEFT_MUST_CHECK enum weft_rc weft_io_cut_make(struct weft_io_cut *cut,
                                              const struct weft_io_plan *plan);
void weft_io_cut_free(struct weft_io_cut *cut);

/* Begins a pass. What the pass before left is dropped. */
void weft_io_cut_start(struct weft_io_cut *cut, uint64_t pass);

/*
 * Adds a piece, which lies behind those before it. Returns how many of its bytes were
 * taken: fewer if it goes beyond the pass, whose list is complete then. If memory has run
 * out, the list has an error code.
 */
uint64_t weft_io_cut_add(struct weft_io_cut *cut, uint64_t offset, uint64_t bytes);

/* WEFT_OK, or the error code of a list. */
enum weft_rc weft_io_cut_rc(const struct weft_io_cut *cut);

#endif
