/*
 * contact.c - the network comes up with the first contact, and not before.
 *
 * Eight ranks on two hosts, four on each: after a barrier, in which only the first of a
 * host speaks to the other host, and messages inside the hosts, nobody else has loaded
 * libfabric. Rank 1 sends to rank 5, which computes; rank 2 to rank 6, which sleeps in a
 * receive from anybody: both have loaded it then, and ranks 3 and 7 have not
 * (WEFT_WARM=0).
 *
 *   contact alone     with another WEFT_WARM they all load it, without a message
 */
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EACH = 4, PATIENCE = 30 };

static int rank;

static int has_loaded(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int has = 0;

    while (maps != NULL && !has && fgets(line, sizeof(line), maps) != NULL) {
        has = strstr(line, "/libfabric") != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return has;
}

static void claim(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "contact: rank %d: not so: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
}

static int has_loaded_in_time(void)
{
    for (int i = 0; i < PATIENCE * 1000 && !has_loaded(); i++) {
        usleep(1000);
    }
    return has_loaded();
}

/* Computes until a connection is pending, without a call of MPI. */
static void receive_while_computing(int from)
{
    MPI_Request request;
    int word = 0;

    MPI_Irecv(&word, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
    claim(has_loaded_in_time(),
          "a process that computes comes up when a connection is pending");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    claim(word == from, "the message is right");
}

int main(int argc, char **argv)
{
    MPI_Status status;
    int size;
    int word = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    claim(size == 2 * EACH, "there are eight ranks");
    if (argc > 1) {
        claim(has_loaded_in_time(), "it is loaded after a while");
        return MPI_Finalize();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Sendrecv(&rank, 1, MPI_INT, rank ^ 1, 0, &word, 1, MPI_INT, rank ^ 1, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    claim(word == (rank ^ 1), "messages go inside the host");
    claim(rank % EACH == 0 || !has_loaded(), "no network is up before the first contact");
    if (rank == 1) {
        MPI_Send(&rank, 1, MPI_INT, 5, 1, MPI_COMM_WORLD);
    } else if (rank == 2) {
        usleep(300000); /* so that the other sleeps; it is right if it does not, too */
        MPI_Send(&rank, 1, MPI_INT, 6, 1, MPI_COMM_WORLD);
    } else if (rank == 5) {
        receive_while_computing(1);
    } else if (rank == 6) {
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        claim(word == 2 && status.MPI_SOURCE == 2, "a message from anybody comes");
    }
    claim(rank % EACH == 3 || rank % EACH == 0 || has_loaded(),
          "who spoke has loaded it");
    MPI_Barrier(MPI_COMM_WORLD);
    claim(rank % EACH != 3 || !has_loaded(), "who did not speak has not");
    return MPI_Finalize();
}
