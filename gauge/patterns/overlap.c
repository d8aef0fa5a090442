/*
 * overlap.c - how much work gets done while messages come.
 *
 * End 0 works, end 1 sends to it. Post-work-wait: end 0 posts its receives, gives a sign,
 * works without any call, and waits; what the wait takes tells who made progress.
 * Polling: some messages are always under way; end 0 looks for them after every interval
 * of work, and asks for another one for each that has come. Work is measured alone, too,
 * in turn with the rest, for intervals that go up by doubling.
 *
 * Signs are one byte: 1 asks for messages, 0 ends a sample of polling.
 */
#include "gauge/patterns/buffers.h"
#include "gauge/patterns/series.h"
#include "gauge/patterns/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_QUEUE = 64, POLL_SPAN = 2000000, LEAST_POLLS = 4, MOST_POLLS = 1000 };

static struct gauge_option options[] = {
    {"method", GAUGE_TEXT, "both", "KIND", "pww (post-work-wait), poll, or both"},
    {"message", GAUGE_BYTES, "100000", "BYTES", "size of the messages"},
    {"queue", GAUGE_COUNT, "4", "N", "messages under way at once, 1 to 64"},
    {"from", GAUGE_NUMBER, "10000", "NS", "shortest interval of work"},
    {"to", GAUGE_NUMBER, "10000000", "NS", "longest interval of work"},
    {"comb", GAUGE_FLAG, "no", NULL,
     "only the time of work alone and with messages, over its length, with a picture"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

static const char *const comb_names[2] = {"work_alone", "work_with_messages"};

struct side {
    struct gauge_bench *bench;
    struct buffers buffers; /* a place for each message of the queue */
    struct gauge_request request[MOST_QUEUE];
    size_t size;
    int queue;
    double speed;
    /* Of the interval being measured. */
    double interval;
    unsigned long loops;
    int polls; /* intervals in one sample of polling */
    struct series wait;
    struct series cycle;
    double got, took; /* messages and time while polling */
    struct gauge_summary alone;
};

static unsigned char *place(struct side *side, int i)
{
    return side->buffers.in + (size_t)i * side->size;
}

static void work(const struct side *side)
{
    if (side->interval > 0) {
        gauge_work(side->bench, side->loops);
    }
}

static enum gauge_rc sign(struct side *side, unsigned char what)
{
    side->buffers.out[0] = what;
    return gauge_send(side->bench, 1, side->buffers.out, 1);
}

static enum gauge_rc post(struct side *side, int i)
{
    return gauge_ireceive(side->bench, 1, place(side, i), side->size, &side->request[i]);
}

static enum gauge_rc check(struct side *side, const struct gauge_round *round,
                           uint64_t sample)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->queue; i++) {
        rc = gauge_payload_check(side->bench, place(side, i), side->size, round->number,
                                 1, sample);
    }
    return rc;
}

/* Post-work-wait */

static enum gauge_rc post_work_wait(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    double begin = gauge_now(bench);
    double start = 0;
    double worked = 0;
    double end = 0;
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->queue; i++) {
        rc = post(side, i);
    }
    if (rc == GAUGE_OK) {
        rc = sign(side, 1);
    }
    start = gauge_now(bench);
    work(side);
    worked = gauge_now(bench);
    for (int i = 0; rc == GAUGE_OK && i < side->queue; i++) {
        rc = gauge_wait(bench, &side->request[i]);
    }
    end = gauge_now(bench);
    if (rc != GAUGE_OK) {
        return rc;
    }
    gauge_sample(bench, worked - start);
    return series_add(&side->wait, end - worked) && series_add(&side->cycle, end - begin)
               ? GAUGE_OK
               : GAUGE_FAILED;
}

static enum gauge_rc send_queue(struct side *side)
{
    enum gauge_rc rc = gauge_receive(side->bench, 0, side->buffers.in, 1);

    for (int i = 0; rc == GAUGE_OK && i < side->queue; i++) {
        rc =
            gauge_isend(side->bench, 0, side->buffers.out, side->size, &side->request[i]);
    }
    for (int i = 0; rc == GAUGE_OK && i < side->queue; i++) {
        rc = gauge_wait(side->bench, &side->request[i]);
    }
    return rc;
}

/* Polling */

static enum gauge_rc poll_once(struct side *side, int *head)
{
    enum gauge_rc rc = GAUGE_OK;

    /* Order is matching, so the oldest receive is the next to be done. */
    for (int looks = 0; rc == GAUGE_OK && looks < side->queue; looks++) {
        struct gauge_request *oldest = &side->request[*head];

        rc = gauge_test(side->bench, oldest);
        if (rc != GAUGE_OK || !oldest->is_done) {
            return rc;
        }
        side->got++;
        rc = post(side, *head);
        if (rc == GAUGE_OK) {
            rc = sign(side, 1);
        }
        *head = (*head + 1) % side->queue;
    }
    return rc;
}

static enum gauge_rc poll_for_messages(struct side *side)
{
    struct gauge_bench *bench = side->bench;
    enum gauge_rc rc = GAUGE_OK;
    double start = 0;
    double end = 0;
    int head = 0;

    for (int i = 0; rc == GAUGE_OK && i < side->queue; i++) {
        rc = post(side, i);
        if (rc == GAUGE_OK) {
            rc = sign(side, 1);
        }
    }
    start = gauge_now(bench);
    for (int i = 0; rc == GAUGE_OK && i < side->polls; i++) {
        work(side);
        rc = poll_once(side, &head);
    }
    end = gauge_now(bench);
    for (int i = 0; rc == GAUGE_OK && i < side->queue; i++) {
        rc = gauge_wait(bench, &side->request[(head + i) % side->queue]);
    }
    if (rc == GAUGE_OK) {
        rc = sign(side, 0);
    }
    if (rc == GAUGE_OK) {
        side->took += end - start;
        gauge_sample(bench, end - start);
    }
    return rc;
}

static enum gauge_rc send_as_asked(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    do {
        rc = gauge_receive(side->bench, 0, side->buffers.in, 1);
        if (rc == GAUGE_OK && side->buffers.in[0] == 1) {
            rc = gauge_send(side->bench, 0, side->buffers.out, side->size);
        }
    } while (rc == GAUGE_OK && side->buffers.in[0] == 1);
    return rc;
}

static enum gauge_rc work_alone(struct side *side)
{
    double start = gauge_now(side->bench);

    work(side);
    gauge_sample(side->bench, gauge_now(side->bench) - start);
    return GAUGE_OK;
}

static enum gauge_rc rest(struct side *side)
{
    (void)side;
    return GAUGE_OK;
}

/* Points */

/* What the two ends do in one sample. */
struct act {
    const char *name;
    enum gauge_rc (*worker)(struct side *side);
    enum gauge_rc (*sender)(struct side *side);
    bool has_messages;
};

static const struct act alone = {"work_alone", work_alone, rest, false};
static const struct act pww = {"work_with_messages", post_work_wait, send_queue, true};
static const struct act polling = {"poll", poll_for_messages, send_as_asked, true};

static struct gauge_point make_point(const struct side *side, const char *name)
{
    return (struct gauge_point){
        .name = name,
        .size = side->size,
        .key = {{"interval_ns", side->interval}, {"queue", side->queue}},
    };
}

static enum gauge_rc take_sample(struct side *side, const struct act *act,
                                 const struct gauge_round *round, uint64_t sample)
{
    enum gauge_rc rc = GAUGE_OK;

    if (side->bench->end == 1) {
        gauge_payload_stamp(side->buffers.out, side->size, sample);
        return act->sender(side);
    }
    if (side->bench->end == 0) {
        rc = act->worker(side);
        return rc == GAUGE_OK && act->has_messages ? check(side, round, sample) : rc;
    }
    return rc; /* other ends only take part in the rounds */
}

static enum gauge_rc measure(struct side *side, const struct act *act,
                             struct gauge_summary *summary)
{
    struct gauge_bench *bench = side->bench;
    struct gauge_point point = make_point(side, act->name);
    struct gauge_round round;
    enum gauge_rc rc = GAUGE_OK;

    point.is_single = true;
    point.divide = act == &polling ? side->polls : 1;
    rc = gauge_point_open(bench, &point);
    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        gauge_payload_make(side->buffers.out, side->size, round.number, bench->end);
        for (int i = 0; rc == GAUGE_OK && i < round.samples; i++) {
            rc = take_sample(side, act, &round, (uint64_t)i);
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, summary) : rc;
}

/* Results */

static void put(struct side *side, const char *name, const char *unit, const char *method,
                double value, double low, double high)
{
    char note[80];
    struct gauge_result result = {
        .name = name,
        .unit = unit,
        .value = value,
        .low = low,
        .high = high,
        .note = note,
        .size_from = (double)side->size,
        .size_to = (double)side->size,
    };

    snprintf(note, sizeof(note), "%s, work of %.0f ns", method, side->interval);
    gauge_result(side->bench, &result);
}

static void put_availability(struct side *side, const char *method,
                             const struct gauge_summary *busy)
{
    put(side, "availability", "ratio", method, side->alone.median / busy->median,
        side->alone.low / busy->high, side->alone.high / busy->low);
}

/* Not clipped: below 0 the two hinder each other, above 1 it is noise. */
static void put_overlap(struct side *side, const struct gauge_summary *messages,
                        const struct gauge_summary *cycle)
{
    double shorter = fmin(messages->median, side->alone.median);

    put(side, "overlap", "ratio", "post-work-wait",
        (messages->median + side->alone.median - cycle->median) / shorter,
        (messages->low + side->alone.low - cycle->high) / shorter,
        (messages->high + side->alone.high - cycle->low) / shorter);
}

/* The cycle's summary; wait and cycle become points of their own but for --comb. */
static enum gauge_rc measure_pww(struct side *side, struct gauge_summary *busy,
                                 struct gauge_summary *cycle)
{
    enum gauge_rc rc = GAUGE_OK;

    series_clear(&side->wait);
    series_clear(&side->cycle);
    rc = measure(side, &pww, busy);
    if (rc == GAUGE_OK && !gauge_option_flag(options, "comb")) {
        rc = series_report(side->bench, &side->wait, make_point(side, "wait"), NULL);
        if (rc == GAUGE_OK) {
            rc = series_report(side->bench, &side->cycle, make_point(side, "cycle"),
                               cycle);
        }
    }
    return rc;
}

static enum gauge_rc measure_poll(struct side *side)
{
    struct gauge_summary busy = {0};
    enum gauge_rc rc = GAUGE_OK;
    double rate = 0;

    side->got = side->took = 0;
    side->polls = (int)fmin(fmax(POLL_SPAN / side->interval, LEAST_POLLS), MOST_POLLS);
    rc = measure(side, &polling, &busy);
    if (rc == GAUGE_OK && side->bench->end == 0) {
        rate = side->got * (double)side->size / side->took * 1e9;
        put_availability(side, "polling", &busy);
        put(side, "bandwidth", "bytes_per_second", "polling", rate, rate, rate);
    }
    return rc;
}

static void set_interval(struct side *side, double interval)
{
    side->interval = interval;
    side->loops = work_loops(side->speed, interval);
}

static enum gauge_rc measure_interval(struct side *side, const char *method,
                                      const struct gauge_summary *messages)
{
    bool is_comb = gauge_option_flag(options, "comb");
    struct gauge_summary busy = {0};
    struct gauge_summary cycle = {0};
    enum gauge_rc rc = measure(side, &alone, &side->alone);

    if (rc == GAUGE_OK && strcmp(method, "poll") != 0) {
        rc = measure_pww(side, &busy, &cycle);
        if (rc == GAUGE_OK) {
            put_availability(side, "post-work-wait", &busy);
        }
        if (rc == GAUGE_OK && !is_comb) {
            put_overlap(side, messages, &cycle);
        }
    }
    return rc == GAUGE_OK && strcmp(method, "pww") != 0 ? measure_poll(side) : rc;
}

static enum gauge_rc measure_all(struct side *side, const char *method)
{
    double from = gauge_option_number(options, "from");
    double to = gauge_option_number(options, "to");
    struct gauge_summary busy = {0};
    struct gauge_summary messages = {0};
    enum gauge_rc rc = GAUGE_OK;

    set_interval(side, 0);
    if (strcmp(method, "poll") != 0 && !gauge_option_flag(options, "comb")) {
        rc = measure_pww(side, &busy, &messages);
    }
    for (double interval = from; rc == GAUGE_OK && interval <= to; interval *= 2) {
        set_interval(side, interval);
        rc = measure_interval(side, method, &messages);
    }
    return rc;
}

static enum gauge_rc refuse(const struct side *side, const char *method)
{
    if (strcmp(method, "both") != 0 && strcmp(method, "pww") != 0 &&
        strcmp(method, "poll") != 0) {
        return gauge_fail("overlap: --method is pww, poll or both");
    }
    if (side->queue < 1 || side->queue > MOST_QUEUE) {
        return gauge_fail("overlap: --queue is 1 to %d", MOST_QUEUE);
    }
    if (side->size == 0 || gauge_option_number(options, "from") < 1000) {
        return gauge_fail(
            "overlap: messages have bytes, and work takes 1000 ns at least");
    }
    return GAUGE_OK;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct side side = {
        .bench = bench,
        .size = gauge_option_bytes(bench->options, "message"),
        .queue = (int)gauge_option_bytes(bench->options, "queue"),
    };
    bool is_comb = gauge_option_flag(bench->options, "comb");
    const char *method = is_comb ? "pww" : gauge_option_text(bench->options, "method");
    enum gauge_rc rc = refuse(&side, method);

    if (bench->module->largest > 0 && side.size > bench->module->largest) {
        side.size = bench->module->largest;
    }
    if (rc == GAUGE_OK) {
        rc = buffers_open(bench, &side.buffers, side.size, side.size * (size_t)side.queue,
                          "overlap");
    }
    if (rc == GAUGE_OK) {
        side.speed = work_speed(bench);
        rc = measure_all(&side, method);
        buffers_close(bench, &side.buffers);
    }
    if (is_comb) {
        gauge_picture(bench, "time of an interval of work, alone and while messages come",
                      "interval_ns", comb_names);
    }
    series_free(&side.wait);
    series_free(&side.cycle);
    return rc;
}

const struct gauge_pattern gauge_overlap = {
    .name = "overlap",
    .description = "how much work gets done while messages come",
    .method =
        "End 0 works for an interval p, end 1 sends to it; W is the time of the work "
        "alone.\n"
        "Post-work-wait: end 0 posts q receives, asks for q messages by a byte, works "
        "without\n"
        "any call, and waits. T is all of that, t_comm the same without work.\n"
        "    availability = W / time of the work while messages come\n"
        "    overlap = (t_comm + W - T) / min(t_comm, W), not clipped\n"
        "A wait that does not become shorter as p grows means that nothing moved during "
        "the\n"
        "work: only calls make progress.\n"
        "Polling: q messages are under way; after each interval end 0 looks for them and "
        "asks\n"
        "for another for each that came.\n"
        "    availability = W / time of one interval with its look\n"
        "    bandwidth    = bytes received / time\n"
        "--comb measures what Figures 12 and 13 of the paper on MPI over Portals show.\n",
    .needs = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_NONBLOCKING,
    .least_ends = 2,
    .options = options,
    .benchmark = benchmark,
};
