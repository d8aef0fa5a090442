/*
 * test_progress_thread.c - progress while the program computes: by the progress thread,
 * for what comes through shared memory, and by the network thread, for what comes from a
 * network; what they leave to threads of the program; and what they do when a peer is
 * lost.
 *
 * The test is the program and all peers. While it stands for peers it holds the lock, so
 * that no thread of the library sees half of what they do.
 */
#include "p2p_fixture.h"

#include "fake_network.h"

#include "engine/engine.h"
#include "engine/lock.h"
#include "engine/network_thread.h"
#include "engine/progress_thread.h"
#include "engine/wait.h"
#include "engine/work.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

enum { A = 3, B = 4, TAG = 7, LONG = 64 * 1024, PATIENCE_S = 20 };

static uint8_t message[LONG];
static uint8_t buffer[LONG];

/* ---- what the test can see ---- */

static uint64_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* Until it is so; looks with the lock and calls nothing that makes progress. */
static void await(bool (*is_so)(const void *argument), const void *argument)
{
    const struct timespec pause = {.tv_nsec = 100000};
    const uint64_t end = seconds() + PATIENCE_S;
    bool is_it = false;

    while (!is_it && seconds() < end) {
        weft_lock();
        is_it = is_so(argument);
        weft_unlock();
        nanosleep(&pause, NULL);
    }
    assert_true(is_it);
}

static bool is_complete(const void *request)
{
    return weft_request_is_complete(request);
}

static bool is_left_alone(const void *ignored)
{
    (void)ignored;
    return !atomic_load(&weft_engine.is_delegated);
}

static bool is_answered(const void *ignored)
{
    (void)ignored;
    return fake_net.answered > 0;
}

static uint32_t wake_level(void)
{
    return atomic_load(&area_of(0)->wake_level);
}

/* ---- through shared memory ---- */

static int open_node(void **state)
{
    fill_pattern(message, LONG, 1);
    memset(buffer, 0, sizeof(buffer));
    if (fixture_open(state) != 0) {
        return -1;
    }
    weft_engine.has_progress = true;
    return 0;
}

/* A peer has announced a long message, and rings who has asked for that. */
static void announce_and_ring(void)
{
    weft_lock();
    arrive_announced(A, TAG, message, LONG, 99);
    weft_unlock();
    weft_node_notice_urgent(area_of(0));
}

static void the_progress_thread_takes_over_when_the_program_computes(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, LONG);

    (void)state;
    assert_int_equal(wake_level(), WEFT_WAKE_REQUESTS);
    announce_and_ring();
    await(is_complete, request);
    await(is_left_alone, NULL); /* nothing is outstanding: it gives back what it took */
    assert_int_equal(wake_level(), WEFT_WAKE_NONE);
    assert_pattern(buffer, LONG, 1);
    weft_threads_stop();
    end_recv(request, A, TAG, LONG);
}

static void it_stays_responsible_while_something_is_outstanding(void **state)
{
    static uint8_t other[8];
    struct weft_request *second = start_recv(B, TAG, other, sizeof(other));
    struct weft_request *first = start_recv(A, TAG, buffer, LONG);

    (void)state;
    announce_and_ring();
    await(is_complete, first);
    weft_threads_stop(); /* so that it has published, or has been told to end before */
    assert_false(weft_request_is_complete(second));
    weft_lock();
    weft_engine_leave(); /* starts it again */
    weft_unlock();
    assert_int_equal(wake_level(), WEFT_WAKE_REQUESTS);
    weft_lock(); /* the progress thread, just started, may look at what has arrived */
    arrive_eager(B, TAG, "message", 8);
    weft_engine_poll_as_thread("a test");
    weft_engine_leave();
    weft_unlock();
    weft_threads_stop();
    end_recv(first, A, TAG, LONG);
    end_recv(second, B, TAG, 8);
}

/* A thread that sleeps in MPI is rung; the progress thread, though rung, does nothing. */
static void come_while_the_program_waits(void)
{
    _Atomic uint32_t *bell = &area_of(0)->progress_bell;

    assert_int_equal(wake_level(), WEFT_WAKE_ALL);
    assert_false(atomic_load(&weft_engine.is_delegated));
    weft_lock();
    arrive_eager(A, TAG, "message", 8);
    weft_unlock();
    atomic_fetch_add(bell, 1);
    weft_futex_wake(bell, 1);
    weft_progress_thread_stop();
    assert_int_equal(fake_pending(), 1);
}

static void it_gives_back_when_the_program_waits(void **state)
{
    static const struct weft_wait_reason why = {"a test", "", A, TAG, 8};
    struct weft_request *request = start_recv(A, TAG, buffer, LONG);

    (void)state;
    assert_true(atomic_load(&weft_engine.is_delegated));
    fake.sleeping = come_while_the_program_waits;
    weft_wait(request, &why);
    fake.sleeping = NULL;
    assert_int_equal(fake.sleeps, 1);
    weft_threads_stop();
    end_recv(request, A, TAG, 8);
}

/* The peer copies all of our message, before it can see a wake level of ours. */
static void copy_unseen(void)
{
    const struct weft_pkt_announce announce = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));
    struct weft_copy_share *share = share_of(0, (uint32_t)announce.share);
    const struct weft_share_terms terms = {
        .source = announce.address, .length = LONG, .chunk = LONG};

    weft_share_open(share, (uint32_t)(announce.share >> 32), &terms);
    assert_true(weft_share_count(share, LONG));
    assert_int_equal(wake_level(), WEFT_WAKE_NONE); /* so it rings nobody */
}

static void what_ends_before_the_level_is_published_is_seen(void **state)
{
    struct weft_request *request;
    bool is_seen;

    (void)state;
    weft_lock();
    assert_int_equal(weft_isend_locked(&fixture_comm, A, TAG, message, LONG,
                                       WEFT_PLANE_P2P | WEFT_SEND_STANDARD, &request),
                     WEFT_OK);
    copy_unseen();
    weft_engine_leave();
    is_seen = weft_request_is_complete(request);
    weft_unlock();
    weft_threads_stop();
    assert_true(is_seen);
    end_request(request, WEFT_OK);
}

/* A peer rings, and the program looks all the time. True: when it leaves MPI now, it asks
 * for no more rings, although something is outstanding. */
static bool is_quiet_after_ring(void)
{
    enum { LOOKS = 50 };
    bool is_quiet;

    weft_node_notice_urgent(area_of(0));
    for (int i = 0; i < LOOKS; i++) {
        weft_progress();
    }
    weft_lock();
    weft_engine_enter();
    weft_engine_leave();
    is_quiet = wake_level() == WEFT_WAKE_NONE;
    assert_true(atomic_load(&weft_engine.is_delegated));
    weft_unlock();
    return is_quiet;
}

static void who_looks_all_the_time_is_not_rung(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, LONG);
    const uint64_t end = seconds() + PATIENCE_S;

    (void)state;
    while (!is_quiet_after_ring()) {
        assert_true(seconds() < end);
    }
    announce_and_ring(); /* nobody, unless the program was kept off for long */
    await(is_complete, request);
    await(is_left_alone, NULL);
    assert_pattern(buffer, LONG, 1);
    weft_threads_stop();
    end_recv(request, A, TAG, LONG);
}

static void *look_all_the_time(void *is_over)
{
    while (!atomic_load((_Atomic bool *)is_over)) {
        weft_progress();
    }
    return NULL;
}

static void leave_anew(void)
{
    weft_lock();
    weft_engine_enter();
    weft_engine_leave(); /* starts it */
    weft_unlock();
}

/* Who looks judges the ring that ends it, and may start it again. */
static void a_thread_may_look_while_another_one_ends_it(void **state)
{
    enum { ENDS = 200 };
    struct weft_request *request = start_recv(A, TAG, buffer, LONG);
    _Atomic bool is_over = false;
    pthread_t looking;

    (void)state;
    assert_int_equal(pthread_create(&looking, NULL, look_all_the_time, &is_over), 0);
    for (int i = 0; i < ENDS; i++) {
        leave_anew();
        weft_progress_thread_stop();
    }
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(looking, NULL), 0);
    leave_anew();
    announce_and_ring();
    await(is_complete, request);
    assert_pattern(buffer, LONG, 1);
    weft_threads_stop();
    end_recv(request, A, TAG, LONG);
}

/* ---- from a network ---- */

static sem_t rung;

static void note_ring(void)
{
    sem_post(&rung);
}

static int open_net(void **state)
{
    fake_net_reset();
    fake_net.has_events = true;
    sem_init(&rung, 0, 0);
    memset(buffer, 0, sizeof(buffer));
    if (fixture_open_over(state, &fake_net_ops) != 0) {
        return -1;
    }
    fake.ringing = note_ring;
    weft_engine.has_progress = true;
    return 0;
}

static int close_net(void **state)
{
    int rc;

    weft_threads_stop();
    fake.ringing = NULL;
    rc = fixture_close(state);
    sem_destroy(&rung);
    if (fake_net.fault != NULL) {
        fprintf(stderr, "fake network: %s\n", fake_net.fault);
        return -1;
    }
    return rc;
}

static void come_from_network(void)
{
    struct weft_header header = fixture_header(WEFT_PKT_EAGER, A, TAG);

    header.length = 8;
    weft_lock();
    fake_net_arrive(A, &header, "message", 8);
    weft_unlock();
}

static void lose_on_network(void)
{
    weft_lock();
    fake_net_lose_later(A);
    weft_unlock();
}

/* The network thread rings who sleeps in MPI, and leaves the rest to it. */
static void wait_for_ring(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    assert_int_equal(sem_timedwait(&rung, &until), 0);
}

static void come_while_asleep(void)
{
    come_from_network();
    wait_for_ring();
}

static void lose_while_asleep(void)
{
    lose_on_network();
    wait_for_ring();
}

static void wait_asleep(struct weft_request *request, void (*while_asleep)(void))
{
    static const struct weft_wait_reason why = {"a test", "", A, TAG, 8};

    fake.sleeping = while_asleep;
    weft_wait(request, &why);
    fake.sleeping = NULL;
    assert_int_equal(fake.sleeps, 1);
}

/* ---- work that needs a thread of the program, found by the progress thread ---- */

static sem_t begun;
static sem_t asleep;
static _Atomic uint32_t called;
static struct weft_work first_work;
static struct weft_work call_work;

static void run_until_asleep(struct weft_work *work)
{
    (void)work;
    sem_post(&begun);
    sem_wait(&asleep);
}

static void run_call(struct weft_work *work)
{
    (void)work;
    assert_false(weft_engine.is_progress_thread_inside);
}

static void note_call(struct weft_work *work)
{
    (void)work;
    atomic_store(&called, 1);
}

static void enqueue_call(struct weft_work *work)
{
    (void)work;
    weft_work_enqueue(&call_work, WEFT_WORK_CALL, run_call, note_call);
}

static void go_on_while_asleep(void)
{
    sem_post(&asleep);
    wait_for_ring();
}

static void
the_progress_thread_wakes_who_sleeps_for_what_its_work_has_brought(void **state)
{
    static const struct weft_wait_reason why = {"a test", "", A, TAG, 8};
    _Atomic uint32_t sleepers = 0;

    (void)state;
    sem_init(&begun, 0, 0);
    sem_init(&asleep, 0, 0);
    atomic_store(&called, 0);
    weft_lock();
    weft_work_enqueue(&first_work, WEFT_WORK_SHORT, run_until_asleep, enqueue_call);
    weft_engine_leave();
    weft_unlock();
    sem_wait(&begun);
    fake.sleeping = go_on_while_asleep;
    weft_lock();
    weft_engine_wait_word(&called, 0, &sleepers, &why);
    weft_unlock();
    fake.sleeping = NULL;
    assert_int_equal(fake.sleeps, 1);
    sem_destroy(&asleep);
    sem_destroy(&begun);
}

static void the_network_thread_serves_while_the_program_computes(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, 8);

    (void)state;
    come_from_network();
    await(is_complete, request);
    await(is_left_alone, NULL);
    end_recv(request, A, TAG, 8);
}

/* It watches a descriptor again after it has fired: by who served, and published anew. */
static void the_network_thread_is_woken_again_and_again(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct weft_request *request = start_recv(A, TAG, buffer, 8);

        come_from_network();
        await(is_complete, request);
        end_recv(request, A, TAG, 8);
    }
}

static void the_network_thread_wakes_who_sleeps_in_mpi(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, 8);

    (void)state;
    wait_asleep(request, come_while_asleep);
    end_recv(request, A, TAG, 8);
}

/* The network has come up, and has other descriptors, while the thread sleeps on the
 * first ones; the next who arms is told. */
static void descriptors_that_have_changed_are_watched(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, 8);

    (void)state;
    weft_lock();
    fake_net_change_descriptors();
    weft_engine_enter();
    weft_engine_leave();
    weft_unlock();
    come_from_network();
    await(is_complete, request);
    end_recv(request, A, TAG, 8);
}

static void descriptors_that_change_before_a_sleep_wake_from_it(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, 8);

    (void)state;
    weft_lock();
    fake_net_change_descriptors();
    weft_unlock();
    wait_asleep(request, come_while_asleep);
    end_recv(request, A, TAG, 8);
}

static void a_path_lost_while_the_program_computes_fails_what_waits(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, 8);

    (void)state;
    lose_on_network();
    await(is_complete, request);
    await(is_left_alone, NULL);
    end_request(request, WEFT_ERR_PROC_FAILED);
}

static void a_path_lost_while_a_thread_sleeps_in_mpi_ends_its_wait(void **state)
{
    struct weft_request *request = start_recv(A, TAG, buffer, 8);

    (void)state;
    wait_asleep(request, lose_while_asleep);
    end_request(request, WEFT_ERR_PROC_FAILED);
}

/* Peers connect also to a process that wants nothing of anybody. */
static void a_connection_is_made_while_nothing_is_outstanding(void **state)
{
    (void)state;
    weft_lock();
    weft_threads_start();
    assert_int_equal(weft_engine.reasons, 0);
    fake_net_ask();
    weft_unlock();
    await(is_answered, NULL);
}

static bool is_polled(const void *before)
{
    return fake_net.polls > *(const int *)before;
}

static uint64_t milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Two threads that poll in turn would wait for each other after every look. It looks
 * again every 10 ms. */
static void it_looks_once_where_a_thread_of_the_program_polls(void **state)
{
    const struct timespec pause = {.tv_nsec = 30 * 1000000};
    const uint64_t start = milliseconds();
    int before;

    (void)state;
    weft_lock();
    weft_threads_start();
    weft_engine.waiting_threads++; /* we are the one that polls */
    fake_net.keeps_coming = true;
    before = fake_net.polls;
    weft_progress_thread_call();
    weft_unlock();
    await(is_polled, &before);
    nanosleep(&pause, NULL);
    weft_lock();
    assert_in_range(fake_net.polls - before, 1, 4 + milliseconds() - start);
    weft_engine.waiting_threads--;
    fake_net.keeps_coming = false;
    weft_unlock();
}

/* What keeps coming keeps the thread of the network from sleep, and nobody out of MPI:
 * also where a transport is mistaken. */
static void a_thread_comes_in_while_something_keeps_coming(void **state)
{
    enum { TIMES = 3 };

    (void)state;
    weft_lock();
    weft_threads_start();
    fake_net.keeps_coming = true;
    for (int i = 0; i < TIMES; i++) {
        int before = fake_net.polls;

        weft_progress_thread_call();
        weft_unlock();
        await(is_polled, &before);
        weft_lock();
    }
    fake_net.keeps_coming = false;
    weft_unlock();
}

static void a_thread_comes_in_while_what_is_outstanding_keeps_coming(void **state)
{
    struct weft_request *request;

    (void)state;
    weft_lock();
    fake_net.keeps_coming = true;
    weft_unlock();
    request = start_recv(A, TAG, buffer, 8); /* which calls the progress thread */
    for (int i = 0; i < 3; i++) {
        int before;

        weft_lock();
        before = fake_net.polls;
        weft_unlock();
        await(is_polled, &before);
    }
    weft_lock();
    fake_net.keeps_coming = false;
    weft_unlock();
    come_from_network();
    await(is_complete, request);
    end_recv(request, A, TAG, 8);
}

int main(void)
{
#define NODE(name) cmocka_unit_test_setup_teardown(name, open_node, fixture_close)
#define NET(name)  cmocka_unit_test_setup_teardown(name, open_net, close_net)
    const struct CMUnitTest tests[] = {
        NODE(the_progress_thread_takes_over_when_the_program_computes),
        NODE(it_stays_responsible_while_something_is_outstanding),
        NODE(it_gives_back_when_the_program_waits),
        NODE(what_ends_before_the_level_is_published_is_seen),
        NODE(who_looks_all_the_time_is_not_rung),
        NODE(a_thread_may_look_while_another_one_ends_it),
        NET(the_progress_thread_wakes_who_sleeps_for_what_its_work_has_brought),
        NET(the_network_thread_serves_while_the_program_computes),
        NET(the_network_thread_is_woken_again_and_again),
        NET(the_network_thread_wakes_who_sleeps_in_mpi),
        NET(descriptors_that_have_changed_are_watched),
        NET(descriptors_that_change_before_a_sleep_wake_from_it),
        NET(a_path_lost_while_the_program_computes_fails_what_waits),
        NET(a_path_lost_while_a_thread_sleeps_in_mpi_ends_its_wait),
        NET(a_connection_is_made_while_nothing_is_outstanding),
        NET(it_looks_once_where_a_thread_of_the_program_polls),
        NET(a_thread_comes_in_while_something_keeps_coming),
        NET(a_thread_comes_in_while_what_is_outstanding_keeps_coming),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
