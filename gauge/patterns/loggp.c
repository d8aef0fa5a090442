/*
 * loggp.c - the parameters of the LogGP model, from parametrised round trips.
 *
 * PRTT(n, d, s): end 0 sends n messages of s bytes with a pause of d between them, end 1
 * answers the last with one of s bytes. Everything is read from differences of such round
 * trips on one clock. A sample of o_s, o_r or B is that difference already, so that the
 * stop rule looks at the parameter and not at the long round trip that it hides in.
 *
 * The receiver pauses for 2 d where its own overhead is wanted: with equal pauses the
 * slower of the two ends would be seen, whichever it is. The fit is in loggp_fit.c.
 */
#include "gauge/patterns/loggp.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_MESSAGES = 256 };

static struct gauge_option options[] = {
    {"messages", GAUGE_COUNT, "16", "N", "messages in a round trip, 8 to 256"},
    {"nonblocking", GAUGE_FLAG, "no", NULL,
     "sends are started and waited for at the end, for sizes that wait for the receiver"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

/* One kind of round trip. */
struct trip {
    const char *name; /* of the point */
    int messages;
    double delay;  /* of the sender, ns */
    double pause;  /* of the receiver, ns */
    double offset; /* ns that are not the parameter's */
    double length; /* ns that it takes, roughly; 0: not known */
    double width;  /* of the interval that is wanted; 0: as always */
};

struct side {
    struct gauge_bench *bench;
    void *out;
    void *in;
    bool is_nonblocking;
    struct gauge_request request[MOST_MESSAGES];
};

static enum gauge_rc send_all(struct side *side, const struct trip *trip, size_t size)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < trip->messages; i++) {
        if (i > 0 && trip->delay > 0) {
            gauge_pass(side->bench, trip->delay);
        }
        rc = side->is_nonblocking
                 ? gauge_isend(side->bench, 1, side->out, size, &side->request[i])
                 : gauge_send(side->bench, 1, side->out, size);
    }
    for (int i = 0; side->is_nonblocking && rc == GAUGE_OK && i < trip->messages; i++) {
        rc = gauge_wait(side->bench, &side->request[i]);
    }
    return rc == GAUGE_OK ? gauge_receive(side->bench, 1, side->in, size) : rc;
}

static enum gauge_rc answer(struct side *side, const struct trip *trip, size_t size)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < trip->messages; i++) {
        if (i > 0 && trip->pause > 0) {
            gauge_pass(side->bench, trip->pause);
        }
        rc = gauge_receive(side->bench, 0, side->in, size);
    }
    return rc == GAUGE_OK ? gauge_send(side->bench, 0, side->out, size) : rc;
}

static enum gauge_rc take_sample(struct side *side, const struct trip *trip, size_t size,
                                 const struct gauge_round *round, uint64_t sample)
{
    struct gauge_bench *bench = side->bench;
    enum gauge_rc rc = GAUGE_OK;
    double start = 0;
    double end = 0;

    if (bench->end > 1) {
        return GAUGE_OK;
    }
    gauge_payload_stamp(side->out, size, sample);
    start = gauge_now(bench);
    for (int i = 0; rc == GAUGE_OK && i < round->batch; i++) {
        rc = bench->end == 0 ? send_all(side, trip, size) : answer(side, trip, size);
    }
    end = gauge_now(bench);
    if (rc == GAUGE_OK && bench->end == 0) {
        gauge_sample(bench, end - start - round->batch * trip->offset);
    }
    return rc == GAUGE_OK ? gauge_payload_check(bench, side->in, size, round->number,
                                                1 - bench->end, sample)
                          : rc;
}

static enum gauge_rc measure(struct side *side, const struct trip *trip, size_t size,
                             struct gauge_summary *out)
{
    struct gauge_bench *bench = side->bench;
    struct gauge_point point = {
        .name = trip->name,
        .size = size,
        .key = {{"messages", trip->messages}, {"delay_ns", trip->delay}},
        .divide = trip->messages > 1 ? trip->messages - 1 : 1,
        .width = trip->width,
        .length = trip->length,
    };
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(bench, &point);

    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        gauge_payload_make(side->out, size, round.number, bench->end);
        for (int i = 0; rc == GAUGE_OK && i < round.samples; i++) {
            rc = take_sample(side, trip, size, &round, (uint64_t)i);
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, out) : rc;
}

static enum gauge_rc measure_size(struct side *side, int messages, size_t size,
                                  struct loggp_size *out)
{
    double gaps = messages - 1;
    struct trip once = {.name = "prtt", .messages = 1, .width = LOGGP_ROUND_TRIP_WIDTH};
    enum gauge_rc rc = measure(side, &once, size, &out->round_trip);
    double d = out->round_trip.median;
    struct trip burst = {.name = "gap", .messages = messages, .offset = d};
    struct trip short_burst = {.name = "gap", .messages = messages / 4, .offset = d};
    struct trip send = {
        .name = "o_s", .messages = messages, .delay = d, .offset = d * (1 + gaps)};
    struct trip receive = {.name = "o_r",
                           .messages = messages,
                           .delay = d,
                           .pause = 2 * d,
                           .offset = d * (1 + 2 * gaps)};

    out->size = size;
    burst.length = short_burst.length = d;
    send.length = d * messages;
    receive.length = 2 * d * messages;
    if (rc == GAUGE_OK) {
        rc = measure(side, &burst, size, &out->gap);
    }
    if (rc == GAUGE_OK) {
        rc = measure(side, &short_burst, size, &out->short_gap);
    }
    if (rc == GAUGE_OK) {
        rc = measure(side, &send, size, &out->send);
    }
    return rc == GAUGE_OK ? measure(side, &receive, size, &out->receive) : rc;
}

static int compare(const void *a, const void *b)
{
    size_t x = ((const struct loggp_size *)a)->size;
    size_t y = ((const struct loggp_size *)b)->size;

    return (x > y) - (x < y);
}

static enum gauge_rc measure_all(struct side *side, const size_t *sizes, size_t count,
                                 struct loggp_size *found)
{
    struct gauge_bench *bench = side->bench;
    int messages = (int)gauge_option_bytes(bench->options, "messages");
    enum gauge_rc rc = GAUGE_OK;
    size_t kept = 0;

    if (messages < 8 || messages > MOST_MESSAGES) {
        return gauge_fail("loggp: --messages is 8 to %d", MOST_MESSAGES);
    }
    for (size_t i = 0; rc == GAUGE_OK && i < count; i++) {
        if (sizes[i] > 0) { /* the model begins with one byte */
            rc = measure_size(side, messages, sizes[i], &found[kept++]);
        }
    }
    if (rc == GAUGE_OK) {
        qsort(found, kept, sizeof(*found), compare);
        loggp_report(bench, found, kept, messages);
    }
    return rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct side side = {
        .bench = bench,
        .is_nonblocking = gauge_option_flag(bench->options, "nonblocking"),
    };
    size_t count = 0;
    const size_t *sizes = gauge_sizes(bench, &count);
    struct loggp_size *found = calloc(count + 1, sizeof(*found));
    size_t largest = 0;
    enum gauge_rc rc = GAUGE_FAILED;

    for (size_t i = 0; i < count; i++) {
        largest = sizes[i] > largest ? sizes[i] : largest;
    }
    side.out = gauge_alloc(bench, largest);
    side.in = gauge_alloc(bench, largest);
    if (side.out == NULL || side.in == NULL || found == NULL) {
        gauge_fail("loggp: no memory for %zu bytes", largest);
    } else {
        rc = measure_all(&side, sizes, count, found);
    }
    gauge_free(bench, side.out);
    gauge_free(bench, side.in);
    free(found);
    return rc;
}

static unsigned more_needs(struct gauge_option *given)
{
    return gauge_option_flag(given, "nonblocking") ? GAUGE_NONBLOCKING : 0;
}

const struct gauge_pattern gauge_loggp = {
    .name = "loggp",
    .description = "L, o_s, o_r, g and G of the LogGP model, with protocol changes",
    .method =
        "PRTT(n, d, s): end 0 sends n messages of s bytes with a pause of d between "
        "them;\n"
        "end 1 answers the last one with s bytes. From such round trips:\n"
        "    PRTT(1, 0, s) = 2 (o_s + L + o_r + (s - 1) G)\n"
        "    gap(s) = (PRTT(n, 0, s) - PRTT(1, 0, s)) / (n - 1)\n"
        "           = max(o_s, o_r, g + (s - 1) G)\n"
        "    o_s(s) = (PRTT(n, d, s) - PRTT(1, 0, s)) / (n - 1) - d, d = PRTT(1, 0, s)\n"
        "    o_r(s): the same, but end 1 pauses 2 d before each receive, minus 2 d\n"
        "    L      = PRTT(1, 0, 1) / 2 - o_s - o_r\n"
        "g and G come from a fit of max(c, g + (s - 1) G) to gap(s), in as many pieces "
        "as\n"
        "the Bayesian information criterion allows: another piece is another protocol.\n"
        "Where c hides g, it says so. gap(s) is measured with n and with n / 4 messages; "
        "if\n"
        "the two differ by more than their intervals, noise biases them, and it says "
        "so.\n",
    .needs = GAUGE_RELIABLE,
    .least_ends = 2,
    .options = options,
    .more_needs = more_needs,
    .benchmark = benchmark,
};
