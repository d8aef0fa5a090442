/*
 * notice.h - what the keeper tells the front: who the ranks are, and that the job fails.
 *
 * A debugger knows mpiexec as the process that the user has started, which is the front
 * (main.c), so what it reads there must get there (mpir.h). Keeper and front share a file
 * in memory, to which the keeper adds notices, each followed by a signal. Neither ever
 * waits for the other, and the length of a notice does not matter. Without that file,
 * debuggers find no ranks, and nothing else is different.
 */
#ifndef WEFT_LAUNCH_NOTICE_H
#define WEFT_LAUNCH_NOTICE_H

#include "bytes.h"

#include <stdint.h>

enum notice_kind {
    NOTICE_RANKS = 1, /* numbers: ranks, hosts, programs; for each rank its process id,
                         host and program; texts: names of the hosts, paths of programs */
    NOTICE_ABORT,     /* the job fails: the cause, without a zero */
};

/* By the front, before there is a keeper. */
void notice_open(void);

/* The signal that comes with a notice; the front waits for it. */
int notice_signal(void);

/* By the keeper. */
void notice_send(enum notice_kind kind, const void *payload, size_t bytes);

/* By the front: the next notice, if there is one; `payload` is emptied before. */
bool notice_take(enum notice_kind *kind, struct bytes *payload);

#endif
