/*
 * pattern.h - who talks to whom, and when the clock is read: the contract between the
 * core and a pattern.
 *
 * A pattern is one struct of this kind in a file of its own, and one line in the list of
 * registry.c. Its benchmark function runs on every end at the same time. It hands samples
 * to the core; it does not print, parse the command line, exit, or know any module.
 *
 * Shape:      a pattern measures points. On every end alike:
 *
 *                 gauge_point_open(bench, &point);
 *                 while (gauge_round(bench, &round)) {
 *                     for each of round.samples:
 *                         time round.batch operations, then on the ends that time:
 *                         gauge_sample(bench, time of the whole batch);
 *                 }
 *                 if (gauge_point_close(bench, &summary) != GAUGE_OK) return ...
 *
 *             The core chooses how many samples a round has, finds the warm-up, and ends
 *             the point when the interval is narrow or the time is up. gauge_round() is
 *             also a barrier. An end that times nothing just takes part.
 * Loss:       on GAUGE_LOST call gauge_lost() and go to the next round; a pattern that
 *             cannot do so asks for GAUGE_RELIABLE. On GAUGE_FAILED return it.
 * Order:      every end must open the same points in the same order. gauge_shuffle()
 *             gives all ends the same order.
 * Checking:   fill with gauge_payload_make() before the round, gauge_payload_stamp()
 *             before each sample, gauge_payload_check() after the clock was read.
 * Results:    what is derived from the points, such as a fitted parameter, goes to
 *             gauge_result() on end 0.
 */
#ifndef GAUGE_PATTERN_H
#define GAUGE_PATTERN_H

#include "gauge/module.h"
#include "gauge/measure/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gauge_core; /* bench.c */

/* What a pattern sees of a run. The pointers are the core's. */
struct gauge_bench {
    struct gauge_module *module;
    const struct gauge_clock *clock;
    int end;
    int ends;
    uint64_t seed; /* the same on every end */
    struct gauge_option *options;
    struct gauge_core *core;
};

struct gauge_pattern {
    const char *name;
    const char *description; /* one line */
    const char *method;      /* for `describe`: how it measures, with the formula */
    unsigned needs;          /* GAUGE_RELIABLE ... of module.h */
    int least_ends;          /* 1: it also runs on one end, which then talks to itself */
    bool has_even_ends;      /* an odd number above 1 is refused */
    bool has_parameters;     /* its results are what to compare, not its points */
    struct gauge_option *options; /* or NULL */

    /* Bits that the options as given add to `needs`; may be NULL. */
    unsigned (*more_needs)(struct gauge_option *options);
    enum gauge_rc (*benchmark)(struct gauge_bench *bench);
};

enum { GAUGE_KEYS = 6, GAUGE_NAME = 32, GAUGE_TURNS = 32 };

/* One thing measured under one set of conditions. All times are for one operation. */
struct gauge_point {
    const char *name; /* the quantity: "latency", "prtt" */
    size_t size;      /* message size in bytes */
    double bytes;     /* bytes moved per operation, for the rate; 0: no rate is given */
    /* Further conditions, by name with the unit in it: {"delay_ns", 1000}. */
    struct {
        const char *key;
        double value;
    } key[GAUGE_KEYS];
    double divide;  /* a sample is divided by it, besides the batch; 0 means 1 */
    bool is_single; /* never batched: each sample is one operation */
    int least;      /* samples wanted at least; 0: the core's choice */
    int most;       /* samples taken at most; 0: the core's choice */
    double width;   /* of the interval that ends it, as a share; 0: the run's choice */
    /* A point may be measured in several turns, with other points in between, so that its
     * interval also has what differs from one stretch of time to the next. Each turn is
     * opened by itself and gets its share of the time; 0: it is not. */
    int turn;      /* from 1 */
    int turns;     /* at most GAUGE_TURNS */
    double length; /* ns of an operation where a sample does not tell; 0: it does */
};

struct gauge_round {
    int samples;
    int batch;       /* operations in each sample */
    uint64_t number; /* counts rounds of all points, the same on every end */
};

/* The message sizes of this run in shuffled order, the same on every end. They belong to
 * the core. */
const size_t *gauge_sizes(struct gauge_bench *bench, size_t *count);
/* Mixes an order of 0 .. count - 1, the same on every end. */
void gauge_shuffle(struct gauge_bench *bench, size_t *order, size_t count);
/* A random number, the same sequence on every end that asks as often. */
uint64_t gauge_random(struct gauge_bench *bench);

enum gauge_rc gauge_point_open(struct gauge_bench *bench,
                               const struct gauge_point *point);
bool gauge_round(struct gauge_bench *bench, struct gauge_round *round);
void gauge_sample(struct gauge_bench *bench, double nanoseconds);
void gauge_lost(struct gauge_bench *bench);
/* `summary` may be NULL; on every end it is that of the lowest end which took samples. */
enum gauge_rc gauge_point_close(struct gauge_bench *bench, struct gauge_summary *summary);
/* Of every end at the point closed last, on end 0 only; the count of an end that took no
 * samples is 0. */
const struct gauge_summary *gauge_summaries(const struct gauge_bench *bench);

/* Bytes of end 0 to all; bytes of each to all, in order; nobody passes before all came.
 */
enum gauge_rc gauge_share(struct gauge_bench *bench, void *bytes, size_t size);
enum gauge_rc gauge_exchange(struct gauge_bench *bench, const void *mine, size_t size,
                             void *all);
enum gauge_rc gauge_barrier(struct gauge_bench *bench);

/*
 * A value with its interval; equal bounds or not-a-number mean that none is known. The
 * unit is one of ns, ns_per_byte, bytes, ratio, ppm, count, per_second, bytes_per_second.
 * `note` may be NULL; it is a flag such as "noise-biased" or a bound such as "g <= c".
 * Only end 0's calls count. Name and note are copied.
 */
struct gauge_result {
    const char *name;
    const char *unit;
    double value, low, high;
    const char *note;
    double size_from, size_to; /* the message sizes it holds for; both 0: all */
    bool is_bound;             /* the value is not above this; the note says of what */
};
void gauge_result(struct gauge_bench *bench, const struct gauge_result *result);

/* Asks for a picture in the terminal after the table: the points of these names over the
 * condition `key`. The texts are the pattern's and live on. Only end 0's calls count. */
void gauge_picture(struct gauge_bench *bench, const char *title, const char *key,
                   const char *const names[2]);

/* Buffers, through the module where it insists; aligned to a page. NULL when refused. */
void *gauge_alloc(struct gauge_bench *bench, size_t size);
void gauge_free(struct gauge_bench *bench, void *buffer);
/* Throws a buffer out of the caches as far as that can be done. */
void gauge_cool(struct gauge_bench *bench, void *buffer, size_t size);

/* A payload that tells sender, round and sample apart. The check says whether all is as
 * made, reports what is not, and is silent with --no-verify. */
void gauge_payload_make(void *buffer, size_t size, uint64_t round, int sender);
void gauge_payload_stamp(void *buffer, size_t size, uint64_t sample);
enum gauge_rc gauge_payload_check(struct gauge_bench *bench, const void *buffer,
                                  size_t size, uint64_t round, int sender,
                                  uint64_t sample);

static inline double gauge_now(const struct gauge_bench *bench)
{
    return bench->clock->now(bench->clock->state);
}

/* Keeps the processor for so long. */
static inline void gauge_pass(const struct gauge_bench *bench, double nanoseconds)
{
    bench->clock->pass(bench->clock->state, nanoseconds);
}

static inline void gauge_work(const struct gauge_bench *bench, unsigned long loops)
{
    bench->clock->work(bench->clock->state, loops);
}

static inline enum gauge_rc gauge_send(const struct gauge_bench *bench, int dest,
                                       const void *buffer, size_t size)
{
    return bench->module->sendto(bench->module, dest, buffer, size);
}

static inline enum gauge_rc gauge_receive(const struct gauge_bench *bench, int source,
                                          void *buffer, size_t size)
{
    return bench->module->recvfrom(bench->module, source, buffer, size);
}

/* For patterns that need GAUGE_NONBLOCKING. */
static inline enum gauge_rc gauge_isend(const struct gauge_bench *bench, int dest,
                                        const void *buffer, size_t size,
                                        struct gauge_request *request)
{
    request->is_done = false;
    return bench->module->isendto(bench->module, dest, buffer, size, request);
}

static inline enum gauge_rc gauge_ireceive(const struct gauge_bench *bench, int source,
                                           void *buffer, size_t size,
                                           struct gauge_request *request)
{
    request->is_done = false;
    return bench->module->irecvfrom(bench->module, source, buffer, size, request);
}

static inline enum gauge_rc gauge_test(const struct gauge_bench *bench,
                                       struct gauge_request *request)
{
    return request->is_done ? GAUGE_OK : bench->module->test(bench->module, request);
}

enum gauge_rc gauge_wait(const struct gauge_bench *bench, struct gauge_request *request);

#endif
