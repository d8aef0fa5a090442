/*
 * test_trace.c - the black box of a rank: what is read of it is what was written, while
 * it is written, and whatever else lies there.
 */
#include "wireup/recorder.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LAPS = 3, READS = 100, READS_MOST = 100000, PAUSE = 2000, GARBAGE = 60 };

static struct weft_trace trace;
static struct weft_trace_copy copy;
static _Atomic bool is_over;

static void forget(void)
{
    memset((void *)&trace, 0, sizeof(trace));
    memset(&copy, 0xa5, sizeof(copy));
}

/* All that an event holds follows from its number. */
static void store(uint32_t number)
{
    weft_trace_store(&trace.events[number % WEFT_TRACE_EVENTS], WEFT_CALL_Send,
                     (void *)((uintptr_t)number + 1), number, (int32_t)number,
                     (int32_t)number, number);
}

static bool is_whole(const struct weft_trace_event *event)
{
    const uint32_t number = event->context;

    return weft_trace_call(event) == WEFT_CALL_Send &&
           weft_trace_address(event) == (uint64_t)number + 1 &&
           event->peer == (int32_t)number && event->tag == (int32_t)number &&
           event->bytes == number;
}

static void every_function_has_a_name(void **state)
{
    (void)state;
    assert_int_equal(WEFT_CALLS, 658);
    assert_string_equal(weft_trace_name(WEFT_CALL_Send), "MPI_Send");
    assert_string_equal(weft_trace_name(WEFT_CALL_Win_wait), "MPI_Win_wait");
    assert_string_equal(weft_trace_name(WEFT_CALL_NONE), "?");
    assert_string_equal(weft_trace_name(WEFT_CALLS), "?");
    assert_string_equal(weft_trace_name(UINT32_MAX), "?");
    for (unsigned call = 1; call < WEFT_CALLS; call++) {
        assert_int_equal(weft_trace_call_of(weft_trace_name(call)), call);
    }
    assert_int_equal(weft_trace_call_of("MPI_Nothing"), WEFT_CALL_NONE);
}

static void nothing_was_recorded(void **state)
{
    (void)state;
    forget();
    assert_int_equal(weft_trace_read(&trace, &copy), 0);
    assert_false(copy.is_open);
    assert_int_equal(copy.module_count, 0);
    trace.now.inside = 1; /* of which call? */
    weft_trace_read(&trace, &copy);
    assert_false(copy.is_open);
}

/* The newest alone is the one that all of it ends with. */
static void the_newest_is_read_alone(void **state)
{
    const struct weft_trace_module module = {
        .low = 1, .high = 1u << 20, .bias = 1, .path = "/bin/program\n"};
    struct weft_trace_last last;

    (void)state;
    forget();
    assert_false(weft_trace_read_last(&trace, &last));
    weft_trace_write_modules(&trace, &module, 1);
    for (uint32_t i = 0; i < 2 * WEFT_TRACE_EVENTS + 17; i++) {
        store(i);
        if (i % 61 != 0 && i % WEFT_TRACE_EVENTS > 1 &&
            i % WEFT_TRACE_EVENTS < WEFT_TRACE_EVENTS - 1 &&
            i < 2 * WEFT_TRACE_EVENTS + 16) {
            continue; /* it looks at all of the ring */
        }
        assert_true(weft_trace_read_last(&trace, &last));
        assert_int_equal(last.event.context, i);
        assert_true(is_whole(&last.event));
    }
    assert_int_equal(last.module_count, 1);
    assert_string_equal(last.modules[0].path, "/bin/program?");
    trace.events[16].where = UINT64_MAX; /* no function has this number */
    assert_false(weft_trace_read_last(&trace, &last));
}

static void the_last_events_are_kept_in_order(void **state)
{
    const uint32_t counts[] = {1, WEFT_TRACE_EVENTS - 1, WEFT_TRACE_EVENTS,
                               WEFT_TRACE_EVENTS + 1, LAPS * WEFT_TRACE_EVENTS + 17};

    (void)state;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        const uint32_t kept =
            counts[c] < WEFT_TRACE_EVENTS ? counts[c] : WEFT_TRACE_EVENTS;

        forget();
        for (uint32_t i = 0; i < counts[c]; i++) {
            store(i);
        }
        assert_int_equal(weft_trace_read(&trace, &copy), kept);
        for (uint32_t i = 0; i < kept; i++) {
            assert_int_equal(copy.events[i].context, counts[c] - kept + i);
            assert_true(is_whole(&copy.events[i]));
        }
    }
}

/* It died in a send, or is in one. */
static void an_event_without_a_time_is_the_newest(void **state)
{
    (void)state;
    forget();
    for (uint32_t i = 0; i < WEFT_TRACE_EVENTS + 9; i++) {
        store(i);
    }
    weft_trace_store_at(&trace.events[9], WEFT_TRACE_UNTIMED, WEFT_CALL_Ssend, (void *)1,
                        0, 1, 2, 3);
    assert_int_equal(weft_trace_read(&trace, &copy), WEFT_TRACE_EVENTS);
    assert_int_equal(weft_trace_call(&copy.events[WEFT_TRACE_EVENTS - 1]),
                     WEFT_CALL_Ssend);
    assert_int_equal(copy.events[WEFT_TRACE_EVENTS - 2].context, WEFT_TRACE_EVENTS + 8);
    weft_trace_set_time(&trace.events[9]);
    weft_trace_read(&trace, &copy);
    assert_int_equal(weft_trace_call(&copy.events[WEFT_TRACE_EVENTS - 1]),
                     WEFT_CALL_Ssend);
}

static void the_last_call_is_open_until_it_returns(void **state)
{
    (void)state;
    forget();
    store(7);
    weft_trace_read(&trace, &copy);
    assert_false(copy.is_open);
    trace.now.inside = 1;
    weft_trace_read(&trace, &copy);
    assert_true(copy.is_open);
    trace.now.inside = 0; /* another thread's call has returned, */
    trace.now.waiting = 1;
    weft_trace_read(&trace, &copy);
    assert_true(copy.is_open);
}

static void *write_on(void *unused)
{
    (void)unused;
    for (uint32_t i = 1; !atomic_load_explicit(&is_over, memory_order_acquire); i++) {
        store(i);
        for (volatile int turn = 0; i % 64 == 0 && turn < PAUSE; turn = turn + 1) {
        }
    }
    return NULL;
}

static void no_event_but_the_newest_is_torn(void **state)
{
    pthread_t writer;
    size_t most = 0;

    (void)state;
    forget();
    assert_int_equal(pthread_create(&writer, NULL, write_on, NULL), 0);
    for (int n = 0; n < READS || (most < WEFT_TRACE_EVENTS / 2 && n < READS_MOST); n++) {
        const size_t count = weft_trace_read(&trace, &copy);

        most = count > most ? count : most;
        for (size_t i = 0; i + 1 < count; i++) {
            assert_true(is_whole(&copy.events[i]));
            assert_true(copy.events[i].when <= copy.events[i + 1].when);
        }
    }
    atomic_store_explicit(&is_over, true, memory_order_release);
    pthread_join(writer, NULL);
    assert_true(most >= WEFT_TRACE_EVENTS / 2);
}

static void check_copy(void)
{
    assert_true(copy.count <= WEFT_TRACE_EVENTS);
    for (uint32_t i = 0; i < copy.count; i++) {
        const struct weft_trace_event *event = &copy.events[i];

        assert_in_range(weft_trace_call(event), 1, WEFT_CALLS - 1);
        assert_true(event->when != 0 && event->when <= copy.read_ticks);
        assert_true(i == 0 || copy.events[i - 1].when <= event->when);
        (void)weft_trace_ns(&copy, event->when);
    }
    assert_true(copy.module_count <= WEFT_TRACE_MODULES);
    for (uint32_t i = 0; i < copy.module_count; i++) {
        const struct weft_trace_module *module = &copy.modules[i];
        const size_t length = strnlen(module->path, WEFT_TRACE_PATH);

        assert_true(length < WEFT_TRACE_PATH && module->low < module->high);
        for (size_t c = 0; c < length; c++) {
            assert_true((unsigned char)module->path[c] >= ' ');
        }
    }
}

/* Of some rounds every byte is any, of others few bytes are. */
static void whatever_lies_there_is_survived(void **state)
{
    unsigned char *bytes = (unsigned char *)&trace;

    (void)state;
    forget();
    srandom(1);
    for (int round = 0; round < GARBAGE; round++) {
        if (round % 10 == 0) {
            memset(bytes, (int)random(), sizeof(trace));
        } else if (round % 10 == 1) {
            for (size_t i = 0; i < sizeof(trace); i++) {
                bytes[i] = (unsigned char)random();
            }
        } else {
            for (int i = 0; i < 1000; i++) {
                bytes[(size_t)random() % sizeof(trace)] = (unsigned char)random();
            }
        }
        for (uint32_t i = 0; i < 100; i++) {
            store((uint32_t)random());
        }
        weft_trace_read(&trace, &copy);
        check_copy();
        assert_true(copy.count >= 1);
    }
    memset(&copy, 0xff, sizeof(copy)); /* one that came another way */
    weft_trace_check(&copy);
    check_copy();
    assert_int_equal(copy.count, 0);
}

static void modules_are_read_as_written(void **state)
{
    struct weft_trace_module modules[WEFT_TRACE_MODULES + 1];

    (void)state;
    forget();
    memset(modules, 0, sizeof(modules));
    for (uint64_t i = 0; i <= WEFT_TRACE_MODULES; i++) {
        modules[i] = (struct weft_trace_module){
            .low = i * 100, .high = i * 100 + 50, .bias = i, .path = "/lib/some.so"};
    }
    weft_trace_write_modules(&trace, modules, 2);
    weft_trace_read(&trace, &copy);
    assert_int_equal(copy.module_count, 2);
    assert_memory_equal(copy.modules, modules, 2 * sizeof(modules[0]));
    weft_trace_write_modules(&trace, modules, WEFT_TRACE_MODULES + 1); /* too many */
    weft_trace_read(&trace, &copy);
    assert_int_equal(copy.module_count, WEFT_TRACE_MODULES);
    trace.version |= 1; /* the rank died while it wrote */
    weft_trace_read(&trace, &copy);
    assert_int_equal(copy.module_count, WEFT_TRACE_MODULES);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The two clocks are read one after the other: what lies between them is bounded by two
 * readings of the same clock. */
static void ticks_become_the_time_of_day(void **state)
{
    uint64_t before;
    uint64_t after;
    uint64_t ns;

    (void)state;
    forget();
    before = now_ns();
    weft_trace_begin(&trace);
    usleep(20000);
    store(1);
    usleep(20000);
    weft_trace_read(&trace, &copy);
    after = now_ns();
    ns = weft_trace_ns(&copy, copy.events[0].when);
    assert_in_range(ns, before + 10000000, after - 10000000);
    assert_in_range(weft_trace_ns(&copy, copy.begun_ticks), before, after);
    copy.begun_ticks = copy.read_ticks + 1; /* no line */
    assert_int_equal(weft_trace_ns(&copy, copy.events[0].when), copy.read_ns);
}

/* ---- the writer ---- */

static void check_calls(const struct weft_trace *shared, size_t count,
                        const enum weft_call_number *calls)
{
    assert_true(weft_trace_read(shared, &copy) >= count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(weft_trace_call(&copy.events[copy.count - count + i]), calls[i]);
    }
}

/* Two lines that look in turn leave one event each. */
static void who_looks_again_and_again_leaves_the_rest(void **state)
{
    const int fd = memfd_create("trace", 0);
    const enum weft_call_number calls[] = {WEFT_CALL_Isend, WEFT_CALL_Test,
                                           WEFT_CALL_Iprobe};
    const enum weft_call_number later[] = {WEFT_CALL_Isend, WEFT_CALL_Iprobe,
                                           WEFT_CALL_Test, WEFT_CALL_Send,
                                           WEFT_CALL_Test};
    const struct weft_trace *shared;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(struct weft_trace)), 0);
    shared = mmap(NULL, sizeof(*shared), PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    weft_recorder_call(WEFT_CALL_Init, (void *)1, 0, -3, -2, 0); /* kept until it opens */
    assert_true(weft_recorder_open(fd, 0));
    weft_recorder_call(WEFT_CALL_Isend, (void *)2, 0, 1, 2, 8);
    for (int i = 0; i < 3 * WEFT_TRACE_EVENTS; i++) {
        weft_recorder_poll(WEFT_CALL_Test, (void *)3, 0, -3, -2);
        weft_recorder_poll(WEFT_CALL_Iprobe, (void *)4, 0, i, -2);
    }
    assert_int_equal(weft_trace_read(shared, &copy), 4);
    assert_int_equal(weft_trace_call(&copy.events[0]), WEFT_CALL_Init);
    assert_int_equal(copy.events[3].peer, 3 * WEFT_TRACE_EVENTS - 1);
    check_calls(shared, 3, calls);
    weft_recorder_poll(WEFT_CALL_Test, (void *)3, 0, -3, -2);
    weft_recorder_call(WEFT_CALL_Send, (void *)5, 0, 1, 2, 8);
    weft_recorder_poll(WEFT_CALL_Test, (void *)3, 0, -3, -2); /* something came before */
    check_calls(shared, 5, later);
    weft_recorder_close();
    munmap((void *)(uintptr_t)shared, sizeof(*shared));
    close(fd);
}

static void a_recorder_writes_where_others_read(void **state)
{
    const int fd = memfd_create("trace", 0);
    const struct weft_trace *shared;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096 + sizeof(struct weft_trace)), 0);
    shared = mmap(NULL, sizeof(*shared), PROT_READ, MAP_SHARED, fd, 4096);
    assert_ptr_not_equal(shared, MAP_FAILED);

    assert_true(weft_recorder_open(fd, 4096));
    assert_true(weft_recorder_is_shared());
    for (int32_t i = 0; i < 2 * WEFT_TRACE_EVENTS + 5; i++) {
        weft_record(WEFT_CALL_Recv, (void *)0x1234, 16, i, 3, 8);
    }
    weft_recorder_enter();
    assert_int_equal(weft_trace_read(shared, &copy), WEFT_TRACE_EVENTS);
    assert_true(copy.is_open);
    assert_int_equal(copy.events[WEFT_TRACE_EVENTS - 1].peer, 2 * WEFT_TRACE_EVENTS + 4);
    assert_int_equal(copy.events[0].peer, WEFT_TRACE_EVENTS + 5);
    assert_int_equal(weft_trace_address(&copy.events[0]), 0x1234);
    assert_string_equal(weft_trace_name(weft_trace_call(&copy.events[0])), "MPI_Recv");
    weft_recorder_leave();
    weft_trace_read(shared, &copy);
    assert_false(copy.is_open);

    weft_recorder_close();
    assert_null(weft_recorder_slot());
    weft_recorder_enter(); /* nobody sees it */
    assert_true(weft_recorder_open(-1, 0));
    assert_false(weft_recorder_is_shared());
    for (int i = 0; i < 2 * WEFT_TRACE_EVENTS; i++) {
        weft_record(WEFT_CALL_Send, NULL, 0, -3, -2, 0);
    }
    weft_trace_read(shared, &copy);
    assert_int_equal(weft_trace_call(&copy.events[WEFT_TRACE_EVENTS - 1]),
                     WEFT_CALL_Recv);
    assert_false(copy.is_open);
    weft_recorder_close();
    assert_true(weft_recorder_open(fd, 4096 + 512)); /* no page begins there */
    assert_false(weft_recorder_is_shared());
    weft_recorder_close();
    munmap((void *)(uintptr_t)shared, sizeof(*shared));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_has_a_name),
        cmocka_unit_test(nothing_was_recorded),
        cmocka_unit_test(the_newest_is_read_alone),
        cmocka_unit_test(the_last_events_are_kept_in_order),
        cmocka_unit_test(an_event_without_a_time_is_the_newest),
        cmocka_unit_test(the_last_call_is_open_until_it_returns),
        cmocka_unit_test(no_event_but_the_newest_is_torn),
        cmocka_unit_test(whatever_lies_there_is_survived),
        cmocka_unit_test(modules_are_read_as_written),
        cmocka_unit_test(ticks_become_the_time_of_day),
        cmocka_unit_test(a_recorder_writes_where_others_read),
        cmocka_unit_test(who_looks_again_and_again_leaves_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
