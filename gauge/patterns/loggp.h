/*
 * loggp.h - between the measuring (loggp.c) and the fitting (loggp_fit.c) of LogGP.
 */
#ifndef GAUGE_LOGGP_H
#define GAUGE_LOGGP_H

#include "gauge/pattern.h"

/* L is half a round trip less both overheads, so the round trip must be known better
 * than they are. */
#define LOGGP_ROUND_TRIP_WIDTH 0.005

/* What was measured at one size. All but the first are the parameter itself. */
struct loggp_size {
    size_t size;
    struct gauge_summary round_trip; /* PRTT(1, 0, s) */
    struct gauge_summary gap;        /* with n messages */
    struct gauge_summary short_gap;  /* with n / 4 */
    struct gauge_summary send;       /* o_s */
    struct gauge_summary receive;    /* o_r */
};

/* Fits and reports the results, of sizes in ascending order. */
void loggp_report(struct gauge_bench *bench, const struct loggp_size *sizes, size_t count,
                  int messages);

#endif
