/*
 * test_staged.c - long messages that are not contiguous, against the fake transport:
 * asked for stage by stage, packed, fetched, and sent in packets where fetching fails.
 */
#include "p2p_fixture.h"

#include "copy_share.h"

#include "datatype/construct.h"
#include "engine/lock.h"
#include "transfer/stage.h"
#include "transfer/staged.h"

enum {
    A = 1,
    BYTES = 5 * WEFT_STAGED_CHUNK / 2, /* two chunks and a half, more than a stage */
    DOUBLES = BYTES / 8,
};

static uint8_t message[BYTES];
static uint8_t spread[2 * BYTES]; /* every second double of it */
static struct weft_datatype *every_second;

static int open_with_type(void **state)
{
    fill_pattern(message, sizeof(message), 1);
    memset(spread, 0, sizeof(spread));
    if (weft_type_vector(MPI_COMBINER_VECTOR, false, DOUBLES, 1, 2,
                         weft_datatype_from_handle(MPI_DOUBLE),
                         &every_second) != WEFT_OK ||
        weft_datatype_commit(every_second) != WEFT_OK) {
        return -1;
    }
    return fixture_open(state);
}

static int close_with_type(void **state)
{
    weft_datatype_free(every_second);
    return fixture_close(state);
}

static union weft_pkt_control nth(enum weft_packet kind, size_t i)
{
    return answer_in(fake_nth(kind, i));
}

static uint64_t chunk_length(uint64_t offset)
{
    return BYTES - offset < WEFT_STAGED_CHUNK ? BYTES - offset : WEFT_STAGED_CHUNK;
}

/* The sender's answer to the i-th request for a chunk. */
static void arrive_staged(size_t i)
{
    const struct weft_pkt_stage stage = nth(WEFT_PKT_STAGE, i).stage;

    assert_int_equal(stage.request, 42);
    assert_int_equal(stage.offset, i * WEFT_STAGED_CHUNK);
    assert_int_equal(stage.length, chunk_length(stage.offset));
    arrive_answer(A, WEFT_PKT_STAGED,
                  (union weft_pkt_control){
                      .staged = {.request = stage.receiver,
                                 .address = (uint64_t)(uintptr_t)(message + stage.offset),
                                 .offset = stage.offset,
                                 .length = stage.length}});
    weft_progress();
}

static void assert_spread(void)
{
    for (size_t i = 0; i < DOUBLES; i++) {
        assert_memory_equal(spread + 16 * i, message + 8 * i, 8);
        assert_int_equal(spread[16 * i + 8], 0);
    }
}

static struct weft_request *start_typed_recv(void)
{
    struct weft_request *request;

    request = start_recv_data(A, 5, elements_at(spread, 1, every_second));
    return request;
}

static void arrive_all_data(const struct weft_pkt_pull *pull)
{
    for (uint64_t at = pull->offset; at < BYTES; at += 4000) {
        arrive_data(A, pull->receiver, message, at,
                    BYTES - at < 4000 ? BYTES - at : 4000);
        weft_progress();
    }
}

static void chunks_are_asked_for_two_at_a_time(void **state)
{
    struct weft_request *request = start_typed_recv();

    (void)state;
    arrive_announced(A, 5, NULL, BYTES, 42);
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_STAGE), 2);
    arrive_staged(0);
    assert_int_equal(fake_count(WEFT_PKT_STAGE), 3);
    arrive_staged(1);
    assert_int_equal(fake_count(WEFT_PKT_STAGE), 3);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 0);
    arrive_staged(2);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    end_recv(request, A, 5, BYTES);
    assert_spread();
}

static void a_chunk_that_cannot_be_fetched_comes_as_data_with_the_rest(void **state)
{
    struct weft_request *request = start_typed_recv();
    struct weft_pkt_pull pull;

    (void)state;
    fake.gets = 1;
    arrive_announced(A, 5, NULL, BYTES, 42);
    weft_progress();
    arrive_staged(0);
    arrive_staged(1);
    assert_int_equal(fake_count(WEFT_PKT_PULL), 0);
    arrive_staged(2); /* which was on its way, and is not wanted any more */
    assert_int_equal(fake_count(WEFT_PKT_PULL), 1);
    pull = nth(WEFT_PKT_PULL, 0).pull;
    assert_int_equal(pull.offset, WEFT_STAGED_CHUNK);
    assert_int_equal(pull.length, BYTES - WEFT_STAGED_CHUNK);
    arrive_all_data(&pull);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    end_recv(request, A, 5, BYTES);
    assert_spread();
}

/* The sender sees the share open and would help. */
static void claim_nothing(uint64_t address, uint64_t length)
{
    struct weft_copy_share *share = share_of(A, 0);
    uint64_t at;
    uint64_t part;

    (void)address;
    (void)length;
    assert_true(weft_share_is_open(share, share_generation(share)));
    assert_false(weft_share_claim_chunk(share, share_generation(share), WEFT_SHARE_SENDER,
                                        &at, &part));
}

static void data_of_one_block_are_fetched_and_nobody_stores(void **state)
{
    struct weft_copy_share *share = share_of(A, 0);
    struct weft_request *request = start_typed_recv();
    uint32_t generation;

    (void)state;
    generation = arrive_with_share(A, 5, message, BYTES, 42, 0);
    fake.getting = claim_nothing;
    weft_progress();
    assert_true(weft_share_is_over(share, generation));
    assert_int_equal(fake_count(WEFT_PKT_STAGE), 0);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 0);
    end_recv(request, A, 5, BYTES);
    assert_spread();
}

static void what_is_not_reached_comes_as_data(void **state)
{
    for (int can_try = 0; can_try < 2; can_try++) {
        struct weft_request *request = start_typed_recv();
        struct weft_pkt_pull pull;

        (void)state;
        memset(spread, 0, sizeof(spread));
        fake_forget();
        fake_reach(can_try);
        fake.gets = 1;
        arrive_with_share(A, 5, message, BYTES, 42, 0);
        weft_progress();
        assert_false(
            weft_share_has_chunks(share_of(A, 0), share_generation(share_of(A, 0))));
        assert_int_equal(fake_count(WEFT_PKT_PULL), 1);
        pull = nth(WEFT_PKT_PULL, 0).pull;
        assert_int_equal(pull.offset, 0);
        assert_int_equal(pull.length, BYTES);
        arrive_all_data(&pull);
        assert_int_equal(weft_engine.count[WEFT_REASON_STEPS], 0);
        end_recv(request, A, 5, BYTES);
        assert_spread();
    }
}

static void chunks_go_straight_to_a_contiguous_buffer(void **state)
{
    struct weft_request *request = start_recv(A, 5, spread, BYTES);

    (void)state;
    arrive_announced(A, 5, NULL, BYTES, 42);
    weft_progress();
    arrive_staged(0);
    arrive_staged(1);
    arrive_staged(2);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    end_recv(request, A, 5, BYTES);
    assert_memory_equal(spread, message, BYTES);
}

static void a_typed_receive_is_not_offered_and_can_be_cancelled(void **state)
{
    struct weft_request *request = start_typed_recv();
    const uint32_t references = every_second->references;

    (void)state;
    assert_int_equal(fake_count(WEFT_PKT_OFFER), 0);
    weft_lock();
    assert_true(weft_p2p_cancel(request));
    assert_int_equal(every_second->references, references - 1);
    weft_request_complete(request, WEFT_OK);
    weft_request_give(request);
    weft_unlock();
}

static void a_sender_packs_what_it_is_asked_for(void **state)
{
    struct weft_request *request;
    struct weft_pkt_announce announce;

    (void)state;
    for (size_t i = 0; i < DOUBLES; i++) {
        memcpy(spread + 16 * i, message + 8 * i, 8);
    }
    request = start_send_data(A, 5, elements_at(spread, 1, every_second));
    announce = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));
    assert_int_equal(announce.address, 0);
    assert_int_equal(announce.length, BYTES);
    for (uint64_t at = 0; at < BYTES; at += WEFT_STAGED_CHUNK) {
        struct weft_pkt_staged staged;

        arrive_answer(A, WEFT_PKT_STAGE,
                      (union weft_pkt_control){.stage = {.request = announce.request,
                                                         .receiver = 77,
                                                         .offset = at,
                                                         .length = chunk_length(at)}});
        weft_progress();
        staged = nth(WEFT_PKT_STAGED, at / WEFT_STAGED_CHUNK).staged;
        assert_int_equal(staged.request, 77);
        assert_int_equal(staged.offset, at);
        assert_int_equal(staged.length, chunk_length(at));
        assert_memory_equal((const void *)(uintptr_t)staged.address, message + at,
                            (size_t)staged.length);
    }
    /* A second time: not answered. */
    arrive_answer(
        A, WEFT_PKT_STAGE,
        (union weft_pkt_control){.stage = {.request = announce.request, .length = 8}});
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_STAGED), 3);
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (union weft_pkt_control){.fetched = {.request = announce.request}});
    weft_progress();
    end_request(request, WEFT_OK);
}

/* ---- stages of the transport ---- */

static void chunks_in_stages_are_read_where_they_are(void **state)
{
    struct weft_request *request = start_typed_recv();

    (void)state;
    fake_reach(false); /* and need not be */
    arrive_announced(A, 5, NULL, BYTES, 42);
    weft_progress();
    for (size_t i = 0; i < 3; i++) {
        const struct weft_pkt_stage stage = nth(WEFT_PKT_STAGE, i).stage;

        memcpy(stage_of(A, i % 2), message + stage.offset, (size_t)stage.length);
        arrive_answer(
            A, WEFT_PKT_STAGED,
            (union weft_pkt_control){.staged = {.request = stage.receiver,
                                                .address = WEFT_IN_STAGE | i % 2,
                                                .offset = stage.offset,
                                                .length = stage.length}});
        weft_progress();
    }
    assert_int_equal(fake.move_count, 0);
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    end_recv(request, A, 5, BYTES);
    assert_spread();
}

static void a_sender_packs_into_stages_in_turn(void **state)
{
    struct weft_request *request;
    struct weft_pkt_announce announce;

    (void)state;
    limit_stages(2);
    for (size_t i = 0; i < DOUBLES; i++) {
        memcpy(spread + 16 * i, message + 8 * i, 8);
    }
    request = start_send_data(A, 5, elements_at(spread, 1, every_second));
    announce = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t at = i * WEFT_STAGED_CHUNK;

        arrive_answer(A, WEFT_PKT_STAGE,
                      (union weft_pkt_control){.stage = {.request = announce.request,
                                                         .offset = at,
                                                         .length = chunk_length(at)}});
        weft_progress();
        assert_int_equal(nth(WEFT_PKT_STAGED, i).staged.address, WEFT_IN_STAGE | i % 2);
        assert_memory_equal(stage_of(0, i % 2), message + at, chunk_length(at));
    }
    arrive_answer(A, WEFT_PKT_FETCHED,
                  (union weft_pkt_control){.fetched = {.request = announce.request}});
    weft_progress();
    end_request(request, WEFT_OK);
    assert_int_equal(stages_used(), 0);
}

/* What fits is packed once, into a stage while there is one. */
static void a_message_of_one_stage_is_announced_in_it(void **state)
{
    enum { STAGES = 2, SENDS = STAGES + 1, PART = 1000 };
    struct weft_datatype *part;
    struct weft_request *requests[SENDS];
    struct weft_pkt_announce announces[SENDS];

    (void)state;
    limit_stages(STAGES);
    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, PART, 1, 2,
                                      weft_datatype_from_handle(MPI_DOUBLE), &part),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(part), WEFT_OK);
    for (size_t i = 0; i < PART; i++) {
        memcpy(spread + 16 * i, message + 8 * i, 8);
    }
    for (uint32_t i = 0; i < SENDS; i++) {
        const void *at;

        requests[i] = start_send_data(A, 5, elements_at(spread, 1, part));
        announces[i] = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, i));
        if (i < STAGES) {
            assert_int_equal(announces[i].address, WEFT_IN_STAGE | i);
            at = stage_of(0, i);
        } else {
            at = (const void *)(uintptr_t)announces[i].address;
        }
        assert_memory_equal(at, message, 8 * PART);
    }
    for (uint32_t i = 0; i < SENDS; i++) {
        struct weft_copy_share *share = share_of(0, (uint32_t)announces[i].share);

        weft_share_open(share, (uint32_t)(announces[i].share >> 32),
                        &(struct weft_share_terms){.length = 8 * PART});
        assert_true(weft_share_count(share, 8 * PART));
        weft_progress();
        end_request(requests[i], WEFT_OK);
    }
    assert_int_equal(stages_used(), 0);
    weft_datatype_free(part);
}

static void a_message_in_a_stage_goes_to_any_buffer(void **state)
{
    for (int is_typed = 0; is_typed < 2; is_typed++) {
        struct weft_request *request =
            is_typed ? start_typed_recv() : start_recv(A, 5, spread, BYTES);
        struct weft_header header = fixture_header(WEFT_PKT_ANNOUNCE, A, 5);
        const struct weft_pkt_announce announce = {
            .length = WEFT_STAGE_BYTES,
            .address = WEFT_IN_STAGE | 1,
            .request = 42,
            .share = WEFT_NO_SHARE,
        };

        (void)state;
        fake_reach(false);
        fake_forget();
        memset(spread, 0, sizeof(spread));
        memcpy(stage_of(A, 1), message, WEFT_STAGE_BYTES);
        fake_arrive(A, header, &announce, sizeof(announce), 0);
        weft_progress();
        assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
        assert_int_equal(fake.move_count, 0);
        end_recv(request, A, 5, WEFT_STAGE_BYTES);
        for (size_t i = 0; i < WEFT_STAGE_BYTES / 8; i++) {
            assert_memory_equal(spread + (is_typed ? 16 : 8) * i, message + 8 * i, 8);
        }
    }
}

/* ---- long blocks ---- */

enum { BLOCK = 8192, ROWS = 20, GAP = 4096, ROW_BYTES = ROWS * BLOCK };

static struct weft_datatype *make_rows(MPI_Count rows, MPI_Count length, int64_t stride)
{
    struct weft_datatype *type;

    assert_int_equal(weft_type_vector(MPI_COMBINER_HVECTOR, false, rows, length, stride,
                                      weft_datatype_from_handle(MPI_BYTE), &type),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    return type;
}

static void assert_rows(size_t stride, size_t block, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += block) {
        assert_memory_equal(spread + at / block * stride, message + at, block);
        if (at + block < bytes) {
            assert_int_equal(spread[at / block * stride + block], 0);
        }
    }
}

/* The list that a place names, one of ours. */
static const struct weft_iov_list *list_at(uint64_t place)
{
    assert_true(weft_remote_is_list(place));
    return (const struct weft_iov_list *)stage_of(0, (uint32_t)place);
}

static void a_sender_shows_long_blocks_and_stores_what_is_wanted(void **state)
{
    struct weft_datatype *rows = make_rows(ROWS, BLOCK, BLOCK + GAP);
    struct weft_request *request;
    struct weft_pkt_announce announce;
    const struct weft_iov_list *list;
    struct weft_copy_share *share;

    (void)state;
    limit_stages(1);
    for (size_t i = 0; i < ROWS; i++) {
        memcpy(spread + i * (BLOCK + GAP), message + i * BLOCK, BLOCK);
    }
    request = start_send_data(A, 5, elements_at(spread, 1, rows));
    announce = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0));
    list = list_at(announce.address);
    assert_int_equal(list->n, ROWS);
    for (uint64_t i = 0; i <= ROWS; i++) {
        assert_int_equal(list->at[i].start, i * BLOCK);
        assert_true(i == ROWS ||
                    list->at[i].address == (uintptr_t)spread + i * (BLOCK + GAP));
    }
    share = share_of(0, (uint32_t)announce.share);
    weft_share_open(share, (uint32_t)(announce.share >> 32),
                    &(struct weft_share_terms){
                        .target = (uint64_t)(uintptr_t)stage_of(A, 0),
                        .length = ROW_BYTES,
                        .chunk = ROW_BYTES / 3,
                    });
    while (!weft_request_is_complete(request)) {
        weft_progress();
    }
    assert_memory_equal(stage_of(A, 0), message, ROW_BYTES);
    end_request(request, WEFT_OK);
    assert_int_equal(stages_used(), 0);
    weft_datatype_free(rows);
}

/* Blocks of both sides differ, and no chunk ends where one does. */
static void both_may_have_long_blocks(void **state)
{
    struct weft_datatype *rows = make_rows(2 * ROWS, BLOCK / 2, BLOCK / 2 + GAP);
    struct weft_iov_list *list = (struct weft_iov_list *)stage_of(A, 1);
    struct weft_pkt_announce announce = {
        .length = ROW_BYTES,
        .address = WEFT_IN_STAGE | WEFT_IS_LIST | 1,
        .request = 42,
    };
    struct weft_header header = fixture_header(WEFT_PKT_ANNOUNCE, A, 5);

    (void)state;
    for (int is_failing = 0; is_failing < 2; is_failing++) {
        struct weft_copy_share *share = share_of(A, 0);
        struct weft_request *request;

        limit_stages(1);
        fake.gets = is_failing ? 1 : FAKE_ENDLESS;
        fake_forget();
        memset(spread, 0, sizeof(spread));
        list->n = ROWS;
        for (uint64_t i = 0; i <= ROWS; i++) {
            list->at[i].start = i * BLOCK;
            list->at[i].address = (uint64_t)(uintptr_t)(message + i * BLOCK);
        }
        announce.share = (uint64_t)weft_share_announce(share, announce.address) << 32;
        request = start_recv_data(A, 5, elements_at(spread, 1, rows));
        fake_arrive(A, header, &announce, sizeof(announce), 0);
        weft_progress();
        assert_int_equal(list_at(weft_share_field(&share->target))->n, 2 * ROWS);
        for (size_t i = 0; i < fake_count(WEFT_PKT_PULL); i++) {
            const struct weft_pkt_pull pull = nth(WEFT_PKT_PULL, i).pull;

            assert_true(is_failing);
            for (uint64_t at = 0; at < pull.length; at += 1024) {
                arrive_data(A, pull.receiver, message, pull.offset + at,
                            pull.length - at < 1024 ? pull.length - at : 1024);
                weft_progress();
            }
        }
        assert_int_equal(fake_count(WEFT_PKT_PULL) > 0, is_failing);
        end_recv(request, A, 5, ROW_BYTES);
        assert_rows(BLOCK / 2 + GAP, BLOCK / 2, ROW_BYTES);
        assert_int_equal(stages_used(), 0);
    }
    weft_datatype_free(rows);
}

/* A list from the sender, and short blocks here: fetched into a stage, and unpacked. */
static void long_blocks_may_become_short_ones(void **state)
{
    struct weft_iov_list *list = (struct weft_iov_list *)stage_of(A, 1);
    const struct weft_pkt_announce announce = {
        .length = BYTES,
        .address = WEFT_IN_STAGE | WEFT_IS_LIST | 1,
        .request = 42,
        .share = WEFT_NO_SHARE,
    };
    struct weft_header header = fixture_header(WEFT_PKT_ANNOUNCE, A, 5);
    struct weft_request *request = start_typed_recv();

    (void)state;
    list->n = BYTES / BLOCK;
    for (uint64_t i = 0; i <= BYTES / BLOCK; i++) {
        list->at[i].start = i * BLOCK;
        list->at[i].address = (uint64_t)(uintptr_t)(message + i * BLOCK);
    }
    fake_arrive(A, header, &announce, sizeof(announce), 0);
    weft_progress();
    assert_int_equal(fake_count(WEFT_PKT_FETCHED), 1);
    end_recv(request, A, 5, BYTES);
    assert_spread();
}

static void short_blocks_are_not_listed(void **state)
{
    static const MPI_Count lengths[] = {16, 1024, 4095};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct weft_datatype *rows = make_rows(10, lengths[i], 5000);
        const struct weft_data data = {
            .buffer = spread,
            .bytes = 10 * (size_t)lengths[i],
            .type = rows,
            .count = 1,
        };

        limit_stages(1);
        weft_lock();
        assert_null(weft_stage_list(&data).at);
        weft_unlock();
        assert_int_equal(stages_used(), 0);
        weft_datatype_free(rows);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_with_type, close_with_type)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(chunks_are_asked_for_two_at_a_time),
        CASE(a_chunk_that_cannot_be_fetched_comes_as_data_with_the_rest),
        CASE(data_of_one_block_are_fetched_and_nobody_stores),
        CASE(what_is_not_reached_comes_as_data),
        CASE(chunks_go_straight_to_a_contiguous_buffer),
        CASE(a_typed_receive_is_not_offered_and_can_be_cancelled),
        CASE(a_sender_packs_what_it_is_asked_for),
        CASE(chunks_in_stages_are_read_where_they_are),
        CASE(a_sender_packs_into_stages_in_turn),
        CASE(a_message_of_one_stage_is_announced_in_it),
        CASE(a_message_in_a_stage_goes_to_any_buffer),
        CASE(a_sender_shows_long_blocks_and_stores_what_is_wanted),
        CASE(both_may_have_long_blocks),
        CASE(long_blocks_may_become_short_ones),
        CASE(short_blocks_are_not_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
