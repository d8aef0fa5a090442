/*
 * test_moves.c - which calls in a black box show that a program gets on.
 */
#include "moves.h"

#include "wireup/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { LAPS = 3 };

static const struct weft_trace *trace;
static int fd;

static int open_trace(void **state)
{
    (void)state;
    fd = memfd_create("trace", 0);
    if (fd < 0 || ftruncate(fd, sizeof(struct weft_trace)) != 0) {
        return -1;
    }
    trace = mmap(NULL, sizeof(*trace), PROT_READ, MAP_SHARED, fd, 0);
    return trace != MAP_FAILED && weft_recorder_open(fd, 0) ? 0 : -1;
}

static int close_trace(void **state)
{
    (void)state;
    weft_recorder_close();
    munmap((void *)(uintptr_t)trace, sizeof(*trace));
    return close(fd);
}

static void call(enum weft_call_number number)
{
    weft_recorder_call(number, (void *)2, 0, 1, 2, 8);
    weft_recorder_leave();
}

static void every_call_is_a_move(void **state)
{
    uint64_t last = 0;

    (void)state;
    assert_int_equal(moves_newest(trace), 0);
    for (int i = 0; i < LAPS * WEFT_TRACE_EVENTS; i++) {
        call(i % 2 == 0 ? WEFT_CALL_Fetch_and_op : WEFT_CALL_File_write_at);
        assert_true(i % 100 != 0 || moves_newest(trace) > last);
        last = i % 100 == 0 ? moves_newest(trace) : last;
    }
}

static void who_only_looks_does_not_move(void **state)
{
    uint64_t last;

    (void)state;
    call(WEFT_CALL_Irecv);
    last = moves_newest(trace);
    assert_int_not_equal(last, 0);
    for (int i = 0; i < LAPS * WEFT_TRACE_EVENTS; i++) {
        weft_recorder_poll(WEFT_CALL_Test, (void *)3, 0, -3, -2);
        weft_recorder_poll(WEFT_CALL_Win_test, (void *)4, 0, -3, -2);
        assert_true(i % 100 != 0 || moves_newest(trace) == last);
    }
    call(WEFT_CALL_Wait);
    assert_true(moves_newest(trace) > last);
}

/* An operation without an event is counted. */
static void what_leaves_no_event_is_counted(void **state)
{
    (void)state;
    assert_int_equal(trace->now.unnoted, 0);
    weft_recorder_count();
    weft_recorder_count();
    assert_int_equal(trace->now.unnoted, 2);
    assert_int_equal(trace->now.inside, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_is_a_move, open_trace, close_trace),
        cmocka_unit_test_setup_teardown(who_only_looks_does_not_move, open_trace,
                                        close_trace),
        cmocka_unit_test_setup_teardown(what_leaves_no_event_is_counted, open_trace,
                                        close_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
