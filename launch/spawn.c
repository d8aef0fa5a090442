/*
 * spawn.c - see spawn.h. A rank is made by vfork: the parent waits until the child has
 * become the program, which is the fastest way to start many, and lets the child say in
 * the parent's memory what went wrong. Between vfork and exec the child only makes system
 * calls; everything else is prepared before.
 */
#include "spawn.h"

#include "claims.h"
#include "guard.h"

#include "base/flush.h"
#include "base/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static struct rlimit limit_before;
static bool is_limit_raised;

void spawn_raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit_before = limit;
        limit.rlim_cur = limit.rlim_max;
        is_limit_raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
    }
}

static bool has_name(const char *entry, const char *name)
{
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* What another launcher, or another job of ours, has left; it would mislead the ranks. */
static bool is_of_launcher(const char *entry)
{
    static const char *const names[] = {"WEFT_JOB",        "WEFT_INSIDE",
                                        WEFT_STDOUT,       "WEFT_NETWORKS",
                                        "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (has_name(entry, names[i])) {
            return true;
        }
    }
    return strncmp(entry, "PMI_", 4) == 0 || strncmp(entry, "PMIX_", 5) == 0;
}

static bool is_kept(const struct plan *plan, const char *entry)
{
    if (!plan->has_empty_environment) {
        return true;
    }
    for (int i = 0; i < plan->keep.count; i++) {
        if (has_name(entry, plan->keep.at[i])) {
            return true;
        }
    }
    return false;
}

/* Adds NAME=VALUE, in the place of an earlier one of that name. */
static void set(struct list *list, char *entry)
{
    size_t length = strcspn(entry, "=") + 1;

    for (int i = 0; i < list->count; i++) {
        if (strncmp(list->at[i], entry, length) == 0) {
            list->at[i] = entry;
            return;
        }
    }
    list_add(list, entry);
}

/* Adds NAME=VALUE, unless the variable is there already. */
static void offer(struct list *list, char *entry)
{
    const size_t length = strcspn(entry, "=") + 1;

    for (int i = 0; i < list->count; i++) {
        if (strncmp(list->at[i], entry, length) == 0) {
            return;
        }
    }
    list_add(list, entry);
}

/* What files of settings say, where our environment does not: also with -envnone. */
static void add_offered(struct list *list)
{
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        const char *text = weft_setting_offered((enum weft_setting)i);
        char *entry;

        if (text != NULL &&
            asprintf(&entry, "%s=%s", weft_setting_row((enum weft_setting)i)->name,
                     text) >= 0) {
            list_add(list, entry); /* lives as long as the process */
        }
    }
}

void environment_open(struct environment *environment, const struct plan *plan)
{
    struct list *common = &environment->common;

    memset(environment, 0, sizeof(*environment));
    for (char **e = environ; *e != NULL; e++) {
        if (!is_of_launcher(*e) && is_kept(plan, *e)) {
            list_add(common, *e);
        }
    }
    add_offered(common);
    for (int i = 0; i < plan->set.count; i++) {
        set(common, plan->set.at[i]);
    }
    /* libfabric's oldest provider would otherwise catch the ranks' signals. */
    set(common, "IPATH_NO_BACKTRACE=1");
    /* Python would hold its output back, because it is a pipe. It has no line mode. */
    offer(common, "PYTHONUNBUFFERED=1");
}

void environment_set(struct environment *environment, char *entry)
{
    set(&environment->common, entry);
}

void environment_close(struct environment *environment)
{
    free(environment->common.at);
    memset(environment, 0, sizeof(*environment));
}

/* What differs from rank to rank. */
struct own {
    char job[64];
    char fd[32];
    char rank[32];
    char size[32];
    char local_rank[48];
    char local_size[48];
    char bound[64];
    char output[64];
};

/* Names the pipe that is the rank's standard output (src/base/flush.h). */
static void add_output(const struct birth *b, struct own *own, struct list *list)
{
    struct stat pipe;

    if (fstat(b->output, &pipe) == 0) {
        snprintf(own->output, sizeof(own->output), WEFT_STDOUT "=%llu",
                 (unsigned long long)pipe.st_ino);
        list_add(list, own->output);
    }
}

static char **make_environment(const struct birth *b, struct own *own, struct list *list)
{
    for (int i = 0; i < b->environment->common.count; i++) {
        list_add(list, b->environment->common.at[i]);
    }
    for (int i = 0; i < b->app->set.count; i++) {
        set(list, b->app->set.at[i]);
    }
    snprintf(own->job, sizeof(own->job), "WEFT_JOB=%d %d %d", b->segment, b->rank,
             b->pmi);
    snprintf(own->fd, sizeof(own->fd), "PMI_FD=%d", b->pmi);
    snprintf(own->rank, sizeof(own->rank), "PMI_RANK=%d", b->rank);
    snprintf(own->size, sizeof(own->size), "PMI_SIZE=%d", b->size);
    snprintf(own->local_rank, sizeof(own->local_rank), "MPI_LOCALRANKID=%d",
             b->local_rank);
    snprintf(own->local_size, sizeof(own->local_size), "MPI_LOCALNRANKS=%d",
             b->local_size);
    if (b->processors != NULL) {
        snprintf(own->bound, sizeof(own->bound), CLAIMS_SCOPE "=%d.%d", (int)getpid(),
                 b->rank);
        set(list, own->bound);
    }
    set(list, guard_mark());
    list_add(list, own->job);
    list_add(list, own->fd);
    list_add(list, own->rank);
    list_add(list, own->size);
    list_add(list, own->local_rank);
    list_add(list, own->local_size);
    add_output(b, own, list);
    return list->at;
}

void spawn_reset_signals(void)
{
    static const int used[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                               SIGTSTP, SIGCONT, SIGPIPE, SIGCHLD, SIGTTIN, SIGTTOU};
    sigset_t none;

    for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
        signal(used[i], SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The beginning of an ELF file, up to its machine. */
struct elf_begin {
    unsigned char magic[4];
    unsigned char bits;
    unsigned char order;
    unsigned char rest[10];
    uint16_t type;
    uint16_t machine;
};

static bool read_begin(const char *path, struct elf_begin *begin)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, begin, sizeof(*begin));

    if (fd >= 0) {
        close(fd);
    }
    return n == (ssize_t)sizeof(*begin) && memcmp(begin->magic, "\177ELF", 4) == 0;
}

/* Is it a program for another kind of processor than this one? */
static bool is_for_other_machine(const char *path)
{
    struct elf_begin theirs;
    struct elf_begin ours;

    return strchr(path, '/') != NULL && read_begin(path, &theirs) &&
           read_begin("/proc/self/exe", &ours) && theirs.bits == ours.bits &&
           (theirs.order != ours.order || theirs.machine != ours.machine);
}

/* The child's whole life before it becomes the program; returns only on failure. */
static void become(const struct birth *b, char **env, volatile struct stillborn *why)
{
    why->step = "be started";
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a second net below the keeper's */
    if (is_limit_raised) {
        setrlimit(RLIMIT_NOFILE, &limit_before);
    }
    if (b->processors != NULL) {
        sched_setaffinity(0, sizeof(*b->processors), b->processors);
    }
    fcntl(b->segment, F_SETFD, 0);
    fcntl(b->pmi, F_SETFD, 0);
    /* Where one of ours is already in its place, dup2 would leave it close-on-exec. */
    if ((b->input == 0 ? fcntl(0, F_SETFD, 0) : dup2(b->input, 0)) < 0 ||
        dup2(b->output, 1) < 0 || dup2(b->error, 2) < 0) {
        why->error = errno;
        return;
    }
    if (b->app->wdir != NULL && chdir(b->app->wdir) != 0) {
        why->step = "enter ";
        why->object = b->app->wdir;
        why->error = errno;
        return;
    }
    spawn_reset_signals();
    if (b->is_held) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            why->step = "be held for a debugger";
            why->error = errno;
            return;
        }
    }
    if (is_for_other_machine(b->app->argv[0])) {
        why->error = ENOEXEC; /* execvpe would take it for a script */
        return;
    }
    execvpe(b->app->argv[0], b->app->argv, env);
    why->error = errno;
}

/*
 * A process that has asked to be traced stops when it has become the program, before its
 * first instruction. We let it go with SIGSTOP, so that it stays there as any stopped
 * process does: a debugger can take it over, and SIGCONT sets it free. A SIGCONT that
 * comes before the stop undoes it, so none is lost.
 */
static void hold(pid_t pid)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    ptrace(PTRACE_DETACH, pid, NULL, (void *)(uintptr_t)SIGSTOP);
}

pid_t spawn_rank(const struct birth *birth, struct stillborn *why)
{
    volatile struct stillborn result = {.step = "", .object = "", .error = 0};
    struct list list = {NULL, 0};
    struct own own;
    char **env = make_environment(birth, &own, &list);
    pid_t pid = vfork();

    if (pid == 0) {
        become(birth, env, &result);
        _exit(127);
    }
    free(list.at);
    if (pid < 0) {
        result.step = "be started";
        result.error = errno;
    }
    if (result.error != 0) {
        why->step = result.step;
        why->object = result.object;
        why->error = result.error;
        return -1; /* a child that was made is reaped with the others */
    }
    if (birth->is_held) {
        hold(pid);
    }
    return pid;
}
