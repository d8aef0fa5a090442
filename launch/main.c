/*
 * main.c - mpiexec, the front: the process that the user sees.
 *
 * It reads the command line, makes the keeper (keeper.h), passes signals on to it as
 * bytes through a pipe, and ends with its exit code. A second Ctrl-C ends everything at
 * once.
 */
#include "guard.h"
#include "job.h"
#include "keeper.h"
#include "mpir.h"
#include "notice.h"
#include "pane.h"
#include "plan.h"
#include "rsh.h"
#include "ship_home.h"
#include "texts.h"

#include "base/settings_file.h"
#include "places.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

/* Descriptors 0, 1 and 2 must not become something else that we open. */
static void fill_standard_descriptors(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    close(fd);
}

/* A signal that our caller wants ignored, as nohup does, is none to pass on. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
        struct sigaction action;

        if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(set, passed_on[i]);
        }
    }
    sigaddset(set, notice_signal());
    signal(SIGCHLD, SIG_DFL); /* ignored, our children would end without a word */
    sigaddset(set, SIGCHLD);
    sigprocmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTOU, SIG_IGN); /* lines may be written from the background */
}

static const char *last_words = ""; /* what precedes them */

/* The keeper is gone without having ended the job: its children are ours now. */
static int clean_up(int status)
{
    keeper_sweep();
    fprintf(stderr, "%s%s: " TEXT_KEEPER "\n", last_words, program_name,
            WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static int end_at_once(pid_t keeper)
{
    kill(keeper, SIGKILL);
    keeper_sweep();
    return 128 + SIGINT;
}

static void pass_on(int to, int signal)
{
    unsigned char byte = (unsigned char)signal;

    if (write(to, &byte, 1) < 0) {
        return; /* the keeper has just ended: SIGCHLD says so */
    }
    if (signal == SIGTSTP) {
        kill(getpid(), SIGSTOP);
    }
}

static int watch(pid_t keeper, int to, const sigset_t *set, bool is_held)
{
    int interrupts = 0;

    for (;;) {
        int status;
        int signal = sigwaitinfo(set, NULL);

        if (signal == SIGCHLD) {
            pid_t pid;

            while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                if (pid == keeper) {
                    mpir_take_notices(); /* the last words of the keeper */
                    return WIFEXITED(status) ? WEXITSTATUS(status) : clean_up(status);
                }
            }
        } else if (signal == notice_signal()) {
            if (mpir_take_notices() && is_held) {
                pass_on(to, SIGCONT); /* sets the ranks free */
            }
        } else if (signal == SIGINT && ++interrupts > 1) {
            return end_at_once(keeper);
        } else if (signal > 0) {
            pass_on(to, signal);
        }
    }
}

/* What the keeper does not want from its parent. No plan: it is a daemon's. */
static int keep(const struct plan *plan, int front)
{
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
        signal(passed_on[i], SIG_IGN); /* the front tells us, by the pipe */
    }
    signal(SIGTTIN, SIG_IGN); /* a read in the background fails, and does not stop us */
    prctl(PR_SET_NAME, "weft-keeper");
    keeper_adopt_orphans();
    return plan != NULL ? job_run(plan, front) : job_serve(front);
}

/* Makes the keeper, and waits for it. No plan: we are a daemon. */
static int run(const struct plan *plan, const sigset_t *set)
{
    const bool is_held = plan != NULL && plan->is_held;
    int ends[2];
    pid_t keeper;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        fprintf(stderr, "%s: " TEXT_NO_KEEPER "\n", program_name, strerror(errno),
                TEXT_CURE_DESCRIPTORS);
        return 1;
    }
    keeper = fork();
    if (keeper < 0) {
        fprintf(stderr, "%s: " TEXT_NO_KEEPER "\n", program_name, strerror(errno),
                errno == EAGAIN ? TEXT_CURE_PROCESSES : "");
        return 1;
    }
    if (keeper == 0) {
        close(ends[1]);
        exit(keep(plan, ends[0]));
    }
    close(ends[0]);
    return watch(keeper, ends[1], set, is_held);
}

/* A daemon that was shipped: its folder, whose libraries are not for what it starts. */
static bool enter_home(const char *path)
{
    const char *search = getenv("LD_LIBRARY_PATH");
    const char *rest = search != NULL ? strchr(search, ':') : NULL;

    if (!home_open(path)) {
        fprintf(stderr, "%s: %s: no folder of its own\n", program_name, path);
        return false;
    }
    if (rest != NULL) {
        setenv("LD_LIBRARY_PATH", rest + 1, 1);
    } else {
        unsetenv("LD_LIBRARY_PATH");
    }
    return true;
}

/* The ranks get what the files say in their environment (spawn.c), and do not open them.
 */
static void read_settings(void)
{
    static const struct weft_places places = {
        .bindir = WEFT_BINDIR, .libdir = WEFT_LIBDIR, .sysconfdir = WEFT_SYSCONFDIR};

    weft_settings_read_files(&places);
    weft_settings_complain(program_name);
}

int main(int argc, char **argv)
{
    static struct plan plan;
    sigset_t set;
    bool is_daemon;
    int code;

    fill_standard_descriptors();
    program_name = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
    if (argc > 2 && strcmp(argv[1], PANE_OPTION) == 0) {
        return pane_run(argv + 2);
    }
    is_daemon = (argc == 2 || argc == 3) && strcmp(argv[1], DAEMON_OPTION) == 0;
    if (is_daemon && argc == 3 && !enter_home(argv[2])) {
        return 1;
    }
    if (is_daemon) {
        last_words = DAEMON_ENDS;
    } else {
        read_settings();
    }
    switch (is_daemon ? PARSED : plan_parse(argc, argv, &plan)) {
    case PARSED:
        break;
    case PARSED_AND_DONE:
        return 0;
    case PARSED_WRONG:
        return 2;
    }
    plan.is_held = MPIR_being_debugged != 0;
    notice_open();
    keeper_adopt_orphans();
    block_signals(&set);
    keeper_spare(guard_start(argc, argv));
    code = run(is_daemon ? NULL : &plan, &set);
    home_remove();
    guard_dismiss();
    return code;
}
