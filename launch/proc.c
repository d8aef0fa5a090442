#include "proc.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads a file of /proc/PID; false: there is none. */
static bool read_file(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
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

static bool is_in_mask(const char *text, const char *name, int signal)
{
    const char *line = strstr(text, name);

    return line != NULL &&
           (strtoull(line + strlen(name), NULL, 16) >> (signal - 1) & 1) != 0;
}

/* While a thread waits for signals by sigwait(), the kernel does not show that they are
 * blocked. */
static bool is_in_sigwait(pid_t pid)
{
    char text[256];

    return read_file(pid, "syscall", text, sizeof(text)) &&
           atol(text) == SYS_rt_sigtimedwait;
}

bool proc_survives(pid_t pid, int signal)
{
    char text[4096];

    if (is_in_sigwait(pid)) {
        return true;
    }
    return read_file(pid, "status", text, sizeof(text)) &&
           (is_in_mask(text, "SigBlk:", signal) || is_in_mask(text, "SigIgn:", signal) ||
            is_in_mask(text, "SigCgt:", signal));
}
