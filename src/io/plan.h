/*
 * plan.h - how the ranks of a collective access share the work on the file: arithmetic,
 * without state, files or messages.
 *
 * Each rank describes what it accesses by an extent. From all extents, the nodes of the
 * ranks and the first rank's hints every rank makes the same plan. Either nothing is
 * exchanged, and each rank accesses its own bytes; or the file is cut into windows, and
 * each window belongs to one rank, its aggregator, which alone reads or writes there.
 * Data of a window go from the ranks that have them to the aggregator, or back.
 *
 * Windows cover the union of the extents and nothing else. They are numbered in the order
 * of the file, and dealt out to the aggregators in turn. Their boundaries are multiples
 * of the window's size in the file, so that aggregators do not share pages.
 *
 * Some windows of each aggregator make a pass: lists of pieces (pieces.h) are exchanged
 * for one pass at a time, so that the memory for them has a bound.
 */
#ifndef WEFT_IO_PLAN_H
#define WEFT_IO_PLAN_H

#include "base/rc.h"
#include "sched/spread.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_IO_PASS_WINDOWS = 32,       /* of one aggregator in one pass, at most */
    WEFT_IO_LEAST_PASS = 8,          /* and as many as that, however large they are */
    WEFT_IO_PASS_BYTES = 128 << 20,  /* of file, for one aggregator in one pass */
    WEFT_IO_NODE_AGGREGATORS = 2,    /* on one node, unless a hint says otherwise */
    WEFT_IO_LEAST_WINDOW = 64 << 10, /* bytes; smaller ones are not worth a message */
    WEFT_IO_LARGE_PIECE = 64 << 10,  /* average bytes of pieces from which an exchange
                                      * costs more than it saves; and of a read in one
                                      * node, which has all in its page cache */
    WEFT_IO_LARGE_READ = 4 << 10,
    WEFT_IO_SPARSE = 32, /* so many bytes of file for each byte of data: an
                          * exchange would walk through holes */
    WEFT_IO_PAGE = 4096,
};

/* What one rank accesses. Without bytes, the other members do not matter. */
struct weft_io_extent {
    uint64_t start; /* of its first byte in the file */
    uint64_t end;   /* behind its last one */
    uint64_t bytes;
    uint64_t pieces; /* in the file, at least 1; may be an estimate */
    bool is_folded;  /* a piece begins before another one's end: no windows can be cut */
};

enum weft_io_exchange { WEFT_IO_AUTOMATIC, WEFT_IO_ENABLE, WEFT_IO_DISABLE };

/* What is done, and what hints ask for. */
struct weft_io_wish {
    bool is_write;
    enum weft_io_exchange exchange; /* romio_cb_read or romio_cb_write */
    uint64_t window;                /* cb_buffer_size: most bytes of a window */
    int aggregators;                /* cb_nodes; 0: as many as the nodes suggest */
};

/* A part of the file that extents cover without a gap. */
struct weft_io_cover {
    uint64_t start;
    uint64_t end;
    uint64_t first; /* number of its first window */
};

struct weft_io_plan {
    bool is_exchanged;
    int aggregators;
    int *aggregator; /* their ranks */
    uint64_t window; /* bytes */
    uint64_t windows;
    struct weft_io_cover *cover; /* in the order of the file */
    int covers;
};

struct weft_io_range {
    uint64_t start;
    uint64_t end;
};

/* Takes memory for any plan of `ranks` ranks. On failure there is nothing to free. */
WEFT_MUST_CHECK enum weft_rc weft_io_plan_take(struct weft_io_plan *plan, int ranks);
void weft_io_plan_free(struct weft_io_plan *plan);

/*
 * Makes the plan for `ranks` extents, in memory that was taken for them. `spread` says
 * who shares a node; NULL: all ranks do. Where nothing is exchanged, the plan has no
 * windows.
 */
void weft_io_plan_make(struct weft_io_plan *plan, const struct weft_io_extent *extents,
                       int ranks, const struct weft_spread *spread,
                       const struct weft_io_wish *wish);

/* Ranks that shall be aggregators, in the order in which they get windows. `out` has room
 * for `most`; returns how many there are: `wanted`, or fewer if there are fewer ranks. */
int weft_io_aggregators(const struct weft_spread *spread, int ranks, int wanted, int most,
                        int *out);

/* The part of the file that a window is. */
struct weft_io_range weft_io_window(const struct weft_io_plan *plan, uint64_t window);

/* The number of the window that has this byte, which an extent covers. */
uint64_t weft_io_window_at(const struct weft_io_plan *plan, uint64_t offset);

/* The rank that alone accesses a window. */
static inline int weft_io_owner(const struct weft_io_plan *plan, uint64_t window)
{
    return plan->aggregator[window % (uint64_t)plan->aggregators];
}

/* Windows of a pass where data are exchanged, and how many passes there are. */
static inline uint64_t weft_io_pass_windows(const struct weft_io_plan *plan)
{
    uint64_t each = WEFT_IO_PASS_BYTES / plan->window;

    each = each < WEFT_IO_PASS_WINDOWS ? each : WEFT_IO_PASS_WINDOWS;
    each = each > WEFT_IO_LEAST_PASS ? each : WEFT_IO_LEAST_PASS;
    return (uint64_t)plan->aggregators * each;
}

static inline uint64_t weft_io_passes(const struct weft_io_plan *plan)
{
    uint64_t each;

    if (!plan->is_exchanged) {
        return 0;
    }
    each = weft_io_pass_windows(plan);
    return (plan->windows + each - 1) / each;
}

/* May a rank with this extent have bytes in a part of the file? */
static inline bool weft_io_meets(const struct weft_io_extent *extent,
                                 struct weft_io_range range)
{
    return extent->bytes > 0 && extent->start < range.end && range.start < extent->end;
}

#endif
