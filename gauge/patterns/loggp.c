/*
 * loggp.c - the parameters of the LogGP model, from parametrised round trips.
 *
 * PRTT(n, d, s): end 0 sends n messages of s bytes with a pause of d between them, end 1
 * answers the last with one of s bytes. Everything is read from differences of such round
 * trips on one clock. A sample of o_s, o_r or B is that difference already, so that the
 * stop rule looks at the parameter and not at the long round trip that it hides in.
 *
 * The receiver pauses for 2 d where its own overhead is wanted: with equal pauses the
 * slower of the two ends would be seen, whichever it is. A pause ends with the first look
 * at the clock that is late enough, some 50 ns after it was due, which over shared memory
 * is more than the overhead; so each end measures how long its pauses really are.
 *
 * All sizes are measured in several turns. A machine is faster or slower for a while, by
 * 30 % on one that others share, and a size measured in one go would have an interval
 * that knows nothing of it; the fit would take the difference for a change of protocol.
 * The fit is in loggp_fit.c.
 */
#include "gauge/patterns/loggp.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_MESSAGES = 256, LEAST_TURNS = 6, PAUSES = 9, TRIES = 21 };

static struct gauge_option options[] = {
    {"messages", GAUGE_COUNT, "16", "N", "messages in a round trip, 8 to 256"},
    {"passes", GAUGE_COUNT, "9", "N",
     "how often each size is measured, 6 to 32; --time is shared between them"},
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
    int turn;
    double length; /* ns that it takes, roughly; 0: not known */
    double width;  /* of the interval that is wanted; 0: as always */
};

struct side {
    struct gauge_bench *bench;
    void *out;
    void *in;
    bool is_nonblocking;
    int messages;
    int turns;
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
                             double *median)
{
    struct gauge_bench *bench = side->bench;
    struct gauge_summary summary = {.median = NAN};
    struct gauge_point point = {
        .name = trip->name,
        .size = size,
        .key = {{"messages", trip->messages}, {"delay_ns", trip->delay}},
        .divide = trip->messages > 1 ? trip->messages - 1 : 1,
        .width = trip->width,
        .length = trip->length,
        .turn = trip->turn,
        .turns = side->turns,
    };
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(bench, &point);

    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        gauge_payload_make(side->out, size, round.number, bench->end);
        for (int i = 0; rc == GAUGE_OK && i < round.samples; i++) {
            rc = take_sample(side, trip, size, &round, (uint64_t)i);
        }
    }
    if (rc == GAUGE_OK) {
        rc = gauge_point_close(bench, &summary);
    }
    *median = summary.median;
    return rc;
}

/* How long a pause really is on this end: the median of a few tries. */
static double length_of_pause(const struct gauge_bench *bench, double nanoseconds)
{
    double tries[TRIES];

    for (int i = 0; i < TRIES; i++) {
        double start = gauge_now(bench);
        double read = gauge_now(bench);

        for (int j = 0; j < PAUSES; j++) {
            gauge_pass(bench, nanoseconds);
        }
        tries[i] = (gauge_now(bench) - read - (read - start)) / PAUSES;
    }
    return gauge_estimate(tries, TRIES).value;
}

/* The pauses of a size: one round trip where it was first measured, and what that comes
 * to at the sender, and twice as much at the receiver. */
static enum gauge_rc choose_pauses(struct side *side, struct loggp_size *size)
{
    struct gauge_bench *bench = side->bench;
    double mine = 0;
    double *all = calloc((size_t)bench->ends, sizeof(*all));
    enum gauge_rc rc = GAUGE_OK;

    if (all == NULL) {
        return gauge_fail("loggp: no memory");
    }
    size->delay = size->round_trip[0];
    mine = length_of_pause(bench, bench->end == 0 ? size->delay : 2 * size->delay);
    rc = gauge_exchange(bench, &mine, sizeof(mine), all);
    size->send_pause = all[0];
    size->receive_pause = all[1];
    free(all);
    return rc;
}

static enum gauge_rc measure_size(struct side *side, struct loggp_size *size, int turn)
{
    int messages = side->messages;
    double gaps = messages - 1;
    struct trip once = {
        .name = "prtt", .messages = 1, .width = LOGGP_ROUND_TRIP_WIDTH, .turn = turn + 1};
    enum gauge_rc rc = measure(side, &once, size->size, &size->round_trip[turn]);
    double trip = size->round_trip[turn];
    struct trip burst = {.name = "gap",
                         .messages = messages,
                         .offset = trip,
                         .length = trip,
                         .turn = turn + 1};
    struct trip short_burst = burst;
    struct trip send = burst;
    struct trip receive = burst;

    if (rc == GAUGE_OK && turn == 0) {
        rc = choose_pauses(side, size);
    }
    short_burst.messages = messages / 4;
    send.name = "o_s";
    send.delay = receive.delay = size->delay;
    send.offset = trip + gaps * size->send_pause;
    send.length = size->delay * messages;
    receive.name = "o_r";
    receive.pause = 2 * size->delay;
    receive.offset = trip + gaps * size->receive_pause;
    receive.length = 2 * size->delay * messages;
    if (rc == GAUGE_OK) {
        rc = measure(side, &burst, size->size, &size->gap[turn]);
    }
    if (rc == GAUGE_OK) {
        rc = measure(side, &short_burst, size->size, &size->short_gap[turn]);
    }
    if (rc == GAUGE_OK) {
        rc = measure(side, &send, size->size, &size->send[turn]);
    }
    return rc == GAUGE_OK ? measure(side, &receive, size->size, &size->receive[turn])
                          : rc;
}

static int compare(const void *a, const void *b)
{
    size_t x = ((const struct loggp_size *)a)->size;
    size_t y = ((const struct loggp_size *)b)->size;

    return (x > y) - (x < y);
}

/* In every turn the sizes have another order. */
static enum gauge_rc measure_all(struct side *side, struct loggp_size *sizes,
                                 size_t count, size_t *order)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int turn = 0; rc == GAUGE_OK && turn < side->turns; turn++) {
        gauge_shuffle(side->bench, order, count);
        for (size_t i = 0; rc == GAUGE_OK && i < count; i++) {
            rc = measure_size(side, &sizes[order[i]], turn);
        }
    }
    if (rc == GAUGE_OK) {
        loggp_report(side->bench, sizes, count, side->turns);
    }
    return rc;
}

static enum gauge_rc check_options(const struct side *side)
{
    if (side->messages < 8 || side->messages > MOST_MESSAGES) {
        return gauge_fail("loggp: --messages is 8 to %d", MOST_MESSAGES);
    }
    if (side->turns < LEAST_TURNS || side->turns > GAUGE_TURNS) {
        return gauge_fail("loggp: --passes is %d to %d", LEAST_TURNS, GAUGE_TURNS);
    }
    return GAUGE_OK;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct side side = {
        .bench = bench,
        .is_nonblocking = gauge_option_flag(bench->options, "nonblocking"),
        .messages = (int)gauge_option_bytes(bench->options, "messages"),
        .turns = (int)gauge_option_bytes(bench->options, "passes"),
    };
    size_t given = 0;
    size_t count = 0;
    const size_t *sizes = gauge_sizes(bench, &given);
    struct loggp_size *found = calloc(given + 1, sizeof(*found));
    size_t *order = calloc(given + 1, sizeof(*order));
    enum gauge_rc rc = check_options(&side);

    for (size_t i = 0; found != NULL && order != NULL && i < given; i++) {
        if (sizes[i] > 0) { /* the model begins with one byte */
            order[count] = count;
            found[count++].size = sizes[i];
        }
    }
    if (count > 0) {
        qsort(found, count, sizeof(*found), compare);
        side.out = gauge_alloc(bench, found[count - 1].size);
        side.in = gauge_alloc(bench, found[count - 1].size);
    }
    if (rc == GAUGE_OK && count > 0 && (side.out == NULL || side.in == NULL)) {
        rc = gauge_fail("loggp: no memory for %zu bytes", found[count - 1].size);
    } else if (rc == GAUGE_OK && (found == NULL || order == NULL)) {
        rc = gauge_fail("loggp: no memory");
    } else if (rc == GAUGE_OK) {
        rc = measure_all(&side, found, count, order);
    }
    gauge_free(bench, side.out);
    gauge_free(bench, side.in);
    free(found);
    free(order);
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
        "Pauses are taken as long as each end finds them to be. Every size is measured "
        "in\n"
        "several turns, all sizes in each; intervals are those of the medians of the "
        "turns.\n"
        "Where sending carries the message all the way, as a system call on a loopback\n"
        "does, the way is part of o_s and both overheads together take longer than half "
        "a\n"
        "round trip: then L cannot be told apart from them, and it says so.\n"
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
    .has_parameters = true,
    .benchmark = benchmark,
};
