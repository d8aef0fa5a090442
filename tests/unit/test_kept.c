/* test_kept.c - packets that were copied aside are in the order of their numbers. */
#include "unit.h"

#include "transport/ofi/common/kept.h"

#include <stdlib.h>

static struct weft_kept_queue queue;

/* A packet whose data says which it is. */
static void insert(uint32_t sequence, char name)
{
    const uint8_t header[WEFT_HEADER_BYTES] = {(uint8_t)name};
    struct weft_kept *kept = weft_kept_copy(sequence, header, &name, 1);

    assert_non_null(kept);
    weft_kept_insert(&queue, kept);
}

static void expect(const char *names)
{
    for (; *names != '\0'; names++) {
        struct weft_kept *kept;

        assert_non_null(queue.first);
        kept = weft_kept_take(&queue);
        assert_int_equal(kept->length, 1);
        assert_int_equal(kept->data[0], *names);
        assert_int_equal(kept->header[0], *names);
        free(kept);
    }
    assert_null(queue.first);
}

static void equal_numbers_stay_in_the_order_of_their_coming(void **state)
{
    (void)state;
    insert(0, 'a');
    insert(0, 'b');
    insert(0, 'c');
    expect("abc");
    insert(0, 'd'); /* into a queue that was emptied */
    expect("d");
}

static void what_comes_early_waits_behind_what_comes_late(void **state)
{
    (void)state;
    insert(3, 'd');
    insert(1, 'b');
    insert(4, 'e');
    insert(0, 'a');
    insert(2, 'c');
    insert(5, 'f');
    expect("abcdef");
}

static void numbers_may_wrap(void **state)
{
    (void)state;
    insert(1, 'd');
    insert(UINT32_MAX, 'b');
    insert(0, 'c');
    insert(UINT32_MAX - 1, 'a');
    insert(2, 'e');
    expect("abcde");
}

static void a_packet_without_data_is_kept(void **state)
{
    const uint8_t header[WEFT_HEADER_BYTES] = {7};
    struct weft_kept *kept = weft_kept_copy(9, header, NULL, 0);

    (void)state;
    assert_non_null(kept);
    assert_int_equal(kept->sequence, 9);
    assert_int_equal(kept->length, 0);
    weft_kept_insert(&queue, kept);
    insert(10, 'x');
    weft_kept_empty(&queue);
    assert_null(queue.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_numbers_stay_in_the_order_of_their_coming),
        cmocka_unit_test(what_comes_early_waits_behind_what_comes_late),
        cmocka_unit_test(numbers_may_wrap),
        cmocka_unit_test(a_packet_without_data_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
