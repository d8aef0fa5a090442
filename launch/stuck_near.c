/*
 * stuck_near.c - what nearly fits: a message that waits and differs from what is received
 * in one respect, and members of a communicator that call different collectives.
 */
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAID_MOST = 8, PLANES = 8 }; /* the lowest bits of a context: core/comm.h */

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
              "  rank %d keeps %u message%s that no receive has met, the first one %s on "
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
        stuck_say(to, "  %d more ranks keep messages that no receive has met", left);
    }
}

/* ---- collectives ---- */

/* Marks the ranks that are in the same collective, or, if `is_any`, in any on the same
 * communicator. */
static int mark(const struct stuck *stuck, int rank, bool is_any, bool *marks)
{
    int count = 0;

    for (int r = 0; r < stuck->count; r++) {
        const struct stuck_rank *a = &stuck->ranks[rank];
        const struct stuck_rank *b = &stuck->ranks[r];

        marks[r] = is_any ? stuck_is_collective(b) && stuck_is_same_comm(a, b)
                          : stuck_is_same_call(a, b);
        count += marks[r];
    }
    return count;
}

/* The members that a collective misses, as far as they are known. */
static int mark_missing(const struct stuck *stuck, const bool *is_in, bool *missing)
{
    int count = 0;

    memset(missing, 0, (size_t)stuck->count * sizeof(*missing));
    for (int r = 0; r < stuck->count; r++) {
        struct stuck_edges edges;

        if (is_in[r]) {
            stuck_edges_of(stuck, r, &edges);
            for (int i = 0; i < edges.count; i++) {
                count += !missing[edges.to[i]];
                missing[edges.to[i]] = true;
            }
        }
    }
    return count;
}

static void say_missing(const struct stuck *stuck, int rank, int members,
                        const bool *missing, struct bytes *to)
{
    const struct stuck_rank *first = &stuck->ranks[rank];
    const int left = (int)first->doing.comm_size - members;
    char text[STUCK_TEXT];
    char list[160];

    if (left > 3 || left >= members) {
        stuck_list(stuck, missing, list, sizeof(list));
        stuck_say(to, "  missing: %d of %u members are in %s on '%s'%s%s", members,
                  first->doing.comm_size, stuck_collective(first), first->doing.comm,
                  list[0] != '\0' ? "; it waits for " : "", list);
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

/* All members are in a collective of the communicator, and none goes on. */
static void say_all_there(const struct stuck *stuck, int rank, const bool *is_in,
                          int members, bool *marks, struct bytes *to)
{
    const struct stuck_rank *first = &stuck->ranks[rank];
    char list[160];

    if (members == (int)first->doing.comm_size) {
        stuck_say(to,
                  "  all %d members of '%s' are in %s: do they agree on root, count and "
                  "datatype?",
                  members, first->doing.comm, stuck_collective(first));
        return;
    }
    stuck_list(stuck, is_in, list, sizeof(list));
    for (int r = 0; r < stuck->count; r++) {
        const struct stuck_rank *other = &stuck->ranks[r];
        char others[160];

        if (r > rank && stuck_is_collective(other) && stuck_is_same_comm(first, other) &&
            !is_in[r]) {
            mark(stuck, r, false, marks);
            stuck_list(stuck, marks, others, sizeof(others));
            stuck_say(
                to,
                "  near miss on '%s': %s is called by %s, and %s by %s; all members "
                "must call the same collectives in the same order",
                first->doing.comm, stuck_collective(first), list, stuck_collective(other),
                others);
            return;
        }
    }
}

void stuck_say_collectives(const struct stuck *stuck, struct bytes *to)
{
    const size_t n = (size_t)stuck->count;
    bool *is_done = calloc(n, sizeof(*is_done));
    bool *is_in = calloc(n, sizeof(*is_in));
    bool *marks = calloc(n, sizeof(*marks));

    for (int r = 0; is_done != NULL && is_in != NULL && marks != NULL && r < stuck->count;
         r++) {
        const struct stuck_rank *rank = &stuck->ranks[r];
        int members;

        if (is_done[r] || !stuck_is_collective(rank)) {
            continue;
        }
        members = mark(stuck, r, false, is_in);
        for (int i = 0; i < stuck->count; i++) {
            is_done[i] |= is_in[i];
        }
        if (mark(stuck, r, true, marks) == (int)rank->doing.comm_size) {
            for (int i = 0; i < stuck->count; i++) {
                is_done[i] |= marks[i];
            }
            say_all_there(stuck, r, is_in, members, marks, to);
        } else {
            mark_missing(stuck, is_in, marks);
            say_missing(stuck, r, members, marks, to);
        }
    }
    free(is_done);
    free(is_in);
    free(marks);
}
