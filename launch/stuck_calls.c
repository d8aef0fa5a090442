/*
 * stuck_calls.c - ranks that are in the same collective, found by sorting: a report must
 * not compare each rank with each other one.
 */
#include "stuck.h"

#include <stdlib.h>
#include <string.h>

static int order_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* By communicator, then by number and by name of the collective. */
static int compare_calls(const struct stuck_rank *a, const struct stuck_rank *b)
{
    int order = order_of(a->doing.awaits.context, b->doing.awaits.context);

    stuck_steps++;
    order = order != 0 ? order : order_of(a->doing.comm_lead, b->doing.comm_lead);
    order = order != 0 ? order : order_of(a->doing.awaits.tag, b->doing.awaits.tag);
    return order != 0 ? order : strcmp(stuck_collective(a), stuck_collective(b));
}

static int compare_ranks(const void *a, const void *b, void *table)
{
    const struct stuck_rank *ranks = table;
    const int first = *(const int *)a;
    const int second = *(const int *)b;
    const int order = compare_calls(&ranks[first], &ranks[second]);

    return order != 0 ? order : order_of(first, second);
}

/* Gives the calls their numbers; `members` is sorted. */
static void number_calls(const struct stuck *stuck, struct stuck_calls *calls,
                         int members)
{
    for (int i = 0; i < members; i++) {
        const struct stuck_rank *now = &stuck->ranks[calls->members[i]];
        const struct stuck_rank *last = &stuck->ranks[calls->members[i > 0 ? i - 1 : 0]];

        if (i == 0 || compare_calls(last, now) != 0) {
            const bool is_same_comm =
                i > 0 && last->doing.awaits.context == now->doing.awaits.context &&
                last->doing.comm_lead == now->doing.comm_lead;

            calls->comm[calls->count] =
                is_same_comm ? calls->comm[calls->count - 1] : calls->count;
            calls->first[calls->count++] = i;
        }
        calls->of[calls->members[i]] = calls->count - 1;
    }
    calls->first[calls->count] = members;
}

bool stuck_calls_open(const struct stuck *stuck, struct stuck_calls *calls)
{
    const size_t n = (size_t)stuck->count;
    int members = 0;

    *calls = (struct stuck_calls){
        .of = calloc(n + 1, sizeof(int)),
        .members = calloc(n + 1, sizeof(int)),
        .first = calloc(n + 1, sizeof(int)),
        .comm = calloc(n + 1, sizeof(int)),
    };
    if (calls->of == NULL || calls->members == NULL || calls->first == NULL ||
        calls->comm == NULL) {
        return false;
    }
    for (int r = 0; r < stuck->count; r++) {
        calls->of[r] = -1;
        if (stuck_is_collective(&stuck->ranks[r])) {
            calls->members[members++] = r;
        }
    }
    qsort_r(calls->members, (size_t)members, sizeof(int), compare_ranks,
            (void *)(uintptr_t)stuck->ranks);
    number_calls(stuck, calls, members);
    return true;
}

void stuck_calls_close(struct stuck_calls *calls)
{
    free(calls->of);
    free(calls->members);
    free(calls->first);
    free(calls->comm);
}

int stuck_calls_size(const struct stuck_calls *calls, int call)
{
    return calls->first[call + 1] - calls->first[call];
}
