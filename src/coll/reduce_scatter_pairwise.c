/*
 * reduce_scatter_pairwise.c - in round i each rank sends rank + i its part of the input,
 * and combines what comes from rank - i into its own part. Two rounds overlap: one is
 * received while the other is combined. For operations that commute.
 *
 * Cost: n - 1 rounds of one part; n (n - 1) messages; n - 1 times all data in them, and
 * as much is reduced.
 */
#include "coll/algorithms.h"

enum { OVERLAP = 2 };

struct parts {
    struct weft_span input;
    struct weft_span own;    /* this rank's part of the input */
    uint64_t next;           /* where the part of the next peer begins */
    struct weft_span result; /* this rank's part, where it is put together */
    struct weft_span arrival[OVERLAP];
    uint32_t sent[OVERLAP];
    uint32_t reduced[OVERLAP]; /* the last step that read or wrote the arrival */
    uint32_t last;             /* the last step on `result` */
};

/* The first that comes is the result, with this rank's input as the other operand. */
static void combine(const struct weft_shape *shape, struct weft_graph *graph,
                    struct parts *parts, int i)
{
    const int peer = (shape->rank - i + shape->n) % shape->n;
    struct weft_span *arrival = &parts->arrival[i % OVERLAP];
    struct weft_span from = parts->own;
    struct weft_span to = parts->result;
    uint32_t received;

    if (i > 1) {
        if (arrival->bytes == 0) {
            *arrival = weft_graph_scratch(graph, parts->result.bytes);
        }
        from = *arrival;
        to = *arrival;
    }
    received = weft_graph_recv(graph, peer, to);
    weft_graph_after(graph, received, parts->reduced[i % OVERLAP]);
    parts->reduced[i % OVERLAP] = weft_graph_reduce(graph, from, parts->result);
    weft_build_after_both(graph, parts->reduced[i % OVERLAP], received, parts->last);
    parts->last = parts->reduced[i % OVERLAP];
}

static void add_round(const struct weft_shape *shape, struct weft_graph *graph,
                      struct parts *parts, int i)
{
    const int peer = (shape->rank + i) % shape->n;
    struct weft_span out;

    if (peer == 0) {
        parts->next = 0;
    }
    out = weft_span_part(parts->input, parts->next, weft_build_part(shape, peer));
    parts->next += out.bytes;
    if (out.bytes > 0) {
        const uint32_t sent = weft_graph_send(graph, peer, out);

        weft_graph_after(graph, sent, parts->sent[i % OVERLAP]);
        parts->sent[i % OVERLAP] = sent;
    }
    if (parts->result.bytes > 0) {
        combine(shape, graph, parts, i);
    }
}

enum weft_rc weft_reduce_scatter_pairwise(const struct weft_shape *shape,
                                          struct weft_graph *graph)
{
    const uint64_t all = weft_build_all_parts(shape);
    const struct weft_span own =
        weft_span(WEFT_SPACE_RECV, 0, weft_build_part(shape, shape->rank));
    struct parts parts = {
        .input = weft_build_input(shape, all),
        .result = own,
        .sent = {WEFT_NO_STEP, WEFT_NO_STEP},
        .reduced = {WEFT_NO_STEP, WEFT_NO_STEP},
        .last = WEFT_NO_STEP,
    };

    if (shape->n == 1 || all == 0) {
        return weft_build_alone(shape, graph, all);
    }
    parts.own = weft_span_part(parts.input, weft_build_parts_before(shape, shape->rank),
                               own.bytes);
    parts.next = parts.own.offset + own.bytes;
    if (shape->is_in_place && own.bytes > 0) {
        parts.result = weft_graph_scratch(graph, own.bytes);
    }
    for (int i = 1; i < shape->n; i++) {
        add_round(shape, graph, &parts, i);
    }
    if (shape->is_in_place && own.bytes > 0) {
        const uint32_t copied = weft_graph_copy(graph, parts.result, own);

        weft_graph_after(graph, copied, parts.last);
        weft_build_after_both(graph, copied, parts.sent[0], parts.sent[1]);
    }
    return graph->rc;
}

struct weft_cost weft_reduce_scatter_pairwise_cost(const struct weft_shape *shape)
{
    const uint64_t others = (uint64_t)shape->n - 1;
    struct weft_cost cost = {0};

    for (int rank = 0; rank < shape->n; rank++) {
        const uint64_t bytes = weft_build_part(shape, rank);

        cost.messages += bytes > 0 ? others : 0;
        cost.bytes += others * bytes;
    }
    cost.reduced = cost.bytes;
    cost.chain = (struct weft_chain){.rounds = others,
                                     .messages = 2 * others,
                                     .bytes = cost.bytes / (uint64_t)shape->n,
                                     .steps = others,
                                     .reduced = cost.bytes / (uint64_t)shape->n};
    return cost;
}
