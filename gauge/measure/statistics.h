/*
 * statistics.h - what a list of times says: median with its interval, and how far to
 * trust it. Pure functions of their arguments; nothing here allocates for long.
 *
 * The interval is that of order statistics at 95 %: ranks floor((n - 1.96 sqrt n) / 2)
 * and ceil(1 + (n + 1.96 sqrt n) / 2) from 70 samples on, the exact binomial ranks below,
 * and none below 6. It assumes no distribution, only samples that do not depend on each
 * other; where neighbours do, their block medians take their place.
 */
#ifndef GAUGE_STATISTICS_H
#define GAUGE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct gauge_summary {
    size_t count;    /* samples kept, after the warm-up */
    size_t warm_up;  /* samples dropped at the start */
    size_t block;    /* 1, or how many neighbours one block median stands for */
    size_t outliers; /* further from the quartiles than three times their distance */
    double lag_one;  /* correlation of neighbours before blocks were made */
    double minimum;  /* nanoseconds, as all below */
    double median;
    double low, high; /* interval of the median; not a number below 6 samples */
    double p99, p999; /* not a number below 100 and 1000 samples */
    double maximum;
    double mean; /* for cost, and for rates: bytes / mean is their harmonic mean */
};

/* Width of the interval over the median; infinite where there is no interval. */
double gauge_summary_width(const struct gauge_summary *summary);

/* Ranks of the interval, from 1, of n sorted samples; false below 6. */
bool gauge_interval_ranks(size_t n, size_t *low, size_t *high);

/* How many samples at the start are warm-up: a multiple of the block length of 10. */
size_t gauge_warm_up(const double *samples, size_t count);

double gauge_lag_one(const double *samples, size_t count);

/* Of samples in the order they were taken, warm-up included; false: no memory. */
bool gauge_summarise(const double *samples, size_t count, struct gauge_summary *out);

/* The median of a few values that do not depend on each other, with its interval; not a
 * number where there is none. Values that are not finite do not count. */
struct gauge_estimate {
    double value, low, high;
};
struct gauge_estimate gauge_estimate(const double *values, size_t count);

/* A quantile in 0 .. 1 of sorted values: the smallest that is not below that share. */
double gauge_quantile(const double *sorted, size_t count, double share);

void gauge_sort(double *values, size_t count);

#endif
