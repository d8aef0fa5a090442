#include "coll/shared.h"

static weft_shared_operation *const operations[WEFT_COLL_KINDS] = {
    [WEFT_COLL_BCAST] = weft_shared_move,
    [WEFT_COLL_GATHER] = weft_shared_move,
    [WEFT_COLL_SCATTER] = weft_shared_move,
    [WEFT_COLL_ALLGATHER] = weft_shared_move,
    [WEFT_COLL_ALLTOALL] = weft_shared_move,
    [WEFT_COLL_REDUCE] = weft_shared_reduce,
    [WEFT_COLL_ALLREDUCE] = weft_shared_reduce,
    [WEFT_COLL_REDUCE_SCATTER] = weft_shared_reduce,
    [WEFT_COLL_REDUCE_SCATTER_BLOCK] = weft_shared_reduce,
};

enum weft_rc weft_shared_call(struct weft_shared *shared, uint32_t word,
                              const struct weft_coll *coll,
                              const struct weft_shape *shape)
{
    shared->word = word;
    return operations[coll->kind](shared, coll, shape);
}
