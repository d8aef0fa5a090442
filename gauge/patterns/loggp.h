/*
 * loggp.h - between the measuring (loggp.c) and the fitting (loggp_fit.c) of LogGP.
 */
#ifndef GAUGE_LOGGP_H
#define GAUGE_LOGGP_H

#include "gauge/pattern.h"

/* L is half a round trip less both overheads, so the round trip must be known better
 * than they are. */
#define LOGGP_ROUND_TRIP_WIDTH 0.005

/* What was measured at one size: the medians of each turn, in nanoseconds. All but the
 * first are the parameter itself. */
struct loggp_size {
    size_t size;
    double delay;                     /* between messages where overheads are wanted */
    double send_pause, receive_pause; /* how long the pauses of the ends really are */
    double round_trip[GAUGE_TURNS];   /* PRTT(1, 0, s) */
    double gap[GAUGE_TURNS];          /* with n messages */
    double short_gap[GAUGE_TURNS];    /* with n / 4 */
    double send[GAUGE_TURNS];         /* o_s */
    double receive[GAUGE_TURNS];      /* o_r */
};

/* Fits and reports the results, of sizes in ascending order. */
void loggp_report(struct gauge_bench *bench, const struct loggp_size *sizes, size_t count,
                  int turns);

#endif
