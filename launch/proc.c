#include "proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads a file of /proc/PID; false: there is none. */
static bool read_file(pid_t pid, const char *name, char *text, size_t size)
{
    char path[96];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

struct proc_stat proc_stat(pid_t pid)
{
    struct proc_stat stat = {0};
    char text[512];
    const char *end;

    if (!read_file(pid, "stat", text, sizeof(text))) {
        return stat;
    }
    end = strrchr(text, ')'); /* its name may hold blanks and brackets */
    if (end == NULL ||
        sscanf(end + 1, " %c %d %d", &stat.state, &stat.parent, &stat.group) != 3) {
        stat.state = 0;
    }
    return stat;
}

/* "0" is a process that does not sleep, or one that we may not know of. */
static void read_function(pid_t pid, char *text, size_t size)
{
    if (!read_file(pid, "wchan", text, size) || strcmp(text, "0") == 0) {
        text[0] = '\0';
    }
}

void proc_describe_sleep(pid_t pid, char *text, size_t size)
{
    char function[64];
    char call[128] = "";
    char numbers[128];

    read_function(pid, function, sizeof(function));
    if (read_file(pid, "syscall", numbers, sizeof(numbers)) && numbers[0] >= '0' &&
        numbers[0] <= '9') {
        snprintf(call, sizeof(call), "system call %d", atoi(numbers));
    }
    text[0] = '\0';
    if (function[0] != '\0' || call[0] != '\0') {
        snprintf(text, size, " (%s%s%s%s)", function[0] != '\0' ? "in " : "", function,
                 function[0] != '\0' && call[0] != '\0' ? ", " : "", call);
    }
}

bool proc_is_ours(void)
{
    char target[32];
    const ssize_t n = readlink("/proc/self", target, sizeof(target) - 1);

    target[n > 0 ? n : 0] = '\0';
    return atoi(target) == (int)getpid();
}

static uint64_t read_mask(const char *text, const char *name)
{
    const char *line = strstr(text, name);

    return line != NULL ? strtoull(line + strlen(name), NULL, 16) : 0;
}

/* Calls `is_so` for each entry of a folder of /proc/PID until one is. */
static bool is_any(pid_t pid, const char *folder,
                   bool (*is_so)(pid_t pid, const char *entry))
{
    char path[96];
    const struct dirent *entry;
    bool found = false;
    DIR *entries;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, folder);
    entries = opendir(path);
    while (entries != NULL && !found && (entry = readdir(entries)) != NULL) {
        found = entry->d_name[0] != '.' && is_so(pid, entry->d_name);
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return found;
}

/* While a thread waits for signals by sigwait(), the kernel does not show that they are
 * blocked. */
static bool is_in_sigwait(pid_t pid, const char *thread)
{
    char name[64];
    char text[256];

    snprintf(name, sizeof(name), "task/%.32s/syscall", thread);
    return read_file(pid, name, text, sizeof(text)) && atol(text) == SYS_rt_sigtimedwait;
}

static bool is_signalfd(pid_t pid, const char *fd)
{
    static const char wanted[] = "anon_inode:[signalfd]";
    char path[96];
    char target[sizeof(wanted)];

    snprintf(path, sizeof(path), "/proc/%d/fd/%.32s", (int)pid, fd);
    return readlink(path, target, sizeof(target)) == (ssize_t)sizeof(wanted) - 1 &&
           memcmp(target, wanted, sizeof(wanted) - 1) == 0;
}

bool proc_survives(pid_t pid, int signal)
{
    const uint64_t bit = UINT64_C(1) << (signal - 1);
    const uint64_t all = 0x7fffffff & ~(UINT64_C(1) << (SIGKILL - 1)) &
                         ~(UINT64_C(1) << (SIGSTOP - 1)); /* what can be blocked */
    char text[4096];
    uint64_t blocked;

    if (!read_file(pid, "status", text, sizeof(text))) {
        return false;
    }
    blocked = read_mask(text, "SigBlk:");
    if (((read_mask(text, "SigIgn:") | read_mask(text, "SigCgt:")) & bit) != 0 ||
        ((blocked & bit) != 0 && (blocked & all) != all)) {
        return true;
    }
    return is_any(pid, "task", is_in_sigwait) || is_any(pid, "fd", is_signalfd);
}
