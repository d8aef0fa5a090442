/*
 * between.c - an operation inside each group, where there is one, then one message
 * between two ranks, or blocks straight from the ranks that have them to those that want
 * them.
 */
#include "coll/between.h"

#include "coll/build.h"

#include <assert.h>

/* A rank of the other group. */
static int other(const struct weft_shape *shape, int rank)
{
    return shape->n + rank;
}

/* Inside this rank's own group, from or to its rank 0. */
static struct weft_shape inside(const struct weft_shape *shape)
{
    struct weft_shape own = *shape;

    own.remote = 0;
    own.root = 0;
    own.is_in_place = false;
    return own;
}

/* ---- barrier ---- */

static enum weft_rc barrier(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_RECV, 0, 0);
    const struct weft_shape own = inside(shape);
    uint32_t done = weft_add_meet(&own, graph);

    if (shape->rank == 0) {
        const uint32_t sent = weft_graph_send(graph, other(shape, 0), nothing);
        const uint32_t received = weft_graph_recv(graph, other(shape, 0), nothing);

        weft_graph_after(graph, sent, done);
        done = received;
    }
    weft_add_bcast(&own, graph, nothing, done);
    return graph->rc;
}

/* ---- one root ---- */

static enum weft_rc bcast(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span data = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const struct weft_shape own = inside(shape);
    uint32_t received = WEFT_NO_STEP;

    if (shape->root == WEFT_ROOT_ME) {
        weft_graph_send(graph, other(shape, 0), data);
        return graph->rc;
    }
    if (shape->rank == 0) {
        received = weft_graph_recv(graph, other(shape, shape->root), data);
    }
    weft_add_bcast(&own, graph, data, received);
    return graph->rc;
}

static enum weft_rc gather(const struct weft_shape *shape, struct weft_graph *graph)
{
    if (shape->root != WEFT_ROOT_ME) {
        weft_graph_send(graph, other(shape, shape->root),
                        weft_span(WEFT_SPACE_SEND, 0, shape->given));
        return graph->rc;
    }
    for (int rank = 0; rank < shape->remote; rank++) {
        weft_graph_recv(graph, other(shape, rank), weft_build_block_from(shape, rank));
    }
    return graph->rc;
}

static enum weft_rc scatter(const struct weft_shape *shape, struct weft_graph *graph)
{
    if (shape->root != WEFT_ROOT_ME) {
        weft_graph_recv(graph, other(shape, shape->root),
                        weft_span(WEFT_SPACE_RECV, 0, shape->bytes));
        return graph->rc;
    }
    for (int rank = 0; rank < shape->remote; rank++) {
        weft_graph_send(graph, other(shape, rank), weft_build_block_to(shape, rank));
    }
    return graph->rc;
}

static enum weft_rc reduce(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_shape own = inside(shape);
    struct weft_span result;
    uint32_t done;

    if (shape->bytes == 0) {
        return WEFT_OK;
    }
    if (shape->root == WEFT_ROOT_ME) {
        weft_graph_recv(graph, other(shape, 0),
                        weft_span(WEFT_SPACE_RECV, 0, shape->bytes));
        return graph->rc;
    }
    done = weft_add_reduce(&own, graph, weft_span(WEFT_SPACE_SEND, 0, shape->bytes),
                           WEFT_NO_STEP, &result);
    if (shape->rank == 0) {
        weft_graph_after(graph, weft_graph_send(graph, other(shape, shape->root), result),
                         done);
    }
    return graph->rc;
}

/* ---- everybody ---- */

static enum weft_rc allgather(const struct weft_shape *shape, struct weft_graph *graph)
{
    for (int rank = 0; rank < shape->remote; rank++) {
        const struct weft_span in = weft_build_block_from(shape, rank);

        if (in.bytes > 0) {
            weft_graph_recv(graph, other(shape, rank), in);
        }
    }
    for (int rank = 0; rank < shape->remote && shape->given > 0; rank++) {
        weft_graph_send(graph, other(shape, rank),
                        weft_span(WEFT_SPACE_SEND, 0, shape->given));
    }
    return graph->rc;
}

static enum weft_rc alltoall(const struct weft_shape *shape, struct weft_graph *graph)
{
    for (int rank = 0; rank < shape->remote; rank++) {
        const struct weft_span in = weft_build_block_from(shape, rank);

        if (in.bytes > 0) {
            weft_graph_recv(graph, other(shape, rank), in);
        }
    }
    for (int rank = 0; rank < shape->remote; rank++) {
        const struct weft_span out = weft_build_block_to(shape, rank);

        if (out.bytes > 0) {
            weft_graph_send(graph, other(shape, rank), out);
        }
    }
    return graph->rc;
}

/* Each group's outcome goes to rank 0 of the other; the step after which it is there. */
static uint32_t exchange_outcomes(const struct weft_shape *shape,
                                  struct weft_graph *graph, struct weft_span to)
{
    const struct weft_shape own = inside(shape);
    struct weft_span result;
    const uint32_t done = weft_add_reduce(
        &own, graph, weft_span(WEFT_SPACE_SEND, 0, shape->bytes), WEFT_NO_STEP, &result);

    if (shape->rank != 0) {
        return done;
    }
    weft_graph_after(graph, weft_graph_send(graph, other(shape, 0), result), done);
    return weft_graph_recv(graph, other(shape, 0), to);
}

static enum weft_rc allreduce(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span to = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const struct weft_shape own = inside(shape);

    if (shape->bytes > 0) {
        weft_add_bcast(&own, graph, to, exchange_outcomes(shape, graph, to));
    }
    return graph->rc;
}

/* Both groups reduce as many bytes, and divide them among their own ranks. */
static enum weft_rc reduce_scatter(const struct weft_shape *shape,
                                   struct weft_graph *graph)
{
    struct weft_shape whole = *shape;
    struct weft_span to = {0};
    uint64_t at = 0;
    uint32_t done;

    whole.bytes = weft_build_all_parts(shape);
    if (whole.bytes == 0) {
        return WEFT_OK;
    }
    if (shape->rank == 0) {
        to = weft_graph_scratch(graph, whole.bytes);
    }
    done = exchange_outcomes(&whole, graph, to);
    for (int rank = 0; rank < shape->n; rank++) {
        const uint64_t bytes = weft_build_part(shape, rank);
        const struct weft_span part = weft_span_part(to, at, bytes);
        const struct weft_span own = weft_span(WEFT_SPACE_RECV, 0, bytes);

        at += bytes;
        if (bytes == 0) {
            continue;
        }
        if (shape->rank == 0) {
            weft_graph_after(graph,
                             rank == 0 ? weft_graph_copy(graph, part, own)
                                       : weft_graph_send(graph, rank, part),
                             done);
        } else if (rank == shape->rank) {
            weft_graph_recv(graph, 0, own);
        }
    }
    return graph->rc;
}

weft_builder *weft_between_builder(enum weft_coll_kind kind)
{
    static weft_builder *const builders[WEFT_COLL_KINDS] = {
        [WEFT_COLL_BARRIER] = barrier,
        [WEFT_COLL_BCAST] = bcast,
        [WEFT_COLL_GATHER] = gather,
        [WEFT_COLL_GATHERV] = gather,
        [WEFT_COLL_SCATTER] = scatter,
        [WEFT_COLL_SCATTERV] = scatter,
        [WEFT_COLL_ALLGATHER] = allgather,
        [WEFT_COLL_ALLGATHERV] = allgather,
        [WEFT_COLL_ALLTOALL] = alltoall,
        [WEFT_COLL_ALLTOALLV] = alltoall,
        [WEFT_COLL_ALLTOALLW] = alltoall,
        [WEFT_COLL_REDUCE] = reduce,
        [WEFT_COLL_ALLREDUCE] = allreduce,
        [WEFT_COLL_REDUCE_SCATTER] = reduce_scatter,
        [WEFT_COLL_REDUCE_SCATTER_BLOCK] = reduce_scatter,
    };

    assert(builders[kind] != NULL);
    return builders[kind];
}
