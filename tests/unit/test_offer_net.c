/*
 * test_offer_net.c - receives that are offered over a fake network: the put and its
 * packet, and every way in which another message, a cancel or a loss comes between.
 */
#include "p2p_fixture.h"

#include "fake_network.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { A = 1, B = 2, TAG = 5, OTHER = 6, LONG = 100 * 1000, SMALL = 8 };

static uint8_t message[LONG];
static uint8_t buffer[LONG];
static uint8_t second[LONG];

static void poll_some(void)
{
    for (int i = 0; i < 20; i++) {
        weft_progress();
    }
}

static void finish(void)
{
    fake_net_finish(WEFT_OK);
    poll_some();
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument);

/* Receives are offered where messages advance outside MPI; but nothing happens here that
 * a test does not do, so the library gets no threads. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument)
{
    (void)thread;
    (void)attributes;
    (void)run;
    (void)argument;
    return EAGAIN;
}

/* A has been reached, by a message that it has taken. */
static int open_net(void **state)
{
    int rc;

    fake_net_reset();
    fill_pattern(message, LONG, 1);
    memset(buffer, 0, sizeof(buffer));
    rc = fixture_open_over(state, &fake_net_ops);
    weft_engine.has_progress = true;
    end_request(start_send(A, OTHER, message, SMALL, WEFT_SEND_STANDARD), WEFT_OK);
    return rc;
}

static int close_net(void **state)
{
    int rc;

    weft_engine.has_progress = false;
    rc = fixture_close(state);
    if (fake_net.fault != NULL) {
        fprintf(stderr, "fake network: %s\n", fake_net.fault);
        return -1;
    }
    return rc;
}

static void arrive(enum weft_packet kind, int tag, const void *data, size_t len)
{
    struct weft_header header = fixture_header(kind, A, tag);

    header.length = (uint32_t)len;
    fake_net_arrive(A, &header, data, len);
    poll_some();
}

static struct weft_pkt_key_offer offer_sent(int n)
{
    const struct net_packet *packet = fake_net_nth(WEFT_PKT_KEY_OFFER, n);
    struct weft_pkt_key_offer out;

    assert_non_null(packet);
    assert_int_equal(packet->len, sizeof(out));
    memcpy(&out, packet->data, sizeof(out));
    return out;
}

static struct weft_pkt_stored stored_sent(int n)
{
    const struct net_packet *packet = fake_net_nth(WEFT_PKT_STORED, n);
    struct weft_pkt_stored out;

    assert_non_null(packet);
    assert_int_equal(packet->len, sizeof(out));
    memcpy(&out, packet->data, sizeof(out));
    return out;
}

/* ---- we receive ---- */

/* A stores a message where the n-th receive was offered. */
static void arrive_stored(int n, uint64_t length)
{
    const struct weft_pkt_key_offer offer = offer_sent(n);
    const struct weft_pkt_stored stored = {.request = offer.request, .length = length};
    const uint64_t fits = length < offer.length ? length : offer.length;

    memcpy((void *)(uintptr_t)offer.address, message, (size_t)fits);
    arrive(WEFT_PKT_STORED, offer.tag, &stored, sizeof(stored));
}

static void a_receive_is_offered_and_what_is_stored_there_ends_it(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    const struct weft_pkt_key_offer offer = offer_sent(0);

    (void)state;
    assert_int_equal(offer.tag, TAG);
    assert_int_equal(offer.length, LONG);
    assert_int_equal(offer.seen, 0);
    assert_int_equal(fake_net.registered, 1);
    arrive_stored(0, LONG);
    assert_int_equal(fake_net.registered, 0);
    assert_int_equal(weft_transfers.incoming, 0);
    assert_memory_equal(buffer, message, LONG);
    end_recv(recv, A, TAG, LONG);
    assert_int_equal(fake_net_count(WEFT_PKT_FETCHED), 0);
    assert_int_equal(fake_net_count(WEFT_PKT_GONE), 0);
}

static void stored_packets_are_not_among_those_seen(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_request *other = start_recv(A, OTHER, second, SMALL);

    (void)state;
    arrive_stored(0, LONG);
    end_recv(recv, A, TAG, LONG);
    arrive(WEFT_PKT_EAGER, OTHER, message, SMALL);
    end_recv(other, A, OTHER, SMALL);
    recv = start_recv(A, TAG, buffer, LONG);
    assert_int_equal(offer_sent(1).seen, 1);
    arrive_stored(1, LONG);
    end_recv(recv, A, TAG, LONG);
}

static void a_message_that_is_too_long_is_truncated(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG / 2);

    (void)state;
    arrive_stored(0, LONG);
    assert_memory_equal(buffer, message, LONG / 2);
    assert_int_equal(buffer[LONG / 2], 0);
    end_request(recv, WEFT_ERR_TRUNCATE);
}

static void another_message_takes_the_receive_and_the_sender_is_told(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_pkt_gone gone;

    (void)state;
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    end_recv(recv, A, TAG, SMALL);
    assert_int_equal(fake_net.registered, 0);
    assert_int_equal(fake_net_count(WEFT_PKT_GONE), 1);
    memcpy(&gone, fake_net_nth(WEFT_PKT_GONE, 0)->data, sizeof(gone));
    assert_true(gone.request == offer_sent(0).request);
    assert_int_equal(gone.seen, 1);
}

/* Pauses of 0, 1, 2, 4, 8, 16, 16 receives; one that is used ends that. */
static void after_offers_in_vain_receives_are_not_offered_for_a_while(void **state)
{
    static const int offered[] = {0, 1, 3, 6, 11, 20, 37, 54};
    struct weft_request *recv;
    int n = 0;

    (void)state;
    for (int i = 0; i < 54; i++) {
        recv = start_recv(A, TAG, buffer, LONG);
        n += i == offered[n] ? 1 : 0;
        assert_int_equal(fake_net_count(WEFT_PKT_KEY_OFFER), n);
        arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
        end_recv(recv, A, TAG, SMALL);
    }
    recv = start_recv(A, TAG, buffer, LONG);
    arrive_stored(n, LONG);
    end_recv(recv, A, TAG, LONG);
    recv = start_recv(A, TAG, buffer, LONG);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    end_recv(recv, A, TAG, SMALL);
    recv = start_recv(A, TAG, buffer, LONG);
    assert_int_equal(fake_net_count(WEFT_PKT_KEY_OFFER), n + 3);
    arrive_stored(n + 2, LONG);
    end_recv(recv, A, TAG, LONG);
}

/* The message would be the older one's. */
static void behind_a_receive_with_a_wildcard_none_is_offered(void **state)
{
    struct weft_request *any = start_recv(MPI_ANY_SOURCE, TAG, second, LONG);
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);

    (void)state;
    assert_int_equal(fake_net_count(WEFT_PKT_KEY_OFFER), 0);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    end_recv(any, A, TAG, SMALL);
    end_recv(recv, A, TAG, SMALL);
}

static void behind_a_receive_that_was_not_offered_none_is(void **state)
{
    struct weft_request *small = start_recv(A, TAG, second, SMALL);
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);

    (void)state;
    assert_int_equal(fake_net_count(WEFT_PKT_KEY_OFFER), 0);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    end_recv(small, A, TAG, SMALL);
    end_recv(recv, A, TAG, SMALL);
}

/* The sender would take the new offer's `seen` for an end of doubt about the older one.
 */
static void while_a_gone_finds_no_room_none_is_offered(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_header header = fixture_header(WEFT_PKT_EAGER, A, TAG);
    struct weft_request *next;

    (void)state;
    header.length = SMALL;
    fake_net_arrive(A, &header, message, SMALL);
    fake_net.refuse_send = 1000; /* it is tried again and again */
    weft_progress();
    fake_net.refuse_send = 0;
    assert_int_equal(fake_net_count(WEFT_PKT_GONE), 0);
    next = start_recv(A, TAG, buffer, LONG);
    assert_int_equal(fake_net_count(WEFT_PKT_KEY_OFFER), 1);
    poll_some();
    assert_int_equal(fake_net_count(WEFT_PKT_GONE), 1);
    end_recv(recv, A, TAG, SMALL);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    end_recv(next, A, TAG, SMALL);
}

static void a_wildcard_behind_an_offer_does_not_get_its_message(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    struct weft_request *any = start_recv(MPI_ANY_SOURCE, MPI_ANY_TAG, second, LONG);

    (void)state;
    arrive_stored(0, LONG);
    end_recv(recv, A, TAG, LONG);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    end_recv(any, A, TAG, SMALL);
}

static void small_receives_and_unknown_peers_are_not_offered(void **state)
{
    struct weft_request *small = start_recv(A, TAG, buffer, NET_ZCOPY_MAX);
    struct weft_request *unknown = start_recv(B, TAG, second, LONG);

    (void)state;
    assert_int_equal(fake_net_count(WEFT_PKT_KEY_OFFER), 0);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    end_recv(small, A, TAG, SMALL);
    weft_lock();
    assert_true(weft_p2p_cancel(unknown));
    weft_request_complete(unknown, WEFT_OK);
    weft_unlock();
    end_request(unknown, WEFT_OK);
}

static void offers_are_bounded(void **state)
{
    enum { MORE = WEFT_NET_OFFERS_EACH + 3 };
    struct weft_request *recv[MORE];

    (void)state;
    for (int i = 0; i < MORE; i++) {
        recv[i] = start_recv(A, TAG, buffer, LONG);
    }
    assert_int_equal(fake_net_count(WEFT_PKT_KEY_OFFER), WEFT_NET_OFFERS_EACH);
    assert_int_equal(weft_transfers.net_offers, WEFT_NET_OFFERS_EACH);
    for (int i = 0; i < MORE; i++) {
        arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
        end_recv(recv[i], A, TAG, SMALL);
    }
    assert_int_equal(weft_transfers.net_offers, 0);
}

static void cancel(struct weft_request *recv)
{
    weft_lock();
    assert_false(weft_p2p_cancel(recv)); /* its sender is asked */
    weft_unlock();
}

static void a_cancelled_receive_ends_when_its_offer_is_returned(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    const struct weft_pkt_recall back = {.request = offer_sent(0).request};

    (void)state;
    cancel(recv);
    cancel(recv);
    assert_int_equal(fake_net_count(WEFT_PKT_RECALL), 1);
    assert_false(weft_request_is_complete(recv));
    arrive(WEFT_PKT_RETURNED, 0, &back, sizeof(back));
    assert_true(recv->is_cancelled);
    end_request(recv, WEFT_OK);
    assert_int_equal(fake_net.registered, 0);
    arrive(WEFT_PKT_RETURNED, 0, &back, sizeof(back)); /* a second time */
}

static void a_cancel_that_comes_too_late_receives(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);

    (void)state;
    cancel(recv);
    arrive_stored(0, LONG);
    assert_false(recv->is_cancelled);
    end_recv(recv, A, TAG, LONG);
}

static void a_cancelled_receive_that_a_message_takes_receives(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    const struct weft_pkt_recall back = {.request = offer_sent(0).request};

    (void)state;
    cancel(recv);
    arrive(WEFT_PKT_EAGER, TAG, message, SMALL);
    end_recv(recv, A, TAG, SMALL);
    arrive(WEFT_PKT_RETURNED, 0, &back, sizeof(back));
}

/* RETURNED takes another way than STORED, and may be the later one. */
static void a_recalled_receive_is_over_when_a_younger_one_is_stored_to(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, second, LONG);
    struct weft_request *next = start_recv(A, TAG, buffer, LONG);
    const struct weft_pkt_recall back = {.request = offer_sent(0).request};

    (void)state;
    cancel(recv);
    arrive_stored(1, LONG);
    assert_true(recv->is_cancelled);
    end_request(recv, WEFT_OK);
    end_recv(next, A, TAG, LONG);
    assert_memory_equal(buffer, message, LONG);
    assert_int_equal(fake_net.registered, 0);
    assert_int_equal(weft_transfers.net_offers, 0);
    assert_int_equal(fake_net_count(WEFT_PKT_GONE), 0);
    arrive(WEFT_PKT_RETURNED, 0, &back, sizeof(back));
}

static void what_is_stored_where_another_message_belongs_ends_the_job(void **state)
{
    struct weft_request *first = start_recv(A, TAG, buffer, LONG);
    struct weft_request *next = start_recv(A, TAG, second, LONG);
    const struct weft_pkt_stored stored = {.request = offer_sent(1).request,
                                           .length = LONG};
    struct weft_header header = fixture_header(WEFT_PKT_STORED, A, TAG);
    const char *words;

    (void)state;
    header.length = sizeof(stored);
    words = rejection_of(A, &header, &stored, sizeof(stored));
    assert_non_null(words);
    fake_net_lose(A);
    poll_some();
    end_request(first, WEFT_ERR_PROC_FAILED);
    (void)next; /* was taken: the job would have ended */
}

static void what_is_stored_or_returned_for_nothing_ends_the_job(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);
    const struct weft_pkt_recall back = {.request = offer_sent(0).request};
    const struct weft_pkt_stored stored = {.request = back.request, .length = LONG};
    struct weft_header header = fixture_header(WEFT_PKT_RETURNED, A, TAG);

    (void)state;
    header.length = sizeof(back);
    assert_non_null(strstr(rejection_of(A, &header, &back, sizeof(back)),
                           "it returns an offer that was not recalled"));
    arrive_stored(0, LONG);
    end_recv(recv, A, TAG, LONG);
    header = fixture_header(WEFT_PKT_STORED, A, TAG);
    header.length = sizeof(stored);
    assert_non_null(strstr(rejection_of(A, &header, &stored, sizeof(stored)),
                           "it stored a message where none was offered"));
}

/* It is received, but was announced. */
static void what_is_stored_into_another_transfer_ends_the_job(void **state)
{
    const struct weft_pkt_announce announce = {
        .request = 9, .length = LONG, .address = 1, .share = WEFT_NO_SHARE};
    struct weft_request *recv = start_recv(A, MPI_ANY_TAG, buffer, LONG);
    struct weft_header header = fixture_header(WEFT_PKT_STORED, A, TAG);
    struct weft_pkt_pull_put pull_put;
    struct weft_pkt_stored stored = {.length = LONG};

    (void)state;
    arrive(WEFT_PKT_ANNOUNCE, TAG, &announce, sizeof(announce));
    memcpy(&pull_put, fake_net_nth(WEFT_PKT_PULL_PUT, 0)->data, sizeof(pull_put));
    stored.request = pull_put.chunk.receiver;
    header.length = sizeof(stored);
    assert_non_null(strstr(rejection_of(A, &header, &stored, sizeof(stored)),
                           "it stored a message where none was offered"));
    fake_net_lose(A);
    poll_some();
    end_request(recv, WEFT_ERR_PROC_FAILED);
}

static void an_offered_receive_fails_with_its_sender(void **state)
{
    struct weft_request *recv = start_recv(A, TAG, buffer, LONG);

    (void)state;
    fake_net_lose(A);
    poll_some();
    end_request(recv, WEFT_ERR_PROC_FAILED);
    assert_int_equal(fake_net.registered, 0);
    assert_int_equal(weft_transfers.net_offers, 0);
}

/* ---- we send ---- */

static uint32_t offers_made;

static void arrive_offer_in(uint32_t context, uint64_t request, void *where, int tag,
                            uint32_t seen)
{
    const struct weft_pkt_key_offer offer = {
        .request = request,
        .address = (uint64_t)(uintptr_t)where,
        .key = 7,
        .length = LONG,
        .context = context,
        .tag = tag,
        .number = ++offers_made,
        .seen = seen,
    };

    arrive(WEFT_PKT_KEY_OFFER, 0, &offer, sizeof(offer));
}

/* A offers a buffer; it has taken `seen` of our packets. */
static void arrive_offer(uint64_t request, void *where, int tag, uint32_t seen)
{
    arrive_offer_in(FIXTURE_CONTEXT | WEFT_PLANE_P2P, request, where, tag, seen);
}

static void arrive_gone(uint64_t request, uint32_t seen)
{
    const struct weft_pkt_gone gone = {.request = request, .seen = seen};

    arrive(WEFT_PKT_GONE, 0, &gone, sizeof(gone));
}

static int open_sender(void **state)
{
    offers_made = 0;
    return open_net(state);
}

static void check_stored_in_two_packets(enum weft_send_mode mode)
{
    const int before = fake_net.sent_count;
    struct weft_request *send;

    arrive_offer(42, buffer, TAG, 1);
    send = start_send(A, TAG, message, LONG, mode);
    assert_int_equal(fake_net.puts, 1);
    assert_int_equal(fake_net.sent_count - before, 1);
    assert_int_equal(stored_sent(0).request, 42);
    assert_int_equal(stored_sent(0).length, LONG);
    assert_int_equal(fake_net_nth(WEFT_PKT_STORED, 0)->path, 1); /* as the put */
    assert_false(weft_request_is_complete(send));
    finish();
    end_request(send, WEFT_OK);
    assert_memory_equal(buffer, message, LONG);
    assert_int_equal(fake_net.sent_count - before, 1);
}

static void an_expected_message_is_a_put_and_a_packet(void **state)
{
    (void)state;
    check_stored_in_two_packets(WEFT_SEND_STANDARD);
}

static void so_is_one_in_ready_mode(void **state)
{
    (void)state;
    check_stored_in_two_packets(WEFT_SEND_READY);
}

static void so_is_one_in_synchronous_mode(void **state)
{
    (void)state;
    check_stored_in_two_packets(WEFT_SEND_SYNCHRONOUS);
}

static void what_does_not_fit_is_not_put(void **state)
{
    static uint8_t longer[LONG + 1000];
    struct weft_request *send;

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    send = start_send(A, TAG, longer, sizeof(longer), WEFT_SEND_STANDARD);
    assert_int_equal(stored_sent(0).length, sizeof(longer));
    finish();
    end_request(send, WEFT_OK);
}

/* An offer is used once, and for one message: the next is announced. */
static void expect_announced(int count)
{
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);

    assert_int_equal(fake_net_count(WEFT_PKT_ANNOUNCE), count);
    (void)send; /* goes when the peer is lost */
}

/* Ends what was announced. */
static void lose(void)
{
    fake_net_lose(A);
    poll_some();
    finish();
}

static void offers_are_used_in_order_and_once(void **state)
{
    struct weft_request *send[2];

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    arrive_offer(43, second, TAG, 1);
    send[0] = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    send[1] = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    assert_int_equal(stored_sent(0).request, 42);
    assert_int_equal(stored_sent(1).request, 43);
    assert_int_equal(fake_net_nth(WEFT_PKT_STORED, 1)->header.sequence,
                     fake_net_nth(WEFT_PKT_STORED, 0)->header.sequence + 1);
    finish();
    end_request(send[0], WEFT_OK);
    end_request(send[1], WEFT_OK);
    offers_made--; /* the last one a second time */
    arrive_offer(43, second, TAG, 1);
    expect_announced(1);
    lose();
}

static void send_small(int tag)
{
    end_request(start_send(A, tag, message, SMALL, WEFT_SEND_STANDARD), WEFT_OK);
}

/* It was sent before the offer came, and may take the receive. */
static void an_offer_that_crosses_a_message_is_not_used(void **state)
{
    (void)state;
    send_small(TAG);
    arrive_offer(42, buffer, TAG, 1);
    expect_announced(1);
    arrive_gone(42, 2);
    expect_announced(2);
    lose();
}

static void doubt_ends_when_the_receiver_has_seen_the_message(void **state)
{
    struct weft_request *send;

    (void)state;
    send_small(OTHER);
    arrive_offer(42, buffer, TAG, 1);   /* made before that was taken */
    arrive_offer(43, second, OTHER, 2); /* made afterwards: the first still holds */
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    assert_int_equal(stored_sent(0).request, 42);
    finish();
    end_request(send, WEFT_OK);
}

/* What was stored is no ordinary packet: the receiver does not count it either. */
static void a_message_that_was_stored_puts_nothing_in_doubt(void **state)
{
    struct weft_request *send;

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    finish();
    end_request(send, WEFT_OK);
    arrive_offer(43, second, TAG, 1);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    assert_int_equal(stored_sent(1).request, 43);
    finish();
    end_request(send, WEFT_OK);
}

static void a_message_with_the_same_tag_puts_an_offer_in_doubt(void **state)
{
    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    send_small(TAG); /* takes that receive */
    arrive_offer(43, second, TAG, 1);
    expect_announced(1);
    lose();
}

static void a_message_with_another_tag_does_not(void **state)
{
    struct weft_request *send;

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    send_small(OTHER);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    assert_int_equal(stored_sent(0).request, 42);
    finish();
    end_request(send, WEFT_OK);
}

static void an_offer_in_another_context_or_with_another_tag_is_not_used(void **state)
{
    (void)state;
    arrive_offer_in((FIXTURE_CONTEXT + WEFT_PLANES) | WEFT_PLANE_P2P, 42, buffer, TAG, 1);
    arrive_offer(43, second, OTHER, 1);
    expect_announced(1);
    assert_int_equal(fake_net_count(WEFT_PKT_STORED), 0);
    lose();
}

/* GONE has named the one that was taken; what is behind it holds. */
static void the_offer_behind_one_that_is_gone_is_used(void **state)
{
    struct weft_request *send;

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    arrive_offer(43, second, TAG, 1);
    send_small(TAG);
    arrive_gone(42, 2);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    assert_int_equal(stored_sent(0).request, 43);
    finish();
    end_request(send, WEFT_OK);
}

static void a_put_without_room_is_announced_instead(void **state)
{
    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    fake_net.refuse_rma = 1;
    expect_announced(1);
    assert_int_equal(fake_net_count(WEFT_PKT_STORED), 0);
    lose();
}

/* The put is under way; nothing may pass its packet. */
static void a_stored_packet_without_room_goes_before_what_follows(void **state)
{
    struct weft_request *send;
    struct weft_request *small;

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    fake_net.refuse_send = 2;
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    small = start_send(A, TAG, message, SMALL, WEFT_SEND_STANDARD);
    assert_int_equal(fake_net_count(WEFT_PKT_STORED), 0);
    poll_some();
    assert_int_equal(fake_net_nth(WEFT_PKT_STORED, 0)->header.sequence + 1,
                     fake_net_nth(WEFT_PKT_EAGER, 1)->header.sequence);
    end_request(small, WEFT_OK);
    assert_false(weft_request_is_complete(send));
    finish();
    end_request(send, WEFT_OK);
}

/* Nor may it pass what waits. */
static void behind_a_packet_without_room_no_offer_is_used(void **state)
{
    struct weft_request *small;

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    fake_net.refuse_send = 1000; /* it is tried again and again */
    small = start_send(A, OTHER, message, SMALL, WEFT_SEND_STANDARD);
    fake_net.refuse_send = 0;
    (void)start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    poll_some();
    assert_int_equal(fake_net_count(WEFT_PKT_STORED), 0);
    assert_int_equal(fake_net_nth(WEFT_PKT_EAGER, 1)->header.sequence + 1,
                     fake_net_nth(WEFT_PKT_ANNOUNCE, 0)->header.sequence);
    end_request(small, WEFT_OK);
    lose();
}

/* A sender that waits for its message looks whether an offer is about to come, where one
 * came too late before. */
static void a_blocking_sender_looks_for_an_offer_where_one_was_late(void **state)
{
    struct weft_header header =
        fixture_header(WEFT_PKT_ANNOUNCE, 0, TAG); /* as we would send it */
    const struct weft_peer *peer = weft_peer_find(weft_engine_process(A));
    struct weft_request *send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    struct weft_request *other;
    int before = fake_net.polls;

    (void)state;
    (void)send;
    weft_lock();
    weft_offer_net_await(peer->path->peer, &header);
    weft_unlock();
    assert_int_equal(fake_net.polls, before); /* nothing was late yet */
    offers_made = 0;
    arrive_offer(42, buffer, TAG, 1);
    arrive_gone(42, 2);
    before = fake_net.polls;
    weft_lock();
    weft_offer_net_await(peer->path->peer, &header);
    weft_unlock();
    assert_int_equal(fake_net.polls, before); /* it has sent nothing since */
    other = start_recv(A, OTHER, second, SMALL);
    arrive(WEFT_PKT_EAGER, OTHER, message, SMALL);
    end_recv(other, A, OTHER, SMALL);
    before = fake_net.polls;
    weft_lock();
    weft_offer_net_await(peer->path->peer, &header);
    weft_unlock();
    assert_true(fake_net.polls > before);
    arrive_offer(43, buffer, TAG, 2);
    before = fake_net.polls;
    weft_lock();
    weft_offer_net_await(peer->path->peer, &header);
    weft_unlock();
    assert_int_equal(fake_net.polls, before); /* it is there */
    lose();
}

static void a_recalled_offer_is_returned_and_not_used(void **state)
{
    const struct weft_pkt_recall recall = {.request = 42};

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    arrive(WEFT_PKT_RECALL, 0, &recall, sizeof(recall));
    assert_int_equal(fake_net_count(WEFT_PKT_RETURNED), 1);
    expect_announced(1);
    arrive(WEFT_PKT_RECALL, 0, &recall, sizeof(recall)); /* a second time */
    assert_int_equal(fake_net_count(WEFT_PKT_RETURNED), 1);
    lose();
}

static void an_offer_that_was_used_is_not_returned(void **state)
{
    const struct weft_pkt_recall recall = {.request = 42};
    struct weft_request *send;

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    arrive(WEFT_PKT_RECALL, 0, &recall, sizeof(recall));
    assert_int_equal(fake_net_count(WEFT_PKT_RETURNED), 0);
    finish();
    end_request(send, WEFT_OK);
}

static void a_send_that_stores_fails_with_its_receiver(void **state)
{
    struct weft_request *send;

    (void)state;
    arrive_offer(42, buffer, TAG, 1);
    arrive_offer(43, second, TAG, 1);
    fake_net.refuse_send = 1;
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    fake_net_lose(A);
    poll_some();
    end_request(send, WEFT_ERR_PROC_FAILED);
    fake_net_finish(WEFT_ERR_PROC_FAILED);
    poll_some();
}

int main(void)
{
#define CASE(name)        cmocka_unit_test_setup_teardown(name, open_net, close_net)
#define SENDER_CASE(name) cmocka_unit_test_setup_teardown(name, open_sender, close_net)
    const struct CMUnitTest tests[] = {
        CASE(a_receive_is_offered_and_what_is_stored_there_ends_it),
        CASE(stored_packets_are_not_among_those_seen),
        CASE(a_message_that_is_too_long_is_truncated),
        CASE(another_message_takes_the_receive_and_the_sender_is_told),
        CASE(after_offers_in_vain_receives_are_not_offered_for_a_while),
        CASE(behind_a_receive_with_a_wildcard_none_is_offered),
        CASE(behind_a_receive_that_was_not_offered_none_is),
        CASE(while_a_gone_finds_no_room_none_is_offered),
        CASE(a_wildcard_behind_an_offer_does_not_get_its_message),
        CASE(small_receives_and_unknown_peers_are_not_offered),
        CASE(offers_are_bounded),
        CASE(a_cancelled_receive_ends_when_its_offer_is_returned),
        CASE(a_cancel_that_comes_too_late_receives),
        CASE(a_cancelled_receive_that_a_message_takes_receives),
        CASE(a_recalled_receive_is_over_when_a_younger_one_is_stored_to),
        CASE(what_is_stored_where_another_message_belongs_ends_the_job),
        CASE(what_is_stored_or_returned_for_nothing_ends_the_job),
        CASE(what_is_stored_into_another_transfer_ends_the_job),
        CASE(an_offered_receive_fails_with_its_sender),

        SENDER_CASE(an_expected_message_is_a_put_and_a_packet),
        SENDER_CASE(so_is_one_in_ready_mode),
        SENDER_CASE(so_is_one_in_synchronous_mode),
        SENDER_CASE(what_does_not_fit_is_not_put),
        SENDER_CASE(offers_are_used_in_order_and_once),
        SENDER_CASE(an_offer_that_crosses_a_message_is_not_used),
        SENDER_CASE(doubt_ends_when_the_receiver_has_seen_the_message),
        SENDER_CASE(a_message_that_was_stored_puts_nothing_in_doubt),
        SENDER_CASE(a_message_with_the_same_tag_puts_an_offer_in_doubt),
        SENDER_CASE(a_message_with_another_tag_does_not),
        SENDER_CASE(an_offer_in_another_context_or_with_another_tag_is_not_used),
        SENDER_CASE(the_offer_behind_one_that_is_gone_is_used),
        SENDER_CASE(a_put_without_room_is_announced_instead),
        SENDER_CASE(a_stored_packet_without_room_goes_before_what_follows),
        SENDER_CASE(behind_a_packet_without_room_no_offer_is_used),
        SENDER_CASE(a_blocking_sender_looks_for_an_offer_where_one_was_late),
        SENDER_CASE(a_recalled_offer_is_returned_and_not_used),
        SENDER_CASE(an_offer_that_was_used_is_not_returned),
        SENDER_CASE(a_send_that_stores_fails_with_its_receiver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
