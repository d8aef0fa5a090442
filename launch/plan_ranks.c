/*
 * plan_ranks.c - lists of ranks, as --debug and --stdin have them: see plan.h.
 */
#include "plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next range of a list "0,3-5", behind which `*at` then is; false: it is none. */
static bool next_range(const char **at, long *first, long *last)
{
    char *end;

    if (!isdigit((unsigned char)**at)) {
        return false;
    }
    *first = *last = strtol(*at, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1])) {
        *last = strtol(end + 1, &end, 10);
    }
    if (*end != '\0' && *end != ',') {
        return false;
    }
    *at = *end == ',' ? end + 1 : end;
    return *first <= *last && (*end == '\0' || **at != '\0');
}

bool ranks_have(const char *list, int rank)
{
    long first;
    long last;

    if (strcmp(list, "all") == 0) {
        return true;
    }
    while (*list != '\0' && next_range(&list, &first, &last)) {
        if (rank >= first && rank <= last) {
            return true;
        }
    }
    return false;
}

enum ranks_are ranks_check(const char *list, int count)
{
    long first;
    long last;

    if (strcmp(list, "all") == 0) {
        return RANKS_OF_JOB;
    }
    do {
        if (!next_range(&list, &first, &last)) {
            return RANKS_NO_LIST;
        }
        if (last >= count) {
            return RANKS_NOT_OF_JOB;
        }
    } while (*list != '\0');
    return RANKS_OF_JOB;
}

/* ---- --stdin ---- */

static const char no_rank[] = "none";

bool plan_has_input(const struct plan *plan, int rank)
{
    return plan->input == NULL
               ? rank == 0
               : strcmp(plan->input, no_rank) != 0 && ranks_have(plan->input, rank);
}

enum parsed plan_check_input(const struct plan *plan)
{
    enum ranks_are are = RANKS_OF_JOB;

    if (plan->input != NULL && strcmp(plan->input, no_rank) != 0) {
        are = ranks_check(plan->input, plan->ranks);
    }
    if (are == RANKS_NO_LIST) {
        fprintf(stderr, "%s: --stdin %s: ranks are named as none, all, 2 or 0,3-5\n",
                program_name, plan->input);
    } else if (are == RANKS_NOT_OF_JOB) {
        fprintf(stderr, "%s: --stdin %s: the ranks of this job are 0 to %d\n",
                program_name, plan->input, plan->ranks - 1);
    }
    return are == RANKS_OF_JOB ? PARSED : PARSED_WRONG;
}
