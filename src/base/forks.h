/*
 * forks.h - notices that the process has forked.
 *
 * Counts calls of fork() since weft_forks_open(). A child is told from the process that
 * opened: what the library holds at devices or peers belongs to the parent, and the child
 * must neither use nor release it. system(), posix_spawn() and vfork() do not count: they
 * do not share pages with a copy of the program.
 *
 * All functions are thread safe and need no lock.
 */
#ifndef WEFT_BASE_FORKS_H
#define WEFT_BASE_FORKS_H

#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

/* At each initialisation: this process is no child from now on. If it fails, forks are
 * not noticed. */
WEFT_MUST_CHECK enum weft_rc weft_forks_open(void);

/* How often this process has forked. Grows in the parent, after the fork. */
uint64_t weft_forks_count(void);

/* Was this process forked from the one that called weft_forks_open()? */
bool weft_forks_is_child(void);

#endif
