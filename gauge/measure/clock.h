/*
 * clock.h - the real clock: the processor's counter where it can be trusted.
 *
 * The counter's rate is measured against the monotonic clock when it is opened, twice,
 * and the whole run is held against that clock again when it ends. Where the processor
 * does not promise a constant rate, or the two measurements differ, clock_gettime is
 * read instead. One timer per process; it is copied by fork.
 */
#ifndef GAUGE_CLOCK_H
#define GAUGE_CLOCK_H

#include "gauge/module.h"

struct gauge_timer {
    struct gauge_clock clock; /* its state points to this timer */
    double period;            /* nanoseconds a tick */
    double cost;              /* nanoseconds to read it once */
    double resolution;        /* smallest step seen, nanoseconds */
    uint64_t first_tick;
    uint64_t first_time; /* monotonic, nanoseconds */
    const char *why;     /* why the counter is not used, or NULL */
};

/* The largest share by which counter and monotonic clock may differ. A clock that is
 * being adjusted to the right time may run 500 ppm off. */
#define GAUGE_CLOCK_TOLERANCE 1e-3

void gauge_timer_open(struct gauge_timer *timer);
/* How far the counter has drifted from the monotonic clock since opening, as a share. */
double gauge_timer_drift(const struct gauge_timer *timer);

uint64_t gauge_monotonic(void); /* nanoseconds */

#endif
