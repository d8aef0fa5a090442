/*
 * debug.c - debuggers that run a file of commands (--debug-commands): each is a child of
 * the keeper of its rank's host, and what it prints goes the way of the rank's output.
 */
#include "debug.h"

#include "guard.h"
#include "job_parts.h"
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int commands =
    -1; /* the file of commands, in memory: there may be no other here */

static bool has_debugged_rank(const struct job *job)
{
    for (int r = 0; r < job->count; r++) {
        if (plan_is_debugged(job->plan, job_rank(job, r))) {
            return true;
        }
    }
    return false;
}

/* Why there can be no panes; NULL if there can. */
static const char *look_for_tmux(void)
{
    char path[4096];

    if (getenv("TMUX") == NULL && isatty(STDIN_FILENO) != 1) {
        return "there is no terminal; --debug-commands FILE runs a file of commands";
    }
    if (!path_find(AT_FDCWD, "tmux", path, sizeof(path))) {
        return "tmux is not installed; install it, or use --debug-commands FILE";
    }
    return NULL;
}

bool job_prepare_debug(struct job *job, char *why, size_t size)
{
    const struct plan *plan = job->plan;
    char path[4096];

    if (plan->debug == NULL || plan->is_report) {
        return true;
    }
    if (has_debugged_rank(job) &&
        !path_find(AT_FDCWD, plan->debugger.at[0], path, sizeof(path))) {
        snprintf(why, size,
                 "--debug: %s is not installed; install it, or name another debugger by "
                 "--debugger",
                 plan->debugger.at[0]);
        return false;
    }
    if (plan->commands != NULL) {
        const size_t bytes = strlen(plan->commands);

        commands = memfd_create("weft-commands", MFD_CLOEXEC);
        if (commands < 0 || write(commands, plan->commands, bytes) != (ssize_t)bytes) {
            snprintf(why, size, "--debug-commands: %s", strerror(errno));
            return false;
        }
    } else if (!job_is_daemon(job) && look_for_tmux() != NULL) {
        snprintf(why, size, "--debug: %s", look_for_tmux());
        return false;
    }
    return true;
}

/* The child's whole life before it becomes the debugger. */
static void become(struct job *job, int output, int error, const struct list *words)
{
    struct list env = {NULL, 0};
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    for (int i = 0; i < job->setup.environment.common.count; i++) {
        list_add(&env, job->setup.environment.common.at[i]);
    }
    list_add(&env, guard_mark());
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(error, STDERR_FILENO) < 0 || fcntl(commands, F_SETFD, 0) != 0) {
        return;
    }
    spawn_reset_signals();
    execvpe(words->at[0], words->at, env.at);
}

void job_start_debugger(struct job *job, int r, int output, int error)
{
    struct list words;
    char path[64];
    pid_t pid;

    if (commands < 0 || !plan_is_debugged(job->plan, job_rank(job, r))) {
        return;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", commands);
    debug_make_words(job->plan, job->ranks[r].pid, path, &words);
    pid = fork();
    if (pid == 0) {
        become(job, output, error, &words);
        _exit(127);
    }
    debug_free_words(&words);
    if (pid < 0) {
        job_say(job, "rank %d: no debugger: %s", job_rank(job, r), strerror(errno));
        kill(job->ranks[r].pid, SIGCONT);
        return;
    }
    job->ranks[r].debugger = pid;
    job->debuggers++;
}

void job_reap_debugger(struct job *job, pid_t pid, int status)
{
    for (int r = 0; job->debuggers > 0 && r < job->count; r++) {
        if (job->ranks[r].debugger != pid) {
            continue;
        }
        job->ranks[r].debugger = 0;
        job->debuggers--;
        if (job->ranks[r].is_running) {
            kill(job->ranks[r].pid, SIGCONT); /* it may not have attached */
        }
        if (WIFSIGNALED(status) && (job->state == STARTING || job->state == RUNNING)) {
            job_say(job, "rank %d: its debugger was killed by signal %d",
                    job_rank(job, r), WTERMSIG(status));
        }
    }
}
