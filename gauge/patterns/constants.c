/*
 * constants.c - what the choice among algorithms of collectives wants to know
 * (src/coll/constants.h): a message, a byte of it, a byte copied and a byte reduced, for
 * messages that are sent at once and for those that are announced first.
 *
 * Half a round trip is a latency and the time of one message; a burst in one direction,
 * which ends with an answer, has the time of a message alone.
 */
#include "gauge/patterns/buffers.h"

#include <math.h>
#include <string.h>

enum {
    TINY = 8,
    SHORT = 4096, /* the longest that Weft sends at once */
    LONG = 16384,
    LARGE = 1 << 20,
    BURST = 64,
    PIECE = 1 << 16, /* of memory: stays in a processor's own cache */
};

struct side {
    struct gauge_bench *bench;
    struct buffers buffers;
    size_t size;  /* of the message, or of the memory */
    int messages; /* in one direction, before the answer */
};

/* ---- messages ---- */

static enum gauge_rc send_all(const struct side *side, int to)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->messages; i++) {
        rc = gauge_send(side->bench, to, side->buffers.out, side->size);
    }
    return rc;
}

static enum gauge_rc receive_all(const struct side *side, int from)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->messages; i++) {
        rc = gauge_receive(side->bench, from, side->buffers.in, side->size);
    }
    return rc;
}

/* There and back with the same messages. */
static enum gauge_rc exchange(const struct side *side)
{
    const bool is_first = side->bench->end == 0;
    const int other = is_first ? 1 : 0;
    enum gauge_rc rc = is_first ? send_all(side, other) : receive_all(side, other);

    if (rc != GAUGE_OK) {
        return rc;
    }
    return is_first ? receive_all(side, other) : send_all(side, other);
}

/* ---- memory ---- */

static enum gauge_rc copy(const struct side *side)
{
    memcpy(side->buffers.in, side->buffers.out, side->size);
    __asm__ volatile("" : : "r"(side->buffers.in) : "memory");
    return GAUGE_OK;
}

static enum gauge_rc reduce(const struct side *side)
{
    const double *from = (const void *)side->buffers.out;
    double *to = (void *)side->buffers.in;

    for (size_t i = 0; i < side->size / sizeof(*to); i++) {
        to[i] += from[i];
    }
    __asm__ volatile("" : : "r"(to) : "memory");
    return GAUGE_OK;
}

/* ---- points ---- */

typedef enum gauge_rc act(const struct side *side);

static enum gauge_rc take_samples(const struct side *side, act *what, bool has_part,
                                  const struct gauge_round *round)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && has_part && i < round->samples; i++) {
        const double start = gauge_now(side->bench);

        for (int k = 0; rc == GAUGE_OK && k < round->batch; k++) {
            rc = what(side);
        }
        if (side->bench->end == 0) {
            gauge_sample(side->bench, gauge_now(side->bench) - start);
        }
    }
    return rc;
}

/* The least time in nanoseconds, divided by `divide`; `ends` take part. What else runs on
 * the machine is in every other sample, but not in the least. */
static enum gauge_rc measure(struct side *side, const char *name, act *what, int ends,
                             double divide, double *least)
{
    const struct gauge_point point = {.name = name, .size = side->size, .divide = divide};
    struct gauge_summary summary = {0};
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(side->bench, &point);

    while (rc == GAUGE_OK && gauge_round(side->bench, &round)) {
        rc = take_samples(side, what, side->bench->end < ends, &round);
    }
    if (rc == GAUGE_OK) {
        rc = gauge_point_close(side->bench, &summary);
    }
    *least = summary.minimum;
    return rc;
}

/* Half a round trip of one message of this size. */
static enum gauge_rc measure_trip(struct side *side, size_t size, double *least)
{
    side->size = size;
    side->messages = 1;
    return measure(side, "trip", exchange, 2, 2, least);
}

/* One of many messages of this size. */
static enum gauge_rc measure_gap(struct side *side, size_t size, double *least)
{
    side->size = size;
    side->messages = BURST;
    return measure(side, "gap", exchange, 2, 2 * BURST, least);
}

static enum gauge_rc measure_memory(struct side *side, const char *name, act *what,
                                    double *least)
{
    side->size = PIECE;
    return measure(side, name, what, 1, PIECE, least);
}

/* ---- results ---- */

static void put(const struct side *side, const char *name, const char *unit, double value)
{
    gauge_result(side->bench, &(struct gauge_result){.name = name,
                                                     .unit = unit,
                                                     .value = fmax(value, 0),
                                                     .low = NAN,
                                                     .high = NAN});
}

struct times {
    double tiny, brief, longer, large; /* half round trips */
    double tiny_gap, long_gap;
    double copied, reduced; /* of a byte */
};

static void report(const struct side *side, const struct times *t)
{
    const double byte = (t->brief - t->tiny) / (SHORT - TINY);
    const double long_byte = (t->large - t->longer) / (LARGE - LONG);
    const double long_message = t->long_gap - LONG * long_byte;

    put(side, "latency", "ns", t->tiny - t->tiny_gap);
    put(side, "message", "ns", t->tiny_gap);
    put(side, "byte", "ns_per_byte", byte);
    put(side, "long_latency", "ns", t->longer - LONG * long_byte - fmax(long_message, 0));
    put(side, "long_message", "ns", long_message);
    put(side, "long_byte", "ns_per_byte", long_byte);
    put(side, "copied", "ns_per_byte", t->copied);
    put(side, "reduced", "ns_per_byte", t->reduced);
}

static enum gauge_rc measure_all(struct side *side, struct times *t)
{
    const struct {
        enum gauge_rc (*how)(struct side *side, size_t size, double *least);
        size_t size;
        double *to;
    } rows[] = {
        {measure_trip, TINY, &t->tiny},    {measure_trip, SHORT, &t->brief},
        {measure_trip, LONG, &t->longer},  {measure_trip, LARGE, &t->large},
        {measure_gap, TINY, &t->tiny_gap}, {measure_gap, LONG, &t->long_gap},
    };
    enum gauge_rc rc = GAUGE_OK;

    for (size_t i = 0; rc == GAUGE_OK && i < sizeof(rows) / sizeof(rows[0]); i++) {
        rc = rows[i].how(side, rows[i].size, rows[i].to);
    }
    if (rc == GAUGE_OK) {
        rc = measure_memory(side, "copied", copy, &t->copied);
    }
    return rc == GAUGE_OK ? measure_memory(side, "reduced", reduce, &t->reduced) : rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct side side = {.bench = bench};
    struct times times = {0};
    enum gauge_rc rc = buffers_open(bench, &side.buffers, LARGE, LARGE, "constants");

    if (rc != GAUGE_OK) {
        return rc;
    }
    memset(side.buffers.out, 0, LARGE);
    memset(side.buffers.in, 0, LARGE);
    rc = measure_all(&side, &times);
    if (rc == GAUGE_OK) {
        report(&side, &times);
    }
    buffers_close(bench, &side.buffers);
    return rc;
}

const struct gauge_pattern gauge_constants = {
    .name = "constants",
    .description = "what Weft's choice among algorithms of collectives wants to know",
    .method =
        "T(m) is half a round trip of m bytes, g(m) one of 64 messages in a row.\n"
        "    message      = g(8)\n"
        "    latency      = T(8) - message\n"
        "    byte         = (T(4 KiB) - T(8)) / 4088\n"
        "    long_byte    = (T(1 MiB) - T(16 KiB)) / (1 MiB - 16 KiB)\n"
        "    long_message = g(16 KiB) - 16 KiB * long_byte\n"
        "    long_latency = T(16 KiB) - 16 KiB * long_byte - long_message\n"
        "    copied, reduced: a byte of 64 KiB that are copied, or added as doubles\n"
        "They are the constants of src/coll/constants.h. Each time is the least of its\n"
        "samples, which other load on the machine changes least. A difference below 0 is "
        "0.\n",
    .needs = GAUGE_RELIABLE,
    .least_ends = 2,
    .benchmark = benchmark,
};
