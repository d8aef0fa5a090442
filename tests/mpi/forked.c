/*
 * forked: children that a rank makes while libfabric is being loaded leave by exit() at
 * once, though they have no thread that could end the loading.
 *
 *     forked     over connections: local rank 0 loads from MPI_Init on
 *
 * The child measures what the library does at exit(), between a function that exit()
 * calls before it and one that it calls after it. A child that waits for the loading does
 * so for five seconds.
 */
#include "check.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 4, WAITED = 7, CHILDREN = 20, PAUSE_US = 2000 };

static time_t began; /* in the child; 0: not yet */

static time_t now(void)
{
    struct timespec t;

    CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return t.tv_sec;
}

static void begin(void)
{
    began = now();
}

static void end(void)
{
    if (began != 0 && now() - began > PATIENCE_S) {
        _exit(WAITED);
    }
}

static void leave(void)
{
    const pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0) {
        if (atexit(begin) != 0) {
            _exit(1);
        }
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    CHECK(atexit(end) == 0); /* before the library: called after it */
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    for (int i = 0; i < CHILDREN; i++) {
        leave();
        usleep(PAUSE_US);
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
