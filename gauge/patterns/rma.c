/*
 * rma.c - one-sided communication: the tests of the paper on MPI-2 over InfiniBand.
 *
 * End 0 is timed; ends from 1 on are its partners, in most tests only the first of them.
 * Before each sample the ends that take part meet by messages of one byte, so that nobody
 * is timed while another one still makes or checks bytes. Then a few epochs are done
 * outside of the clock, which leave buffers in the caches as the operations do.
 */
#include "gauge/patterns/rma.h"

#include "gauge/patterns/work.h"

#include <string.h>

static struct gauge_option options[] = {
    {"test", GAUGE_TEXT, "all", "NAME",
     "latency, both, put, get, sync, overlap, skew, origins, or all"},
    {"window", GAUGE_TEXT, "create", "KIND",
     "create (memory of the program) or allocate (memory of the library)"},
    {"burst", GAUGE_COUNT, "16", "N", "operations in an epoch of a bandwidth test"},
    {"message", GAUGE_BYTES, "64K", "BYTES",
     "size of an operation in overlap, skew and origins"},
    {"from", GAUGE_NUMBER, "1000", "NS",
     "shortest work in overlap and skew, besides none"},
    {"to", GAUGE_NUMBER, "1024000", "NS", "longest work; each is twice the one before"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

/* Samples */

static bool takes_part(const struct rma *rma)
{
    return rma->bench->end <= rma->partners;
}

/* Nobody goes on before all that take part have come. */
static enum gauge_rc meet(struct rma *rma)
{
    unsigned char sign = 1;
    enum gauge_rc rc = GAUGE_OK;

    if (rma->bench->end > 0) {
        rc = gauge_send(rma->bench, 0, &sign, 1);
        return rc == GAUGE_OK ? gauge_receive(rma->bench, 0, &sign, 1) : rc;
    }
    for (int i = 1; rc == GAUGE_OK && i <= rma->partners; i++) {
        rc = gauge_receive(rma->bench, i, &sign, 1);
    }
    for (int i = 1; rc == GAUGE_OK && i <= rma->partners; i++) {
        rc = gauge_send(rma->bench, i, &sign, 1);
    }
    return rc;
}

static enum gauge_rc call(enum gauge_rc (*const of[2])(struct rma *rma), struct rma *rma)
{
    enum gauge_rc (*what)(struct rma *) = of[rma->bench->end == 0 ? 0 : 1];

    return what != NULL ? what(rma) : GAUGE_OK;
}

static enum gauge_rc settle(struct rma *rma, const struct rma_test *test)
{
    enum gauge_rc rc = GAUGE_OK;

    rma->is_settling = true;
    for (int i = 0; rc == GAUGE_OK && i < BUFFERS_SETTLE; i++) {
        rc = call(test->before, rma);
        if (rc == GAUGE_OK) {
            rc = call(test->act, rma);
        }
        if (rc == GAUGE_OK) {
            rc = call(test->after, rma);
        }
    }
    rma->is_settling = false;
    return rc;
}

static enum gauge_rc time_batch(struct rma *rma, const struct rma_test *test, int batch)
{
    enum gauge_rc rc = call(test->before, rma);
    double start = gauge_now(rma->bench);

    for (int i = 0; rc == GAUGE_OK && i < batch; i++) {
        rc = call(test->act, rma);
    }
    if (rc == GAUGE_OK && rma->bench->end == 0) {
        gauge_sample(rma->bench, gauge_now(rma->bench) - start);
    }
    return rc == GAUGE_OK ? call(test->after, rma) : rc;
}

/* Bytes */

/* Where this end makes bytes for others; NULL: nowhere. */
static unsigned char *source_of(struct rma *rma, const struct rma_test *test)
{
    bool is_partner = rma->bench->end > 0;

    switch (test->bytes) {
    case RMA_PUT:
        return is_partner ? NULL : rma->buffers.out;
    case RMA_GET:
        return is_partner ? rma->window : NULL;
    case RMA_GATHER:
        return is_partner ? rma->buffers.out : NULL;
    case RMA_SWAP:
    case RMA_SEND:
        return rma->buffers.out;
    case RMA_NOTHING:
        break;
    }
    return NULL;
}

/* Where this end finds the bytes of others; NULL: nowhere. */
static unsigned char *sink_of(struct rma *rma, const struct rma_test *test)
{
    bool is_partner = rma->bench->end > 0;

    switch (test->bytes) {
    case RMA_PUT:
        return is_partner ? rma->window : NULL;
    case RMA_GET:
        return is_partner ? NULL : rma->buffers.in;
    case RMA_GATHER:
        return is_partner ? NULL : rma->window;
    case RMA_SWAP:
        return rma->window;
    case RMA_SEND:
        return rma->buffers.in;
    case RMA_NOTHING:
        break;
    }
    return NULL;
}

static void make(struct rma *rma, const struct rma_test *test, uint64_t round)
{
    unsigned char *source = source_of(rma, test);

    for (int i = 0; source != NULL && i < rma->burst; i++) {
        gauge_payload_make(source + rma_place(rma, 0, i), rma->size, round,
                           rma->bench->end);
    }
}

static void stamp(struct rma *rma, const struct rma_test *test, uint64_t sample)
{
    unsigned char *source = source_of(rma, test);

    for (int i = 0; source != NULL && i < rma->burst; i++) {
        gauge_payload_stamp(source + rma_place(rma, 0, i), rma->size, sample);
    }
}

static enum gauge_rc check(struct rma *rma, const struct rma_test *test, uint64_t round,
                           uint64_t sample)
{
    const unsigned char *sink = sink_of(rma, test);
    int senders = test->bytes == RMA_GATHER ? rma->partners : 1;
    enum gauge_rc rc = GAUGE_OK;

    for (int from = 0; sink != NULL && from < senders; from++) {
        int sender = rma->bench->end == 0 ? from + 1 : 0;

        for (int i = 0; rc == GAUGE_OK && i < rma->burst; i++) {
            rc = gauge_payload_check(rma->bench, sink + rma_place(rma, from, i),
                                     rma->size, round, sender, sample);
        }
    }
    return rc;
}

/* Points */

static enum gauge_rc choose(struct rma *rma)
{
    const struct gauge_one_sided *windows = rma->bench->module->one_sided;
    int ends[GAUGE_MOST_PARTNERS];

    if (rma->bench->end > 0) {
        ends[0] = 0;
        return windows->choose(rma->bench->module, ends, 1);
    }
    for (int i = 0; i < rma->partners; i++) {
        ends[i] = i + 1;
    }
    return windows->choose(rma->bench->module, ends, rma->partners);
}

static enum gauge_rc take(struct rma *rma, const struct rma_test *test,
                          const struct gauge_round *round)
{
    enum gauge_rc rc = GAUGE_OK;

    make(rma, test, round->number);
    for (int i = 0; rc == GAUGE_OK && i < round->samples; i++) {
        stamp(rma, test, (uint64_t)i);
        rc = meet(rma);
        if (rc == GAUGE_OK) {
            rc = settle(rma, test);
        }
        if (rc == GAUGE_OK) {
            rc = time_batch(rma, test, round->batch);
        }
        if (rc == GAUGE_OK) {
            rc = check(rma, test, round->number, (uint64_t)i);
        }
    }
    return rc;
}

static enum gauge_rc measure(struct rma *rma, const struct rma_test *test, double key)
{
    struct gauge_point point = {
        .name = test->name,
        .size = test->bytes == RMA_NOTHING ? 0 : rma->size,
        .divide = test->divide,
        .is_single = test->is_single,
    };
    struct gauge_round round;
    enum gauge_rc rc = GAUGE_OK;

    if (test->bytes != RMA_NOTHING) {
        point.bytes = (double)rma->size * rma->burst *
                      (test->bytes == RMA_GATHER ? rma->partners : 1);
    }
    if (test->key != NULL) {
        point.key[0].key = test->key;
        point.key[0].value = key;
    }
    if (rma->burst > 1) {
        point.key[test->key != NULL].key = "burst";
        point.key[test->key != NULL].value = rma->burst;
    }
    rc = gauge_point_open(rma->bench, &point);
    if (rc == GAUGE_OK && takes_part(rma)) {
        rc = choose(rma);
    }
    while (rc == GAUGE_OK && gauge_round(rma->bench, &round)) {
        if (takes_part(rma)) {
            rc = take(rma, test, &round);
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(rma->bench, NULL) : rc;
}

static enum gauge_rc measure_sizes(struct rma *rma, const struct rma_test *test)
{
    size_t count = 0;
    const size_t *sizes = gauge_sizes(rma->bench, &count);
    enum gauge_rc rc = GAUGE_OK;

    for (size_t i = 0; rc == GAUGE_OK && i < count; i++) {
        rma->size = sizes[i];
        if (rma->size > 0) {
            rc = measure(rma, test, 0);
        }
    }
    return rc;
}

static enum gauge_rc measure_work(struct rma *rma, const struct rma_test *test)
{
    double from = gauge_option_number(options, "from");
    double to = gauge_option_number(options, "to");
    double speed = work_speed(rma->bench);
    enum gauge_rc rc = measure(rma, test, 0);

    for (double work = from; rc == GAUGE_OK && work <= to; work *= 2) {
        rma->loops = work_loops(speed, work);
        rc = measure(rma, test, work);
    }
    rma->loops = 0;
    return rc;
}

static enum gauge_rc measure_counts(struct rma *rma, const struct rma_test *test)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int count = 1; rc == GAUGE_OK && count < rma->bench->ends; count++) {
        rma->partners = count;
        rc = measure(rma, test, count);
    }
    rma->partners = 1;
    return rc;
}

static enum gauge_rc measure_test(struct rma *rma, const struct rma_test *test)
{
    bool has_burst = test->kind != RMA_SIZES && test->bytes != RMA_NOTHING;

    rma->burst = has_burst ? (int)gauge_option_bytes(options, "burst") : 1;
    rma->size = gauge_option_bytes(options, "message");
    switch (test->kind) {
    case RMA_SIZES:
    case RMA_BURSTS:
        return measure_sizes(rma, test);
    case RMA_WORK:
        return measure_work(rma, test);
    case RMA_COUNTS:
        break;
    }
    return measure_counts(rma, test);
}

static bool is_chosen(const struct rma_test *test, const char *chosen)
{
    return strcmp(chosen, "all") == 0 || strcmp(chosen, test->title) == 0;
}

static enum gauge_rc refuse(const struct gauge_bench *bench, const char *chosen)
{
    const char *window = gauge_option_text(options, "window");
    bool is_known = false;

    for (int i = 0; gauge_rma_tests[i].name != NULL; i++) {
        is_known = is_known || is_chosen(&gauge_rma_tests[i], chosen);
    }
    if (!is_known) {
        return gauge_fail("rma: --test is latency, both, put, get, sync, overlap, skew, "
                          "origins or all");
    }
    if (strcmp(window, "create") != 0 && strcmp(window, "allocate") != 0) {
        return gauge_fail("rma: --window is create or allocate");
    }
    if (gauge_option_bytes(options, "burst") < 1 ||
        gauge_option_bytes(options, "burst") > 1024 ||
        gauge_option_bytes(options, "message") < 1 ||
        gauge_option_number(options, "from") < 1000) {
        return gauge_fail(
            "rma: --burst is 1 to 1024, messages have bytes, and work takes "
            "1000 ns at least");
    }
    if (bench->ends > GAUGE_MOST_PARTNERS + 1) {
        return gauge_fail("rma: at most %d ends", GAUGE_MOST_PARTNERS + 1);
    }
    return GAUGE_OK;
}

/* The window of each end has room for a burst of the largest size, and for one of
 * --message from every other end. */
static enum gauge_rc open_all(struct rma *rma)
{
    struct gauge_bench *bench = rma->bench;
    size_t count = 0;
    const size_t *sizes = gauge_sizes(bench, &count);
    size_t burst = gauge_option_bytes(options, "burst");
    size_t message = gauge_option_bytes(options, "message");
    size_t largest = buffers_largest(sizes, count);
    size_t place = burst * (largest > message ? largest : message);
    size_t window = burst * message * (size_t)(bench->ends - 1);
    void *memory = NULL;
    enum gauge_rc rc = buffers_open(bench, &rma->buffers, place, place, "rma");

    if (rc != GAUGE_OK) {
        return rc;
    }
    rc = bench->module->one_sided->open(
        bench->module, window > place ? window : place,
        strcmp(gauge_option_text(options, "window"), "allocate") == 0, &memory);
    rma->window = memory;
    if (rc != GAUGE_OK) {
        buffers_close(bench, &rma->buffers);
    }
    return rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct rma rma = {.bench = bench, .partners = 1};
    const char *chosen = gauge_option_text(options, "test");
    enum gauge_rc rc = refuse(bench, chosen);

    if (rc == GAUGE_OK) {
        rc = open_all(&rma);
    }
    if (rc != GAUGE_OK) {
        return rc;
    }
    for (int i = 0; rc == GAUGE_OK && gauge_rma_tests[i].name != NULL; i++) {
        if (is_chosen(&gauge_rma_tests[i], chosen)) {
            rc = measure_test(&rma, &gauge_rma_tests[i]);
        }
    }
    if (rc == GAUGE_OK) {
        bench->module->one_sided->close(bench->module);
        buffers_close(bench, &rma.buffers);
    }
    return rc; /* after a failure others may still write into what would be freed */
}

const struct gauge_pattern gauge_rma = {
    .name = "rma",
    .description = "one-sided communication: latency, bandwidth, epochs, overlap, skew",
    .method =
        "The tests of the paper on MPI-2 one-sided communication over InfiniBand, by "
        "windows and\n"
        "the epochs post, start, complete, wait; W is --burst. End 0 is timed.\n"
        "    latency  put_latency: an epoch with a put of s bytes; two, there and back, "
        "are timed,\n"
        "             and divided by 2 (Figure 5)\n"
        "    both     put_fence: both ends put s bytes, and a fence; two_sided: the same "
        "by\n"
        "             non-blocking messages (Figure 6)\n"
        "    put, get put_burst, get_burst: an epoch with W operations of s bytes "
        "(Figures "
        "7, 8)\n"
        "    sync     sync_origins: an epoch without operations, from post to wait, of 1 "
        "to n\n"
        "             origins; sync_targets: from start to complete, of 1 to n targets "
        "(Figure 9)\n"
        "    overlap  work_at_origin: an epoch with W puts of --message bytes, work "
        "after "
        "each\n"
        "             (Figure 10)\n"
        "    skew     work_at_target: such an epoch at the origin, from start to "
        "complete, "
        "while\n"
        "             the target works between post and wait (Figure 11)\n"
        "    origins  put_origins: from post to wait while 1 to n origins put W times "
        "--message\n"
        "             bytes each (Figure 12)\n"
        "    rate = all bytes that an epoch moves / its time\n"
        "Epochs of a sample follow each other, but for skew, where each starts when the\n"
        "target has posted.\n",
    .needs = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_NONBLOCKING | GAUGE_ONE_SIDED,
    .least_ends = 2,
    .options = options,
    .benchmark = benchmark,
};
