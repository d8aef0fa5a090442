/*
 * one_one.c - pairs of ends send one message to and fro.
 *
 * The first end of a pair sends and reads the clock, the second answers. Pairs are
 * neighbours (0-1, 2-3, ...), random halves that are drawn anew for every point, or given
 * by the user; all pairs work at the same time. With --both the two ends of a pair send
 * at the same time. One end alone sends to itself.
 *
 * Exchanges that are not timed come before each sample. The partner is there when the
 * clock starts, although it may have come later from the barrier, and the buffers have
 * settled (see buffers.h).
 */
#include "gauge/patterns/buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gauge_option options[] = {
    {"pairs", GAUGE_TEXT, "neighbour", "KIND",
     "who talks to whom: neighbour, random, or a list such as 0-2,1-3"},
    {"both", GAUGE_FLAG, "no", NULL, "both ends of a pair send at the same time"},
    {"cold", GAUGE_FLAG, "no", NULL, "buffers are thrown out of the caches beforehand"},
    {"shift", GAUGE_BYTES, "0", "BYTES",
     "buffers begin so far behind the start of a page"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

struct pair {
    int peer;
    bool is_first; /* of its pair: it reads the clock */
    bool is_both;
    bool is_cold;
    void *out;
    void *in;
};

/* "0-2,1-3": our peer and whether we come first; false when the text is no such list. */
static bool read_pairs(const char *text, const struct gauge_bench *bench,
                       struct pair *pair)
{
    pair->peer = -1;
    while (*text != '\0') {
        int first = 0;
        int second = 0;
        int used = 0;

        if (sscanf(text, "%d-%d%n", &first, &second, &used) != 2 || first == second ||
            first < 0 || second < 0 || first >= bench->ends || second >= bench->ends) {
            return false;
        }
        if (first == bench->end || second == bench->end) {
            pair->is_first = first == bench->end;
            pair->peer = pair->is_first ? second : first;
        }
        text += used;
        text += *text == ',' ? 1 : 0;
    }
    return true;
}

static enum gauge_rc random_pairs(struct gauge_bench *bench, struct pair *pair)
{
    size_t ends = (size_t)bench->ends;
    size_t *order = calloc(ends, sizeof(*order));

    if (order == NULL) {
        return gauge_fail("one_one: no memory");
    }
    for (size_t i = 0; i < ends; i++) {
        order[i] = i;
    }
    gauge_shuffle(bench, order, ends);
    for (size_t i = 0; i < ends; i++) {
        if (order[i] == (size_t)bench->end) {
            pair->is_first = i < ends / 2;
            pair->peer = (int)order[(i + ends / 2) % ends];
        }
    }
    free(order);
    return GAUGE_OK;
}

static enum gauge_rc choose_pair(struct gauge_bench *bench, struct pair *pair)
{
    const char *kind = gauge_option_text(bench->options, "pairs");

    if (bench->ends == 1) {
        pair->peer = 0;
        pair->is_first = true;
        return GAUGE_OK;
    }
    if (strcmp(kind, "neighbour") == 0) {
        pair->peer = bench->end ^ 1;
        pair->is_first = bench->end % 2 == 0;
        return GAUGE_OK;
    }
    if (strcmp(kind, "random") == 0) {
        return random_pairs(bench, pair);
    }
    return read_pairs(kind, bench, pair)
               ? GAUGE_OK
               : gauge_fail("one_one: --pairs is neighbour, random, or 0-2,1-3 with "
                            "numbers of ends, and not \"%s\"",
                            kind);
}

/* The loops are here, and as short as can be: whatever stands between two calls of the
 * module is timed with them. */
static enum gauge_rc ask(struct gauge_bench *bench, const struct pair *pair, size_t size,
                         int times)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < times; i++) {
        rc = gauge_send(bench, pair->peer, pair->out, size);
        if (rc == GAUGE_OK) {
            rc = gauge_receive(bench, pair->peer, pair->in, size);
        }
    }
    return rc;
}

static enum gauge_rc answer(struct gauge_bench *bench, const struct pair *pair,
                            size_t size, int times)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < times; i++) {
        rc = gauge_receive(bench, pair->peer, pair->in, size);
        if (rc == GAUGE_OK) {
            rc = gauge_send(bench, pair->peer, pair->out, size);
        }
    }
    return rc;
}

/* Both ends send at once a message that no buffer may hold. The one that is ahead waits
 * longer, and less the next time: only two exchanges together tell. */
static enum gauge_rc cross(struct gauge_bench *bench, const struct pair *pair,
                           size_t size, int times)
{
    struct gauge_request out;
    struct gauge_request in;
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < times; i++) {
        rc = gauge_ireceive(bench, pair->peer, pair->in, size, &in);
        if (rc == GAUGE_OK) {
            rc = gauge_isend(bench, pair->peer, pair->out, size, &out);
        }
        if (rc == GAUGE_OK) {
            rc = gauge_wait(bench, &in);
        }
        if (rc == GAUGE_OK) {
            rc = gauge_wait(bench, &out);
        }
    }
    return rc;
}

static enum gauge_rc exchange(struct gauge_bench *bench, const struct pair *pair,
                              size_t size, int times)
{
    if (pair->is_both) {
        return cross(bench, pair, size, times);
    }
    return pair->is_first ? ask(bench, pair, size, times)
                          : answer(bench, pair, size, times);
}

/* What comes before the clock. Emptying caches takes a while, not the same for both, so
 * the two meet again after it. */
static enum gauge_rc prepare(struct gauge_bench *bench, const struct pair *pair,
                             size_t size, uint64_t sample)
{
    enum gauge_rc rc = exchange(bench, pair, size, BUFFERS_SETTLE);

    gauge_payload_stamp(pair->out, size, sample);
    if (rc == GAUGE_OK && pair->is_cold) {
        gauge_cool(bench, pair->out, size);
        gauge_cool(bench, pair->in, size);
        rc = exchange(bench, pair, 0, 1);
    }
    return rc;
}

static enum gauge_rc take_sample(struct gauge_bench *bench, const struct pair *pair,
                                 size_t size, const struct gauge_round *round,
                                 uint64_t sample)
{
    enum gauge_rc rc = prepare(bench, pair, size, sample);
    double start = gauge_now(bench);

    if (rc == GAUGE_OK) {
        rc = exchange(bench, pair, size, pair->is_both ? 2 * round->batch : round->batch);
    }
    if (rc != GAUGE_OK) {
        return rc;
    }
    if (pair->is_first) {
        gauge_sample(bench, gauge_now(bench) - start);
    }
    return gauge_payload_check(bench, pair->in, size, round->number, pair->peer, sample);
}

static enum gauge_rc measure(struct gauge_bench *bench, struct pair *pair, size_t size)
{
    struct gauge_point point = {
        .name = "latency",
        .size = size,
        .bytes = (double)size,
        .divide = 2,
    };
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(bench, &point);

    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        gauge_payload_make(pair->out, size, round.number, bench->end);
        for (int i = 0; rc == GAUGE_OK && pair->peer >= 0 && i < round.samples; i++) {
            rc = take_sample(bench, pair, size, &round, (uint64_t)i);
        }
        if (rc == GAUGE_LOST) {
            gauge_lost(bench);
            rc = GAUGE_OK;
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, NULL) : rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    size_t count = 0;
    const size_t *sizes = gauge_sizes(bench, &count);
    size_t shift = gauge_option_bytes(bench->options, "shift");
    size_t room = buffers_largest(sizes, count) + shift;
    struct buffers buffers;
    struct pair pair = {
        .is_both = gauge_option_flag(bench->options, "both"),
        .is_cold = gauge_option_flag(bench->options, "cold"),
    };
    enum gauge_rc rc = buffers_open(bench, &buffers, room, room, "one_one");

    if (rc == GAUGE_OK) {
        pair.out = buffers.out + shift;
        pair.in = buffers.in + shift;
    }
    for (size_t i = 0; rc == GAUGE_OK && i < count; i++) {
        rc = choose_pair(bench, &pair);
        if (rc == GAUGE_OK) {
            rc = measure(bench, &pair, sizes[i]);
        }
    }
    buffers_close(bench, &buffers);
    return rc;
}

static unsigned more_needs(struct gauge_option *given)
{
    return gauge_option_flag(given, "both") ? GAUGE_NONBLOCKING : 0;
}

const struct gauge_pattern gauge_one_one = {
    .name = "one_one",
    .description = "ping-pong between pairs of ends: latency and bandwidth",
    .method =
        "The first end of each pair reads the clock, sends s bytes, receives the "
        "answer of\n"
        "s bytes and reads the clock again. All pairs run at the same time.\n"
        "    latency(s) = T / 2        bandwidth(s) = s / latency(s)\n"
        "With --both the two ends send at the same time, twice, and latency(s) = T / 2 "
        "is the\n"
        "time in which s bytes go each way. One end alone sends to itself and receives, "
        "twice the\n"
        "copying of s bytes in T.\n"
        "Four exchanges that are not timed come before each sample: the partner "
        "is there, and\n"
        "caches are as sending leaves them, not as checking what came does.\n",
    .least_ends = 1,
    .has_even_ends = true,
    .options = options,
    .more_needs = more_needs,
    .benchmark = benchmark,
};
