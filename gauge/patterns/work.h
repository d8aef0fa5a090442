/*
 * work.h - how much work fits into a time, for patterns that work while they talk.
 */
#ifndef GAUGE_WORK_H
#define GAUGE_WORK_H

#include "gauge/pattern.h"

/* Loops of gauge_work() per nanosecond on this end, undisturbed: the fastest of some
 * tries. */
double work_speed(struct gauge_bench *bench);

/* At least one loop. */
unsigned long work_loops(double speed, double nanoseconds);

#endif
