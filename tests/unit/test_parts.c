/*
 * test_parts.c - how partitioned messages are cut, against counting byte by byte.
 */
#include "unit.h"

#include "sched/parts.h"

static const uint32_t COUNTS[] = {1, 2, 3, 7, 1023, 1024, 1025, 3000, 5000};
static const uint64_t BYTES[] = {1, 2, 5, 8};

enum { COUNT_N = sizeof(COUNTS) / sizeof(COUNTS[0]), BYTE_N = sizeof(BYTES) / 8 };

static void units_follow_each_other_and_are_whole_partitions(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_N * BYTE_N; i++) {
        const uint32_t count = COUNTS[i / BYTE_N];
        const uint64_t bytes = BYTES[i % BYTE_N];
        const struct weft_parts parts = weft_parts_cut(count, bytes);
        uint64_t at = 0;
        uint32_t seen = 0;

        assert_true(parts.units <= WEFT_MOST_UNITS && parts.per_unit >= 1);
        assert_true(count > WEFT_MOST_UNITS || parts.per_unit == 1);
        for (uint32_t u = 0; u < parts.units; u++) {
            const uint32_t n = weft_parts_in_unit(&parts, count, u);

            assert_true(n >= 1 && n <= parts.per_unit);
            assert_int_equal(weft_parts_offset(&parts, u), at);
            assert_int_equal(weft_parts_length(&parts, u), n * bytes);
            at += n * bytes;
            seen += n;
        }
        assert_int_equal(seen, count);
        assert_int_equal(at, parts.total);
    }
}

static void bytes_are_in_the_units_that_cover_them(void **state)
{
    const struct weft_parts parts = weft_parts_cut(3000, 5);

    (void)state;
    for (uint64_t begin = 0; begin < parts.total; begin += 7) {
        for (uint64_t n = 1; n < 40 && begin + n <= parts.total; n++) {
            const struct weft_units units = weft_parts_covering(&parts, begin, begin + n);

            assert_true(weft_parts_offset(&parts, units.first) <= begin);
            assert_true(weft_parts_offset(&parts, units.first) +
                            weft_parts_length(&parts, units.first) >
                        begin);
            assert_true(weft_parts_offset(&parts, units.end - 1) < begin + n);
            assert_true(weft_parts_offset(&parts, units.end - 1) +
                            weft_parts_length(&parts, units.end - 1) >=
                        begin + n);
        }
    }
}

static void a_message_without_bytes_is_one_unit(void **state)
{
    const struct weft_parts parts = weft_parts_cut(5000, 0);
    const struct weft_units units = weft_parts_covering(&parts, 0, 0);

    (void)state;
    assert_int_equal(parts.units, 1);
    assert_int_equal(weft_parts_in_unit(&parts, 5000, 0), 5000);
    assert_int_equal(weft_parts_length(&parts, 0), 0);
    assert_true(units.first == 0 && units.end == 1);
}

static void a_message_without_partitions_has_no_unit(void **state)
{
    (void)state;
    assert_int_equal(weft_parts_cut(0, 8).units, 0);
    assert_int_equal(weft_parts_cut(0, 0).units, 0);
}

static void what_lies_behind_the_end_needs_all_units(void **state)
{
    const struct weft_parts parts = weft_parts_cut(4, 8);
    const struct weft_units beyond = weft_parts_covering(&parts, 32, 40);
    const struct weft_units across = weft_parts_covering(&parts, 24, 40);

    (void)state;
    assert_true(beyond.first == 0 && beyond.end == 4);
    assert_true(across.first == 3 && across.end == 4);
}

static void the_largest_numbers_do_not_overflow(void **state)
{
    const struct weft_parts parts = weft_parts_cut(INT32_MAX, UINT64_C(1) << 32);
    const uint32_t last = parts.units - 1;

    (void)state;
    assert_true(parts.units <= WEFT_MOST_UNITS);
    assert_int_equal(parts.total, (UINT64_C(1) << 32) * INT32_MAX);
    assert_int_equal(weft_parts_offset(&parts, last) + weft_parts_length(&parts, last),
                     parts.total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_follow_each_other_and_are_whole_partitions),
        cmocka_unit_test(bytes_are_in_the_units_that_cover_them),
        cmocka_unit_test(a_message_without_bytes_is_one_unit),
        cmocka_unit_test(a_message_without_partitions_has_no_unit),
        cmocka_unit_test(what_lies_behind_the_end_needs_all_units),
        cmocka_unit_test(the_largest_numbers_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
