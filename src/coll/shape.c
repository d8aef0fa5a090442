#include "coll/shape.h"

#include "coll/surroundings.h"

int weft_coll_block_peers(const struct weft_coll *coll, bool is_send)
{
    if (weft_coll_facts(coll->kind)->is_around) {
        return is_send ? coll->around.out : coll->around.in;
    }
    return coll->comm->peers;
}

/* Of all ranks' parts of the result of a reduction. */
static uint64_t elements_of_all(const struct weft_coll *coll)
{
    uint64_t all = 0;

    for (int rank = 0; rank < coll->comm->size; rank++) {
        all += weft_coll_count(&coll->recv, rank);
    }
    return all;
}

uint64_t weft_coll_block_elements(const struct weft_coll *coll, bool is_send)
{
    const struct weft_coll_side *side = is_send ? &coll->send : &coll->recv;

    switch (coll->kind) {
    case WEFT_COLL_REDUCE_SCATTER:
    case WEFT_COLL_REDUCE_SCATTER_BLOCK:
        return is_send || coll->send.buffer == MPI_IN_PLACE
                   ? elements_of_all(coll)
                   : weft_coll_count(side, coll->comm->rank);
    default:
        return (uint64_t)side->count * (unsigned)weft_coll_peers(coll, is_send);
    }
}

/* Does each rank of a reduction get a part of the result, of its own size? */
static bool has_parts(const struct weft_coll *coll)
{
    return coll->kind == WEFT_COLL_REDUCE_SCATTER;
}

size_t weft_coll_size_count(const struct weft_coll *coll)
{
    if (has_parts(coll)) {
        return (size_t)coll->comm->size;
    }
    if (!weft_coll_facts(coll->kind)->has_own_sizes) {
        return 0;
    }
    return (size_t)weft_coll_peers(coll, true) + (size_t)weft_coll_peers(coll, false);
}

static uint64_t bytes_of(const struct weft_coll_side *side, int block)
{
    const struct weft_datatype *type = weft_coll_type(side, block);

    return type != NULL ? weft_coll_count(side, block) * type->size : 0;
}

/* Is the side there on this rank? */
static bool matters(const struct weft_coll_side *side)
{
    return (side->type != NULL || side->types != NULL) && side->buffer != MPI_IN_PLACE;
}

static void fill(uint64_t *sizes, const struct weft_coll_side *side, int count)
{
    for (int i = 0; i < count; i++) {
        sizes[i] = bytes_of(side, i);
    }
}

static void add_sizes(const struct weft_coll *coll, struct weft_shape *shape,
                      uint64_t *sizes)
{
    const int in = has_parts(coll) ? coll->comm->size : weft_coll_peers(coll, false);
    const int out = weft_coll_peers(coll, true);

    if (matters(&coll->recv)) {
        fill(sizes, &coll->recv, in);
        shape->from = sizes;
    }
    if (matters(&coll->send) && !has_parts(coll)) {
        fill(sizes + in, &coll->send, out);
        shape->to = sizes + in;
    }
}

static int root_of(const struct weft_coll *coll)
{
    if (!weft_coll_facts(coll->kind)->is_rooted) {
        return 0;
    }
    if (coll->root == MPI_ROOT) {
        return WEFT_ROOT_ME;
    }
    return coll->root == MPI_PROC_NULL ? WEFT_ROOT_NONE : coll->root;
}

static uint64_t block_bytes(const struct weft_coll *coll)
{
    const bool is_given = matters(&coll->send);
    const bool is_gotten = matters(&coll->recv);

    switch (coll->kind) {
    case WEFT_COLL_REDUCE_SCATTER:
        return elements_of_all(coll) * coll->recv.type->size;
    case WEFT_COLL_GATHERV:
    case WEFT_COLL_REDUCE:
    case WEFT_COLL_ALLREDUCE:
        return is_given ? bytes_of(&coll->send, 0) : bytes_of(&coll->recv, 0);
    default:
        return is_gotten ? bytes_of(&coll->recv, 0) : bytes_of(&coll->send, 0);
    }
}

/* Neighbours agree in pairs: a rank without sources may give any count for them. The
 * counts of MPI_Reduce_scatter are the same on all ranks, and so is their sum. */
uint64_t weft_coll_common_bytes(const struct weft_coll *coll)
{
    const bool is_common =
        weft_coll_size_count(coll) == 0 || coll->kind == WEFT_COLL_REDUCE_SCATTER;

    return is_common && coll->kind != WEFT_COLL_BARRIER &&
                   !weft_coll_facts(coll->kind)->is_around
               ? block_bytes(coll)
               : 0;
}

struct weft_shape weft_coll_shape(const struct weft_coll *coll, uint64_t *sizes)
{
    struct weft_shape shape = {
        .n = coll->comm->size,
        .rank = coll->comm->rank,
        .root = root_of(coll),
        .remote = weft_comm_is_inter(coll->comm) ? coll->comm->peers : 0,
        .bytes = block_bytes(coll),
        .is_in_place =
            coll->send.buffer == MPI_IN_PLACE || coll->recv.buffer == MPI_IN_PLACE,
        .around = weft_coll_facts(coll->kind)->is_around ? &coll->around : NULL,
    };

    weft_surroundings_fill(&shape);
    shape.given = matters(&coll->send) ? bytes_of(&coll->send, 0) : shape.bytes;
    if (weft_coll_facts(coll->kind)->is_reduction) {
        const struct weft_datatype *type =
            coll->recv.type != NULL ? coll->recv.type : coll->send.type;

        shape.unit = type->size;
        shape.commutes = coll->op->commutes;
        /* Predefined operations have predefined types, the same on all members. */
        shape.is_plain = !weft_operation_is_user(coll->op) && type->size > 0 &&
                         weft_datatype_is_dense(type, 2);
    }
    if (sizes != NULL) {
        add_sizes(coll, &shape, sizes);
    }
    return shape;
}
