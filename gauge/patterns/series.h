/*
 * series.h - values that a pattern has beside the samples of the point it measures, kept
 * until they become a point of their own.
 */
#ifndef GAUGE_SERIES_H
#define GAUGE_SERIES_H

#include "gauge/pattern.h"

struct series {
    double *value;
    size_t count, room;
};

/* false: no memory, reported. */
bool series_add(struct series *series, double nanoseconds);
void series_clear(struct series *series); /* keeps its room */
void series_free(struct series *series);

/* Makes them the samples of a point, all of them, on every end alike; an end may have
 * none. `summary` may be NULL. */
enum gauge_rc series_report(struct gauge_bench *bench, const struct series *series,
                            struct gauge_point point, struct gauge_summary *summary);

#endif
