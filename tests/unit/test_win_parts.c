/*
 * test_win_parts.c - what is known of the members of a window, as formulas and tables.
 */
#include "unit.h"

#include "rma/parts.h"

#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 1000, COLUMN = MEMBERS * sizeof(uint64_t) };

static struct weft_win_offer offers[MEMBERS];

static void set_up(void)
{
    for (uint64_t r = 0; r < MEMBERS; r++) {
        offers[r] = (struct weft_win_offer){
            .part =
                {
                    .base = 0x7f0000000000 - r * 4096,
                    .size = 4096,
                    .unit = 8,
                    .access = WEFT_PART_HAS_KEY,
                    .memory = {1 << 20, 4096},
                    .key = {r * r, 17},
                },
        };
    }
}

static void assert_known(const struct weft_win_parts *parts, int n)
{
    for (int r = 0; r < n; r++) {
        const struct weft_win_part part = weft_win_part_of(parts, r);

        assert_memory_equal(&part, &offers[r].part, sizeof(part));
        assert_int_equal(weft_win_size_of(parts, r), offers[r].part.size);
        assert_int_equal(weft_win_unit_of(parts, r), offers[r].part.unit);
    }
}

static void what_grows_evenly_needs_no_table(void **state)
{
    static uint64_t tables[MEMBERS];
    struct weft_win_parts parts;

    (void)state;
    set_up();
    assert_int_equal(weft_win_parts_write(tables, offers, MEMBERS), COLUMN);
    assert_int_equal(weft_win_parts_make(&parts, offers, MEMBERS, tables), WEFT_OK);
    assert_null(parts.own);
    assert_known(&parts, MEMBERS);
    weft_win_parts_close(&parts);
}

/* One member that differs, the first or the last, is enough for a table. */
static void one_that_differs_is_known(void **state)
{
    const int which[] = {0, 1, 2, MEMBERS - 1};
    static uint64_t tables[2 * MEMBERS];
    struct weft_win_parts parts;

    (void)state;
    for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
        set_up();
        offers[which[i]].part.size = 12;
        assert_int_equal(weft_win_parts_write(tables, offers, MEMBERS), 2 * COLUMN);
        assert_int_equal(weft_win_parts_make(&parts, offers, MEMBERS, tables), WEFT_OK);
        assert_known(&parts, MEMBERS);
        weft_win_parts_close(&parts);
    }
}

/* Every column differs, and nobody else writes the tables. */
static void without_shared_memory_tables_are_private(void **state)
{
    struct weft_win_parts parts;

    (void)state;
    for (int r = 0; r < MEMBERS; r++) {
        uint64_t row[WEFT_PART_COLUMNS];

        for (uint64_t c = 0; c < WEFT_PART_COLUMNS; c++) {
            row[c] = (uint64_t)rand() * (c + 1);
        }
        memcpy(&offers[r].part, row, sizeof(row));
    }
    assert_int_equal(weft_win_parts_make(&parts, offers, MEMBERS, NULL), WEFT_OK);
    assert_non_null(parts.own);
    assert_known(&parts, MEMBERS);
    weft_win_parts_close(&parts);
    assert_null(parts.own);
}

static void one_or_two_members_are_formulas(void **state)
{
    struct weft_win_parts parts;
    uint64_t table;

    (void)state;
    for (int n = 1; n <= 2; n++) {
        set_up();
        assert_int_equal(weft_win_parts_write(&table, offers, n), 0);
        assert_int_equal(weft_win_parts_make(&parts, offers, n, &table), WEFT_OK);
        assert_known(&parts, n);
        weft_win_parts_close(&parts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_grows_evenly_needs_no_table),
        cmocka_unit_test(one_that_differs_is_known),
        cmocka_unit_test(without_shared_memory_tables_are_private),
        cmocka_unit_test(one_or_two_members_are_formulas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
