/*
 * test_promote.c - which of two networks leads to a peer: the rule, the change from one
 * to the other, and what comes back. Both networks are lists here.
 */
#include "p2p_fixture.h"

#include "engine/engine.h"
#include "engine/lock.h"
#include "engine/promote.h"
#include "engine/warm.h"

enum { A = 1, B = 2, RANKS = 64, MOST = 512, COPIED_MAX = 4096, HANDED_MAX = 30000 };

/* What one of them was given. */
struct sent {
    uint8_t kind;
    uint32_t number;
    uint64_t to;
    size_t len;
    unsigned flags;
};

struct net_path {
    struct weft_path base;
    bool is_heard;
    bool has_left;
};

static struct net {
    struct weft_upcalls *up;
    struct sent sent[MOST];
    unsigned count;
    unsigned unacknowledged; /* of the first, the last so many; control ones too */
    bool is_quick;           /* what is sent is acknowledged at once */
    bool is_silent;
    bool is_narrow;
    bool is_full;           /* refuses */
    bool has_ops;           /* all that is handed back has an operation */
    enum weft_rc handed_rc; /* of the last hand_back() */
    struct weft_op *op;     /* of what is read until it is done */
    enum weft_rc state;     /* of a connection */
    unsigned asked;
    int paths;
    struct net_path *path[RANKS];
} first, second;

static bool refuses; /* the first one: no peer can be connected */

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

    if (refuses) {
        return WEFT_ERR_UNREACHABLE;
    }
    if (*path == NULL) {
        *path = calloc(1, sizeof(**path));
        assert_non_null(*path);
        (*path)->base = (struct weft_path){
            .packets = net == &first ? &first_ops : &second_ops,
            .transport = tp,
            .peer = peer,
            .process = process,
            .packet_max = net == &first ? 60000 : COPIED_MAX,
            .zcopy_max = net == &first ? 60000 : HANDED_MAX,
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
    assert_true(len <= path->packet_max);
    if (net->is_full || (net == &second && net->state != WEFT_OK)) {
        return WEFT_AGAIN;
    }
    assert_true(net->count < MOST);
    net->sent[net->count++] =
        (struct sent){h->kind, h->sequence, path->process, len, flags};
    net->unacknowledged += net == &first && !net->is_quick ? 1 : 0;
    return WEFT_OK;
}

static enum weft_rc net_send_zcopy(struct weft_path *path, const void *header,
                                   const void *head, size_t head_len, const void *data,
                                   size_t len, struct weft_op *op)
{
    const struct weft_header *h = header;

    (void)head;
    (void)data;
    assert_int_equal(head_len, 0);
    assert_true(len <= HANDED_MAX);
    assert_null(second.op);
    second.op = op;
    second.sent[second.count++] =
        (struct sent){h->kind, h->sequence, path->process, len, 0};
    return WEFT_PENDING;
}

static uint32_t handed_max(const struct weft_transport *tp)
{
    assert_ptr_equal(tp, &second);
    return HANDED_MAX;
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
           : first.is_narrow         ? WEFT_NARROW
           : first.is_silent         ? WEFT_UNANSWERED
                                     : WEFT_ON_THE_WAY;
}

static void hand_back(struct weft_path *path, weft_take_back *take, void *argument,
                      enum weft_rc rc)
{
    static const uint8_t zeros[HANDED_MAX];

    first.handed_rc = rc;
    for (unsigned i = first.count - first.unacknowledged; i < first.count; i++) {
        const struct weft_header header = {.kind = first.sent[i].kind,
                                           .sequence = first.sent[i].number};

        assert_true(first.sent[i].to == path->process);
        take(argument, &header, zeros, first.sent[i].len,
             (first.sent[i].flags & WEFT_SEND_CONTROL) |
                 (first.has_ops ? WEFT_SEND_HAS_OP : 0));
    }
    first.unacknowledged = 0;
}

static bool is_heard(const struct weft_path *path)
{
    return ((const struct net_path *)path)->is_heard;
}

static bool has_left(const struct weft_path *path)
{
    return ((const struct net_path *)path)->has_left;
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
    .has_left = has_left,
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
    .send_zcopy = net_send_zcopy,
    .handed_max = handed_max,
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

static enum weft_rc send_bytes(struct weft_peer *peer, size_t len)
{
    static const uint8_t zeros[HANDED_MAX];
    struct weft_header header = {.kind = WEFT_PKT_EAGER};
    enum weft_rc rc;

    weft_lock();
    rc = weft_engine_send(peer, &header, zeros, len, 0);
    weft_unlock();
    return rc;
}

static enum weft_rc send_one(struct weft_peer *peer)
{
    return send_bytes(peer, 0);
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

/* The second one copies only COPIED_MAX bytes into its buffers. */
static void what_is_handed_back_may_be_long(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    assert_int_equal(peer->path->packet_max, HANDED_MAX);
    assert_int_equal(peer->path->zcopy_max, HANDED_MAX);
    send_many(peer, 1);
    assert_int_equal(send_bytes(peer, HANDED_MAX), WEFT_OK);
    assert_int_equal(send_bytes(peer, COPIED_MAX), WEFT_OK);
    fall_silent(peer);
    open_connection(peer);
    weft_progress();
    assert_int_equal(second.count, 3);
    assert_int_equal(second.sent[1].len, HANDED_MAX);
    assert_int_equal(second.sent[1].number, 1);
    assert_int_equal(second.sent[2].len, COPIED_MAX);
    assert_non_null(second.op);
    second.op->done(second.op, WEFT_OK); /* it is freed */
    assert_int_equal(send_one(peer), WEFT_OK);
    assert_int_equal(second.sent[3].number, 3);
}

static void what_is_handed_back_ends_with_a_lost_peer(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    assert_int_equal(send_bytes(peer, HANDED_MAX), WEFT_OK);
    send_many(peer, 1);
    fall_silent(peer);
    second.is_full = true; /* it takes the long one only */
    open_connection(peer);
    weft_progress();
    assert_int_equal(second.count, 1);
    lose(&second, peer, "the other side has closed it");
    assert_true(peer->is_failed);
    second.op->done(second.op, WEFT_ERR_PROC_FAILED);
    weft_progress(); /* ends what was to be sent */
}

/* A connection that never has room; what is not freed is found by the leak checker of the
 * sanitized build. */
static void what_is_handed_back_goes_with_the_library(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    assert_int_equal(send_bytes(peer, COPIED_MAX), WEFT_OK);
    send_many(peer, 2);
    fall_silent(peer);
    second.is_full = true;
    open_connection(peer);
    weft_progress();
    assert_int_equal(second.count, 0);
    assert_true(weft_peer_retries(peer, WEFT_RETRY_ORDERED));
}

static void a_narrow_path_hands_back_and_its_host_is_remembered(void **state)
{
    struct weft_peer *peer = reach(2);

    (void)state;
    first.path[2]->is_heard = true;
    send_many(peer, 2);
    first.is_narrow = true;
    fall_silent(peer);
    weft_progress();
    assert_int_equal(peer->choice, WEFT_CHOICE_CONNECTING);
    open_connection(peer);
    weft_progress();
    assert_int_equal(second.count, 2);
    assert_true(is_by(reach(3), &second)); /* of the same host */
    assert_true(is_by(reach(4), &first));
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

/* ---- losses that nobody here would notice ---- */

static unsigned told;

static void undelivered(const char *why)
{
    assert_non_null(strstr(why, "no answer"));
    told++;
}

static void send_kind(struct weft_peer *peer, enum weft_packet kind)
{
    static const uint8_t zeros[64];
    struct weft_header header = {.kind = (uint8_t)kind};

    weft_lock();
    assert_int_equal(weft_engine_send(peer, &header, zeros, sizeof(zeros), 0), WEFT_OK);
    weft_unlock();
}

static void lose_all(struct weft_peer *peer, bool has_left)
{
    told = 0;
    weft_engine.undelivered = undelivered;
    second.state = WEFT_ERR_PROC_FAILED;
    lose(&second, peer, "no connection");
    weft_lock();
    first.up->lost(first.up->owner, peer->process, has_left, "no answer");
    weft_unlock();
    assert_true(peer->is_failed);
    assert_int_equal(first.handed_rc, WEFT_ERR_PROC_FAILED);
}

static void a_small_message_that_is_lost_is_told(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_kind(peer, WEFT_PKT_ANNOUNCE);
    send_kind(peer, WEFT_PKT_EAGER);
    lose_all(peer, false);
    assert_int_equal(told, 1);
}

static void what_somebody_waits_for_fails_by_itself(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_kind(peer, WEFT_PKT_ANNOUNCE);
    lose_all(peer, false);
    assert_int_equal(told, 0);
}

/* Parts of an announced message, and what has an operation that ends with an error. */
static void what_fails_a_call_is_not_told(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_kind(peer, WEFT_PKT_DATA);
    lose_all(peer, false);
    assert_int_equal(told, 0);
}

static void a_message_with_an_operation_is_not_told(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_kind(peer, WEFT_PKT_EAGER);
    first.has_ops = true;
    lose_all(peer, false);
    assert_int_equal(told, 0);
}

static void who_has_left_needs_nothing(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    send_kind(peer, WEFT_PKT_EAGER);
    lose_all(peer, true);
    assert_int_equal(told, 0);
}

/* The datagrams are given up first, and the connection that was to take over then. */
static void what_was_handed_to_a_connection_that_never_stood_is_told(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    told = 0;
    weft_engine.undelivered = undelivered;
    send_kind(peer, WEFT_PKT_EAGER);
    lose(&first, peer, "no answer");
    weft_progress();
    assert_int_equal(told, 0);
    lose(&second, peer, "no connection, and no answer");
    assert_true(peer->is_failed);
    assert_int_equal(told, 1);
    weft_progress(); /* ends what was to be sent */
}

/* Who waits for the answer of a control packet fails by itself; others wait for ever. */
static void control_packets_that_no_connection_took(void **state)
{
    struct weft_peer *peer = reach(A);
    const uint8_t zeros[64] = {0};

    (void)state;
    told = 0;
    weft_engine.undelivered = undelivered;
    weft_lock();
    weft_engine_control(peer, WEFT_PKT_PULL, zeros, sizeof(zeros));
    weft_unlock();
    lose(&first, peer, "no answer");
    lose(&second, peer, "no connection, and no answer");
    assert_true(peer->is_failed);
    assert_int_equal(told, 0);
    weft_progress();

    peer = reach(2);
    weft_lock();
    weft_engine_control(peer, WEFT_PKT_FETCHED, zeros, sizeof(zeros));
    weft_unlock();
    lose(&first, peer, "no answer");
    lose(&second, peer, "no connection, and no answer");
    assert_int_equal(told, 1);
    weft_progress();
}

static void who_left_before_the_connection_failed_needs_nothing(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    told = 0;
    weft_engine.undelivered = undelivered;
    send_kind(peer, WEFT_PKT_EAGER);
    weft_lock();
    first.up->lost(first.up->owner, peer->process, true, "it has left");
    weft_unlock();
    lose(&second, peer, "no connection, and no answer");
    assert_true(peer->is_failed);
    assert_int_equal(told, 0);
    weft_progress();
}

/* ---- peers that are waited for ---- */

static void ask(unsigned seconds)
{
    weft_lock();
    for (unsigned i = 0; i < seconds; i++) {
        first.up->each_second(first.up->owner);
    }
    weft_unlock();
}

static void who_is_waited_for_is_asked(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    ask(2 * WEFT_ASK_EACH);
    assert_int_equal(first.count, 0);
    peer->wanted = 1;
    ask(WEFT_ASK_EACH - 1);
    assert_int_equal(first.count, 0);
    ask(1);
    assert_int_equal(first.count, 1);
    assert_int_equal(first.sent[0].kind, WEFT_PKT_ASK);
    assert_int_equal(first.sent[0].flags, WEFT_SEND_CONTROL);
    ask(2 * WEFT_ASK_EACH); /* it has not answered */
    assert_int_equal(first.count, 1);
    acknowledge();
    ask(WEFT_ASK_EACH);
    assert_int_equal(first.count, 2);
    acknowledge();
    peer->wanted = 0;
    ask(2 * WEFT_ASK_EACH);
    assert_int_equal(first.count, 2);
}

static void who_has_left_is_not_asked(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    peer->wanted = 1;
    first.path[A]->has_left = true;
    ask(2 * WEFT_ASK_EACH);
    assert_int_equal(first.count, 0);
    first.path[A]->has_left = false; /* it has opened MPI again */
    ask(WEFT_ASK_EACH);
    assert_int_equal(first.count, 1);
    peer->wanted = 0;
}

/* Nobody who leaves MPI has to wait until it can go. */
static void what_asks_is_not_kept(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    peer->wanted = 1;
    first.is_full = true;
    ask(WEFT_ASK_EACH);
    assert_null(weft_engine.retrying);
    first.is_full = false;
    ask(WEFT_ASK_EACH);
    assert_int_equal(first.count, 1);
    second.is_full = true;
    fall_silent(peer);
    open_connection(peer);
    weft_progress();
    assert_int_equal(peer->choice, WEFT_CHOICE_NONE);
    assert_null(weft_engine.retrying);
    assert_int_equal(second.count, 0);
    peer->wanted = 0;
}

/* Ranks that hang ask each other, and the launcher looks for what moves. */
static void who_is_asked_has_not_moved(void **state)
{
    const struct weft_header header = {.kind = WEFT_PKT_ASK};
    struct weft_peer *peer = reach(A);
    uint64_t moved;

    (void)state;
    weft_lock();
    moved = weft_engine.moved;
    first.up->control(first.up->owner, peer, &header, NULL, 0);
    assert_true(weft_engine.moved == moved);
    weft_unlock();
}

static void who_was_never_sent_to_is_asked(void **state)
{
    struct weft_peer *peer = weft_peer_get(weft_engine_process(B));

    (void)state;
    assert_null(peer->path);
    peer->wanted = 1;
    ask(WEFT_ASK_EACH);
    assert_int_equal(first.count, 1);
    assert_true(first.sent[0].to == peer->process);
    peer->wanted = 0;
}

/* Of many, few at a time, and each once in a round. */
static void many_are_asked_a_few_at_a_time(void **state)
{
    enum { FIRST = FIXTURE_RANKS, PEERS = 3 * WEFT_ASK_MOST - 1 };
    struct weft_peer *peers[PEERS];

    (void)state;
    first.is_quick = true;
    for (uint32_t i = 0; i < PEERS; i++) {
        peers[i] = weft_peer_get(weft_engine_process(FIRST + i));
        assert_non_null(peers[i]);
        weft_lock();
        assert_int_equal(weft_engine_reach(peers[i]), WEFT_OK);
        weft_unlock();
        peers[i]->wanted = 1;
    }
    ask(WEFT_ASK_EACH);
    assert_int_equal(first.count, WEFT_ASK_MOST);
    ask(1);
    assert_int_equal(first.count, 2 * WEFT_ASK_MOST);
    ask(1);
    assert_int_equal(first.count, PEERS);
    ask(WEFT_ASK_EACH - 3); /* the next round has not begun */
    assert_int_equal(first.count, PEERS);
    ask(1);
    assert_int_equal(first.count, PEERS + WEFT_ASK_MOST);
    for (uint32_t i = 0; i < PEERS; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_true(first.sent[i].to != first.sent[k].to);
        }
        peers[i]->wanted = 0;
    }
}

static void who_is_connected_is_not_asked(void **state)
{
    struct weft_peer *peer = reach(A);

    (void)state;
    open_connection(peer);
    peer->wanted = 1;
    ask(2 * WEFT_ASK_EACH);
    assert_int_equal(first.count + second.count, 0);
    peer->wanted = 0;
}

/* ---- all with all ---- */

/* MPI_Init fails, and gives back what it has opened. */
static void who_cannot_be_connected_to_all_is_told(void **state)
{
    refuses = true;
    setenv("WEFT_CONNECT", "all", 1);
    assert_int_equal(fixture_open_over_two(state, &first_ops, &second_ops), -1);
    unsetenv("WEFT_CONNECT");
    refuses = false;
    weft_segment_close(&fixture_job.segment);
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
        TEST(what_is_handed_back_may_be_long),
        TEST(what_is_handed_back_ends_with_a_lost_peer),
        TEST(what_is_handed_back_goes_with_the_library),
        TEST(a_narrow_path_hands_back_and_its_host_is_remembered),
        TEST(silence_promotes_beyond_the_limit),
        TEST(a_host_that_never_answers_is_remembered),
        TEST(a_host_that_answers_late_is_forgotten),
        TEST(a_host_that_has_answered_before_is_not_remembered),
        TEST(without_a_connection_it_stays),
        TEST(a_lost_start_hands_back_before_the_connection_stands),
        TEST(a_lost_start_is_no_loss_once_it_is_connected),
        TEST(when_no_path_is_left_peer_paths_and_counts_are_named),
        TEST(a_lost_connection_is_a_lost_peer),
        TEST(a_small_message_that_is_lost_is_told),
        TEST(what_somebody_waits_for_fails_by_itself),
        TEST(what_fails_a_call_is_not_told),
        TEST(a_message_with_an_operation_is_not_told),
        TEST(who_has_left_needs_nothing),
        TEST(what_was_handed_to_a_connection_that_never_stood_is_told),
        TEST(control_packets_that_no_connection_took),
        TEST(who_left_before_the_connection_failed_needs_nothing),
        TEST(who_is_waited_for_is_asked),
        TEST(who_has_left_is_not_asked),
        TEST(what_asks_is_not_kept),
        TEST(who_is_asked_has_not_moved),
        TEST(who_was_never_sent_to_is_asked),
        TEST(many_are_asked_a_few_at_a_time),
        TEST(who_is_connected_is_not_asked),
        cmocka_unit_test(who_cannot_be_connected_to_all_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
