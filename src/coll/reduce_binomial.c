/*
 * reduce_binomial.c - a binomial tree: a rank combines what it has with what its children
 * send, nearest first, and passes the outcome to its parent. What it has always comes
 * from lower positions than what a child sends, so it is the left operand.
 *
 * An operation that does not commute is reduced at rank 0, which sends the outcome to the
 * root.
 *
 * Cost: ceil(log2 n) rounds; n - 1 messages of all data, n - 1 reductions; one message
 * more where rank 0 is not the root and the operation does not commute.
 */
#include "coll/algorithms.h"

/* What a rank has so far, and two buffers that it and the next child's data take turns
 * in; one without bytes is not made yet. */
struct partial {
    struct weft_span has;
    struct weft_span next;
    struct weft_span spare;
    uint32_t last; /* the step after which `has` is complete */
};

static void add_child(const struct weft_shape *shape, struct weft_graph *graph, int child,
                      struct partial *partial)
{
    const struct weft_span arrival =
        partial->next.bytes > 0 ? partial->next : weft_graph_scratch(graph, shape->bytes);
    const uint32_t received = weft_graph_recv(graph, child, arrival);
    const uint32_t reduced = weft_graph_reduce(graph, partial->has, arrival);

    weft_graph_after(graph, received, partial->last); /* which still read `arrival` */
    weft_graph_after(graph, reduced, received);
    partial->next = partial->spare;
    partial->spare = arrival;
    partial->has = arrival;
    partial->last = reduced;
}

uint32_t weft_add_reduce(const struct weft_shape *shape, struct weft_graph *graph,
                         struct weft_span input, uint32_t after, struct weft_span *result)
{
    const int position = weft_build_position(shape, shape->rank);
    struct partial partial = {.has = input, .last = after};
    int64_t distance = 1;

    for (; distance < shape->n && (position & distance) == 0; distance *= 2) {
        if (position + distance < shape->n) {
            add_child(shape, graph, weft_build_rank_at(shape, position + (int)distance),
                      &partial);
        }
    }
    *result = partial.has;
    if (position != 0) {
        const uint32_t sent = weft_graph_send(
            graph, weft_build_rank_at(shape, position - (int)distance), partial.has);

        weft_graph_after(graph, sent, partial.last);
        return sent;
    }
    return partial.last;
}

void weft_add_delivery(const struct weft_shape *shape, struct weft_graph *graph, int at,
                       struct weft_span result, uint32_t done)
{
    const struct weft_span to = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);

    if (at != shape->root && shape->rank == at) {
        weft_graph_after(graph, weft_graph_send(graph, shape->root, result), done);
    } else if (at != shape->root && shape->rank == shape->root) {
        /* In position, the input is read until the rank's part is done. */
        weft_graph_after(graph, weft_graph_recv(graph, at, to), done);
    } else if (shape->rank == shape->root && result.space != WEFT_SPACE_RECV) {
        weft_graph_after(graph, weft_graph_copy(graph, result, to), done);
    }
}

enum weft_rc weft_reduce_binomial(const struct weft_shape *shape,
                                  struct weft_graph *graph)
{
    struct weft_shape tree = *shape;
    struct weft_span result;
    uint32_t done;

    if (shape->bytes == 0) {
        return WEFT_OK;
    }
    if (!shape->commutes) {
        tree.root = 0;
    }
    done = weft_add_reduce(&tree, graph, weft_build_input(shape, shape->bytes),
                           WEFT_NO_STEP, &result);
    weft_add_delivery(shape, graph, tree.root, result, done);
    return graph->rc;
}

struct weft_cost weft_reduce_binomial_cost(const struct weft_shape *shape)
{
    const uint64_t reductions = shape->bytes > 0 ? (uint64_t)shape->n - 1 : 0;
    const uint64_t messages =
        reductions + (reductions > 0 && !shape->commutes && shape->root != 0 ? 1 : 0);

    const uint64_t rounds = shape->bytes > 0 ? weft_build_rounds(shape->n) : 0;
    const uint64_t on_chain = rounds + messages - reductions;

    return (struct weft_cost){
        .messages = messages,
        .bytes = messages * shape->bytes,
        .reduced = reductions * shape->bytes,
        .chain = {.rounds = on_chain,
                  .messages = on_chain,
                  .bytes = on_chain * shape->bytes,
                  .steps = rounds + 1,
                  .reduced = rounds * shape->bytes,
                  .copied = shape->bytes},
    };
}
