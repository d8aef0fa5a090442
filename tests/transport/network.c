/*
 * network.c - cases for networks: sleeping on descriptors, and connections that many ask
 * for at once.
 */
#include "suite.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/settings.h"
#include "sanitized.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS = IS_SANITIZED ? 500 : 4000,
    LONG_MS = 20 * 1000, /* a sleep that takes so long has lost its wake-up */
    OVERSLEPT_MS = 100,  /* and one that takes so long, if only the clock ends it */
    OVERSLEPT_MOST = 2,  /* in the whole run: something may come in that moment */
    TICK_US = 1000,
    IDLE_MS = 300,
    IDLE_LOOKS = 10, /* at most, while nothing happens for so long */
    CONNECTS = IS_SANITIZED ? 5 : 20,
    BLOCKS = 40, /* fewer than words may be unread */
    BLOCK = 100 * 1000,
};

#define ARE_PACKETS (UINT64_C(1) << 32)

/* How many descriptors there are to sleep on; 0: it is polled by the clock. */
static int find_descriptors(int descriptors[WEFT_DESCRIPTORS])
{
    const int count = suite.ops->descriptors(suite.tp, descriptors);

    check(count >= 0 && count <= WEFT_DESCRIPTORS);
    return count;
}

static bool is_by_clock(void)
{
    int descriptors[WEFT_DESCRIPTORS];

    return find_descriptors(descriptors) == 0;
}

/* Sleeps on the descriptors, or for a tick; false: nothing came. */
static bool sleep_for(int ms)
{
    struct pollfd fds[WEFT_DESCRIPTORS];
    int descriptors[WEFT_DESCRIPTORS];
    const int count = find_descriptors(descriptors);

    if (count == 0) {
        usleep(ms > 0 ? TICK_US : 0);
        return ms > 0;
    }
    for (int i = 0; i < count; i++) { /* poll passes over those that are -1 */
        fds[i] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
    }
    return poll(fds, (nfds_t)count, ms) > 0;
}

/* The same, but no longer than until the transport has to be polled in any case.
 * *by_clock: it was long, and nothing has ended it but that. */
static bool sleep_until_due(int ms, bool *by_clock)
{
    const uint64_t deadline =
        suite.ops->deadline != NULL ? suite.ops->deadline(suite.tp) : 0;
    const uint64_t now = weft_clock_ns();
    uint64_t left;

    *by_clock = false;
    if (deadline == 0) {
        return sleep_for(ms);
    }
    left = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
    if (left >= (uint64_t)ms) {
        return sleep_for(ms);
    }
    *by_clock = !sleep_for((int)left) && left >= OVERSLEPT_MS;
    return true; /* it is due */
}

/*
 * Sleeps whenever it may until so many packets have come; returns how often it did. Where
 * the transport is polled by the clock, too, a lost wake-up makes a sleep long, and not
 * endless: the packet is there when nothing but the clock has ended it.
 */
static uint32_t sleep_until(uint32_t from, uint32_t expected)
{
    static uint32_t overslept;
    bool by_clock = false;

    suite_begin_sleep(from, expected);
    while (!suite_has_come()) {
        by_clock = false;
        if (suite.ops->arm(suite.tp) == WEFT_OK) {
            check(sleep_until_due(LONG_MS, &by_clock));
            suite.wait.slept++;
        } else {
            suite.wait.refused++;
        }
    }
    overslept += by_clock ? 1 : 0;
    check(overslept <= OVERSLEPT_MOST);
    return suite.wait.slept;
}

/* To and fro between ranks 0 and 1. What has come is counted before they meet: who leaves
 * the meeting late has taken the first packet there. */
void case_network_sleep(void)
{
    const uint32_t other = 1 - suite.me;
    uint32_t expected = suite.me < 2 ? suite_packets_from(other) : 0;
    uint64_t random = 1 + suite.me;
    uint32_t slept = 0;

    suite_meet();
    for (int i = 0; suite.me < 2 && i < ROUNDS; i++) {
        const uint64_t r = suite_random(&random) >> 20;

        if (suite.me == (uint32_t)i % 2) {
            const uint64_t end = weft_clock_ns() + (r % 3 == 0 ? 0 : r % 20000);

            while (weft_clock_ns() < end) {
            }
            suite_send(other, r % (suite.path[other]->packet_max + 1),
                       r % 5 == 0 ? WEFT_SEND_CONTROL : 0, false);
        } else {
            slept += sleep_until(other, ++expected);
        }
    }
    check(slept > ROUNDS / 100 || suite.me > 1); /* else nothing was tried */
    suite_meet();
}

/* Packets that may not be taken keep nobody awake; once they may be, nobody sleeps. */
void case_held_packets_wait(void)
{
    enum { EACH = 100 }; /* more than one look takes */
    const uint32_t from = suite_previous();
    const uint32_t before = suite.from[from].ordered;
    int looks = 0;

    suite.is_full = true;
    suite_meet();
    for (int i = 0; i < EACH; i++) {
        suite_send(suite_next(), 8, 0, false);
    }
    suite_send_word(suite_next(), 0);
    (void)suite_await_word(from);
    suite_meet();
    do {
        suite.ops->poll(suite.tp, SUITE_BUDGET);
        check(++looks < 10000);
    } while (suite.ops->arm(suite.tp) != WEFT_OK || sleep_for(0));
    check(suite.from[from].ordered == before);
    suite_meet_quietly();
    suite.is_full = false;
    (void)sleep_until(from, suite_packets_from(from) + EACH);
    suite_meet();
}

/* Nothing is sent: nobody is called. */
void case_idle_is_quiet(void)
{
    uint64_t now = weft_clock_ns();
    const uint64_t settled = now + IDLE_MS / 4 * UINT64_C(1000000);
    const uint64_t end = settled + IDLE_MS * UINT64_C(1000000);
    uint32_t looks = 0;

    suite_meet();
    for (; now < end; now = weft_clock_ns()) {
        suite.ops->poll(suite.tp, SUITE_BUDGET);
        if (suite.ops->arm(suite.tp) == WEFT_OK) {
            (void)sleep_for((int)((end - now) / 1000000) + 1);
        }
        looks += now > settled ? 1 : 0;
    }
    check(looks <= IDLE_LOOKS || is_by_clock());
    suite_meet_quietly(); /* whose polling would disturb those that still sleep */
    suite_meet();
}

/* Each speaks to all in an order of its own, at the same moment or nearly. */
static void speak_to_all(uint64_t *random)
{
    const uint32_t shift = (uint32_t)(suite_random(random) >> 20);

    if (shift % 2 == 0) {
        usleep(shift / 2 % 2000);
    }
    for (uint32_t i = 0; i < suite.size; i++) {
        const uint32_t to = (i + shift) % suite.size;

        if (to != suite.me) {
            (void)suite_try(to, 10, 0); /* begins to connect */
        }
    }
    for (uint32_t to = 0; to < suite.size; to++) {
        while (to != suite.me && suite.sent[to] == 0) {
            suite_send(to, 10, 0, false);
        }
    }
}

static uint32_t stream_count(void)
{
    return (uint32_t)weft_setting(WEFT_SET_STREAMS);
}

void case_all_pairs_at_once(void)
{
    const char *name = suite.ops->name;
    uint64_t random = 3 + suite.me;

    for (int i = 0; i < CONNECTS; i++) {
        struct weft_traffic traffic = {.lanes = 0};

        suite_meet_quietly();
        suite_close();
        suite_meet_quietly();
        suite_open(name);
        suite_meet_quietly();
        speak_to_all(&random);
        for (uint32_t r = 0; r < suite.size; r++) {
            while (r != suite.me && suite.from[r].ordered == 0) {
                suite_progress();
            }
        }
        suite_meet();
        suite.ops->count(suite.tp, &traffic);
        check(traffic.lanes >= suite.size - 1); /* one for each pair, and each stream */
        check(traffic.lanes <= (suite.size - 1) * stream_count());
        check(traffic.rejected == 0);
    }
}

/* A transport that closes when it is time to look for silent connections tells nobody of
 * a loss, and reads no stream that it has closed. */
void case_late_close(void)
{
    const int64_t beat = weft_setting(WEFT_SET_HEARTBEAT);
    const char *name = suite.ops->name;

    for (int i = 0; i < 16; i++) { /* all streams are connected */
        suite_send(suite_next(), 10, 0, false);
    }
    suite_meet();
    usleep((useconds_t)(beat * 1000 * 1000 / 4 + 1000)); /* four looks in a beat */
    suite_meet_quietly();
    suite_close();
    suite_meet_quietly();
    suite_open(name);
    suite_meet();
}

/* ---- several paths, and memory ---- */

static uint8_t *make_blocks(uint32_t rank)
{
    uint8_t *blocks = malloc((size_t)BLOCKS * BLOCK);
    uint64_t random = 5 + rank;

    check(blocks != NULL);
    for (size_t i = 0; i < (size_t)BLOCKS * BLOCK; i++) {
        blocks[i] = (uint8_t)(suite_random(&random) >> 32);
    }
    return blocks;
}

/* A block into the peer's memory, a word that it is there, and packets. Of what the
 * transport does not offer nothing is done; returns how many operations were begun. */
static uint32_t put_block(struct weft_path *way, const struct weft_key *key, size_t i,
                          const uint8_t *block, struct weft_op ops[2])
{
    const uint32_t to = weft_process_rank(way->process);
    uint32_t begun = 0;

    if (way->memory != NULL) {
        enum weft_rc rc;

        while ((rc = weft_path_put(way, key, i * BLOCK, block, BLOCK, &ops[begun])) ==
               WEFT_AGAIN) {
            suite_progress();
        }
        check(rc == WEFT_PENDING);
        begun++;
    }
    suite_send_word_by(to, way, i);
    if (way->zcopy_max > 0) {
        suite_send_zcopy(to, way, way->zcopy_max / (1 + i % 3), &ops[begun]);
        begun++;
    }
    suite_send(to, i, 0, false);
    return begun;
}

static struct weft_path *next_path(struct weft_path *path)
{
    return suite.ops->next_path != NULL ? suite.ops->next_path(path) : path;
}

static struct weft_path *find_path(struct weft_path *path, uint32_t number)
{
    return suite.ops->find_path != NULL ? suite.ops->find_path(path, number) : path;
}

/* All paths to a rank, once they are open. */
static void find_ways(uint32_t to, struct weft_path *ways[WEFT_STREAMS_MAX])
{
    for (uint32_t found = 0; found < stream_count(); suite_progress()) {
        struct weft_path *way = next_path(suite.path[to]);

        check(weft_process_rank(way->process) == to && way->packets == suite.ops);
        check(way->number < stream_count());
        found += ways[way->number] == NULL ? 1 : 0;
        ways[way->number] = way;
    }
    check(ways[0] == suite.path[to]);
}

/* A transport that has several at a time links them by `next`: each is its own. */
static void make_ops(struct weft_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ops[i] = (struct weft_op){.done = suite_on_done};
    }
}

static void put_all(uint32_t to, const struct weft_key *key)
{
    struct weft_path *ways[WEFT_STREAMS_MAX] = {NULL};
    const uint32_t before = suite.done_count;
    uint8_t *blocks = make_blocks(suite.me);
    struct weft_op ops[2 * BLOCKS];
    uint32_t begun = 0;

    make_ops(ops, 2 * BLOCKS);
    find_ways(to, ways);
    for (size_t i = 0; i < BLOCKS; i++) {
        begun +=
            put_block(ways[i % stream_count()], key, i, blocks + i * BLOCK, &ops[2 * i]);
        suite_progress();
    }
    while (suite.done_count - before < begun) {
        suite_progress();
    }
    free(blocks);
}

/* The blocks once more, out of the peer's memory. */
static void get_all(uint32_t to, const struct weft_key *key)
{
    const uint32_t before = suite.done_count;
    uint8_t *blocks = make_blocks(suite.me);
    uint8_t *back = calloc(BLOCKS, BLOCK);
    struct weft_op ops[BLOCKS];

    check(back != NULL);
    make_ops(ops, BLOCKS);
    for (size_t i = 0; i < BLOCKS; i++) {
        const size_t at = i * BLOCK;
        struct weft_path *way =
            find_path(suite.path[to], (uint32_t)i % (WEFT_STREAMS_MAX + 1));
        enum weft_rc rc;

        check(way->number == i % (WEFT_STREAMS_MAX + 1) || way == suite.path[to]);
        while ((rc = weft_path_get(way, key, at, back + at, BLOCK, &ops[i])) ==
               WEFT_AGAIN) {
            suite_progress();
        }
        check(rc == WEFT_PENDING);
    }
    while (suite.done_count - before < BLOCKS) {
        suite_progress();
    }
    check(memcmp(back, blocks, (size_t)BLOCKS * BLOCK) == 0);
    free(back);
    free(blocks);
}

/* Words of several streams come in any order: a block's number, or how many packets. */
static void await_blocks(uint32_t from, const uint8_t *memory, const uint8_t *expected)
{
    uint64_t packets = 0;

    for (int i = 0; i < BLOCKS + 1; i++) {
        const uint64_t word = suite_await_word(from);
        const size_t at = (size_t)word * BLOCK;

        if (word >= ARE_PACKETS) {
            packets = word - ARE_PACKETS;
        } else {
            check(word < BLOCKS);
            check(memory == NULL || memcmp(memory + at, expected + at, BLOCK) == 0);
        }
    }
    while (suite.from[from].ordered != packets) {
        suite_progress();
    }
}

/* All paths are used; what says that something is there never comes before it. */
void case_paths(void)
{
    const uint32_t to = suite_next();
    const uint32_t from = suite_previous();
    const struct weft_memory_ops *ops = suite.path[to]->memory;
    uint8_t *memory = calloc(BLOCKS, BLOCK);
    uint8_t *expected = make_blocks(from);
    struct weft_key key = {0, 0};
    void *region = NULL;

    check(memory != NULL);
    if (ops != NULL) {
        region = suite_exchange_keys(memory, (size_t)BLOCKS * BLOCK, &key);
    }
    suite_meet(); /* before words that could come before these */
    put_all(to, &key);
    suite_send_word(to, ARE_PACKETS + suite.sent[to]);
    await_blocks(from, ops != NULL ? memory : NULL, expected);
    suite_meet();
    if (ops != NULL) {
        get_all(to, &key);
        suite_meet();
        ops->mr_deregister(suite.tp, region);
    }
    free(expected);
    free(memory);
}
