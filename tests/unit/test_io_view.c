/*
 * test_io_view.c - which extents of a file the data of a view are in, against a model
 * that looks at every byte.
 */
#include "unit.h"

#include "core/comm.h"
#include "datatype/construct.h"
#include "engine/lock.h"
#include "io/view.h"

#include <stdlib.h>

enum { MOST = 4096 };

static struct weft_datatype *basic(MPI_Datatype handle)
{
    return weft_datatype_from_handle(handle);
}

/* Takes over the type's handle. */
static struct weft_view *view_of(struct weft_datatype *type, MPI_Datatype etype,
                                 uint64_t displacement)
{
    struct weft_view *view;

    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    assert_int_equal(
        weft_view_make(&(struct weft_view){.displacement = displacement,
                                           .etype = basic(etype),
                                           .filetype = type,
                                           .in_file = type,
                                           .etype_bytes = basic(etype)->size},
                       &view),
        WEFT_OK);
    if (type->contents != NULL) {
        weft_datatype_free(type); /* the view goes on */
    }
    return view;
}

/* The file offset of every byte of the data, one after the other. */
static void list_bytes(const struct weft_view *view, uint64_t *offsets)
{
    struct weft_view_walk walk;
    struct weft_file_extent extents[3];
    size_t at = 0;
    size_t n;

    weft_view_start(&walk, view, 0, MOST);
    while ((n = weft_view_next(&walk, extents, 3)) > 0) {
        for (size_t i = 0; i < n; i++) {
            for (uint64_t k = 0; k < extents[i].length; k++) {
                offsets[at++] = extents[i].offset + k;
            }
        }
    }
    assert_int_equal(at, MOST);
}

/* Every start and length gives the same bytes as the walk from 0; extents do not touch.
 */
static void agrees_with_itself(const struct weft_view *view)
{
    static uint64_t offsets[MOST];

    list_bytes(view, offsets);
    for (uint64_t start = 0; start < 200; start++) {
        const uint64_t bytes = 1 + start * 7 % 300;
        struct weft_view_walk walk;
        struct weft_file_extent one;
        uint64_t at = start;

        assert_int_equal(weft_view_offset(view, start), offsets[start]);
        weft_view_start(&walk, view, start, bytes);
        while (weft_view_next(&walk, &one, 1) == 1) {
            assert_int_not_equal(one.length, 0);
            for (uint64_t k = 0; k < one.length; k++) {
                assert_int_equal(one.offset + k, offsets[at++]);
            }
        }
        assert_int_equal(at, start + bytes);
    }
}

static struct weft_datatype *vector(int count, int length, int stride)
{
    struct weft_datatype *type;

    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, count, length, stride,
                                      basic(MPI_INT), &type),
                     WEFT_OK);
    return type;
}

static void a_contiguous_view_is_one_extent(void **state)
{
    struct weft_file_extent extents[4];
    struct weft_view_walk walk;
    struct weft_view *view;

    (void)state;
    weft_lock();
    view = view_of(basic(MPI_INT), MPI_INT, 100);
    assert_true(weft_view_is_contiguous(view));
    weft_view_start(&walk, view, 40, 1000000);
    assert_int_equal(weft_view_next(&walk, extents, 4), 1);
    assert_int_equal(extents[0].offset, 140);
    assert_int_equal(extents[0].length, 1000000);
    assert_int_equal(weft_view_next(&walk, extents, 4), 0);
    agrees_with_itself(view);
    weft_view_release(view);
    weft_unlock();
}

static void holes_are_left_out(void **state)
{
    struct weft_file_extent extents[8];
    struct weft_view_walk walk;
    struct weft_view *view;

    (void)state;
    weft_lock();
    view = view_of(vector(3, 2, 5), MPI_INT, 8); /* 8, 28, 48, then 56: touches */
    agrees_with_itself(view);
    weft_view_start(&walk, view, 4, 32);
    assert_int_equal(weft_view_next(&walk, extents, 8), 4);
    assert_int_equal(extents[0].offset, 12);
    assert_int_equal(extents[0].length, 4);
    assert_int_equal(extents[1].offset, 28);
    assert_int_equal(extents[2].offset, 48);
    assert_int_equal(extents[2].length, 16);
    assert_int_equal(extents[3].offset, 76);
    assert_int_equal(extents[3].length, 4);
    weft_view_release(view);
    weft_unlock();
}

static void nested_types_are_found_at_any_position(void **state)
{
    const int lengths[4] = {1, 3, 0, 2};
    const int places[4] = {0, 2, 7, 9};
    struct weft_datatype *inner;
    struct weft_datatype *wide;
    struct weft_datatype *type;
    struct weft_view *view;

    (void)state;
    weft_lock();
    inner = vector(3, 2, 4);
    assert_int_equal(weft_type_resized(false, 0, 64, inner, &wide), WEFT_OK);
    assert_int_equal(weft_type_indexed(MPI_COMBINER_INDEXED, false, 4,
                                       (struct weft_numbers){.integer = lengths},
                                       (struct weft_numbers){.integer = places}, wide,
                                       &type),
                     WEFT_OK);
    view = view_of(type, MPI_INT, 1);
    weft_datatype_free(inner);
    weft_datatype_free(wide);
    agrees_with_itself(view);
    weft_view_release(view);
    weft_unlock();
}

static void the_first_etype_behind_an_offset_is_found(void **state)
{
    struct weft_view *view;

    (void)state;
    weft_lock();
    view = view_of(vector(3, 2, 5), MPI_INT, 8);
    assert_int_equal(weft_view_etype_at(view, 0), 0);
    assert_int_equal(weft_view_etype_at(view, 8), 0);
    assert_int_equal(weft_view_etype_at(view, 9), 1);
    assert_int_equal(weft_view_etype_at(view, 16), 2);
    assert_int_equal(weft_view_etype_at(view, 28), 2);
    assert_int_equal(weft_view_etype_at(view, 29), 3);
    for (uint64_t etype = 0; etype < 500; etype++) {
        assert_int_equal(weft_view_etype_at(view, weft_view_offset(view, etype * 4)),
                         etype);
    }
    weft_view_release(view);
    weft_unlock();
}

/* A column of 4 ints in a matrix of 4 x 4: the next instance is the next column. */
static struct weft_view *columns(void)
{
    struct weft_datatype *column = vector(4, 1, 4);
    struct weft_datatype *tile;

    assert_int_equal(weft_type_resized(false, 0, 4, column, &tile), WEFT_OK);
    weft_datatype_free(column);
    return view_of(tile, MPI_INT, 8);
}

static void the_first_etype_behind_an_offset_is_found_among_columns(void **state)
{
    struct weft_view *view;

    (void)state;
    weft_lock();
    view = columns();
    for (uint64_t offset = 0; offset < 400; offset++) {
        uint64_t etype = 0;

        while (weft_view_offset(view, etype * 4) < offset) {
            etype++;
        }
        assert_int_equal(weft_view_etype_at(view, offset), etype);
    }
    weft_view_release(view);
    weft_unlock();
}

static void behind_an_offset_there_may_be_no_etype(void **state)
{
    struct weft_datatype *block;
    struct weft_datatype *tile;
    struct weft_view *view;

    (void)state;
    weft_lock();
    block = vector(3, 1, 2);
    assert_int_equal(weft_type_resized(false, 0, 0, block, &tile), WEFT_OK);
    weft_datatype_free(block);
    view = view_of(tile, MPI_INT, 8);
    assert_int_equal(weft_view_etype_at(view, 9), 1);
    assert_int_equal(weft_view_etype_at(view, 24), 2);
    assert_true(weft_view_etype_at(view, 25) == WEFT_VIEW_NO_ETYPE);
    weft_view_release(view);
    weft_unlock();
}

/* The range of every access has all its bytes, and if it is exact, no more. */
static void check_ranges(const struct weft_view *view, bool is_exact)
{
    static uint64_t offsets[MOST];

    list_bytes(view, offsets);
    for (uint64_t at = 0; at < 80; at++) {
        uint64_t low = UINT64_MAX;
        uint64_t high = 0;

        for (uint64_t bytes = 1; bytes < 80; bytes++) {
            const uint64_t offset = offsets[at + bytes - 1];
            const struct weft_file_extent range = weft_view_range(view, at, bytes);

            low = offset < low ? offset : low;
            high = offset > high ? offset : high;
            assert_true(is_exact ? range.offset == low : range.offset <= low);
            assert_true(range.offset + range.length > high);
            assert_true(!is_exact || range.offset + range.length == high + 1);
        }
    }
}

static void an_access_spans_all_its_bytes(void **state)
{
    struct weft_view *view;

    (void)state;
    weft_lock();
    view = view_of(vector(3, 2, 5), MPI_INT, 8);
    assert_false(weft_view_overlaps(view));
    check_ranges(view, true);
    weft_view_release(view);
    view = columns();
    assert_false(weft_view_overlaps(view));
    check_ranges(view, true);
    weft_view_release(view);
    view = view_of(vector(2, 3, 1), MPI_INT, 8);
    assert_true(weft_view_overlaps(view));
    view->is_overlapping = true;
    check_ranges(view, false);
    weft_view_release(view);
    weft_unlock();
}

static void what_no_offset_can_say_is_refused(void **state)
{
    uint64_t position = 0;
    struct weft_view *view;

    (void)state;
    weft_lock();
    view = view_of(vector(3, 2, 5), MPI_INT, 8);
    assert_true(weft_view_is_within(view, 3, 100, &position));
    assert_int_equal(position, 12);
    assert_true(weft_view_is_within(view, 1ULL << 50, 1 << 30, &position));
    assert_false(weft_view_is_within(view, 1ULL << 61, 0, &position));
    assert_false(weft_view_is_within(view, 1ULL << 62, 4, &position));
    assert_false(weft_view_is_within(view, 0, UINT64_MAX - 3, &position));
    weft_view_release(view);
    weft_unlock();
}

static void a_filetype_without_data_has_no_extents(void **state)
{
    struct weft_file_extent one;
    struct weft_view_walk walk;
    struct weft_view *view;

    (void)state;
    weft_lock();
    view = view_of(vector(0, 2, 5), MPI_INT, 8);
    weft_view_start(&walk, view, 0, 100);
    assert_int_equal(weft_view_next(&walk, &one, 1), 0);
    assert_int_equal(weft_view_offset(view, 5), 8);
    assert_int_equal(weft_view_etype_at(view, 1000), 0);
    weft_view_release(view);
    weft_unlock();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_contiguous_view_is_one_extent),
        cmocka_unit_test(holes_are_left_out),
        cmocka_unit_test(nested_types_are_found_at_any_position),
        cmocka_unit_test(the_first_etype_behind_an_offset_is_found),
        cmocka_unit_test(the_first_etype_behind_an_offset_is_found_among_columns),
        cmocka_unit_test(behind_an_offset_there_may_be_no_etype),
        cmocka_unit_test(an_access_spans_all_its_bytes),
        cmocka_unit_test(what_no_offset_can_say_is_refused),
        cmocka_unit_test(a_filetype_without_data_has_no_extents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
