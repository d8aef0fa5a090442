/*
 * says.c - ranks that end in the ways that users meet, after printing "before" into the
 * buffer of standard output, and "in a file" into that of a file.
 *
 *   says abort             MPI_Abort with code 7
 *   says fatal             a send to rank 99
 *   says locked            MPI_Abort while another thread holds the lock of stdout
 *   says handler           MPI_Abort in a signal handler, while printing
 *   says recv|posted|waitall|long|collective
 *                          a message that is longer than its buffer
 *   says unnamed           a reduction of a type without a name
 *   says uncommitted       a send of a type that is not committed
 *   says waits             rank 1 prints its process id and waits, the others are in
 *                          MPI_Barrier
 *   says nothing           as it should be
 */
#include "mpi.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_COUNT = 100000 };

static int rank;
static int numbers[LONG_COUNT];

static void *hold_output(void *arg)
{
    flockfile(stdout);
    *(volatile int *)arg = 1;
    pause();
    return NULL;
}

static void abort_while_locked(void)
{
    static volatile int is_held;
    pthread_t thread;

    pthread_create(&thread, NULL, hold_output, (void *)&is_held);
    while (!is_held) {
        usleep(1000);
    }
    MPI_Abort(MPI_COMM_WORLD, 7);
}

static void on_signal(int number)
{
    (void)number;
    MPI_Abort(MPI_COMM_WORLD, 7);
}

/* The signal comes while the thread has the stream's lock. */
static void abort_in_handler(void)
{
    signal(SIGUSR1, on_signal);
    flockfile(stdout);
    raise(SIGUSR1);
}

static void send_numbers(int count)
{
    if (rank == 1) {
        MPI_Send(numbers, count, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
}

static void receive_too_few(const char *how)
{
    MPI_Request requests[2];
    const int count = strcmp(how, "long") == 0 ? LONG_COUNT : 100;

    if (strcmp(how, "recv") == 0 || strcmp(how, "long") == 0) {
        send_numbers(count);
        if (count < LONG_COUNT) {
            MPI_Barrier(MPI_COMM_WORLD); /* the message is there before its receive */
        }
        if (rank == 0) {
            MPI_Recv(numbers, 10, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        return;
    }
    if (rank == 0) {
        MPI_Irecv(numbers, 10, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(numbers + 10, 10, MPI_INT, 1, 6, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    send_numbers(count);
    if (rank == 1) {
        MPI_Send(numbers, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    } else if (rank == 0 && strcmp(how, "posted") == 0) {
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void use_types(int is_committed)
{
    MPI_Datatype type;

    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
    if (!is_committed) {
        MPI_Send(numbers, 1, type, 0, 0, MPI_COMM_SELF);
    }
    MPI_Type_commit(&type);
    MPI_Allreduce(numbers, numbers + 100, 1, type, MPI_SUM, MPI_COMM_WORLD);
}

static void wait_for_ever(void)
{
    if (rank == 1) {
        printf("%d\n", (int)getpid());
        fflush(stdout);
        pause();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "nothing";
    FILE *file = argc > 2 ? fopen(argv[2], "a") : NULL;

    setvbuf(stdout, NULL, _IOFBF, BUFSIZ); /* mpiexec's ranks have lines */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("before\n");
    if (file != NULL) {
        fprintf(file, "in a file\n");
    }
    if (strcmp(how, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (strcmp(how, "fatal") == 0) {
        MPI_Send(numbers, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    } else if (strcmp(how, "locked") == 0) {
        abort_while_locked();
    } else if (strcmp(how, "handler") == 0) {
        abort_in_handler();
    } else if (strcmp(how, "collective") == 0) {
        MPI_Bcast(numbers, rank == 0 ? 100 : 10, MPI_INT, 0, MPI_COMM_WORLD);
    } else if (strcmp(how, "unnamed") == 0 || strcmp(how, "uncommitted") == 0) {
        use_types(strcmp(how, "unnamed") == 0);
    } else if (strcmp(how, "waits") == 0) {
        wait_for_ever();
    } else if (strcmp(how, "nothing") != 0) {
        receive_too_few(how);
    }
    return MPI_Finalize();
}
