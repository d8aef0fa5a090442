#include "pane.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_alive(pid_t pid)
{
    return kill(pid, 0) == 0 || errno == EPERM;
}

/* Waits until the debugger or the job has ended. */
static void watch(pid_t keeper, pid_t debugger, const sigset_t *child)
{
    const struct timespec moment = {.tv_sec = 0, .tv_nsec = 100000000};

    while (waitpid(debugger, NULL, WNOHANG) == 0) {
        if (!is_alive(keeper)) {
            kill(debugger, SIGKILL);
        }
        sigtimedwait(child, NULL, &moment);
    }
}

int pane_run(char **words)
{
    const pid_t keeper = words[0] != NULL ? (pid_t)atoi(words[0]) : 0;
    const pid_t rank = keeper > 0 && words[1] != NULL ? (pid_t)atoi(words[1]) : 0;
    sigset_t child;
    sigset_t before;
    pid_t debugger;

    if (keeper <= 0 || words[1] == NULL || words[2] == NULL || words[3] == NULL) {
        return 2;
    }
    printf("rank %s\n", words[2]);
    fflush(stdout);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    debugger = fork();
    if (debugger == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(words[3], words + 3);
        perror(words[3]);
        _exit(127);
    }
    signal(SIGINT, SIG_IGN); /* what is typed is the debugger's */
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    if (debugger > 0) {
        watch(keeper, debugger, &child);
    }
    if (rank > 0 && is_alive(keeper)) {
        kill(rank, SIGCONT); /* the debugger may not have attached */
    }
    return 0;
}
