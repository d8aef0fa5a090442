/*
 * stream.c - windows of messages in one direction: bandwidth and message rate.
 *
 * Ends 0-1, 2-3, ... are pairs. The first of a pair starts a window of messages at once,
 * the second has its receives posted and answers with an empty message when all have
 * come. It is measured with 1, 2, 4, ... pairs at work and with all of them.
 *
 * Each receive of a window has a place of its own, as MPI demands, so the window shrinks
 * when it would take too much memory.
 */
#include "gauge/patterns/buffers.h"

#include <stdlib.h>

enum { MOST_WINDOW = 1024, MOST_BYTES = 16 << 20 };

static struct gauge_option options[] = {
    {"window", GAUGE_COUNT, "64", "N", "messages under way at once, 1 to 1024"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

struct side {
    struct gauge_bench *bench;
    struct buffers buffers;
    struct gauge_request *request;
    size_t asked; /* window that the user wants */
    size_t size;
    size_t window;
    int peer;
    bool is_sender;
};

/* At least two messages, so that there is something under way behind the first. */
static size_t window_of(size_t asked, size_t size)
{
    size_t fitting = size > 0 ? MOST_BYTES / size : asked;

    fitting = fitting > 2 ? fitting : 2;
    return asked < fitting ? asked : fitting;
}

static enum gauge_rc wait_all(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    for (size_t i = 0; rc == GAUGE_OK && i < side->window; i++) {
        rc = gauge_wait(side->bench, &side->request[i]);
    }
    return rc;
}

static enum gauge_rc send_window(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    for (size_t i = 0; rc == GAUGE_OK && i < side->window; i++) {
        rc = gauge_isend(side->bench, side->peer, side->buffers.out, side->size,
                         &side->request[i]);
    }
    if (rc == GAUGE_OK) {
        rc = wait_all(side);
    }
    return rc == GAUGE_OK ? gauge_receive(side->bench, side->peer, side->buffers.in, 0)
                          : rc;
}

static enum gauge_rc receive_window(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    for (size_t i = 0; rc == GAUGE_OK && i < side->window; i++) {
        rc = gauge_ireceive(side->bench, side->peer, side->buffers.in + i * side->size,
                            side->size, &side->request[i]);
    }
    if (rc == GAUGE_OK) {
        rc = wait_all(side);
    }
    return rc == GAUGE_OK ? gauge_send(side->bench, side->peer, side->buffers.out, 0)
                          : rc;
}

static enum gauge_rc move_window(struct side *side)
{
    return side->is_sender ? send_window(side) : receive_window(side);
}

/* What comes before the clock: windows that are not timed, until the buffers have
 * settled, then a word that the receiver is there. */
static enum gauge_rc prepare(struct side *side, uint64_t sample)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < BUFFERS_SETTLE; i++) {
        rc = move_window(side);
    }
    gauge_payload_stamp(side->buffers.out, side->size, sample);
    if (rc != GAUGE_OK) {
        return rc;
    }
    return side->is_sender ? gauge_receive(side->bench, side->peer, side->buffers.in, 0)
                           : gauge_send(side->bench, side->peer, side->buffers.out, 0);
}

static enum gauge_rc take_sample(struct side *side, const struct gauge_round *round,
                                 uint64_t sample)
{
    struct gauge_bench *bench = side->bench;
    enum gauge_rc rc = prepare(side, sample);
    double start = gauge_now(bench);

    for (int i = 0; rc == GAUGE_OK && i < round->batch; i++) {
        rc = move_window(side);
    }
    if (rc == GAUGE_OK && side->is_sender) {
        gauge_sample(bench, gauge_now(bench) - start);
    }
    for (size_t i = 0; rc == GAUGE_OK && !side->is_sender && i < side->window; i++) {
        rc = gauge_payload_check(bench, side->buffers.in + i * side->size, side->size,
                                 round->number, side->peer, sample);
    }
    return rc;
}

/* What all pairs move together: the sum of the rates of each. */
static void report_total(struct side *side)
{
    const struct gauge_summary *of = gauge_summaries(side->bench);
    struct gauge_result rate = {.name = "message_rate", .unit = "per_second"};
    struct gauge_result bytes = {.name = "bandwidth", .unit = "bytes_per_second"};
    double size = (double)side->size;

    for (int i = 0; side->bench->end == 0 && i < side->bench->ends; i++) {
        if (of[i].count > 0) {
            rate.value += 1e9 / of[i].median;
            rate.low += 1e9 / of[i].high;
            rate.high += 1e9 / of[i].low;
        }
    }
    rate.note = size > 0 ? NULL : "of empty messages";
    rate.size_from = rate.size_to = bytes.size_from = bytes.size_to = size;
    bytes.value = size * rate.value;
    bytes.low = size * rate.low;
    bytes.high = size * rate.high;
    gauge_result(side->bench, &rate);
    if (size > 0) {
        gauge_result(side->bench, &bytes);
    }
}

static enum gauge_rc measure(struct side *side, int pairs)
{
    struct gauge_bench *bench = side->bench;
    struct gauge_point point = {
        .name = "message",
        .size = side->size,
        .bytes = (double)side->size,
        .key = {{"pairs", pairs}, {"window", (double)side->window}},
        .divide = (double)side->window,
    };
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(bench, &point);

    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        gauge_payload_make(side->buffers.out, side->size, round.number, bench->end);
        for (int i = 0; rc == GAUGE_OK && bench->end < 2 * pairs && i < round.samples;
             i++) {
            rc = take_sample(side, &round, (uint64_t)i);
        }
    }
    if (rc == GAUGE_OK) {
        rc = gauge_point_close(bench, NULL);
    }
    if (rc == GAUGE_OK && 2 * pairs == bench->ends) {
        report_total(side);
    }
    return rc;
}

static enum gauge_rc measure_size(struct side *side, size_t size)
{
    int most = side->bench->ends / 2;
    enum gauge_rc rc = GAUGE_OK;

    side->size = size;
    side->window = window_of(side->asked, size);
    for (int pairs = 1; rc == GAUGE_OK && pairs < most; pairs *= 2) {
        rc = measure(side, pairs);
    }
    return rc == GAUGE_OK ? measure(side, most) : rc;
}

/* The most that a window takes; small sizes may have the larger windows. */
static size_t room_for(const struct side *side, const size_t *sizes, size_t count)
{
    size_t room = 0;

    for (size_t i = 0; i < count; i++) {
        size_t bytes = window_of(side->asked, sizes[i]) * sizes[i];

        room = bytes > room ? bytes : room;
    }
    return room;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct side side = {
        .bench = bench,
        .asked = gauge_option_bytes(bench->options, "window"),
        .peer = bench->end ^ 1,
        .is_sender = bench->end % 2 == 0,
    };
    size_t count = 0;
    const size_t *sizes = gauge_sizes(bench, &count);
    enum gauge_rc rc = GAUGE_OK;

    if (side.asked < 1 || side.asked > MOST_WINDOW) {
        return gauge_fail("stream: --window is 1 to %d", MOST_WINDOW);
    }
    side.request = calloc(side.asked, sizeof(*side.request));
    rc = side.request != NULL
             ? buffers_open(bench, &side.buffers, buffers_largest(sizes, count),
                            room_for(&side, sizes, count), "stream")
             : gauge_fail("stream: no memory");
    for (size_t i = 0; rc == GAUGE_OK && i < count; i++) {
        rc = measure_size(&side, sizes[i]);
    }
    if (side.buffers.out != NULL) {
        buffers_close(bench, &side.buffers);
    }
    free(side.request);
    return rc;
}

const struct gauge_pattern gauge_stream = {
    .name = "stream",
    .description = "windows of messages in one direction: bandwidth and message rate",
    .method =
        "The first end of a pair reads the clock, starts w messages of s bytes, waits "
        "for\n"
        "them and for the empty answer that the second end gives when all have come, "
        "and\n"
        "reads the clock again. Pairs are 0-1, 2-3, ...; 1, 2, 4, ... and all of them "
        "work.\n"
        "    time per message = T / w    message rate = sum over pairs of w / T\n"
        "    bandwidth = s * message rate\n"
        "The way of the answer is part of T; a larger window makes its share smaller. "
        "The\n"
        "window shrinks for sizes of which it would hold more than 16 MiB. The results "
        "are\n"
        "those of all pairs together. Four windows that are not timed come before each "
        "sample,\n"
        "so that caches are as sending leaves them, not as checking what came does.\n",
    .needs = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_NONBLOCKING,
    .least_ends = 2,
    .has_even_ends = true,
    .options = options,
    .benchmark = benchmark,
};
