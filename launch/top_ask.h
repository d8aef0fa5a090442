/*
 * top_ask.h - weft-top's end of the socket of a job (top.h): which jobs there are, and
 * one answer.
 *
 * Every user of the host can listen at a socket of such a name. So nothing is taken from
 * a socket that another user listens at, unless root asks; what is taken has a bound in
 * bytes and in time, and holds nothing that a terminal would obey.
 */
#ifndef WEFT_LAUNCH_TOP_ASK_H
#define WEFT_LAUNCH_TOP_ASK_H

#include "bytes.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
    TOP_JOBS_MOST = 64,
    TOP_BYTES_MOST = 1 << 20, /* of an answer; the rest is left out */
    TOP_PATIENCE_MS = 15000,  /* mpiexec waits four seconds for its hosts */
};

struct top_job {
    int pid; /* of mpiexec */
    uid_t user;
};

/* The jobs that this user may ask, at most TOP_JOBS_MOST; returns how many there are. */
int top_find_jobs(struct top_job *jobs);

enum top_result {
    TOP_TOLD,
    TOP_NO_JOB, /* of this user, or it has ended, or its ranks do not run yet */
    TOP_SILENT, /* it does not answer in time: it is busy with other askers, or stopped */
};

/* One report, in place of what `text` holds. */
enum top_result top_ask(int pid, bool has_stacks, struct bytes *text);

/* Replaces what a terminal may take for orders: all control characters but the line end,
 * and what is not UTF-8. */
void top_make_printable(char *text, size_t bytes);

#endif
