/*
 * test_packets.c - packets that no rank sends: of a peer whose memory is damaged, or
 * whose version is another. Each ends the job with one line that names the peer, the kind
 * and the length; none completes a request, and none touches memory that is not the
 * message's.
 */
#include "p2p_fixture.h"

#include "engine/lock.h"
#include "engine/seal.h"

#include <stdio.h>
#include <stdlib.h>

enum { A = 1, B = 2, TAG = 5, LONG = 70000, BEFORE = 2048 };

static uint8_t message[LONG];
static uint8_t buffer[LONG];

/* The packet ends the job with a line that contains these words, and what all contain. */
static void assert_rejected(uint32_t from, const struct weft_header *header,
                            const void *data, size_t len, const char *words)
{
    const char *said = rejection_of(from, header, data, len);
    char expected[64];

    assert_non_null(said);
    if (strstr(said, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, said);
    }
    snprintf(expected, sizeof(expected), "rank %u on node 0", from);
    assert_non_null(strstr(said, expected));
    snprintf(expected, sizeof(expected), "kind %u", header->kind);
    assert_non_null(strstr(said, expected));
    snprintf(expected, sizeof(expected), "with %zu bytes", len);
    assert_non_null(strstr(said, expected));
}

static void assert_answer_rejected(uint32_t from, enum weft_packet kind,
                                   const union weft_pkt_control *answer,
                                   const char *words)
{
    struct weft_header header = fixture_header(kind, from, 0);

    header.length = weft_engine.kinds[kind].least;
    assert_rejected(from, &header, answer, header.length, words);
}

static void a_packet_of_another_channel_is_refused(void **state)
{
    (void)state;
    for (unsigned kind = WEFT_PKT_EAGER; kind < WEFT_PKT_KINDS; kind++) {
        struct weft_header header = fixture_header((enum weft_packet)kind, A, TAG);

        header.channel = 1;
        header.length = sizeof(union weft_pkt_control);
        assert_rejected(A, &header, message, header.length, "no such channel");
    }
}

static void a_kind_that_nobody_sends_is_refused(void **state)
{
    const unsigned none[] = {0, WEFT_PKT_KINDS, 255};

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        struct weft_header header = fixture_header((enum weft_packet)none[i], A, TAG);

        header.length = sizeof(union weft_pkt_control);
        assert_rejected(A, &header, message, header.length, "no such kind");
    }
}

/* From a block of exactly that length, so that a sanitizer sees who reads past it. */
static void a_packet_that_is_too_short_or_too_long_is_refused(void **state)
{
    (void)state;
    for (unsigned kind = WEFT_PKT_ANNOUNCE; kind < WEFT_PKT_RMA; kind++) {
        const size_t least = weft_engine.kinds[kind].least;
        const size_t most = least + weft_engine.kinds[kind].span;
        const size_t lengths[] = {0, 1, least - 1, most + 1, WEFT_PACKET_MAX + 1};
        struct weft_header header = fixture_header((enum weft_packet)kind, A, TAG);

        if (kind == WEFT_PKT_ASK) { /* an empty one is right */
            continue;
        }
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            void *exact = calloc(1, lengths[i] + (lengths[i] == 0));

            header.length = (uint32_t)lengths[i];
            assert_rejected(A, &header, exact, lengths[i],
                            "no packet of its kind has this length");
            free(exact);
        }
    }
}

static void a_header_that_is_wrong_about_the_length_is_refused(void **state)
{
    const enum weft_packet kinds[] = {WEFT_PKT_EAGER, WEFT_PKT_ANNOUNCE, WEFT_PKT_DATA,
                                      WEFT_PKT_PULL};

    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const uint32_t len = weft_engine.kinds[kinds[k]].least +
                             (weft_engine.kinds[kinds[k]].is_ordered ? 16 : 0);
        const uint32_t wrong[] = {0, len - 1, len + 1, 100000, UINT32_MAX};

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
            struct weft_header header = fixture_header(kinds[k], A, TAG);

            header.length = wrong[i];
            assert_rejected(A, &header, message, len, "its header says another length");
        }
    }
    assert_int_equal(weft_p2p.match.waiting_count, 0); /* nothing was kept */
}

static void an_answer_of_somebody_else_is_refused(void **state)
{
    const enum weft_packet kinds[] = {WEFT_PKT_PULL, WEFT_PKT_PULL_PUT, WEFT_PKT_STAGE,
                                      WEFT_PKT_FETCHED};
    struct weft_request *send;
    union weft_pkt_control answer = {.pull = {.length = 8}};

    (void)state;
    limit_shares(0);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    answer.pull.request = transfer_name(send);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        assert_answer_rejected(B, kinds[i], &answer,
                               "a message that was not announced to it");
    }
    assert_false(weft_request_is_complete(send));
    arrive_answer(A, WEFT_PKT_FETCHED, answer);
    weft_progress();
    end_request(send, WEFT_OK);
}

static void an_answer_to_what_was_not_announced_yet_is_refused(void **state)
{
    struct weft_request *send;
    union weft_pkt_control answer = {.pull = {.length = 8}};

    (void)state;
    limit_shares(0);
    fake.refuse_ordered = 2;
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    answer.pull.request = transfer_name(send);
    assert_answer_rejected(A, WEFT_PKT_FETCHED, &answer, "was not announced to it");
    assert_answer_rejected(A, WEFT_PKT_PULL, &answer, "was not announced to it");
    weft_progress();
    weft_progress();
    arrive_answer(A, WEFT_PKT_FETCHED, answer);
    weft_progress();
    end_request(send, WEFT_OK);
}

static void a_request_for_bytes_outside_the_message_is_refused(void **state)
{
    const uint64_t parts[][2] = {
        {0, LONG + 1}, {LONG, 1}, {LONG + 1, 0}, {1, UINT64_MAX}, {UINT64_MAX, 1}};
    struct weft_request *send;
    union weft_pkt_control answer = {.pull = {0}};

    (void)state;
    limit_shares(0);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    answer.pull.request = transfer_name(send);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        answer.pull.offset = parts[i][0];
        answer.pull.length = parts[i][1];
        assert_answer_rejected(A, WEFT_PKT_PULL, &answer, "outside the message");
    }
    assert_answer_rejected(A, WEFT_PKT_STAGE, &answer, "does not go through");
    assert_answer_rejected(A, WEFT_PKT_PULL_PUT, &answer, "takes another protocol");
    assert_int_equal(fake_count(WEFT_PKT_DATA), 0);
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (union weft_pkt_control){.fetched = {.request = answer.pull.request}});
    weft_progress();
    end_request(send, WEFT_OK);
}

static void the_end_of_a_message_that_is_still_being_sent_is_refused(void **state)
{
    struct weft_request *send;
    union weft_pkt_control answer = {.pull = {.length = LONG}};

    (void)state;
    limit_shares(0);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    answer.pull.request = transfer_name(send);
    fake.refuse_ordered = 1;
    arrive_answer(A, WEFT_PKT_PULL, answer);
    weft_progress(); /* some chunks are to be sent yet */
    assert_answer_rejected(A, WEFT_PKT_FETCHED, &answer, "still being sent");
    assert_false(weft_request_is_complete(send));
    weft_progress();
    arrive_answer(A, WEFT_PKT_FETCHED, answer);
    weft_progress();
    end_request(send, WEFT_OK);
}

/* A receive of 70 bytes, announced by A, whose buffer is in the middle of `block`. */
static struct weft_request *start_pulled(uint8_t *block)
{
    struct weft_request *recv = start_recv(A, TAG, block + BEFORE, 70);

    fake_reach(false);
    arrive_announced(A, TAG, message, 70, 42);
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_PULL), 1);
    return recv;
}

static void assert_data_rejected(uint32_t from, struct weft_pkt_data chunk, size_t bytes,
                                 const char *words)
{
    struct weft_header header = fixture_header(WEFT_PKT_DATA, from, 0);
    uint8_t packet[sizeof(chunk) + 128] = {0};

    memcpy(packet, &chunk, sizeof(chunk));
    header.length = (uint32_t)(sizeof(chunk) + bytes);
    assert_rejected(from, &header, packet, header.length, words);
}

static void chunks_outside_a_receive_are_refused(void **state)
{
    static uint8_t block[2 * BEFORE];
    const uint64_t parts[][2] = {
        {UINT64_MAX - 15, 16}, {70, 1}, {71, 0}, {0, 71}, {64, 16}, {UINT64_MAX, 1}};
    struct weft_request *recv;
    struct weft_pkt_data chunk = {0};

    (void)state;
    memset(block, 'o', sizeof(block));
    recv = start_pulled(block);
    chunk.request = transfer_name(recv);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        chunk.offset = parts[i][0];
        assert_data_rejected(A, chunk, (size_t)parts[i][1], "outside the message");
    }
    chunk.offset = 0;
    assert_data_rejected(B, chunk, 8, "does not wait for them");
    for (size_t i = 0; i < sizeof(block); i++) {
        assert_int_equal(block[i], 'o');
    }
    arrive_data(A, chunk.request, message, 0, 70);
    weft_progress();
    end_recv(recv, A, TAG, 70);
}

static void chunks_that_came_twice_do_not_complete_a_receive(void **state)
{
    static uint8_t block[2 * BEFORE];
    struct weft_request *recv;
    struct weft_pkt_data chunk = {0};

    (void)state;
    recv = start_pulled(block);
    chunk.request = transfer_name(recv);
    arrive_data(A, chunk.request, message, 0, 40);
    weft_progress();
    assert_data_rejected(A, chunk, 40, "outside the message"); /* 30 bytes are left */
    assert_false(weft_request_is_complete(recv));
    arrive_data(A, chunk.request, message, 40, 30);
    weft_progress();
    end_recv(recv, A, TAG, 70);
}

static void chunks_for_the_receive_of_another_message_are_refused(void **state)
{
    static uint8_t block[2 * BEFORE];
    struct weft_request *recv = start_pulled(block);
    const struct weft_pkt_data chunk = {.request = transfer_name(recv)};
    const union weft_pkt_control answer = {.staged = {.request = chunk.request}};

    (void)state;
    assert_data_rejected(B, chunk, 8, "does not wait for them");
    assert_answer_rejected(B, WEFT_PKT_STAGED, &answer, "does not wait for them");
    assert_answer_rejected(B, WEFT_PKT_PLACED, &answer, "does not wait for them");
    assert_answer_rejected(B, WEFT_PKT_SUMS, &answer, "does not wait for them");
    arrive_data(A, chunk.request, message, 0, 70);
    weft_progress();
    end_recv(recv, A, TAG, 70);
}

/* Its sender has to claim it first, and then to open it. */
static void chunks_for_a_receive_that_was_only_offered_are_refused(void **state)
{
    struct weft_request *recv = NULL;

    (void)state;
    end_request(start_send(A, TAG, message, 8, WEFT_SEND_STANDARD), WEFT_OK);
    weft_lock();
    weft_engine.has_progress = true;
    assert_int_equal(
        weft_irecv_locked(&fixture_comm, WEFT_PLANE_P2P, A, TAG, buffer, LONG, &recv),
        WEFT_OK);
    weft_engine.has_progress = false;
    weft_unlock();
    assert_int_equal(fake_count(WEFT_PKT_OFFER), 1);
    memset(buffer, 'o', sizeof(buffer));
    assert_data_rejected(A, (struct weft_pkt_data){.request = transfer_name(recv)}, 8,
                         "outside the message");
    assert_int_equal(buffer[0], 'o');
    arrive_eager(A, TAG, "x", 1);
    weft_progress();
    end_recv(recv, A, TAG, 1);
}

/* A packet that is dropped would be a hang, for whoever has lost it. */
static void what_names_no_transfer_that_ever_was_is_refused(void **state)
{
    static const enum weft_packet kinds[] = {
        WEFT_PKT_PULL,   WEFT_PKT_FETCHED, WEFT_PKT_STAGE, WEFT_PKT_PULL_PUT,
        WEFT_PKT_STAGED, WEFT_PKT_PLACED,  WEFT_PKT_SUMS};
    static uint8_t block[2 * BEFORE];
    struct weft_request *recv = start_pulled(block);
    const uint64_t name = transfer_name(recv);
    const uint64_t names[] = {0,          1,
                              UINT64_MAX, name + (UINT64_C(1) << 32),
                              name + 1,   UINT64_C(0xdeadbeef12345678)};
    union weft_pkt_control answer = {.pull = {.length = 32}};

    (void)state;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        answer.pull.request = names[n];
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            assert_answer_rejected(A, kinds[i], &answer, "never existed");
        }
        assert_data_rejected(A, (struct weft_pkt_data){.request = names[n]}, 8,
                             "never existed");
    }
    answer.pull.request = name; /* a receive, where a send is meant */
    for (size_t i = 0; i < 4; i++) {
        assert_answer_rejected(A, kinds[i], &answer, "never existed");
    }
    arrive_data(A, name, message, 0, 70);
    weft_progress();
    end_recv(recv, A, TAG, 70);
}

/* A transfer's name is never used again: what names one that is over finds nothing, not
 * even the next in the same place of the pool. */
static void what_comes_for_a_receive_that_is_over_is_ignored(void **state)
{
    static const enum weft_packet kinds[] = {WEFT_PKT_STAGED, WEFT_PKT_PLACED,
                                             WEFT_PKT_SUMS};
    static uint8_t block[2 * BEFORE];
    struct weft_request *recv = start_pulled(block);
    const uint64_t over = transfer_name(recv);
    const union weft_pkt_control answer = {.staged = {.request = over, .length = 70}};

    (void)state;
    arrive_data(A, over, message, 0, 70);
    weft_progress();
    end_recv(recv, A, TAG, 70);
    memset(block, 'o', sizeof(block));
    fake_forget();
    recv = start_pulled(block);
    assert_int_equal((uint32_t)transfer_name(recv), (uint32_t)over);
    arrive_data(A, over, message, 0, 70);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        arrive_answer(A, kinds[i], answer);
    }
    weft_progress();
    assert_false(weft_request_is_complete(recv));
    for (size_t i = 0; i < sizeof(block); i++) {
        assert_int_equal(block[i], 'o');
    }
    arrive_data(A, transfer_name(recv), message, 0, 70);
    weft_progress();
    end_recv(recv, A, TAG, 70);
}

static void an_announcement_of_what_we_do_not_see_is_refused(void **state)
{
    const struct weft_pkt_announce wrong[] = {
        {.length = 70, .address = 4096, .share = WEFT_SHARES},
        {.length = 70, .address = WEFT_IN_STAGE | WEFT_STAGES, .share = WEFT_NO_SHARE},
        {.length = WEFT_STAGE_BYTES + 1,
         .address = WEFT_IN_STAGE,
         .share = WEFT_NO_SHARE},
        {.length = 70,
         .address = WEFT_IN_STAGE | WEFT_IS_LIST | WEFT_STAGES,
         .share = WEFT_NO_SHARE},
    };
    struct weft_header header = fixture_header(WEFT_PKT_ANNOUNCE, A, TAG);

    (void)state;
    header.length = sizeof(struct weft_pkt_announce);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        start_recv(A, TAG, buffer, sizeof(buffer));
        assert_rejected(A, &header, &wrong[i], sizeof(wrong[i]),
                        "that this rank does not see");
    }
    start_recv(A, TAG, buffer, sizeof(buffer));
    header.flags = WEFT_PKT_REGISTERED;
    assert_rejected(A, &header, &wrong[0], sizeof(wrong[0]), "no network reaches");
    start_recv(A, TAG, buffer, sizeof(buffer));
    header.flags = 0;
    assert_rejected(A, &header, message, sizeof(wrong[0]) + 1, "more bytes came along");
}

static void an_offer_of_a_share_that_we_do_not_see_is_refused(void **state)
{
    const union weft_pkt_control offer = {
        .offer = {.share = WEFT_SHARES, .length = LONG}};

    (void)state;
    assert_answer_rejected(A, WEFT_PKT_OFFER, &offer,
                           "a share that this rank does not see");
}

static uint64_t name_what_is_over(void)
{
    union weft_pkt_control fetched;
    struct weft_request *send;

    limit_shares(0);
    send = start_send(A, TAG, message, LONG, WEFT_SEND_STANDARD);
    fetched.fetched.request = transfer_name(send);
    arrive_answer(A, WEFT_PKT_FETCHED, fetched);
    weft_progress();
    end_request(send, WEFT_OK);
    return fetched.fetched.request;
}

/* Every bit of the header and of what it precedes is covered by the checksum. */
static void a_flipped_bit_in_a_packet_is_noticed(void **state)
{
    struct weft_header header = fixture_header(WEFT_PKT_PULL, A, 0);
    struct weft_pkt_pull answer = {.request = name_what_is_over(), .length = 8};
    const size_t all = sizeof(header) + sizeof(answer);

    (void)state;
    weft_p2p_set_checksum(true);
    header.length = sizeof(answer);
    weft_seal_packet(&header, &answer, sizeof(answer));
    assert_null(rejection_of(A, &header, &answer, sizeof(answer)));
    for (size_t bit = 0; bit < 8 * all; bit++) {
        struct weft_header bad_header = header;
        struct weft_pkt_pull bad_answer = answer;
        uint8_t *bytes = (uint8_t *)&bad_header;
        size_t at = bit / 8;

        if (at >= sizeof(header)) {
            bytes = (uint8_t *)&bad_answer;
            at -= sizeof(header);
        }
        bytes[at] ^= (uint8_t)(1u << bit % 8);
        assert_non_null(rejection_of(A, &bad_header, &bad_answer, sizeof(bad_answer)));
    }
}

/* Nobody may ever ask for it, for what was damaged may be its tag: so it is told now. */
static void a_message_that_waits_and_was_changed_is_noticed(void **state)
{
    struct weft_header header = fixture_header(WEFT_PKT_EAGER, A, TAG);

    (void)state;
    weft_p2p_set_checksum(true);
    header.length = 6;
    weft_seal_packet(&header, "right", 6);
    header.tag++;
    assert_rejected(A, &header, "right", 6, "its checksum is wrong");
    header.tag--;
    assert_null(rejection_of(A, &header, "right", 6));
    assert_rejected(A, &header, "wrong", 6, "its checksum is wrong");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        CASE(a_packet_of_another_channel_is_refused),
        CASE(a_kind_that_nobody_sends_is_refused),
        CASE(a_packet_that_is_too_short_or_too_long_is_refused),
        CASE(a_header_that_is_wrong_about_the_length_is_refused),
        CASE(an_answer_of_somebody_else_is_refused),
        CASE(an_answer_to_what_was_not_announced_yet_is_refused),
        CASE(a_request_for_bytes_outside_the_message_is_refused),
        CASE(the_end_of_a_message_that_is_still_being_sent_is_refused),
        CASE(chunks_outside_a_receive_are_refused),
        CASE(chunks_that_came_twice_do_not_complete_a_receive),
        CASE(chunks_for_the_receive_of_another_message_are_refused),
        CASE(chunks_for_a_receive_that_was_only_offered_are_refused),
        CASE(what_names_no_transfer_that_ever_was_is_refused),
        CASE(what_comes_for_a_receive_that_is_over_is_ignored),
        CASE(an_announcement_of_what_we_do_not_see_is_refused),
        CASE(an_offer_of_a_share_that_we_do_not_see_is_refused),
        CASE(a_flipped_bit_in_a_packet_is_noticed),
        CASE(a_message_that_waits_and_was_changed_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
