/*
 * many.c - one end against all others: one_many and many_one.
 *
 * For every point an end is drawn at random to be the server, or it is always the one the
 * user names; the others are its clients.
 * The server gives all clients a sign, an empty message, so that nobody's clock runs
 * while others still look at what they received before. In many_one all clients then send
 * together and the server answers each with an empty message when everything has come. In
 * one_many all clients ask, the server sends to all of them together when it has heard
 * from each, and each answers with an empty message when it has everything. Every end
 * times what it sees, on its own clock.
 */
#include "gauge/patterns/buffers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct gauge_option options[] = {
    {"server", GAUGE_TEXT, "random", "WHICH", "an end, or random: drawn for every size"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

struct side {
    struct gauge_bench *bench;
    struct buffers buffers; /* the server has a place for each client's message */
    struct gauge_request *request;
    size_t size;
    int server;
    double time; /* this end's, summed over a batch */
};

/* The pattern's own exchange; both keep the end's time in side->time. */
struct way {
    const char *name;
    enum gauge_rc (*serve)(struct side *side);
    enum gauge_rc (*be_client)(struct side *side);
};

static bool is_server(const struct side *side)
{
    return side->bench->end == side->server;
}

static enum gauge_rc wait_all(struct side *side)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->bench->ends; i++) {
        if (i != side->server) {
            rc = gauge_wait(side->bench, &side->request[i]);
        }
    }
    return rc;
}

static enum gauge_rc send_to_all(struct side *side, size_t size)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->bench->ends; i++) {
        if (i != side->server) {
            rc = gauge_isend(side->bench, i, side->buffers.out, size, &side->request[i]);
        }
    }
    return rc == GAUGE_OK ? wait_all(side) : rc;
}

static enum gauge_rc receive_from_all(struct side *side, size_t size)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < side->bench->ends; i++) {
        if (i != side->server) {
            rc = gauge_ireceive(side->bench, i, side->buffers.in + (size_t)i * size, size,
                                &side->request[i]);
        }
    }
    return rc == GAUGE_OK ? wait_all(side) : rc;
}

/* many_one */

/* Its clock starts before the signs: after them, bytes may be there already. */
static enum gauge_rc collect(struct side *side)
{
    double start = gauge_now(side->bench);
    enum gauge_rc rc = send_to_all(side, 0);

    if (rc == GAUGE_OK) {
        rc = receive_from_all(side, side->size);
    }
    side->time += gauge_now(side->bench) - start;
    return rc == GAUGE_OK ? send_to_all(side, 0) : rc;
}

static enum gauge_rc contribute(struct side *side)
{
    enum gauge_rc rc = gauge_receive(side->bench, side->server, side->buffers.in, 0);
    double start = gauge_now(side->bench);

    if (rc == GAUGE_OK) {
        rc = gauge_send(side->bench, side->server, side->buffers.out, side->size);
    }
    if (rc == GAUGE_OK) {
        rc = gauge_receive(side->bench, side->server, side->buffers.in, 0);
    }
    side->time += gauge_now(side->bench) - start;
    return rc;
}

/* one_many */

static enum gauge_rc distribute(struct side *side)
{
    enum gauge_rc rc = send_to_all(side, 0);
    double start = 0;

    if (rc == GAUGE_OK) {
        rc = receive_from_all(side, 0);
    }
    start = gauge_now(side->bench);
    if (rc == GAUGE_OK) {
        rc = send_to_all(side, side->size);
    }
    if (rc == GAUGE_OK) {
        rc = receive_from_all(side, 0);
    }
    side->time += gauge_now(side->bench) - start;
    return rc;
}

/* It asks before it waits: were its clock to start at the sign alone, a client that comes
 * late to the sign would find its bytes there already, and time nothing. */
static enum gauge_rc obtain(struct side *side)
{
    enum gauge_rc rc = gauge_receive(side->bench, side->server, side->buffers.in, 0);
    double start = gauge_now(side->bench);

    if (rc == GAUGE_OK) {
        rc = gauge_send(side->bench, side->server, side->buffers.out, 0);
    }
    if (rc == GAUGE_OK) {
        rc = gauge_receive(side->bench, side->server, side->buffers.in, side->size);
    }
    side->time += gauge_now(side->bench) - start;
    return rc == GAUGE_OK ? gauge_send(side->bench, side->server, side->buffers.out, 0)
                          : rc;
}

static const struct way to_one = {"many_one", collect, contribute};
static const struct way from_one = {"one_many", distribute, obtain};

/* Both */

static enum gauge_rc check(struct side *side, const struct way *way,
                           const struct gauge_round *round, uint64_t sample)
{
    enum gauge_rc rc = GAUGE_OK;

    if (way == &from_one && !is_server(side)) {
        return gauge_payload_check(side->bench, side->buffers.in, side->size,
                                   round->number, side->server, sample);
    }
    for (int i = 0; way == &to_one && is_server(side) && i < side->bench->ends; i++) {
        if (i != side->server && rc == GAUGE_OK) {
            rc = gauge_payload_check(side->bench,
                                     side->buffers.in + (size_t)i * side->size,
                                     side->size, round->number, i, sample);
        }
    }
    return rc;
}

static enum gauge_rc take_sample(struct side *side, const struct way *way,
                                 const struct gauge_round *round, uint64_t sample)
{
    enum gauge_rc rc = GAUGE_OK;

    gauge_payload_stamp(side->buffers.out, side->size, sample);
    side->time = 0;
    for (int i = 0; rc == GAUGE_OK && i < round->batch; i++) {
        rc = is_server(side) ? way->serve(side) : way->be_client(side);
    }
    if (rc != GAUGE_OK) {
        return rc;
    }
    gauge_sample(side->bench, side->time);
    return check(side, way, round, sample);
}

static enum gauge_rc measure(struct side *side, const struct way *way, size_t size)
{
    struct gauge_bench *bench = side->bench;
    int clients = bench->ends - 1;
    struct gauge_point point = {
        .name = "congested",
        .size = size,
        .bytes = (double)size,
        .key = {{"clients", clients}, {"server", side->server}},
    };
    struct gauge_round round;
    enum gauge_rc rc = gauge_point_open(bench, &point);

    side->size = size;
    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        gauge_payload_make(side->buffers.out, size, round.number, bench->end);
        for (int i = 0; rc == GAUGE_OK && i < round.samples; i++) {
            rc = take_sample(side, way, &round, (uint64_t)i);
        }
    }
    return rc == GAUGE_OK ? gauge_point_close(bench, NULL) : rc;
}

static void put(const struct side *side, const char *name, const char *unit, double value,
                double low, double high)
{
    struct gauge_result result = {
        .name = name,
        .unit = unit,
        .value = value,
        .low = low,
        .high = high,
        .note = side->size > 0 ? NULL : "of empty messages",
        .size_from = (double)side->size,
        .size_to = (double)side->size,
    };

    gauge_result(side->bench, &result);
}

/* How far the slowest client is behind the fastest, and what all move together. */
static void report_all(const struct side *side)
{
    const struct gauge_summary *of = gauge_summaries(side->bench);
    const struct gauge_summary *server = &of[side->server];
    double bytes = (double)side->size * (side->bench->ends - 1);
    double fastest = 0;
    double slowest = 0;

    for (int i = 0; side->bench->end == 0 && i < side->bench->ends; i++) {
        if (i != side->server && of[i].count > 0) {
            fastest = fastest > 0 && fastest < of[i].median ? fastest : of[i].median;
            slowest = slowest > of[i].median ? slowest : of[i].median;
        }
    }
    if (fastest > 0) {
        put(side, "slowest over fastest client", "ratio", slowest / fastest, NAN, NAN);
    }
    if (side->bench->end == 0 && bytes > 0) {
        put(side, "bandwidth", "bytes_per_second", bytes / server->median * 1e9,
            bytes / server->high * 1e9, bytes / server->low * 1e9);
    }
}

static enum gauge_rc choose_server(struct side *side, const struct way *way)
{
    const char *which = gauge_option_text(options, "server");
    char *end = NULL;
    long number = strtol(which, &end, 10);

    if (strcmp(which, "random") == 0) {
        side->server = (int)(gauge_random(side->bench) % (uint64_t)side->bench->ends);
        return GAUGE_OK;
    }
    if (*which == '\0' || *end != '\0' || number < 0 || number >= side->bench->ends) {
        return gauge_fail("%s: --server is random or the number of an end", way->name);
    }
    side->server = (int)number;
    return GAUGE_OK;
}

static enum gauge_rc run(struct gauge_bench *bench, const struct way *way)
{
    struct side side = {
        .bench = bench,
        .request = calloc((size_t)bench->ends, sizeof(struct gauge_request)),
    };
    size_t count = 0;
    const size_t *sizes = gauge_sizes(bench, &count);
    size_t largest = buffers_largest(sizes, count);
    enum gauge_rc rc = side.request != NULL
                           ? buffers_open(bench, &side.buffers, largest,
                                          largest * (size_t)bench->ends, way->name)
                           : gauge_fail("%s: no memory", way->name);

    for (size_t i = 0; rc == GAUGE_OK && i < count; i++) {
        rc = choose_server(&side, way);
        if (rc == GAUGE_OK) {
            rc = measure(&side, way, sizes[i]);
        }
        if (rc == GAUGE_OK) {
            report_all(&side);
        }
    }
    if (side.buffers.out != NULL) {
        buffers_close(bench, &side.buffers);
    }
    free(side.request);
    return rc;
}

static enum gauge_rc many_to_one(struct gauge_bench *bench)
{
    return run(bench, &to_one);
}

static enum gauge_rc one_to_many(struct gauge_bench *bench)
{
    return run(bench, &from_one);
}

const struct gauge_pattern gauge_many_one = {
    .name = "many_one",
    .description = "all send to one end, which answers when it has everything",
    .method =
        "One end, drawn anew for every size, is the server; the n others are clients. "
        "At\n"
        "an empty message from the server each client sends s bytes and waits for the "
        "empty\n"
        "answer that the server gives to each when it has received from all.\n"
        "    T_client = from before its send until the answer is there\n"
        "    T_server = from before its empty messages until all have come\n"
        "    rate = s / T at every end      bandwidth = n s / T_server\n"
        "Without congestion T does not grow with n. A result tells how far the slowest "
        "client\n"
        "is behind the fastest.\n",
    .needs = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_NONBLOCKING,
    .least_ends = 2,
    .options = options,
    .benchmark = many_to_one,
};

const struct gauge_pattern gauge_one_many = {
    .name = "one_many",
    .description = "one end sends to all others, which answer when they have everything",
    .method =
        "One end, drawn anew for every size, is the server; the n others are clients. "
        "At\n"
        "an empty message from the server each client asks with an empty message. When "
        "all\n"
        "have asked, the server sends s bytes to each; a client that has them answers "
        "with\n"
        "an empty message.\n"
        "    T_client = from before it asks until the s bytes are there\n"
        "    T_server = from before its first send of s bytes until all have answered\n"
        "    rate = s / T at every end      bandwidth = n s / T_server\n"
        "A result tells how far the slowest client is behind the fastest.\n",
    .needs = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_NONBLOCKING,
    .least_ends = 2,
    .options = options,
    .benchmark = one_to_many,
};
