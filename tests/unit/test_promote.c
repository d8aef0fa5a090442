/*
 * test_promote.c - which of two networks leads to a peer: the rule, the change from one
 * to the other, and what comes back. Both networks are lists here.
 */
#include "p2p_fixture.h"

#include "engine/engine.h"
#include "engine/lock.h"
#include "engine/promote.h"
#include "engine/warm.h"

enum { A = 1, B = 2, MOST = 512 };

/* What one of them was given. */
struct sent {
    uint32_t number;
    uint64_t to;
    unsigned flags;
};

struct net_path {
    struct weft_path base;
    bool is_heard;
};

static struct net {
    struct weft_upcalls *up;
    struct sent sent[MOST];
    unsigned count;
    unsigned unacknowledged; /* of the first, the last so many; control ones too */
    bool is_silent;
    bool is_full;       /* refuses */
    enum weft_rc state; /* of a connection */
    unsigned asked;
    int paths;
    struct net_path *path[FIXTURE_RANKS];
} first, second;

static struct net *net_of(const struct weft_transport *tp)
{
    return (const void *)tp == &first ? &first : &second;
}

static enum weft_rc open_first(struct weft_upcalls *up, struct weft_node *node,
                               struct weft_transport **out)
{
    (void)node;
    first = (struct net){.up = up};
    *out = (struct weft_transport *)&first;
    return WEFT_OK;
}

static enum weft_rc open_second(struct weft_upcalls *up, struct weft_node *node,
                                struct weft_transport **out)
{
    (void)node;
    second = (struct net){.up = up, .state = WEFT_AGAIN};
    *out = (struct weft_transport *)&second;
    return WEFT_OK;
}

static void net_close(struct weft_transport *tp)
{
    assert_int_equal(net_of(tp)->paths, 0);
}

static const struct weft_packet_ops first_ops;
static const struct weft_packet_ops second_ops;

static enum weft_rc net_connect(struct weft_transport *tp, struct weft_peer *peer,
                                uint64_t process, struct weft_path **out)
{
    struct net *net = net_of(tp);
    struct net_path **path = &net->path[weft_process_rank(process)];

    if (*path == NULL) {
        *path = calloc(1, sizeof(**path));
        assert_non_null(*path);
        (*path)->base = (struct weft_path){
            .packets = net == &first ? &first_ops : &second_ops,
            .transport = tp,
            .peer = peer,
            .process = process,
            .packet_max = 4096,
        };
        net->paths++;
    }
    *out = &(*path)->base;
    return WEFT_OK;
}

static void net_disconnect(struct weft_path *path)
{
    struct net *net = net_of(path->transport);

    net->path[weft_process_rank(path->process)] = NULL;
    net->paths--;
    free(path);
}

static enum weft_rc net_send(struct weft_path *path, const void *header, const void *data,
                             size_t len, unsigned flags)
{
    struct net *net = net_of(path->transport);
    const struct weft_header *h = header;

    (void)data;
    (void)len;
    if (net->is_full || (net == &second && net->state != WEFT_OK)) {
        return WEFT_AGAIN;
    }
    assert_true(net->count < MOST);
    net->sent[net->count++] = (struct sent){h->sequence, path->process, flags};
    net->unacknowledged += net == &first ? 1 : 0;
    return WEFT_OK;
}

static int net_poll(struct weft_transport *tp, int budget)
{
    (void)tp;
    (void)budget;
    return 0;
}

static enum weft_rc net_arm(struct weft_transport *tp)
{
    (void)tp;
    return WEFT_OK;
}

static void net_count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    (void)tp;
    (void)traffic;
}

static enum weft_delivery delivery(const struct weft_path *path)
{
    (void)path;
    return first.unacknowledged == 0 ? WEFT_ARRIVED
           : first.is_silent         ? WEFT_UNANSWERED
                                     : WEFT_ON_THE_WAY;
}

static void hand_back(struct weft_path *path, weft_take_back *take, void *argument)
{
    for (unsigned i = first.count - first.unacknowledged; i < first.count; i++) {
        const struct weft_header header = {.kind = WEFT_PKT_EAGER,
                                           .sequence = first.sent[i].number};

        assert_true(first.sent[i].to == path->process);
        take(argument, &header, "", 0, first.sent[i].flags & WEFT_SEND_CONTROL);
    }
    first.unacknowledged = 0;
}

static bool is_heard(const struct weft_path *path)
{
    return ((const struct net_path *)path)->is_heard;
}

static enum weft_rc establish(struct weft_path *path)
{
    (void)path;
    second.asked++;
    return second.state;
}

static const struct weft_packet_ops first_ops = {
    .name = "first",
    .open = open_first,
    .close = net_close,
    .connect = net_connect,
    .disconnect = net_disconnect,
    .send = net_send,
    .poll = net_poll,
    .arm = net_arm,
    .count = net_count,
    .delivery = delivery,
    .hand_back = hand_back,
    .is_heard = is_heard,
};

static const struct weft_packet_ops second_ops = {
    .name = "second",
    .open = open_second,
    .close = net_close,
    .connect = net_connect,
    .disconnect = net_disconnect,
    .send = net_send,
    .poll = net_poll,
    .arm = net_arm,
    .count = net_count,
    .establish = establish,
};

static int open_two(void **state)
{
    if (fixture_open_over_two(state, &first_ops, &second_ops) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < FIXTURE_RANKS; i++) { /* two ranks on each host */
        weft_segment_map(&fixture_job.segment)[i].node = i / 2;
    }
    weft_warm_end(); /* nothing has to be loaded */
    return 0;
}

static struct weft_peer *reach(uint32_t rank)
{
    struct weft_peer *peer = NULL;

    weft_lock();
    assert_int_equal(weft_p2p_reach(weft_engine_process(rank), &peer), WEFT_OK);
    weft_unlock();
    return peer;
}

static bool is_by(const struct weft_peer *peer, const struct net *net)
{
    return net_of(peer->path->transport) == net;
}

static enum weft_rc send_one(struct weft_peer *peer)
{
    struct weft_header header = {.kind = WEFT_PKT_EAGER};
    enum weft_rc rc;

    weft_lock();
    rc = weft_engine_send(peer, &header, "", 0, 0);
    weft_unlock();
    return rc;
}

static void send_many(struct weft_peer *peer, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(send_one(peer), WEFT_OK);
    }
}

static void acknowledge(void)
{
    first.unacknowledged = 0;
    first.is_silent = false;
}

/* The connection stands. */
static void open_connection(struct weft_peer *peer)
{
    second.state = WEFT_OK;
    weft_lock();
    second.up->opened(second.up->owner, peer);
    weft_unlock();
}

static void fall_silent(struct weft_peer *peer)
{
    first.is_silent = true;
    weft_lock();
    first.up->silent(first.up->owner, peer);
    weft_unlock();
}

static void lose(struct net *net, const struct weft_peer *peer, const char *why)
{
    weft_lock();
    net->up->lost(net->up->owner, peer->process, false, why);
    weft_unlock();
}

/* ---- the rule ---- */

static void a_peer_begins_without_a_connection(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, WEFT_PROMOTE_MESSAGES);
    acknowledge();
    weft_progress();
    assert_int_equal(first.count, WEFT_PROMOTE_MESSAGES);
    assert_int_equal(second.asked, 0);
    assert_int_equal(second.paths, 0);
}

static void more_messages_promote_it(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, WEFT_PROMOTE_MESSAGES + 1);
    weft_progress();
    assert_true(second.asked > 0);
    send_many(peer, 2); /* meanwhile they go as before */
    assert_int_equal(first.count, WEFT_PROMOTE_MESSAGES + 3);
    acknowledge();
    second.state = WEFT_OK;
    weft_progress();
    assert_int_equal(peer->choice, WEFT_CHOICE_NONE);
    send_many(peer, 3);
    assert_int_equal(first.count, WEFT_PROMOTE_MESSAGES + 3);
    assert_int_equal(second.count, 3);
    assert_int_equal(second.sent[0].number, WEFT_PROMOTE_MESSAGES + 3);
    assert_non_null(peer->fast);
}

static void a_long_message_promotes_it(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    weft_lock();
    weft_promote_long(peer, WEFT_PROMOTE_BYTES);
    weft_unlock();
    weft_progress();
    assert_int_equal(second.asked, 0);
    weft_lock();
    weft_promote_long(peer, WEFT_PROMOTE_BYTES + 1);
    weft_unlock();
    weft_progress();
    assert_int_equal(second.asked, 1);
}

static void no_more_than_the_limit_are_connected(void **state)
{
    struct weft_peer *peer = reach(A);
    struct weft_peer *other = reach(B);

    (void)state;
    weft_engine.connections = WEFT_PROMOTE_CONNECTIONS - 1;
    weft_lock();
    weft_promote_long(peer, UINT64_MAX);
    weft_promote_long(other, UINT64_MAX); /* the one that is being made counts */
    weft_unlock();
    weft_progress();
    assert_int_equal(peer->choice, WEFT_CHOICE_CONNECTING);
    assert_int_equal(other->choice, WEFT_CHOICE_TRIAL);
    send_many(other, WEFT_PROMOTE_MESSAGES + 1);
    weft_progress();
    assert_int_equal(other->choice, WEFT_CHOICE_TRIAL);
    weft_engine.connections = 0; /* one has ended: the next ones count again */
    send_many(other, WEFT_PROMOTE_MESSAGES + 1);
    assert_int_equal(other->choice, WEFT_CHOICE_CONNECTING);
}

static void a_connection_of_the_other_side_is_taken_at_once(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, 1);
    acknowledge();
    open_connection(peer);
    assert_ptr_equal(peer->path, &second.path[A]->base);
    weft_progress();
    send_many(peer, 1);
    assert_int_equal(second.count, 1);
    assert_int_equal(second.sent[0].number, 1);
    assert_int_equal(weft_engine.promotions, 0);
}

static void who_has_connected_is_reached_by_that(void **state)
{
    struct weft_peer *peer;

    (void)state;
    weft_lock();
    peer = weft_peer_get(weft_engine_process(A));
    weft_unlock();
    open_connection(peer);
    assert_ptr_equal(reach(A), peer);
    assert_ptr_equal(peer->path, &second.path[A]->base);
    assert_int_equal(first.paths, 0);
}

/* ---- the change ---- */

static void ordered_packets_wait_until_those_before_have_arrived(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, 3);
    open_connection(peer);
    weft_progress();
    assert_int_equal(send_one(peer), WEFT_AGAIN);
    assert_null(peer->fast);
    first.unacknowledged = 1;
    weft_progress();
    assert_int_equal(send_one(peer), WEFT_AGAIN);
    weft_lock(); /* control packets do not */
    weft_engine_control(peer, WEFT_PKT_FETCHED, "", 0);
    weft_unlock();
    assert_int_equal(second.count, 1);
    acknowledge();
    weft_progress();
    assert_int_equal(send_one(peer), WEFT_OK);
    assert_int_equal(second.sent[1].number, 3);
    assert_int_equal(first.count, 3);
}

static void what_has_no_answer_takes_the_connection_first(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, 5);
    first.unacknowledged = 2; /* 3 and 4 */
    fall_silent(peer);
    weft_progress();
    assert_true(second.asked > 0);
    second.is_full = true;
    open_connection(peer);
    weft_progress();
    assert_int_equal(peer->choice, WEFT_CHOICE_NONE);
    assert_null(peer->fast); /* nothing passes them */
    second.is_full = false;
    weft_progress();
    assert_int_equal(send_one(peer), WEFT_OK);
    assert_int_equal(second.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(second.sent[i].number, 3 + i);
    }
}

static void silence_promotes_beyond_the_limit(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    weft_engine.connections = WEFT_PROMOTE_CONNECTIONS;
    send_many(peer, 1);
    fall_silent(peer);
    assert_int_equal(peer->choice, WEFT_CHOICE_CONNECTING);
}

static void a_host_that_never_answers_is_remembered(void **state)
{
    struct weft_peer *peer = reach(2);

    (void)state;
    send_many(peer, 1);
    fall_silent(peer);
    open_connection(peer);
    weft_progress();
    assert_int_equal(second.count, 1);
    assert_true(is_by(reach(3), &second)); /* of the same host */
    assert_true(is_by(reach(4), &first));
}

static void a_host_that_answers_late_is_forgotten(void **state)
{
    struct weft_peer *peer = reach(2);

    (void)state;
    send_many(peer, 1);
    fall_silent(peer);
    open_connection(peer);
    weft_progress();
    first.path[2]->is_heard = true;
    assert_true(is_by(reach(3), &first));
}

static void a_host_that_has_answered_before_is_not_remembered(void **state)
{
    struct weft_peer *peer = reach(2);

    (void)state;
    first.path[2]->is_heard = true;
    send_many(peer, 1);
    fall_silent(peer);
    open_connection(peer);
    weft_progress();
    assert_int_equal(second.count, 1);
    first.path[2]->is_heard = false;
    assert_true(is_by(reach(3), &first));
}

/* ---- losses ---- */

static void without_a_connection_it_stays(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, WEFT_PROMOTE_MESSAGES + 1);
    weft_progress();
    second.state = WEFT_ERR_PROC_FAILED;
    lose(&second, peer, "no connection");
    weft_progress();
    assert_false(peer->is_failed);
    assert_int_equal(peer->choice, WEFT_CHOICE_NONE);
    send_many(peer, 3 * WEFT_PROMOTE_MESSAGES);
    assert_int_equal(first.count, 4 * WEFT_PROMOTE_MESSAGES + 1);
}

static void a_lost_start_hands_back_before_the_connection_stands(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, 2);
    fall_silent(peer);
    weft_progress();
    lose(&first, peer, "no answer");
    weft_progress();
    assert_false(peer->is_failed);
    assert_int_equal(second.count, 0);
    open_connection(peer);
    weft_progress();
    assert_int_equal(second.count, 2);
    assert_int_equal(second.sent[0].number, 0);
    assert_int_equal(second.sent[1].number, 1);
}

static void a_lost_start_is_no_loss_once_it_is_connected(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, 2);
    acknowledge();
    open_connection(peer);
    weft_progress();
    lose(&first, peer, "no answer");
    weft_progress();
    assert_false(peer->is_failed);
}

static void when_no_path_is_left_peer_paths_and_counts_are_named(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, 3);
    fall_silent(peer);
    weft_progress();
    second.state = WEFT_ERR_PROC_FAILED;
    lose(&second, peer, "no connection, it refuses");
    weft_progress();
    assert_false(peer->is_failed);
    lose(&first, peer, "no answer");
    assert_true(peer->is_failed);
    assert_string_equal(weft_engine_why_failed(peer->process),
                        "no path to rank 1 is left: first: no answer, 3 packets not "
                        "acknowledged; second: no connection, it refuses");
}

static void a_lost_connection_is_a_lost_peer(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_many(peer, 1);
    acknowledge();
    open_connection(peer);
    weft_progress();
    assert_int_equal(weft_engine.connections, 1);
    lose(&second, peer, "the other side has closed it");
    assert_true(peer->is_failed);
    assert_int_equal(weft_engine.connections, 0);
    assert_string_equal(weft_engine_why_failed(peer->process),
                        "the other side has closed it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_two, fixture_close)
        TEST(a_peer_begins_without_a_connection),
        TEST(more_messages_promote_it),
        TEST(a_long_message_promotes_it),
        TEST(no_more_than_the_limit_are_connected),
        TEST(a_connection_of_the_other_side_is_taken_at_once),
        TEST(who_has_connected_is_reached_by_that),
        TEST(ordered_packets_wait_until_those_before_have_arrived),
        TEST(what_has_no_answer_takes_the_connection_first),
        TEST(silence_promotes_beyond_the_limit),
        TEST(a_host_that_never_answers_is_remembered),
        TEST(a_host_that_answers_late_is_forgotten),
        TEST(a_host_that_has_answered_before_is_not_remembered),
        TEST(without_a_connection_it_stays),
        TEST(a_lost_start_hands_back_before_the_connection_stands),
        TEST(a_lost_start_is_no_loss_once_it_is_connected),
        TEST(when_no_path_is_left_peer_paths_and_counts_are_named),
        TEST(a_lost_connection_is_a_lost_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
