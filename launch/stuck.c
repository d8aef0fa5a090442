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
    unsigned hash;
    int count;
    bool is_detail_same;
};

struct groups {
    struct group *at;
    int *of; /* by rank */
    int count;
    int *table;    /* groups by hash, and 1; 0: free */
    unsigned mask; /* of its size, a power of two that leaves half of it free */
};

/* FNV-1a, with the end of the text. */
static unsigned hash_text(unsigned hash, const char *text)
{
    do {
        hash = (hash ^ (unsigned char)*text) * 16777619U;
    } while (*text++ != '\0');
    return hash;
}

static bool is_of(const struct group *group, const struct stuck_words *words, int lead,
                  unsigned hash)
{
    stuck_steps++;
    return group->hash == hash && group->lead == lead &&
           strcmp(group->doing, words->doing) == 0 &&
           strcmp(group->where, words->where) == 0 &&
           strcmp(group->site, words->site) == 0;
}

/* The group's place in the table: that of its number, or the free one where it belongs.
 */
static int *find(const struct groups *groups, const struct stuck_words *words, int lead,
                 unsigned hash)
{
    unsigned at = hash & groups->mask;

    while (groups->table[at] > 0 &&
           !is_of(&groups->at[groups->table[at] - 1], words, lead, hash)) {
        at = (at + 1) & groups->mask;
    }
    return &groups->table[at];
}

static void add(struct groups *groups, int rank, const struct stuck_words *words,
                int lead)
{
    const unsigned hash = hash_text(
        hash_text(hash_text((unsigned)lead * 2654435761U, words->doing), words->where),
        words->site);
    int *place = find(groups, words, lead, hash);
    struct group *group;

    if (*place == 0) {
        *place = ++groups->count;
        group = &groups->at[*place - 1];
        memcpy(group->doing, words->doing, sizeof(group->doing));
        memcpy(group->where, words->where, sizeof(group->where));
        memcpy(group->detail, words->detail, sizeof(group->detail));
        memcpy(group->site, words->site, sizeof(group->site));
        group->lead = lead;
        group->hash = hash;
        group->is_detail_same = true;
    }
    group = &groups->at[*place - 1];
    group->is_detail_same &= strcmp(group->detail, words->detail) == 0;
    group->count++;
    groups->of[rank] = *place - 1;
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

static bool open_groups(const struct stuck *stuck, struct groups *groups)
{
    const size_t n = (size_t)stuck->count + 1;
    size_t size = 4;

    while (size < 2 * n) {
        size *= 2;
    }
    *groups = (struct groups){
        .at = calloc(n, sizeof(*groups->at)),
        .of = calloc(n, sizeof(*groups->of)),
        .table = calloc(size, sizeof(*groups->table)),
        .mask = (unsigned)size - 1,
    };
    return groups->at != NULL && groups->of != NULL && groups->table != NULL;
}

static void close_groups(struct groups *groups)
{
    free(groups->at);
    free(groups->of);
    free(groups->table);
}

static void group_ranks(const struct stuck *stuck, struct groups *groups)
{
    for (int r = 0; r < stuck->count; r++) {
        const struct stuck_rank *rank = &stuck->ranks[r];
        struct stuck_words words;

        stuck_describe(rank, &words);
        add(groups, r, &words, stuck_is_waiting(rank) ? rank->doing.comm_lead : 0);
    }
}

void stuck_report(const struct stuck *stuck, struct bytes *to)
{
    bool *marks = calloc((size_t)stuck->count + 1, sizeof(*marks));
    bool *is_said = calloc((size_t)stuck->count + 1, sizeof(*is_said));
    struct stuck_graph graph;
    struct groups groups;

    if (open_groups(stuck, &groups) && marks != NULL && is_said != NULL) {
        group_ranks(stuck, &groups);
        say_groups(stuck, &groups, marks, is_said, to);
    }
    if (stuck_graph_open(stuck, &graph)) {
        stuck_say_collectives(&graph, to);
        stuck_say_cycles(&graph, to);
        stuck_say_ends(&graph, to);
    }
    stuck_say_messages(stuck, to);
    stuck_graph_close(&graph);
    close_groups(&groups);
    free(marks);
    free(is_said);
}
