/*
 * test_retry.c - what is tried again: the classes, their order, and what comes and goes
 * meanwhile.
 */
#include "p2p_fixture.h"

#include "engine/lock.h"

enum { A = 1, MOST = 8 };

struct thing {
    struct weft_retry retry; /* first */
    int refusals;
    struct thing *adds; /* queued while this one is tried */
    enum weft_retry_class class;
    bool has_failed;
};

static struct thing *done[MOST];
static int done_count;

static enum weft_rc again(struct weft_retry *retry)
{
    struct thing *thing = (struct thing *)retry;

    if (thing->refusals > 0) {
        thing->refusals--;
        return WEFT_AGAIN;
    }
    done[done_count++] = thing;
    if (thing->adds != NULL) {
        weft_engine_retry_later(weft_peer_find(weft_engine_process(A)),
                                thing->adds->class, &thing->adds->retry);
    }
    memset(&thing->retry, 0xff, sizeof(thing->retry)); /* its memory is somebody else's */
    return WEFT_OK;
}

static void failed(struct weft_retry *retry)
{
    ((struct thing *)retry)->has_failed = true;
}

static void queue(struct thing *thing, enum weft_retry_class class)
{
    thing->retry = (struct weft_retry){.again = again, .failed = failed};
    thing->class = class;
    weft_engine_retry_later(weft_peer_get(weft_engine_process(A)), class, &thing->retry);
}

static int open_fixture(void **state)
{
    struct weft_peer *peer;
    enum weft_rc rc;

    done_count = 0;
    if (fixture_open(state) != 0) {
        return -1;
    }
    weft_lock();
    rc = weft_p2p_reach(weft_engine_process(A), &peer);
    weft_unlock();
    return rc == WEFT_OK ? 0 : -1;
}

static void classes_are_tried_in_their_order(void **state)
{
    struct thing bulk = {.refusals = 0};
    struct thing ordered = {.refusals = 0};
    struct thing control = {.refusals = 0};
    const struct weft_peer *peer = weft_peer_find(weft_engine_process(A));

    (void)state;
    queue(&bulk, WEFT_RETRY_BULK);
    assert_non_null(peer->fast); /* messages pass bulk data */
    queue(&ordered, WEFT_RETRY_ORDERED);
    assert_null(peer->fast);
    queue(&control, WEFT_RETRY_CONTROL);
    assert_int_equal(weft_engine.count[WEFT_REASON_RETRY], 1);
    weft_progress();
    assert_int_equal(done_count, 3);
    assert_ptr_equal(done[0], &control);
    assert_ptr_equal(done[1], &ordered);
    assert_ptr_equal(done[2], &bulk);
    assert_non_null(peer->fast);
    assert_int_equal(weft_engine.reasons, 0);
}

static void nothing_passes_another_of_its_class(void **state)
{
    struct thing first = {.refusals = 2};
    struct thing second = {.refusals = 0};
    struct thing control = {.refusals = 0};

    (void)state;
    queue(&first, WEFT_RETRY_ORDERED);
    queue(&second, WEFT_RETRY_ORDERED);
    weft_progress();
    assert_int_equal(done_count, 0);
    queue(&control, WEFT_RETRY_CONTROL);
    weft_progress();
    assert_int_equal(done_count, 1);
    assert_ptr_equal(done[0], &control);
    weft_progress();
    assert_int_equal(done_count, 3);
    assert_ptr_equal(done[1], &first);
    assert_ptr_equal(done[2], &second);
    assert_int_equal(weft_engine.reasons, 0);
}

static void what_is_queued_while_the_last_one_goes_is_kept(void **state)
{
    struct thing second = {.retry = {.again = again, .failed = failed},
                           .class = WEFT_RETRY_BULK};
    struct thing first = {.adds = &second};

    (void)state;
    queue(&first, WEFT_RETRY_BULK);
    weft_progress();
    assert_int_equal(done_count, 2);
    assert_ptr_equal(done[1], &second);
    assert_int_equal(weft_engine.reasons, 0);
}

static void a_failed_peer_ends_what_waits_for_it(void **state)
{
    struct thing ordered = {.refusals = MOST};
    struct thing bulk = {.refusals = MOST};

    (void)state;
    queue(&ordered, WEFT_RETRY_ORDERED);
    queue(&bulk, WEFT_RETRY_BULK);
    weft_lock();
    weft_engine_lost(NULL, weft_engine_process(A), false, "a test");
    weft_unlock();
    weft_progress();
    assert_true(ordered.has_failed && bulk.has_failed);
    assert_int_equal(done_count, 0);
    assert_null(weft_peer_find(weft_engine_process(A))->fast);
    assert_int_equal(weft_engine.reasons, 0);
    assert_string_equal(weft_engine_why_failed(weft_engine_process(A)), "a test");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_fixture, fixture_close)
    const struct CMUnitTest tests[] = {
        CASE(classes_are_tried_in_their_order),
        CASE(nothing_passes_another_of_its_class),
        CASE(what_is_queued_while_the_last_one_goes_is_kept),
        CASE(a_failed_peer_ends_what_waits_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
