/*
 * group_set.c - the set operations on groups.
 *
 * Members go through a draft one by one, so that a result that follows a formula never
 * takes a table. Looking many processes up in a group that has a table is done in a
 * sorted copy of it, for the time of the operation.
 */
#include "core/group.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- looking up ---- */

struct place {
    uint64_t process;
    int rank;
};

struct finder {
    const struct weft_group *group;
    struct place *sorted; /* by process; NULL: the group has no table, or few ask */
};

enum { FEW = 8 };

static int by_process(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;

    return (x->process > y->process) - (x->process < y->process);
}

static enum weft_rc open_finder(struct finder *finder, const struct weft_group *group,
                                int questions)
{
    *finder = (struct finder){.group = group};
    if (group->map.table == NULL || questions < FEW) {
        return WEFT_OK;
    }
    finder->sorted = malloc((size_t)group->size * sizeof(*finder->sorted));
    if (finder->sorted == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (int i = 0; i < group->size; i++) {
        finder->sorted[i] = (struct place){group->map.table[i], i};
    }
    qsort(finder->sorted, (size_t)group->size, sizeof(*finder->sorted), by_process);
    return WEFT_OK;
}

static int find(const struct finder *finder, uint64_t process)
{
    const struct place wanted = {.process = process};
    const struct place *found;

    if (finder->sorted == NULL) {
        return weft_group_rank_of(finder->group, process);
    }
    found = bsearch(&wanted, finder->sorted, (size_t)finder->group->size, sizeof(wanted),
                    by_process);
    return found != NULL ? found->rank : MPI_UNDEFINED;
}

static void close_finder(struct finder *finder)
{
    free(finder->sorted);
}

/* What is made of a group belongs to the same session. */
static void inherit(struct weft_group_draft *draft, const struct weft_group *group)
{
    draft->session = draft->session != 0 ? draft->session : group->session;
}

/* ---- two groups ---- */

/* Appends the members of `a` that are, or are not, in `b`. */
static enum weft_rc add_some(struct weft_group_draft *draft, const struct weft_group *a,
                             const struct weft_group *b, bool is_wanted)
{
    struct finder finder;
    enum weft_rc rc = open_finder(&finder, b, a->size);

    inherit(draft, a);
    for (int i = 0; i < a->size && rc == WEFT_OK; i++) {
        uint64_t process = weft_group_process(a, i);

        if ((find(&finder, process) != MPI_UNDEFINED) == is_wanted) {
            rc = weft_group_add(draft, process);
        }
    }
    close_finder(&finder);
    if (rc != WEFT_OK) {
        weft_group_drop(draft);
    }
    return rc;
}

enum weft_rc weft_group_union(const struct weft_group *a, const struct weft_group *b,
                              struct weft_group_draft *draft)
{
    enum weft_rc rc = add_some(draft, a, &weft_group_empty, false);

    return rc == WEFT_OK ? add_some(draft, b, a, false) : rc;
}

enum weft_rc weft_group_intersection(const struct weft_group *a,
                                     const struct weft_group *b,
                                     struct weft_group_draft *draft)
{
    return add_some(draft, a, b, true);
}

enum weft_rc weft_group_difference(const struct weft_group *a, const struct weft_group *b,
                                   struct weft_group_draft *draft)
{
    return add_some(draft, a, b, false);
}

/* Equal groups have equal forms. */
static bool is_identical(const struct weft_group *a, const struct weft_group *b)
{
    const struct weft_map *x = &a->map;
    const struct weft_map *y = &b->map;

    if (a->size != b->size || (x->table == NULL) != (y->table == NULL)) {
        return false;
    }
    if (x->table != NULL) {
        return memcmp(x->table, y->table, (size_t)a->size * sizeof(*x->table)) == 0;
    }
    return x->first == y->first && x->stride == y->stride;
}

enum weft_rc weft_group_compare(const struct weft_group *a, const struct weft_group *b,
                                int *result)
{
    struct finder finder;
    enum weft_rc rc;

    *result = is_identical(a, b) ? MPI_IDENT : MPI_UNEQUAL;
    if (*result == MPI_IDENT || a->size != b->size) {
        return WEFT_OK;
    }
    rc = open_finder(&finder, b, a->size);
    *result = MPI_SIMILAR;
    for (int i = 0; i < a->size && rc == WEFT_OK && *result == MPI_SIMILAR; i++) {
        if (find(&finder, weft_group_process(a, i)) == MPI_UNDEFINED) {
            *result = MPI_UNEQUAL;
        }
    }
    close_finder(&finder);
    return rc;
}

enum weft_rc weft_group_translate(const struct weft_group *from, int n, const int *ranks,
                                  const struct weft_group *to, int *translated)
{
    struct finder finder;
    enum weft_rc rc = open_finder(&finder, to, n);

    for (int i = 0; i < n && rc == WEFT_OK; i++) {
        translated[i] = ranks[i] == MPI_PROC_NULL
                            ? MPI_PROC_NULL
                            : find(&finder, weft_group_process(from, ranks[i]));
    }
    close_finder(&finder);
    return rc;
}

/* ---- some of one group ---- */

int weft_group_range_length(const int range[3])
{
    const int64_t distance = (int64_t)range[1] - range[0];

    if ((distance > 0) != (range[2] > 0) && distance != 0) {
        return 0;
    }
    /* Only a range that no group has room for is longer than an int tells. */
    return (int)(distance / range[2] < INT_MAX ? distance / range[2] + 1 : INT_MAX);
}

static enum weft_rc add_range(struct weft_group_draft *draft,
                              const struct weft_group *group, const int range[3])
{
    const int length = weft_group_range_length(range);
    enum weft_rc rc = WEFT_OK;

    for (int i = 0; i < length && rc == WEFT_OK; i++) {
        rc = weft_group_add(draft, weft_group_process(group, range[0] + i * range[2]));
    }
    return rc;
}

enum weft_rc weft_group_range_incl(const struct weft_group *group, int n,
                                   int (*ranges)[3], struct weft_group_draft *draft)
{
    enum weft_rc rc = WEFT_OK;

    inherit(draft, group);
    for (int i = 0; i < n && rc == WEFT_OK; i++) {
        rc = add_range(draft, group, ranges[i]);
    }
    if (rc != WEFT_OK) {
        weft_group_drop(draft);
    }
    return rc;
}

enum weft_rc weft_group_incl(const struct weft_group *group, int n, const int *ranks,
                             struct weft_group_draft *draft)
{
    enum weft_rc rc = WEFT_OK;

    inherit(draft, group);
    for (int i = 0; i < n && rc == WEFT_OK; i++) {
        rc = weft_group_add(draft, weft_group_process(group, ranks[i]));
    }
    if (rc != WEFT_OK) {
        weft_group_drop(draft);
    }
    return rc;
}

/* Appends the members whose bit is not set. */
static enum weft_rc add_others(struct weft_group_draft *draft,
                               const struct weft_group *group, const uint8_t *is_left_out)
{
    enum weft_rc rc = WEFT_OK;

    inherit(draft, group);
    for (int i = 0; i < group->size && rc == WEFT_OK; i++) {
        if ((is_left_out[i / 8] >> i % 8 & 1) == 0) {
            rc = weft_group_add(draft, weft_group_process(group, i));
        }
    }
    if (rc != WEFT_OK) {
        weft_group_drop(draft);
    }
    return rc;
}

static void leave_out(uint8_t *is_left_out, int rank)
{
    is_left_out[rank / 8] = (uint8_t)(is_left_out[rank / 8] | 1u << rank % 8);
}

enum weft_rc weft_group_range_excl(const struct weft_group *group, int n,
                                   int (*ranges)[3], struct weft_group_draft *draft)
{
    uint8_t *is_left_out = calloc((size_t)group->size / 8 + 1, 1);
    enum weft_rc rc;

    if (is_left_out == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (int i = 0; i < n; i++) {
        const int length = weft_group_range_length(ranges[i]);

        for (int k = 0; k < length; k++) {
            leave_out(is_left_out, ranges[i][0] + k * ranges[i][2]);
        }
    }
    rc = add_others(draft, group, is_left_out);
    free(is_left_out);
    return rc;
}

enum weft_rc weft_group_excl(const struct weft_group *group, int n, const int *ranks,
                             struct weft_group_draft *draft)
{
    uint8_t *is_left_out = calloc((size_t)group->size / 8 + 1, 1);
    enum weft_rc rc;

    if (is_left_out == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (int i = 0; i < n; i++) {
        leave_out(is_left_out, ranks[i]);
    }
    rc = add_others(draft, group, is_left_out);
    free(is_left_out);
    return rc;
}
