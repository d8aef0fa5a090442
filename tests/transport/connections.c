/*
 * connections.c - how many connections a rank has, with WEFT_CONNECT=all or without.
 *
 *   connections all     after MPI_Init there is one to every other rank
 *   connections lazy    after messages with three ranks there are three
 *
 * For eight ranks, so that each has three at a distance of one bit.
 */
#include "mpi.h"

#include <stdio.h>
#include <string.h>

static int rank;

static int count(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int index;
    int number;

    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_index("msg_connections", MPI_T_PVAR_CLASS_LEVEL, &index);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &number);
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_session_free(&session);
    return (int)value;
}

static void demand(int expected, const char *when)
{
    const int found = count();

    if (found != expected) {
        fprintf(stderr, "rank %d has %d connections %s, not %d\n", rank, found, when,
                expected);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void speak(int size)
{
    for (int bit = 1; bit < size; bit *= 2) {
        int there = -1;

        MPI_Sendrecv(&rank, 1, MPI_INT, rank ^ bit, 0, &there, 1, MPI_INT, rank ^ bit, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (there != (rank ^ bit)) {
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
}

int main(int argc, char **argv)
{
    const int is_all = argc > 1 && strcmp(argv[1], "all") == 0;
    int provided;
    int size;

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_all) {
        demand(size - 1, "after Init");
    }
    speak(size);
    demand(is_all ? size - 1 : 3, "after messages");
    speak(
        size); /* nobody goes on to MPI_Finalize, and its messages, before all are here */
    MPI_T_finalize();
    return MPI_Finalize();
}
