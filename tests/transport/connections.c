/*
 * connections.c - how many connections a rank has, with WEFT_CONNECT=all or without, and
 * with WEFT_STREAMS=2 in the first half of the ranks.
 *
 *   connections all      after MPI_Init there is one to every other rank
 *   connections lazy     after messages with three ranks there are three
 *   connections streams  the same, and after long ones one more to each with whom one of
 *                        the two has two streams
 *   connections fetch    with WEFT_LONG=fetch: long messages are read by their receivers
 *
 * For eight ranks, so that each has three at a distance of one bit.
 */
#include "mpi.h"

#include <stdio.h>
#include <string.h>

enum { LONG = 100000, ROUNDS = 1000 };

static int rank;
static MPI_T_pvar_session session;

/* A variable, which counts from now on. */
static MPI_T_pvar_handle watch(const char *name, int class)
{
    MPI_T_pvar_handle handle;
    int index;
    int number;

    MPI_T_pvar_get_index(name, class, &index);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &number);
    MPI_T_pvar_start(session, handle);
    return handle;
}

static unsigned long long value_of(MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;

    MPI_T_pvar_read(session, handle, &value);
    return value;
}

static int count(void)
{
    MPI_T_pvar_handle handle = watch("msg_connections", MPI_T_PVAR_CLASS_LEVEL);
    const int value = (int)value_of(handle);

    MPI_T_pvar_handle_free(session, &handle);
    return value;
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

/* Is it so at all ranks? Without a collective, which may speak to others. */
static int are_all(int size, int is_so)
{
    for (int bit = 1; bit < size; bit *= 2) {
        int is_so_there;

        MPI_Sendrecv(&is_so, 1, MPI_INT, rank ^ bit, 2, &is_so_there, 1, MPI_INT,
                     rank ^ bit, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        is_so = is_so && is_so_there;
    }
    return is_so;
}

/* Long messages to and fro, as many as it takes until the streams stand. */
static void speak_at_length(int size, int expected)
{
    static char out[LONG];
    static char in[LONG];
    int all_are_there = 0;

    for (int i = 0; i < ROUNDS && !all_are_there; i++) {
        all_are_there = are_all(size, count() == expected);
        for (int bit = 1; bit < size; bit *= 2) {
            memset(out, rank + i, sizeof(out));
            MPI_Sendrecv(out, LONG, MPI_CHAR, rank ^ bit, 1, in, LONG, MPI_CHAR,
                         rank ^ bit, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (in[0] != (char)((rank ^ bit) + i) || memcmp(in, in + 1, LONG - 1) != 0) {
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
        }
    }
    demand(expected, "after long messages");
}

/* All bytes of the long messages of three peers at least. */
static void demand_fetched(int size)
{
    MPI_T_pvar_handle fetched = watch("msg_bytes_fetched", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle stored = watch("msg_bytes_stored", MPI_T_PVAR_CLASS_AGGREGATE);

    speak_at_length(size, 3);
    if (value_of(fetched) < 3 * LONG || value_of(stored) > 0) {
        fprintf(stderr, "rank %d fetched %llu bytes, stored %llu\n", rank,
                value_of(fetched), value_of(stored));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

int main(int argc, char **argv)
{
    const int is_fetching = argc > 1 && strcmp(argv[1], "fetch") == 0;
    const int has_streams = argc > 1 && strcmp(argv[1], "streams") == 0;
    const int is_all = argc > 1 && strcmp(argv[1], "all") == 0;
    int provided;
    int size;

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_all) {
        demand(size - 1, "after Init");
    }
    speak(size);
    demand(is_all ? size - 1 : 3, "after messages");
    if (is_fetching) {
        demand_fetched(size);
    }
    if (has_streams) {
        speak_at_length(size, rank < size / 2 ? 6 : 4);
    }
    speak(
        size); /* nobody goes on to MPI_Finalize, and its messages, before all are here */
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return MPI_Finalize();
}
