/*
 * alltoall_bruck.c - blocks travel by powers of two. A rank keeps at position i what has
 * i ranks to go, which is its own block for the rank i behind it at first. In round k it
 * sends all positions with bit k set to the rank 2^k behind it, in one message, and gets
 * as many for the same positions. At the end position i has the block of the rank i
 * before this one.
 *
 * For small data: blocks are sent up to log2 n times, and copied around each message.
 *
 * Cost: ceil(log2 n) rounds with n messages each, of about n / 2 blocks.
 */
#include "coll/algorithms.h"

struct rounds {
    const struct weft_shape *shape;
    struct weft_graph *graph;
    struct weft_span at; /* all positions */
    struct weft_span out;
    struct weft_span in;
    uint32_t last; /* the step after which all of it may be used again */
};

/* Positions with bit `away` set are runs of `away`, of which the last may be shorter. */
static int64_t run_length(const struct weft_shape *shape, int64_t first, int64_t away)
{
    return shape->n - first < away ? shape->n - first : away;
}

static uint64_t positions(const struct weft_shape *shape, int64_t away)
{
    uint64_t count = 0;

    for (int64_t i = away; i < shape->n; i += 2 * away) {
        count += (uint64_t)run_length(shape, i, away);
    }
    return count;
}

static struct weft_span blocks(const struct rounds *rounds, struct weft_span of,
                               uint64_t first, uint64_t count)
{
    return weft_span_part(of, rounds->shape->bytes * first, rounds->shape->bytes * count);
}

/* Copies the positions with bit `away` set to `out`, or from `in`: after `before`, and so
 * that `then` waits for it. */
static void add_copies(const struct rounds *rounds, int64_t away, bool is_out,
                       uint32_t before, uint32_t then)
{
    uint64_t packed = 0;

    for (int64_t i = away; i < rounds->shape->n; i += 2 * away) {
        const uint64_t count = (uint64_t)run_length(rounds->shape, i, away);
        const struct weft_span at = blocks(rounds, rounds->at, (uint64_t)i, count);
        const struct weft_span other =
            blocks(rounds, is_out ? rounds->out : rounds->in, packed, count);
        const uint32_t copy =
            weft_graph_copy(rounds->graph, is_out ? at : other, is_out ? other : at);

        weft_graph_after(rounds->graph, copy, before);
        weft_graph_after(rounds->graph, then, copy);
        packed += count;
    }
}

/* The data arrive after the positions that they go to have been sent. */
static void add_round(struct rounds *rounds, int64_t away)
{
    const struct weft_shape *shape = rounds->shape;
    const struct weft_span nothing = weft_span(WEFT_SPACE_SCRATCH, 0, 0);
    const uint64_t count = positions(shape, away);
    const uint32_t received =
        weft_graph_recv(rounds->graph, weft_build_before(shape, (int)away),
                        blocks(rounds, rounds->in, 0, count));
    const uint32_t sent =
        weft_graph_send(rounds->graph, weft_build_behind(shape, (int)away),
                        blocks(rounds, rounds->out, 0, count));
    const uint32_t moved = weft_graph_copy(rounds->graph, nothing, nothing);
    const uint32_t end = weft_graph_copy(rounds->graph, nothing, nothing);

    weft_graph_after(rounds->graph, received, rounds->last);
    add_copies(rounds, away, true, rounds->last, sent);
    weft_build_after_both(rounds->graph, moved, sent, received);
    add_copies(rounds, away, false, moved, end);
    rounds->last = end;
}

/* Fills the positions, from this rank's own on. */
static void add_start(struct rounds *rounds)
{
    const struct weft_shape *shape = rounds->shape;
    const uint64_t rank = (uint64_t)shape->rank;
    const uint64_t behind = (uint64_t)shape->n - rank;
    const struct weft_span input =
        weft_build_input(shape, shape->bytes * (uint64_t)shape->n);
    const uint32_t first =
        weft_graph_copy(rounds->graph, blocks(rounds, input, rank, behind),
                        blocks(rounds, rounds->at, 0, behind));

    rounds->last = first;
    if (rank > 0) {
        rounds->last = weft_graph_copy(rounds->graph, blocks(rounds, input, 0, rank),
                                       blocks(rounds, rounds->at, behind, rank));
        weft_graph_after(rounds->graph, rounds->last, first);
    }
}

enum weft_rc weft_alltoall_bruck(const struct weft_shape *shape, struct weft_graph *graph)
{
    const uint64_t n = (uint64_t)shape->n;
    const uint64_t half = n / 2; /* no round has more */
    struct rounds rounds = {.shape = shape, .graph = graph};

    rounds.at = weft_graph_scratch(graph, n * shape->bytes);
    rounds.out = weft_graph_scratch(graph, half * shape->bytes);
    rounds.in = weft_graph_scratch(graph, half * shape->bytes);
    add_start(&rounds);
    for (int64_t away = 1; away < shape->n; away *= 2) {
        add_round(&rounds, away);
    }
    for (int i = 0; i < shape->n; i++) {
        const uint32_t copy =
            weft_graph_copy(graph, blocks(&rounds, rounds.at, (uint64_t)i, 1),
                            weft_build_block_from(shape, weft_build_before(shape, i)));

        weft_graph_after(graph, copy, rounds.last);
    }
    return graph->rc;
}

struct weft_cost weft_alltoall_bruck_cost(const struct weft_shape *shape)
{
    const uint64_t n = (uint64_t)shape->n;
    struct weft_cost cost = {0};

    for (int64_t away = 1; away < shape->n; away *= 2) {
        const uint64_t count = positions(shape, away);

        cost.messages += n;
        cost.bytes += n * count * shape->bytes;
        cost.chain.rounds++;
        cost.chain.messages += 2;
        cost.chain.bytes += count * shape->bytes;
        cost.chain.steps += 2 * count + 2;
    }
    cost.chain.steps += n;
    cost.chain.copied = 2 * (n * shape->bytes + cost.chain.bytes);
    return cost;
}
