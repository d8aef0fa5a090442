/*
 * coll_data.h - the data of one side of a collective as the room coll/ wants them: dense.
 *
 * Where elements lie in one block anyway, it is the user's memory; else a packed copy of
 * all of them, which lives for the duration of the call and is unpacked at its end.
 */
#ifndef WEFT_BINDING_COLL_DATA_H
#define WEFT_BINDING_COLL_DATA_H

#include "check/coll.h"

struct weft_coll_data {
    void *data; /* dense; MPI_IN_PLACE stays what it is */
    void *copy; /* NULL: none was needed */
    const struct weft_blocks *blocks;
    uint64_t elements;
};

/* The blocks were checked; they are for `ranks` ranks, if there is one for each. */
WEFT_MUST_CHECK enum weft_rc weft_coll_data_open(struct weft_coll_data *side,
                                                 const struct weft_blocks *blocks,
                                                 int ranks);

/* With `has_result` the user gets what is in the copy now. */
void weft_coll_data_close(struct weft_coll_data *side, bool has_result);

#endif
