/*
 * plogp.c - the parametrised LogP model: overheads and gap as functions of the size.
 *
 * RTT(m) is m bytes out and an empty answer. The gap of empty messages comes from
 * saturation: bursts that double in length until another doubling changes nothing. Where
 * a size lies off the line between its neighbours, the sizes on both sides of it are
 * halved until they fit or lie close together, so that a jump is found where it is.
 */
#include "gauge/patterns/buffers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZES = 160, FIRST_BURST = 8, MOST_BURST = 4096, CLOSE = 32 };

static struct gauge_option options[] = {
    {"miss", GAUGE_NUMBER, "10", "PERCENT",
     "how far a size may lie off the line between its neighbours"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

/* What was measured at one size. */
struct entry {
    size_t size;
    struct gauge_summary round_trip;
    struct gauge_summary send;    /* o_s */
    struct gauge_summary receive; /* o_r */
};

struct side {
    struct gauge_bench *bench;
    struct buffers buffers;
    double cost; /* of reading the clock, which a single call's time contains */
    struct entry entry[MOST_SIZES]; /* ascending */
    size_t count;
    size_t size;  /* being measured */
    int burst;    /* messages of a burst */
    double delay; /* after asking, ns */
    double time;  /* this end's, summed over a batch */
};

/* What both ends do once; end 0 keeps its time in side->time. */
struct act {
    const char *name;
    enum gauge_rc (*first)(struct side *side);
    enum gauge_rc (*second)(struct side *side);
};

/* m bytes out, an empty answer */

static enum gauge_rc send_and_wait(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    double start = gauge_now(bench);
    enum gauge_rc rc = gauge_send(bench, 1, side->buffers.out, side->size);

    if (rc == GAUGE_OK) {
        rc = gauge_receive(bench, 1, side->buffers.in, 0);
    }
    side->time += gauge_now(bench) - start;
    return rc;
}

/* The same, but only the call that sends is timed. */
static enum gauge_rc send_alone(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    double start = gauge_now(bench);
    enum gauge_rc rc = gauge_send(bench, 1, side->buffers.out, side->size);

    side->time += gauge_now(bench) - start - side->cost;
    return rc == GAUGE_OK ? gauge_receive(bench, 1, side->buffers.in, 0) : rc;
}

static enum gauge_rc take_and_answer(struct side *side)
{
    enum gauge_rc rc = gauge_receive(side->bench, 0, side->buffers.in, side->size);

    return rc == GAUGE_OK ? gauge_send(side->bench, 0, side->buffers.out, 0) : rc;
}

/* An empty message out, m bytes back, which are received when they have long been there
 */

static enum gauge_rc ask_and_receive_late(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    enum gauge_rc rc = gauge_send(bench, 1, side->buffers.out, 0);
    double start = 0;

    gauge_pass(bench, side->delay);
    start = gauge_now(bench);
    if (rc == GAUGE_OK) {
        rc = gauge_receive(bench, 1, side->buffers.in, side->size);
    }
    side->time += gauge_now(bench) - start - side->cost;
    return rc;
}

static enum gauge_rc give(struct side *side)
{
    enum gauge_rc rc = gauge_receive(side->bench, 0, side->buffers.in, 0);

    return rc == GAUGE_OK ? gauge_send(side->bench, 0, side->buffers.out, side->size)
                          : rc;
}

/* A burst of empty messages, one empty answer */

static enum gauge_rc send_burst(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    double start = gauge_now(bench);
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->burst; i++) {
        rc = gauge_send(bench, 1, side->buffers.out, 0);
    }
    if (rc == GAUGE_OK) {
        rc = gauge_receive(bench, 1, side->buffers.in, 0);
    }
    side->time += gauge_now(bench) - start;
    return rc;
}

static enum gauge_rc take_burst(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->burst; i++) {
        rc = gauge_receive(side->bench, 0, side->buffers.in, 0);
    }
    return rc == GAUGE_OK ? gauge_send(side->bench, 0, side->buffers.out, 0) : rc;
}

static const struct act round_trip = {"rtt", send_and_wait, take_and_answer};
static const struct act send_call = {"o_s", send_alone, take_and_answer};
static const struct act receive_call = {"o_r", ask_and_receive_late, give};
static const struct act saturation = {"saturation", send_burst, take_burst};

/* Points */

/* The end that receives the bytes looks at them. */
static enum gauge_rc check(struct side *side, const struct act *act,
                           const struct gauge_round *round, uint64_t sample)
{
    int receiver = act == &receive_call ? 0 : 1;

    return side->bench->end == receiver
               ? gauge_payload_check(side->bench, side->buffers.in, side->size,
                                     round->number, 1 - receiver, sample)
               : GAUGE_OK;
}

static enum gauge_rc take_sample(struct side *side, const struct act *act,
                                 const struct gauge_round *round, uint64_t sample)
{
    /* The other end may still be looking at the bytes of the sample before. */
    enum gauge_rc rc = side->bench->end == 0
                           ? gauge_receive(side->bench, 1, side->buffers.in, 0)
                           : gauge_send(side->bench, 0, side->buffers.out, 0);

    gauge_payload_stamp(side->buffers.out, side->size, sample);
    side->time = 0;
    for (int i = 0; rc == GAUGE_OK && i < round->batch; i++) {
        rc = side->bench->end == 0 ? act->first(side) : act->second(side);
    }
    if (rc != GAUGE_OK) {
        return rc;
    }
    if (side->bench->end == 0) {
        gauge_sample(side->bench, side->time);
    }
    return check(side, act, round, sample);
}

static enum gauge_rc measure(struct side *side, const struct act *act, double length,
                             struct gauge_summary *summary)
{
    struct gauge_bench *bench = side->bench;
    struct gauge_point point = {.name = act->name, .size = side->size, .length = length};
    struct gauge_round round;
    enum gauge_rc rc = GAUGE_OK;

    if (act == &saturation) {
        point.key[0].key = "messages";
        point.key[0].value = side->burst;
    }
    rc = gauge_point_open(bench, &point);
    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        gauge_payload_make(side->buffers.out, side->size, round.number, bench->end);
        for (int i = 0; rc == GAUGE_OK && bench->end < 2 && i < round.samples; i++) {
            rc = take_sample(side, act, &round, (uint64_t)i);
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, summary) : rc;
}

/* Measures a size and puts it in its place among the others. */
static enum gauge_rc add(struct side *side, size_t size, struct entry **out)
{
    struct entry entry = {.size = size};
    size_t at = side->count;
    double trip = 0;
    enum gauge_rc rc = GAUGE_OK;

    side->size = size;
    rc = measure(side, &round_trip, 0, &entry.round_trip);
    trip = entry.round_trip.median;
    side->delay = 2 * trip;
    if (rc == GAUGE_OK) {
        rc = measure(side, &send_call, trip, &entry.send);
    }
    if (rc == GAUGE_OK) {
        rc = measure(side, &receive_call, 2 * trip, &entry.receive);
    }
    while (at > 0 && side->entry[at - 1].size > size) {
        at--;
    }
    memmove(&side->entry[at + 1], &side->entry[at],
            (side->count - at) * sizeof(*side->entry));
    side->entry[at] = entry;
    side->count++;
    *out = &side->entry[at];
    return rc;
}

static bool is_missed(const struct entry *low, const struct entry *middle,
                      const struct entry *high)
{
    double share = (double)(middle->size - low->size) / (double)(high->size - low->size);
    double guess = low->round_trip.median +
                   share * (high->round_trip.median - low->round_trip.median);
    double miss = gauge_option_number(options, "miss") / 100;

    return fabs(middle->round_trip.median - guess) > miss * middle->round_trip.median;
}

static struct entry find(const struct side *side, size_t size)
{
    size_t at = 0;

    while (at + 1 < side->count && side->entry[at].size != size) {
        at++;
    }
    return side->entry[at];
}

/* Halves what lies between two sizes until the middle fits, or they are close. */
static enum gauge_rc bisect(struct side *side, size_t from, size_t to)
{
    size_t middle = from + (to - from) / 2;
    size_t close = to / 16 > CLOSE ? to / 16 : CLOSE;
    struct entry low = find(side, from);
    struct entry high = find(side, to);
    struct entry *found = NULL;
    enum gauge_rc rc = GAUGE_OK;

    if (to - from <= close || side->count == MOST_SIZES) {
        return GAUGE_OK;
    }
    rc = add(side, middle, &found);
    if (rc != GAUGE_OK || !is_missed(&low, found, &high)) {
        return rc;
    }
    rc = bisect(side, from, middle);
    return rc == GAUGE_OK ? bisect(side, middle, to) : rc;
}

/* A size off the line calls for a closer look on both sides; each gap is looked at once.
 */
static enum gauge_rc refine(struct side *side)
{
    struct entry given[MOST_SIZES];
    size_t count = side->count;
    bool is_done = false;
    enum gauge_rc rc = GAUGE_OK;

    memcpy(given, side->entry, count * sizeof(*given));
    for (size_t i = 1; rc == GAUGE_OK && i + 1 < count; i++) {
        if (is_missed(&given[i - 1], &given[i], &given[i + 1])) {
            if (!is_done) {
                rc = bisect(side, given[i - 1].size, given[i].size);
            }
            if (rc == GAUGE_OK) {
                rc = bisect(side, given[i].size, given[i + 1].size);
            }
            is_done = true;
        } else {
            is_done = false;
        }
    }
    return rc;
}

/*
 * g(0): what one more message costs in a burst, once the burst is so long that another
 * doubling changes it by less than 1 %.
 */
static enum gauge_rc saturate(struct side *side, double *gap, double *half)
{
    struct gauge_summary before = {0};
    struct gauge_summary now = {0};
    enum gauge_rc rc = GAUGE_OK;

    side->size = 0;
    side->burst = FIRST_BURST;
    rc = measure(side, &saturation, 0, &before);
    *gap = 0;
    while (rc == GAUGE_OK && side->burst < MOST_BURST) {
        double last = *gap;
        double more = side->burst;

        side->burst *= 2;
        rc = measure(side, &saturation, 0, &now);
        *gap = (now.median - before.median) / more;
        *half = hypot(now.high - now.low, before.high - before.low) / 2 / more;
        if (fabs(*gap - last) <= 0.01 * fabs(*gap)) {
            break;
        }
        before = now;
    }
    return rc;
}

static void put(struct side *side, const char *name, double value, double half,
                size_t size, const char *note)
{
    struct gauge_result result = {
        .name = name,
        .unit = "ns",
        .value = value,
        .low = value - half,
        .high = value + half,
        .note = note,
        .size_from = (double)size,
        .size_to = (double)size,
    };

    gauge_result(side->bench, &result);
}

static double half_of(const struct gauge_summary *s)
{
    return isnan(s->low) ? 0 : (s->high - s->low) / 2;
}

static void report(struct side *side, double gap, double gap_half)
{
    const struct gauge_summary *empty = &side->entry[0].round_trip;
    const char *note = "of empty messages";

    put(side, "L", empty->median / 2 - gap, hypot(half_of(empty) / 2, gap_half), 0, NULL);
    for (size_t i = 0; i < side->count; i++) {
        const struct entry *e = &side->entry[i];
        const char *remark = e->size == 0 ? note : NULL;
        double half =
            i == 0 ? gap_half
                   : hypot(gap_half, hypot(half_of(&e->round_trip), half_of(empty)));

        put(side, "g", e->round_trip.median - empty->median + gap, half, e->size, remark);
        put(side, "o_s", e->send.median, half_of(&e->send), e->size, remark);
        put(side, "o_r", e->receive.median, half_of(&e->receive), e->size, remark);
    }
}

/* The least that two readings of the clock are apart. */
static double reading_cost(struct gauge_bench *bench)
{
    double cost = INFINITY;

    for (int i = 0; i < 1000; i++) {
        double start = gauge_now(bench);

        cost = fmin(cost, gauge_now(bench) - start);
    }
    return cost;
}

static enum gauge_rc measure_all(struct side *side, const size_t *sizes, size_t count)
{
    struct entry *unused = NULL;
    double gap = 0;
    double half = 0;
    enum gauge_rc rc = add(side, 0, &unused);

    for (size_t i = 0; rc == GAUGE_OK && i < count && side->count < MOST_SIZES; i++) {
        if (sizes[i] > 0) {
            rc = add(side, sizes[i], &unused);
        }
    }
    if (rc == GAUGE_OK) {
        rc = refine(side);
    }
    if (rc == GAUGE_OK) {
        rc = saturate(side, &gap, &half);
    }
    if (rc == GAUGE_OK) {
        report(side, gap, half);
    }
    return rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct side *side = calloc(1, sizeof(*side));
    size_t count = 0;
    const size_t *sizes = gauge_sizes(bench, &count);
    size_t largest = buffers_largest(sizes, count);
    enum gauge_rc rc = GAUGE_OK;

    if (side == NULL) {
        return gauge_fail("plogp: no memory");
    }
    side->bench = bench;
    rc = buffers_open(bench, &side->buffers, largest, largest, "plogp");
    if (rc == GAUGE_OK) {
        side->cost = reading_cost(bench);
        rc = measure_all(side, sizes, count);
        buffers_close(bench, &side->buffers);
    }
    free(side);
    return rc;
}

const struct gauge_pattern gauge_plogp = {
    .name = "plogp",
    .description = "L, o_s(m), o_r(m) and g(m) of the parametrised LogP model",
    .method =
        "RTT(m): end 0 sends m bytes, end 1 answers with an empty message.\n"
        "    g(0)   = (T(2n) - T(n)) / n for bursts of empty messages with one answer, "
        "n\n"
        "             doubled until g(0) changes by less than 1 %\n"
        "    g(m)   = RTT(m) - RTT(0) + g(0)\n"
        "    L      = RTT(0) / 2 - g(0)\n"
        "    o_s(m) = time of the call that sends m bytes\n"
        "    o_r(m) = time of a call that receives m bytes, made 2 RTT(m) after asking\n"
        "The time of a call is less the cost of reading the clock. Between sizes where "
        "the\n"
        "line misses RTT(m) by more than --miss, further sizes are measured, by halving, "
        "until\n"
        "it fits or they are 32 bytes or a sixteenth apart.\n",
    .needs = GAUGE_RELIABLE,
    .least_ends = 2,
    .options = options,
    .benchmark = benchmark,
};
