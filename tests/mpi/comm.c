/*
 * comm.c - chapter 7: making communicators in every way, using them, freeing them.
 */
#include "comm.h"

static int rank;
static int size;

static void world_and_self(void)
{
    MPI_Comm parent = MPI_COMM_WORLD;
    int flag = -1;
    int wrong;

    CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL);
    IS_ERROR(MPI_Comm_get_parent(NULL), MPI_ERR_ARG);
    check_place(MPI_COMM_SELF, 0, 1);
    check_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_IDENT);
    check_compare(MPI_COMM_WORLD, MPI_COMM_SELF, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    CHECK(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
    CHECK(flag == 0);
    use_comm(MPI_COMM_SELF, 77);
    IS_ERROR(MPI_Comm_remote_size(MPI_COMM_WORLD, &wrong), MPI_ERR_COMM);
    IS_ERROR(MPI_Comm_compare(MPI_COMM_NULL, MPI_COMM_WORLD, &wrong), MPI_ERR_COMM);
}

static void duplicates(void)
{
    MPI_Comm dup;
    MPI_Comm second;
    MPI_Comm stale;
    MPI_Request request;
    int token = rank;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &dup) == MPI_SUCCESS);
    check_place(dup, rank, size);
    check_compare(dup, MPI_COMM_WORLD, MPI_CONGRUENT);
    CHECK(MPI_Comm_dup_with_info(dup, MPI_INFO_NULL, &second) == MPI_SUCCESS);
    use_comm(dup, 1);
    use_comm(second, 2);

    /* A message on one of them is not seen on the other. */
    CHECK(MPI_Irecv(&token, 1, MPI_INT, rank, 5, second, &request) == MPI_SUCCESS);
    CHECK(MPI_Send(&size, 1, MPI_INT, rank, 5, dup) == MPI_SUCCESS);
    CHECK(MPI_Recv(&token, 1, MPI_INT, rank, 5, dup, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(token == size);

    /* Freed with an operation under way, which goes on. */
    stale = second;
    CHECK(MPI_Send(&rank, 1, MPI_INT, rank, 5, second) == MPI_SUCCESS);
    free_comm(&second);
    IS_ERROR(MPI_Comm_rank(stale, &token), MPI_ERR_COMM);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(token == rank);
    CHECK(MPI_Barrier(dup) == MPI_SUCCESS);
    free_comm(&dup);
    IS_ERROR(MPI_Comm_free(&dup), MPI_ERR_COMM);
    stale = MPI_COMM_WORLD;
    IS_ERROR(MPI_Comm_free(&stale), MPI_ERR_COMM);
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &dup) == MPI_SUCCESS);
    use_comm(dup, 3);
    CHECK(MPI_Comm_disconnect(&dup) == MPI_SUCCESS);
    CHECK(dup == MPI_COMM_NULL);
}

static void duplicates_that_do_not_block(void)
{
    enum { MANY = 10 };
    MPI_Comm dups[MANY];
    MPI_Request requests[MANY];
    MPI_Request request;
    MPI_Comm parent;
    MPI_Comm late;
    int is_over = 0;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &parent) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        CHECK((i % 2 == 0 ? MPI_Comm_idup(parent, &dups[i], &requests[i])
                          : MPI_Comm_idup_with_info(parent, MPI_INFO_NULL, &dups[i],
                                                    &requests[i])) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_dup(parent, &late) == MPI_SUCCESS); /* it overtakes them, or not */
    CHECK(MPI_Comm_idup(parent, &parent, &request) == MPI_SUCCESS);
    CHECK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    while (!is_over) {
        CHECK(MPI_Test(&request, &is_over, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    for (int i = 0; i < MANY; i++) {
        use_comm(dups[i], i);
    }
    use_comm(late, 100);
    use_comm(parent, 101);
    for (int i = MANY - 1; i >= 0; i--) {
        free_comm(&dups[i]);
    }
    free_comm(&late);
    free_comm(&parent);
}

/* The parent is freed before the duplicate is there. */
static void orphans(void)
{
    MPI_Comm parent;
    MPI_Comm child;
    MPI_Request request;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &parent) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(parent, &child, &request) == MPI_SUCCESS);
    free_comm(&parent);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &parent) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    use_comm(child, 1);
    use_comm(parent, 2);
    free_comm(&child);
    free_comm(&parent);
}

static void splits(void)
{
    MPI_Comm part;
    MPI_Comm back;
    MPI_Comm half;

    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part) == MPI_SUCCESS);
    check_place(part, (size - 1 - rank) / 2, (size + 1 - rank % 2) / 2);
    use_comm(part, rank % 2);
    CHECK(MPI_Barrier(part) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, 7, -rank, &back) == MPI_SUCCESS);
    check_place(back, size - 1 - rank, size);
    check_compare(back, MPI_COMM_WORLD, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    CHECK(MPI_Comm_split(back, rank < 2 ? 1 : MPI_UNDEFINED, 0, &half) == MPI_SUCCESS);
    CHECK((half == MPI_COMM_NULL) == (rank >= 2));
    if (half != MPI_COMM_NULL) {
        check_place(half, size == 1 ? 0 : 1 - rank, size == 1 ? 1 : 2);
        use_comm(half, 5);
        free_comm(&half);
    }
    use_comm(back, 6);
    free_comm(&part);
    free_comm(&back);
    IS_ERROR(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &part), MPI_ERR_ARG);
}

/* An order that no formula says: i goes to place 3 * i + 1 modulo a prime. */
static void a_split_without_a_formula(void)
{
    MPI_Comm mixed;
    MPI_Comm dup;
    int place = 0;

    for (int i = 0; i < size; i++) {
        place += (3 * i + 1) % 11 < (3 * rank + 1) % 11;
    }
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, 0, (3 * rank + 1) % 11, &mixed) == MPI_SUCCESS);
    check_place(mixed, place, size);
    CHECK(MPI_Comm_dup(mixed, &dup) == MPI_SUCCESS);
    check_compare(dup, mixed, MPI_CONGRUENT);
    use_comm(dup, 9);
    use_comm(mixed, 10);
    free_comm(&mixed);
    free_comm(&dup);
}

/* Ranks of this node from `first` on, and how many of them come before us: by the names
 * of the hosts. */
static void count_near(int first, int *near, int *before)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    char *names = malloc((size_t)size * sizeof(name));
    int length;

    CHECK(names != NULL);
    CHECK(MPI_Get_processor_name(name, &length) == MPI_SUCCESS);
    CHECK(MPI_Allgather(name, sizeof(name), MPI_CHAR, names, sizeof(name), MPI_CHAR,
                        MPI_COMM_WORLD) == MPI_SUCCESS);
    *near = 0;
    *before = 0;
    for (int i = first; i < size; i++) {
        const int is_same_node = strcmp(names + (size_t)i * sizeof(name), name) == 0;

        *near += is_same_node;
        *before += is_same_node && i < rank;
    }
    free(names);
}

/* Nobody else takes part. */
static void splits_of_self(void)
{
    MPI_Comm alone;

    CHECK(MPI_Comm_split(MPI_COMM_SELF, 42, 42, &alone) == MPI_SUCCESS);
    check_place(alone, 0, 1);
    CHECK(MPI_Comm_free(&alone) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(MPI_COMM_SELF, MPI_UNDEFINED, 0, &alone) == MPI_SUCCESS);
    CHECK(alone == MPI_COMM_NULL);
    CHECK(MPI_Comm_split_type(MPI_COMM_SELF, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                              &alone) == MPI_SUCCESS);
    check_place(alone, 0, 1);
    CHECK(MPI_Comm_free(&alone) == MPI_SUCCESS);
}

static void splits_by_hardware(void)
{
    MPI_Comm node;
    int near;
    int before;
    MPI_Comm none = MPI_COMM_WORLD;

    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL,
                              &node) == MPI_SUCCESS);
    count_near(0, &near, &before);
    check_place(node, before, near);
    use_comm(node, 1);
    CHECK(MPI_Comm_split_type(node, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &none) ==
          MPI_SUCCESS);
    CHECK(none == MPI_COMM_NULL);
    CHECK(MPI_Comm_split_type(node, MPI_COMM_TYPE_HW_GUIDED, 0, MPI_INFO_NULL, &none) ==
          MPI_SUCCESS);
    CHECK(none == MPI_COMM_NULL);
    CHECK(MPI_Comm_split_type(node, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, MPI_INFO_NULL,
                              &none) == MPI_SUCCESS);
    CHECK(none == MPI_COMM_NULL);
    free_comm(&node);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD,
                              rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
                              MPI_INFO_NULL, &node) == MPI_SUCCESS);
    CHECK((node == MPI_COMM_NULL) == (rank == 0));
    count_near(1, &near, &before);
    if (rank != 0) {
        check_place(node, before, near);
        free_comm(&node);
    }
    IS_ERROR(MPI_Comm_split_type(MPI_COMM_WORLD, 1, 0, MPI_INFO_NULL, &node),
             MPI_ERR_ARG);
}

static void creates(void)
{
    MPI_Group evens = every(0, 2);
    MPI_Group odds = every(1, 2);
    MPI_Group mine = rank % 2 == 0 ? evens : odds;
    MPI_Comm part;
    MPI_Comm wrong;

    CHECK(MPI_Comm_create(MPI_COMM_WORLD, mine, &part) == MPI_SUCCESS); /* two at once */
    check_place(part, rank / 2, (size + 1 - rank % 2) / 2);
    use_comm(part, rank % 2 + 1);
    if (size > 1) {
        IS_ERROR(MPI_Comm_create(part, rank % 2 == 0 ? odds : evens, &wrong),
                 MPI_ERR_GROUP);
    }
    free_comm(&part);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, evens, &part) == MPI_SUCCESS);
    CHECK((part == MPI_COMM_NULL) == (rank % 2 != 0));
    if (rank % 2 == 0) {
        free_comm(&part);
        /* Without the odd ones. */
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, evens, 2147483647, &part) ==
              MPI_SUCCESS);
        use_comm(part, 4);
        free_comm(&part);
        IS_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, evens, -1, &part), MPI_ERR_TAG);
    }
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &part) == MPI_SUCCESS);
    CHECK(part == MPI_COMM_NULL);
    IS_ERROR(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &part), MPI_ERR_GROUP);
    CHECK(MPI_Comm_create_from_group(mine, "comm.c", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     &part) == MPI_SUCCESS);
    check_place(part, rank / 2, (size + 1 - rank % 2) / 2);
    use_comm(part, 8);
    IS_ERROR(MPI_Send(&rank, 1, MPI_INT, size, 0, part), MPI_ERR_RANK);
    free_comm(&part);
    CHECK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &part) == MPI_SUCCESS);
    CHECK(part == MPI_COMM_NULL);
    CHECK(MPI_Group_free(&evens) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&odds) == MPI_SUCCESS);
}

/* Two creations after each other under one tag, with different first members. */
static void creates_with_one_tag(void)
{
    for (int i = 0; i < 40; i++) {
        MPI_Group group = every(i % 3, 1 + i % 2);
        MPI_Comm part;
        int place;

        CHECK(MPI_Group_rank(group, &place) == MPI_SUCCESS);
        if (place != MPI_UNDEFINED) {
            CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &part) == MPI_SUCCESS);
            use_comm(part, i);
            free_comm(&part);
        }
        CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    }
}

/* A message that nobody has received ends with its communicator, also one that comes
 * after its receiver has freed it. */
static void unreceived_messages(void)
{
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    MPI_Comm one;
    int value = 4711;
    int is_there = 0;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &one) == MPI_SUCCESS);
    CHECK(MPI_Send(&value, 1, MPI_INT, to, 5, one) == MPI_SUCCESS);
    while (rank % 2 == 0 && !is_there) {
        CHECK(MPI_Iprobe(from, 5, one, &is_there, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&one) == MPI_SUCCESS);
    for (int i = 0; i < 20; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &one) == MPI_SUCCESS);
        CHECK(MPI_Barrier(one) == MPI_SUCCESS);
        CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, one, &is_there,
                         MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(!is_there);
        CHECK(MPI_Comm_free(&one) == MPI_SUCCESS);
    }
}

static void names(void)
{
    char long_name[2 * MPI_MAX_OBJECT_NAME];
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Comm dup;

    CHECK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == (int)strlen(name));
    CHECK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &dup) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_name(dup, name, &length) == MPI_SUCCESS);
    CHECK(name[0] == '\0' && length == 0);
    CHECK(MPI_Comm_set_name(dup, "a duplicate") == MPI_SUCCESS);
    CHECK(MPI_Comm_get_name(dup, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "a duplicate") == 0 && length == (int)strlen(name));
    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    CHECK(MPI_Comm_set_name(dup, long_name) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_name(dup, name, &length) == MPI_SUCCESS);
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length);
    free_comm(&dup);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    world_and_self();
    duplicates();
    duplicates_that_do_not_block();
    orphans();
    splits();
    splits_of_self();
    a_split_without_a_formula();
    splits_by_hardware();
    creates();
    creates_with_one_tag();
    unreceived_messages();
    names();
    return MPI_Finalize();
}
