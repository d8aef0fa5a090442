/*
 * comm.h - what the programs about communicators share: is this one what it should be?
 */
#ifndef WEFT_TEST_COMM_H
#define WEFT_TEST_COMM_H

#include "check.h"

/* A collective and a ring of messages on it, with a value that tells it from others. */
static inline void use_comm(MPI_Comm comm, int value)
{
    int rank;
    int size;
    int sum = 0;
    int got = -1;
    MPI_Request request;

    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(comm, &size) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == value * size);
    CHECK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, rank, comm) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == value);
}

static inline void check_place(MPI_Comm comm, int rank, int size)
{
    int found;

    CHECK(MPI_Comm_rank(comm, &found) == MPI_SUCCESS);
    CHECK(found == rank);
    CHECK(MPI_Comm_size(comm, &found) == MPI_SUCCESS);
    CHECK(found == size);
}

static inline void check_compare(MPI_Comm a, MPI_Comm b, int expected)
{
    int result = -1;

    CHECK(MPI_Comm_compare(a, b, &result) == MPI_SUCCESS);
    CHECK(result == expected);
}

static inline void free_comm(MPI_Comm *comm)
{
    CHECK(MPI_Comm_free(comm) == MPI_SUCCESS);
    CHECK(*comm == MPI_COMM_NULL);
}

/* The group of every `step`th rank of the world, from `first` on. */
static inline MPI_Group every(int first, int step)
{
    int range[1][3] = {{first, 0, step}};
    MPI_Group world;
    MPI_Group group;

    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &range[0][1]) == MPI_SUCCESS);
    range[0][1]--;
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    if (first > range[0][1]) {
        group = MPI_GROUP_EMPTY;
    } else {
        CHECK(MPI_Group_range_incl(world, 1, range, &group) == MPI_SUCCESS);
    }
    CHECK(MPI_Group_free(&world) == MPI_SUCCESS);
    return group;
}

#endif
