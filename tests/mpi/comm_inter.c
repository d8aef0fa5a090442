/*
 * comm_inter.c - chapter 7.6: intercommunicators: made in every way, talked over, merged.
 * The even ranks are one side, the odd ones the other.
 */
#include "comm.h"

#include <time.h>

static int rank;
static int size;
static int side;   /* 0: even, 1: odd */
static int ours;   /* ranks on this side */
static int theirs; /* on the other */
static MPI_Comm half;

/* Everyone sends its rank to all of the other side. */
static void talk(MPI_Comm inter, int value)
{
    int me;
    int others;

    CHECK(MPI_Comm_rank(inter, &me) == MPI_SUCCESS);
    CHECK(MPI_Comm_remote_size(inter, &others) == MPI_SUCCESS);
    for (int i = 0; i < others; i++) {
        const int out[2] = {value, me};

        CHECK(MPI_Send(out, 2, MPI_INT, i, 1, inter) == MPI_SUCCESS);
    }
    for (int i = 0; i < others; i++) {
        int in[2] = {-1, -1};
        MPI_Status status;

        CHECK(MPI_Recv(in, 2, MPI_INT, value % 2 == 0 ? i : MPI_ANY_SOURCE, 1, inter,
                       &status) == MPI_SUCCESS);
        CHECK(in[0] == value && in[1] == status.MPI_SOURCE);
    }
}

static void check_inter(MPI_Comm inter, int me, int here, int there)
{
    int found = -1;
    MPI_Group group;

    check_place(inter, me, here);
    CHECK(MPI_Comm_test_inter(inter, &found) == MPI_SUCCESS);
    CHECK(found == 1);
    CHECK(MPI_Comm_remote_size(inter, &found) == MPI_SUCCESS);
    CHECK(found == there);
    CHECK(MPI_Comm_remote_group(inter, &group) == MPI_SUCCESS);
    CHECK(MPI_Group_size(group, &found) == MPI_SUCCESS);
    CHECK(found == there);
    CHECK(MPI_Group_rank(group, &found) == MPI_SUCCESS);
    CHECK(found == MPI_UNDEFINED);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    talk(inter, here + there);
}

static MPI_Comm make(int tag)
{
    MPI_Comm inter;

    /* Leaders are the last of each side. */
    CHECK(MPI_Intercomm_create(half, ours - 1, MPI_COMM_WORLD,
                               2 * (theirs - 1) + 1 - side, tag, &inter) == MPI_SUCCESS);
    return inter;
}

static void merges(MPI_Comm inter)
{
    MPI_Comm merged;

    CHECK(MPI_Intercomm_merge(inter, side, &merged) == MPI_SUCCESS);
    check_place(merged, side == 0 ? rank / 2 : (size + 1) / 2 + rank / 2, size);
    use_comm(merged, 3);
    free_comm(&merged);
    CHECK(MPI_Intercomm_merge(inter, 1 - side, &merged) == MPI_SUCCESS);
    check_place(merged, side == 1 ? rank / 2 : size / 2 + rank / 2, size);
    use_comm(merged, 4);
    free_comm(&merged);
    CHECK(MPI_Intercomm_merge(inter, 0, &merged) == MPI_SUCCESS); /* either order */
    use_comm(merged, 5);
    free_comm(&merged);
}

/* Its end waits for messages that nobody else can wait for: memory is ours again then. */
static void disconnects(MPI_Comm *inter)
{
    enum { BYTES = 1 << 20, TAG = 9 };
    char *message = malloc(BYTES);
    MPI_Request request;

    CHECK(message != NULL);
    if (rank == 0) {
        memset(message, 1, BYTES);
        CHECK(MPI_Isend(message, BYTES, MPI_BYTE, 0, TAG, *inter, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    } else if (rank == 1) {
        nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
        CHECK(MPI_Recv(message, BYTES, MPI_BYTE, 0, TAG, *inter, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        for (int i = 0; i < BYTES; i++) {
            CHECK(message[i] == 1);
        }
    }
    CHECK(MPI_Comm_disconnect(inter) == MPI_SUCCESS && *inter == MPI_COMM_NULL);
    memset(message, 2, BYTES);
    free(message);
}

static void duplicates(MPI_Comm inter)
{
    MPI_Comm dup[2];
    MPI_Request request;

    CHECK(MPI_Comm_idup(inter, &dup[0], &request) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(inter, &dup[1]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        check_inter(dup[i], rank / 2, ours, theirs);
        check_compare(dup[i], inter, MPI_CONGRUENT);
        check_compare(dup[i], MPI_COMM_WORLD, MPI_UNEQUAL);
    }
    merges(dup[1]);
    disconnects(&dup[0]);
    free_comm(&dup[1]);
}

/* Pairs: rank i of each side, where both sides have one. */
static void splits(MPI_Comm inter)
{
    MPI_Comm part;
    const int pairs = ours < theirs ? ours : theirs;

    CHECK(MPI_Comm_split(inter, rank / 2, 0, &part) == MPI_SUCCESS);
    CHECK((part == MPI_COMM_NULL) == (rank / 2 >= pairs));
    if (part != MPI_COMM_NULL) {
        check_inter(part, 0, 1, 1);
        free_comm(&part);
    }
    CHECK(MPI_Comm_split(inter, 0, -rank, &part) == MPI_SUCCESS);
    check_inter(part, ours - 1 - rank / 2, ours, theirs);
    check_compare(part, inter, size <= 2 ? MPI_CONGRUENT : MPI_SIMILAR);
    free_comm(&part);
}

static void creates(MPI_Comm inter)
{
    const int first = 0;
    MPI_Group local;
    MPI_Group one;
    MPI_Comm part;

    CHECK(MPI_Comm_group(inter, &local) == MPI_SUCCESS);
    CHECK(MPI_Group_incl(local, 1, &first, &one) == MPI_SUCCESS);
    CHECK(MPI_Comm_create(inter, one, &part) == MPI_SUCCESS);
    CHECK((part == MPI_COMM_NULL) == (rank / 2 != 0));
    if (part != MPI_COMM_NULL) {
        check_inter(part, 0, 1, 1);
        free_comm(&part);
    }
    CHECK(MPI_Group_free(&local) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&one) == MPI_SUCCESS);
}

static void from_groups(void)
{
    MPI_Group groups[2] = {every(0, 2), every(1, 2)};
    MPI_Comm inter;

    CHECK(MPI_Intercomm_create_from_groups(groups[side], 0, groups[1 - side], 0,
                                           "comm_inter.c", MPI_INFO_NULL,
                                           MPI_ERRORS_RETURN, &inter) == MPI_SUCCESS);
    check_inter(inter, rank / 2, ours, theirs);
    free_comm(&inter);
    CHECK(MPI_Group_free(&groups[0]) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&groups[1]) == MPI_SUCCESS);
}

/* Sides whose ranks no formula says: their tables travel. */
static void without_a_formula(void)
{
    static const int order[8] = {0, 3, 1, 2, 5, 4, 7, 6};
    MPI_Comm mixed;
    MPI_Comm inter;
    MPI_Comm merged;

    CHECK(ours <= 8);
    CHECK(MPI_Comm_split(half, 0, order[rank / 2], &mixed) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(mixed, 0, MPI_COMM_WORLD, 1 - side, 9, &inter) ==
          MPI_SUCCESS);
    talk(inter, 13);
    CHECK(MPI_Intercomm_merge(inter, side, &merged) == MPI_SUCCESS);
    use_comm(merged, 14);
    free_comm(&merged);
    free_comm(&inter);
    free_comm(&mixed);
}

static void errors(MPI_Comm inter)
{
    MPI_Comm made;
    int word = 0;

    IS_ERROR(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &made), MPI_ERR_COMM);
    IS_ERROR(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_COMM);
    IS_ERROR(MPI_Intercomm_create(half, ours, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_RANK);
    IS_ERROR(MPI_Send(&word, 1, MPI_INT, theirs, 0, inter), MPI_ERR_RANK);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    MPI_Comm other;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    side = rank % 2;
    ours = (size + 1 - side) / 2;
    theirs = size - ours;
    if (size > 1) {
        CHECK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half) == MPI_SUCCESS);
        inter = make(11);
        other = make(11);
        check_inter(inter, rank / 2, ours, theirs);
        check_inter(other, rank / 2, ours, theirs);
        free_comm(&other);
        duplicates(inter);
        merges(inter);
        splits(inter);
        creates(inter);
        from_groups();
        without_a_formula();
        errors(inter);
        free_comm(&inter);
        free_comm(&half);
    }
    return MPI_Finalize();
}
