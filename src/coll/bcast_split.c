/*
 * bcast_split.c - the data in n chunks: a binomial tree scatters them, then a ring brings
 * every rank the ones that it has not (van de Geijn). A rank that passes chunks on in the
 * tree keeps them, and the ring leaves them out.
 *
 * For large data: no rank sends much more than all data once, whereas the root of a tree
 * sends them log2 n times.
 *
 * Cost: ceil(log2 n) + n - 1 rounds; n - 1 times all data, in messages of one chunk, and
 * of several in the tree. Chunks without bytes are not sent.
 */
#include "coll/algorithms.h"

enum { CACHE_LINE = 64 }; /* chunks begin where a cache line does, if the buffer does */

static uint64_t chunk_at(const struct weft_shape *shape, int64_t chunk)
{
    const uint64_t n = (uint64_t)shape->n;
    const uint64_t each =
        ((shape->bytes + n - 1) / n + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    const uint64_t at = each * (uint64_t)chunk;

    return at < shape->bytes ? at : shape->bytes;
}

static struct weft_span chunks(const struct weft_shape *shape, int64_t first,
                               int64_t count)
{
    const uint64_t from = chunk_at(shape, first);

    return weft_span(WEFT_SPACE_RECV, from, chunk_at(shape, first + count) - from);
}

/* Returns the step after which this rank has the chunks of its subtree; *sent is its last
 * message to the next position, if there was one. */
static uint32_t add_scatter(const struct weft_shape *shape, struct weft_graph *graph,
                            uint32_t *sent)
{
    const int position = weft_build_position(shape, shape->rank);
    const int64_t above = weft_build_above(shape, position);
    const struct weft_span own =
        chunks(shape, position, weft_build_subtree(shape, position));
    uint32_t has = WEFT_NO_STEP;

    if (position != 0 && own.bytes > 0) {
        has =
            weft_graph_recv(graph, weft_build_rank_at(shape, position - (int)above), own);
    }
    for (int64_t away = above / 2; away > 0; away /= 2) {
        const int64_t child = position + away;

        if (child < shape->n && chunks(shape, child, 1).bytes > 0) {
            *sent = weft_graph_send(
                graph, weft_build_rank_at(shape, (int)child),
                chunks(shape, child, weft_build_subtree(shape, (int)child)));
            weft_graph_after(graph, *sent, has);
            *sent = away == 1 ? *sent : WEFT_NO_STEP;
        }
    }
    return has;
}

/* Has this position the chunk from the tree? */
static bool has_already(const struct weft_shape *shape, int position, int chunk)
{
    return chunk >= position && chunk < position + weft_build_subtree(shape, position);
}

/* In round i a rank passes on the chunk of the position that is i - 1 before it. */
static void add_ring(const struct weft_shape *shape, struct weft_graph *graph,
                     uint32_t scattered, uint32_t sent)
{
    const int n = shape->n;
    const int position = weft_build_position(shape, shape->rank);
    const int next = (position + 1) % n;
    const int previous = (position + n - 1) % n;
    uint32_t last = scattered; /* after which it has what it sends next */

    for (int i = 1; i < n; i++) {
        const int out = (position - i + 1 + n) % n;
        const int in = (position - i + n) % n;
        const struct weft_span going = chunks(shape, out, 1);
        const struct weft_span coming = chunks(shape, in, 1);

        if (going.bytes > 0 && !has_already(shape, next, out)) {
            const uint32_t send =
                weft_graph_send(graph, weft_build_rank_at(shape, next), going);

            weft_build_after_both(graph, send, last, sent);
            sent = send;
        }
        last = scattered;
        if (coming.bytes > 0 && !has_already(shape, position, in)) {
            last = weft_graph_recv(graph, weft_build_rank_at(shape, previous), coming);
        }
    }
}

enum weft_rc weft_bcast_split(const struct weft_shape *shape, struct weft_graph *graph)
{
    uint32_t sent = WEFT_NO_STEP;
    const uint32_t scattered = add_scatter(shape, graph, &sent);

    add_ring(shape, graph, scattered, sent);
    return graph->rc;
}

/* Chunks that have bytes: the first ones. */
static int filled(const struct weft_shape *shape)
{
    const uint64_t each = chunk_at(shape, 1);

    return each > 0 ? (int)((shape->bytes + each - 1) / each) : 0;
}

/* A position gets all chunks that have bytes, but for those from the tree. */
static uint64_t ring_messages(const struct weft_shape *shape)
{
    const int chunks_sent = filled(shape);
    uint64_t messages = 0;

    for (int position = 0; position < shape->n; position++) {
        const int end = position + weft_build_subtree(shape, position);
        const int last = end < chunks_sent ? end : chunks_sent;

        messages += (uint64_t)(chunks_sent - (last > position ? last - position : 0));
    }
    return messages;
}

struct weft_cost weft_bcast_split_cost(const struct weft_shape *shape)
{
    const uint64_t others = (uint64_t)shape->n - 1;
    const uint64_t in_tree = shape->bytes > 0 ? (uint64_t)filled(shape) - 1 : 0;
    const uint64_t rounds = weft_build_rounds(shape->n) + others;

    return (struct weft_cost){
        .messages = in_tree + ring_messages(shape),
        .bytes = others * shape->bytes,
        .chain = {.rounds = rounds,
                  .messages = rounds + others,
                  .bytes = 2 * weft_build_but_one(shape->bytes, shape->n)},
    };
}
