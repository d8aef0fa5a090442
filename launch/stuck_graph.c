/*
 * stuck_graph.c - who waits for whom: the edges of the graph, and the ranks at which all
 * waiting ends.
 *
 * A rank in a collective waits for those that are not in it, nor ahead of it. On a
 * communicator of all ranks these are known; on another one they are the peers of its
 * receives and sends that belong to the collective. Members of one collective wait for
 * each other in the course of it, which means nothing.
 */
#include "stuck.h"

#include <stdlib.h>
#include <string.h>

enum { SAID_MOST = 4, SKIPS = 8 };

/* ---- edges ---- */

static void add(const struct stuck *stuck, struct stuck_edges *edges, int to)
{
    stuck_steps++;
    if (to < 0 || to >= stuck->count || edges->count == STUCK_EDGES) {
        return;
    }
    for (int i = 0; i < edges->count; i++) {
        if (edges->to[i] == to) {
            return;
        }
    }
    edges->to[edges->count++] = to;
}

static bool is_same_call(const struct stuck_graph *graph, int a, int b)
{
    return graph->calls.of[a] >= 0 && graph->calls.of[a] == graph->calls.of[b];
}

static void add_list(struct stuck_graph *graph, int from,
                     const struct weft_doing_message *list, uint32_t count)
{
    const struct stuck *stuck = graph->stuck;
    struct stuck_edges *edges = &graph->edges[from];

    for (uint32_t i = 0; i < count && i < WEFT_DOING_MESSAGES; i++) {
        const int to = list[i].rank;

        if (list[i].context != stuck->ranks[from].doing.awaits.context) {
            continue;
        }
        edges->is_any |= to == -1;
        if (to >= 0 && to < stuck->count && !is_same_call(graph, from, to)) {
            add(stuck, edges, to);
        }
    }
}

static void add_lists(struct stuck_graph *graph, int from)
{
    const struct weft_doing *doing = &graph->stuck->ranks[from].doing;

    add_list(graph, from, doing->posted, doing->posted_count);
    add_list(graph, from, doing->sending, doing->sending_count);
}

/* Has that rank been in the call of this one, and left it? */
static bool has_left(const struct stuck_graph *graph, int rank, int from)
{
    const struct stuck_calls *calls = &graph->calls;

    return calls->of[rank] >= 0 &&
           calls->comm[calls->of[rank]] == calls->comm[calls->of[from]] &&
           stuck_ahead(&graph->stuck->ranks[rank], &graph->stuck->ranks[from]) > 0;
}

/*
 * The first ranks that have not come to the call of this one. They are the same for all
 * its members, so one of them looks.
 */
static void add_missing(struct stuck_graph *graph, int from)
{
    struct stuck_edges *edges = &graph->edges[from];
    int *looker = &graph->looker[graph->calls.of[from]];

    if (*looker > 0) {
        *edges = graph->edges[*looker - 1];
        return;
    }
    *looker = from + 1;
    for (int r = 0; r < graph->stuck->count && edges->count < STUCK_EDGES; r++) {
        stuck_steps++;
        if (is_same_call(graph, from, r)) {
            continue;
        }
        if (!has_left(graph, r, from)) {
            add(graph->stuck, edges, r);
        } else if (graph->skips-- == 0) { /* as many calls as ranks: not worth n * n */
            graph->skips = 0;
            break;
        }
    }
}

static bool is_for_any(const struct weft_doing *doing)
{
    return doing->awaited > 1 &&
           (strstr(doing->call, "any") != NULL || strstr(doing->call, "some") != NULL);
}

static void add_edges(struct stuck_graph *graph, int rank)
{
    const struct stuck *stuck = graph->stuck;
    const struct stuck_rank *r = &stuck->ranks[rank];
    struct stuck_edges *edges = &graph->edges[rank];

    if (!stuck_is_waiting(r) || r->state == 'T' || r->state == 't') {
        return;
    }
    switch ((enum weft_doing_what)r->doing.what) {
    case WEFT_DOING_RECV:
    case WEFT_DOING_SEND:
    case WEFT_DOING_PROBE:
    case WEFT_DOING_PARTS_IN:
        edges->is_any = r->doing.awaits.rank == -1 || is_for_any(&r->doing);
        if (!edges->is_any) {
            add(stuck, edges, r->doing.awaits.rank);
        }
        break;
    case WEFT_DOING_PARTS_OUT: /* until all are ready it waits for itself */
        if (r->doing.parts_ready == r->doing.parts) {
            add(stuck, edges, r->doing.awaits.rank);
        }
        break;
    case WEFT_DOING_COLLECTIVE:
        if (r->doing.comm_size == (uint32_t)stuck->count) {
            add_missing(graph, rank);
        } else {
            add_lists(graph, rank);
        }
        break;
    case WEFT_DOING_OTHER:
        if (!r->doing.is_spinning) {
            add_lists(graph, rank);
        }
        break;
    default:
        break;
    }
}

/* Turns the edges round: by rank, the ranks that wait for it. */
static bool turn_round(struct stuck_graph *graph)
{
    const int n = graph->stuck->count;
    int *at;

    graph->first = calloc((size_t)n + 2, sizeof(int));
    if (graph->first == NULL) {
        return false;
    }
    at = graph->first + 1; /* filling moves each beginning to the next one's place */
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < graph->edges[r].count; i++) {
            at[graph->edges[r].to[i] + 1]++;
            stuck_steps++;
        }
    }
    for (int r = 0; r < n; r++) {
        at[r + 1] += at[r];
    }
    graph->waiters = calloc((size_t)at[n] + 1, sizeof(int));
    for (int r = 0; graph->waiters != NULL && r < n; r++) {
        for (int i = 0; i < graph->edges[r].count; i++) {
            graph->waiters[at[graph->edges[r].to[i]]++] = r;
        }
    }
    return graph->waiters != NULL;
}

bool stuck_graph_open(const struct stuck *stuck, struct stuck_graph *graph)
{
    *graph = (struct stuck_graph){.stuck = stuck, .skips = SKIPS * stuck->count};
    if (!stuck_calls_open(stuck, &graph->calls)) {
        return false;
    }
    graph->edges = calloc((size_t)stuck->count + 1, sizeof(*graph->edges));
    graph->looker = calloc((size_t)graph->calls.count + 1, sizeof(int));
    if (graph->edges == NULL || graph->looker == NULL) {
        return false;
    }
    for (int r = 0; r < stuck->count; r++) {
        add_edges(graph, r);
    }
    return turn_round(graph);
}

void stuck_graph_close(struct stuck_graph *graph)
{
    stuck_calls_close(&graph->calls);
    free(graph->edges);
    free(graph->looker);
    free(graph->first);
    free(graph->waiters);
}

/* ---- where waiting ends ---- */

/* Ranks that are marked, and those of them that have not been asked who waits for them.
 */
struct marks {
    bool *is_marked;
    int *queue;
    int first;
    int end;
};

static bool open_marks(const struct stuck *stuck, struct marks *marks)
{
    *marks = (struct marks){
        .is_marked = calloc((size_t)stuck->count + 1, sizeof(bool)),
        .queue = calloc((size_t)stuck->count + 1, sizeof(int)),
    };
    return marks->is_marked != NULL && marks->queue != NULL;
}

static void close_marks(struct marks *marks)
{
    free(marks->is_marked);
    free(marks->queue);
}

static void mark(struct marks *marks, int rank)
{
    stuck_steps++;
    if (!marks->is_marked[rank]) {
        marks->is_marked[rank] = true;
        marks->queue[marks->end++] = rank;
    }
}

/* Marks those that wait for the next rank of the queue, and returns that. */
static int mark_waiters_of_next(const struct stuck_graph *graph, struct marks *marks)
{
    const int rank = marks->queue[marks->first++];

    for (int i = graph->first[rank]; i < graph->first[rank + 1]; i++) {
        mark(marks, graph->waiters[i]);
    }
    return rank;
}

/* How many ranks wait for this one, straight or through others. */
static int count_waiters(const struct stuck_graph *graph, int rank)
{
    struct marks marks;
    int count = 0;

    if (open_marks(graph->stuck, &marks)) {
        mark(&marks, rank);
        while (marks.first < marks.end) {
            mark_waiters_of_next(graph, &marks);
        }
        count = marks.end - 1;
    }
    close_marks(&marks);
    return count;
}

/* A collective waits for each of its members; `is_done` is by call. */
static void mark_call(const struct stuck_graph *graph, int call, bool *is_done,
                      struct marks *marks)
{
    const struct stuck_calls *calls = &graph->calls;

    if (call >= 0 && !is_done[call]) {
        is_done[call] = true;
        for (int i = calls->first[call]; i < calls->first[call + 1]; i++) {
            mark(marks, calls->members[i]);
        }
    }
}

/* A collective of all ranks waits for each of them. */
static void mark_collectives_of_all(const struct stuck_graph *graph, bool *is_done,
                                    struct marks *marks)
{
    for (int r = 0; r < graph->stuck->count; r++) {
        if (graph->calls.of[r] >= 0 &&
            graph->stuck->ranks[r].doing.comm_size == (uint32_t)graph->stuck->count) {
            mark_call(graph, graph->calls.of[r], is_done, marks);
        }
    }
}

void stuck_mark_waiters(const struct stuck *stuck, int rank, bool *is_waiter)
{
    bool *is_done = calloc((size_t)stuck->count + 1, sizeof(bool));
    struct marks marks = {.is_marked = NULL};
    struct stuck_graph graph;

    if (stuck_graph_open(stuck, &graph) && open_marks(stuck, &marks) && is_done != NULL) {
        mark(&marks, rank);
        mark_collectives_of_all(&graph, is_done, &marks);
        while (marks.first < marks.end) {
            const int next = mark_waiters_of_next(&graph, &marks);

            mark_call(&graph, graph.calls.of[next], is_done, &marks);
        }
        for (int r = 0; r < stuck->count; r++) {
            is_waiter[r] = marks.is_marked[r] && r != rank;
        }
    }
    close_marks(&marks);
    stuck_graph_close(&graph);
    free(is_done);
}

static bool is_end(const struct stuck_graph *graph, int rank)
{
    return graph->edges[rank].count == 0 &&
           !(graph->calls.of[rank] >= 0 && !graph->edges[rank].is_any);
}

static bool is_awaited(const struct stuck_graph *graph, int rank)
{
    return graph->first[rank] < graph->first[rank + 1];
}

/* A message from anybody can come only from a rank that does not wait itself. */
static bool is_sender(const struct stuck_rank *rank)
{
    return (rank->life == STUCK_LIVING || rank->life == STUCK_NOT_BEGUN) &&
           (!stuck_is_waiting(rank) || rank->doing.is_spinning);
}

void stuck_say_ends(const struct stuck_graph *graph, struct bytes *to)
{
    const struct stuck *stuck = graph->stuck;
    int senders = 0;
    int said = 0;

    for (int r = 0; r < stuck->count; r++) {
        senders += is_sender(&stuck->ranks[r]);
    }
    for (int r = 0; r < stuck->count && said < SAID_MOST; r++) {
        char text[STUCK_TEXT];

        if (graph->edges[r].is_any && senders == is_sender(&stuck->ranks[r])) {
            stuck_say(to,
                      "  rank %d waits for a message from any rank, and nobody is "
                      "left to send one: all others wait or have ended",
                      r);
            said++;
        }
        if (is_end(graph, r) && is_awaited(graph, r)) {
            const int waiters = count_waiters(graph, r);

            stuck_describe_whole(&stuck->ranks[r], text, sizeof(text));
            stuck_say(to, "  %d rank%s for rank %d, which is %s", waiters,
                      waiters == 1 ? " waits" : "s wait", r, text);
            said++;
        }
    }
}
