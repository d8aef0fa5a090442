/*
 * victim.h - what the programs share in which rank 1 ends without MPI_Finalize (failed.c,
 * rma_failed.c). failed.py runs them and says what their arguments mean.
 *
 *     mpiexec --keep-going -n N PROGRAM CASE [kill | exit | fatal]
 */
#ifndef WEFT_TEST_VICTIM_H
#define WEFT_TEST_VICTIM_H

#include "gone.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { VICTIM = 1 };

static int size;
static bool is_exiting;
static bool is_fatal;

static inline _Noreturn void die(void)
{
    if (is_exiting) {
        _exit(7);
    }
    raise(SIGKILL);
    abort();
}

static inline _Noreturn void die_after(long ms)
{
    sleep_ms(ms);
    die();
}

/* A thread that ends the process while it is inside MPI. */
static inline void *kill_soon(void *argument)
{
    sleep_ms(5 + rank % 3);
    die();
    return argument;
}

static inline bool is_victim(void)
{
    return rank == VICTIM;
}

/* The text says which rank has failed, and why. */
static void check_error(int err)
{
    check_text(err, "rank 1 on ");
    check_text(err, is_exiting ? "ended with code 7" : "killed by signal 9");
}

/* Fails, or has nothing to wait for: not all depend on the dead. */
static inline void may_fail(int err)
{
    if (err != MPI_SUCCESS) {
        check_error(err);
    }
}

/* Returns when it is known that the victim has died. */
static inline void wait_for_death(void)
{
    recv_until_gone(VICTIM, TAG + 9);
}

/* Runs the case that is named on the command line. */
static inline int run_case(int argc, char **argv, const struct gone_case *cases,
                           size_t count)
{
    const char *how = argc > 2 ? argv[2] : "kill";

    CHECK(argc > 1);
    is_fatal = strcmp(how, "fatal") == 0;
    open_case(&argc, &argv, is_fatal);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(size > 1);
    is_exiting = strcmp(how, "exit") == 0;
    find_case(cases, count, argv[1])->run();
    free(memory);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    if (rank == 0) {
        puts("went on");
    }
    return 0;
}

#endif
