/*
 * allreduce_rabenseifner.c - Rabenseifner's algorithm: a reduce-scatter by recursive
 * halving (halving.h), and an allgather of the chunks by recursive doubling, which goes
 * back through the same peers. One rank has computed each bit, so all have the same. For
 * operations that commute.
 *
 * Cost: with p, the largest power of two that is not above n, 2 log2 p rounds, in which a
 * rank sends 2 (p - 1) / p times its data, and 2 more of all data if n is not p; 2 (n -
 * 1) times the data in all messages, n - 1 times reduced; 2 p log2 p + 2 (n - p)
 * messages.
 */
#include "coll/algorithms.h"
#include "coll/halving.h"

/* Returns the step after which this rank has all chunks. */
static uint32_t add_allgather(struct weft_graph *graph,
                              const struct weft_halving *halving)
{
    uint32_t last = halving->done;

    for (int i = halving->fold.rounds - 1; i >= 0; i--) {
        const struct weft_halving_round *round = &halving->round[i];
        const uint32_t before = last;

        if (round->keep_bytes > 0) {
            const uint32_t sent = weft_graph_send(
                graph, round->peer,
                weft_span_part(halving->work, round->keep_at, round->keep_bytes));

            weft_build_after_both(graph, sent, before, round->sent);
        }
        if (round->give_bytes > 0) {
            last = weft_graph_recv(
                graph, round->peer,
                weft_span_part(halving->work, round->give_at, round->give_bytes));
            weft_build_after_both(graph, last, before, round->sent);
        }
    }
    return last;
}

uint32_t weft_add_rabenseifner(const struct weft_shape *shape, struct weft_graph *graph,
                               struct weft_span input, struct weft_span work,
                               uint32_t after)
{
    struct weft_halving halving = {
        .fold = weft_fold_of(shape->n, 0),
        .chunk = weft_chunk_even,
        .input = input,
        .work = work,
        .done = after,
    };
    const int neighbour = weft_fold_neighbour(&halving.fold, shape->rank);
    uint32_t done;

    weft_add_halving(shape, graph, &halving);
    if (halving.position < 0) {
        /* In position, the input is read until it is sent. */
        done = weft_graph_recv(graph, neighbour, work);
        weft_graph_after(graph, done, halving.done);
        return done;
    }
    done = add_allgather(graph, &halving);
    if (neighbour >= 0) {
        weft_graph_after(graph, weft_graph_send(graph, neighbour, work), done);
    }
    return done;
}

enum weft_rc weft_allreduce_rabenseifner(const struct weft_shape *shape,
                                         struct weft_graph *graph)
{
    if (shape->n == 1 || shape->bytes == 0) {
        return weft_build_alone(shape, graph, shape->bytes);
    }
    weft_add_rabenseifner(shape, graph, weft_build_input(shape, shape->bytes),
                          weft_span(WEFT_SPACE_RECV, 0, shape->bytes), WEFT_NO_STEP);
    return graph->rc;
}

struct weft_cost weft_allreduce_rabenseifner_cost(const struct weft_shape *shape)
{
    const struct weft_fold fold = weft_fold_of(shape->n, 0);
    struct weft_cost cost;

    if (shape->bytes == 0) {
        return (struct weft_cost){0};
    }
    cost = weft_halving_cost(shape, &fold, weft_chunk_even);
    cost.messages *= 2;
    cost.bytes *= 2;
    cost.chain.rounds *= 2;
    cost.chain.messages *= 2;
    cost.chain.bytes *= 2;
    return cost;
}
