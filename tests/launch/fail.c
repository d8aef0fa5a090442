/*
 * fail.c - rank 1 fails in the way that is asked for, while the others do something.
 *
 *   fail HOW [OTHERS]
 *
 *   segv, kill      dies by that signal, inside MPI
 *   exit-before     exit(3) before MPI_Init
 *   exit-after      exit(3) after MPI_Init
 *   leave           exit(0) after MPI_Init
 *   thread          MPI_Abort with code 5 from a second thread
 *   abort-N         MPI_Abort with code N
 *   mute            MPI_Abort with code 5, when the way to the launcher is closed
 *   comm            calls MPI_Barrier on no communicator
 *   never           does what the others do
 *
 *   also            the others fail in the same way
 *   barrier         sit in MPI_Barrier
 *   pause           sleep
 *   flood           print as fast as they can
 *   ignore          ignore INT and TERM
 *   stopped         have stopped themselves
 *
 * A rank that is about to wait says "ready" first, on standard output.
 */
#include "mpi.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VICTIM = 1, A_MOMENT_US = 10000 };

static void *abort_from_thread(void *unused)
{
    MPI_Abort(MPI_COMM_WORLD, 5);
    return unused;
}

static void abort_in_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, abort_from_thread, NULL) != 0) {
        exit(98);
    }
    pause();
}

static void fail_inside(const char *how)
{
    if (strcmp(how, "segv") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(how, "exit-after") == 0) {
        exit(3);
    } else if (strcmp(how, "leave") == 0) {
        exit(0);
    } else if (strcmp(how, "thread") == 0) {
        abort_in_thread();
    } else if (strcmp(how, "mute") == 0) {
        close(atoi(getenv("PMI_FD")));
        MPI_Abort(MPI_COMM_WORLD, 5);
    } else if (strncmp(how, "abort-", 6) == 0) {
        MPI_Abort(MPI_COMM_WORLD, atoi(how + 6));
    } else if (strcmp(how, "comm") == 0) {
        MPI_Barrier(MPI_COMM_NULL);
    }
}

static void flood(void)
{
    for (;;) {
        puts("a line of a rank that does not know when to stop");
    }
}

static void wait_like(const char *others)
{
    if (strcmp(others, "flood") != 0) {
        puts("ready");
        fflush(stdout);
    }
    if (strcmp(others, "barrier") == 0) {
        MPI_Barrier(MPI_COMM_WORLD); /* rank 1 never comes */
    } else if (strcmp(others, "flood") == 0) {
        flood();
    } else if (strcmp(others, "stopped") == 0) {
        raise(SIGSTOP);
    }
    for (;;) {
        pause();
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "never";
    const char *others = argc > 2 ? argv[2] : "barrier";
    const char *rank_text = getenv("PMI_RANK");
    int rank;

    if (strcmp(others, "ignore") == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
    }
    if (strcmp(how, "exit-before") == 0 && rank_text != NULL &&
        atoi(rank_text) == VICTIM) {
        exit(3);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(others, "also") == 0) {
        MPI_Barrier(MPI_COMM_WORLD); /* all at once */
        fail_inside(how);
    } else if (rank == VICTIM && strcmp(how, "never") != 0) {
        usleep(A_MOMENT_US); /* the others are where they wait, more often than not */
        fail_inside(how);
    }
    wait_like(others);
}
