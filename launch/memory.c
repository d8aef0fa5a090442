#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files of the kernel ---- */

/* Reads the beginning of a file; false: there is none. */
static bool read_file(const char *path, char *text, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t count = 0;
    ssize_t n = 0;

    while (fd >= 0 && count + 1 < size &&
           (n = read(fd, text + count, size - 1 - count)) > 0) {
        count += (size_t)n;
    }
    if (fd >= 0) {
        close(fd);
    }
    text[count] = '\0';
    return fd >= 0;
}

/* The number behind a word that begins a line; false: there is none. */
static bool find_number(const char *path, const char *word, uint64_t *out)
{
    static char text[32 * 1024]; /* /proc/vmstat has some 5 KiB */
    const size_t length = strlen(word);
    const char *line = read_file(path, text, sizeof(text)) ? text : NULL;

    while (line != NULL) {
        if (strncmp(line, word, length) == 0 && line[length] == ' ') {
            *out = strtoull(line + length, NULL, 10);
            return true;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return false;
}

/* A file that holds one number; false: there is none, or it says "max". */
static bool read_number(const char *folder, const char *name, uint64_t *out)
{
    char path[MEMORY_PATH + 64];
    char text[64];
    char *end;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!read_file(path, text, sizeof(text))) {
        return false;
    }
    *out = strtoull(text, &end, 10);
    return end != text;
}

/* ---- cgroups ---- */

/* Does the folder count what the memory killer has done? */
static bool kills_of(const char *folder, uint64_t *out)
{
    char path[MEMORY_PATH + 64];

    snprintf(path, sizeof(path), "%s/memory.events", folder);
    if (find_number(path, "oom_kill", out)) {
        return true;
    }
    snprintf(path, sizeof(path), "%s/memory.oom_control", folder);
    return find_number(path, "oom_kill", out);
}

/*
 * The folder of a cgroup by its path. In a container the path may be that of the host,
 * whereas the container sees its own cgroup at the top.
 */
static bool find_folder(const char *root, const char *path, bool is_second, char *folder)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup",
                                         "/sys/fs/cgroup/unified"};
    const size_t first = is_second ? 1 : 0;
    const size_t end = is_second ? 3 : 1;
    uint64_t ignored;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = first; i < end; i++) {
            snprintf(folder, MEMORY_PATH, "%.100s%s%.350s", root, mounts[i],
                     pass == 0 ? path : "");
            if (kills_of(folder, &ignored)) {
                return true;
            }
        }
    }
    folder[0] = '\0';
    return false;
}

/*
 * The folder of a process's cgroup that has the memory controller. A line of
 * /proc/PID/cgroup has a number, the controllers and the path; the number is 0 and the
 * controllers are empty in version 2.
 */
static bool folder_of(const char *root, const char *process, bool is_own, char *folder)
{
    char path[MEMORY_PATH];
    char text[4096];
    char *line;
    char *rest = text;

    snprintf(path, sizeof(path), "%.100s/proc/%.40s/cgroup", root, process);
    if (!read_file(path, text, sizeof(text))) {
        return false;
    }
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        char *deleted = strstr(line, " (deleted)");
        bool is_second; /* version of cgroups */

        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        if (deleted != NULL) {
            *deleted = '\0';
        }
        is_second = strcmp(controllers, ":") == 0;
        if ((is_second || (is_own && strcmp(controllers, ":memory") == 0)) &&
            find_folder(root, strcmp(group, "/") == 0 ? "" : group, is_second, folder)) {
            return true;
        }
    }
    return false;
}

/* ---- words ---- */

/* The tightest limit of a cgroup and those above it, and what was used there at most. */
static bool find_limit(const char *root, const char *group, uint64_t *limit,
                       uint64_t *peak)
{
    const uint64_t none = UINT64_C(1) << 60; /* version 1 has a number for "no limit" */
    char folder[MEMORY_PATH];
    char *end;

    *limit = none;
    *peak = 0;
    snprintf(folder, sizeof(folder), "%s", group);
    while ((end = strrchr(folder, '/')) != NULL &&
           strlen(folder) > strlen(root) + strlen("/sys/fs/cgroup") - 1) {
        uint64_t here;
        uint64_t used;

        if ((read_number(folder, "memory.max", &here) ||
             read_number(folder, "memory.limit_in_bytes", &here)) &&
            here < *limit) {
            *limit = here;
            *peak = read_number(folder, "memory.peak", &used) ||
                            read_number(folder, "memory.max_usage_in_bytes", &used)
                        ? used
                        : 0;
        }
        *end = '\0';
    }
    return *limit < none;
}

/* Not more digits than say something: 32, and 31.2. */
static void print_number(char *text, size_t size, double number)
{
    snprintf(text, size, "%.1f", number);
    if (strlen(text) > 2 && strcmp(text + strlen(text) - 2, ".0") == 0) {
        text[strlen(text) - 2] = '\0';
    }
}

static void describe(const char *root, const char *group, char *text, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    uint64_t limit;
    uint64_t peak;
    double unit = 1;
    char of[32];
    char used[32];
    int u = 0;

    if (!find_limit(root, group, &limit, &peak)) {
        snprintf(text, size, "killed by the memory killer (signal 9, Killed)");
        return;
    }
    while (u < 4 && (double)limit >= unit * 1024) {
        unit *= 1024;
        u++;
    }
    print_number(of, sizeof(of), (double)limit / unit);
    print_number(used, sizeof(used), (double)peak / unit);
    if (peak == 0) { /* Linux before 5.19 does not say it in version 2 */
        snprintf(text, size, "killed by the memory killer: its cgroup may use %s %s", of,
                 units[u]);
    } else {
        snprintf(text, size, "killed by the memory killer, peak %s %s of %s", used,
                 units[u], of);
    }
}

/* ---- what is offered ---- */

static uint64_t host_kills(const char *root)
{
    char path[MEMORY_PATH];
    uint64_t kills = 0;

    snprintf(path, sizeof(path), "%.100s/proc/vmstat", root);
    return find_number(path, "oom_kill", &kills) ? kills : 0;
}

void memory_open(struct memory *memory, const char *root)
{
    memset(memory, 0, sizeof(*memory));
    memory->root = root;
    if (!folder_of(root, "self", true, memory->own) ||
        !kills_of(memory->own, &memory->own_kills)) {
        memory->own[0] = '\0';
    }
    memory->host_kills = host_kills(root);
}

bool memory_has_killed(struct memory *memory, pid_t pid, char *text, size_t size)
{
    const uint64_t host_before = memory->host_kills;
    uint64_t before = 0;
    uint64_t kills = 0;
    char process[32];
    char folder[MEMORY_PATH];

    if (memory->root == NULL) {
        return false; /* nothing was noted before */
    }
    memory->host_kills = host_kills(memory->root);
    snprintf(process, sizeof(process), "%d", (int)pid);
    if (!folder_of(memory->root, process, false, folder)) {
        snprintf(folder, sizeof(folder), "%s", memory->own);
    }
    if (strcmp(folder, memory->own) == 0) {
        before = memory->own_kills;
    }
    if (folder[0] != '\0' && kills_of(folder, &kills) && kills > before) {
        memory->own_kills =
            before != 0 || strcmp(folder, memory->own) == 0 ? kills : memory->own_kills;
        describe(memory->root, folder, text, size);
        return true;
    }
    if (memory->host_kills > host_before) {
        snprintf(text, size,
                 "killed by signal 9, Killed: perhaps by the memory killer, which has "
                 "killed %s on this host since the job began",
                 memory->host_kills == host_before + 1 ? "a process" : "processes");
        return true;
    }
    return false;
}
