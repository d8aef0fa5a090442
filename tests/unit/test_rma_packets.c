/* test_rma_packets.c - operations and packets of windows over the fake transport. */
#include "rma_fixture.h"

#include "rma/flush.h"

enum { PEER = 1, BYTES = 4096, LONG = 2000 };

static struct weft_win *win;
static uint8_t memory[BYTES];

static int open_window(void **state)
{
    if (fixture_open(state) != 0) {
        return -1;
    }
    rma_fixture_open();
    weft_lock();
    win = rma_fixture_window(&fixture_comm, MPI_WIN_FLAVOR_CREATE, memory, BYTES);
    weft_unlock();
    return 0;
}

static int close_window(void **state)
{
    return rma_fixture_end(win, state);
}

/* ---- no room ---- */

static struct weft_request *start_put(void *from, size_t bytes)
{
    const struct weft_rma_call call = {
        .name = "MPI_Rput",
        .kind = WEFT_RMA_PUT,
        .origin = {.buffer = from, .bytes = bytes},
        .where = {.type = weft_datatype_from_handle(MPI_BYTE), .count = bytes},
        .bytes = bytes,
        .target = PEER,
    };
    struct weft_request *request;

    assert_int_equal(weft_rma_start(win, &call, &request), WEFT_OK);
    return request;
}

static void a_small_put_that_finds_no_room_is_copied(void **state)
{
    uint8_t small[8] = "before!";
    uint8_t large[LONG] = {1};
    struct weft_request *one;
    struct weft_request *two;

    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    one = start_put(small, sizeof(small));
    assert_true(weft_request_is_complete(one));
    two = start_put(large, sizeof(large));
    assert_false(weft_request_is_complete(two));
    memcpy(small, "after!!", sizeof(small));
    fake.refuse_ordered = 0;
    weft_progress();
    assert_true(weft_request_is_complete(two));
    assert_int_equal(fake.sent_count, 2); /* in order */
    assert_memory_equal(fake.sent[0]->data + fake.sent[0]->len - sizeof(small), "before!",
                        sizeof(small));
    end_request(one, WEFT_OK);
    end_request(two, WEFT_OK);
}

/* Puts from a loop that never flushes. */
enum { MANY = 4096 };
static size_t begun;
static size_t polled_at; /* so many had begun at the first poll; 0: none yet */

static void make_room(void)
{
    polled_at = polled_at != 0 ? polled_at : begun;
    fake.refuse_ordered = 0;
}

static void put_many(size_t bytes)
{
    static uint8_t from[LONG];
    const struct weft_rma_call call = {
        .name = "MPI_Put",
        .kind = WEFT_RMA_PUT,
        .origin = {.buffer = from, .bytes = bytes},
        .where = {.type = weft_datatype_from_handle(MPI_BYTE), .count = bytes},
        .bytes = bytes,
        .target = PEER,
    };

    polled_at = 0;
    fake.refuse_ordered = FAKE_ENDLESS;
    fake.polling = make_room;
    for (begun = 1; begun <= MANY; begun++) {
        assert_int_equal(weft_rma_start(win, &call, NULL), WEFT_OK);
    }
    fake.polling = NULL;
    weft_progress();
    assert_int_equal(fake.sent_count, MANY);
    assert_in_range(polled_at, 2, MANY / 2);
}

/* Each of them waits for its turn in a queue, or its copy does. */
static void puts_without_end_wait_for_room(void **state)
{
    (void)state;
    put_many(LONG);
    fake_forget();
    put_many(8);
}

/* ---- small puts in one packet ---- */

/* The peer is reached over a network. */
static void put_far_away(void)
{
    static struct weft_packet_ops far_ops;
    struct weft_peer *peer;

    far_ops = fake_ops;
    far_ops.is_node_local = false;
    weft_lock();
    assert_int_equal(weft_p2p_reach(weft_engine_process(PEER), &peer), WEFT_OK);
    peer->path->packets = &far_ops;
    weft_unlock();
}

/* A put of 8 bytes, all of them `value`. */
static void put_word(uint64_t at, uint8_t value)
{
    uint8_t word[8];
    const struct weft_rma_call call = {
        .name = "MPI_Put",
        .kind = WEFT_RMA_PUT,
        .origin = {.buffer = word, .bytes = sizeof(word)},
        .where = {.type = weft_datatype_from_handle(MPI_BYTE), .count = 8, .at = at},
        .bytes = sizeof(word),
        .target = PEER,
    };

    memset(word, value, sizeof(word));
    assert_int_equal(weft_rma_start(win, &call, NULL), WEFT_OK);
}

static struct weft_target *target_of(int rank)
{
    struct weft_target *target;

    weft_lock();
    target = weft_win_find_target(win, rank);
    weft_unlock();
    assert_non_null(target);
    return target;
}

static void accumulate_word(uint64_t at)
{
    int64_t one = 1;
    struct weft_datatype *type = weft_datatype_from_handle(MPI_INT64_T);
    const struct weft_rma_call call = {
        .name = "MPI_Accumulate",
        .kind = WEFT_RMA_ACCUMULATE,
        .origin = {.buffer = &one, .bytes = sizeof(one)},
        .where = {.type = type, .count = 1, .at = at},
        .basic = type,
        .op = MPI_SUM,
        .bytes = sizeof(one),
        .target = PEER,
    };

    assert_int_equal(weft_rma_start(win, &call, NULL), WEFT_OK);
}

/* Fetches a word, which comes back. */
static void fetch_word(void)
{
    int64_t result = 0;
    struct weft_datatype *type = weft_datatype_from_handle(MPI_INT64_T);
    const struct weft_rma_call call = {
        .name = "MPI_Fetch_and_op",
        .kind = WEFT_RMA_GET_ACCUMULATE,
        .result = {.buffer = &result, .bytes = sizeof(result)},
        .where = {.type = type, .count = 1},
        .basic = type,
        .op = MPI_NO_OP,
        .bytes = sizeof(result),
        .target = PEER,
    };
    uint8_t packet[sizeof(struct weft_pkt_rma_data) + sizeof(result)];
    struct weft_pkt_rma_data back = {.offset = 0};
    struct weft_header header;
    struct weft_pkt_rma head;

    assert_int_equal(weft_rma_start(win, &call, NULL), WEFT_OK);
    memcpy(&head, fake.sent[fake.sent_count - 1]->data, sizeof(head));
    header = fake.sent[fake.sent_count - 1]->header;
    back.operation = head.operation;
    memcpy(packet, &back, sizeof(back));
    memset(packet + sizeof(back), 7, sizeof(result));
    header.kind = WEFT_PKT_RMA_DATA;
    header.source = PEER;
    header.length = sizeof(packet);
    fake_arrive(PEER, header, packet, sizeof(packet), 0);
    weft_progress();
    assert_int_equal(result, 0x0707070707070707);
}

static struct weft_pkt_rma head_of(size_t n)
{
    struct weft_pkt_rma head;

    assert_true(n < fake.sent_count);
    assert_int_equal(fake.sent[n]->header.kind, WEFT_PKT_RMA);
    memcpy(&head, fake.sent[n]->data, sizeof(head));
    assert_true(fake.sent[n]->len <= WEFT_EAGER_MAX);
    assert_int_equal(fake.sent[n]->len,
                     sizeof(head) + head.runs * sizeof(struct weft_rma_run) + head.data);
    return head;
}

/* What the target's memory is after the packets, which arrive here as if from there. */
static void let_them_arrive(void)
{
    const size_t count = fake.sent_count;

    for (size_t i = 0; i < count; i++) {
        struct weft_header header = fake.sent[i]->header;

        header.source = PEER;
        fake_arrive(PEER, header, fake.sent[i]->data, fake.sent[i]->len, 0);
    }
    weft_progress();
}

static void small_puts_wait_for_a_poll(void **state)
{
    struct weft_rma_run run;

    (void)state;
    put_far_away();
    for (uint8_t i = 0; i < 10; i++) {
        put_word(16 * (uint64_t)i, i);
    }
    assert_int_equal(fake.sent_count, 0);
    assert_false(weft_pending_is_any(&target_of(PEER)->pending));
    assert_true(target_of(PEER)->is_dirty);
    weft_progress();
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(head_of(0).runs, 1);
    assert_int_equal(head_of(0).data, 80);
    memcpy(&run, fake.sent[0]->data + sizeof(struct weft_pkt_rma), sizeof(run));
    assert_int_equal(run.length, 8);
    assert_int_equal(run.stride, 16);
    assert_int_equal(run.count, 10);
    memset(memory, 99, sizeof(memory));
    let_them_arrive();
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(memory[16 * i], i);
        assert_int_equal(memory[16 * i + 7], i);
        assert_int_equal(memory[16 * i + 8], 99);
    }
}

static void a_full_packet_goes_out(void **state)
{
    (void)state;
    put_far_away();
    memset(memory, 0, sizeof(memory));
    for (int i = 0; i < 1000; i++) {
        put_word((uint64_t)i * 1237 % 500 * 8, (uint8_t)(i * 1237 % 500 % 250 + 1));
    }
    assert_true(fake.sent_count > 0 && fake.sent_count < 20);
    weft_progress();
    let_them_arrive();
    for (size_t i = 0; i < 500; i++) {
        assert_int_equal(memory[8 * i], i % 250 + 1);
        assert_int_equal(memory[8 * i + 7], i % 250 + 1);
    }
}

static void another_operation_goes_behind(void **state)
{
    uint8_t large[LONG] = {1};

    (void)state;
    put_far_away();
    put_word(8, 2);
    accumulate_word(8);
    assert_int_equal(fake.sent_count, 2);
    assert_int_equal(head_of(0).kind, WEFT_RMA_PUT);
    assert_int_equal(head_of(1).kind, WEFT_RMA_ACCUMULATE);
    put_word(24, 4);
    end_request(start_put(large, sizeof(large)), WEFT_OK);
    assert_int_equal(fake.sent_count, 4);
    assert_int_equal(head_of(2).data, 8);
    assert_int_equal(head_of(3).data, LONG);
}

static void what_finds_no_room_stays_in_order(void **state)
{
    (void)state;
    put_far_away();
    put_word(8, 2);
    fake.refuse_ordered = FAKE_ENDLESS;
    accumulate_word(8);
    put_word(8, 3);
    put_word(8, 4); /* combined */
    weft_progress();
    assert_int_equal(fake.sent_count, 0);
    fake.refuse_ordered = 0;
    weft_progress();
    assert_int_equal(fake.sent_count, 3);
    assert_int_equal(head_of(0).kind, WEFT_RMA_PUT);
    assert_int_equal(head_of(1).kind, WEFT_RMA_ACCUMULATE);
    assert_int_equal(fake.sent[2]->data[fake.sent[2]->len - 1], 4);
}

static void a_place_outside_is_not_combined(void **state)
{
    (void)state;
    put_far_away();
    put_word(BYTES - 8, 1);
    assert_int_equal(fake.sent_count, 0);
    put_word(BYTES - 7, 1); /* for the target to refuse */
    assert_int_equal(fake.sent_count, 2);
    put_word(0, 1);
    put_word(UINT64_MAX - 3, 1);
    assert_int_equal(head_of(fake.sent_count - 1).data, 8);
    assert_true(fake.sent_count > 3);
}

static void the_short_way_takes_what_fits(void **state)
{
    uint8_t bytes[1000] = {5};

    (void)state;
    put_far_away();
    assert_false(weft_combine_is_any(win));
    assert_false(weft_combine_more(win, PEER, 0, bytes, 8, true));
    put_word(0, 1);
    assert_true(weft_combine_is_any(win));
    assert_true(weft_combine_more(win, PEER, BYTES - 8, bytes, 8, true));
    assert_false(weft_combine_more(win, PEER, BYTES - 7, bytes, 8, true));
    assert_false(weft_combine_more(win, PEER, -1, bytes, 8, true));
    assert_false(weft_combine_more(win, PEER, INT64_MAX, bytes, 8, true));
    assert_false(
        weft_combine_more(win, PEER, 0, bytes, sizeof(bytes), true)); /* too long */
    assert_false(weft_combine_more(win, PEER, 0, bytes, 0, true));
    assert_false(weft_combine_more(win, 2, 0, bytes, 8, true)); /* another rank */
    assert_false(weft_combine_more(win, MPI_PROC_NULL, 0, bytes, 8, true));
    assert_false(weft_combine_more(win, PEER, 0, bytes, 8, false)); /* these are puts */
    weft_progress();
    assert_int_equal(head_of(0).data, 16);
    assert_false(weft_combine_is_any(win));
}

static void what_was_for_a_failed_peer_is_dropped(void **state)
{
    const uint32_t watched = weft_engine.watched;

    (void)state;
    put_far_away();
    put_word(0, 1);
    assert_int_equal(weft_engine.watched, watched + 1);
    weft_lock();
    rma_fixture_fail_peers();
    weft_rma_fail_members();
    weft_unlock();
    assert_int_equal(weft_engine.watched, watched);
    assert_false(weft_combine_is_any(win));
    weft_progress();
    assert_int_equal(fake.sent_count, 0);
}

/* A path whose packets are short: what does not fit into an empty one goes by itself. */
static void a_short_packet_takes_what_fits(void **state)
{
    uint8_t bytes[500] = {5};

    (void)state;
    fake.packet_max = 512;
    put_far_away();
    put_word(0, 1);
    end_request(start_put(bytes, sizeof(bytes)), WEFT_OK);
    weft_progress();
    for (size_t i = 0; i < fake.sent_count; i++) {
        assert_true(fake.sent[i]->len <= 512);
    }
    assert_int_equal(fake.sent_count, 3);
    assert_int_equal(head_of(0).data, 8);
    assert_int_equal(head_of(1).data + head_of(2).data, sizeof(bytes));
}

/* Where the path tells by itself that puts are there, the first one since all were sent
 * goes at once. */
static enum weft_rc flush_path(struct weft_path *path, const struct weft_key *where,
                               struct weft_op *op)
{
    (void)path;
    (void)where;
    (void)op;
    return WEFT_OK;
}

static void a_path_that_tells_takes_the_first_put_at_once(void **state)
{
    static const struct weft_memory_ops telling = {.flush = flush_path};
    struct weft_peer *peer;

    (void)state;
    put_far_away();
    weft_lock();
    assert_int_equal(weft_p2p_reach(weft_engine_process(PEER), &peer), WEFT_OK);
    peer->path->memory = &telling;
    weft_unlock();
    put_word(0, 1);
    assert_int_equal(fake.sent_count, 1);
    put_word(8, 1);
    assert_int_equal(fake.sent_count, 1);
    weft_lock();
    weft_combine_send(weft_win_find_target(win, PEER));
    weft_unlock();
    assert_int_equal(fake.sent_count, 2);
    put_word(0, 2);
    assert_int_equal(fake.sent_count, 3);
}

/* ---- the step of an epoch behind them ---- */

static void a_flush_goes_with_the_puts(void **state)
{
    struct weft_pkt_rma_sync answer;

    (void)state;
    put_far_away();
    put_word(16, 5);
    put_word(24, 6);
    weft_lock();
    weft_combine_tell(win, weft_win_find_target(win, PEER), WEFT_RMA_FLUSH, 77);
    weft_unlock();
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(head_of(0).step, WEFT_RMA_FLUSH);
    assert_int_equal(head_of(0).operation, 77);
    memset(memory, 0, sizeof(memory));
    let_them_arrive();
    assert_int_equal(memory[16], 5);
    assert_int_equal(memory[31], 6);
    assert_int_equal(fake.sent_count, 2);
    assert_int_equal(fake.sent[1]->header.kind, WEFT_PKT_RMA_SYNC);
    memcpy(&answer, fake.sent[1]->data, sizeof(answer));
    assert_int_equal(answer.what, WEFT_RMA_FLUSHED);
    assert_int_equal(answer.number, 77);
}

/* The peer has come to a flush. */
static void arrive_flushed(uint32_t number)
{
    const struct weft_pkt_rma_sync step = {WEFT_RMA_FLUSHED, number};
    struct weft_header header = fixture_header(WEFT_PKT_RMA_SYNC, PEER, 0);

    header.context = fixture_comm.context | WEFT_PLANE_RMA;
    header.length = sizeof(step);
    fake_arrive(PEER, header, &step, sizeof(step), 0);
}

static void the_first_put_of_a_passive_epoch_asks_at_once(void **state)
{
    (void)state;
    put_far_away();
    win->epoch.locks = 1;
    put_word(16, 5);
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(head_of(0).step, WEFT_RMA_FLUSH);
    arrive_flushed((uint32_t)head_of(0).operation);
    assert_int_equal(weft_rma_flush(win, PEER, false, "MPI_Win_flush"), WEFT_OK);
    assert_int_equal(fake.sent_count, 1);
    put_word(24, 6);
    put_word(32, 7); /* it waits, and is asked for behind it */
    assert_int_equal(fake.sent_count, 2);
    assert_int_equal(head_of(1).operation, 2);
    arrive_flushed(2);
    arrive_flushed(3);
    assert_int_equal(weft_rma_flush(win, PEER, false, "MPI_Win_flush"), WEFT_OK);
    assert_int_equal(fake.sent_count, 3);
    assert_int_equal(head_of(2).operation, 3);
    win->epoch.locks = 0;
}

/* One packet for it and its flush; what follows before the flush is flushed as ever. */
static void the_first_accumulate_of_a_passive_epoch_asks_at_once(void **state)
{
    struct weft_pkt_rma_sync answer;

    (void)state;
    put_far_away();
    win->epoch.locks = 1;
    memset(memory, 0, sizeof(memory));
    accumulate_word(16);
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(head_of(0).step, WEFT_RMA_FLUSH);
    assert_int_equal(head_of(0).operation, 1);
    let_them_arrive();
    assert_int_equal(memory[16], 1);
    assert_int_equal(fake.sent_count, 2);
    memcpy(&answer, fake.sent[1]->data, sizeof(answer));
    assert_true(answer.what == WEFT_RMA_FLUSHED && answer.number == 1);
    arrive_flushed(1);
    assert_int_equal(weft_rma_flush(win, PEER, false, "MPI_Win_flush"), WEFT_OK);
    assert_int_equal(fake.sent_count, 2);
    accumulate_word(16);
    accumulate_word(24);
    assert_int_equal(fake.sent_count, 4);
    assert_int_equal(head_of(2).step, WEFT_RMA_FLUSH);
    assert_int_equal(head_of(2).operation, 2);
    assert_int_equal(head_of(3).step, 0);
    arrive_flushed(2);
    arrive_flushed(3);
    assert_int_equal(weft_rma_flush(win, PEER, false, "MPI_Win_flush"), WEFT_OK);
    assert_int_equal(fake.sent_count, 5);
    assert_int_equal(fake.sent[4]->header.kind, WEFT_PKT_RMA_SYNC);
    win->epoch.locks = 0;
}

/* The packet with the question waits for room, in order; the flush waits for its answer.
 */
static void an_accumulate_that_finds_no_room_asks_later(void **state)
{
    (void)state;
    put_far_away();
    win->epoch.locks = 1;
    fake.refuse_ordered = FAKE_ENDLESS;
    accumulate_word(16);
    accumulate_word(24);
    assert_int_equal(fake.sent_count, 0);
    fake.refuse_ordered = 0;
    weft_progress();
    assert_int_equal(fake.sent_count, 2);
    assert_int_equal(head_of(0).step, WEFT_RMA_FLUSH);
    assert_int_equal(head_of(1).step, 0);
    win->epoch.locks = 0;
}

/* Only a passive epoch has flushes. */
static void accumulates_of_other_epochs_do_not_ask(void **state)
{
    (void)state;
    put_far_away();
    accumulate_word(16);
    assert_int_equal(head_of(0).step, 0);
}

/* An operation that begins in parts is not over when the answer comes: its flush asks. */
static void nothing_asks_at_once_while_parts_are_to_begin(void **state)
{
    struct weft_target *target;

    (void)state;
    put_far_away();
    win->epoch.locks = 1;
    weft_lock();
    assert_int_equal(weft_win_target(win, PEER, &target), WEFT_OK);
    target->staged = 1;
    target->is_put = true;
    weft_unlock();
    put_word(16, 5);
    assert_int_equal(fake.sent_count, 0);
    assert_true(target->is_put);
    assert_true(target->is_dirty);
    accumulate_word(16);
    assert_int_equal(head_of(1).step, 0);
    assert_true(target->is_put);
    assert_true(target->is_dirty);
    target->staged = 0;
    target->is_put = false;
    win->epoch.locks = 0;
}

static void a_flush_without_puts_is_a_packet(void **state)
{
    struct weft_target *target;

    (void)state;
    put_far_away();
    weft_lock();
    assert_int_equal(weft_win_target(win, PEER, &target), WEFT_OK);
    weft_combine_tell(win, target, WEFT_RMA_FLUSH, 1);
    weft_unlock();
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(fake.sent[0]->header.kind, WEFT_PKT_RMA_SYNC);
}

/* ---- packets that no rank sends ---- */

/* A put of two runs; with what words it is refused, or NULL. */
static const char *put_runs(struct weft_rma_run first, struct weft_rma_run second,
                            uint32_t bytes)
{
    const struct weft_pkt_rma head = {
        .bytes = bytes, .data = bytes, .runs = 2, .kind = WEFT_RMA_PUT};
    const struct weft_rma_run runs[] = {first, second};
    const size_t len = sizeof(head) + sizeof(runs) + bytes;
    struct weft_header header = fixture_header(WEFT_PKT_RMA, PEER, 0);
    uint8_t *packet = calloc(1, len);
    const char *words;

    assert_non_null(packet);
    memcpy(packet, &head, sizeof(head));
    memcpy(packet + sizeof(head), runs, sizeof(runs));
    memset(packet + sizeof(head) + sizeof(runs), 7, bytes);
    header.context = fixture_comm.context | WEFT_PLANE_RMA;
    header.length = (uint32_t)len;
    words = rejection_of(PEER, &header, packet, len);
    free(packet);
    return words;
}

static void runs_whose_sum_overflows_are_refused(void **state)
{
    const struct weft_rma_run four = {.length = 4, .count = 1};
    const struct weft_rma_run more = {.at = 8, .length = 4, .count = 1};
    const struct weft_rma_run most = {.length = UINT32_MAX, .count = UINT32_MAX};
    const struct weft_rma_run rest = {.length = 2863311533u, .count = 3};

    (void)state;
    assert_null(put_runs(four, more, 8));
    assert_int_equal(memory[0], 7);
    assert_int_equal(memory[8], 7);
    assert_non_null(put_runs(most, rest, 8)); /* 2^64 + 8 */
    assert_non_null(put_runs(four, four, 4));
}

/* What has come back has been applied: nobody is asked for it again. */
static void a_fetch_needs_no_flush(void **state)
{
    (void)state;
    fetch_word();
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(weft_rma_flush(win, PEER, false, "MPI_Win_flush"), WEFT_OK);
    assert_int_equal(fake.sent_count, 1);
}

/* An operation of 8 bytes with a step; with what words it is refused, or NULL. */
static const char *step_with(enum weft_rma_kind kind, uint8_t step)
{
    const bool has_data = kind == WEFT_RMA_PUT || kind == WEFT_RMA_ACCUMULATE;
    const struct weft_pkt_rma head = {.bytes = 8,
                                      .data = has_data ? 8 : 0,
                                      .type = (uint16_t)(uintptr_t)MPI_INT64_T,
                                      .op = (uint16_t)(uintptr_t)MPI_SUM,
                                      .runs = 1,
                                      .kind = (uint8_t)kind,
                                      .step = step};
    const struct weft_rma_run run = {.length = 8, .count = 1};
    uint8_t packet[sizeof(head) + sizeof(run) + 8] = {0};
    const size_t len = sizeof(head) + sizeof(run) + head.data;
    struct weft_header header = fixture_header(WEFT_PKT_RMA, PEER, 0);

    memcpy(packet, &head, sizeof(head));
    memcpy(packet + sizeof(head), &run, sizeof(run));
    header.context = fixture_comm.context | WEFT_PLANE_RMA;
    header.length = (uint32_t)len;
    return rejection_of(PEER, &header, packet, len);
}

static void steps_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    assert_null(step_with(WEFT_RMA_PUT, WEFT_RMA_FLUSH));
    assert_non_null(step_with(WEFT_RMA_PUT, WEFT_RMA_SYNCS));
    assert_non_null(step_with(WEFT_RMA_PUT, UINT8_MAX));
    assert_null(step_with(WEFT_RMA_ACCUMULATE, WEFT_RMA_FLUSH));
    assert_non_null(step_with(WEFT_RMA_ACCUMULATE, WEFT_RMA_SYNCS));
    assert_null(step_with(WEFT_RMA_GET, 0));
    assert_non_null(step_with(WEFT_RMA_GET, WEFT_RMA_FLUSH));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_small_put_that_finds_no_room_is_copied,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(puts_without_end_wait_for_room, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(small_puts_wait_for_a_poll, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(a_full_packet_goes_out, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(another_operation_goes_behind, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(what_finds_no_room_stays_in_order, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(a_place_outside_is_not_combined, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(the_short_way_takes_what_fits, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(a_short_packet_takes_what_fits, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(what_was_for_a_failed_peer_is_dropped,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(a_fetch_needs_no_flush, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(a_path_that_tells_takes_the_first_put_at_once,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(a_flush_goes_with_the_puts, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(the_first_put_of_a_passive_epoch_asks_at_once,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(
            the_first_accumulate_of_a_passive_epoch_asks_at_once, open_window,
            close_window),
        cmocka_unit_test_setup_teardown(an_accumulate_that_finds_no_room_asks_later,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(accumulates_of_other_epochs_do_not_ask,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(nothing_asks_at_once_while_parts_are_to_begin,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(a_flush_without_puts_is_a_packet, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(steps_that_do_not_exist_are_refused, open_window,
                                        close_window),
        cmocka_unit_test_setup_teardown(runs_whose_sum_overflows_are_refused, open_window,
                                        close_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
