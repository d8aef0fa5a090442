/*
 * data.h - the user's buffers as spaces of a graph.
 *
 * Where all blocks of a side follow each other, the side is one weft_data, and offsets of
 * spans count its packed bytes. Otherwise a span names a block. Nothing here needs the
 * lock or fails.
 */
#ifndef WEFT_COLL_DATA_H
#define WEFT_COLL_DATA_H

#include "coll/coll.h"
#include "sched/graph.h"
#include "transfer/data.h"

/* All blocks of a side that follow each other; or that many elements of a reduction. */
struct weft_data weft_coll_space(const struct weft_coll_side *side, uint64_t count);

/* One block of a side whose blocks have places of their own. */
struct weft_data weft_coll_block(const struct weft_coll_side *side, int block);

/*
 * Memory for the partial results of a reduction: elements that are laid out as in the
 * user's buffers, so that a function of the user can step through them by the extent.
 *
 * An element may be longer than the distance to the next one, as a column of a matrix
 * that was resized to one number. So the last elements of a block reach beyond the place
 * at which a further element would begin, and the next block begins `gap` bytes further
 * on. A gap of 0 makes all blocks one row of elements.
 */
struct weft_coll_scratch {
    struct weft_data data; /* all blocks as if there were no gaps; data.memory: to free */
    int64_t gap;
};

/* Allocates `bytes` packed bytes in `blocks` blocks of whole elements. WEFT_ERR_NOMEM. */
WEFT_MUST_CHECK enum weft_rc weft_coll_scratch_make(struct weft_coll_scratch *scratch,
                                                    struct weft_datatype *type,
                                                    uint64_t bytes, uint32_t blocks);

/* The data of a span that weft_graph_scratch() returned, or of a part of it. */
struct weft_data weft_coll_scratch_span(const struct weft_coll_scratch *scratch,
                                        const struct weft_span *span);

/* `to` = `from` op `to`, element by element; both hold whole elements. */
void weft_coll_reduce(const struct weft_operation *op, struct weft_datatype *type,
                      const struct weft_data *from, const struct weft_data *to);

#endif
