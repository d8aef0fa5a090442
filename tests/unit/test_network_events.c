/*
 * test_network_events.c - what the network thread reports, and when: packets,
 * connections, deadlines, and the preparation of the first contact.
 *
 * The network is two descriptors. The test's callbacks count what the thread reports, in
 * place of the progress thread. That something is not reported is seen behind a later
 * event, because the thread reports events one after the other.
 */
#include "p2p_fixture.h"

#include "base/clock.h"
#include "base/settings.h"
#include "engine/lock.h"
#include "engine/network_thread.h"
#include "engine/warm.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

enum { PATIENCE_S = 20, PACKETS = 0, CONNECTIONS = 1, LONG_MS = 3600 * 1000 };

static const struct weft_packet_ops net_ops;

static struct {
    int descriptors[WEFT_DESCRIPTORS];
    enum weft_rc answer; /* of the next arm() */
    uint64_t deadline;
    int refused; /* so many calls of arm() had another answer than WEFT_OK */
    _Atomic int came;
    _Atomic int calls;
    _Atomic int warmed;
    _Atomic int calls_when_warmed;
    sem_t has_come;
    sem_t is_warm;
    atomic_bool is_slow; /* loading ends when `may_end` is posted */
    sem_t is_loading;
    sem_t may_end;
} net;

/* ---- waiting ---- */

static void wait_for(sem_t *semaphore)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    assert_int_equal(sem_timedwait(semaphore, &until), 0);
}

/* ---- a network ---- */

static bool make_descriptors(void)
{
    for (int i = 0; i < WEFT_DESCRIPTORS; i++) {
        net.descriptors[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (net.descriptors[i] < 0) {
            return false;
        }
    }
    return true;
}

static void close_descriptors(void)
{
    for (int i = 0; i < WEFT_DESCRIPTORS; i++) {
        close(net.descriptors[i]);
    }
}

static enum weft_rc net_open(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    (void)up;
    (void)node;
    *out = NULL;
    return make_descriptors() ? WEFT_OK : WEFT_ERR_SYSTEM;
}

static void net_close(struct weft_transport *tp)
{
    (void)tp;
    close_descriptors();
}

static int net_descriptors(struct weft_transport *tp, int out[WEFT_DESCRIPTORS])
{
    (void)tp;
    memcpy(out, net.descriptors, sizeof(net.descriptors));
    return WEFT_DESCRIPTORS;
}

static enum weft_rc net_arm(struct weft_transport *tp)
{
    const enum weft_rc answer = net.answer;

    (void)tp;
    net.answer = WEFT_OK;
    net.refused += answer != WEFT_OK;
    return answer;
}

static uint64_t net_deadline(const struct weft_transport *tp)
{
    (void)tp;
    return net.deadline;
}

static void net_warm_up(struct weft_transport *tp)
{
    (void)tp;
    net.calls_when_warmed = net.calls;
    if (net.is_slow) {
        sem_post(&net.is_loading);
        wait_for(&net.may_end);
    }
    net.warmed++;
    sem_post(&net.is_warm);
}

static int net_poll(struct weft_transport *tp, int budget)
{
    (void)tp;
    (void)budget;
    return 0;
}

/* The first contact brings it up. */
static enum weft_rc net_connect(struct weft_transport *tp, struct weft_peer *peer,
                                uint64_t process, struct weft_path **out)
{
    static struct weft_path path;

    path = (struct weft_path){
        .packets = &net_ops, .transport = tp, .peer = peer, .process = process};
    close_descriptors();
    *out = &path;
    net.answer = WEFT_PENDING;
    return make_descriptors() ? WEFT_OK : WEFT_ERR_SYSTEM;
}

static void net_count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    (void)tp;
    (void)traffic;
}

static const struct weft_packet_ops net_ops = {
    .name = "two descriptors",
    .open = net_open,
    .close = net_close,
    .connect = net_connect,
    .descriptors = net_descriptors,
    .deadline = net_deadline,
    .warm_up = net_warm_up,
    .arm = net_arm,
    .poll_every = 8,
    .poll = net_poll,
    .count = net_count,
};

/* ---- the callbacks ---- */

static void on_came(int *avoided)
{
    assert_int_equal(*avoided, -1);
    net.came++;
    sem_post(&net.has_come);
}

static void on_call(void)
{
    net.calls++;
}

static const struct weft_network_callbacks callbacks = {on_came, on_call};

static int open_over(void **state, const struct weft_packet_ops *ops)
{
    memset(&net, 0, sizeof(net));
    sem_init(&net.has_come, 0, 0);
    sem_init(&net.is_warm, 0, 0);
    sem_init(&net.is_loading, 0, 0);
    sem_init(&net.may_end, 0, 0);
    weft_setting_write(WEFT_SET_WARM, LONG_MS);
    if (fixture_open(state) != 0) {
        return -1;
    }
    fixture_job.who.local_rank = 1;
    return weft_transport_add(ops) == WEFT_OK &&
                   weft_network_thread_open(&callbacks) == WEFT_OK
               ? 0
               : -1;
}

static int open_fixture(void **state)
{
    return open_over(state, &net_ops);
}

/* Peers begin by this one, which has nothing to load: its second descriptor is for their
 * addresses. */
static int open_plain(void **state)
{
    static struct weft_packet_ops plain;

    plain = net_ops;
    plain.name = "to begin by";
    plain.deadline = NULL;
    plain.warm_up = NULL;
    return open_over(state, &plain);
}

static int close_fixture(void **state)
{
    weft_network_thread_close();
    sem_destroy(&net.has_come);
    sem_destroy(&net.is_warm);
    sem_destroy(&net.is_loading);
    sem_destroy(&net.may_end);
    return fixture_close(state);
}

/* ---- what the test does ---- */

static enum weft_rc arm(void)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_descriptors_arm();
    weft_unlock();
    return rc;
}

static void let_come(int which)
{
    assert_int_equal(eventfd_write(net.descriptors[which], 1), 0);
}

static void take(int which)
{
    eventfd_t count;

    assert_int_equal(eventfd_read(net.descriptors[which], &count), 0);
}

/* ---- cases ---- */

/* It stays readable, and is not taken. */
static void a_packet_is_reported_once_until_the_next_arming(void **state)
{
    (void)state;
    assert_int_equal(arm(), WEFT_OK);
    let_come(PACKETS);
    wait_for(&net.has_come);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.came, 2);

    assert_int_equal(arm(), WEFT_OK);
    wait_for(&net.has_come);
    assert_true(net.came > 2);
}

/* Who waits for a packet is not disturbed by it; whoever arms is told again. */
static void packets_that_are_ignored_are_not_reported(void **state)
{
    (void)state;
    assert_int_equal(arm(), WEFT_OK);
    weft_lock();
    weft_descriptors_ignore();
    weft_unlock();
    let_come(PACKETS);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.calls, 1);
    assert_int_equal(net.came, 1); /* of the connection, which came behind the packet */
    take(CONNECTIONS);
    assert_int_equal(arm(), WEFT_OK);
    wait_for(&net.has_come); /* the packet is still there */
    assert_int_equal(net.came, 2);
    assert_int_equal(net.calls, 1);
}

static void only_a_connection_calls_for_a_thread_that_polls(void **state)
{
    (void)state;
    assert_int_equal(arm(), WEFT_OK);
    let_come(PACKETS);
    wait_for(&net.has_come);
    assert_int_equal(net.calls, 0);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.calls, 1);
}

static void a_deadline_calls_for_a_thread_that_polls(void **state)
{
    (void)state;
    net.deadline = weft_clock_ns() + UINT64_C(1000000);
    assert_int_equal(arm(), WEFT_OK);
    wait_for(&net.has_come);
    assert_int_equal(net.calls, 1);
    assert_true(weft_clock_ns() >= net.deadline);
}

static void a_later_arming_moves_the_deadline(void **state)
{
    (void)state;
    net.deadline = weft_clock_ns() + UINT64_C(3600000000000);
    assert_int_equal(arm(), WEFT_OK);
    net.deadline = weft_clock_ns() + UINT64_C(1000000);
    assert_int_equal(arm(), WEFT_OK);
    wait_for(&net.has_come);
    assert_int_equal(net.calls, 1);
}

static void a_network_that_came_up_has_its_new_descriptors_watched(void **state)
{
    (void)state;
    assert_int_equal(arm(), WEFT_OK);
    let_come(PACKETS);
    wait_for(&net.has_come);
    take(PACKETS);

    close_descriptors();
    assert_true(make_descriptors());
    net.answer = WEFT_PENDING;
    assert_int_equal(arm(), WEFT_OK);
    assert_int_equal(net.refused, 1);
    let_come(PACKETS);
    wait_for(&net.has_come);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.came, 3);
    assert_int_equal(net.calls, 1);
}

/* Nobody arms: what was to be sent may have failed at once. */
static void a_network_that_first_contact_brings_up_is_watched_at_once(void **state)
{
    struct weft_peer peer = {.process = weft_process(FIXTURE_JOB, FAKE_PEERS)};

    (void)state;
    weft_lock();
    assert_int_equal(weft_engine_reach(&peer), WEFT_OK);
    weft_unlock();
    assert_int_equal(net.calls, 1); /* for a thread that polls, and arms */
    weft_network_thread_start();
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.calls, 2);
}

/* The caller polls instead of sleeping, and the next poll looks at this network. */
static void a_network_with_something_to_take_is_due(void **state)
{
    struct weft_instance *instance = &weft_engine.list[weft_engine.list_count - 1];

    (void)state;
    instance->is_due = false;
    net.answer = WEFT_AGAIN;
    assert_int_equal(arm(), WEFT_AGAIN);
    assert_true(instance->is_due);
    assert_int_equal(arm(), WEFT_OK);
    let_come(PACKETS);
    wait_for(&net.has_come);
}

static void the_first_rank_of_a_node_prepares_its_first_contact_at_once(void **state)
{
    (void)state;
    fixture_job.who.local_rank = 0;
    assert_int_equal(arm(), WEFT_OK);
    wait_for(&net.is_warm);
    assert_int_equal(net.calls, 0);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.warmed, 1);
}

/* A packet is no reason for it: it comes from a network that is up. */
static void another_rank_prepares_it_when_a_connection_comes(void **state)
{
    (void)state;
    assert_int_equal(arm(), WEFT_OK);
    let_come(PACKETS);
    wait_for(&net.has_come);
    assert_int_equal(net.warmed, 0);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.warmed, 1);
    assert_int_equal(net.calls_when_warmed, 0);
}

static void another_rank_prepares_it_after_a_while(void **state)
{
    (void)state;
    weft_setting_write(WEFT_SET_WARM, 1);
    assert_int_equal(arm(), WEFT_OK);
    wait_for(&net.is_warm);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.warmed, 1);
}

static void an_address_is_no_reason_to_prepare_connections(void **state)
{
    static struct weft_instance connections;

    (void)state;
    weft_engine.connect = &connections;
    assert_int_equal(arm(), WEFT_OK);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.calls, 1);
    assert_false(weft_warm_is_begun());
    weft_engine.connect = NULL;
}

static void *end_soon(void *unused)
{
    const struct timespec moment = {.tv_nsec = 50 * 1000 * 1000};

    nanosleep(&moment, NULL); /* whoever does not wait is seen not to */
    sem_post(&net.may_end);
    return unused;
}

/* exit() without MPI_Finalize: libraries are not taken down while they are loaded. */
static void a_process_that_exits_waits_for_what_is_being_loaded(void **state)
{
    pthread_t other;

    (void)state;
    net.is_slow = true;
    fixture_job.who.local_rank = 0;
    assert_int_equal(arm(), WEFT_OK);
    wait_for(&net.is_loading);
    assert_int_equal(pthread_create(&other, NULL, end_soon, NULL), 0);
    weft_warm_refuse();
    assert_int_equal(net.warmed, 1);
    assert_int_equal(pthread_join(other, NULL), 0);
}

static void a_process_that_exits_loads_nothing(void **state)
{
    (void)state;
    weft_warm_refuse();
    fixture_job.who.local_rank = 0;
    assert_int_equal(arm(), WEFT_OK);
    let_come(CONNECTIONS);
    wait_for(&net.has_come);
    assert_int_equal(net.warmed, 0);
    assert_true(weft_warm_is_begun());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_packet_is_reported_once_until_the_next_arming),
        CASE(packets_that_are_ignored_are_not_reported),
        CASE(only_a_connection_calls_for_a_thread_that_polls),
        CASE(a_deadline_calls_for_a_thread_that_polls),
        CASE(a_later_arming_moves_the_deadline),
        CASE(a_network_that_came_up_has_its_new_descriptors_watched),
        CASE(a_network_that_first_contact_brings_up_is_watched_at_once),
        CASE(a_network_with_something_to_take_is_due),
        CASE(the_first_rank_of_a_node_prepares_its_first_contact_at_once),
        CASE(another_rank_prepares_it_when_a_connection_comes),
        CASE(another_rank_prepares_it_after_a_while),
        CASE(a_process_that_exits_waits_for_what_is_being_loaded),
        CASE(a_process_that_exits_loads_nothing),
        cmocka_unit_test_setup_teardown(an_address_is_no_reason_to_prepare_connections,
                                        open_plain, close_fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
