/* sleep.c - cases about wake levels: what ends a sleep, and that no wake-up is lost. */
#include "suite.h"

#include "base/clock.h"
#include "base/futex.h"
#include "sanitized.h"

#include <pthread.h>
#include <unistd.h>

enum {
    ROUNDS = IS_SANITIZED ? 4000 : 20000,
    TICK_NS = 1000 * 1000,
    SHORT_NS = 2 * 1000 * 1000,
    LONG_NS = 2000 * 1000 * 1000, /* no sleep below should take so long */
    LATER_US = 2000,
    FIRST_PACKETS = 10,
};

/* Who sleeps in MPI wants everything; a progress thread sleeps on a bell of its own. */
static enum weft_rc arm_at(enum weft_wake_level level, uint32_t *bell)
{
    enum weft_rc rc;

    if (level == WEFT_WAKE_ALL) {
        *bell = weft_node_publish(&suite.node, level);
    } else {
        *bell =
            atomic_load_explicit(&suite.node.area->progress_bell, memory_order_acquire);
        weft_node_publish_leaving(&suite.node, level);
    }
    rc = suite.ops->arm(suite.tp);
    if (rc != WEFT_OK) {
        weft_node_disarm(&suite.node);
    }
    return rc;
}

static void sleep_at(enum weft_wake_level level, uint32_t bell, _Atomic uint32_t *word,
                     uint32_t old, uint64_t ns)
{
    if (level == WEFT_WAKE_ALL) {
        weft_node_sleep(&suite.node, bell, word, old, ns);
    } else {
        if (weft_node_may_miss(&suite.node) && (ns == 0 || ns > TICK_NS)) {
            ns = TICK_NS; /* as the progress thread does */
        }
        weft_futex_wait(&suite.node.area->progress_bell, bell, ns);
    }
}

/* Armed and nothing there: sleeps. Returns how long. */
static uint64_t sleep_once(enum weft_wake_level level, _Atomic uint32_t *word,
                           uint32_t old, uint64_t ns)
{
    const uint64_t start = weft_clock_ns();
    uint32_t bell;

    check(arm_at(level, &bell) == WEFT_OK);
    sleep_at(level, bell, word, old, ns);
    weft_node_disarm(&suite.node);
    return weft_clock_ns() - start;
}

/* ---- what ends a sleep, besides a packet ---- */

enum ender { BY_WORD, BY_RING, BY_DOORBELL };

static _Atomic uint32_t word;

static void *end_later(void *argument)
{
    const enum ender *by = argument;
    _Atomic uint32_t *bell = &suite.node.area->doorbell;

    usleep(LATER_US);
    switch (*by) {
    case BY_WORD:
        atomic_fetch_add_explicit(&word, 1, memory_order_release);
        weft_futex_wake(&word, 1);
        break;
    case BY_RING:
        weft_node_ring(&suite.node);
        break;
    case BY_DOORBELL:
        atomic_fetch_add_explicit(bell, 1, memory_order_release);
        weft_futex_wake(bell, 1);
        break;
    }
    return NULL;
}

static void sleep_until(enum ender by)
{
    const uint32_t old = atomic_load_explicit(&word, memory_order_acquire);
    const uint64_t start = weft_clock_ns();
    pthread_t thread;
    uint32_t bell;

    /* Armed before there is a thread that rings: a ring before that ends nothing. */
    check(arm_at(WEFT_WAKE_ALL, &bell) == WEFT_OK);
    check(pthread_create(&thread, NULL, end_later, &by) == 0);
    weft_node_sleep(&suite.node, bell, by == BY_WORD ? &word : NULL, old,
                    2 * (uint64_t)LONG_NS);
    weft_node_disarm(&suite.node);
    check(weft_clock_ns() - start < LONG_NS);
    check(pthread_join(thread, NULL) == 0);
}

/* What moved on between arming and sleeping ends the sleep before it begins. */
static void sleep_too_late(void)
{
    uint64_t start = weft_clock_ns();
    uint32_t bell;

    check(arm_at(WEFT_WAKE_ALL, &bell) == WEFT_OK);
    weft_node_ring(&suite.node);
    weft_node_sleep(&suite.node, bell, NULL, 0, 2 * (uint64_t)LONG_NS);
    weft_node_disarm(&suite.node);
    check(sleep_once(WEFT_WAKE_ALL, &word,
                     atomic_load_explicit(&word, memory_order_acquire) - 1,
                     2 * (uint64_t)LONG_NS) < LONG_NS);
    check(weft_clock_ns() - start < LONG_NS);
}

/* Who finds something does not sleep, and takes it at once. */
static void find_one_from(uint32_t rank)
{
    const uint32_t before = suite.from[rank].ordered;

    while (suite.from[rank].ordered == before) {
        uint32_t bell;

        if (arm_at(WEFT_WAKE_ALL, &bell) == WEFT_OK) {
            weft_node_disarm(&suite.node); /* it is still on its way */
        } else {
            check(suite.ops->poll(suite.tp, SUITE_BUDGET) > 0);
        }
    }
}

/* A packet is there that may not be taken: it stays, and keeps nobody awake. */
static void refuse_one_from(uint32_t rank)
{
    const uint32_t before = suite.from[rank].ordered;
    uint32_t bell;

    suite.is_full = true;
    for (int i = 0; i < 100; i++) {
        suite.ops->poll(suite.tp, SUITE_BUDGET);
    }
    check(suite.from[rank].ordered == before);
    check(arm_at(WEFT_WAKE_ALL, &bell) == WEFT_OK);
    weft_node_disarm(&suite.node);
    suite.is_full = false;
}

/* One packet after the other, from the first, whichever way each comes. */
void case_first_packets_are_seen(void)
{
    suite_meet_quietly(); /* nobody polls any more who could take one too early */
    for (int i = 0; i < FIRST_PACKETS; i++) {
        if (suite.me == 0) {
            suite_send(1, 8, 0, false);
        }
        suite_meet_quietly();
        if (suite.me == 1) {
            if (i % 2 == 1) {
                refuse_one_from(0);
            }
            find_one_from(0);
        }
        suite_meet_quietly();
    }
}

void case_sleep_ends(void)
{
    /* Its own time, its own process, and a peer that has sent nothing. */
    check(sleep_once(WEFT_WAKE_REQUESTS, NULL, 0, SHORT_NS) < LONG_NS);
    sleep_until(BY_WORD);
    sleep_until(BY_RING);
    sleep_until(BY_DOORBELL);
    sleep_too_late();
    suite_meet_quietly();
    if (suite.me == 0) {
        check(sleep_once(WEFT_WAKE_REQUESTS, NULL, 0, 2 * (uint64_t)LONG_NS) < LONG_NS);
        suite_send_word(1, 0);
    } else if (suite.me == 1) {
        while (suite.from[0].words_in == suite.from[0].words_out) {
            weft_node_wake(suite_area(0), WEFT_WAKE_REQUESTS);
            usleep(LATER_US / 10);
            suite_progress();
        }
        suite_await_word(0);
    }
    suite_meet();
    suite_meet_quietly(); /* nobody polls any more who could take it too early */

    suite_send(suite_next(), 8, 0, false);
    suite_meet_quietly();
    find_one_from(suite_previous());
    suite_meet();
}

/* ---- lost wake-ups ---- */

/* Kinds of packets, and the wake level that asks to be woken for them. */
static const struct {
    unsigned flags;
    enum weft_wake_level level;
} kinds[] = {
    {0, WEFT_WAKE_ALL},
    {WEFT_SEND_URGENT, WEFT_WAKE_ALL},
    {WEFT_SEND_CONTROL, WEFT_WAKE_ALL},
    {0, WEFT_WAKE_ANYTHING},
    {WEFT_SEND_CONTROL, WEFT_WAKE_ANYTHING},
    {WEFT_SEND_URGENT, WEFT_WAKE_REQUESTS},
    {WEFT_SEND_CONTROL, WEFT_WAKE_REQUESTS},
};

static void spin(uint64_t ns)
{
    const uint64_t end = weft_clock_ns() + ns;

    while (weft_clock_ns() < end) {
    }
}

/* Sleeps until one more packet has come; without end, so that a lost one is noticed. */
static uint32_t sleep_for_one(uint32_t from, uint32_t expected,
                              enum weft_wake_level level)
{
    suite_begin_sleep(from, expected);
    while (!suite_has_come()) {
        uint32_t bell;

        if (arm_at(level, &bell) == WEFT_OK) {
            sleep_at(level, bell, NULL, 0, 0);
            weft_node_disarm(&suite.node);
            suite.wait.slept++;
        } else {
            check(++suite.wait.refused < 1000);
        }
    }
    return suite.wait.slept;
}

/* To and fro between ranks 0 and 1; each sleeps as soon as it has answered. */
void case_no_wakeup_is_lost(void)
{
    const uint32_t other = 1 - suite.me;
    uint64_t random = 1 + suite.me;
    uint32_t slept = 0;

    if (suite.me < 2) {
        uint32_t expected = suite_packets_from(other);

        suite_meet_quietly();
        for (int i = 0; i < ROUNDS; i++) {
            const size_t kind = (size_t)i / 2 % (sizeof(kinds) / sizeof(kinds[0]));
            const uint64_t r = suite_random(&random) >> 20;

            if (suite.me == (uint32_t)i % 2) {
                spin(r % 3 == 0 ? 0 : r % 20000);
                suite_send(other, r % 50, kinds[kind].flags, false);
            } else {
                spin(r % 2 == 0 ? 0 : r % 5000);
                slept += sleep_for_one(other, ++expected, kinds[kind].level);
            }
        }
        check(slept > ROUNDS / 100); /* else nothing was tried */
    } else {
        suite_meet_quietly();
    }
    suite_meet_quietly();
    suite_meet();
}
