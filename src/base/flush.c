#include "base/flush.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* Is standard output the pipe that mpiexec has made for this rank? */
static bool is_pipe_to_mpiexec(void)
{
    const char *inode = getenv(WEFT_STDOUT);
    struct stat output;

    return inode != NULL && fstat(STDOUT_FILENO, &output) == 0 &&
           S_ISFIFO(output.st_mode) && strtoull(inode, NULL, 10) == output.st_ino;
}

/*
 * It is in this file because MPI_Init() needs the file: a static program gets only those
 * parts of libmpi_abi.a that it refers to.
 */
static __attribute__((constructor)) void flush_each_line(void)
{
    if (is_pipe_to_mpiexec()) {
        setvbuf(stdout, NULL, _IOLBF, 0);
    }
}

static void (*end_process)(void);

static void on_alarm(int number)
{
    (void)number;
    end_process();
}

void weft_flush_or_end(void (*end)(void))
{
    const struct itimerval patience = {.it_value = {.tv_usec = 500000}};
    const struct itimerval none = {.it_value = {.tv_usec = 0}};
    struct sigaction action;
    sigset_t alarm_only;

    end_process = end;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_alarm;
    action.sa_flags = SA_NODEFER; /* `end` may set an alarm of its own */
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    /* Without the alarm nothing bounds the attempt, so there is none. */
    if (sigaction(SIGALRM, &action, NULL) != 0 ||
        setitimer(ITIMER_REAL, &patience, NULL) != 0) {
        return;
    }
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    fflush(NULL);
    setitimer(ITIMER_REAL, &none, NULL);
}
