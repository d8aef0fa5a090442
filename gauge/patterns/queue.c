/*
 * queue.c - what each entry costs that waits in a queue while a message passes by.
 *
 * End 0 and end 1 send an empty message to and fro. The other ends fill end 0's queues:
 * with receives that it has posted from them and that they do not serve yet, or with
 * messages of theirs that it has not asked for. Messages have no tags here, so entries
 * are spread over sources: the more ends there are besides the first two, the wider.
 */
#include "gauge/patterns/buffers.h"

#include <math.h>
#include <stdlib.h>

enum { FILL = 8, MOST_DEPTH = 65536, MOST_POINTS = 20 };

static struct gauge_option options[] = {
    {"depth", GAUGE_COUNT, "512", "N", "entries at most; from 1 on they double"},
    {"kind", GAUGE_TEXT, "both", "KIND", "posted, unexpected, or both"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

struct side {
    struct gauge_bench *bench;
    struct buffers buffers; /* a place for each entry */
    struct gauge_request *request;
    int depth;
    bool is_posted;
};

/* What was found at one depth. */
struct found {
    double depth, time, half;
};

/* Entry i is with that end. */
static int source_of(const struct side *side, int i)
{
    return 2 + i % (side->bench->ends - 2);
}

static enum gauge_rc post_all(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->depth; i++) {
        rc = gauge_ireceive(side->bench, source_of(side, i),
                            side->buffers.in + (size_t)i * FILL, FILL, &side->request[i]);
    }
    return rc;
}

static enum gauge_rc wait_all(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->depth; i++) {
        if (side->bench->end == 0 || source_of(side, i) == side->bench->end) {
            rc = gauge_wait(side->bench, &side->request[i]);
        }
    }
    return rc;
}

static enum gauge_rc send_mine(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->depth; i++) {
        if (source_of(side, i) == side->bench->end) {
            rc = gauge_isend(side->bench, 0, side->buffers.out, FILL, &side->request[i]);
        }
    }
    return rc;
}

/*
 * Unexpected messages are there when those who sent them have told end 1 so, and end 1
 * end 0, who looks at what comes all the while.
 */
static enum gauge_rc fill(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    enum gauge_rc rc = GAUGE_OK;

    if (side->is_posted) {
        return bench->end == 0 ? post_all(side) : GAUGE_OK;
    }
    if (bench->end == 0) {
        return gauge_receive(bench, 1, side->buffers.in, 0);
    }
    if (bench->end == 1) {
        for (int i = 2; rc == GAUGE_OK && i < bench->ends; i++) {
            rc = gauge_receive(bench, i, side->buffers.in, 0);
        }
        return rc == GAUGE_OK ? gauge_send(bench, 0, side->buffers.out, 0) : rc;
    }
    rc = send_mine(side);
    return rc == GAUGE_OK ? gauge_send(bench, 1, side->buffers.out, 0) : rc;
}

static enum gauge_rc empty(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    if (side->bench->end == 1) {
        return GAUGE_OK;
    }
    if (side->is_posted && side->bench->end > 1) {
        rc = send_mine(side);
    } else if (!side->is_posted && side->bench->end == 0) {
        rc = post_all(side);
    }
    return rc == GAUGE_OK ? wait_all(side) : rc;
}

static enum gauge_rc round_trip(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    int peer = 1 - bench->end;
    enum gauge_rc rc = GAUGE_OK;

    if (bench->end == 0) {
        rc = gauge_send(bench, peer, side->buffers.out, 0);
        return rc == GAUGE_OK ? gauge_receive(bench, peer, side->buffers.in, 0) : rc;
    }
    rc = gauge_receive(bench, peer, side->buffers.in, 0);
    return rc == GAUGE_OK ? gauge_send(bench, peer, side->buffers.out, 0) : rc;
}

static enum gauge_rc take_sample(struct side *side, const struct gauge_round *round)
{
    struct gauge_bench *bench = side->bench;
    double start = gauge_now(bench);
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < round->batch; i++) {
        rc = round_trip(side);
    }
    if (rc == GAUGE_OK && bench->end == 0) {
        gauge_sample(bench, gauge_now(bench) - start);
    }
    return rc;
}

static enum gauge_rc measure(struct side *side, struct found *found)
{
    struct gauge_bench *bench = side->bench;
    struct gauge_point point = {
        .name = side->is_posted ? "posted" : "unexpected",
        .key = {{"depth", side->depth}, {"sources", bench->ends - 2}},
    };
    struct gauge_summary summary = {0};
    struct gauge_round round;
    enum gauge_rc rc = fill(side);

    if (rc == GAUGE_OK) {
        rc = gauge_point_open(bench, &point);
    }
    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        for (int i = 0; rc == GAUGE_OK && bench->end < 2 && i < round.samples; i++) {
            rc = take_sample(side, &round);
        }
    }
    if (rc == GAUGE_OK) {
        rc = gauge_point_close(bench, &summary);
    }
    *found = (struct found){side->depth, summary.median,
                            isnan(summary.low) ? 0 : (summary.high - summary.low) / 2};
    return rc == GAUGE_OK ? empty(side) : rc;
}

/* The slope of time over depth, weighted by the intervals where all are known. */
static void report(struct side *side, const struct found *found, int count)
{
    double weight = 0, x = 0, y = 0, xx = 0, xy = 0, half = 0;
    bool is_weighted = true;
    struct gauge_result result = {.unit = "ns"};

    for (int i = 0; i < count; i++) {
        is_weighted = is_weighted && found[i].half > 0;
    }
    for (int i = 0; i < count; i++) {
        double w = is_weighted ? pow(found[i].half, -2) : 1;

        weight += w;
        x += w * found[i].depth;
        y += w * found[i].time;
    }
    x /= weight;
    y /= weight;
    for (int i = 0; i < count; i++) {
        double w = is_weighted ? pow(found[i].half, -2) : 1;

        xx += w * pow(found[i].depth - x, 2);
        xy += w * (found[i].depth - x) * (found[i].time - y);
    }
    half = is_weighted ? 1 / sqrt(xx) : 0;
    result.name = side->is_posted ? "posted_entry" : "unexpected_entry";
    result.value = xy / xx;
    result.low = result.value - half;
    result.high = result.value + half;
    gauge_result(side->bench, &result);
}

static enum gauge_rc measure_kind(struct side *side, int most, bool is_posted)
{
    size_t order[MOST_POINTS];
    struct found found[MOST_POINTS];
    int count = 1;
    enum gauge_rc rc = GAUGE_OK;

    for (int depth = 1; depth <= most; depth *= 2) {
        count++;
    }
    for (int i = 0; i < count; i++) {
        order[i] = (size_t)i;
    }
    gauge_shuffle(side->bench, order, (size_t)count);
    side->is_posted = is_posted;
    for (int i = 0; rc == GAUGE_OK && i < count; i++) {
        side->depth = order[i] > 0 ? 1 << (order[i] - 1) : 0;
        rc = measure(side, &found[i]);
    }
    if (rc == GAUGE_OK && count > 2) {
        report(side, found, count);
    }
    return rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct side side = {.bench = bench};
    size_t most = gauge_option_bytes(bench->options, "depth");
    char kind = gauge_option_text(bench->options, "kind")[0];
    enum gauge_rc rc = GAUGE_OK;

    if (most < 1 || most > MOST_DEPTH) {
        return gauge_fail("queue: --depth is 1 to %d", MOST_DEPTH);
    }
    if (kind != 'b' && kind != 'p' && kind != 'u') {
        return gauge_fail("queue: --kind is posted, unexpected or both");
    }
    side.request = calloc(most, sizeof(*side.request));
    rc = side.request != NULL
             ? buffers_open(bench, &side.buffers, FILL, most * FILL, "queue")
             : gauge_fail("queue: no memory");
    if (rc == GAUGE_OK && kind != 'u') {
        rc = measure_kind(&side, (int)most, true);
    }
    if (rc == GAUGE_OK && kind != 'p') {
        rc = measure_kind(&side, (int)most, false);
    }
    if (side.buffers.out != NULL) {
        buffers_close(bench, &side.buffers);
    }
    free(side.request);
    return rc;
}

const struct gauge_pattern gauge_queue = {
    .name = "queue",
    .description = "cost of each receive posted or message unexpected that waits",
    .method =
        "End 0 and end 1 send an empty message to and fro, T(d), while d entries of "
        "other\n"
        "ends wait at end 0: receives that it has posted, or messages that it has not "
        "asked\n"
        "for. They are spread evenly over all other ends.\n"
        "    T(d) = T(0) + d * cost of an entry\n"
        "The cost is the slope of the line of least squares, weighted by 1 / interval^2. "
        "An\n"
        "implementation that finds its entries by a hash has a slope of nearly 0.\n",
    .needs = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_NONBLOCKING,
    .least_ends = 3,
    .options = options,
    .benchmark = benchmark,
};
