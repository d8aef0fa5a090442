/*
 * reduce_rabenseifner.c - Rabenseifner's algorithm: a reduce-scatter by recursive halving
 * (halving.h), and the chunks go to the root by a binomial tree, back through the same
 * peers. For operations that commute.
 *
 * Cost: with p, the largest power of two that is not above n, 2 log2 p rounds, in which
 * the root sends and gets 2 (p - 1) / p times its data, and one more of all data if n is
 * not p; n - 1 times the data are reduced; p log2 p + n - 1 messages, with n - 1 times
 * the data in the reduce-scatter and about log2 p / 2 times in the tree.
 */
#include "coll/algorithms.h"
#include "coll/halving.h"

static void add_gather(struct weft_graph *graph, const struct weft_halving *halving)
{
    const int away =
        halving->position ^ weft_fold_position(&halving->fold, halving->fold.root);
    uint32_t last = halving->done;

    for (int i = halving->fold.rounds - 1; i >= 0; i--) {
        const struct weft_halving_round *round = &halving->round[i];
        const bool is_child = (away & (halving->fold.positions >> (i + 1))) != 0;

        if (is_child && round->keep_bytes > 0) {
            const uint32_t sent = weft_graph_send(
                graph, round->peer,
                weft_span_part(halving->work, round->keep_at, round->keep_bytes));

            weft_build_after_both(graph, sent, last, round->sent);
        }
        if (is_child) {
            return;
        }
        if (round->give_bytes > 0) {
            const uint32_t received = weft_graph_recv(
                graph, round->peer,
                weft_span_part(halving->work, round->give_at, round->give_bytes));

            weft_build_after_both(graph, received, last, round->sent);
            last = received;
        }
    }
}

enum weft_rc weft_reduce_rabenseifner(const struct weft_shape *shape,
                                      struct weft_graph *graph)
{
    struct weft_halving halving = {
        .fold = weft_fold_of(shape->n, shape->root),
        .chunk = weft_chunk_even,
        .input = weft_build_input(shape, shape->bytes),
        .work = weft_span(WEFT_SPACE_RECV, 0, shape->bytes),
        .done = WEFT_NO_STEP,
    };

    if (shape->n == 1 || shape->bytes == 0) {
        return weft_build_alone(shape, graph, shape->bytes);
    }
    if (shape->rank != shape->root &&
        weft_fold_position(&halving.fold, shape->rank) >= 0) {
        halving.work = weft_graph_scratch(graph, shape->bytes);
    }
    weft_add_halving(shape, graph, &halving);
    if (halving.position >= 0) {
        add_gather(graph, &halving);
    }
    return graph->rc;
}

struct weft_cost weft_reduce_rabenseifner_cost(const struct weft_shape *shape)
{
    const struct weft_fold fold = weft_fold_of(shape->n, shape->root);
    const int root = weft_fold_position(&fold, shape->root);
    struct weft_cost cost;

    if (shape->bytes == 0) {
        return (struct weft_cost){0};
    }
    cost = weft_halving_cost(shape, &fold, weft_chunk_even);
    cost.chain.rounds += (uint64_t)fold.rounds;
    cost.chain.messages += (uint64_t)fold.rounds;
    cost.chain.bytes += weft_build_but_one(shape->bytes, fold.positions);
    for (int position = 0; position < fold.positions; position++) {
        const int away = position ^ root;
        const int width = away & -away; /* it sends the chunks of so many positions */
        const int first = position & ~(width - 1);

        if (away != 0 && weft_chunk_even(shape, &fold, first, first + width) > 0) {
            cost.messages++;
            cost.bytes += weft_chunk_even(shape, &fold, first, first + width);
        }
    }
    return cost;
}
