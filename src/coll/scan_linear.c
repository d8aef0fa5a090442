/*
 * scan_linear.c - MPI_Scan and MPI_Exscan along a chain: each rank gets the outcome of
 * all before it, adds its own data and passes it on.
 *
 * Cost: n - 1 rounds; n - 1 messages of all data; n - 1 reductions in a scan, n - 2 in an
 * exclusive one.
 */
#include "coll/algorithms.h"

enum weft_rc weft_scan_linear(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span result = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const struct weft_span input = weft_build_input(shape, shape->bytes);
    uint32_t last = WEFT_NO_STEP;

    if (shape->bytes == 0) {
        return WEFT_OK;
    }
    if (!shape->is_in_place) {
        last = weft_graph_copy(graph, input, result);
    }
    if (shape->rank > 0) {
        const struct weft_span before = weft_graph_scratch(graph, shape->bytes);
        const uint32_t received = weft_graph_recv(graph, shape->rank - 1, before);
        const uint32_t reduced = weft_graph_reduce(graph, before, result);

        weft_build_after_both(graph, reduced, received, last);
        last = reduced;
    }
    if (shape->rank + 1 < shape->n) {
        weft_graph_after(graph, weft_graph_send(graph, shape->rank + 1, result), last);
    }
    return graph->rc;
}

struct weft_cost weft_scan_linear_cost(const struct weft_shape *shape)
{
    const uint64_t bytes = shape->bytes * ((uint64_t)shape->n - 1);

    const uint64_t messages = bytes > 0 ? (uint64_t)shape->n - 1 : 0;

    return (struct weft_cost){
        .messages = messages,
        .bytes = bytes,
        .reduced = bytes,
        .chain = {.rounds = messages,
                  .messages = messages,
                  .bytes = bytes,
                  .steps = messages + 1,
                  .reduced = bytes,
                  .copied = shape->bytes},
    };
}

/* What the next rank gets: the outcome of those before this one, and its own data. */
static void pass_on(const struct weft_shape *shape, struct weft_graph *graph,
                    struct weft_span own, uint32_t copied, uint32_t received)
{
    const struct weft_span before = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const uint32_t reduced = weft_graph_reduce(graph, before, own);

    weft_build_after_both(graph, reduced, copied, received);
    weft_graph_after(graph, weft_graph_send(graph, shape->rank + 1, own), reduced);
}

enum weft_rc weft_exscan_linear(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span before = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const struct weft_span input = weft_build_input(shape, shape->bytes);
    const bool is_last = shape->rank + 1 == shape->n;
    struct weft_span own;
    uint32_t copied;
    uint32_t received;

    if (shape->bytes == 0 || shape->n == 1) {
        return WEFT_OK;
    }
    if (shape->rank == 0) {
        weft_graph_send(graph, 1, input);
        return graph->rc;
    }
    if (is_last) {
        weft_graph_recv(graph, shape->rank - 1, before);
        return graph->rc;
    }
    own = weft_graph_scratch(graph, shape->bytes);
    copied = weft_graph_copy(graph, input, own);
    received = weft_graph_recv(graph, shape->rank - 1, before);
    weft_graph_after(graph, received, copied); /* in place it overwrites the input */
    pass_on(shape, graph, own, copied, received);
    return graph->rc;
}

struct weft_cost weft_exscan_linear_cost(const struct weft_shape *shape)
{
    const uint64_t n = (uint64_t)shape->n;

    if (shape->bytes == 0 || n == 1) {
        return (struct weft_cost){0};
    }
    return (struct weft_cost){
        .messages = n - 1,
        .bytes = (n - 1) * shape->bytes,
        .reduced = (n - 2) * shape->bytes,
        .chain = {.rounds = n - 1,
                  .messages = n - 1,
                  .bytes = (n - 1) * shape->bytes,
                  .steps = n - 1,
                  .reduced = (n - 2) * shape->bytes,
                  .copied = shape->bytes},
    };
}
