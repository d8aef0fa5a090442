#include "wireup/limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, LINES_BYTES = 8192 };

static const uint64_t NONE = UINT64_C(1) << 60; /* version 1's number for "no limit" */

/* Reads the limit that a cgroup has for itself, if its folder has one. */
typedef void read_limit(const char *folder, uint64_t limit[2]);

/* ---- files ---- */

static bool read_text(const char *folder, const char *name, char *text, size_t size)
{
    char path[PATH_BYTES + 64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The number in a file; false: there is none, or it says "max", or -1. */
static bool read_number(const char *folder, const char *name, uint64_t *out)
{
    char text[64];
    char *end;

    if (!read_text(folder, name, text, sizeof(text)) || text[0] == '-') {
        return false;
    }
    *out = strtoull(text, &end, 10);
    return end != text && *out < NONE;
}

/* ---- limits of one cgroup ---- */

static void read_processors(const char *folder, uint64_t limit[2])
{
    unsigned long long quota;
    unsigned long long period;
    uint64_t first;
    uint64_t each;
    char text[64];

    if (read_text(folder, "cpu.max", text, sizeof(text))) {
        if (sscanf(text, "%llu %llu", &quota, &period) != 2) {
            return;
        }
        first = quota;
        each = period;
    } else if (!read_number(folder, "cpu.cfs_quota_us", &first) ||
               !read_number(folder, "cpu.cfs_period_us", &each)) {
        return;
    }
    if (each > 0 && first < NONE / 1000 && first * 1000 / each < limit[0]) {
        limit[0] = first * 1000 / each;
    }
}

static void read_memory(const char *folder, uint64_t limit[2])
{
    uint64_t here;

    if ((read_number(folder, "memory.max", &here) ||
         read_number(folder, "memory.limit_in_bytes", &here)) &&
        here < limit[0]) {
        limit[0] = here;
    }
}

/* The tightest is where the fewest are left. */
static void read_processes(const char *folder, uint64_t limit[2])
{
    uint64_t most;
    uint64_t now;

    if (read_number(folder, "pids.max", &most) &&
        read_number(folder, "pids.current", &now) &&
        (limit[0] == NONE || (int64_t)(most - now) < (int64_t)(limit[0] - limit[1]))) {
        limit[0] = most;
        limit[1] = now;
    }
}

/* ---- the way up ---- */

/* Reads a cgroup and all above it; `top` is where its tree is mounted. */
static void climb(const char *top, const char *group, read_limit *read_one,
                  uint64_t limit[2])
{
    char folder[PATH_BYTES];
    char *slash;

    snprintf(folder, sizeof(folder), "%.200s%.700s", top,
             strcmp(group, "/") == 0 ? "" : group);
    while (strlen(folder) >= strlen(top)) {
        read_one(folder, limit);
        slash = strrchr(folder, '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; at != NULL && *at != '\0';) {
        const size_t n = strcspn(at, ",");

        if (n == length && strncmp(at, word, n) == 0) {
            return true;
        }
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return false;
}

/* A line of /proc/self/cgroup: "4:cpu,cpuacct:/path", or "0::/path" of version 2. */
static void read_line(const char *root, char *line, const char *controller,
                      read_limit *read_one, uint64_t limit[2])
{
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    char top[PATH_BYTES];

    if (group == NULL) {
        return;
    }
    controllers++;
    *group++ = '\0';
    if (controllers[0] == '\0') {
        snprintf(top, sizeof(top), "%s/sys/fs/cgroup", root);
        climb(top, group, read_one, limit);
        snprintf(top, sizeof(top), "%s/sys/fs/cgroup/unified", root);
        climb(top, group, read_one, limit);
    } else if (has_word(controllers, controller)) {
        snprintf(top, sizeof(top), "%s/sys/fs/cgroup/%s", root, controller);
        if (access(top, F_OK) != 0) {
            snprintf(top, sizeof(top), "%s/sys/fs/cgroup/%s", root, controllers);
        }
        climb(top, group, read_one, limit);
    }
}

static bool find(const char *root, const char *controller, read_limit *read_one,
                 uint64_t limit[2])
{
    char path[PATH_BYTES];
    char text[LINES_BYTES];
    char *rest = text;
    char *line;

    limit[0] = NONE;
    limit[1] = 0;
    snprintf(path, sizeof(path), "%s/proc/self", root);
    if (!read_text(path, "cgroup", text, sizeof(text))) {
        return false;
    }
    while ((line = strsep(&rest, "\n")) != NULL) {
        read_line(root, line, controller, read_one, limit);
    }
    return limit[0] < NONE;
}

/* ---- what is offered ---- */

bool weft_limit_processors(const char *root, uint64_t *thousandths)
{
    uint64_t limit[2];
    const bool is_found = find(root, "cpu", read_processors, limit);

    *thousandths = limit[0];
    return is_found;
}

bool weft_limit_memory(const char *root, uint64_t *bytes)
{
    uint64_t limit[2];
    const bool is_found = find(root, "memory", read_memory, limit);

    *bytes = limit[0];
    return is_found;
}

bool weft_limit_processes(const char *root, uint64_t *most, uint64_t *now)
{
    uint64_t limit[2];
    const bool is_found = find(root, "pids", read_processes, limit);

    *most = limit[0];
    *now = limit[1];
    return is_found;
}

uint32_t weft_limit_busy(const char *root, uint32_t count)
{
    uint64_t thousandths;

    if (!weft_limit_processors(root, &thousandths) ||
        thousandths / 1000 >= (uint64_t)count) {
        return count;
    }
    return thousandths < 1000 ? 1 : (uint32_t)(thousandths / 1000);
}
