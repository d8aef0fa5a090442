/*
 * scan_doubling.c - MPI_Scan and MPI_Exscan by recursive doubling: in round k each rank
 * sends the outcome of the last 2^k ranks, with itself, to rank + 2^k, and gets that of
 * the ranks before them. What comes is always the left operand, so ranks are in order.
 *
 * Cost: ceil(log2 n) rounds; the sum of n - 2^k messages of all data, over the rounds. A
 * scan reduces each message once. An exclusive scan does not reduce those of round 0, and
 * the n - 3 * 2^k messages of round k, whose outcome is sent again, once more.
 */
#include "coll/algorithms.h"

/* Combines what comes into `own`; the step after which it is. Room for each round, so
 * that receives wait for nothing. */
static uint32_t combine(struct weft_graph *graph, int peer, struct weft_span own,
                        uint32_t sent, uint32_t last)
{
    const struct weft_span arrival = weft_graph_scratch(graph, own.bytes);
    const uint32_t received = weft_graph_recv(graph, peer, arrival);
    const uint32_t reduced = weft_graph_reduce(graph, arrival, own);

    weft_graph_after(graph, reduced, sent);
    weft_build_after_both(graph, reduced, received, last);
    return reduced;
}

enum weft_rc weft_scan_doubling(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span own = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    uint32_t last;

    if (shape->bytes == 0) {
        return WEFT_OK;
    }
    last = shape->is_in_place
               ? WEFT_NO_STEP
               : weft_graph_copy(graph, weft_build_input(shape, shape->bytes), own);
    for (int64_t distance = 1; distance < shape->n; distance *= 2) {
        uint32_t sent = WEFT_NO_STEP;

        if (shape->rank + distance < shape->n) {
            sent = weft_graph_send(graph, shape->rank + (int)distance, own);
            weft_graph_after(graph, sent, last);
        }
        if (shape->rank >= distance) {
            last = combine(graph, shape->rank - (int)distance, own, sent, last);
        }
    }
    return graph->rc;
}

/* Messages of all rounds. */
static uint64_t messages_of(const struct weft_shape *shape)
{
    uint64_t messages = 0;

    for (int64_t distance = 1; distance < shape->n; distance *= 2) {
        messages += (uint64_t)(shape->n - distance);
    }
    return messages;
}

struct weft_cost weft_scan_doubling_cost(const struct weft_shape *shape)
{
    const uint64_t messages = shape->bytes > 0 ? messages_of(shape) : 0;

    const uint64_t rounds = shape->bytes > 0 ? weft_build_rounds(shape->n) : 0;

    return (struct weft_cost){
        .messages = messages,
        .bytes = messages * shape->bytes,
        .reduced = messages * shape->bytes,
        .chain = {.rounds = rounds,
                  .messages = 2 * rounds,
                  .bytes = rounds * shape->bytes,
                  .steps = rounds + 1,
                  .reduced = rounds * shape->bytes,
                  .copied = shape->bytes},
    };
}

/* ---- exclusive ---- */

/* What a rank has of those before it, in RECV, and of those and itself. */
struct partial {
    struct weft_span before;
    struct weft_span with_own;
    uint32_t before_last; /* the last steps on them */
    uint32_t own_last;
};

/* What comes is combined with both; with the second only if that is sent once more. */
static void take(const struct weft_shape *shape, struct weft_graph *graph,
                 int64_t distance, uint32_t sent, struct partial *partial)
{
    const bool is_first = distance == 1;
    const struct weft_span arrival =
        is_first ? partial->before : weft_graph_scratch(graph, shape->bytes);
    const uint32_t received =
        weft_graph_recv(graph, shape->rank - (int)distance, arrival);

    if (is_first) {
        /* In place it overwrites the input. */
        weft_graph_after(graph, received, partial->own_last);
        partial->before_last = received;
    }
    if (shape->rank + 2 * distance < shape->n) {
        const uint32_t reduced = weft_graph_reduce(graph, arrival, partial->with_own);

        weft_graph_after(graph, reduced, sent);
        weft_build_after_both(graph, reduced, received, partial->own_last);
        partial->own_last = reduced;
        if (is_first) {
            partial->before_last = reduced; /* which reads `before` */
        }
    }
    if (!is_first) {
        const uint32_t reduced = weft_graph_reduce(graph, arrival, partial->before);

        weft_build_after_both(graph, reduced, received, partial->before_last);
        partial->before_last = reduced;
    }
}

enum weft_rc weft_exscan_doubling(const struct weft_shape *shape,
                                  struct weft_graph *graph)
{
    struct partial partial = {
        .before = weft_span(WEFT_SPACE_RECV, 0, shape->bytes),
        .with_own = weft_build_input(shape, shape->bytes),
        .before_last = WEFT_NO_STEP,
        .own_last = WEFT_NO_STEP,
    };

    if (shape->bytes == 0 || shape->n == 1) {
        return WEFT_OK;
    }
    if (shape->rank > 0 && shape->rank + 1 < shape->n) {
        const struct weft_span own = weft_graph_scratch(graph, shape->bytes);

        partial.own_last = weft_graph_copy(graph, partial.with_own, own);
        partial.with_own = own;
    }
    for (int64_t distance = 1; distance < shape->n; distance *= 2) {
        uint32_t sent = WEFT_NO_STEP;

        if (shape->rank + distance < shape->n) {
            sent = weft_graph_send(graph, shape->rank + (int)distance, partial.with_own);
            weft_graph_after(graph, sent, partial.own_last);
        }
        if (shape->rank >= distance) {
            take(shape, graph, distance, sent, &partial);
        }
    }
    return graph->rc;
}

struct weft_cost weft_exscan_doubling_cost(const struct weft_shape *shape)
{
    struct weft_cost cost = weft_scan_doubling_cost(shape);

    if (cost.messages == 0) {
        return cost;
    }
    cost.reduced -= ((uint64_t)shape->n - 1) * shape->bytes;
    for (int64_t distance = 1; 3 * distance < shape->n; distance *= 2) {
        cost.reduced += (uint64_t)(shape->n - 3 * distance) * shape->bytes;
        cost.chain.reduced += shape->bytes;
        cost.chain.steps++;
    }
    return cost;
}
