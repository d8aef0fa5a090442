/*
 * limits.h - what a cgroup leaves of a host to this process: a container's share.
 *
 * The limits of the process's own cgroup count, and those of all cgroups above it that
 * can be seen; the tightest one is told. Version 1 and version 2 are read, also where
 * both are there. In a container the path of a cgroup may be the host's, while the
 * mounted tree begins at the container: then the way up ends at what is mounted. Without
 * /proc or /sys nothing is known, which looks like no limit.
 *
 * `root` is in front of all paths: "", or a test's folder.
 */
#ifndef WEFT_WIREUP_LIMITS_H
#define WEFT_WIREUP_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* Processor time: processors in a thousandth of one; false: no limit. */
bool weft_limit_processors(const char *root, uint64_t *thousandths);

/* Bytes of memory; false: no limit. */
bool weft_limit_memory(const char *root, uint64_t *bytes);

/* Processes and threads: how many there may be, and are now; false: no limit. */
bool weft_limit_processes(const char *root, uint64_t *most, uint64_t *now);

/* How many of `count` processors can be busy at once: at least 1. */
uint32_t weft_limit_busy(const char *root, uint32_t count);

#endif
