#include "wireup/machine.h"

#include "wireup/backing.h"
#include "wireup/limits.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_BYTES = 512, OF_A_RANK = 2, OF_MPIEXEC = 3 };

struct to {
    weft_machine_say *say;
    void *context;
};

static void say(const struct to *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct to *to, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    to->say(to->context, line);
}

/* ---- what there is ---- */

static void look_at_processors(const struct to *to)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    uint64_t thousandths;
    char time[64] = "";
    char allowed[64] = "";

    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) < online) {
        snprintf(allowed, sizeof(allowed), "%d of ", CPU_COUNT(&set));
    }
    if (weft_limit_processors("", &thousandths)) {
        snprintf(time, sizeof(time), ", and time of %.2g by the cgroup",
                 (double)thousandths / 1000);
    }
    say(to, "%s%ld processors%s%s", allowed, online,
        allowed[0] != '\0' ? " by the cgroup or the affinity" : "", time);
    if (time[0] != '\0') {
        say(to, "processor time is limited (cpu.max): who has used up its share stands "
                "still until the next period, mostly 0.1 s long");
    }
}

static void look_at_memory(const struct to *to)
{
    uint64_t bytes;

    if (weft_limit_memory("", &bytes)) {
        say(to,
            "memory: %.4g MiB by the cgroup; messages that wait, and all that ranks "
            "share, count",
            (double)bytes / (1 << 20));
    }
}

static void look_at_processes(const struct to *to)
{
    struct rlimit limit;
    uint64_t most;
    uint64_t now;

    if (weft_limit_processes("", &most, &now)) {
        say(to,
            "processes: %llu by the cgroup (pids.max), %llu are there; mpiexec needs %d, "
            "a rank %d, or 3 with a network",
            (unsigned long long)most, (unsigned long long)now, OF_MPIEXEC, OF_A_RANK);
    }
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur < 1024) {
        say(to,
            "processes: %llu of this user (ulimit -u); mpiexec needs %d, a rank %d, or 3 "
            "with a network",
            (unsigned long long)limit.rlim_cur, OF_MPIEXEC, OF_A_RANK);
    }
}

/* ---- what one process may do to another ---- */

static uint64_t word; /* at the same address in both children */

/* Waits to be looked at, until it is killed. */
static _Noreturn void be_looked_at(int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* as ranks do, for Yama */
    word = 0x77656674;
    if (write(ready, "", 1) == 1) {
        for (;;) {
            pause();
        }
    }
    _exit(1);
}

/* Does to the process what is asked; the exit code is errno, or 0. */
static _Noreturn void look(pid_t at, bool is_ptrace)
{
    uint64_t seen = 0;
    const struct iovec ours = {&seen, sizeof(seen)};
    const struct iovec theirs = {&word, sizeof(word)};

    if (is_ptrace) {
        _exit(ptrace(PTRACE_SEIZE, at, NULL, NULL) == 0 ? 0 : errno & 0x7f);
    }
    if (process_vm_readv(at, &ours, 1, &theirs, 1, 0) != (ssize_t)sizeof(seen) ||
        process_vm_writev(at, &ours, 1, &theirs, 1, 0) != (ssize_t)sizeof(seen)) {
        _exit(errno & 0x7f);
    }
    _exit(0);
}

/* Returns errno of a child that tries it, or 0; -1: it could not be tried. */
static int try_it(pid_t other, bool is_ptrace)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        look(other, is_ptrace);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
}

/* "no process_vm_readv (Operation not permitted)". */
static const char *reason(int error, char *text, size_t size)
{
    snprintf(text, size, "%s%s", strerror(error),
             error == ENOSYS || error == EPERM ? ": a seccomp filter, or Yama" : "");
    return text;
}

/* True: a process may copy from and to memory of another one. */
static bool look_at_reach(const struct to *to)
{
    bool can_copy = false;
    char why[128];
    int ends[2];
    char byte;
    pid_t other;
    int error;

    if (pipe(ends) != 0) {
        return false;
    }
    other = fork();
    if (other == 0) {
        close(ends[0]);
        be_looked_at(ends[1]);
    }
    close(ends[1]);
    if (other > 0 && read(ends[0], &byte, 1) == 1) {
        error = try_it(other, false);
        can_copy = error == 0;
        if (error > 0) {
            say(to,
                "no process_vm_readv (%s): long messages inside the host are copied "
                "twice, through the segment, and not once",
                reason(error, why, sizeof(why)));
        }
        error = try_it(other, true);
        if (error > 0) {
            say(to,
                "no ptrace (%s): --hang-stacks shows no stacks, and debuggers cannot "
                "attach",
                reason(error, why, sizeof(why)));
        }
    }
    close(ends[0]);
    if (other > 0) {
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    return can_copy;
}

/* ---- system calls and folders ---- */

static void look_at_segment(const struct to *to)
{
    const char *place;
    const int fd = weft_backing_open(UINT64_C(8) << 20, &place);

    if (fd >= 0 && !weft_backing_is_named(place)) {
        close(fd);
        return;
    }
    if (fd >= 0) {
        say(to,
            "no memfd_create: what ranks share is a file without a name in %s, and each "
            "rank takes 4.2 MiB of it at once",
            place);
        close(fd);
    } else {
        say(to, "no memfd_create, and no room in %s (%s): no job can start", place,
            strerror(errno));
    }
}

static void look_at_barrier(const struct to *to)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0) < 0) {
        say(to,
            "no membarrier (%s): a rank that sleeps in MPI wakes up every millisecond "
            "and "
            "looks for itself",
            strerror(errno));
    }
}

static void look_at_folders(const struct to *to)
{
    struct statvfs st;
    char target[32];
    const ssize_t n = readlink("/proc/self", target, sizeof(target) - 1);

    target[n > 0 ? n : 0] = '\0';
    if (atoi(target) != (int)getpid()) {
        say(to,
            "%s: if mpiexec is killed with -9, processes that ranks have started are "
            "left; no stacks, no memory killer and no cgroup are told of",
            access("/proc/self", F_OK) == 0 ? "/proc is of another PID namespace"
                                            : "no /proc");
    }
    if (access("/sys/devices/system/cpu", F_OK) != 0) {
        say(to, "no /sys: ranks are spread over processors without a look at cores, "
                "sockets and caches, and interfaces without their speeds");
    }
    if (statvfs("/dev/shm", &st) != 0 || access("/dev/shm", W_OK) != 0) {
        say(to, "no /dev/shm to write to: only under other launchers (hydra, srun), "
                "ranks with a network namespace each are hosts of their own");
    }
}

bool weft_machine_look(weft_machine_say *to_say, void *context)
{
    const struct to to = {to_say, context};
    bool can_copy;

    look_at_processors(&to);
    look_at_memory(&to);
    look_at_processes(&to);
    can_copy = look_at_reach(&to);
    look_at_segment(&to);
    look_at_barrier(&to);
    look_at_folders(&to);
    return can_copy;
}
