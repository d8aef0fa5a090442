/*
 * start.c - forks the ends, or finds out how else they were started.
 */
#include "gauge/start/start.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOKEN_BYTES = 16, MOST_ENDS = 1024 };

/* The forked ends; zeros are those that ended well. */
static pid_t child[MOST_ENDS];
static int children;

/* Rank and size as launchers write them. PMIx alone gives no size. */
static const struct {
    const char *rank;
    const char *size;
} launchers[] = {
    {"PMI_RANK", "PMI_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

bool gauge_start_launched(int *end, int *ends)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
        const char *rank = getenv(launchers[i].rank);
        const char *size = getenv(launchers[i].size);

        if (rank != NULL && size != NULL) {
            *end = atoi(rank);
            *ends = atoi(size);
            return *ends > 0 && *end >= 0 && *end < *ends;
        }
    }
    if (getenv("PMIX_RANK") != NULL) {
        *end = atoi(getenv("PMIX_RANK"));
        *ends = 0;
        return true;
    }
    return false;
}

/* An end that fails takes the run with it, even while end 0 spins on its memory. */
static void on_child(int number)
{
    static const char words[] = "weft-gauge: a forked end has failed\n";
    int status = 0;
    pid_t pid = 0;
    int saved = errno;

    (void)number;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int i = 0; i < children; i++) {
            if (child[i] == pid) {
                child[i] = 0;
            }
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0) {
                /* there is nobody left to tell */
            }
            for (int i = 0; i < children; i++) {
                if (child[i] > 0) {
                    kill(child[i], SIGKILL);
                }
            }
            _exit(1);
        }
    }
    errno = saved;
}

static void pin(int end)
{
    cpu_set_t all;
    cpu_set_t one;
    int wanted = 0;

    if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) == 0) {
        return;
    }
    wanted = end % CPU_COUNT(&all);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && wanted-- == 0) {
            CPU_SET(cpu, &one);
        }
    }
    sched_setaffinity(0, sizeof(one), &one);
}

/* In the new process: only its own stream stays open. */
static enum gauge_rc become(struct gauge_control *control, int end, int ends, int mine,
                            const int *others)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    children = 0;
    for (int i = 1; i < end; i++) {
        close(others[i]);
    }
    return gauge_control_open(control, end, ends, &mine);
}

static enum gauge_rc fork_ends(const struct gauge_start *start,
                               struct gauge_control *control)
{
    int ends = start->ends;
    int fds[MOST_ENDS];
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};

    fflush(NULL);
    sigaction(SIGCHLD, &action, NULL);
    for (int end = 1; end < ends; end++) {
        int pair[2];
        pid_t pid = -1;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
            (pid = fork()) < 0) {
            return gauge_fail("cannot start end %d: %s", end, strerror(errno));
        }
        if (pid == 0) {
            close(pair[0]);
            if (start->is_pinned) {
                pin(start->is_together ? 0 : end);
            }
            return become(control, end, ends, pair[1], fds);
        }
        close(pair[1]);
        fds[end] = pair[0];
        child[children++] = pid;
    }
    if (start->is_pinned) {
        pin(0);
    }
    return gauge_control_open(control, 0, ends, fds);
}

enum gauge_rc gauge_start_end(enum gauge_rc rc)
{
    sigset_t blocked;
    sigset_t before;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    for (int i = 0; i < children; i++) {
        int status = 0;

        if (child[i] > 0 && rc == GAUGE_FAILED) {
            kill(child[i], SIGKILL);
        }
        if (child[i] > 0 && waitpid(child[i], &status, 0) > 0 && status != 0) {
            rc = GAUGE_FAILED;
        }
        child[i] = 0;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* A token that a stranger does not guess, shown to whoever may tell the other ends. */
static const char *make_token(const char *where, int ends)
{
    static char token[2 * TOKEN_BYTES + 1];
    unsigned char bytes[TOKEN_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
        return NULL;
    }
    for (int i = 0; i < TOKEN_BYTES; i++) {
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    fprintf(stderr,
            "weft-gauge: waiting for %d more; start each with\n"
            "  WEFT_GAUGE_TOKEN=%s weft-gauge --join %s\n",
            ends - 1, token, where);
    return token;
}

static enum gauge_rc listen_for(struct gauge_start *start, const char *where,
                                struct gauge_control *control)
{
    int fds[MOST_ENDS];
    const char *token = start->token;

    if (token == NULL) {
        token = getenv("WEFT_GAUGE_TOKEN");
    }
    if (token == NULL) {
        token = make_token(where, start->ends);
    }
    if (token == NULL) {
        return gauge_fail("no random bytes for a token");
    }
    if (gauge_net_listen(where, token, start->ends, fds) != GAUGE_OK) {
        return GAUGE_FAILED;
    }
    return gauge_control_open(control, 0, start->ends, fds);
}

static enum gauge_rc join(struct gauge_start *start, const char *where, int wanted,
                          struct gauge_control *control)
{
    const char *token = start->token != NULL ? start->token : getenv("WEFT_GAUGE_TOKEN");
    int fd = -1;
    int end = 0;

    if (token == NULL) {
        return gauge_fail(
            "--join wants the token that --listen showed, in WEFT_GAUGE_TOKEN");
    }
    if (gauge_net_join(where, token, wanted, &fd, &end, &start->ends) != GAUGE_OK) {
        return GAUGE_FAILED;
    }
    return gauge_control_open(control, end, start->ends, &fd);
}

static enum gauge_rc meet(struct gauge_start *start, int end,
                          struct gauge_control *control)
{
    int fds[MOST_ENDS];

    if (start->control != NULL) {
        return end == 0 ? listen_for(start, start->control, control)
                        : join(start, start->control, end, control);
    }
    if (gauge_net_local(end, start->ends, fds) != GAUGE_OK) {
        return GAUGE_FAILED;
    }
    return gauge_control_open(control, end, start->ends, fds);
}

enum gauge_rc gauge_start(struct gauge_start *start, struct gauge_control *control)
{
    int end = 0;
    int ends = 0;
    enum gauge_rc rc = GAUGE_OK;

    if (start->join != NULL) {
        start->how = "joined";
        rc = join(start, start->join, -1, control);
    } else if (start->listen == NULL && !start->is_forked &&
               gauge_start_launched(&end, &ends)) {
        start->how = "launched";
        start->ends = ends > 0 ? ends : start->ends;
        rc = start->ends > MOST_ENDS ? gauge_fail("at most %d ends", MOST_ENDS)
                                     : meet(start, end, control);
    } else {
        start->ends = start->ends > 0 ? start->ends : 2;
        if (start->ends > MOST_ENDS) {
            return gauge_fail("at most %d ends", MOST_ENDS);
        }
        start->how = start->listen != NULL ? "listening" : "forked";
        rc = start->listen != NULL ? listen_for(start, start->listen, control)
                                   : fork_ends(start, control);
    }
    return rc == GAUGE_OK ? gauge_control_introduce(control) : rc;
}
