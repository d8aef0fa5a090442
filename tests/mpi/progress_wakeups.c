/*
 * progress_wakeups.c - chapter 3: who polls is not woken, and who is idle is not either.
 *
 * Two ranks. Each prints how often it may have been woken at most, for a script
 * (progress_wakeups.py) that compares it with what the library says at the end. A thread
 * sleeps in MPI only after it has waited for WEFT_YIELD_NS, so a call that took less was
 * not woken; and a call that took longer was woken at most once for each thing it waits
 * for. So the bounds hold on a busy machine too. The script adds the sleeps for which a
 * thread did not wait so long.
 *
 * Small collectives under way do not wake the progress thread of a rank that computes,
 * unless another has waited for longer than a fixed time.
 */
#include "check.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    SMALL_ROUNDS = 100000,
    LONG_ROUNDS = 1000,
    STEP_ROUNDS = 20000,
    STEP_WORK = 1000,       /* turns: longer than a packet takes */
    LONG_BYTES = 64 * 1024, /* takes a fraction of PATIENCE */
    IDLE_SECONDS = 3,
    /* Switches by its own will in that time: a sleep takes one, a tick took thousands. */
    SWITCHES = 30,
};

static const double patience = 100e-6;     /* WEFT_YIELD_NS */
static const double step_patience = 50e-6; /* then others are asked for their steps */

static int rank;
static int other;
static int may_be_woken;
static int may_wake_thread; /* of the other */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long switches(void)
{
    struct rusage usage;

    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_nvcsw;
}

/* A call that began then has ended, and waited for so many things. */
static void allow(double began, int things)
{
    const double patiences = (now() - began) / patience;

    may_be_woken += patiences < things ? (int)patiences : things;
}

/* A long message is waited for twice: for its beginning, and for its end. */
static void send(char *buffer, int bytes)
{
    const double began = now();

    CHECK(MPI_Send(buffer, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    allow(began, bytes == LONG_BYTES ? 2 : 0);
}

static void receive(char *buffer, int bytes)
{
    const double began = now();

    CHECK(MPI_Recv(buffer, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE) == MPI_SUCCESS);
    allow(began, bytes == LONG_BYTES ? 2 : 1);
}

static void ping_pong(char *buffer, int bytes, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            send(buffer, bytes);
            receive(buffer, bytes);
        } else {
            receive(buffer, bytes);
            send(buffer, bytes);
        }
    }
}

static void compute(int turns)
{
    volatile double x = 0;

    for (int i = 0; i < turns; i++) {
        x = x * 0.5 + 1;
    }
}

/* Who has waited for long rings once, and its next packets may do so, until the other
 * has left MPI again. */
static void collectives(void)
{
    for (int i = 0; i < STEP_ROUNDS; i++) {
        MPI_Request request;
        double began;
        int sum;

        CHECK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                             &request) == MPI_SUCCESS);
        compute(STEP_WORK);
        began = now();
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(sum == 1);
        may_wake_thread += now() - began >= step_patience ? 3 : 0;
        allow(began, 1);
    }
}

/* Rank 1 waits in MPI for long. */
static void idle_inside(char *buffer)
{
    const long before = switches();

    if (rank == 0) {
        sleep(IDLE_SECONDS);
        send(buffer, 8);
    } else {
        receive(buffer, 8);
        CHECK(switches() - before < SWITCHES);
    }
}

/* Rank 1 does nothing for long, with receives outstanding, one of them offered. */
static void idle_outside(char *buffer)
{
    MPI_Request requests[2];
    double began;
    long before;

    if (rank == 0) {
        receive(buffer, 8);
        send(buffer, 8);
        send(buffer, 8);
        return;
    }
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Irecv(buffer + 1024 * i, i == 0 ? 1024 : LONG_BYTES - 1024, MPI_BYTE,
                        other, 1, MPI_COMM_WORLD, &requests[i]) == MPI_SUCCESS);
    }
    before = switches();
    sleep(IDLE_SECONDS);
    CHECK(switches() - before < SWITCHES);
    send(buffer, 8);
    began = now();
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    allow(began, 2);
}

int main(int argc, char **argv)
{
    char *buffer = calloc(1, LONG_BYTES);
    const char *what = argc > 1 ? argv[1] : "";
    int size;

    CHECK(buffer != NULL);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(size == 2);
    other = 1 - rank;
    if (strcmp(what, "small") == 0) {
        ping_pong(buffer, 8, SMALL_ROUNDS);
    } else if (strcmp(what, "long") == 0) {
        ping_pong(buffer, LONG_BYTES, LONG_ROUNDS);
    } else if (strcmp(what, "steps") == 0) {
        collectives();
    } else if (strcmp(what, "inside") == 0) {
        idle_inside(buffer);
    } else {
        CHECK(strcmp(what, "outside") == 0);
        idle_outside(buffer);
    }
    printf("rank %d may be woken %d times\n", rank, may_be_woken);
    printf("rank %d may wake a thread %d times\n", rank, may_wake_thread);
    free(buffer);
    return MPI_Finalize();
}
