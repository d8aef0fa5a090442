/*
 * group.c - chapter 7.3: every group function, beside what plain arithmetic says.
 */
#include "comm.h"

static int rank;
static int size;
static MPI_Group world;

static void check_members(MPI_Group group, int n, const int *expected)
{
    int found = -1;
    int *ranks = calloc((size_t)n + 1, sizeof(*ranks));
    int *in_world = calloc((size_t)n + 1, sizeof(*in_world));
    int mine = MPI_UNDEFINED;

    CHECK(ranks != NULL && in_world != NULL);
    CHECK(MPI_Group_size(group, &found) == MPI_SUCCESS);
    CHECK(found == n);
    for (int i = 0; i < n; i++) {
        ranks[i] = i;
        mine = expected[i] == rank ? i : mine;
    }
    CHECK(MPI_Group_translate_ranks(group, n, ranks, world, in_world) == MPI_SUCCESS);
    CHECK(n == 0 || memcmp(in_world, expected, (size_t)n * sizeof(int)) == 0);
    CHECK(MPI_Group_rank(group, &found) == MPI_SUCCESS);
    CHECK(found == mine);
    free(ranks);
    free(in_world);
}

static void check_compare_groups(MPI_Group a, MPI_Group b, int expected)
{
    int result = -1;

    CHECK(MPI_Group_compare(a, b, &result) == MPI_SUCCESS);
    CHECK(result == expected);
}

static void free_group(MPI_Group *group)
{
    CHECK(MPI_Group_free(group) == MPI_SUCCESS);
    CHECK(*group == MPI_GROUP_NULL);
}

static void the_empty_group(void)
{
    MPI_Group none = MPI_GROUP_EMPTY;
    MPI_Group made;
    int found;

    check_members(MPI_GROUP_EMPTY, 0, NULL);
    CHECK(MPI_Group_difference(world, world, &made) == MPI_SUCCESS);
    CHECK(made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_incl(world, 0, NULL, &made) == MPI_SUCCESS);
    CHECK(made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_union(none, none, &made) == MPI_SUCCESS);
    CHECK(made == MPI_GROUP_EMPTY);
    check_compare_groups(none, MPI_GROUP_EMPTY, MPI_IDENT);
    check_compare_groups(none, world, MPI_UNEQUAL);
    free_group(&none);
    IS_ERROR(MPI_Group_size(MPI_GROUP_NULL, &found), MPI_ERR_GROUP);
    IS_ERROR(MPI_Group_free(&none), MPI_ERR_GROUP);
}

static void some_of_the_world(void)
{
    int backwards[1][3] = {{size - 1, 0, -1}};
    int expected[64];
    int last = size - 1;
    MPI_Group made;
    MPI_Group others;
    MPI_Group both;

    CHECK(size <= 64);
    for (int i = 0; i < size; i++) {
        expected[i] = size - 1 - i;
    }
    CHECK(MPI_Group_range_incl(world, 1, backwards, &made) == MPI_SUCCESS);
    check_members(made, size, expected);
    check_compare_groups(made, world, size == 1 ? MPI_IDENT : MPI_SIMILAR);
    CHECK(MPI_Group_range_excl(made, 1, backwards, &others) == MPI_SUCCESS);
    CHECK(others == MPI_GROUP_EMPTY);
    free_group(&made);

    CHECK(MPI_Group_incl(world, 1, &last, &made) == MPI_SUCCESS);
    check_members(made, 1, &last);
    CHECK(MPI_Group_excl(world, 1, &last, &others) == MPI_SUCCESS);
    for (int i = 0; i < size; i++) {
        expected[i] = i;
    }
    check_members(others, size - 1, expected);
    CHECK(MPI_Group_union(others, made, &both) == MPI_SUCCESS);
    check_compare_groups(both, world, MPI_IDENT);
    free_group(&both);
    CHECK(MPI_Group_intersection(world, made, &both) == MPI_SUCCESS);
    check_compare_groups(both, made, MPI_IDENT);
    free_group(&both);
    CHECK(MPI_Group_difference(world, made, &both) == MPI_SUCCESS);
    check_compare_groups(both, others, MPI_IDENT);
    free_group(&both);
    free_group(&made);
    if (others != MPI_GROUP_EMPTY) {
        free_group(&others);
    }
}

/* An order that no formula says. */
static void a_table(void)
{
    const int order[5] = {4, 0, 1, 3, 2};
    const int ranks[3] = {2, MPI_PROC_NULL, 0};
    int translated[3];
    MPI_Group made;
    MPI_Group rest;

    if (size < 5) {
        return;
    }
    CHECK(MPI_Group_incl(world, 5, order, &made) == MPI_SUCCESS);
    check_members(made, 5, order);
    CHECK(MPI_Group_translate_ranks(world, 3, ranks, made, translated) == MPI_SUCCESS);
    CHECK(translated[0] == 4 && translated[1] == MPI_PROC_NULL && translated[2] == 1);
    CHECK(MPI_Group_difference(world, made, &rest) == MPI_SUCCESS);
    CHECK(MPI_Group_translate_ranks(made, 3, ranks, rest, translated) == MPI_SUCCESS);
    CHECK(translated[0] == MPI_UNDEFINED && translated[1] == MPI_PROC_NULL);
    free_group(&made);
    if (rest != MPI_GROUP_EMPTY) {
        free_group(&rest);
    }
}

static void errors(void)
{
    const int twice[2] = {0, 0};
    const int beyond[1] = {size};
    int ranges[3][3] = {{0, 0, 0}, {0, size, 1}, {0, 0, 1}};
    MPI_Group made = MPI_GROUP_NULL;
    MPI_Group stale;
    int found;

    IS_ERROR(MPI_Group_incl(world, 2, twice, &made), MPI_ERR_RANK);
    IS_ERROR(MPI_Group_excl(world, 1, beyond, &made), MPI_ERR_RANK);
    IS_ERROR(MPI_Group_incl(world, -1, twice, &made), MPI_ERR_ARG);
    IS_ERROR(MPI_Group_range_incl(world, 1, ranges, &made), MPI_ERR_ARG);
    IS_ERROR(MPI_Group_range_incl(world, 1, ranges + 1, &made), MPI_ERR_RANK);
    ranges[1][1] = 0;
    ranges[1][2] = 1;
    IS_ERROR(MPI_Group_range_excl(world, 2, ranges + 1, &made), MPI_ERR_ARG);
    IS_ERROR(MPI_Group_translate_ranks(world, 1, beyond, world, &found), MPI_ERR_RANK);
    IS_ERROR(MPI_Group_union(world, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
    CHECK(made == MPI_GROUP_NULL);
    CHECK(MPI_Group_incl(world, 1, twice, &made) == MPI_SUCCESS);
    stale = made;
    free_group(&made);
    IS_ERROR(MPI_Group_size(stale, &found), MPI_ERR_GROUP);
}

/* The user's hold on a communicator's group and the communicator's own are two. */
static void groups_of_communicators(void)
{
    MPI_Comm dup;
    MPI_Group first;
    MPI_Group second;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &dup) == MPI_SUCCESS);
    CHECK(MPI_Comm_group(dup, &first) == MPI_SUCCESS);
    CHECK(MPI_Comm_group(dup, &second) == MPI_SUCCESS);
    free_comm(&dup);
    check_compare_groups(first, world, MPI_IDENT);
    free_group(&first);
    check_compare_groups(second, world, MPI_IDENT);
    free_group(&second);
    IS_ERROR(MPI_Comm_remote_group(MPI_COMM_WORLD, &first), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    the_empty_group();
    some_of_the_world();
    a_table();
    errors();
    groups_of_communicators();
    free_group(&world);
    return MPI_Finalize();
}
