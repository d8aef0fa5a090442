#include "sched/graph.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16, ALIGNMENT = 16 };

void weft_graph_init(struct weft_graph *graph)
{
    *graph = (struct weft_graph){.rc = WEFT_OK};
}

void weft_graph_free(struct weft_graph *graph)
{
    free(graph->steps);
    free(graph->edges);
    weft_graph_init(graph);
}

/* The array with room for `room` elements, or NULL. */
static void *resize(struct weft_graph *graph, void *array, uint32_t *room, uint32_t more,
                    size_t size)
{
    void *grown = reallocarray(array, more, size);

    if (grown == NULL) {
        graph->rc = WEFT_ERR_NOMEM;
        return NULL;
    }
    *room = more;
    return grown;
}

/* The array with room for one more element, or NULL. */
static void *grow(struct weft_graph *graph, void *array, uint32_t count, uint32_t *room,
                  size_t size)
{
    if (count < *room) {
        return array;
    }
    return resize(graph, array, room, *room == 0 ? FIRST_ROOM : *room * 2, size);
}

void weft_graph_reserve(struct weft_graph *graph, uint32_t steps, uint32_t edges)
{
    struct weft_step *more_steps;
    struct weft_edge *more_edges;

    if (steps > graph->step_room) {
        more_steps =
            resize(graph, graph->steps, &graph->step_room, steps, sizeof(*more_steps));
        graph->steps = more_steps != NULL ? more_steps : graph->steps;
    }
    if (edges > graph->edge_room) {
        more_edges =
            resize(graph, graph->edges, &graph->edge_room, edges, sizeof(*more_edges));
        graph->edges = more_edges != NULL ? more_edges : graph->edges;
    }
}

struct weft_span weft_graph_scratch(struct weft_graph *graph, uint64_t bytes)
{
    const uint64_t unit = graph->unit != 0 ? graph->unit : ALIGNMENT;
    struct weft_span span = weft_span(WEFT_SPACE_SCRATCH, graph->scratch, bytes);

    span.block = graph->scratch_blocks++;
    graph->scratch += (bytes + unit - 1) / unit * unit;
    return span;
}

uint32_t weft_graph_add(struct weft_graph *graph, const struct weft_step *step)
{
    const uint32_t number = graph->step_count;
    struct weft_step *steps;

    if (graph->rc != WEFT_OK) {
        return WEFT_NO_STEP;
    }
    steps = grow(graph, graph->steps, number, &graph->step_room, sizeof(*steps));
    if (steps == NULL) {
        return WEFT_NO_STEP;
    }
    graph->steps = steps;
    graph->step_count++;
    steps[number] = *step;
    steps[number].first_edge = WEFT_NO_EDGE;
    steps[number].last_edge = WEFT_NO_EDGE;
    return number;
}

uint32_t weft_graph_send(struct weft_graph *graph, int peer, struct weft_span from)
{
    return weft_graph_add(
        graph, &(struct weft_step){.kind = WEFT_STEP_SEND, .peer = peer, .from = from});
}

uint32_t weft_graph_recv(struct weft_graph *graph, int peer, struct weft_span to)
{
    return weft_graph_add(
        graph, &(struct weft_step){.kind = WEFT_STEP_RECV, .peer = peer, .to = to});
}

uint32_t weft_graph_copy(struct weft_graph *graph, struct weft_span from,
                         struct weft_span to)
{
    return weft_graph_add(
        graph, &(struct weft_step){.kind = WEFT_STEP_COPY, .from = from, .to = to});
}

uint32_t weft_graph_reduce(struct weft_graph *graph, struct weft_span from,
                           struct weft_span to)
{
    return weft_graph_add(
        graph, &(struct weft_step){.kind = WEFT_STEP_REDUCE, .from = from, .to = to});
}

void weft_graph_after(struct weft_graph *graph, uint32_t step, uint32_t before)
{
    const uint32_t number = graph->edge_count;
    struct weft_edge *edges;
    struct weft_step *first;

    if (graph->rc != WEFT_OK || step == WEFT_NO_STEP || before == WEFT_NO_STEP) {
        return;
    }
    edges = grow(graph, graph->edges, number, &graph->edge_room, sizeof(*edges));
    if (edges == NULL) {
        return;
    }
    graph->edges = edges;
    graph->edge_count++;
    edges[number] = (struct weft_edge){.to = step, .next = WEFT_NO_EDGE};
    first = &graph->steps[before];
    if (first->last_edge == WEFT_NO_EDGE) {
        first->first_edge = number;
    } else {
        edges[first->last_edge].next = number;
    }
    first->last_edge = number;
    graph->steps[step].needs++;
}

/* ---- what can be wrong ---- */

static bool is_inside(struct weft_span span, const uint64_t space_bytes[WEFT_SPACES])
{
    return span.space < WEFT_SPACES && span.bytes <= space_bytes[span.space] &&
           span.offset <= space_bytes[span.space] - span.bytes;
}

static bool is_message(const struct weft_step *step)
{
    return step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_RECV;
}

static const char *check_step(const struct weft_step *step, int n,
                              const uint64_t space_bytes[WEFT_SPACES])
{
    if (step->kind >= WEFT_STEP_KINDS) {
        return "a kind of step that does not exist";
    }
    if (is_message(step) && (step->peer < 0 || step->peer >= n)) {
        return "a peer that does not exist";
    }
    if (!is_inside(step->from, space_bytes) || !is_inside(step->to, space_bytes)) {
        return "a span outside its space";
    }
    if (step->to.space == WEFT_SPACE_SEND && step->to.bytes > 0) {
        return "a step that writes to the send buffer";
    }
    if ((step->kind == WEFT_STEP_COPY || step->kind == WEFT_STEP_REDUCE) &&
        step->from.bytes != step->to.bytes) {
        return "a copy or reduction between spans of different sizes";
    }
    return NULL;
}

/* Counts in left[] how many edges lead to each step. */
static const char *check_edges(const struct weft_graph *graph, uint32_t *left)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < graph->step_count; i++) {
        for (uint32_t e = graph->steps[i].first_edge; e != WEFT_NO_EDGE;
             e = graph->edges[e].next) {
            if (e >= graph->edge_count || ++seen > graph->edge_count) {
                return "a list of edges that does not end";
            }
            if (graph->edges[e].to >= graph->step_count) {
                return "an edge to a step that does not exist";
            }
            left[graph->edges[e].to]++;
        }
    }
    for (uint32_t i = 0; i < graph->step_count; i++) {
        if (graph->steps[i].needs < left[i]) {
            return "a step that needs fewer releases than edges lead to it";
        }
    }
    return NULL;
}

/* Takes away steps without edges to them, again and again; the rest is in cycles. */
static const char *check_order(const struct weft_graph *graph, uint32_t *left,
                               uint32_t *queue)
{
    uint32_t end = 0;

    for (uint32_t i = 0; i < graph->step_count; i++) {
        if (left[i] == 0) {
            queue[end++] = i;
        }
    }
    for (uint32_t at = 0; at < end; at++) {
        for (uint32_t e = graph->steps[queue[at]].first_edge; e != WEFT_NO_EDGE;
             e = graph->edges[e].next) {
            if (--left[graph->edges[e].to] == 0) {
                queue[end++] = graph->edges[e].to;
            }
        }
    }
    return end == graph->step_count ? NULL : "steps that wait for each other";
}

const char *weft_graph_check(const struct weft_graph *graph, int n,
                             const uint64_t space_bytes[WEFT_SPACES])
{
    const char *wrong = NULL;
    uint32_t *left;

    for (uint32_t i = 0; i < graph->step_count && wrong == NULL; i++) {
        wrong = check_step(&graph->steps[i], n, space_bytes);
    }
    if (wrong != NULL || graph->step_count == 0) {
        return wrong;
    }
    left = calloc(graph->step_count, 2 * sizeof(*left));
    if (left == NULL) {
        return "no memory to check it";
    }
    wrong = check_edges(graph, left);
    if (wrong == NULL) {
        wrong = check_order(graph, left, left + graph->step_count);
    }
    free(left);
    return wrong;
}
