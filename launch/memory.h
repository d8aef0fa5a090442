/*
 * memory.h - has the kernel's memory killer ended a rank?
 *
 * The kernel counts its kills: those in a cgroup in the files of the cgroup, all of them
 * in /proc/vmstat. A rank that SIGKILL has ended was killed so if the count of its cgroup
 * has grown since the last look. A rank whose cgroup has not counted it was perhaps
 * killed so, if the count of the host has grown.
 *
 * Version 2 of cgroups is looked for in /sys/fs/cgroup and /sys/fs/cgroup/unified,
 * version 1 in /sys/fs/cgroup/memory. The kernel says of a zombie in which cgroup of
 * version 2 it was, but not of version 1; there it is the launcher's own cgroup.
 */
#ifndef WEFT_LAUNCH_MEMORY_H
#define WEFT_LAUNCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MEMORY_PATH = 512 };

/* What was seen at the last look. */
struct memory {
    const char *root;      /* "", or the folder that has `proc` and `sys`, for tests */
    char own[MEMORY_PATH]; /* the folder of our own cgroup; empty: none */
    uint64_t own_kills;    /* that were counted in it */
    uint64_t host_kills;
};

/* Notes the counts before ranks start. */
void memory_open(struct memory *memory, const char *root);

/*
 * SIGKILL has ended this process, which is a zombie still: was it the memory killer? Then
 * `text` says so, as "killed by the memory killer, peak 31.2 GiB of 32" or "perhaps ...".
 */
bool memory_has_killed(struct memory *memory, pid_t pid, char *text, size_t size);

#endif
