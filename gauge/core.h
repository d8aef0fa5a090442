/*
 * core.h - the state of one run on one end, shared by bench.c and run.c alone.
 */
#ifndef GAUGE_CORE_H
#define GAUGE_CORE_H

#include "gauge/bench.h"

struct gauge_core {
    const struct gauge_pattern *pattern;
    const struct gauge_settings *settings;
    struct gauge_control *control;
    struct gauge_report *report;
    double timer_cost;
    size_t *sizes;
    size_t size_count;
    uint64_t random;
    uint64_t round;

    /* The open point. */
    struct gauge_point point;
    uint64_t opened; /* monotonic, nanoseconds */
    double *samples;
    size_t count, room;
    struct gauge_summary *summaries; /* of every end at the last point; on end 0 */
    uint64_t lost;
    int32_t batch;
    int32_t stop;
    bool is_calibrated;
    bool has_failed;
    uint64_t target; /* samples after the coming round; on end 0 */
    int empty;       /* rounds that brought nothing; on end 0 */
};

#endif
