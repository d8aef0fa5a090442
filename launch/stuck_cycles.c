/*
 * stuck_cycles.c - ranks that wait for each other in a circle.
 *
 * A rank is in a circle if it belongs to a strongly connected component of the graph that
 * has an edge of its own. Tarjan's algorithm finds all components in one walk; only for
 * the few circles that are said is the shortest way back looked for.
 */
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAID_MOST = 4, STEPS_SAID = 8 };

/* ---- which ranks are in circles ---- */

struct walk {
    const struct stuck_graph *graph;
    int *number;   /* in the order of the walk, from 1; 0: not reached */
    int *low;      /* the least number that is reached from here, of open ranks */
    int *next;     /* the edge that is to be followed next */
    int *path;     /* from where the walk has begun to where it is */
    int *open;     /* reached, and their component is not complete */
    bool *is_open; /* by rank */
    bool *is_in;   /* what is looked for, by rank: it is in a circle */
    int path_count;
    int open_count;
    int reached;
};

static bool open_walk(const struct stuck_graph *graph, struct walk *walk)
{
    const size_t n = (size_t)graph->stuck->count + 1;

    *walk = (struct walk){
        .graph = graph,
        .number = calloc(n, sizeof(int)),
        .low = calloc(n, sizeof(int)),
        .next = calloc(n, sizeof(int)),
        .path = calloc(n, sizeof(int)),
        .open = calloc(n, sizeof(int)),
        .is_open = calloc(n, sizeof(bool)),
        .is_in = calloc(n, sizeof(bool)),
    };
    return walk->number != NULL && walk->low != NULL && walk->next != NULL &&
           walk->path != NULL && walk->open != NULL && walk->is_open != NULL &&
           walk->is_in != NULL;
}

static void close_walk(struct walk *walk)
{
    free(walk->number);
    free(walk->low);
    free(walk->next);
    free(walk->path);
    free(walk->open);
    free(walk->is_open);
    free(walk->is_in);
}

static void reach(struct walk *walk, int rank)
{
    walk->number[rank] = walk->low[rank] = ++walk->reached;
    walk->path[walk->path_count++] = rank;
    walk->open[walk->open_count++] = rank;
    walk->is_open[rank] = true;
}

/* The rank from which all of its component was reached: that is complete. */
static void close_component(struct walk *walk, int rank)
{
    const bool is_circle = walk->open[walk->open_count - 1] != rank;
    int last;

    do {
        last = walk->open[--walk->open_count];
        walk->is_open[last] = false;
        walk->is_in[last] |= is_circle;
    } while (last != rank);
}

static void lower(struct walk *walk, int rank, int to)
{
    walk->low[rank] = walk->low[rank] < to ? walk->low[rank] : to;
}

/* Follows the next edge of the last rank of the path, or goes back. */
static void step(struct walk *walk)
{
    const int rank = walk->path[walk->path_count - 1];
    const struct stuck_edges *edges = &walk->graph->edges[rank];

    stuck_steps++;
    if (walk->next[rank] < edges->count) {
        const int to = edges->to[walk->next[rank]++];

        walk->is_in[rank] |= to == rank;
        if (walk->number[to] == 0) {
            reach(walk, to);
        } else if (walk->is_open[to]) {
            lower(walk, rank, walk->number[to]);
        }
        return;
    }
    walk->path_count--;
    if (walk->path_count > 0) {
        lower(walk, walk->path[walk->path_count - 1], walk->low[rank]);
    }
    if (walk->low[rank] == walk->number[rank]) {
        close_component(walk, rank);
    }
}

static void find_circles(struct walk *walk)
{
    for (int r = 0; r < walk->graph->stuck->count; r++) {
        if (walk->number[r] == 0) {
            reach(walk, r);
        }
        while (walk->path_count > 0) {
            step(walk);
        }
    }
}

/* ---- one circle ---- */

struct search {
    const struct stuck_graph *graph;
    int *before; /* on the way from the start; -1: not reached */
    int *queue;
    bool *is_said;      /* by rank */
    bool *is_call_said; /* by call */
};

static bool open_search(const struct stuck_graph *graph, struct search *s)
{
    const size_t n = (size_t)graph->stuck->count + 1;

    *s = (struct search){
        .graph = graph,
        .before = calloc(n, sizeof(int)),
        .queue = calloc(n, sizeof(int)),
        .is_said = calloc(n, sizeof(bool)),
        .is_call_said = calloc(n, sizeof(bool)),
    };
    return s->before != NULL && s->queue != NULL && s->is_said != NULL &&
           s->is_call_said != NULL;
}

static void close_search(struct search *s)
{
    free(s->before);
    free(s->queue);
    free(s->is_said);
    free(s->is_call_said);
}

/* The last step of the shortest way from a rank in a circle back to itself. */
static int find_way_back(struct search *s, int start)
{
    int first = 0;
    int end = 0;

    for (int r = 0; r < s->graph->stuck->count; r++) {
        s->before[r] = -1;
    }
    s->queue[end++] = start;
    while (first < end) {
        const int at = s->queue[first++];
        const struct stuck_edges *edges = &s->graph->edges[at];

        for (int i = 0; i < edges->count; i++) {
            const int to = edges->to[i];

            stuck_steps++;
            if (to == start) {
                return at;
            }
            if (s->before[to] < 0) {
                s->before[to] = at;
                s->queue[end++] = to;
            }
        }
    }
    return start;
}

/* A rank in a circle is told of; so are those that are in the same collective. */
static void mark_said(struct search *s, int rank)
{
    s->is_said[rank] = true;
    if (s->graph->calls.of[rank] >= 0) {
        s->is_call_said[s->graph->calls.of[rank]] = true;
    }
}

static bool is_said(const struct search *s, int rank)
{
    const int call = s->graph->calls.of[rank];

    return s->is_said[rank] || (call >= 0 && s->is_call_said[call]);
}

/* The calls of a circle, in the order of waiting; the queue is free for it. */
static void say_cycle(struct search *s, int start, int last, struct bytes *to)
{
    char line[900];
    int length = 0;
    int used;

    for (int at = last; at != start; at = s->before[at]) {
        s->queue[length++] = at;
    }
    s->queue[length++] = start;
    used = snprintf(line, sizeof(line), "  cycle of %d: ", length);
    for (int i = length - 1; i >= 0; i--) {
        const int rank = s->queue[i];
        const int next = s->queue[i > 0 ? i - 1 : length - 1];

        mark_said(s, rank);
        if (length - 1 - i < STEPS_SAID) {
            const struct weft_doing *doing = &s->graph->stuck->ranks[rank].doing;
            char tag[32] = "";

            if (doing->what != WEFT_DOING_COLLECTIVE && doing->awaits.tag >= 0) {
                snprintf(tag, sizeof(tag), ", tag %d", doing->awaits.tag);
            }
            used += snprintf(line + used, sizeof(line) - (size_t)used,
                             "%s%d waits for %d (%s%s)", i < length - 1 ? ", " : "", rank,
                             next, doing->call, tag);
        } else if (length - 1 - i == STEPS_SAID) {
            used += snprintf(line + used, sizeof(line) - (size_t)used, ", ...");
        }
    }
    stuck_say(to, "%s", line);
}

void stuck_say_cycles(const struct stuck_graph *graph, struct bytes *to)
{
    struct search s = {.graph = NULL};
    struct walk walk;
    int said = 0;
    int left = 0;

    if (open_walk(graph, &walk) && open_search(graph, &s)) {
        find_circles(&walk);
        for (int r = 0; r < graph->stuck->count; r++) {
            if (!walk.is_in[r] || is_said(&s, r)) {
                continue;
            }
            if (said < SAID_MOST) {
                say_cycle(&s, r, find_way_back(&s, r), to);
                said++;
            } else {
                left++;
            }
        }
    }
    if (left > 0) {
        stuck_say(to, "  %d more ranks are in cycles", left);
    }
    close_search(&s);
    close_walk(&walk);
}
