/*
 * test_doing.c - the record of what a rank waits for: whole whenever it is read.
 */
#include "wireup/doing.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { WHOLE = 2000, PAUSE = 500 };

static struct weft_doing_record record;
static _Atomic bool is_over;

/* All bytes of the record are of one round; a pause between two lets who reads get one.
 */
static void *write_rounds(void *unused)
{
    struct weft_doing doing;

    (void)unused;
    for (int i = 1; !atomic_load_explicit(&is_over, memory_order_acquire); i++) {
        memset(&doing, i % 100 + ' ', sizeof(doing));
        doing.what = WEFT_DOING_RECV;
        weft_doing_write(&record, &doing);
        if (i % 16 == 0) {
            weft_doing_clear(&record);
        }
        for (volatile int turn = 0; turn < PAUSE; turn = turn + 1) {
        }
    }
    return NULL;
}

static void what_is_read_is_of_one_write(void **state)
{
    struct weft_doing doing;
    pthread_t writer;
    int whole = 0;

    (void)state;
    assert_int_equal(pthread_create(&writer, NULL, write_rounds, NULL), 0);
    while (whole < WHOLE) {
        if (weft_doing_read(&record, &doing) && doing.what == WEFT_DOING_RECV) {
            const int byte = (int)(doing.done & 0xff);

            assert_int_equal(doing.awaits.context & 0xff, byte);
            assert_int_equal(doing.unexpected[WEFT_DOING_MESSAGES - 1].bytes & 0xff,
                             byte);
            whole++;
        }
    }
    atomic_store_explicit(&is_over, true, memory_order_release);
    pthread_join(writer, NULL);
}

static void what_is_cleared_says_nothing(void **state)
{
    const struct weft_doing doing = {.what = WEFT_DOING_SEND, .call = "MPI_Send"};
    struct weft_doing got;

    (void)state;
    weft_doing_write(&record, &doing);
    assert_true(weft_doing_read(&record, &got));
    assert_memory_equal(&got, &doing, sizeof(got));
    weft_doing_clear(&record);
    assert_true(weft_doing_read(&record, &got));
    assert_int_equal(got.what, WEFT_DOING_NOTHING);
}

/* Its rank has died while it wrote. */
static void a_record_that_is_never_finished_is_refused(void **state)
{
    struct weft_doing got;

    (void)state;
    atomic_store_explicit(&record.version, 7, memory_order_relaxed);
    assert_false(weft_doing_read(&record, &got));
    assert_int_equal(got.what, WEFT_DOING_NOTHING);
    atomic_store_explicit(&record.version, 8, memory_order_relaxed);
}

/* A stray write of the rank has hit it. */
static void whatever_lies_there_is_made_printable(void **state)
{
    struct weft_doing doing;
    struct weft_doing got;

    (void)state;
    memset(&doing, 1, sizeof(doing));
    doing.what = WEFT_DOING_KINDS - 1;
    weft_doing_write(&record, &doing);
    assert_true(weft_doing_read(&record, &got));
    assert_int_equal(strlen(got.call), sizeof(got.call) - 1);
    assert_int_equal(got.call[0], '?');
    assert_int_equal(strlen(got.unexpected[3].comm), sizeof(got.unexpected[3].comm) - 1);
    doing.what = WEFT_DOING_KINDS;
    weft_doing_write(&record, &doing);
    assert_true(weft_doing_read(&record, &got));
    assert_int_equal(got.what, WEFT_DOING_NOTHING);
    assert_int_equal(got.posted_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_of_one_write),
        cmocka_unit_test(what_is_cleared_says_nothing),
        cmocka_unit_test(a_record_that_is_never_finished_is_refused),
        cmocka_unit_test(whatever_lies_there_is_made_printable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
