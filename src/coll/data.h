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
#include "transfer/data.h"

/* All blocks of a side that follow each other; or that many elements of a reduction. */
struct weft_data weft_coll_space(const struct weft_coll_side *side, uint64_t count);

/* One block of a side whose blocks have places of their own. */
struct weft_data weft_coll_block(const struct weft_coll_side *side, int block);

/*
 * Memory for the partial results of a reduction: `bytes` packed bytes of elements that
 * are laid out as in the user's buffers. data->memory is to be freed; WEFT_ERR_NOMEM.
 */
WEFT_MUST_CHECK enum weft_rc weft_coll_scratch(struct weft_datatype *type, uint64_t bytes,
                                               struct weft_data *data);

/* `to` = `from` op `to`, element by element; both hold whole elements. */
void weft_coll_reduce(const struct weft_operation *op, struct weft_datatype *type,
                      const struct weft_data *from, const struct weft_data *to);

#endif
