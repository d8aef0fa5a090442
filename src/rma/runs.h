/*
 * runs.h - where the bytes of an operation lie in the target's memory, as it travels.
 *
 * A run is a number of blocks of one length at equal distances (packets.h). So a
 * datatype of the origin travels without its description: each packet says by itself
 * which bytes it is about. Nothing here locks, allocates or fails.
 */
#ifndef WEFT_RMA_RUNS_H
#define WEFT_RMA_RUNS_H

#include "datatype/datatype.h"
#include "rma/packets.h"

enum { WEFT_RUNS_MAX = 64 }; /* in a packet */

/* `count` elements of a type, the first at `at`, counted as in struct weft_rma_run. */
struct weft_where {
    struct weft_datatype *type;
    uint64_t count;
    uint64_t at;
};

struct weft_rma_runs {
    struct weft_rma_run at[WEFT_RUNS_MAX];
    size_t n;
    uint64_t bytes; /* of all of them */
};

/*
 * The runs of what begins `offset` packed bytes into the data: as much as fits into
 * `room` bytes, each run counted with its struct and, if `has_data`, each byte too; at
 * most `most` bytes, and a multiple of `unit`.
 */
void weft_runs_take(struct weft_rma_runs *runs, const struct weft_where *where,
                    uint64_t offset, uint64_t most, size_t room, bool has_data,
                    uint64_t unit);

/* Appends a block: it continues the last run, or takes a new one, of which there is room.
 */
void weft_runs_append(struct weft_rma_runs *runs, uint64_t at, uint64_t length);

/* The lowest byte of a run and the byte behind the highest, as signed distances from its
 * `at`; false: they are further apart than numbers can say. */
bool weft_rma_run_span(const struct weft_rma_run *run, int64_t *low, int64_t *high);

#endif
