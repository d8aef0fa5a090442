/*
 * panes.c - debuggers for a human: each in a pane of tmux, on the screen of mpiexec, also
 * those of ranks on other hosts, to which ssh leads.
 *
 * In each pane runs mpiexec itself (pane.h), which starts the debugger and ends it with
 * the job. Inside tmux the panes are in a new window; outside, in a new session.
 */
#include "debug.h"
#include "job_parts.h"
#include "pane.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void add(struct list *words, const char *word)
{
    list_add(words, strdup(word));
}

static void add_number(struct list *words, int number)
{
    char text[32];

    snprintf(text, sizeof(text), "%d", number);
    add(words, text);
}

/* Runs a command and keeps the first line that it prints; true if it ended well. */
static bool run(const struct list *words, char *line, size_t size)
{
    int ends[2];
    int status = -1;
    pid_t pid;
    ssize_t n;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid = fork();
    if (pid == 0) {
        const int nothing = open("/dev/null", O_RDWR);

        dup2(nothing, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        spawn_reset_signals();
        execvp(words->at[0], words->at);
        _exit(127);
    }
    close(ends[1]);
    do {
        n = read(ends[0], line, size - 1);
    } while (n < 0 && errno == EINTR);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What runs in the pane of a rank, as one word for a shell; to be freed. */
static char *command_of(const struct job *job, int rank)
{
    const int daemon = layout_daemon_of(&job->setup.layout, rank);
    const pid_t pid = job->pids[rank];
    struct list attach;
    struct list words = {NULL, 0};
    char *text;

    debug_make_words(job->plan, pid, NULL, &attach);
    add(&words, job->setup.path);
    add(&words, PANE_OPTION);
    add_number(&words, getpid());
    add_number(&words, daemon == 0 ? pid : 0);
    add_number(&words, rank);
    if (daemon == 0) {
        for (int i = 0; i < attach.count; i++) {
            add(&words, attach.at[i]);
        }
    } else {
        char *there = debug_join_words(&attach);
        char *whole = NULL;

        if (asprintf(&whole, "%s; kill -CONT %d 2>/dev/null", there, pid) < 0) {
            perror(program_name);
            exit(1);
        }
        for (int i = 0; i < job->setup.rsh.count; i++) {
            add(&words, job->setup.rsh.at[i]);
        }
        add(&words, "-tt");
        add(&words, job->setup.layout.stations[daemon].name);
        list_add(&words, whole);
        free(there);
    }
    text = debug_join_words(&words);
    debug_free_words(&words);
    debug_free_words(&attach);
    return text;
}

/* Opens a window with a first pane, whose name goes into `window`. */
static bool open_window(const char *command, char *window, size_t size)
{
    struct list words = {NULL, 0};
    char session[64];
    bool is_open;

    add(&words, "tmux");
    if (getenv("TMUX") != NULL) {
        add(&words, "new-window");
    } else {
        snprintf(session, sizeof(session), "weft-%d", getppid());
        for (const char *const *w =
                 (const char *const[]){"new-session", "-d", "-x", "200", "-y", "60", "-s",
                                       session, NULL};
             *w != NULL; w++) {
            add(&words, *w);
        }
    }
    for (const char *const *w = (const char *const[]){"-P", "-F", "#{window_id}", "-n",
                                                      "ranks", command, NULL};
         *w != NULL; w++) {
        add(&words, *w);
    }
    is_open = run(&words, window, size);
    debug_free_words(&words);
    return is_open;
}

/* Adds a pane to a window; false if there is no room for one more. */
static bool add_pane(const char *command, char *window)
{
    static const char *const split[] = {"tmux", "split-window", "-t"};
    static const char *const arrange[] = {"tmux", "select-layout", "-t"};
    struct list words = {NULL, 0};
    char line[64];
    bool is_open;

    for (size_t i = 0; i < sizeof(split) / sizeof(split[0]); i++) {
        add(&words, split[i]);
    }
    add(&words, window);
    add(&words, command);
    is_open = run(&words, line, sizeof(line));
    debug_free_words(&words);
    for (size_t i = 0; i < sizeof(arrange) / sizeof(arrange[0]); i++) {
        add(&words, arrange[i]);
    }
    add(&words, window);
    add(&words, "tiled");
    (void)run(&words, line, sizeof(line));
    debug_free_words(&words);
    return is_open;
}

/* Ranks of other hosts need a way to them that has a terminal. */
static bool is_reached(const struct job *job, int rank)
{
    const char *path = job->setup.rsh.at[0];
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;

    return layout_daemon_of(&job->setup.layout, rank) == 0 || strcmp(name, "ssh") == 0;
}

static void give_up(struct job *job, int rank, const char *why)
{
    job_say(job, "rank %d: no debugger: %s", rank, why);
    if (layout_daemon_of(&job->setup.layout, rank) == 0) {
        kill(job->pids[rank], SIGCONT);
    } else {
        tree_tell(job, FRAME_SIGNAL, SIGCONT);
    }
}

void job_open_panes(struct job *job)
{
    char window[64] = "";

    if (job->plan->debug == NULL || job->plan->commands != NULL) {
        return;
    }
    tree_be_busy(job, true);
    for (int r = 0; r < job->plan->ranks; r++) {
        char *command;

        if (!plan_is_debugged(job->plan, r)) {
            continue;
        }
        command = command_of(job, r);
        if (!is_reached(job, r)) {
            give_up(job, r, "hosts that ssh does not reach need --debug-commands FILE");
        } else if ((window[0] == '\0' || !add_pane(command, window)) &&
                   !open_window(command, window, sizeof(window))) {
            give_up(job, r, "tmux opens no window");
        }
        free(command);
        tree_show_life(job);
    }
    tree_be_busy(job, false);
    if (getenv("TMUX") == NULL && window[0] != '\0') {
        job_say(job, "the debuggers are in tmux: tmux attach -t weft-%d", getppid());
    }
}
