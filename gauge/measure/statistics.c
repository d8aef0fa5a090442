/*
 * statistics.c - see statistics.h for what is computed and under which assumption.
 */
#include "gauge/measure/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_BLOCK = 10, LEAST_FOR_INTERVAL = 6, EXACT_BELOW = 70, LEAST_BLOCKS = 12 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

void gauge_sort(double *values, size_t count)
{
    if (count > 1) {
        qsort(values, count, sizeof(*values), compare);
    }
}

/* The largest rank k for which P(Binomial(n, 1/2) < k) is at most 2.5 %. */
static size_t exact_rank(size_t n)
{
    double term = pow(0.5, (double)n); /* P(X = 0) */
    double sum = 0;
    size_t k = 0;

    while (k < n && sum + term <= 0.025) {
        sum += term;
        term = term * (double)(n - k) / (double)(k + 1);
        k++;
    }
    return k;
}

bool gauge_interval_ranks(size_t n, size_t *low, size_t *high)
{
    if (n < LEAST_FOR_INTERVAL) {
        return false;
    }
    if (n < EXACT_BELOW) {
        *low = exact_rank(n);
        *high = n + 1 - *low;
        return true;
    }
    *low = (size_t)floor(((double)n - 1.96 * sqrt((double)n)) / 2);
    *high = (size_t)ceil(1 + ((double)n + 1.96 * sqrt((double)n)) / 2);
    return true;
}

double gauge_quantile(const double *sorted, size_t count, double share)
{
    size_t rank = (size_t)ceil(share * (double)count);

    if (count == 0) {
        return NAN;
    }
    return sorted[rank == 0 ? 0 : rank - 1];
}

static double median_of_sorted(const double *sorted, size_t count)
{
    if (count == 0) {
        return NAN;
    }
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* Median and interval of a short block, sorted in place of a copy. */
static void judge_block(const double *samples, double *median, double *low, double *high)
{
    double sorted[WARM_BLOCK];
    size_t from = 0;
    size_t to = 0;

    memcpy(sorted, samples, sizeof(sorted));
    gauge_sort(sorted, WARM_BLOCK);
    gauge_interval_ranks(WARM_BLOCK, &from, &to);
    *median = median_of_sorted(sorted, WARM_BLOCK);
    *low = sorted[from - 1];
    *high = sorted[to - 1];
}

/* Two blocks agree when each one's median lies in the other's interval. */
static bool agree(const double *one, const double *two)
{
    double m1, l1, h1, m2, l2, h2;

    judge_block(one, &m1, &l1, &h1);
    judge_block(two, &m2, &l2, &h2);
    return m1 >= l2 && m1 <= h2 && m2 >= l1 && m2 <= h1;
}

size_t gauge_warm_up(const double *samples, size_t count)
{
    size_t most = count / 2; /* a run that never settles keeps its second half */

    for (size_t at = 0; at + 2 * WARM_BLOCK <= count && at <= most; at += WARM_BLOCK) {
        if (agree(samples + at, samples + at + WARM_BLOCK)) {
            return at;
        }
    }
    return count < 2 * WARM_BLOCK ? 0 : most / WARM_BLOCK * WARM_BLOCK;
}

double gauge_lag_one(const double *samples, size_t count)
{
    double mean = 0;
    double variance = 0;
    double product = 0;

    for (size_t i = 0; i < count; i++) {
        mean += samples[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double here = samples[i] - mean;

        variance += here * here;
        if (i + 1 < count) {
            product += here * (samples[i + 1] - mean);
        }
    }
    /* Rounding of equal samples is not correlation. */
    if (variance <= (double)count * mean * mean * 1e-24) {
        return 0;
    }
    return product / variance;
}

/*
 * Ranks in place of values: a single detour of a thousand times the median would hide
 * any correlation of the rest. Equal samples get the middle of their ranks.
 */
struct ranked {
    double value;
    size_t place;
};

static int compare_ranked(const void *a, const void *b)
{
    return compare(&((const struct ranked *)a)->value,
                   &((const struct ranked *)b)->value);
}

static bool ranks_of(const double *samples, size_t count, double *ranks)
{
    struct ranked *sorted = malloc(count * sizeof(*sorted));

    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = (struct ranked){samples[i], i};
    }
    qsort(sorted, count, sizeof(*sorted), compare_ranked);
    for (size_t i = 0; i < count;) {
        size_t same = i + 1;

        while (same < count && sorted[same].value <= sorted[i].value) {
            same++;
        }
        for (size_t j = i; j < same; j++) {
            ranks[sorted[j].place] = (double)(i + same - 1) / 2;
        }
        i = same;
    }
    free(sorted);
    return true;
}

/* Chance alone gives a correlation of 2 / sqrt n now and then; 0.1 counts above that. */
static bool is_correlated(double lag_one, size_t count)
{
    return lag_one > fmax(0.1, 2 / sqrt((double)count));
}

/*
 * Block medians of the longest of 3, 9, 27 ... neighbours needed. Odd lengths, because
 * the median of an odd block is as often above as below the true median, whatever the
 * distribution. `values` is overwritten; the result is how many are left.
 */
static size_t make_blocks(double *values, size_t count, double *scratch, size_t *block)
{
    *block = 1;
    for (;;) {
        if (!ranks_of(values, count, scratch) ||
            !is_correlated(gauge_lag_one(scratch, count), count) ||
            count / 3 < LEAST_BLOCKS) {
            return count;
        }
        for (size_t i = 0; i < count / 3; i++) {
            gauge_sort(values + 3 * i, 3);
            values[i] = values[3 * i + 1];
        }
        count /= 3;
        *block *= 3;
    }
}

static void judge_all(const double *sorted, size_t count, struct gauge_summary *out)
{
    double quarter = gauge_quantile(sorted, count, 0.25);
    double three = gauge_quantile(sorted, count, 0.75);
    double reach = 3 * (three - quarter);

    out->minimum = sorted[0];
    out->maximum = sorted[count - 1];
    out->p99 = count >= 100 ? gauge_quantile(sorted, count, 0.99) : NAN;
    out->p999 = count >= 1000 ? gauge_quantile(sorted, count, 0.999) : NAN;
    out->mean = 0;
    for (size_t i = 0; i < count; i++) {
        out->mean += sorted[i] / (double)count;
        if (sorted[i] < quarter - reach || sorted[i] > three + reach) {
            out->outliers++;
        }
    }
}

static void judge_middle(const double *sorted, size_t count, struct gauge_summary *out)
{
    size_t from = 0;
    size_t to = 0;

    out->median = median_of_sorted(sorted, count);
    out->low = NAN;
    out->high = NAN;
    if (gauge_interval_ranks(count, &from, &to)) {
        out->low = sorted[from - 1];
        out->high = sorted[to - 1];
    }
}

bool gauge_summarise(const double *samples, size_t count, struct gauge_summary *out)
{
    double *values = NULL;
    double *scratch = NULL;
    size_t warm_up = gauge_warm_up(samples, count);
    size_t left = count - warm_up;

    *out = (struct gauge_summary){.block = 1, .warm_up = warm_up, .count = left};
    out->minimum = out->median = out->low = out->high = NAN;
    out->p99 = out->p999 = out->maximum = out->mean = NAN;
    if (left == 0) {
        return true;
    }
    values = malloc(left * sizeof(*values));
    scratch = malloc(left * sizeof(*scratch));
    if (values != NULL && scratch != NULL) {
        memcpy(values, samples + warm_up, left * sizeof(*values));
        if (ranks_of(values, left, scratch)) {
            out->lag_one = gauge_lag_one(scratch, left);
        }
        left = make_blocks(values, left, scratch, &out->block);
        gauge_sort(values, left);
        judge_middle(values, left, out);
        memcpy(scratch, samples + warm_up, out->count * sizeof(*scratch));
        gauge_sort(scratch, out->count);
        judge_all(scratch, out->count, out);
    }
    free(values);
    free(scratch);
    return !isnan(out->median);
}

double gauge_summary_width(const struct gauge_summary *summary)
{
    if (isnan(summary->low) || summary->count == 0) {
        return INFINITY;
    }
    if (summary->high <= summary->low) {
        return 0;
    }
    return (summary->high - summary->low) / fabs(summary->median);
}

struct gauge_estimate gauge_estimate(const double *values, size_t count)
{
    struct gauge_estimate out = {NAN, NAN, NAN};
    double *sorted = calloc(count + 1, sizeof(*sorted));
    size_t known = 0;
    size_t low = 0;
    size_t high = 0;

    for (size_t i = 0; sorted != NULL && i < count; i++) {
        if (isfinite(values[i])) {
            sorted[known++] = values[i];
        }
    }
    if (known > 0) {
        gauge_sort(sorted, known);
        out.value = median_of_sorted(sorted, known);
        if (gauge_interval_ranks(known, &low, &high)) {
            out.low = sorted[low - 1];
            out.high = sorted[high - 1];
        }
    }
    free(sorted);
    return out;
}
