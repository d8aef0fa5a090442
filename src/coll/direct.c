/*
 * direct.c - every block goes straight from the rank that has it to the rank that wants
 * it. All receives are posted and all sends started at once.
 *
 * Gathers and scatters of any sizes, for large data or few ranks; exchanges whose block
 * sizes only two ranks know; neighbourhoods.
 *
 * Cost: one round. Gather and scatter: n - 1 messages of one block, at one rank.
 * Allgather and alltoall: n (n - 1) messages of one block, n - 1 at each rank.
 */
#include "coll/algorithms.h"

/* ---- one root ---- */

enum weft_rc weft_gather_direct(const struct weft_shape *shape, struct weft_graph *graph)
{
    if (shape->rank != shape->root) {
        weft_graph_send(graph, shape->root, weft_span(WEFT_SPACE_SEND, 0, shape->given));
        return graph->rc;
    }
    for (int rank = 0; rank < shape->n; rank++) {
        if (rank != shape->rank) {
            weft_graph_recv(graph, rank, weft_build_block_from(shape, rank));
        } else if (!shape->is_in_place) {
            weft_build_own(graph, weft_span(WEFT_SPACE_SEND, 0, shape->given),
                           weft_build_block_from(shape, rank));
        }
    }
    return graph->rc;
}

enum weft_rc weft_scatter_direct(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span own = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);

    if (shape->rank != shape->root) {
        weft_graph_recv(graph, shape->root, own);
        return graph->rc;
    }
    for (int rank = 0; rank < shape->n; rank++) {
        if (rank != shape->rank) {
            weft_graph_send(graph, rank, weft_build_block_to(shape, rank));
        } else if (!shape->is_in_place) {
            weft_build_own(graph, weft_build_block_to(shape, rank), own);
        }
    }
    return graph->rc;
}

struct weft_cost weft_rooted_direct_cost(const struct weft_shape *shape)
{
    const uint64_t others = (uint64_t)shape->n - 1;

    return (struct weft_cost){
        .messages = others,
        .bytes = others * shape->bytes,
        .chain = {.rounds = 1, .messages = others, .bytes = others * shape->bytes},
    };
}

/* ---- all to all ---- */

enum weft_rc weft_allgather_direct(const struct weft_shape *shape,
                                   struct weft_graph *graph)
{
    const struct weft_span mine = weft_build_block_from(shape, shape->rank);
    const struct weft_span out =
        shape->is_in_place ? mine : weft_span(WEFT_SPACE_SEND, 0, shape->given);

    if (!shape->is_in_place) {
        weft_build_own(graph, out, mine);
    }
    for (int i = 1; i < shape->n; i++) { /* each begins with its own neighbour */
        const int from = weft_build_before(shape, i);

        weft_graph_recv(graph, from, weft_build_block_from(shape, from));
        weft_graph_send(graph, weft_build_behind(shape, i), out);
    }
    return graph->rc;
}

/* What is sent lies where the result goes, so it is moved out of the way first. */
static void replace_block(const struct weft_shape *shape, struct weft_graph *graph,
                          int peer)
{
    const struct weft_span block = weft_build_block_from(shape, peer);
    const struct weft_span aside = weft_graph_scratch(graph, block.bytes);
    const uint32_t moved = weft_graph_copy(graph, block, aside);

    weft_graph_after(graph, weft_graph_recv(graph, peer, block), moved);
    weft_graph_after(graph, weft_graph_send(graph, peer, aside), moved);
}

enum weft_rc weft_alltoall_direct(const struct weft_shape *shape,
                                  struct weft_graph *graph)
{
    if (!shape->is_in_place) {
        weft_build_own(graph, weft_build_block_to(shape, shape->rank),
                       weft_build_block_from(shape, shape->rank));
    }
    for (int i = 1; i < shape->n; i++) {
        const int from = weft_build_before(shape, i);
        const int to = weft_build_behind(shape, i);

        if (shape->is_in_place) {
            replace_block(shape, graph, to);
        } else {
            weft_graph_recv(graph, from, weft_build_block_from(shape, from));
            weft_graph_send(graph, to, weft_build_block_to(shape, to));
        }
    }
    return graph->rc;
}

struct weft_cost weft_alltoall_direct_cost(const struct weft_shape *shape)
{
    const uint64_t others = (uint64_t)shape->n - 1;
    const uint64_t gotten = others * shape->bytes;

    return (struct weft_cost){
        .messages = (uint64_t)shape->n * others,
        .bytes = (uint64_t)shape->n * gotten,
        .chain = {.rounds = 1,
                  .messages = 2 * others,
                  .bytes = gotten,
                  .steps = 1,
                  .copied = shape->bytes},
    };
}

/* Blocks may differ, and all ranks know their sizes. */
struct weft_cost weft_allgather_direct_cost(const struct weft_shape *shape)
{
    const uint64_t others = (uint64_t)shape->n - 1;
    const uint64_t all = weft_build_all_parts(shape);

    return (struct weft_cost){
        .messages = (uint64_t)shape->n * others,
        .bytes = others * all,
        .chain = {.rounds = 1,
                  .messages = 2 * others,
                  .bytes = weft_build_but_one(all, shape->n),
                  .steps = 1,
                  .copied = all / (uint64_t)shape->n},
    };
}

/* ---- neighbourhoods ---- */

/*
 * Where a process is a neighbour more than once, its messages match in the order in which
 * they are posted. In a grid, what goes to one side arrives from the other, so the
 * receives of each dimension are posted the other way round.
 */
static void add_receives(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_neighbourhood *around = shape->around;

    for (int i = 0; i < around->in; i++) {
        const int at = around->is_grid ? i ^ 1 : i;

        if (around->sources[at] >= 0) {
            weft_graph_recv(graph, around->sources[at], weft_build_block_from(shape, at));
        }
    }
}

enum weft_rc weft_neighbor_allgather_direct(const struct weft_shape *shape,
                                            struct weft_graph *graph)
{
    add_receives(shape, graph);
    for (int i = 0; i < shape->around->out; i++) {
        if (shape->around->destinations[i] >= 0) {
            weft_graph_send(graph, shape->around->destinations[i],
                            weft_span(WEFT_SPACE_SEND, 0, shape->given));
        }
    }
    return graph->rc;
}

enum weft_rc weft_neighbor_alltoall_direct(const struct weft_shape *shape,
                                           struct weft_graph *graph)
{
    add_receives(shape, graph);
    for (int i = 0; i < shape->around->out; i++) {
        if (shape->around->destinations[i] >= 0) {
            weft_graph_send(graph, shape->around->destinations[i],
                            weft_build_block_to(shape, i));
        }
    }
    return graph->rc;
}
