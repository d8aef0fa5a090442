/*
 * job.h - the keeper's work: starts the ranks, serves them, ends them.
 *
 * The job is a table of states (states.c): what has happened and the state it happens in
 * give what is done and the next state. One event loop feeds it: ends of processes,
 * output, PMI-1, the front's signals, and the clock.
 */
#ifndef WEFT_LAUNCH_JOB_H
#define WEFT_LAUNCH_JOB_H

#include "plan.h"

/*
 * Runs the job and returns its exit code. `front` is the reading end of the pipe from the
 * front: each byte is the number of a signal, its end means that the front is gone.
 */
int job_run(const struct plan *plan, int front);

/* Runs a daemon, which reads its job from standard input, and returns its exit code. */
int job_serve(int front);

#endif
