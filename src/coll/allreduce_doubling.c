/*
 * allreduce_doubling.c - recursive doubling: in each round two ranks exchange all that
 * they have and combine it, the lower one's data as the left operand on both. So all
 * compute the same from the same in the same order, which is that of the ranks, and have
 * the same bits. If n is not a power of two, neighbours come together first (fold.h).
 *
 * Cost: with p, the largest power of two that is not above n, log2 p rounds, and 2 more
 * if n is not p; p log2 p + 2 (n - p) messages of all data; p log2 p + n - p reductions.
 */
#include "coll/algorithms.h"
#include "coll/fold.h"

struct partial {
    struct weft_span has;
    uint32_t last; /* the step after which `has` is complete */
    uint32_t left; /* the last step that reads RECV, if `has` is elsewhere by now */
    bool is_used;  /* RECV is: data come into scratch memory */
};

static struct weft_span arrival_of(const struct weft_shape *shape,
                                   struct weft_graph *graph, struct partial *partial)
{
    if (partial->is_used) {
        return weft_graph_scratch(graph, shape->bytes);
    }
    partial->is_used = true;
    return weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
}

/* What comes is the right operand, so it becomes what this rank has. */
static void combine_right(const struct weft_shape *shape, struct weft_graph *graph,
                          int peer, uint32_t sent, struct partial *partial)
{
    const struct weft_span arrival = arrival_of(shape, graph, partial);
    const uint32_t received = weft_graph_recv(graph, peer, arrival);
    const uint32_t reduced = weft_graph_reduce(graph, partial->has, arrival);

    weft_build_after_both(graph, reduced, received, partial->last);
    if (partial->has.space == WEFT_SPACE_RECV) {
        partial->left = sent;
    }
    partial->has = arrival;
    partial->last = reduced;
}

/* What comes is the left operand; what this rank has is overwritten once it is sent. */
static void combine_left(const struct weft_shape *shape, struct weft_graph *graph,
                         int peer, uint32_t sent, struct partial *partial)
{
    struct weft_span arrival;
    uint32_t received;
    uint32_t reduced;

    if (partial->has.space == WEFT_SPACE_SEND) {
        const struct weft_span own = arrival_of(shape, graph, partial);

        partial->last = weft_graph_copy(graph, partial->has, own);
        partial->has = own;
        sent = WEFT_NO_STEP;
    }
    arrival = arrival_of(shape, graph, partial);
    received = weft_graph_recv(graph, peer, arrival);
    reduced = weft_graph_reduce(graph, arrival, partial->has);
    weft_graph_after(graph, reduced, sent);
    weft_build_after_both(graph, reduced, received, partial->last);
    partial->last = reduced;
}

static void add_rounds(const struct weft_shape *shape, struct weft_graph *graph,
                       const struct weft_fold *fold, struct partial *partial)
{
    const int position = weft_fold_position(fold, shape->rank);

    for (int distance = 1; distance < fold->positions; distance *= 2) {
        const int peer = weft_fold_rank(fold, position ^ distance);
        const uint32_t sent = weft_graph_send(graph, peer, partial->has);

        weft_graph_after(graph, sent, partial->last);
        if (peer > shape->rank) {
            combine_right(shape, graph, peer, sent, partial);
        } else {
            combine_left(shape, graph, peer, sent, partial);
        }
    }
}

/* The even rank of a pair, or one without a neighbour. */
static uint32_t add_part(const struct weft_shape *shape, struct weft_graph *graph,
                         const struct weft_fold *fold, uint32_t after)
{
    const struct weft_span result = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const int neighbour = weft_fold_neighbour(fold, shape->rank);
    struct partial partial = {
        .has = weft_build_input(shape, shape->bytes),
        .last = after,
        .left = WEFT_NO_STEP,
        .is_used = shape->is_in_place,
    };

    if (neighbour >= 0) {
        combine_right(shape, graph, neighbour, WEFT_NO_STEP, &partial);
    }
    add_rounds(shape, graph, fold, &partial);
    if (neighbour >= 0) {
        weft_graph_after(graph, weft_graph_send(graph, neighbour, partial.has),
                         partial.last);
    }
    if (partial.has.space != WEFT_SPACE_RECV) {
        const uint32_t copied = weft_graph_copy(graph, partial.has, result);

        weft_build_after_both(graph, copied, partial.last, partial.left);
        return copied;
    }
    return partial.last;
}

uint32_t weft_add_doubling(const struct weft_shape *shape, struct weft_graph *graph,
                           uint32_t after)
{
    const struct weft_fold fold = weft_fold_of(shape->n, 0);
    uint32_t sent;
    uint32_t received;

    if (weft_fold_position(&fold, shape->rank) >= 0) {
        return add_part(shape, graph, &fold, after);
    }
    sent = weft_graph_send(graph, shape->rank - 1, weft_build_input(shape, shape->bytes));
    received = weft_graph_recv(graph, shape->rank - 1,
                               weft_span(WEFT_SPACE_RECV, 0, shape->bytes));
    weft_graph_after(graph, sent, after);
    weft_graph_after(graph, received, shape->is_in_place ? sent : WEFT_NO_STEP);
    return received;
}

enum weft_rc weft_allreduce_doubling(const struct weft_shape *shape,
                                     struct weft_graph *graph)
{
    if (shape->n == 1 || shape->bytes == 0) {
        return weft_build_alone(shape, graph, shape->bytes);
    }
    weft_add_doubling(shape, graph, WEFT_NO_STEP);
    return graph->rc;
}

struct weft_cost weft_allreduce_doubling_cost(const struct weft_shape *shape)
{
    const struct weft_fold fold = weft_fold_of(shape->n, 0);
    const uint64_t exchanged = (uint64_t)fold.positions * (uint64_t)fold.rounds;
    const uint64_t pairs = (uint64_t)fold.pairs;
    const uint64_t folds = pairs > 0 ? 1 : 0;
    const uint64_t rounds = (uint64_t)fold.rounds + 2 * folds;

    if (shape->bytes == 0) {
        return (struct weft_cost){0};
    }
    return (struct weft_cost){
        .messages = exchanged + 2 * pairs,
        .bytes = (exchanged + 2 * pairs) * shape->bytes,
        .reduced = (exchanged + pairs) * shape->bytes,
        .chain = {.rounds = rounds,
                  .messages = 2 * rounds - 2 * folds,
                  .bytes = rounds * shape->bytes,
                  .steps = rounds - folds + 1,
                  .reduced = (rounds - folds) * shape->bytes,
                  .copied = shape->bytes},
    };
}
