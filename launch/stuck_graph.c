/*
 * stuck_graph.c - who waits for whom: the edges of the graph, its circles, and the ranks
 * at which all waiting ends.
 *
 * A rank in a collective waits for those that are not in it. On a communicator of all
 * ranks these are known; on another one they are the peers of its receives and sends that
 * belong to the collective. Members of one collective wait for each other in the course
 * of it, which means nothing.
 */
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAID_MOST = 4, STEPS_SAID = 8 };

static void add(const struct stuck *stuck, struct stuck_edges *edges, int to)
{
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

static void add_list(const struct stuck *stuck, int from, struct stuck_edges *edges,
                     const struct weft_doing_message *list, uint32_t count)
{
    const struct stuck_rank *rank = &stuck->ranks[from];

    for (uint32_t i = 0; i < count && i < WEFT_DOING_MESSAGES; i++) {
        const int to = list[i].rank;

        if (list[i].context != rank->doing.awaits.context) {
            continue;
        }
        edges->is_any |= to == -1;
        if (to >= 0 && to < stuck->count &&
            !stuck_is_same_call(rank, &stuck->ranks[to])) {
            add(stuck, edges, to);
        }
    }
}

static void add_lists(const struct stuck *stuck, int from, struct stuck_edges *edges)
{
    const struct weft_doing *doing = &stuck->ranks[from].doing;

    add_list(stuck, from, edges, doing->posted, doing->posted_count);
    add_list(stuck, from, edges, doing->sending, doing->sending_count);
}

static void add_missing(const struct stuck *stuck, int from, struct stuck_edges *edges)
{
    for (int r = 0; r < stuck->count; r++) {
        if (!stuck_is_same_call(&stuck->ranks[from], &stuck->ranks[r])) {
            add(stuck, edges, r);
        }
    }
}

static bool is_for_any(const struct weft_doing *doing)
{
    return doing->awaited > 1 &&
           (strstr(doing->call, "any") != NULL || strstr(doing->call, "some") != NULL);
}

void stuck_edges_of(const struct stuck *stuck, int rank, struct stuck_edges *edges)
{
    const struct stuck_rank *r = &stuck->ranks[rank];

    memset(edges, 0, sizeof(*edges));
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
            add_missing(stuck, rank, edges);
        } else {
            add_lists(stuck, rank, edges);
        }
        break;
    case WEFT_DOING_OTHER:
        if (!r->doing.is_spinning) {
            add_lists(stuck, rank, edges);
        }
        break;
    default:
        break;
    }
}

/* ---- circles ---- */

struct search {
    struct stuck_edges *edges; /* of all ranks */
    int *before;               /* on the way from the start; -1: not reached */
    int *queue;
    bool *is_said;
};

static bool open_search(const struct stuck *stuck, struct search *s)
{
    const size_t n = (size_t)stuck->count;

    s->edges = calloc(n, sizeof(*s->edges));
    s->before = calloc(n, sizeof(*s->before));
    s->queue = calloc(n, sizeof(*s->queue));
    s->is_said = calloc(n, sizeof(*s->is_said));
    if (s->edges == NULL || s->before == NULL || s->queue == NULL || s->is_said == NULL) {
        return false;
    }
    for (int r = 0; r < stuck->count; r++) {
        stuck_edges_of(stuck, r, &s->edges[r]);
    }
    return true;
}

static void close_search(struct search *s)
{
    free(s->edges);
    free(s->before);
    free(s->queue);
    free(s->is_said);
}

/* The last step of the shortest way from a rank back to itself; -1: there is none. */
static int find_way_back(const struct stuck *stuck, struct search *s, int start)
{
    int first = 0;
    int end = 0;

    for (int r = 0; r < stuck->count; r++) {
        s->before[r] = -1;
    }
    s->queue[end++] = start;
    while (first < end) {
        const int at = s->queue[first++];

        for (int i = 0; i < s->edges[at].count; i++) {
            const int to = s->edges[at].to[i];

            if (to == start) {
                return at;
            }
            if (s->before[to] < 0) {
                s->before[to] = at;
                s->queue[end++] = to;
            }
        }
    }
    return -1;
}

/* A rank in a circle is told of; so are those that are in the same collective. */
static void mark_said(const struct stuck *stuck, struct search *s, int rank)
{
    s->is_said[rank] = true;
    for (int r = 0; stuck_is_collective(&stuck->ranks[rank]) && r < stuck->count; r++) {
        s->is_said[r] |= stuck_is_same_call(&stuck->ranks[rank], &stuck->ranks[r]);
    }
}

/* The calls of a circle, in the order of waiting; the queue is free for it. */
static void say_cycle(const struct stuck *stuck, struct search *s, int start, int last,
                      struct bytes *to)
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

        mark_said(stuck, s, rank);
        if (length - 1 - i < STEPS_SAID) {
            const struct weft_doing *doing = &stuck->ranks[rank].doing;
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

void stuck_say_cycles(const struct stuck *stuck, struct bytes *to)
{
    struct search s;
    int said = 0;
    int left = 0;

    if (open_search(stuck, &s)) {
        for (int r = 0; r < stuck->count; r++) {
            const int last = s.is_said[r] ? -1 : find_way_back(stuck, &s, r);

            if (last >= 0 && said < SAID_MOST) {
                say_cycle(stuck, &s, r, last, to);
                said++;
            } else if (last >= 0) {
                left++;
            }
        }
    }
    if (left > 0) {
        stuck_say(to, "  %d more ranks are in cycles", left);
    }
    close_search(&s);
}

/* ---- where waiting ends ---- */

/* Marks those that wait for a marked rank, and says how many. */
static int spread(const struct stuck *stuck, struct search *s)
{
    int count = 0;
    bool is_more = true;

    while (is_more) {
        is_more = false;
        for (int r = 0; r < stuck->count; r++) {
            for (int i = 0; !s->is_said[r] && i < s->edges[r].count; i++) {
                if (s->is_said[s->edges[r].to[i]]) {
                    s->is_said[r] = true;
                    is_more = true;
                    count++;
                }
            }
        }
    }
    return count;
}

/* How many ranks wait for this one, straight or through others. */
static int count_waiters(const struct stuck *stuck, struct search *s, int rank)
{
    memset(s->is_said, 0, (size_t)stuck->count * sizeof(*s->is_said));
    s->is_said[rank] = true;
    return spread(stuck, s);
}

/* A collective of all ranks waits for each of them, one of its members for all. */
static void mark_collectives(const struct stuck *stuck, struct search *s)
{
    for (int r = 0; r < stuck->count; r++) {
        const struct stuck_rank *rank = &stuck->ranks[r];

        if (!stuck_is_collective(rank)) {
            continue;
        }
        s->is_said[r] |= rank->doing.comm_size == (uint32_t)stuck->count;
        for (int other = 0; s->is_said[r] && other < stuck->count; other++) {
            s->is_said[other] |= stuck_is_same_call(rank, &stuck->ranks[other]);
        }
    }
}

void stuck_mark_waiters(const struct stuck *stuck, int rank, bool *is_waiter)
{
    struct search s;
    int before = -1;
    int count = 0;

    if (open_search(stuck, &s)) {
        s.is_said[rank] = true;
        while (count != before) {
            before = count;
            mark_collectives(stuck, &s);
            spread(stuck, &s);
            count = 0;
            for (int r = 0; r < stuck->count; r++) {
                is_waiter[r] = s.is_said[r] && r != rank;
                count += is_waiter[r];
            }
        }
    }
    close_search(&s);
}

static bool is_end(const struct stuck *stuck, const struct search *s, int rank)
{
    return s->edges[rank].count == 0 &&
           !(stuck_is_collective(&stuck->ranks[rank]) && !s->edges[rank].is_any);
}

static bool is_awaited(const struct stuck *stuck, const struct search *s, int rank)
{
    for (int r = 0; r < stuck->count; r++) {
        for (int i = 0; i < s->edges[r].count; i++) {
            if (s->edges[r].to[i] == rank) {
                return true;
            }
        }
    }
    return false;
}

/* A message from anybody can come only from a rank that does not wait itself. */
static bool is_sender_left(const struct stuck *stuck, int but)
{
    for (int r = 0; r < stuck->count; r++) {
        const struct stuck_rank *rank = &stuck->ranks[r];

        if (r != but && (rank->life == STUCK_LIVING || rank->life == STUCK_NOT_BEGUN) &&
            (!stuck_is_waiting(rank) || rank->doing.is_spinning)) {
            return true;
        }
    }
    return false;
}

void stuck_say_ends(const struct stuck *stuck, struct bytes *to)
{
    struct search s;
    int said = 0;

    if (open_search(stuck, &s)) {
        for (int r = 0; r < stuck->count && said < SAID_MOST; r++) {
            char text[STUCK_TEXT];

            if (s.edges[r].is_any && !is_sender_left(stuck, r)) {
                stuck_say(to,
                          "  rank %d waits for a message from any rank, and nobody is "
                          "left to send one: all others wait or have ended",
                          r);
                said++;
            }
            if (is_end(stuck, &s, r) && is_awaited(stuck, &s, r)) {
                const int waiters = count_waiters(stuck, &s, r);

                stuck_describe_whole(&stuck->ranks[r], text, sizeof(text));
                stuck_say(to, "  %d rank%s for rank %d, which is %s", waiters,
                          waiters == 1 ? " waits" : "s wait", r, text);
                said++;
            }
        }
    }
    close_search(&s);
}
