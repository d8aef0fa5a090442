/*
 * test_network_thread.c - the thread that sleeps on a network is ended and started again,
 * as sessions come and go; what comes from the network in between is not forgotten.
 *
 * The network is one descriptor. The doorbell is the test's: it holds the sleeper for as
 * long as the test wants, so that what happens meanwhile is found by it at once.
 */
#include "p2p_fixture.h"

#include "base/clock.h"
#include "engine/lock.h"
#include "engine/network_thread.h"
#include "engine/thread.h"

#include <sched.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

enum { PATIENCE_S = 20, SOON_NS = 1000 * 1000 };

static struct {
    int descriptor;
    bool is_mute; /* it has no descriptors */
    uint64_t deadline;
    sem_t rung;
    sem_t go_on; /* who rings waits for this */
    bool comes_before_stop;
    bool comes_behind_stop;
    bool is_armed_before_end; /* whoever is told to end arms once more */
    int threads;              /* of the library, that have not been joined */
} net;

static void let_come(void)
{
    assert_int_equal(eventfd_write(net.descriptor, 1), 0);
}

static void take(void)
{
    eventfd_t count;

    assert_int_equal(eventfd_read(net.descriptor, &count), 0);
}

/* ---- a network ---- */

static enum weft_rc net_open(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    (void)up;
    (void)node;
    net.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *out = NULL;
    return net.descriptor >= 0 ? WEFT_OK : WEFT_ERR_SYSTEM;
}

static void net_close(struct weft_transport *tp)
{
    (void)tp;
    close(net.descriptor);
}

static int net_descriptors(struct weft_transport *tp, int out[WEFT_DESCRIPTORS])
{
    (void)tp;
    out[0] = net.descriptor;
    return net.is_mute ? 0 : 1;
}

static enum weft_rc net_arm(struct weft_transport *tp)
{
    (void)tp;
    return WEFT_OK;
}

static int net_poll(struct weft_transport *tp, int budget)
{
    (void)tp;
    (void)budget;
    return 0;
}

static void net_count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    (void)tp;
    (void)traffic;
}

static uint64_t net_deadline(const struct weft_transport *tp)
{
    (void)tp;
    return net.deadline;
}

static const struct weft_packet_ops net_ops = {
    .name = "one descriptor",
    .open = net_open,
    .close = net_close,
    .descriptors = net_descriptors,
    .arm = net_arm,
    .poll_every = 8,
    .poll = net_poll,
    .deadline = net_deadline,
    .count = net_count,
};

/* ---- the sleeper ---- */

static void wait_for(sem_t *semaphore)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    assert_int_equal(sem_timedwait(semaphore, &until), 0);
}

static void ring(void)
{
    sem_post(&net.rung);
    sem_wait(&net.go_on);
}

static int open_fixture(void **state)
{
    if (fixture_open(state) != 0) {
        return -1;
    }
    fake.ringing = ring;
    sem_init(&net.rung, 0, 0);
    sem_init(&net.go_on, 0, 0);
    net.comes_before_stop = false;
    net.comes_behind_stop = false;
    net.is_armed_before_end = false;
    return weft_transport_add(&net_ops) == WEFT_OK && weft_threads_open() == WEFT_OK ? 0
                                                                                     : -1;
}

static int open_mute(void **state)
{
    net.is_mute = true;
    return open_fixture(state);
}

static int close_fixture(void **state)
{
    weft_threads_stop();
    net.is_mute = false;
    net.deadline = 0;
    fake.ringing = NULL;
    sem_destroy(&net.rung);
    sem_destroy(&net.go_on);
    return fixture_close(state);
}

static void arm(void)
{
    weft_lock();
    assert_int_equal(weft_descriptors_arm(), WEFT_OK);
    weft_unlock();
}

int __real_pthread_create(pthread_t *out, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument);
int __real_pthread_join(pthread_t thread, void **out);
int __wrap_pthread_join(pthread_t thread, void **out);

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument)
{
    const int err = __real_pthread_create(out, attributes, run, argument);

    net.threads += err == 0;
    return err;
}

/* A thread was told to end. The sleeper is still held where it rings. */
int __wrap_pthread_join(pthread_t thread, void **out)
{
    net.threads--;
    if (net.is_armed_before_end) {
        arm();
    }
    if (net.comes_behind_stop) {
        let_come();
        net.comes_behind_stop = false;
    }
    sem_post(&net.go_on);
    return __real_pthread_join(thread, out);
}

/* A sleeper that has rung once, is held there, and is to watch the descriptor again. */
static void hold_thread(void)
{
    arm();
    let_come();
    wait_for(&net.rung);
    take();
    arm();
}

static void end_thread(void)
{
    if (net.comes_before_stop) {
        let_come();
    }
    weft_network_thread_stop();
    while (sem_trywait(&net.rung) == 0) { /* that was for the time before */
    }
    while (sem_trywait(&net.go_on) == 0) {
    }
}

/* Nobody has taken what came: who arms and sleeps is woken by the next sleeper. */
static void assert_next_sleeper_rings(void)
{
    arm();
    wait_for(&net.rung);
    sem_post(&net.go_on);
}

/* ---- cases ---- */

static void what_comes_behind_the_stop_is_told_by_the_next_sleeper(void **state)
{
    (void)state;
    hold_thread();
    net.comes_behind_stop = true;
    end_thread();
    assert_next_sleeper_rings();
}

static void what_comes_before_the_stop_is_told_by_the_next_sleeper(void **state)
{
    (void)state;
    hold_thread();
    net.comes_before_stop = true;
    end_thread();
    assert_next_sleeper_rings();
}

static void what_comes_while_there_is_none_is_told_by_the_next_sleeper(void **state)
{
    (void)state;
    hold_thread();
    end_thread();
    let_come();
    assert_next_sleeper_rings();
}

/* The progress thread is in the middle of its work, which ends with arming. */
static void no_thread_is_left_if_one_arms_before_it_ends(void **state)
{
    (void)state;
    weft_engine.has_progress = true;
    weft_lock();
    weft_threads_start();
    weft_unlock();
    assert_int_equal(net.threads, 2);
    net.is_armed_before_end = true;
    weft_threads_stop();
    assert_int_equal(net.threads, 0);
}

/* Nothing comes that would be told of. */
static void a_network_without_descriptors_is_polled_by_the_clock(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_next_sleeper_rings();
    }
}

/* A send has set it, and its thread is gone, or another one sleeps already. */
static void a_time_that_a_transport_has_told_is_kept(void **state)
{
    (void)state;
    arm(); /* without a time */
    for (int i = 0; i < 3; i++) {
        weft_lock();
        weft_network_wake_at(NULL, weft_clock_ns() + SOON_NS);
        weft_unlock();
        wait_for(&net.rung);
        sem_post(&net.go_on);
    }
}

/* The program computes behind MPI_Init, and has called nothing that sends or polls. */
static void a_time_is_kept_before_anybody_has_polled(void **state)
{
    (void)state;
    net.deadline = weft_clock_ns() + SOON_NS;
    weft_lock();
    weft_threads_start();
    weft_unlock();
    wait_for(&net.rung);
    sem_post(&net.go_on);
}

/* One that the kernel moves meanwhile has left it, too: then the next one is avoided. */
static int avoid_where_it_is(cpu_set_t *left, int *avoided)
{
    int processor;

    do {
        processor = sched_getcpu();
        weft_thread_avoid(processor, avoided);
        sched_getaffinity(0, sizeof(*left), left);
    } while (CPU_ISSET((size_t)processor, left));
    return processor;
}

static void a_thread_leaves_the_processor_that_it_is_to_avoid(void **state)
{
    cpu_set_t all;
    cpu_set_t left;
    int avoided = -1;
    int first;
    int next;

    (void)state;
    sched_getaffinity(0, sizeof(all), &all);
    if (CPU_COUNT(&all) < 2) {
        skip();
    }
    first = avoid_where_it_is(&left, &avoided);
    assert_int_not_equal(sched_getcpu(), first);
    assert_int_equal(CPU_COUNT(&left), CPU_COUNT(&all) - 1);
    next = avoid_where_it_is(&left, &avoided);
    assert_int_not_equal(next, first);
    assert_true(CPU_ISSET((size_t)first, &left));
    assert_int_equal(CPU_COUNT(&left), CPU_COUNT(&all) - 1);
    sched_setaffinity(0, sizeof(all), &all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_comes_behind_the_stop_is_told_by_the_next_sleeper),
        CASE(what_comes_before_the_stop_is_told_by_the_next_sleeper),
        CASE(what_comes_while_there_is_none_is_told_by_the_next_sleeper),
        CASE(a_time_is_kept_before_anybody_has_polled),
        CASE(no_thread_is_left_if_one_arms_before_it_ends),
        CASE(a_time_that_a_transport_has_told_is_kept),
        cmocka_unit_test_setup_teardown(
            a_network_without_descriptors_is_polled_by_the_clock, open_mute,
            close_fixture),
        cmocka_unit_test(a_thread_leaves_the_processor_that_it_is_to_avoid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
