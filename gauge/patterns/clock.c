/*
 * clock.c - what the clocks cost, how fine they are, and how they run against each other.
 *
 * End 0 asks another end for its time and notes when it asked and when it knew. At some
 * moment between the two the other clock showed that time, so the offset lies in
 * [t - s2, t - s1]. The intervals of a burst are intersected. Bursts are spread over some
 * time; a straight line through their middles is the offset and the drift.
 *
 * Every bound here is certain, not likely, as long as a clock runs evenly: the line is a
 * weighted sum of the middles, so its error is at most the sum of the weights' amounts
 * times the half widths. The last burst is not fitted but foretold, as a check.
 */
#include "gauge/patterns/buffers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BURST = 20, MOST_BURSTS = 200, LEAST_BURSTS = 4, READS = 10000 };

static struct gauge_option options[] = {
    {"bursts", GAUGE_COUNT, "20", "N", "of 20 exchanges each, 4 to 200"},
    {"span", GAUGE_NUMBER, "0.2", "SECONDS", "over which the bursts are spread"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

struct burst {
    double from, to;  /* on end 0's clock */
    double low, high; /* of the offset */
    int exchanges;
};

struct side {
    struct gauge_bench *bench;
    struct buffers buffers;
    int peer;
    int wanted;   /* bursts, with the one that is foretold */
    double pause; /* before a burst, ns */
    struct burst burst[MOST_BURSTS + 1];
    int begun; /* bursts */
};

/* offset + drift * (time - middle), on end 0's clock */
struct line {
    double middle, offset, drift;
    double drift_bound;
};

/* One end's own clock */

static enum gauge_rc measure_cost(struct gauge_bench *bench)
{
    struct gauge_point point = {.name = "timer_cost"};
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(bench, &point);

    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        for (int i = 0; i < round.samples; i++) {
            double start = gauge_now(bench);
            double end = start;

            for (int k = 0; k < round.batch; k++) {
                end = gauge_now(bench);
            }
            gauge_sample(bench, end - start);
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, NULL) : rc;
}

static double smallest_step(struct gauge_bench *bench)
{
    double smallest = INFINITY;
    double last = gauge_now(bench);

    for (int i = 0; i < READS; i++) {
        double now = gauge_now(bench);

        if (now > last) {
            smallest = fmin(smallest, now - last);
        }
        last = now;
    }
    return smallest;
}

static enum gauge_rc measure_resolution(struct gauge_bench *bench)
{
    double mine = smallest_step(bench);
    double *all = calloc((size_t)bench->ends, sizeof(*all));
    enum gauge_rc rc = all != NULL ? gauge_exchange(bench, &mine, sizeof(mine), all)
                                   : gauge_fail("clock: no memory");

    for (int i = 0; rc == GAUGE_OK && i < bench->ends; i++) {
        char note[GAUGE_NAME + 16];
        struct gauge_result result = {
            .name = "resolution", .unit = "ns", .value = all[i], .note = note};

        snprintf(note, sizeof(note), "smallest step of end %d", i);
        gauge_result(bench, &result);
    }
    free(all);
    return rc;
}

/* Two clocks */

static void keep(struct side *side, double asked, double knew, double theirs)
{
    struct burst *burst = &side->burst[side->begun - 1];

    if (burst->exchanges == 0) {
        *burst = (struct burst){.from = asked, .low = -INFINITY, .high = INFINITY};
    }
    burst->to = knew;
    burst->low = fmax(burst->low, theirs - knew);
    burst->high = fmin(burst->high, theirs - asked);
    burst->exchanges++;
}

static enum gauge_rc ask(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    double asked = 0;
    double knew = 0;
    double theirs = 0;
    enum gauge_rc rc = GAUGE_OK;

    if (side->begun == 0 ||
        (side->burst[side->begun - 1].exchanges == BURST && side->begun < side->wanted)) {
        gauge_pass(bench, side->begun > 0 ? side->pause : 0);
        side->burst[side->begun++].exchanges = 0;
    }
    asked = gauge_now(bench);
    rc = gauge_send(bench, side->peer, side->buffers.out, 0);
    if (rc == GAUGE_OK) {
        rc = gauge_receive(bench, side->peer, side->buffers.in, sizeof(theirs));
    }
    knew = gauge_now(bench);
    if (rc == GAUGE_OK) {
        memcpy(&theirs, side->buffers.in, sizeof(theirs));
        keep(side, asked, knew, theirs);
        gauge_sample(bench, knew - asked);
    }
    return rc;
}

static enum gauge_rc tell(struct side *side)
{
    enum gauge_rc rc = gauge_receive(side->bench, 0, side->buffers.in, 0);
    double now = gauge_now(side->bench);

    memcpy(side->buffers.out, &now, sizeof(now));
    return rc == GAUGE_OK ? gauge_send(side->bench, 0, side->buffers.out, sizeof(now))
                          : rc;
}

static enum gauge_rc exchange(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    struct gauge_point point = {
        .name = "round_trip",
        .size = sizeof(double),
        .key = {{"peer", side->peer}},
        .is_single = true,
        .least = side->wanted * BURST,
        .most = side->wanted * BURST,
    };
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(bench, &point);

    side->begun = 0;
    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        for (int i = 0; rc == GAUGE_OK && i < round.samples; i++) {
            if (bench->end == 0) {
                rc = ask(side);
            } else if (bench->end == side->peer) {
                rc = tell(side);
            }
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, NULL) : rc;
}

static double middle_of(const struct burst *burst)
{
    return (burst->from + burst->to) / 2;
}

static double offset_of(const struct burst *burst)
{
    return (burst->low + burst->high) / 2;
}

/* The offset moves during a burst, too: by so much at most from its middle. */
static double half_of(const struct burst *burst, const struct line *line)
{
    double drift = fabs(line->drift) + line->drift_bound;

    return (burst->high - burst->low) / 2 + drift * (burst->to - burst->from) / 2;
}

static double spread_of(const struct burst *burst, int count, double middle)
{
    double sum = 0;

    for (int i = 0; i < count; i++) {
        sum += pow(middle_of(&burst[i]) - middle, 2);
    }
    return sum;
}

static struct line fit(const struct burst *burst, int count)
{
    struct line line = {0};
    double spread = 0;
    double bound = 0;

    for (int i = 0; i < count; i++) {
        line.middle += middle_of(&burst[i]) / count;
        line.offset += offset_of(&burst[i]) / count;
    }
    spread = spread_of(burst, count, line.middle);
    for (int i = 0; i < count; i++) {
        double x = middle_of(&burst[i]) - line.middle;

        line.drift += x * (offset_of(&burst[i]) - line.offset) / spread;
    }
    for (int i = 0; i < count; i++) {
        bound += fabs(middle_of(&burst[i]) - line.middle) * half_of(&burst[i], &line);
    }
    line.drift_bound = bound / spread;
    return line;
}

/* How wrong the line may be at a time. */
static double bound_at(const struct line *line, const struct burst *burst, int count,
                       double time)
{
    double spread = spread_of(burst, count, line->middle);
    double bound = 0;

    for (int i = 0; i < count; i++) {
        double x = middle_of(&burst[i]) - line->middle;

        bound += fabs(1.0 / count + x * (time - line->middle) / spread) *
                 half_of(&burst[i], line);
    }
    return bound;
}

static void put(struct side *side, const char *name, const char *unit, double value,
                double half, const char *remark)
{
    char note[120];
    struct gauge_result result = {
        .name = name,
        .unit = unit,
        .value = value,
        .low = value - half,
        .high = value + half,
        .note = note,
    };

    snprintf(note, sizeof(note), "end %d against end 0%s%s", side->peer,
             remark != NULL ? ": " : "", remark != NULL ? remark : "");
    gauge_result(side->bench, &result);
}

static void report(struct side *side)
{
    int fitted = side->begun - 1;
    const struct burst *last = &side->burst[fitted];
    struct line line;
    double foretold = 0;
    double bound = 0;
    double residual = 0;

    if (fitted < LEAST_BURSTS) {
        put(side, "offset", "ns", offset_of(last), (last->high - last->low) / 2,
            "no drift, the time was too short");
        return;
    }
    line = fit(side->burst, fitted);
    foretold = line.offset + line.drift * (middle_of(last) - line.middle);
    residual = offset_of(last) - foretold;
    bound = bound_at(&line, side->burst, fitted, middle_of(last)) + half_of(last, &line);
    put(side, "offset", "ns", line.offset,
        bound_at(&line, side->burst, fitted, line.middle), NULL);
    put(side, "offset_time", "ns", line.middle, 0, "when the offset was so");
    put(side, "drift", "ppm", line.drift * 1e6, line.drift_bound * 1e6, NULL);
    put(side, "residual", "ns", residual, 0,
        fabs(residual) <= bound ? NULL : "beyond its bound, a clock did not run evenly");
    put(side, "residual_bound", "ns", bound, 0, NULL);
}

static enum gauge_rc measure_own(struct gauge_bench *bench)
{
    enum gauge_rc rc = GAUGE_OK;

    if (bench->clock->is_virtual) {
        return GAUGE_OK; /* it does not pass while it is read */
    }
    rc = measure_cost(bench);
    return rc == GAUGE_OK ? measure_resolution(bench) : rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    static struct side side; /* its bursts are many */
    size_t bursts = gauge_option_bytes(bench->options, "bursts");
    enum gauge_rc rc = GAUGE_OK;

    if (bursts < LEAST_BURSTS || bursts > MOST_BURSTS) {
        return gauge_fail("clock: --bursts is %d to %d", LEAST_BURSTS, MOST_BURSTS);
    }
    side.bench = bench;
    side.wanted = (int)bursts + 1;
    side.pause = gauge_option_number(bench->options, "span") * 1e9 / (double)bursts;
    rc = buffers_open(bench, &side.buffers, sizeof(double), sizeof(double), "clock");
    if (rc != GAUGE_OK) {
        return rc;
    }
    rc = measure_own(bench);
    for (side.peer = 1; rc == GAUGE_OK && side.peer < bench->ends; side.peer++) {
        rc = exchange(&side);
        if (rc == GAUGE_OK && bench->end == 0) {
            report(&side);
        }
    }
    buffers_close(bench, &side.buffers);
    return rc;
}

const struct gauge_pattern gauge_clock_pattern = {
    .name = "clock",
    .description = "cost and resolution of the clocks, offset and drift between ends",
    .method =
        "timer_cost is the time from one reading to the next, resolution the smallest "
        "step\n"
        "seen. Then end 0 reads s1, asks another end for its time t, and reads s2 when "
        "it\n"
        "knows. The other clock is ahead by offset, which lies in [t - s2, t - s1]; the\n"
        "intervals of a burst of 20 are intersected. Through the middles y_k of the "
        "bursts\n"
        "at times x_k goes the line of least squares:\n"
        "    offset(x) = mean(y) + drift (x - mean(x))\n"
        "    drift     = sum (x_k - mean(x)) y_k / sum (x_k - mean(x))^2\n"
        "Both are sums of the y_k with known weights, so the bound of their error, the "
        "sum\n"
        "of |weight| times half width, is certain as long as the clocks run evenly. The "
        "last\n"
        "burst is not fitted: residual is how far it lies from the line, and\n"
        "residual_bound how far it may.\n",
    .needs = GAUGE_RELIABLE | GAUGE_CHANNEL,
    .least_ends = 1,
    .options = options,
    .benchmark = benchmark,
};
