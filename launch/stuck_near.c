/*
 * stuck_near.c - what nearly fits: a message that waits and differs from what is received
 * in one respect, and members of a communicator that call different collectives.
 */
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAID_MOST = 8,
    COLLECTIVES_SAID = 24,
    PLANES = 8, /* the lowest bits of a context: core/comm.h */
};

/* ---- messages ---- */

static const char *difference(const struct weft_doing_message *wanted,
                              const struct weft_doing_message *there)
{
    const bool is_other_comm = wanted->context != there->context;
    const bool is_other_source = wanted->rank >= 0 && wanted->rank != there->rank;
    const bool is_other_tag = wanted->tag != -2 && wanted->tag != there->tag;

    if (is_other_comm + is_other_source + is_other_tag != 1) {
        return NULL;
    }
    return is_other_comm     ? "the communicator differs"
           : is_other_source ? "the source differs"
                             : "the tag differs";
}

static bool say_if_near(int rank, const struct weft_doing_message *wanted,
                        const struct weft_doing_message *there, struct bytes *to)
{
    const char *what = difference(wanted, there);
    char a[160];
    char b[160];

    if (what == NULL || wanted->context % PLANES != 0) {
        return false;
    }
    stuck_describe_message(wanted, "from", a, sizeof(a));
    stuck_describe_message(there, "from", b, sizeof(b));
    stuck_say(to,
              "  near miss at rank %d: it receives %s on '%s', and a message %s on '%s' "
              "(%llu bytes) waits: %s",
              rank, a, wanted->comm, b, there->comm, (unsigned long long)there->bytes,
              what);
    return true;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* True if one of the messages that wait nearly fits. */
static bool say_near(int rank, const struct weft_doing *doing,
                     const struct weft_doing_message *wanted, struct bytes *to)
{
    for (uint32_t i = 0; i < least(doing->unexpected_count, WEFT_DOING_MESSAGES); i++) {
        if (say_if_near(rank, wanted, &doing->unexpected[i], to)) {
            return true;
        }
    }
    return false;
}

static bool say_near_of_rank(int r, const struct weft_doing *doing, struct bytes *to)
{
    bool is_said = false;

    if (doing->what == WEFT_DOING_RECV || doing->what == WEFT_DOING_PROBE) {
        is_said = say_near(r, doing, &doing->awaits, to);
    }
    for (uint32_t i = 0; !is_said && i < least(doing->posted_count, WEFT_DOING_MESSAGES);
         i++) {
        is_said = say_near(r, doing, &doing->posted[i], to);
    }
    return is_said;
}

static void say_kept(int r, const struct weft_doing *doing, struct bytes *to)
{
    char text[160];

    stuck_describe_message(&doing->unexpected[0], "from", text, sizeof(text));
    stuck_say(to,
              "  rank %d keeps %u unexpected message%s, the first one %s on "
              "'%s' (%llu bytes)%s",
              r, doing->unexpected_count, doing->unexpected_count == 1 ? "" : "s", text,
              doing->unexpected[0].comm, (unsigned long long)doing->unexpected[0].bytes,
              doing->is_full ? ": there is no room for more, so their senders wait" : "");
}

void stuck_say_messages(const struct stuck *stuck, struct bytes *to)
{
    int said = 0;
    int left = 0;

    for (int r = 0; r < stuck->count; r++) {
        const struct weft_doing *doing = &stuck->ranks[r].doing;

        if (!stuck_is_waiting(&stuck->ranks[r]) || doing->unexpected_count == 0) {
            continue;
        }
        if (said == SAID_MOST) {
            left++;
        } else {
            if (!say_near_of_rank(r, doing, to) || doing->is_full) {
                say_kept(r, doing, to);
            }
            said++;
        }
    }
    if (left > 0) {
        stuck_say(to, "  %d more ranks keep unexpected messages", left);
    }
}

/* ---- collectives ---- */

/* Marks the members of a call, and no other ranks. */
static void mark(const struct stuck_graph *graph, int call, bool *marks)
{
    const struct stuck_calls *calls = &graph->calls;

    memset(marks, 0, (size_t)graph->stuck->count * sizeof(*marks));
    for (int i = calls->first[call]; i < calls->first[call + 1]; i++) {
        marks[calls->members[i]] = true;
    }
}

/* The members that a collective misses, as far as they are known. */
static void mark_missing(const struct stuck_graph *graph, int call, bool *missing)
{
    const struct stuck_calls *calls = &graph->calls;

    memset(missing, 0, (size_t)graph->stuck->count * sizeof(*missing));
    for (int i = calls->first[call]; i < calls->first[call + 1]; i++) {
        const struct stuck_edges *edges = &graph->edges[calls->members[i]];

        for (int e = 0; e < edges->count; e++) {
            missing[edges->to[e]] = true;
            stuck_steps++;
        }
    }
}

/* `members` are in the call, `come` with those that have left it. */
static void say_missing(const struct stuck *stuck, int rank, int members, int come,
                        const bool *missing, struct bytes *to)
{
    const struct stuck_rank *first = &stuck->ranks[rank];
    const int left = (int)first->doing.comm_size - come;
    char text[STUCK_TEXT];
    char list[160];

    if (left > 3 || left >= members || come > members) {
        stuck_list(stuck, missing, list, sizeof(list));
        stuck_say(to, "  %s on '%s': %d of %u members have come%s%s",
                  stuck_collective(first), first->doing.comm, come,
                  first->doing.comm_size, list[0] != '\0' ? "; missing: " : "", list);
        return;
    }
    for (int r = 0; r < stuck->count; r++) {
        if (missing[r]) {
            stuck_describe_whole(&stuck->ranks[r], text, sizeof(text));
            stuck_say(to, "  odd one out: %d ranks are in %s on '%s', rank %d is %s",
                      members, stuck_collective(first), first->doing.comm, r, text);
        }
    }
}

/* Another call on the communicator of this one: that of its first rank. */
static int other_call(const struct stuck_calls *calls, int call)
{
    int found = -1;

    for (int c = calls->comm[call];
         c < calls->count && calls->comm[c] == calls->comm[call]; c++) {
        if (c != call && (found < 0 || calls->members[calls->first[c]] <
                                           calls->members[calls->first[found]])) {
            found = c;
        }
    }
    return found;
}

/* All members are in a collective of the communicator, and none goes on. */
static void say_all_there(const struct stuck_graph *graph, int call, bool *marks,
                          struct bytes *to)
{
    const struct stuck *stuck = graph->stuck;
    const struct stuck_calls *calls = &graph->calls;
    const struct stuck_rank *first = &stuck->ranks[calls->members[calls->first[call]]];
    const int members = stuck_calls_size(calls, call);
    const int other = other_call(calls, call);
    char list[160];
    char others[160];

    if (members == (int)first->doing.comm_size) {
        stuck_say(to,
                  "  all %d members of '%s' are in %s: do they agree on root, count and "
                  "datatype?",
                  members, first->doing.comm, stuck_collective(first));
    } else if (other >= 0) {
        mark(graph, call, marks);
        stuck_list(stuck, marks, list, sizeof(list));
        mark(graph, other, marks);
        stuck_list(stuck, marks, others, sizeof(others));
        stuck_say(to,
                  "  near miss on '%s': %s is called by %s, and %s by %s; all members "
                  "must call the same collectives in the same order",
                  first->doing.comm, stuck_collective(first), list,
                  stuck_collective(&stuck->ranks[calls->members[calls->first[other]]]),
                  others);
    }
}

/* How many ranks are in this call, or have left it for a later one. */
static int members_come(const struct stuck_graph *graph, int call)
{
    const struct stuck_calls *calls = &graph->calls;
    const struct stuck_rank *ranks = graph->stuck->ranks;
    const struct stuck_rank *first = &ranks[calls->members[calls->first[call]]];
    int come = stuck_calls_size(calls, call);

    for (int c = calls->comm[call];
         c < calls->count && calls->comm[c] == calls->comm[call]; c++) {
        if (stuck_ahead(&ranks[calls->members[calls->first[c]]], first) > 0) {
            come += stuck_calls_size(calls, c);
        }
    }
    return come;
}

/* Are members in later calls than others? Then the former wait for the latter. */
static bool are_apart(const struct stuck_graph *graph, int call)
{
    return members_come(graph, call) > stuck_calls_size(&graph->calls, call) ||
           members_come(graph, graph->calls.comm[call]) >
               stuck_calls_size(&graph->calls, graph->calls.comm[call]);
}

/* How many ranks are in collectives of this call's communicator. */
static int members_there(const struct stuck_calls *calls, int call)
{
    int c = calls->comm[call];
    const int begin = calls->first[c];

    while (c < calls->count && calls->comm[c] == calls->comm[call]) {
        c++;
    }
    return calls->first[c] - begin;
}

/* What is to be said of a call; true: of all calls on its communicator. */
static bool say_call(const struct stuck_graph *graph, int call, bool *marks,
                     struct bytes *to)
{
    const struct stuck_calls *calls = &graph->calls;
    const int rank = calls->members[calls->first[call]];

    if (members_there(calls, call) == (int)graph->stuck->ranks[rank].doing.comm_size &&
        !are_apart(graph, call)) {
        say_all_there(graph, call, marks, to);
        return true;
    }
    mark_missing(graph, call, marks);
    say_missing(graph->stuck, rank, stuck_calls_size(calls, call),
                members_come(graph, call), marks, to);
    return false;
}

void stuck_say_collectives(const struct stuck_graph *graph, struct bytes *to)
{
    const struct stuck_calls *calls = &graph->calls;
    bool *is_done = calloc((size_t)calls->count + 1, sizeof(*is_done));
    bool *is_comm_done = calloc((size_t)calls->count + 1, sizeof(*is_comm_done));
    bool *marks = calloc((size_t)graph->stuck->count + 1, sizeof(*marks));
    int said = 0;
    int left = 0;

    if (is_done == NULL || is_comm_done == NULL || marks == NULL) {
        goto free_all;
    }
    for (int r = 0; r < graph->stuck->count; r++) {
        const int call = calls->of[r];

        if (call < 0 || is_done[call] || is_comm_done[calls->comm[call]]) {
            continue;
        }
        is_done[call] = true;
        if (said < COLLECTIVES_SAID) {
            is_comm_done[calls->comm[call]] = say_call(graph, call, marks, to);
            said++;
        } else {
            left++;
        }
    }
    if (left > 0) {
        stuck_say(to, "  and %d more collectives", left);
    }
free_all:
    free(is_done);
    free(is_comm_done);
    free(marks);
}
