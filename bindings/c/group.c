/*
 * group.c - MPI-5.0 chapter 7.3: groups.
 */
#include "binding.h"

#include "check/group.h"
#include "check/rc.h"
#include "engine/lock.h"

int PMPI_Group_size(MPI_Group group, int *size)
{
    struct weft_group *g;
    int err = weft_check_group("MPI_Group_size", group, &g);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Group_size", NULL, size, "size");
    }
    if (err == MPI_SUCCESS) {
        *size = g->size;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Group_size, PMPI_Group_size);

int PMPI_Group_rank(MPI_Group group, int *rank)
{
    struct weft_group *g;
    int err = weft_check_group("MPI_Group_rank", group, &g);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Group_rank", NULL, rank, "rank");
    }
    if (err == MPI_SUCCESS) {
        *rank = g->rank;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Group_rank, PMPI_Group_rank);

/* Two groups, and where the result goes. */
static int check_two(const char *function, MPI_Group group1, MPI_Group group2,
                     const void *result, const char *name, struct weft_group **a,
                     struct weft_group **b)
{
    int err = weft_check_group(function, group1, a);

    if (err == MPI_SUCCESS) {
        err = weft_check_group(function, group2, b);
    }
    return err == MPI_SUCCESS ? weft_check_out(function, NULL, result, name) : err;
}

int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[],
                               MPI_Group group2, int ranks2[])
{
    static const char function[] = "MPI_Group_translate_ranks";
    struct weft_group *a;
    struct weft_group *b;
    int err = check_two(function, group1, group2, n == 0 ? function : (void *)ranks2,
                        "ranks2", &a, &b);

    if (err == MPI_SUCCESS) {
        err = weft_check_translated(function, a, n, ranks1);
    }
    return err == MPI_SUCCESS
               ? weft_raise_rc(NULL, weft_group_translate(a, n, ranks1, b, ranks2),
                               function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Group_translate_ranks, PMPI_Group_translate_ranks);

int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    static const char function[] = "MPI_Group_compare";
    struct weft_group *a;
    struct weft_group *b;
    int err = check_two(function, group1, group2, result, "result", &a, &b);

    return err == MPI_SUCCESS
               ? weft_raise_rc(NULL, weft_group_compare(a, b, result), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Group_compare, PMPI_Group_compare);

/* The draft's group for the user; `rc` is what became of the draft. */
static int give_group(const char *function, enum weft_rc rc,
                      struct weft_group_draft *draft, MPI_Group *newgroup)
{
    struct weft_group *made;

    if (rc == WEFT_OK) {
        weft_lock();
        rc = weft_group_make(draft, &made);
        if (rc == WEFT_OK) {
            weft_group_hold(made);
            weft_group_release(made);
            *newgroup = made->handle;
        }
        weft_unlock();
    }
    return weft_raise_rc(NULL, rc, function);
}

typedef enum weft_rc set_operation(const struct weft_group *a, const struct weft_group *b,
                                   struct weft_group_draft *draft);

static int operate(const char *function, set_operation *operation, MPI_Group group1,
                   MPI_Group group2, MPI_Group *newgroup)
{
    struct weft_group_draft draft = {0};
    struct weft_group *a;
    struct weft_group *b;
    int err = check_two(function, group1, group2, newgroup, "newgroup", &a, &b);

    return err == MPI_SUCCESS
               ? give_group(function, operation(a, b, &draft), &draft, newgroup)
               : err;
}

int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return operate("MPI_Group_union", weft_group_union, group1, group2, newgroup);
}
WEFT_WEAK_ALIAS(MPI_Group_union, PMPI_Group_union);

int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return operate("MPI_Group_intersection", weft_group_intersection, group1, group2,
                   newgroup);
}
WEFT_WEAK_ALIAS(MPI_Group_intersection, PMPI_Group_intersection);

int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return operate("MPI_Group_difference", weft_group_difference, group1, group2,
                   newgroup);
}
WEFT_WEAK_ALIAS(MPI_Group_difference, PMPI_Group_difference);

typedef enum weft_rc rank_operation(const struct weft_group *group, int n,
                                    const int *ranks, struct weft_group_draft *draft);
typedef enum weft_rc range_operation(const struct weft_group *group, int n,
                                     int (*ranges)[3], struct weft_group_draft *draft);

static int choose_ranks(const char *function, rank_operation *operation, MPI_Group group,
                        int n, const int *ranks, MPI_Group *newgroup)
{
    struct weft_group_draft draft = {0};
    struct weft_group *g;
    int err = weft_check_group(function, group, &g);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, newgroup, "newgroup");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_ranks(function, g, n, ranks);
    }
    return err == MPI_SUCCESS
               ? give_group(function, operation(g, n, ranks, &draft), &draft, newgroup)
               : err;
}

int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    return choose_ranks("MPI_Group_incl", weft_group_incl, group, n, ranks, newgroup);
}
WEFT_WEAK_ALIAS(MPI_Group_incl, PMPI_Group_incl);

int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    return choose_ranks("MPI_Group_excl", weft_group_excl, group, n, ranks, newgroup);
}
WEFT_WEAK_ALIAS(MPI_Group_excl, PMPI_Group_excl);

static int choose_ranges(const char *function, range_operation *operation,
                         MPI_Group group, int n, int (*ranges)[3], MPI_Group *newgroup)
{
    struct weft_group_draft draft = {0};
    struct weft_group *g;
    int err = weft_check_group(function, group, &g);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, newgroup, "newgroup");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_ranges(function, g, n, ranges);
    }
    return err == MPI_SUCCESS
               ? give_group(function, operation(g, n, ranges, &draft), &draft, newgroup)
               : err;
}

int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return choose_ranges("MPI_Group_range_incl", weft_group_range_incl, group, n, ranges,
                         newgroup);
}
WEFT_WEAK_ALIAS(MPI_Group_range_incl, PMPI_Group_range_incl);

int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return choose_ranges("MPI_Group_range_excl", weft_group_range_excl, group, n, ranges,
                         newgroup);
}
WEFT_WEAK_ALIAS(MPI_Group_range_excl, PMPI_Group_range_excl);

int PMPI_Group_free(MPI_Group *group)
{
    struct weft_group *g;
    int err = weft_check_out("MPI_Group_free", NULL, group, "group");

    if (err == MPI_SUCCESS) {
        err = weft_check_group("MPI_Group_free", *group, &g);
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        weft_group_let_go(g);
        weft_unlock();
        *group = MPI_GROUP_NULL;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Group_free, PMPI_Group_free);

/* A group of a communicator, for the user to hold. */
static int hold_group(const char *function, struct weft_comm *comm,
                      struct weft_group *held, MPI_Group *group)
{
    int err = weft_check_out(function, comm, group, "group");

    if (err == MPI_SUCCESS) {
        weft_lock();
        weft_group_hold(held);
        weft_unlock();
        *group = held->handle;
    }
    return err;
}

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Comm_group", comm, &c);

    return err == MPI_SUCCESS ? hold_group("MPI_Comm_group", c, c->group, group) : err;
}
WEFT_WEAK_ALIAS(MPI_Comm_group, PMPI_Comm_group);

int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    struct weft_comm *c;
    int err = weft_check_inter("MPI_Comm_remote_group", comm, &c);

    return err == MPI_SUCCESS ? hold_group("MPI_Comm_remote_group", c, c->remote, group)
                              : err;
}
WEFT_WEAK_ALIAS(MPI_Comm_remote_group, PMPI_Comm_remote_group);
