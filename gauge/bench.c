/*
 * bench.c - points and rounds.
 *
 * A point goes through rounds. The first finds out how long one operation takes, so that
 * short ones are timed in batches. The next takes n samples; then the interval is looked
 * at after 1.5 n, 2.25 n, ... samples, and only then, because looking more often would
 * stop at lucky moments. Between rounds every end gives its vote to end 0, which decides
 * for all. That exchange is also the barrier at which nobody sends any more.
 */
#include "gauge/bench.h"
#include "gauge/core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CALIBRATION = 8, FIRST = 40, LEAST = 6, MOST_BATCH = 100000, EMPTY_ROUNDS = 50 };

/* What an end thinks after a round. */
struct vote {
    uint64_t count;  /* samples it has */
    uint64_t lost;   /* operations lost */
    double shortest; /* operation, nanoseconds */
    double width;    /* of its interval; 0 when it takes no samples */
    double seconds;  /* at this point so far */
};

/* What end 0 makes of the votes. */
struct verdict {
    int32_t samples; /* 0: the point is finished */
    int32_t batch;
    int32_t stop;     /* index into stops */
    int32_t is_fresh; /* the samples until now were to find the batch: forget them */
};

static const char *const stops[] = {"width", "time", "samples", "lost"};
enum { STOP_WIDTH, STOP_TIME, STOP_SAMPLES, STOP_LOST };

bool gauge_is_verified(const struct gauge_bench *bench)
{
    return bench->core->settings->is_verified;
}

/* Random numbers and orders */

uint64_t gauge_mix(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t gauge_random(struct gauge_bench *bench)
{
    return gauge_mix(&bench->core->random);
}

void gauge_shuffle(struct gauge_bench *bench, size_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)(gauge_random(bench) % i);
        size_t kept = order[i - 1];

        order[i - 1] = order[other];
        order[other] = kept;
    }
}

const size_t *gauge_sizes(struct gauge_bench *bench, size_t *count)
{
    struct gauge_core *core = bench->core;

    gauge_shuffle(bench, core->sizes, core->size_count);
    *count = core->size_count;
    return core->sizes;
}

/* Points and rounds */

static double seconds_of(const struct gauge_core *core)
{
    return core->settings->seconds / (core->point.turns > 1 ? core->point.turns : 1);
}

/* An operation shorter than 100 readings of the clock is timed in batches. */
static int32_t choose_batch(const struct gauge_core *core, double shortest)
{
    double wanted = ceil(100 * core->timer_cost / fmax(shortest, 0.1));

    return (int32_t)fmin(fmax(wanted, 1), MOST_BATCH);
}

/* The live line: at once when a point is opened, then after each round. */
static void show_progress(const struct gauge_core *core, uint64_t samples, double width,
                          double seconds)
{
    if (core->report != NULL && !core->settings->is_quiet) {
        gauge_screen_progress(core->pattern->name, core->point.size, samples, width,
                              seconds_of(core) - seconds);
    }
}

enum gauge_rc gauge_point_open(struct gauge_bench *bench, const struct gauge_point *point)
{
    struct gauge_core *core = bench->core;

    core->point = *point;
    if (!(core->point.divide > 0)) {
        core->point.divide = 1;
    }
    core->opened = gauge_monotonic();
    core->count = 0;
    core->lost = 0;
    core->batch = 1;
    core->stop = STOP_WIDTH;
    core->is_calibrated =
        point->is_single || point->length > 0 || bench->clock->is_virtual;
    if (point->length > 0 && !bench->clock->is_virtual) {
        core->batch = choose_batch(core, point->length);
    }
    core->target = 0;
    core->empty = 0;
    show_progress(core, 0, NAN, 0);
    return core->has_failed ? GAUGE_FAILED : GAUGE_OK;
}

void gauge_sample(struct gauge_bench *bench, double nanoseconds)
{
    struct gauge_core *core = bench->core;

    if (core->count == core->room) {
        size_t room = core->room == 0 ? 1024 : 2 * core->room;
        double *grown = realloc(core->samples, room * sizeof(*grown));

        if (grown == NULL) {
            gauge_fail("no memory for %zu samples", room);
            core->has_failed = true;
            return;
        }
        core->samples = grown;
        core->room = room;
    }
    core->samples[core->count++] = nanoseconds / core->batch / core->point.divide;
}

void gauge_lost(struct gauge_bench *bench)
{
    bench->core->lost++;
}

static struct vote make_vote(struct gauge_core *core)
{
    struct vote vote = {.count = core->count, .lost = core->lost, .shortest = INFINITY};
    struct gauge_summary summary;

    vote.seconds = (double)(gauge_monotonic() - core->opened) * 1e-9;
    for (size_t i = 0; i < core->count; i++) {
        vote.shortest = fmin(vote.shortest, core->samples[i] * core->point.divide);
    }
    if (core->count > 0 && core->is_calibrated) {
        gauge_summarise(core->samples, core->count, &summary);
        vote.width = gauge_summary_width(&summary);
    }
    if (core->count > 0 && core->point.length > 0) {
        vote.shortest = core->point.length;
    }
    return vote;
}

/* All votes as one: the slowest end decides. */
static struct vote join_votes(const struct vote *votes, int ends)
{
    struct vote all = {.count = UINT64_MAX, .shortest = INFINITY};

    for (int i = 0; i < ends; i++) {
        all.lost += votes[i].lost;
        all.seconds = fmax(all.seconds, votes[i].seconds);
        if (votes[i].count > 0) {
            all.count = votes[i].count < all.count ? votes[i].count : all.count;
            all.shortest = fmin(all.shortest, votes[i].shortest);
            all.width = fmax(all.width, votes[i].width);
        }
    }
    if (all.count == UINT64_MAX) {
        all.count = 0;
    }
    return all;
}

/* The median of n turns is known 0.8 sqrt n times better than that of one. */
static double wanted_width(const struct gauge_core *core)
{
    double width = core->point.width > 0 ? core->point.width : core->settings->width;

    return core->point.turns > 1 ? width * 0.8 * sqrt(core->point.turns) : width;
}

static uint64_t most_samples(const struct gauge_core *core)
{
    return core->point.most > 0 ? (uint64_t)core->point.most : core->settings->most;
}

/*
 * No more than fit into the time that is left, by what the samples so far have taken in
 * all, others' use of the processor included. Before any is known, a few.
 */
static uint64_t fit_into_time(const struct gauge_core *core, const struct vote *all,
                              uint64_t wanted)
{
    double left = seconds_of(core) - all->seconds;
    uint64_t least = all->count < LEAST ? LEAST - all->count : 1;
    double fitting = CALIBRATION;

    if (all->count > 0) {
        fitting = left / (all->seconds / (double)all->count);
    }
    if (fitting >= (double)wanted) {
        return wanted;
    }
    return fitting > (double)least ? (uint64_t)fitting : least;
}

/* How many samples the next round has: up to the next look at the interval. */
static int32_t plan(struct gauge_core *core, const struct vote *all, bool is_virtual)
{
    uint64_t wanted = 0;

    if (core->target == 0) {
        core->target = core->point.least > 0 ? (uint64_t)core->point.least : FIRST;
    } else if (all->count >= core->target) {
        core->target = core->target + (core->target + 1) / 2;
    }
    if (core->target > most_samples(core)) {
        core->target = most_samples(core);
    }
    wanted = core->target > all->count ? core->target - all->count : 1;
    return (int32_t)(is_virtual ? wanted : fit_into_time(core, all, wanted));
}

static bool is_finished(struct gauge_core *core, const struct vote *all, bool is_virtual)
{
    core->empty = all->count == 0 ? core->empty + 1 : 0;
    if (core->target > 0 && all->count >= core->target &&
        all->width <= wanted_width(core)) {
        core->stop = STOP_WIDTH;
    } else if (all->count >= most_samples(core)) {
        core->stop = STOP_SAMPLES;
    } else if (core->empty > EMPTY_ROUNDS) {
        core->stop = STOP_LOST;
    } else if (!is_virtual && all->seconds >= seconds_of(core) && all->count >= LEAST) {
        core->stop = STOP_TIME;
    } else if (!is_virtual && all->seconds >= 4 * seconds_of(core)) {
        core->stop = all->count == 0 && all->lost > 0 ? STOP_LOST : STOP_TIME;
    } else {
        return false;
    }
    return true;
}

/* On a busy machine the first operations may all have been interrupted. */
static bool is_batch_short(const struct gauge_core *core, const struct vote *all,
                           bool is_virtual)
{
    return !is_virtual && !core->point.is_single && !(core->point.length > 0) &&
           all->count > 0 && choose_batch(core, all->shortest) > 2 * core->batch;
}

static struct verdict decide(struct gauge_core *core, const struct vote *votes,
                             bool is_virtual)
{
    struct vote all = join_votes(votes, core->control->ends);
    struct verdict verdict = {.batch = core->batch};

    if (!core->is_calibrated && all.count == 0) {
        verdict.samples = core->empty++ <= EMPTY_ROUNDS ? CALIBRATION : 0;
        verdict.stop = STOP_LOST;
        return verdict;
    }
    if (!core->is_calibrated || is_batch_short(core, &all, is_virtual)) {
        verdict.is_fresh = 1;
        core->batch = verdict.batch = choose_batch(core, all.shortest);
        core->target = 0;
        core->empty = 0;
        all.count = 0;
    } else if (core->target > 0 && is_finished(core, &all, is_virtual)) {
        verdict.stop = core->stop;
        return verdict;
    }
    verdict.samples = plan(core, &all, is_virtual);
    show_progress(core, all.count, all.width, all.seconds);
    return verdict;
}

/* Every end's vote to end 0, its verdict to all. */
static enum gauge_rc agree(struct gauge_core *core, bool is_virtual,
                           struct verdict *verdict)
{
    struct vote mine = make_vote(core);
    struct vote *votes = calloc((size_t)core->control->ends, sizeof(*votes));
    enum gauge_rc rc = GAUGE_OK;

    if (votes == NULL) {
        return gauge_fail("no memory for %d ends", core->control->ends);
    }
    rc = gauge_control_exchange(core->control, &mine, sizeof(mine), votes);
    if (rc == GAUGE_OK && core->control->end == 0) {
        *verdict = decide(core, votes, is_virtual);
    }
    free(votes);
    return rc == GAUGE_OK ? gauge_control_share(core->control, verdict, sizeof(*verdict))
                          : rc;
}

bool gauge_round(struct gauge_bench *bench, struct gauge_round *round)
{
    struct gauge_core *core = bench->core;
    struct gauge_module *module = bench->module;
    struct verdict verdict = {0};

    if (core->has_failed) {
        return false;
    }
    if (module->finish != NULL) {
        module->finish(module);
    }
    if (agree(core, bench->clock->is_virtual, &verdict) != GAUGE_OK) {
        core->has_failed = true;
        return false;
    }
    if (module->drain != NULL) {
        module->drain(module);
        if (gauge_control_barrier(core->control) != GAUGE_OK) {
            core->has_failed = true;
            return false;
        }
    }
    if (verdict.is_fresh) {
        core->is_calibrated = true;
        core->count = 0;
    }
    core->batch = verdict.batch;
    core->stop = verdict.stop;
    *round = (struct gauge_round){verdict.samples, verdict.batch, ++core->round};
    return verdict.samples > 0;
}

/* Closing: the samples of all ends come to end 0 */

static void report_end(struct gauge_bench *bench, int end, double *samples, size_t count,
                       uint64_t lost, struct gauge_summary *summary)
{
    struct gauge_core *core = bench->core;
    struct gauge_row row = {
        .pattern = core->pattern->name,
        .module = bench->module->name,
        .point = core->point,
        .end = end,
        .batch = core->batch,
        .lost = (size_t)lost,
        .stop = stops[core->stop],
        .samples = samples,
        .sample_count = count,
    };

    if (!gauge_summarise(samples, count, summary) ||
        (row.summary = *summary, !gauge_report_row(core->report, &row))) {
        core->has_failed = true;
    }
}

/* Each end's part is its number of lost operations, then its samples. */
static void report_all(struct gauge_bench *bench, char *all, const size_t *sizes,
                       struct gauge_summary *first)
{
    bool is_first = true;
    uint64_t lost = 0;

    for (int end = 0; end < bench->ends; end++) {
        size_t count = (sizes[end] - sizeof(lost)) / sizeof(double);
        struct gauge_summary *summary = &bench->core->summaries[end];

        *summary = (struct gauge_summary){.median = NAN, .low = NAN, .high = NAN};
        memcpy(&lost, all, sizeof(lost));
        /* What an end loses that times nothing is lost for the one that does. */
        if (count > 0 || (lost > 0 && bench->core->stop == STOP_LOST)) {
            report_end(bench, end, (double *)(void *)(all + sizeof(lost)), count, lost,
                       summary);
            if (is_first) {
                *first = *summary;
            }
            is_first = false;
        }
        all += sizes[end];
    }
}

static char *pack_samples(const struct gauge_core *core, size_t *size)
{
    char *packed = NULL;

    *size = sizeof(core->lost) + core->count * sizeof(double);
    packed = malloc(*size);
    if (packed != NULL) {
        memcpy(packed, &core->lost, sizeof(core->lost));
        if (core->count > 0) {
            memcpy(packed + sizeof(core->lost), core->samples,
                   core->count * sizeof(double));
        }
    }
    return packed;
}

enum gauge_rc gauge_point_close(struct gauge_bench *bench, struct gauge_summary *summary)
{
    struct gauge_core *core = bench->core;
    size_t *sizes = calloc((size_t)bench->ends, sizeof(*sizes));
    struct gauge_summary first = {.median = NAN, .low = NAN, .high = NAN};
    size_t size = 0;
    char *mine = pack_samples(core, &size);
    void *all = NULL;

    if (core->has_failed || sizes == NULL || mine == NULL ||
        gauge_control_gather(core->control, mine, size, &all, sizes) != GAUGE_OK) {
        core->has_failed = true;
    } else if (bench->end == 0) {
        report_all(bench, all, sizes, &first);
    }
    free(all);
    free(mine);
    free(sizes);
    if (core->has_failed ||
        gauge_control_share(core->control, &first, sizeof(first)) != GAUGE_OK) {
        core->has_failed = true;
        return GAUGE_FAILED;
    }
    if (summary != NULL) {
        *summary = first;
    }
    return GAUGE_OK;
}

const struct gauge_summary *gauge_summaries(const struct gauge_bench *bench)
{
    return bench->core->summaries;
}

void gauge_result(struct gauge_bench *bench, const struct gauge_result *result)
{
    struct gauge_core *core = bench->core;
    struct gauge_finding finding = {core->pattern->name, bench->module->name, *result};

    if (core->report != NULL && !gauge_report_finding(core->report, &finding)) {
        core->has_failed = true;
    }
}

void gauge_picture(struct gauge_bench *bench, const char *title, const char *key,
                   const char *const names[2])
{
    struct gauge_report *report = bench->core->report;

    if (report != NULL) {
        report->picture = (struct gauge_picture){title, key, {names[0], names[1]}};
    }
}

enum gauge_rc gauge_share(struct gauge_bench *bench, void *bytes, size_t size)
{
    return gauge_control_share(bench->core->control, bytes, size);
}

enum gauge_rc gauge_exchange(struct gauge_bench *bench, const void *mine, size_t size,
                             void *all)
{
    return gauge_control_exchange(bench->core->control, mine, size, all);
}

enum gauge_rc gauge_barrier(struct gauge_bench *bench)
{
    return gauge_control_barrier(bench->core->control);
}
