/* test_rma_gets.c - small gets that share packets, over the fake transport. */
#include "rma_fixture.h"

#include "rma/flush.h"

enum { PEER = 1, BYTES = 8192, OUT = 16 }; /* OUT: packets of small gets to a target */

static struct weft_win *win;
static uint8_t memory[BYTES]; /* ours, and what the peer is said to have */
static uint8_t back[BYTES];

static int open_window(void **state)
{
    static struct weft_packet_ops far_ops;
    struct weft_peer *peer;

    if (fixture_open(state) != 0) {
        return -1;
    }
    rma_fixture_open();
    far_ops = fake_ops;
    far_ops.is_node_local = false;
    weft_lock();
    win = rma_fixture_window(&fixture_comm, MPI_WIN_FLAVOR_CREATE, memory, BYTES);
    assert_int_equal(weft_p2p_reach(weft_engine_process(PEER), &peer), WEFT_OK);
    peer->path->packets = &far_ops; /* it is reached over a network */
    weft_unlock();
    fill_pattern(memory, sizeof(memory), 1);
    memset(back, 0, sizeof(back));
    return 0;
}

static int close_window(void **state)
{
    return rma_fixture_end(win, state);
}

/* ---- our side ---- */

static size_t count_pending(const struct weft_target *of)
{
    size_t n = 0;

    for (const struct weft_pending *p = of->pending.oldest; p != NULL; p = p->next) {
        n++;
    }
    return n;
}

/* To the same place in `back`; with a request, if `request` is not NULL. */
static void get_bytes(uint64_t at, size_t bytes, struct weft_request **request)
{
    const struct weft_rma_call call = {
        .name = "MPI_Rget",
        .kind = WEFT_RMA_GET,
        .result = {.buffer = back + (at < BYTES ? at : 0), .bytes = bytes},
        .where = {.type = weft_datatype_from_handle(MPI_BYTE), .count = bytes, .at = at},
        .bytes = bytes,
        .target = PEER,
    };

    assert_int_equal(weft_rma_start(win, &call, request), WEFT_OK);
}

static void put_byte(uint64_t at)
{
    static uint8_t byte = 3;
    const struct weft_rma_call call = {
        .name = "MPI_Put",
        .kind = WEFT_RMA_PUT,
        .origin = {.buffer = &byte, .bytes = 1},
        .where = {.type = weft_datatype_from_handle(MPI_BYTE), .count = 1, .at = at},
        .bytes = 1,
        .target = PEER,
    };

    assert_int_equal(weft_rma_start(win, &call, NULL), WEFT_OK);
}

static const struct weft_target *target(void)
{
    const struct weft_target *found;

    weft_lock();
    found = weft_win_find_target(win, PEER);
    weft_unlock();
    assert_non_null(found);
    return found;
}

/* ---- the peer's side ---- */

static struct weft_pkt_rma head_of(size_t n)
{
    struct weft_pkt_rma head;

    assert_true(n < fake.sent_count);
    assert_int_equal(fake.sent[n]->header.kind, WEFT_PKT_RMA);
    memcpy(&head, fake.sent[n]->data, sizeof(head));
    return head;
}

/* The bytes that a packet asks for; returns how many. */
static size_t collect(size_t n, uint8_t *to)
{
    const struct weft_pkt_rma head = head_of(n);
    size_t bytes = 0;

    assert_true(head.kind == WEFT_RMA_GET || head.kind == WEFT_RMA_GET_ACCUMULATE);
    for (size_t i = 0; i < head.runs; i++) {
        struct weft_rma_run run;

        memcpy(&run, fake.sent[n]->data + sizeof(head) + i * sizeof(run), sizeof(run));
        for (uint32_t k = 0; k < run.count; k++) {
            memcpy(to + bytes, memory + (int64_t)run.at + (int64_t)k * run.stride,
                   run.length);
            bytes += run.length;
        }
    }
    assert_int_equal(bytes, head.bytes);
    return bytes;
}

/* Some of what the nth packet asks for is on its way. */
static void send_part(size_t n, size_t from, size_t to)
{
    uint8_t packet[WEFT_EAGER_MAX];
    uint8_t bytes[WEFT_EAGER_MAX];
    const struct weft_pkt_rma_data head = {.operation = head_of(n).operation,
                                           .offset = from};
    const size_t all = collect(n, bytes);
    const size_t len = (to < all ? to : all) - from;
    struct weft_header header = fixture_header(WEFT_PKT_RMA_DATA, PEER, 0);

    header.context = fixture_comm.context | WEFT_PLANE_RMA;
    assert_true(sizeof(head) + len <= WEFT_EAGER_MAX);
    memcpy(packet, &head, sizeof(head));
    memcpy(packet + sizeof(head), bytes + from, len);
    fake_arrive(PEER, header, packet, sizeof(head) + len, 0);
}

/* Answers some of what the nth packet asks for. */
static void answer_part(size_t n, size_t from, size_t to)
{
    send_part(n, from, to);
    weft_progress();
}

static void answer(size_t n)
{
    answer_part(n, 0, SIZE_MAX);
}

/* The whole of a part of a longer get, which begins at this offset. */
static void answer_at(size_t n, size_t offset)
{
    uint8_t packet[WEFT_EAGER_MAX];
    const struct weft_pkt_rma_data head = {.operation = head_of(n).operation,
                                           .offset = offset};
    const size_t len = collect(n, packet + sizeof(head));
    struct weft_header header = fixture_header(WEFT_PKT_RMA_DATA, PEER, 0);

    header.context = fixture_comm.context | WEFT_PLANE_RMA;
    memcpy(packet, &head, sizeof(head));
    fake_arrive(PEER, header, packet, sizeof(head) + len, 0);
    weft_progress();
}

/* ---- tests ---- */

static void the_first_goes_at_once_and_others_share_a_packet(void **state)
{
    (void)state;
    get_bytes(0, 8, NULL);
    assert_int_equal(fake.sent_count, 1);
    for (uint64_t i = 1; i <= 100; i++) {
        get_bytes(16 * i, 8, NULL);
    }
    assert_int_equal(fake.sent_count, 1);
    assert_true(weft_combine_is_any(win));
    weft_progress();
    assert_false(weft_combine_is_any(win));
    assert_int_equal(fake.sent_count, 2);
    assert_int_equal(head_of(1).runs, 1);
    assert_int_equal(head_of(1).bytes, 800);
    assert_int_equal(count_pending(target()), 2);
    answer(0);
    answer(1);
    assert_false(weft_pending_is_any(&target()->pending));
    for (size_t i = 0; i <= 100; i++) {
        assert_memory_equal(back + 16 * i, memory + 16 * i, 8);
        assert_int_equal(back[16 * i + 8], 0);
    }
    assert_false(target()->is_dirty);
}

enum { LONG_GET = 600, LOOKS = 20 }; /* bytes: it goes by itself */
static unsigned looks;

/* Another thread begins an operation before the one before it is answered; at last it
 * stops. Called with the lock. */
static void begin_and_answer(void)
{
    const struct weft_rma_call call = {
        .name = "MPI_Get",
        .kind = WEFT_RMA_GET,
        .result = {.buffer = back, .bytes = LONG_GET},
        .where = {.type = weft_datatype_from_handle(MPI_BYTE), .count = LONG_GET},
        .bytes = LONG_GET,
        .target = PEER,
    };

    if (looks < LOOKS) {
        assert_int_equal(
            weft_operation_start(win, weft_win_find_target(win, PEER), &call, NULL),
            WEFT_OK);
    }
    if (looks <= LOOKS) {
        send_part(looks, 0, SIZE_MAX);
        looks++;
    }
}

static void a_flush_waits_for_what_began_before_it(void **state)
{
    (void)state;
    looks = 0;
    get_bytes(0, LONG_GET, NULL);
    fake.polling = begin_and_answer;
    assert_int_equal(weft_rma_flush(win, PEER, true, "MPI_Win_flush_local"), WEFT_OK);
    assert_true(looks < LOOKS / 2);
    assert_true(weft_pending_is_any(&target()->pending));
    while (looks <= LOOKS) {
        weft_progress();
    }
    weft_progress();
    fake.polling = NULL;
    assert_false(weft_pending_is_any(&target()->pending));
}

/* Places without any rule, of different lengths, and answers that come in pieces. */
static void places_of_any_kind(void **state)
{
    uint8_t expected[BYTES] = {0};

    (void)state;
    get_bytes(0, 1, NULL);
    for (uint64_t i = 0; i < 60; i++) {
        const uint64_t at = i * 1237 % 60 * 100;
        const size_t bytes = (size_t)(i * 7 % 50 + 1);

        get_bytes(at, bytes, NULL);
        memcpy(expected + at, memory + at, bytes);
    }
    expected[0] = memory[0];
    weft_progress();
    answer(0);
    for (size_t n = 1; n < fake.sent_count; n++) {
        const size_t all = head_of(n).bytes;

        answer_part(n, 0, 1);
        answer_part(n, 1, all / 2);
        answer_part(n, all / 2, all - 3);
        assert_true(weft_pending_is_any(&target()->pending));
        answer_part(n, all - 3, all);
    }
    assert_false(weft_pending_is_any(&target()->pending));
    assert_memory_equal(back, expected, sizeof(back));
}

/* The answer is to be one packet, and so is the question. */
static void a_full_packet_goes_out(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        get_bytes(i * 37 % 100 * 64, 64, NULL);
    }
    weft_progress();
    for (size_t n = 0; n < fake.sent_count; n++) {
        assert_true(head_of(n).bytes + sizeof(struct weft_pkt_rma_data) <=
                    WEFT_EAGER_MAX);
        answer(n);
    }
    assert_true(fake.sent_count > 2 && fake.sent_count < 6);
    assert_memory_equal(back, memory, 6400);
}

static void a_target_has_a_bounded_number_of_packets(void **state)
{
    const uint64_t step = 512;
    uint64_t count = 0;

    (void)state;
    while (fake.sent_count < OUT) {
        get_bytes(count * step % BYTES, 512, NULL);
        count++;
        assert_true(count < 1000);
    }
    for (uint64_t i = 0; i < 5 * 8; i++) {
        get_bytes((count + i) * step % BYTES, 512, NULL);
    }
    weft_progress();
    assert_int_equal(fake.sent_count, OUT);
    for (size_t n = 0; n < fake.sent_count; n++) {
        assert_true(fake.sent_count <= n + OUT);
        answer(n);
    }
    assert_true(fake.sent_count >= OUT + 5);
    assert_false(weft_pending_is_any(&target()->pending));
    assert_memory_equal(back, memory, sizeof(back));
}

/* The parts of 20 gets of 8 KiB, of which a target has no more to answer than OUT. */
static void a_target_has_a_bounded_number_of_bytes(void **state)
{
    size_t offset = 0;
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        get_bytes(0, BYTES, NULL);
    }
    weft_progress();
    for (size_t n = 0; n < fake.sent_count; n++) {
        assert_true(fake.sent_count <= n + 3 * (OUT / 2)); /* an 8 KiB get has 3 parts */
        offset = head_of(n).operation == last ? offset : 0;
        last = head_of(n).operation;
        answer_at(n, offset);
        offset += head_of(n).bytes;
    }
    assert_int_equal(fake.sent_count, 20 * 3);
    assert_false(weft_pending_is_any(&target()->pending));
    assert_memory_equal(back, memory, sizeof(back));
}

/* ---- atomic reads ---- */

static void accumulate(enum weft_rma_kind kind, MPI_Op op, size_t bytes)
{
    static uint64_t words[BYTES / 8];
    struct weft_datatype *type = weft_datatype_from_handle(MPI_UINT64_T);
    const struct weft_rma_call call = {
        .name = "MPI_Get_accumulate",
        .kind = kind,
        .op = op,
        .origin = {.buffer = words, .bytes = bytes},
        .result = {.buffer = back, .bytes = bytes},
        .where = {.type = type, .count = bytes / 8},
        .basic = type,
        .bytes = bytes,
        .target = PEER,
    };

    assert_int_equal(weft_rma_start(win, &call, NULL), WEFT_OK);
}

/* The target keeps its answers, as those of gets. Accumulates behind a read stay there,
 * and puts need not. */
static void atomic_reads_are_bounded_and_in_order(void **state)
{
    enum { READS = 20, PARTS = 3 };

    size_t offset = 0;
    uint64_t last = 0;
    size_t sum_at = 0;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < READS; i++) {
        accumulate(WEFT_RMA_GET_ACCUMULATE, MPI_NO_OP, BYTES);
    }
    accumulate(WEFT_RMA_ACCUMULATE, MPI_SUM, 8);
    accumulate(WEFT_RMA_GET_ACCUMULATE, MPI_NO_OP, BYTES);
    weft_progress();
    assert_true(fake.sent_count < READS * PARTS);
    assert_int_equal(target()->staged, 1); /* so a flush asks behind it */
    for (n = 0; n < fake.sent_count; n++) {
        assert_true(fake.sent_count <= n + 1 + PARTS * (OUT / 2)); /* 1: the sum */
        if (head_of(n).kind == WEFT_RMA_ACCUMULATE) {
            sum_at = n;
            continue;
        }
        offset = head_of(n).operation == last ? offset : 0;
        last = head_of(n).operation;
        answer_at(n, offset);
        offset += head_of(n).bytes;
    }
    assert_int_equal(n, (READS + 1) * PARTS + 1);
    assert_int_equal(sum_at, READS * PARTS);
    assert_false(weft_pending_is_any(&target()->pending));
    assert_int_equal(target()->staged, 0);
    assert_true(target()->is_dirty);
    accumulate(WEFT_RMA_ACCUMULATE, MPI_SUM, 8); /* at once */
    assert_int_equal(fake.sent_count, n + 1);
}

/* A read that is longer than a target may have to answer goes in parts, of which some
 * wait. */
static void a_long_atomic_read_is_bounded_too(void **state)
{
    enum { LENGTH = 1 << 20 };

    static uint8_t all[LENGTH];
    struct weft_datatype *type = weft_datatype_from_handle(MPI_UINT64_T);
    const struct weft_rma_call call = {
        .name = "MPI_Get_accumulate",
        .kind = WEFT_RMA_GET_ACCUMULATE,
        .op = MPI_NO_OP,
        .result = {.buffer = all, .bytes = LENGTH},
        .where = {.type = type, .count = LENGTH / 8},
        .basic = type,
        .bytes = LENGTH,
        .target = PEER,
    };

    (void)state;
    assert_int_equal(weft_rma_start(win, &call, NULL), WEFT_OK);
    accumulate(WEFT_RMA_ACCUMULATE, MPI_SUM, 8);
    weft_progress();
    assert_true(fake.sent_count <= 2 * OUT);
    assert_int_equal(head_of(fake.sent_count - 1).kind, WEFT_RMA_GET_ACCUMULATE);
}

static void requests_are_complete_when_the_data_are_there(void **state)
{
    struct weft_request *requests[100];

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        get_bytes(8 * i, 8, &requests[i]);
        assert_false(weft_request_is_complete(requests[i]));
    }
    weft_progress();
    for (size_t n = 0; n < fake.sent_count; n++) {
        answer(n);
    }
    for (size_t i = 0; i < 100; i++) {
        end_request(requests[i], WEFT_OK);
    }
    assert_memory_equal(back, memory, 800);
    assert_true(fake.sent_count < 6);
}

static void puts_and_gets_stay_in_order(void **state)
{
    (void)state;
    get_bytes(0, 8, NULL); /* at once */
    put_byte(100);
    put_byte(102);
    get_bytes(8, 8, NULL);
    get_bytes(16, 8, NULL);
    put_byte(104);
    weft_progress();
    assert_int_equal(fake.sent_count, 4);
    assert_int_equal(head_of(1).kind, WEFT_RMA_PUT);
    assert_int_equal(head_of(1).bytes, 2);
    assert_int_equal(head_of(2).kind, WEFT_RMA_GET);
    assert_int_equal(head_of(2).bytes, 16);
    assert_int_equal(head_of(3).kind, WEFT_RMA_PUT);
    answer(0);
    answer(2);
}

static void the_short_way_takes_what_fits(void **state)
{
    (void)state;
    get_bytes(0, 8, NULL);
    assert_false(weft_combine_more(win, PEER, 0, back, 8, false));
    get_bytes(8, 8, NULL);
    assert_true(weft_combine_more(win, PEER, 16, back + 16, 8, false));
    assert_false(weft_combine_more(win, PEER, 24, back + 24, 8, true)); /* a put */
    assert_false(weft_combine_more(win, PEER, BYTES - 7, back, 8, false));
    assert_false(weft_combine_more(win, PEER, 0, back, 513, false));
    assert_false(weft_combine_more(win, 2, 0, back, 8, false));
    weft_progress();
    assert_int_equal(head_of(1).bytes, 16);
    answer(0);
    answer(1);
    assert_memory_equal(back, memory, 24);
}

static void what_finds_no_room_is_sent_later(void **state)
{
    (void)state;
    get_bytes(0, 8, NULL);
    fake.refuse_ordered = FAKE_ENDLESS;
    for (uint64_t i = 1; i < 200; i++) {
        get_bytes(i * 1237 % 200 * 8, 8, NULL);
    }
    weft_progress();
    assert_int_equal(fake.sent_count, 1);
    fake.refuse_ordered = 0;
    weft_progress();
    for (size_t n = 0; n < fake.sent_count; n++) {
        answer(n);
    }
    assert_false(weft_pending_is_any(&target()->pending));
    assert_memory_equal(back, memory, 1600);
}

/* Gets that wait, that are out and that are held end when the peer fails. */
static void a_failed_peer_ends_them(void **state)
{
    struct weft_request *requests[400];
    const uint32_t watched = weft_engine.watched;

    (void)state;
    for (uint64_t i = 0; i < 400; i++) {
        get_bytes(i % 16 * 512, 512, &requests[i]);
    }
    assert_int_equal(fake.sent_count, OUT);
    assert_int_equal(weft_engine.watched, watched + 1);
    weft_lock();
    rma_fixture_fail_peers();
    weft_rma_fail_members();
    weft_unlock();
    assert_int_equal(weft_engine.watched, watched);
    for (size_t i = 0; i < 400; i++) {
        end_request(requests[i], WEFT_ERR_PROC_FAILED);
    }
    assert_false(weft_pending_is_any(&target()->pending));
    assert_int_equal(target()->rc, WEFT_ERR_PROC_FAILED);
    weft_progress();
    assert_int_equal(fake.sent_count, OUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_goes_at_once_and_others_share_a_packet,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(a_flush_waits_for_what_began_before_it,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(places_of_any_kind, open_window, close_window),
        cmocka_unit_test_setup_teardown(a_full_packet_goes_out, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(a_target_has_a_bounded_number_of_packets,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(a_target_has_a_bounded_number_of_bytes,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(atomic_reads_are_bounded_and_in_order,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(a_long_atomic_read_is_bounded_too, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(requests_are_complete_when_the_data_are_there,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(puts_and_gets_stay_in_order, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(the_short_way_takes_what_fits, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(what_finds_no_room_is_sent_later, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(a_failed_peer_ends_them, open_window,
                                        close_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
