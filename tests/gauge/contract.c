/*
 * contract.c - what module.h promises, tried on a module between two ends.
 *
 *     contract MODULE [--flip | --flip-put] [--option value ...]
 *
 * The trial is a pattern of its own, run by the core over the module as any other, with
 * messages whose sizes lie at the edges: nothing, one byte, around 48, 64 and 4096,
 * around 16 KiB, and the module's largest. A second run goes through a wrapper that flips
 * one bit, which the check of the payload must see; a module that loses messages is held
 * to fall out of its rounds and to go on, until a round comes whole. Of a module with
 * windows both kinds are tried; --flip-put runs the pattern `rma` over puts with a
 * flipped bit, which it must see.
 */
#include "gauge/bench.h"
#include "gauge/command.h"
#include "gauge/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct gauge_pattern gauge_rma;

enum { ORDER = 200, LARGE = 1 << 20, PENDING = 12, SMALL = 4096, WINDOW = 5000 };

static size_t edge(size_t number, size_t largest)
{
    static const size_t edges[] = {0,    1,    7,     8,     47,    48,    49,
                                   63,   64,   65,    1472,  1473,  4095,  4096,
                                   4097, 8192, 16383, 16384, 16385, 65507, LARGE};
    size_t count = sizeof(edges) / sizeof(*edges);

    if (number < count) {
        return edges[number];
    }
    return number == count && largest > 0 && largest <= LARGE ? largest : SIZE_MAX;
}

struct trial {
    struct gauge_bench *bench;
    unsigned char *out;
    unsigned char *in;
    uint64_t round;
};

/* End 0 sends one message of each number, end 1 checks and answers; both ways. */
static enum gauge_rc to_and_fro(struct trial *t, size_t size, uint64_t number)
{
    struct gauge_bench *bench = t->bench;
    int peer = bench->ends == 1 ? 0 : 1 - bench->end;
    enum gauge_rc rc = GAUGE_OK;

    gauge_payload_make(t->out, size, t->round, bench->end);
    gauge_payload_stamp(t->out, size, number);
    memset(t->in, 0xa5, size + 1);
    if (bench->end == 0) {
        rc = gauge_send(bench, peer, t->out, size);
        rc = rc == GAUGE_OK ? gauge_receive(bench, peer, t->in, size) : rc;
    } else {
        rc = gauge_receive(bench, peer, t->in, size);
        rc = rc == GAUGE_OK ? gauge_send(bench, peer, t->out, size) : rc;
    }
    if (rc == GAUGE_OK && t->in[size] != 0xa5) {
        return gauge_fail("a receive of %zu bytes wrote beyond its end", size);
    }
    return rc == GAUGE_OK
               ? gauge_payload_check(bench, t->in, size, t->round, peer, number)
               : rc;
}

static enum gauge_rc try_edges(struct trial *t)
{
    size_t largest = t->bench->module->largest;
    enum gauge_rc rc = GAUGE_OK;

    for (size_t i = 0; rc == GAUGE_OK && edge(i, largest) != SIZE_MAX; i++) {
        if (largest == 0 || edge(i, largest) <= largest) {
            rc = to_and_fro(t, edge(i, largest), i);
        }
    }
    return rc;
}

/* Messages of changing size from end 0 to end 1, which come as they were sent. */
static enum gauge_rc try_order(struct trial *t)
{
    struct gauge_bench *bench = t->bench;
    int peer = bench->ends == 1 ? 0 : 1 - bench->end;
    enum gauge_rc rc = GAUGE_OK;

    for (uint64_t i = 0; rc == GAUGE_OK && i < ORDER; i++) {
        size_t size = (size_t)(i * 37 % 700);

        if (bench->end == 0) {
            gauge_payload_make(t->out, size, t->round, 0);
            gauge_payload_stamp(t->out, size, i);
            rc = gauge_send(bench, peer, t->out, size);
        }
        if (rc == GAUGE_OK && (bench->end == 1 || bench->ends == 1)) {
            rc = gauge_receive(bench, peer, t->in, size);
            rc = rc == GAUGE_OK ? gauge_payload_check(bench, t->in, size, t->round, 0, i)
                                : rc;
        }
    }
    return rc;
}

/* Both ends send at once more than any buffer holds; order is kept among the pending. */
static enum gauge_rc try_pending(struct trial *t)
{
    struct gauge_bench *bench = t->bench;
    size_t most = bench->module->largest;
    size_t size = most > 0 && most < LARGE / PENDING ? most : LARGE / PENDING;
    struct gauge_request out[PENDING];
    struct gauge_request in[PENDING];
    enum gauge_rc rc = GAUGE_OK;

    if (!(bench->module->flags & GAUGE_RELIABLE) && size > SMALL) {
        size = SMALL; /* what no buffer holds is lost there */
    }
    if (!(gauge_module_offers(bench->module) & GAUGE_NONBLOCKING) || bench->ends == 1) {
        return GAUGE_OK;
    }
    for (size_t i = 0; rc == GAUGE_OK && i < PENDING; i++) {
        rc = gauge_ireceive(bench, 1 - bench->end, t->in + i * size, size, &in[i]);
    }
    for (size_t i = 0; rc == GAUGE_OK && i < PENDING; i++) {
        gauge_payload_make(t->out + i * size, size, t->round, bench->end);
        gauge_payload_stamp(t->out + i * size, size, i);
        rc = gauge_isend(bench, 1 - bench->end, t->out + i * size, size, &out[i]);
    }
    for (size_t i = 0; rc == GAUGE_OK && i < PENDING; i++) {
        rc = gauge_wait(bench, &in[i]);
        if (rc == GAUGE_OK) {
            rc = gauge_wait(bench, &out[i]);
        }
    }
    for (size_t i = 0; rc == GAUGE_OK && i < PENDING; i++) {
        rc = gauge_payload_check(bench, t->in + i * size, size, t->round, 1 - bench->end,
                                 i);
    }
    return rc;
}

/* Bytes put by the other end, then got from it, then put between fences. */
static enum gauge_rc try_epochs(struct trial *t, const struct gauge_one_sided *windows,
                                unsigned char *window)
{
    struct gauge_bench *bench = t->bench;
    struct gauge_module *module = bench->module;
    int peer = 1 - bench->end;
    enum gauge_rc rc = windows->choose(module, &peer, 1);

    gauge_payload_make(t->out, WINDOW, t->round, bench->end);
    gauge_payload_stamp(t->out, WINDOW, 1);
    rc = rc == GAUGE_OK ? windows->post(module) : rc;
    rc = rc == GAUGE_OK ? windows->start(module) : rc;
    rc = rc == GAUGE_OK ? windows->put(module, peer, WINDOW, t->out, WINDOW) : rc;
    rc = rc == GAUGE_OK ? windows->complete(module) : rc;
    rc = rc == GAUGE_OK ? windows->wait(module) : rc;
    rc = rc == GAUGE_OK
             ? gauge_payload_check(bench, window + WINDOW, WINDOW, t->round, peer, 1)
             : rc;
    rc = rc == GAUGE_OK ? windows->fence(module, true, false) : rc;
    rc = rc == GAUGE_OK ? windows->get(module, peer, WINDOW, t->in, WINDOW) : rc;
    rc = rc == GAUGE_OK ? windows->fence(module, false, false) : rc;
    rc = rc == GAUGE_OK ? windows->put(module, peer, 0, t->out, WINDOW) : rc;
    rc = rc == GAUGE_OK ? windows->fence(module, false, true) : rc;
    rc = rc == GAUGE_OK
             ? gauge_payload_check(bench, t->in, WINDOW, t->round, bench->end, 1)
             : rc;
    return rc == GAUGE_OK ? gauge_payload_check(bench, window, WINDOW, t->round, peer, 1)
                          : rc;
}

/* Windows of both kinds, opened anew in every round. */
static enum gauge_rc try_windows(struct trial *t)
{
    const struct gauge_one_sided *windows = t->bench->module->one_sided;
    enum gauge_rc rc = GAUGE_OK;

    for (int kind = 0; windows != NULL && rc == GAUGE_OK && kind < 2; kind++) {
        void *memory = NULL;

        rc = windows->open(t->bench->module, (size_t)2 * WINDOW, kind == 1, &memory);
        if (rc == GAUGE_OK) {
            rc = try_epochs(t, windows, memory);
            windows->close(t->bench->module);
        }
    }
    return rc;
}

static enum gauge_rc benchmark(struct gauge_bench *bench)
{
    struct gauge_point point = {.name = "contract", .is_single = true, .most = 6};
    struct gauge_round round;
    struct trial t = {.bench = bench};
    enum gauge_rc rc = gauge_point_open(bench, &point);

    t.out = gauge_alloc(bench, LARGE + 1);
    t.in = gauge_alloc(bench, LARGE + 1);
    while (rc == GAUGE_OK && gauge_round(bench, &round)) {
        t.round = round.number;
        rc = try_edges(&t);
        rc = rc == GAUGE_OK ? try_order(&t) : rc;
        rc = rc == GAUGE_OK ? try_pending(&t) : rc;
        rc = rc == GAUGE_OK ? try_windows(&t) : rc;
        if (rc == GAUGE_LOST && !(bench->module->flags & GAUGE_RELIABLE)) {
            gauge_lost(bench);
            rc = GAUGE_OK;
            continue;
        } else if (rc == GAUGE_LOST) {
            rc = gauge_fail("a reliable module lost a message");
        }
        for (int i = 0; rc == GAUGE_OK && i < round.samples; i++) {
            gauge_sample(bench, 1);
        }
    }
    gauge_free(bench, t.out);
    gauge_free(bench, t.in);
    return rc == GAUGE_OK ? gauge_point_close(bench, NULL) : rc;
}

static const struct gauge_pattern contract = {
    .name = "contract",
    .description = "the contract of module.h",
    .method = "",
    .least_ends = 1,
    .benchmark = benchmark,
};

/* The wrapper flips a bit in the middle of every hundredth message from end 0. */
static enum gauge_rc (*true_recvfrom)(struct gauge_module *module, int source,
                                      void *buffer, size_t size);

static enum gauge_rc flip(struct gauge_module *module, int source, void *buffer,
                          size_t size)
{
    static int count;
    enum gauge_rc rc = true_recvfrom(module, source, buffer, size);

    if (rc == GAUGE_OK && size > 0 && ++count == 100) {
        ((unsigned char *)buffer)[size / 2] ^= 1;
    }
    return rc;
}

/* The wrapper of put flips a bit of what is put. */
static const struct gauge_one_sided *true_windows;

static enum gauge_rc flip_put(struct gauge_module *module, int target, size_t at,
                              const void *buffer, size_t size)
{
    static unsigned char copy[SMALL];

    memcpy(copy, buffer, size);
    copy[size / 2] ^= 1;
    return true_windows->put(module, target, at, copy, size);
}

static void spoil_put(struct gauge_module *module)
{
    static struct gauge_one_sided windows;

    true_windows = module->one_sided;
    windows = *true_windows;
    windows.put = flip_put;
    module->one_sided = &windows;
}

static enum gauge_rc nothing(void *arg)
{
    (void)arg;
    return GAUGE_OK;
}

static enum gauge_rc run_once(const struct gauge_pattern *pattern,
                              struct gauge_command *command, struct gauge_module *module)
{
    struct gauge_report report = {0};
    struct gauge_control control;
    struct gauge_timer timer;
    struct gauge_started started = {nothing, NULL};
    enum gauge_rc rc = GAUGE_OK;

    gauge_timer_open(&timer);
    if (gauge_start(&command->start, &control) != GAUGE_OK) {
        return GAUGE_FAILED;
    }
    gauge_fail_name(control.end);
    rc = gauge_bench_run(pattern, module, &command->settings, &control, &timer,
                         control.end == 0 ? &report : NULL, &started);
    if (rc == GAUGE_OK && control.end == 0 &&
        (report.row_count == 0 || report.rows[0].sample_count == 0)) {
        rc = gauge_fail("in no round did all messages come");
    }
    if (control.end != 0) {
        exit(rc == GAUGE_OK ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    gauge_report_close(&report);
    gauge_control_close(&control);
    return gauge_start_end(rc);
}

/* NULL, or why the module cannot be tried here. */
static const char *refusal(struct gauge_command *command)
{
    int end = 0;
    int ends = 0;
    bool is_launched = gauge_start_launched(&end, &ends);

    if (!is_launched || ends == 0) {
        ends = command->start.ends > 0 ? command->start.ends : 2;
    }
    return gauge_refusal(&contract, command->module, ends, is_launched);
}

int main(int argc, char **argv)
{
    struct gauge_command command;
    const char *why = NULL;
    bool is_flipped = argc > 2 && strcmp(argv[2], "--flip") == 0;
    bool is_spoilt = argc > 2 && strcmp(argv[2], "--flip-put") == 0;
    char *words[32] = {"contract", "run", is_spoilt ? "rma" : "one_one"};
    int count = 3;

    if (argc < 2) {
        fprintf(stderr,
                "usage: contract MODULE [--flip | --flip-put] [--option value ...]\n"
                "--flip-put runs the pattern rma, with puts of at most %d bytes\n",
                SMALL);
        return EXIT_FAILURE;
    }
    for (int i = 1; i < argc && count < 32; i++) {
        if (i != 2 || !(is_flipped || is_spoilt)) {
            words[count++] = argv[i];
        }
    }
    if (!gauge_command_read(&command, count, words)) {
        return EXIT_FAILURE;
    }
    why = refusal(&command);
    if (why != NULL) {
        printf("refused: %s\n", why);
        return 77; /* skipped: this machine lacks the right */
    }
    if (is_flipped) {
        true_recvfrom = command.module->recvfrom;
        command.module->recvfrom = flip;
    }
    if (is_spoilt) {
        spoil_put(command.module);
    }
    if (run_once(is_spoilt ? &gauge_rma : &contract, &command, command.module) !=
        GAUGE_OK) {
        return EXIT_FAILURE;
    }
    gauge_command_free(&command);
    return EXIT_SUCCESS;
}
