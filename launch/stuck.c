/*
 * stuck.c - the report: ranks grouped by what they do, and what follows from it.
 */
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_SAID = 24, DETAILS_SAID = 8 };

/* Ranks that do the same, but perhaps with another peer, tag or size. */
struct group {
    char doing[STUCK_TEXT];
    char where[STUCK_TEXT];
    char detail[STUCK_TEXT];
    char site[STUCK_SITE];
    int lead; /* of their communicator: names do not tell all apart */
    int count;
    bool is_detail_same;
};

struct groups {
    struct group *at;
    int *of; /* by rank */
    int count;
};

static int find(const struct groups *groups, const struct stuck_words *words, int lead)
{
    for (int g = 0; g < groups->count; g++) {
        if (groups->at[g].lead == lead &&
            strcmp(groups->at[g].doing, words->doing) == 0 &&
            strcmp(groups->at[g].where, words->where) == 0 &&
            strcmp(groups->at[g].site, words->site) == 0) {
            return g;
        }
    }
    return -1;
}

static void add(struct groups *groups, int rank, const struct stuck_words *words,
                int lead)
{
    int g = find(groups, words, lead);
    struct group *group;

    if (g < 0) {
        g = groups->count++;
        group = &groups->at[g];
        memcpy(group->doing, words->doing, sizeof(group->doing));
        memcpy(group->where, words->where, sizeof(group->where));
        memcpy(group->detail, words->detail, sizeof(group->detail));
        memcpy(group->site, words->site, sizeof(group->site));
        group->lead = lead;
        group->is_detail_same = true;
    }
    group = &groups->at[g];
    group->is_detail_same &= strcmp(group->detail, words->detail) == 0;
    group->count++;
    groups->of[rank] = g;
}

/* The ranks of each stack; `marks` has those of the group, and loses those that are said.
 */
static void say_stacks(const struct stuck *stuck, bool *marks, struct bytes *to)
{
    bool *same = calloc((size_t)stuck->count, sizeof(*same));
    int said = 0;

    for (int r = 0; same != NULL && r < stuck->count && said < DETAILS_SAID; r++) {
        const char *stack = stuck->ranks[r].stack;
        char list[200];
        int count = 0;

        if (!marks[r] || stack[0] == '\0') {
            continue;
        }
        for (int other = 0; other < stuck->count; other++) {
            same[other] = marks[other] && strcmp(stuck->ranks[other].stack, stack) == 0;
            marks[other] &= !same[other];
            count += same[other];
        }
        stuck_list(stuck, same, list, sizeof(list));
        stuck_say(to, "      %s %s: %s", count == 1 ? "rank" : "ranks", list, stack);
        said++;
    }
    free(same);
}

static void say_group(const struct stuck *stuck, const struct groups *groups, int g,
                      bool *marks, struct bytes *to)
{
    const struct group *group = &groups->at[g];
    char list[400];
    int said = 0;

    for (int r = 0; r < stuck->count; r++) {
        marks[r] = groups->of[r] == g;
    }
    stuck_list(stuck, marks, list, sizeof(list));
    stuck_say(to, "  %d %s %.200s%.160s%.80s: %s%s%s", group->count,
              group->count == 1 ? "rank" : "ranks", group->doing,
              group->is_detail_same ? group->detail : "", group->where, list,
              group->site[0] != '\0' ? ", at " : "", group->site);
    for (int r = 0; !group->is_detail_same && r < stuck->count && said < DETAILS_SAID;
         r++) {
        struct stuck_words words;

        if (marks[r]) {
            stuck_describe(&stuck->ranks[r], &words);
            stuck_say(to, "      rank %d%s", r, words.detail);
            said++;
        }
    }
    if (said == DETAILS_SAID && group->count > said) {
        stuck_say(to, "      and %d more", group->count - said);
    }
    say_stacks(stuck, marks, to);
}

/* The largest first. */
static int largest_left(const struct groups *groups, const bool *is_said)
{
    int best = -1;

    for (int g = 0; g < groups->count; g++) {
        if (!is_said[g] && (best < 0 || groups->at[g].count > groups->at[best].count)) {
            best = g;
        }
    }
    return best;
}

static void say_groups(const struct stuck *stuck, const struct groups *groups,
                       bool *marks, bool *is_said, struct bytes *to)
{
    for (int n = 0; n < groups->count; n++) {
        const int g = largest_left(groups, is_said);

        if (n == GROUPS_SAID) {
            stuck_say(to, "  and %d more groups", groups->count - n);
            return;
        }
        is_said[g] = true;
        say_group(stuck, groups, g, marks, to);
    }
}

void stuck_report(const struct stuck *stuck, struct bytes *to)
{
    const size_t n = (size_t)stuck->count;
    struct groups groups = {
        .at = calloc(n, sizeof(*groups.at)),
        .of = calloc(n, sizeof(*groups.of)),
    };
    bool *marks = calloc(n, sizeof(*marks));
    bool *is_said = calloc(n, sizeof(*is_said));

    if (groups.at != NULL && groups.of != NULL && marks != NULL && is_said != NULL) {
        for (int r = 0; r < stuck->count; r++) {
            const struct stuck_rank *rank = &stuck->ranks[r];
            struct stuck_words words;

            stuck_describe(rank, &words);
            add(&groups, r, &words, stuck_is_waiting(rank) ? rank->doing.comm_lead : 0);
        }
        say_groups(stuck, &groups, marks, is_said, to);
        stuck_say_collectives(stuck, to);
        stuck_say_cycles(stuck, to);
        stuck_say_ends(stuck, to);
        stuck_say_messages(stuck, to);
    }
    free(groups.at);
    free(groups.of);
    free(marks);
    free(is_said);
}
