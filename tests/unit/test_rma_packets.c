/* test_rma_packets.c - operations and packets of windows over the fake transport. */
#include "rma_fixture.h"

#include "rma/regions.h"

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
    weft_lock();
    rma_fixture_fail_peers();
    rma_fixture_close(win);
    weft_unlock();
    return fixture_close(state);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_small_put_that_finds_no_room_is_copied,
                                        open_window, close_window),
        cmocka_unit_test_setup_teardown(runs_whose_sum_overflows_are_refused, open_window,
                                        close_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
