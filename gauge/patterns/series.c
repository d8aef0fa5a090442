/*
 * series.c - see series.h.
 */
#include "gauge/patterns/series.h"

#include <stdlib.h>

bool series_add(struct series *series, double nanoseconds)
{
    if (series->count == series->room) {
        size_t room = series->room == 0 ? 1024 : 2 * series->room;
        double *grown = realloc(series->value, room * sizeof(*grown));

        if (grown == NULL) {
            gauge_fail("no memory for %zu values", room);
            return false;
        }
        series->value = grown;
        series->room = room;
    }
    series->value[series->count++] = nanoseconds;
    return true;
}

void series_clear(struct series *series)
{
    series->count = 0;
}

void series_free(struct series *series)
{
    free(series->value);
    *series = (struct series){0};
}

enum gauge_rc series_report(struct gauge_bench *bench, const struct series *series,
                            struct gauge_point point, struct gauge_summary *summary)
{
    struct gauge_round round;
    bool is_first = true;
    enum gauge_rc rc = GAUGE_OK;

    /* One is enough for the core: all are handed over in the first round. */
    point.is_single = true;
    point.least = 1;
    point.most = 1;
    rc = gauge_point_open(bench, &point);
    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        for (size_t i = 0; is_first && i < series->count; i++) {
            gauge_sample(bench, series->value[i]);
        }
        is_first = false;
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, summary) : rc;
}
