#include "keeper.h"

#include "proc.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct process {
    pid_t pid;
    pid_t parent;
    bool is_ours;
};

struct processes {
    struct process *at;
    size_t count;
    size_t room;
};

enum { SPARED_MOST = 64, PID_MOST = 4194304 /* the kernel's own bound */ };

static struct {
    pid_t at[SPARED_MOST];
    int count;
} spared;

void keeper_spare(int pid)
{
    if (spared.count < SPARED_MOST) {
        spared.at[spared.count++] = pid;
    }
}

void keeper_spare_none(void)
{
    spared.count = 0;
}

static bool is_spared(pid_t pid)
{
    for (int i = 0; i < spared.count; i++) {
        if (spared.at[i] == pid) {
            return true;
        }
    }
    return false;
}

void keeper_adopt_orphans(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool add(struct processes *all, pid_t pid, pid_t parent)
{
    if (all->count == all->room) {
        size_t room = all->room == 0 ? 256 : 2 * all->room;
        struct process *grown = realloc(all->at, room * sizeof(*grown));

        if (grown == NULL) {
            return false; /* the next round gets further */
        }
        all->at = grown;
        all->room = room;
    }
    all->at[all->count++] = (struct process){
        .pid = pid,
        .parent = parent,
        .is_ours = false,
    };
    return true;
}

static void read_proc(struct processes *all)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const pid_t pid = (pid_t)atoi(entry->d_name); /* 0: it is no process */
        struct proc_stat stat;

        if (pid <= 0) {
            continue;
        }
        stat = proc_stat(pid);
        if (stat.state != 0 && !add(all, pid, stat.parent)) {
            break;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* Adds those numbers from `first` to `last` that are children of ours. */
static void try_numbers(struct processes *all, pid_t first, pid_t last)
{
    for (pid_t pid = first; pid <= last; pid++) {
        siginfo_t info;

        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            !add(all, pid, getpid())) {
            return;
        }
    }
}

/*
 * Without /proc the kernel still says of a number whether it is a child of ours. Numbers
 * are given out in turn, so that those of our children lie between our own and the newest
 * one, which a process tells that is made for it. Only children are found; what they have
 * started becomes ours when they end, so that who kills gets to the bottom in rounds.
 */
static void read_children(struct processes *all)
{
    const pid_t own = getpid();
    const pid_t newest = fork();

    if (newest == 0) {
        _exit(0);
    }
    if (newest > 0) {
        waitpid(newest, NULL, 0);
    }
    if (newest > own) {
        try_numbers(all, own + 1, newest - 1);
    } else { /* they began anew, or there is no process to be had */
        try_numbers(all, own + 1, PID_MOST);
        try_numbers(all, 1, newest > 0 ? newest - 1 : own - 1);
    }
}

static void read_all(struct processes *all)
{
    all->count = 0;
    if (proc_is_ours()) {
        read_proc(all);
    } else {
        read_children(all);
    }
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_child_of_ours(const struct process *p, const struct processes *all)
{
    const struct process parent = {.pid = p->parent};
    const struct process *found;

    if (p->parent == getpid()) {
        return true;
    }
    found = bsearch(&parent, all->at, all->count, sizeof(parent), by_pid);
    return found != NULL && found->is_ours;
}

/* Marks the children of ours until there are no more. */
static void mark_descendants(struct processes *all)
{
    bool is_more = all->count > 0;

    if (is_more) {
        qsort(all->at, all->count, sizeof(*all->at), by_pid);
    }
    while (is_more) {
        is_more = false;
        for (size_t i = 0; i < all->count; i++) {
            struct process *p = &all->at[i];

            if (!p->is_ours && is_child_of_ours(p, all) && !is_spared(p->pid)) {
                p->is_ours = true;
                is_more = true;
            }
        }
    }
}

int keeper_signal_all(int signal)
{
    struct processes all = {NULL, 0, 0};
    int count = 0;

    read_all(&all);
    mark_descendants(&all);
    for (size_t i = 0; i < all.count; i++) {
        if (all.at[i].is_ours) {
            kill(all.at[i].pid, signal);
            count++;
        }
    }
    free(all.at);
    return count;
}

bool keeper_has_descendants(void)
{
    struct processes all = {NULL, 0, 0};
    bool has_some = false;

    read_all(&all);
    mark_descendants(&all);
    for (size_t i = 0; i < all.count; i++) {
        has_some |= all.at[i].is_ours;
    }
    free(all.at);
    return has_some;
}

bool keeper_sweep(void)
{
    const uint64_t end = weft_clock_ns() + UINT64_C(2000000000);
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};

    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);

        if (pid > 0 || (pid < 0 && errno == EINTR)) {
            continue;
        }
        if (pid < 0) {
            return true; /* no child, and so no descendant */
        }
        if (weft_clock_ns() > end) {
            return false;
        }
        if (keeper_signal_all(SIGKILL) == 0) {
            return true; /* those that are left are spared */
        }
        nanosleep(&pause, NULL); /* what was killed needs a moment to die */
    }
}
