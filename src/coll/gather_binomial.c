/*
 * gather_binomial.c - gather and scatter by a binomial tree of positions, which count
 * ranks from the root on. A subtree's blocks follow each other in the order of positions,
 * in one message. The root's buffer has them in the order of ranks: the one subtree that
 * has both the last rank and rank 0 goes by way of scratch memory.
 *
 * For small data: blocks are sent up to log2 n times.
 *
 * Cost: ceil(log2 n) rounds; n - 1 messages, each of the blocks of a subtree.
 */
#include "coll/algorithms.h"

/* What one rank of the tree has. */
struct subtree {
    int position;
    int64_t above; /* how far its parent is; more than any child is */
    int size;      /* positions in it */
};

static struct subtree subtree_at(const struct weft_shape *shape, int position)
{
    return (struct subtree){position, weft_build_above(shape, position),
                            weft_build_subtree(shape, position)};
}

static uint64_t bytes_of(const struct weft_shape *shape, int64_t blocks)
{
    return shape->bytes * (uint64_t)blocks;
}

/* Blocks of ranks that follow each other, in the root's buffer. */
static struct weft_span ranks(const struct weft_shape *shape, enum weft_space space,
                              int first, int count)
{
    return weft_span(space, bytes_of(shape, first), bytes_of(shape, count));
}

/* Blocks of the subtree from rank `first` on that are before the end of the buffer. */
static int until_wrap(const struct weft_shape *shape, int first, int count)
{
    return first + count > shape->n ? shape->n - first : count;
}

/* ---- gather ---- */

static void gather_child_at_root(const struct weft_shape *shape, struct weft_graph *graph,
                                 struct subtree child)
{
    const int first = weft_build_rank_at(shape, child.position);
    const int straight = until_wrap(shape, first, child.size);
    const int rest = child.size - straight;
    struct weft_span all;
    uint32_t received;

    if (rest == 0) {
        weft_graph_recv(graph, first, ranks(shape, WEFT_SPACE_RECV, first, straight));
        return;
    }
    all = weft_graph_scratch(graph, bytes_of(shape, child.size));
    received = weft_graph_recv(graph, first, all);
    weft_graph_after(graph,
                     weft_graph_copy(graph,
                                     weft_span_part(all, 0, bytes_of(shape, straight)),
                                     ranks(shape, WEFT_SPACE_RECV, first, straight)),
                     received);
    weft_graph_after(graph,
                     weft_graph_copy(graph,
                                     weft_span_part(all, bytes_of(shape, straight),
                                                    bytes_of(shape, rest)),
                                     ranks(shape, WEFT_SPACE_RECV, 0, rest)),
                     received);
}

static void gather_at_root(const struct weft_shape *shape, struct weft_graph *graph)
{
    if (!shape->is_in_place) {
        weft_build_own(graph, weft_span(WEFT_SPACE_SEND, 0, shape->given),
                       ranks(shape, WEFT_SPACE_RECV, shape->root, 1));
    }
    for (int64_t away = 1; away < shape->n; away *= 2) {
        gather_child_at_root(shape, graph, subtree_at(shape, (int)away));
    }
}

enum weft_rc weft_gather_binomial(const struct weft_shape *shape,
                                  struct weft_graph *graph)
{
    const struct subtree own = subtree_at(shape, weft_build_position(shape, shape->rank));
    const struct weft_span mine = weft_span(WEFT_SPACE_SEND, 0, shape->bytes);
    const int parent = weft_build_rank_at(shape, own.position - (int)own.above);
    struct weft_span all;
    uint32_t send;

    if (own.position == 0) {
        gather_at_root(shape, graph);
        return graph->rc;
    }
    if (own.size == 1) {
        weft_graph_send(graph, parent, mine);
        return graph->rc;
    }
    all = weft_graph_scratch(graph, bytes_of(shape, own.size));
    send = weft_graph_send(graph, parent, all);
    weft_graph_after(graph, send,
                     weft_graph_copy(graph, mine, weft_span_part(all, 0, shape->bytes)));
    for (int64_t away = 1; away < own.above && away < own.size; away *= 2) {
        const struct subtree child = subtree_at(shape, own.position + (int)away);

        weft_graph_after(graph, send,
                         weft_graph_recv(graph, weft_build_rank_at(shape, child.position),
                                         weft_span_part(all, bytes_of(shape, away),
                                                        bytes_of(shape, child.size))));
    }
    return graph->rc;
}

/* ---- scatter ---- */

static void scatter_child_at_root(const struct weft_shape *shape,
                                  struct weft_graph *graph, struct subtree child)
{
    const int first = weft_build_rank_at(shape, child.position);
    const int straight = until_wrap(shape, first, child.size);
    const int rest = child.size - straight;
    struct weft_span all;
    uint32_t ends[2];

    if (rest == 0) {
        weft_graph_send(graph, first, ranks(shape, WEFT_SPACE_SEND, first, straight));
        return;
    }
    all = weft_graph_scratch(graph, bytes_of(shape, child.size));
    ends[0] = weft_graph_copy(graph, ranks(shape, WEFT_SPACE_SEND, first, straight),
                              weft_span_part(all, 0, bytes_of(shape, straight)));
    ends[1] = weft_graph_copy(
        graph, ranks(shape, WEFT_SPACE_SEND, 0, rest),
        weft_span_part(all, bytes_of(shape, straight), bytes_of(shape, rest)));
    weft_build_after_both(graph, weft_graph_send(graph, first, all), ends[0], ends[1]);
}

/* The farthest child has the longest way, so it is first. */
static void scatter_at_root(const struct weft_shape *shape, struct weft_graph *graph)
{
    for (int64_t away = weft_build_above(shape, 0) / 2; away > 0; away /= 2) {
        scatter_child_at_root(shape, graph, subtree_at(shape, (int)away));
    }
    if (!shape->is_in_place) {
        weft_graph_copy(graph, ranks(shape, WEFT_SPACE_SEND, shape->root, 1),
                        weft_span(WEFT_SPACE_RECV, 0, shape->bytes));
    }
}

enum weft_rc weft_scatter_binomial(const struct weft_shape *shape,
                                   struct weft_graph *graph)
{
    const struct subtree own = subtree_at(shape, weft_build_position(shape, shape->rank));
    const struct weft_span mine = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const int parent = weft_build_rank_at(shape, own.position - (int)own.above);
    struct weft_span all;
    uint32_t received;

    if (own.position == 0) {
        scatter_at_root(shape, graph);
        return graph->rc;
    }
    if (own.size == 1) {
        weft_graph_recv(graph, parent, mine);
        return graph->rc;
    }
    all = weft_graph_scratch(graph, bytes_of(shape, own.size));
    received = weft_graph_recv(graph, parent, all);
    for (int64_t away = own.above / 2; away > 0; away /= 2) {
        if (away < own.size) {
            const struct subtree child = subtree_at(shape, own.position + (int)away);

            weft_graph_after(graph,
                             weft_graph_send(graph,
                                             weft_build_rank_at(shape, child.position),
                                             weft_span_part(all, bytes_of(shape, away),
                                                            bytes_of(shape, child.size))),
                             received);
        }
    }
    weft_graph_after(graph,
                     weft_graph_copy(graph, weft_span_part(all, 0, shape->bytes), mine),
                     received);
    return graph->rc;
}

/* A block is sent once for each bit of its position. */
static int64_t blocks_sent(int64_t n)
{
    int64_t blocks = 0;

    for (int64_t bit = 1; bit < n; bit *= 2) {
        const int64_t rest = n % (2 * bit);

        blocks += n / (2 * bit) * bit + (rest > bit ? rest - bit : 0);
    }
    return blocks;
}

struct weft_cost weft_rooted_binomial_cost(const struct weft_shape *shape)
{
    const uint64_t rounds = weft_build_rounds(shape->n);

    return (struct weft_cost){
        .messages = (uint64_t)shape->n - 1,
        .bytes = bytes_of(shape, blocks_sent(shape->n)),
        .chain = {.rounds = rounds,
                  .messages = rounds,
                  .bytes = bytes_of(shape, shape->n - 1),
                  .steps = 1,
                  .copied = shape->bytes},
    };
}
