/*
 * siege.c - a job of two ranks that is besieged (siege.py).
 *
 *   siege STOP
 *
 * Ranks 0 and 1 play ping-pong until the file STOP exists. About every tenth of a second
 * rank 0 prints what it has achieved, with the time:
 *
 *   slot SECONDS ROUND_TRIPS_PER_SECOND
 *
 * After it rank 1 opens all the descriptors that it may, says so, and waits in MPI_Recv
 * until the file STOP is gone. It says what processor time that has taken, and whether
 * the two still can speak.
 */
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, AT_ONCE = 100 };

static const double SLOT = 0.1;
static int rank;

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time); /* as Python's time.monotonic() */
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double processor_time(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* To and fro; what rank 0 says goes for both. */
static int play(int value)
{
    for (int i = 0; i < AT_ONCE; i++) {
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
    return value;
}

static void play_until(const char *stop)
{
    double began = now();
    long count = 0;
    int has_to_stop = 0;

    while (!has_to_stop) {
        const double at = now();

        if (rank == 0 && at - began >= SLOT) {
            printf("slot %.6f %.0f\n", at, (double)count / (at - began));
            fflush(stdout);
            count = 0;
            began = at;
        }
        has_to_stop = play(rank == 0 && access(stop, F_OK) == 0);
        count += AT_ONCE;
    }
}

/* Waits with no descriptor left, until the file is gone. */
static void wait_without_descriptors(const char *stop)
{
    static int fds[MOST];
    int count = 0;
    int value = 0;

    if (rank == 0) {
        while (access(stop, F_OK) == 0) {
            usleep(1000);
        }
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        return;
    }
    while (count < MOST && (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        count++;
    }
    say(errno == EMFILE ? "exhausted" : "not exhausted");

    const double began = now();
    const double used = processor_time();

    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("waited %.3f s, used %.3f s\n", now() - began, processor_time() - used);
    while (count > 0) {
        close(fds[--count]);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)play(0);
    printf("pid %d %d\n", rank, (int)getpid());
    fflush(stdout);
    play_until(argv[1]);
    wait_without_descriptors(argv[1]);
    (void)play(0);
    say("end");
    return MPI_Finalize();
}
