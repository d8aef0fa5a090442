/*
 * bench.h - the core behind pattern.h: points, rounds, and when enough is enough.
 *
 * One core per run and end. It stands on the control channel, which it uses between
 * rounds only, and hands finished points to the report, which end 0 alone has.
 */
#ifndef GAUGE_BENCH_H
#define GAUGE_BENCH_H

#include "gauge/measure/clock.h"
#include "gauge/pattern.h"
#include "gauge/report/report.h"
#include "gauge/start/control.h"

/* How to measure; the same on every end. */
struct gauge_settings {
    double width;   /* stop when the interval is this share of the median */
    double seconds; /* or after so long at a point */
    size_t most;    /* or after so many samples */
    bool is_verified;
    bool is_quiet; /* no live line */
    uint64_t seed;
    size_t *sizes; /* ascending; those the module cannot send are left out */
    size_t size_count;
};

/* Called on every end once the module is open; what it returns other than GAUGE_OK ends
 * the run. */
struct gauge_started {
    enum gauge_rc (*call)(void *arg);
    void *arg;
};

/* Runs a pattern on this end. `report` is NULL elsewhere than on end 0. The module is
 * initialised and shut down here. */
enum gauge_rc gauge_bench_run(const struct gauge_pattern *pattern,
                              struct gauge_module *module,
                              const struct gauge_settings *settings,
                              struct gauge_control *control, struct gauge_timer *timer,
                              struct gauge_report *report,
                              const struct gauge_started *started);

/* The same in parts, for who has several modules open at a time. The ends belong to the
 * caller and stay while a module is open. */
struct gauge_ends {
    struct gauge_world world; /* first: modules are handed this */
    struct gauge_control *control;
};
struct gauge_ends gauge_ends_make(struct gauge_control *control, uint64_t seed);
enum gauge_rc gauge_module_open(struct gauge_module *module,
                                const struct gauge_ends *ends);
/* `rc` is how the run went; see `Failure` in module.h. */
void gauge_module_close(struct gauge_module *module, enum gauge_rc rc);
enum gauge_rc gauge_pattern_run(const struct gauge_pattern *pattern,
                                struct gauge_module *module,
                                const struct gauge_settings *settings,
                                struct gauge_control *control, struct gauge_timer *timer,
                                struct gauge_report *report);

/* The next random number of a sequence. */
uint64_t gauge_mix(uint64_t *state);

bool gauge_is_verified(const struct gauge_bench *bench);

#endif
