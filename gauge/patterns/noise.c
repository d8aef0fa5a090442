/*
 * noise.c - what else the processors do: fixed work that sometimes takes longer, and
 * detours, moments in which this process was not at work.
 *
 * No messages are sent. All ends measure at the same time, because so do the programs
 * that suffer from it.
 */
#include "gauge/patterns/series.h"
#include "gauge/patterns/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEP = 50 };

static struct gauge_option options[] = {
    {"work", GAUGE_NUMBER, "10000", "NS", "length of one piece of work"},
    {"pieces", GAUGE_COUNT, "10000", "N", "of work that are timed, while time lasts"},
    {"threshold", GAUGE_NUMBER, "1000", "NS", "what is longer is a detour"},
    {"span", GAUGE_NUMBER, "0.2", "SECONDS", "in which detours are looked for"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

/* The detours of this end, in their order. */
struct record {
    struct series length;
    struct series gap; /* from the start of the one before */
    double away;       /* sum of all lengths */
    double span;       /* that was watched */
};

static void put(struct gauge_bench *bench, const char *name, const char *unit, int end,
                double value)
{
    char note[GAUGE_NAME];
    struct gauge_result result = {
        .name = name, .unit = unit, .value = value, .note = note};

    snprintf(note, sizeof(note), "of end %d", end);
    gauge_result(bench, &result);
}

static enum gauge_rc fixed_work(struct gauge_bench *bench, double speed)
{
    double length = gauge_option_number(bench->options, "work");
    int pieces = (int)gauge_option_bytes(bench->options, "pieces");
    unsigned long loops = work_loops(speed, length);
    struct gauge_point point = {
        .name = "work",
        .key = {{"work_ns", length}},
        .is_single = true,
        .least = pieces,
        .most = pieces,
    };
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(bench, &point);

    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        for (int i = 0; i < round.samples; i++) {
            double start = gauge_now(bench);

            gauge_work(bench, loops);
            gauge_sample(bench, gauge_now(bench) - start);
        }
    }
    if (rc == GAUGE_OK) {
        rc = gauge_point_close(bench, NULL);
    }
    for (int i = 0; rc == GAUGE_OK && bench->end == 0 && i < bench->ends; i++) {
        const struct gauge_summary *of = &gauge_summaries(bench)[i];

        put(bench, "noise", "ratio", i, 1 - of->minimum / of->mean);
    }
    return rc;
}

/* Short steps of work; one that takes longer than all but the shortest was interrupted.
 */
static bool watch(struct gauge_bench *bench, double speed, struct record *record)
{
    double threshold = gauge_option_number(bench->options, "threshold");
    unsigned long loops = work_loops(speed, STEP);
    double start = gauge_now(bench);
    double end = start + gauge_option_number(bench->options, "span") * 1e9;
    double last = start;
    double shortest = INFINITY;
    double before = start;

    while (last < end) {
        double now = 0;
        double step = 0;

        gauge_work(bench, loops);
        now = gauge_now(bench);
        step = now - last;
        shortest = fmin(shortest, step);
        if (step - shortest > threshold) {
            record->away += step - shortest;
            if (!series_add(&record->length, step - shortest) ||
                !series_add(&record->gap, last - before)) {
                return false;
            }
            before = last;
        }
        last = now;
    }
    record->span = last - start;
    return true;
}

static enum gauge_rc report(struct gauge_bench *bench, const struct record *record)
{
    double mine[] = {(double)record->length.count / record->span * 1e9,
                     record->away / record->span};
    double(*all)[2] = calloc((size_t)bench->ends, sizeof(*all));
    enum gauge_rc rc = all != NULL ? gauge_exchange(bench, mine, sizeof(mine), all)
                                   : gauge_fail("noise: no memory");

    for (int i = 0; rc == GAUGE_OK && i < bench->ends; i++) {
        put(bench, "detours", "per_second", i, all[i][0]);
        put(bench, "away", "ratio", i, all[i][1]);
    }
    free(all);
    return rc;
}

static enum gauge_rc detours(struct gauge_bench *bench, double speed)
{
    double threshold = gauge_option_number(bench->options, "threshold");
    struct gauge_point length = {.name = "detour", .key = {{"threshold_ns", threshold}}};
    struct gauge_point gap = {.name = "detour_gap", .key = {{"threshold_ns", threshold}}};
    struct record record = {0};
    enum gauge_rc rc = gauge_barrier(bench);

    if (rc == GAUGE_OK && !watch(bench, speed, &record)) {
        rc = GAUGE_FAILED;
    }
    if (rc == GAUGE_OK) {
        rc = series_report(bench, &record.length, length, NULL);
    }
    if (rc == GAUGE_OK) {
        rc = series_report(bench, &record.gap, gap, NULL);
    }
    if (rc == GAUGE_OK) {
        rc = report(bench, &record);
    }
    series_free(&record.length);
    series_free(&record.gap);
    return rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    double speed = work_speed(bench);
    enum gauge_rc rc = fixed_work(bench, speed);

    return rc == GAUGE_OK ? detours(bench, speed) : rc;
}

const struct gauge_pattern gauge_noise = {
    .name = "noise",
    .description = "what else the processors do: fixed work, and detours",
    .method =
        "Every end does the same work N times, without messages. The shortest time is\n"
        "undisturbed work, so the share of time that went elsewhere is\n"
        "    noise = 1 - N T_min / sum T_i\n"
        "Then it works in short steps and reads the clock after each. A step that takes\n"
        "longer than the shortest by more than the threshold is a detour; its length is "
        "what\n"
        "it took beyond the shortest, detour_gap the time from the start of one to that "
        "of\n"
        "the next, and the samples in the output are the record of both, in order.\n"
        "    away = sum of lengths / time watched\n",
    .least_ends = 1,
    .options = options,
    .benchmark = benchmark,
};
