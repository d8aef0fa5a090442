/*
 * test_threads.c - a thread that sleeps in MPI serves the others: which of them wakes it,
 * and for what.
 *
 * The fake transport calls the test in place of a sleep; there the test is another thread
 * of the program.
 */
#include "p2p_fixture.h"

#include "base/wait.h"
#include "engine/lock.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_fixture, fixture_close)

enum { PEER = 3, OTHER = 4, LATE = 5, TAG = 7, LONG = 64 * 1024 };

static struct weft_request *sends[4];
static int rings[4]; /* how often the doorbell was rung behind each send */
static int sends_made;

static void send_without_room(int dest)
{
    static const char byte = 'b';

    fake.rings = 0;
    sends[sends_made] = start_send(dest, TAG, &byte, 1, WEFT_SEND_STANDARD);
    rings[sends_made++] = fake.rings;
}

static int open_fixture(void **state)
{
    sends_made = 0;
    return fixture_open(state);
}

static void end_sends(void)
{
    weft_progress();
    while (sends_made > 0) {
        end_request(sends[--sends_made], WEFT_OK);
    }
}

/* Waits in MPI for a message that `while_asleep` lets arrive. */
static void wait_asleep(void (*while_asleep)(void))
{
    static const struct weft_wait_reason why = {"a test", "", LATE, TAG, 1};
    struct weft_request *request;
    char byte;

    request = start_recv(LATE, TAG, &byte, 1);
    fake.sleeping = while_asleep;
    weft_wait(request, &why);
    fake.sleeping = NULL;
    assert_int_equal(byte, 'e');
    end_recv(request, LATE, TAG, 1);
}

static void arrive_the_end(void)
{
    fake.refuse_ordered = 0;
    arrive_eager(LATE, TAG, "e", 1);
}

static void send_once_while_asleep(void)
{
    fake.refuse_ordered = FAKE_ENDLESS;
    send_without_room(PEER);
    arrive_the_end();
}

static void a_send_that_finds_no_room_wakes_a_thread_that_sleeps(void **state)
{
    (void)state;
    wait_asleep(send_once_while_asleep);
    assert_int_equal(rings[0], 1);
    end_sends();
    assert_int_equal(fake_count(WEFT_PKT_EAGER), 1);
}

static void send_often_while_asleep(void)
{
    fake.refuse_ordered = FAKE_ENDLESS;
    send_without_room(PEER);
    weft_lock();
    weft_engine.has_new_retry = false; /* as if the thread had woken, and slept again */
    weft_unlock();
    send_without_room(PEER);
    send_without_room(OTHER);
    arrive_the_end();
}

static void a_sleeping_thread_is_woken_once_for_each_peer_without_room(void **state)
{
    (void)state;
    wait_asleep(send_often_while_asleep);
    assert_int_equal(rings[0], 1);
    assert_int_equal(rings[1], 0);
    assert_int_equal(rings[2], 1);
    end_sends();
    assert_int_equal(fake_count(WEFT_PKT_EAGER), 3);
}

/* An answer to the same peer finds its own queue full: nobody may tell of that room. */
static void answer_while_asleep(void)
{
    fake.refuse_ordered = FAKE_ENDLESS;
    send_without_room(PEER);
    weft_lock();
    weft_engine.has_new_retry = false; /* as if the thread had woken, and slept again */
    fake.refuse_control = FAKE_ENDLESS;
    fake.rings = 0;
    weft_engine_control(weft_peer_find(weft_engine_process(PEER)), WEFT_PKT_FETCHED,
                        &(struct weft_pkt_fetched){.request = 1},
                        sizeof(struct weft_pkt_fetched));
    weft_engine_leave();
    rings[1] = fake.rings;
    weft_unlock();
    fake.refuse_control = 0;
    arrive_the_end();
}

static void an_answer_without_room_wakes_a_thread_that_sleeps(void **state)
{
    (void)state;
    wait_asleep(answer_while_asleep);
    assert_int_equal(rings[0], 1);
    assert_int_equal(rings[1], 1);
    end_sends();
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
}

static void send_with_room_while_asleep(void)
{
    send_without_room(PEER);
    arrive_the_end();
}

static void a_send_that_finds_room_wakes_nobody(void **state)
{
    (void)state;
    wait_asleep(send_with_room_while_asleep);
    assert_int_equal(rings[0], 0);
    end_sends();
}

/* Another thread polls, and finds room in place of the one that waits for it. */
static void make_room_as_another_thread(void)
{
    fake.refuse_ordered = 0;
    fake.rings = 0;
    weft_lock();
    weft_engine_retry();
    weft_unlock();
    rings[0] = fake.rings;
}

static void a_thread_that_waits_for_room_is_woken_when_another_finds_it(void **state)
{
    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    send_without_room(PEER);
    fake.sleeping = make_room_as_another_thread;
    weft_lock();
    weft_engine_wait_sent();
    weft_unlock();
    assert_int_equal(rings[0], 1);
    end_sends();
}

/* ---- a word that processes share ---- */

static _Atomic uint32_t word;
static _Atomic uint32_t word_sleepers;

static void wait_for_word(void (*while_asleep)(void))
{
    static const struct weft_wait_reason why = {"a test", "", LATE, TAG, 1};

    atomic_store(&word, 5);
    fake.sleeping = while_asleep;
    weft_lock();
    weft_engine_wait_word(&word, 5, &word_sleepers, &why);
    weft_unlock();
    fake.sleeping = NULL;
    assert_int_equal(atomic_load(&word_sleepers), 0);
    assert_false(fake_is_armed());
}

/* The first time a message wakes it, the second time the word has changed. */
static void change_word_second(void)
{
    assert_int_equal(atomic_load(&word_sleepers), 1);
    if (fake.sleeps == 1) {
        arrive_eager(PEER, TAG, "e", 1);
    } else {
        atomic_store(&word, 6);
        weft_wait_wake(&word, &word_sleepers);
    }
}

static void who_waits_for_a_word_serves_peers(void **state)
{
    char byte;
    struct weft_request *request = start_recv(PEER, TAG, &byte, 1);

    (void)state;
    wait_for_word(change_word_second);
    assert_int_equal(fake.sleeps, 2);
    end_recv(request, PEER, TAG, 1);
}

static void a_word_that_has_changed_is_not_waited_for(void **state)
{
    static const struct weft_wait_reason why = {"a test", "", LATE, TAG, 1};

    (void)state;
    atomic_store(&word, 6);
    weft_lock();
    weft_engine_wait_word(&word, 5, &word_sleepers, &why);
    weft_unlock();
    assert_int_equal(fake.sleeps, 0);
}

static void set_word_of_failed(void)
{
    atomic_store(&word, 7);
}

static void fail_peer(void)
{
    weft_segment_fail(&fixture_job.segment, PEER);
}

static void a_word_of_a_failed_process_is_changed_for_it(void **state)
{
    (void)state;
    weft_engine_on_failed(set_word_of_failed);
    wait_for_word(fail_peer);
    assert_int_equal(fake.sleeps, 1);
    assert_int_equal(atomic_load(&word), 7);
}

/* ---- an empty message into an offered receive ---- */

static void an_empty_message_by_an_offer_wakes_the_receiver(void **state)
{
    static uint8_t target[LONG];
    struct weft_copy_share *share = share_of(PEER, 1);
    const uint32_t generation =
        weft_share_offer(share, (uint64_t)(uintptr_t)target, LONG);
    struct weft_request *request;
    bool is_over;

    (void)state;
    set_peers_inside(false);
    arrive_answer(
        PEER, WEFT_PKT_OFFER,
        (union weft_pkt_control){.offer = {.request = 1,
                                           .share = (uint64_t)generation << 32 | 1,
                                           .context = FIXTURE_CONTEXT,
                                           .tag = TAG,
                                           .length = LONG}});
    weft_progress();
    request = start_send(PEER, TAG, target, 0, WEFT_SEND_SYNCHRONOUS);
    assert_int_equal(weft_share_state(share, generation, &is_over), WEFT_SHARE_OPEN);
    assert_int_equal(fake.wakes, 1);
    assert_ptr_equal(fake.woken, area_of(PEER));
    assert_int_equal(fake.wake_level, WEFT_WAKE_STEPS);
    weft_progress();
    end_request(request, WEFT_OK);
}

/* ---- nothing is outstanding but an answer ---- */

static bool is_sent(enum weft_packet kind)
{
    bool is_it;

    weft_lock();
    is_it = fake_count(kind) > 0;
    weft_unlock();
    return is_it;
}

static void an_answer_without_room_goes_out_while_the_program_computes(void **state)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    static uint8_t message[LONG];
    static uint8_t buffer[LONG];
    struct weft_received received;
    int patience = 30000;

    (void)state;
    fill_pattern(message, LONG, 1);
    weft_engine.has_progress = true;
    fake.refuse_control = 5;
    arrive_announced(PEER, TAG, message, LONG, 99);
    assert_int_equal(
        weft_recv(&fixture_comm, WEFT_PLANE_P2P, PEER, TAG, buffer, LONG, &received),
        WEFT_OK);
    assert_pattern(buffer, LONG, 1);
    while (!is_sent(WEFT_PKT_FETCHED) && patience-- > 0) {
        nanosleep(&pause, NULL);
    }
    assert_true(is_sent(WEFT_PKT_FETCHED));
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
    weft_threads_stop();
}

/* ---- nothing is outstanding, but peers may need us ---- */

static void a_process_that_is_served_by_nobody_else_can_be_woken(void **state)
{
    const uint32_t *level = (const uint32_t *)&weft_engine.node.area->wake_level;

    (void)state;
    weft_engine.has_progress = true;
    weft_progress();
    assert_int_equal(*level, WEFT_WAKE_NONE);
    weft_lock();
    weft_reason_add(WEFT_REASON_SERVED);
    weft_engine_leave();
    weft_unlock();
    assert_int_equal(*level, WEFT_WAKE_REQUESTS);
    assert_int_equal(weft_engine.reasons & ~weft_engine.published,
                     0); /* once is enough */
    weft_lock();
    weft_reason_drop(WEFT_REASON_SERVED);
    weft_unlock();
    weft_threads_stop();
    assert_int_equal(*level, WEFT_WAKE_NONE);
}

/* ---- peers cannot wake the progress thread ---- */

static bool is_done(const struct weft_request *request)
{
    bool is_it;

    weft_lock();
    is_it = weft_request_is_complete(request);
    weft_unlock();
    return is_it;
}

static void a_progress_thread_that_nobody_wakes_looks_for_packets(void **state)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    static uint8_t message[LONG];
    static uint8_t buffer[LONG];
    struct weft_request *request;
    int patience = 30000;

    (void)state;
    fill_pattern(message, LONG, 1);
    fake_reach(false); /* so it comes in pieces */
    atomic_store_explicit(&fixture_job.segment.header->is_barrier_refused, 1,
                          memory_order_seq_cst);
    request = start_recv(PEER, TAG, buffer, LONG);
    arrive_announced(PEER, TAG, message, LONG, 99);
    weft_engine.has_progress = true;
    weft_progress();
    weft_lock();
    for (uint64_t at = 0; at < LONG; at += 4000) {
        arrive_data(PEER, answer_in(fake_nth(WEFT_PKT_PULL, 0)).pull.receiver, message,
                    at, LONG - at < 4000 ? LONG - at : 4000);
    }
    weft_unlock();
    while (!is_done(request) && patience-- > 0) {
        nanosleep(&pause, NULL);
    }
    assert_true(is_done(request));
    weft_threads_stop();
    assert_pattern(buffer, LONG, 1);
    end_recv(request, PEER, TAG, LONG);
}

/* ---- no thread can be made ---- */

static bool is_thread_refused;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    return is_thread_refused ? EAGAIN
                             : __real_pthread_create(thread, attributes, start, argument);
}

/* Last: it is tried once in the life of a process. */
static void a_progress_thread_that_cannot_be_started_is_told_once(void **state)
{
    char byte;
    struct weft_request *request;
    const char *said;

    (void)state;
    is_thread_refused = true;
    weft_engine.has_progress = true;
    start_listening();
    request = start_recv(PEER, TAG, &byte, 1);
    weft_progress();
    said = stop_listening();
    assert_non_null(strstr(said, "the progress thread cannot be started (Resource"));
    assert_null(strstr(strchr(said, '\n') + 1, "cannot be started"));
    arrive_eager(PEER, TAG, "x", 1);
    weft_progress();
    end_recv(request, PEER, TAG, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_send_that_finds_no_room_wakes_a_thread_that_sleeps),
        CASE(a_sleeping_thread_is_woken_once_for_each_peer_without_room),
        CASE(an_answer_without_room_wakes_a_thread_that_sleeps),
        CASE(a_send_that_finds_room_wakes_nobody),
        CASE(a_thread_that_waits_for_room_is_woken_when_another_finds_it),
        CASE(who_waits_for_a_word_serves_peers),
        CASE(a_word_that_has_changed_is_not_waited_for),
        CASE(a_word_of_a_failed_process_is_changed_for_it),
        CASE(an_empty_message_by_an_offer_wakes_the_receiver),
        CASE(an_answer_without_room_goes_out_while_the_program_computes),
        CASE(a_process_that_is_served_by_nobody_else_can_be_woken),
        CASE(a_progress_thread_that_nobody_wakes_looks_for_packets),
        CASE(a_progress_thread_that_cannot_be_started_is_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
