/*
 * odd.c - a rank that tries a little of everything.
 *
 *   odd          short and long messages to and from each other rank, collectives; then
 *                "RANK of SIZE fine, one copy", or "two copies" if no byte went straight
 *                from one process's memory into another's; or how many bytes were wrong
 *   odd abort    rank 1 calls MPI_Abort with code 7 while the others wait for it
 *   odd stay     as without a word, but it then waits to be killed
 *
 * ODD_UNDUMPABLE=1: nobody may look into the memory of this process.
 */
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { SHORT = 16, LONG = 3 * 1000 * 1000 };

static int rank;
static int size;
static char sent[LONG];
static char got[LONG];

static void fill(char *bytes, int count, int from, int to)
{
    for (int i = 0; i < count; i++) {
        bytes[i] = (char)(i * 7 + i / 4099 + from * 31 + to * 17);
    }
}

/* To the rank `step` to the right, from the rank as far to the left. */
static int exchange(int step, int bytes)
{
    static char expected[LONG];
    const int right = (rank + step) % size;
    const int left = (rank + size - step) % size;
    int wrong = 0;

    fill(sent, bytes, rank, right);
    fill(expected, bytes, left, rank);
    memset(got, 0, (size_t)bytes);
    MPI_Sendrecv(sent, bytes, MPI_CHAR, right, 3, got, bytes, MPI_CHAR, left, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; i++) {
        wrong += got[i] != expected[i];
    }
    return wrong;
}

static int collect(void)
{
    long sum = 0;
    const long mine = rank + 1;
    int wrong = 0;

    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != (long)size * (size + 1) / 2;
    fill(got, LONG, size - 1, rank == size - 1 ? 0 : 1);
    MPI_Bcast(got, LONG, MPI_CHAR, size - 1, MPI_COMM_WORLD);
    fill(sent, LONG, size - 1, 0);
    wrong += memcmp(sent, got, LONG) != 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return wrong;
}

/* Bytes that were copied straight from one process's memory into another's. */
static const char *const straight[] = {"shm_bytes_fetched", "shm_bytes_stored"};
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[2];

static void begin_to_count(void)
{
    int provided;
    int number;
    int count;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < 2; i++) {
        if (MPI_T_pvar_get_index(straight[i], MPI_T_PVAR_CLASS_AGGREGATE, &number) !=
                MPI_SUCCESS ||
            MPI_T_pvar_handle_alloc(session, number, NULL, &handles[i], &count) !=
                MPI_SUCCESS ||
            MPI_T_pvar_start(session, handles[i]) != MPI_SUCCESS) {
            fprintf(stderr, "odd: %s cannot be counted\n", straight[i]);
            MPI_Abort(MPI_COMM_WORLD, 98);
        }
    }
}

/* How many copies a byte of a long message took. */
static const char *copies(void)
{
    unsigned long mine = 0;
    unsigned long all = 0;

    for (int i = 0; i < 2; i++) {
        unsigned long value = 0;

        MPI_T_pvar_read(session, handles[i], &value);
        mine += value;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return all > 0 ? "one copy" : "two copies";
}

static void abort_job(void)
{
    if (rank == 1) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Recv(got, 1, MPI_CHAR, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int wrong = 0;

    if (getenv("ODD_UNDUMPABLE") != NULL) {
        prctl(PR_SET_DUMPABLE, 0);
    }
    MPI_Init(&argc, &argv);
    begin_to_count();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "abort") == 0) {
        abort_job();
    }
    for (int step = 1; step < size; step++) {
        wrong += exchange(step, SHORT) + exchange(step, LONG);
    }
    wrong += collect();
    if (wrong == 0) {
        printf("%d of %d fine, %s\n", rank, size, copies());
    } else {
        printf("%d of %d: %d wrong\n", rank, size, wrong);
    }
    fflush(stdout);
    if (strcmp(what, "stay") == 0) {
        pause();
    }
    MPI_Finalize();
    return wrong > 0;
}
