/*
 * box_words.c - the lines that mpiexec prints when a job has failed: what the rank that
 * has fallen first has done last, and what the others did.
 */
#include "box.h"

#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
    PLANES = 8, /* of a communicator: its context is a multiple of this (core/comm.h) */
    GROUPS_SAID = 4,
    ROWS = 32,
    TEXT = 400,
};

/* ---- one event ---- */

void box_print_age(char *text, size_t size, uint64_t ns)
{
    const double us = (double)ns / 1e3;
    const double value = us < 1e3 ? us : us < 1e6 ? us / 1e3 : us / 1e6;
    const char *unit = us < 1e3 ? "us" : us < 1e6 ? "ms" : "s";

    snprintf(text, size, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
}

static const char *name_in(const struct weft_doing_message *list, uint32_t count,
                           uint32_t context)
{
    for (uint32_t i = 0; i < count && i < WEFT_DOING_MESSAGES; i++) {
        if (list[i].context / PLANES == context / PLANES && list[i].comm[0] != '\0') {
            return list[i].comm;
        }
    }
    return NULL;
}

/* Names are known by what ranks have waited for. */
static const char *name_by(const struct weft_doing *doing, uint32_t context)
{
    const char *name;

    if (doing->what == WEFT_DOING_NOTHING) {
        return NULL;
    }
    if (doing->awaits.context / PLANES == context / PLANES && doing->comm[0] != '\0') {
        return doing->comm;
    }
    name = name_in(doing->posted, doing->posted_count, context);
    if (name == NULL) {
        name = name_in(doing->sending, doing->sending_count, context);
    }
    return name != NULL ? name
                        : name_in(doing->unexpected, doing->unexpected_count, context);
}

const char *box_comm_name(const struct box *box, uint32_t context)
{
    static const char *const predefined[] = {"MPI_COMM_WORLD", "MPI_COMM_SELF"};

    if (context / PLANES < sizeof(predefined) / sizeof(predefined[0])) {
        return predefined[context / PLANES];
    }
    for (int r = 0; r < box->count; r++) {
        const char *name = name_by(&box->ranks[r].doing, context);

        if (name != NULL) {
            return name;
        }
    }
    return "";
}

static bool has(const char *name, const char *word)
{
    return strstr(name, word) != NULL;
}

static const char *towards(const char *name)
{
    return has(name, "ecv") || has(name, "robe")
               ? "from" /* so MPI_Sendrecv is recorded */
           : has(name, "end") ? "to"
           : has(name, "cast") || has(name, "educe") || has(name, "ather") ||
                   has(name, "catter")
               ? "root"
               : "rank";
}

static size_t add(char *text, size_t size, size_t used, const char *more)
{
    snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", more);
    return used + strlen(text + used);
}

void box_describe(const struct box *box, const struct box_event *event, char *text,
                  size_t size)
{
    const char *name = weft_trace_name(event->call);
    const bool is_message = event->peer >= -1;
    size_t used = 0;
    char part[64];

    text[0] = '\0';
    if (event->peer >= 0) {
        snprintf(part, sizeof(part), "%s %d", towards(name), event->peer);
        used = add(text, size, used, part);
    } else if (event->peer == -1) {
        used = add(text, size, used, "from any rank");
    }
    if (event->tag >= 0) {
        snprintf(part, sizeof(part), "%s %d", has(name, "Abort") ? "code" : "tag",
                 event->tag);
        used = add(text, size, used, part);
    } else if (event->tag == -2 && is_message && strcmp(towards(name), "from") == 0) {
        used = add(text, size, used, "any tag");
    }
    if (event->bytes > 0) {
        snprintf(part, sizeof(part), "%u byte%s%s", event->bytes,
                 event->bytes == 1 ? "" : "s",
                 event->bytes == UINT32_MAX ? " or more" : "");
        used = add(text, size, used, part);
    }
    if (event->context != WEFT_TRACE_NO_CONTEXT) {
        const char *comm = box_comm_name(box, event->context);

        if (comm[0] != '\0') {
            snprintf(text + used, size - used, "%son '%.48s'", used > 0 ? " " : "", comm);
        } else {
            snprintf(text + used, size - used, "%son context %u", used > 0 ? " " : "",
                     event->context / PLANES);
        }
    }
}

/* ---- the rank that has fallen ---- */

/* The event does not say what the call waits for, as that of MPI_Wait; but the rank has
 * written it. */
static bool knows_more(const struct box_rank *rank)
{
    const struct box_event *event = &rank->events[rank->count - 1];

    return rank->is_open && event->context == WEFT_TRACE_NO_CONTEXT &&
           rank->doing.what != WEFT_DOING_NOTHING && !rank->doing.is_spinning &&
           strcmp(rank->doing.call, weft_trace_name(event->call)) == 0;
}

static void describe_wait(const struct box_rank *rank, struct stuck_words *words)
{
    const struct stuck_rank stuck = {.life = STUCK_LIVING, .doing = rank->doing};

    stuck_describe(&stuck, words);
}

struct row {
    char age[24];
    char call[80];
    char detail[TEXT];
    const char *site;
};

static bool is_same(const struct box_event *a, const struct box_event *b)
{
    return a->call == b->call && a->context == b->context && a->peer == b->peer &&
           a->tag == b->tag && a->bytes == b->bytes && a->site == b->site;
}

/* The row of events `from` to `to`, which are the same but for their times. */
static void fill_row(const struct box *box, const struct box_rank *rank, int from, int to,
                     struct row *row)
{
    const struct box_event *event = &rank->events[to];
    struct stuck_words words;

    box_print_age(row->age, sizeof(row->age),
                  rank->ended > event->when ? rank->ended - event->when : 0);
    if (from == to) {
        snprintf(row->call, sizeof(row->call), "%s", weft_trace_name(event->call));
    } else {
        snprintf(row->call, sizeof(row->call), "%s x %d", weft_trace_name(event->call),
                 to - from + 1);
    }
    box_describe(box, event, row->detail, sizeof(row->detail));
    if (to == rank->count - 1 && knows_more(rank)) {
        const char *object;

        describe_wait(rank, &words);
        object = strstr(words.doing, " for ");
        snprintf(row->detail, sizeof(row->detail), "%.120s%.160s%.100s",
                 object != NULL ? object + 1 : "", words.detail, words.where);
    }
    row->site = box->sites[event->site];
}

static int make_rows(const struct box *box, const struct box_rank *rank, int most,
                     struct row *rows)
{
    int last = rank->count - 1;
    int count = 0;

    most = most < ROWS ? most : ROWS;
    while (last >= 0 && count < most) {
        int from = last;

        while (from > 0 && is_same(&rank->events[from - 1], &rank->events[last])) {
            from--;
        }
        fill_row(box, rank, from, last, &rows[count++]);
        last = from - 1;
    }
    return count;
}

static void say_rows(const struct row *rows, int count, struct bytes *to)
{
    int call = 0;
    int detail = 0;

    for (int i = 0; i < count; i++) {
        const int a = (int)strlen(rows[i].call);
        const int b = rows[i].site[0] != '\0' ? (int)strlen(rows[i].detail) : 0;

        call = a > call ? a : call;
        detail = b > detail ? b : detail;
    }
    for (int i = count - 1; i >= 0; i--) {
        char line[TEXT + 400];
        int n =
            snprintf(line, sizeof(line), "  %10s  %-*s%s%-*s  %s", rows[i].age, call,
                     rows[i].call, detail > 0 || rows[i].detail[0] != '\0' ? "  " : "",
                     detail, rows[i].detail, rows[i].site);

        n = n < (int)sizeof(line) ? n : (int)sizeof(line) - 1;
        while (n > 0 && line[n - 1] == ' ') {
            line[--n] = '\0';
        }
        stuck_say(to, "%s", line);
    }
}

static void say_fallen(const struct box *box, int first, int most, struct bytes *to)
{
    static struct row rows[ROWS];
    const struct box_rank *rank = &box->ranks[first];
    const int count = make_rows(box, rank, most, rows);
    char where[120];

    if (rank->life == BOX_SILENT) {
        stuck_say(to, "  nothing is known of the last calls of rank %d", first);
        return;
    }
    if (rank->life == BOX_NOT_BEGUN) {
        stuck_say(to, "  rank %d had not completed MPI_Init", first);
        return;
    }
    if (count == 0) {
        stuck_say(to, "  nothing is recorded of the last calls of rank %d", first);
        return;
    }
    if (rank->is_open) {
        snprintf(where, sizeof(where), "in %s",
                 weft_trace_name(rank->events[rank->count - 1].call));
    } else {
        snprintf(where, sizeof(where), "%s",
                 rank->life == BOX_FINALIZED ? "behind MPI_Finalize" : "outside MPI");
    }
    stuck_say(to, "  rank %d was %s; its last %s, and how long before its end %s began:",
              first, where, count > 1 ? "calls" : "call", count > 1 ? "they" : "it");
    say_rows(rows, count, to);
}

/* ---- the others ---- */

/* Those that do the same, but perhaps with another peer, tag or size. */
struct group {
    char doing[TEXT];
    char detail[TEXT];
    const char *site;
    bool is_waiting; /* for the rank that has fallen: said first */
    bool has_fallen;
    bool is_detail_same;
    uint64_t age;
    int count;
};

static bool is_collective(const char *name)
{
    static const char *const words[] = {"arrier",    "cast",     "ather",       "catter",
                                        "lltoall",   "educe",    "_Scan",       "_Exscan",
                                        "_Comm_dup", "_Comm_sp", "_Comm_create"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (has(name, words[i])) {
            return true;
        }
    }
    return false;
}

/* Does a rank wait for another, straight? */
static bool is_waiting_for(const struct box_rank *rank, int first)
{
    const struct box_event *event =
        rank->count > 0 ? &rank->events[rank->count - 1] : NULL;

    if (first < 0 || event == NULL || !rank->is_open) {
        return false;
    }
    if (knows_more(rank)) {
        return rank->doing.awaits.rank == first;
    }
    return event->context / PLANES == 0 && /* of others the members are not known */
           (event->peer == first || is_collective(weft_trace_name(event->call)));
}

static void describe_open(const struct box *box, const struct box_rank *rank,
                          struct group *group)
{
    const struct box_event *event = &rank->events[rank->count - 1];
    struct stuck_words words;
    char text[TEXT];

    group->site = box->sites[event->site];
    if (knows_more(rank)) {
        describe_wait(rank, &words);
        snprintf(group->doing, sizeof(group->doing), "%s", words.doing);
        snprintf(group->detail, sizeof(group->detail), "%.200s%.180s", words.detail,
                 words.where);
        return;
    }
    snprintf(group->doing, sizeof(group->doing), "in %s", weft_trace_name(event->call));
    box_describe(box, event, text, sizeof(text));
    if (text[0] != '\0') {
        snprintf(group->detail, sizeof(group->detail), "%s %.380s",
                 text[0] >= '0' && text[0] <= '9' ? "," : "", text); /* a size */
    }
}

static void describe_end(const struct box_rank *rank, struct group *group)
{
    if (WIFSIGNALED(rank->status)) {
        snprintf(group->doing, sizeof(group->doing), "fell too: killed by signal %d, %s",
                 WTERMSIG(rank->status), strsignal(WTERMSIG(rank->status)));
    } else {
        snprintf(group->doing, sizeof(group->doing), "fell too: ended with code %d",
                 WEXITSTATUS(rank->status));
    }
}

static void describe_other(const struct box *box, int r, int first, struct group *group)
{
    const struct box_rank *rank = &box->ranks[r];
    const uint64_t fell = first >= 0 ? box->ranks[first].ended : rank->ended;

    memset(group, 0, sizeof(*group));
    group->site = "";
    group->is_detail_same = true;
    if (rank->has_fallen) {
        group->has_fallen = true;
        describe_end(rank, group);
    } else if (rank->is_open && rank->count > 0) {
        const uint64_t when = rank->events[rank->count - 1].when;

        describe_open(box, rank, group);
        group->is_waiting = is_waiting_for(rank, first);
        group->age = fell > when ? fell - when : 0;
    } else {
        snprintf(group->doing, sizeof(group->doing), "%s",
                 rank->life == BOX_SILENT      ? "on a host that does not answer"
                 : rank->life == BOX_NOT_BEGUN ? "before MPI_Init"
                 : rank->life == BOX_FINALIZED ? "behind MPI_Finalize"
                                               : "outside MPI");
    }
}

static bool is_same_group(const struct group *a, const struct group *b)
{
    return a->is_waiting == b->is_waiting && strcmp(a->doing, b->doing) == 0 &&
           strcmp(a->site, b->site) == 0;
}

struct groups {
    struct group *at;
    int *of; /* by rank */
    bool *marks;
    int count;
};

static void add_rank(struct groups *groups, int rank, const struct group *of)
{
    int g = 0;

    while (g < groups->count && !is_same_group(&groups->at[g], of)) {
        g++;
    }
    if (g == groups->count) {
        groups->at[groups->count++] = *of;
    }
    groups->at[g].count++;
    groups->at[g].is_detail_same &= strcmp(groups->at[g].detail, of->detail) == 0;
    groups->at[g].age = of->age > groups->at[g].age ? of->age : groups->at[g].age;
    groups->of[rank] = g;
}

static void say_group(const struct box *box, const struct groups *groups, int g,
                      struct bytes *to)
{
    const struct group *group = &groups->at[g];
    const struct stuck stuck = {NULL, box->count};
    char age[48] = "";
    char list[300];

    for (int r = 0; r < box->count; r++) {
        groups->marks[r] = groups->of[r] == g;
    }
    stuck_list(&stuck, groups->marks, list, sizeof(list));
    if (group->age > 0) {
        char text[24];

        box_print_age(text, sizeof(text), group->age);
        snprintf(age, sizeof(age), " for %s%s", group->count > 1 ? "up to " : "", text);
    }
    stuck_say(to, "  %d %s%s%.200s%.240s%s%s%.200s: %s", group->count,
              group->count == 1 ? "rank " : "ranks ",
              group->has_fallen   ? ""
              : group->count == 1 ? "was "
                                  : "were ",
              group->doing, group->is_detail_same ? group->detail : "", age,
              group->site[0] != '\0' ? ", at " : "", group->site, list);
}

/* Those that waited for the fallen one first, then the largest. */
static int next_group(const struct groups *groups, const bool *is_said)
{
    int best = -1;

    for (int g = 0; g < groups->count; g++) {
        const struct group *a = &groups->at[g];
        const struct group *b = best >= 0 ? &groups->at[best] : NULL;

        if (!is_said[g] && (b == NULL || (a->is_waiting && !b->is_waiting) ||
                            (a->is_waiting == b->is_waiting && a->count > b->count))) {
            best = g;
        }
    }
    return best;
}

static void say_others(const struct box *box, int first, struct bytes *to)
{
    const size_t n = (size_t)box->count + 1;
    struct groups groups = {.at = calloc(n, sizeof(*groups.at)),
                            .of = calloc(n, sizeof(*groups.of)),
                            .marks = calloc(n, sizeof(*groups.marks))};
    bool *is_said = calloc(n, sizeof(*is_said));

    if (groups.at == NULL || groups.of == NULL || groups.marks == NULL ||
        is_said == NULL) {
        goto free_all;
    }
    for (int r = 0; r < box->count; r++) {
        struct group group;

        groups.of[r] = -1;
        if (r != first) {
            describe_other(box, r, first, &group);
            add_rank(&groups, r, &group);
        }
    }
    for (int said = 0; said < groups.count; said++) {
        const int g = next_group(&groups, is_said);

        if (said == GROUPS_SAID) {
            stuck_say(to, "  and %d more groups of ranks did other things",
                      groups.count - said);
            break;
        }
        is_said[g] = true;
        say_group(box, &groups, g, to);
    }
free_all:
    free(groups.at);
    free(groups.of);
    free(groups.marks);
    free(is_said);
}

void box_report(const struct box *box, int first, int most, struct bytes *to)
{
    if (first >= 0) {
        say_fallen(box, first, most, to);
    }
    say_others(box, first, to);
}
