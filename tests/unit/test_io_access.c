/*
 * test_io_access.c - bytes between a file and memory, over a file system that is the
 * test's: one that writes and reads less than it is asked for, is interrupted, and is
 * full.
 */
#include "fake_disk.h"

#include "datatype/construct.h"
#include "engine/lock.h"
#include "io/sieve.h"

static const struct weft_file_extent extents[3] = {{10, 5}, {20, 10}, {40, 3}};

static void all_bytes_arrive_however_few_a_call_moves(void **state)
{
    char text[] = "abcdefghijklmnopqr";
    char back[18] = {0};
    const struct weft_data out = data_at(text, 18);
    const struct weft_data in = data_at(back, 18);

    (void)state;
    for (size_t most = 1; most < 12; most++) {
        struct weft_moved moved = {0};

        set_up();
        disk.most = most;
        disk.interrupted = 2;
        weft_access_extents(&writing, extents, 3, &out, 0, &moved);
        assert_int_equal(moved.fault, 0);
        assert_int_equal(moved.bytes, 18);
        assert_memory_equal(disk.bytes + 10, "abcde", 5);
        assert_memory_equal(disk.bytes + 20, "fghijklmno", 10);
        assert_memory_equal(disk.bytes + 40, "pqr", 3);
        assert_int_equal(disk.bytes[9] + disk.bytes[15] + disk.bytes[30], 0);
        moved = (struct weft_moved){0};
        memset(back, 0, sizeof(back));
        disk.interrupted = 1;
        weft_access_extents(&reading, extents, 3, &in, 0, &moved);
        assert_int_equal(moved.bytes, 18);
        assert_memory_equal(back, text, 18);
    }
}

static void a_full_device_tells_what_is_on_it(void **state)
{
    char text[] = "abcdefghijklmnopqr";
    const struct weft_data out = data_at(text, 18);
    struct weft_moved moved = {0};

    (void)state;
    set_up();
    disk.room = 24;
    weft_access_extents(&writing, extents, 3, &out, 0, &moved);
    assert_int_equal(moved.fault, ENOSPC);
    assert_int_equal(moved.bytes, 9);
    assert_int_equal(moved.at, 24);
    assert_memory_equal(disk.bytes + 20, "fghi\0\0", 6);
    assert_int_equal(disk.bytes[40], 0); /* nothing behind the fault */
}

static void a_write_of_nothing_is_a_fault(void **state)
{
    char text[] = "abc";
    const struct weft_data out = data_at(text, 3);
    struct weft_moved moved = {0};

    (void)state;
    set_up();
    disk.most = 0;
    weft_access_extents(&writing, extents, 1, &out, 0, &moved);
    assert_int_equal(moved.fault, EIO);
    assert_int_equal(moved.bytes, 0);
}

static void a_read_ends_at_the_end_of_the_file(void **state)
{
    char back[18];
    const struct weft_data in = data_at(back, 18);
    struct weft_moved moved = {0};

    (void)state;
    set_up();
    memcpy(disk.bytes + 10, "abcde.....fghijk", 16);
    disk.size = 23;
    memset(back, '-', sizeof(back));
    weft_access_extents(&reading, extents, 3, &in, 0, &moved);
    assert_int_equal(moved.fault, 0);
    assert_true(moved.is_at_end);
    assert_int_equal(moved.bytes, 8);
    assert_memory_equal(back, "abcdefgh--", 10);
}

/* Memory and file have holes, and calls move three bytes each. */
static void holes_in_memory_and_in_the_file(void **state)
{
    struct weft_datatype *byte = weft_datatype_from_handle(MPI_BYTE);
    struct weft_datatype *pairs;
    struct weft_datatype *triples;
    struct weft_view *view;
    struct weft_data data;
    struct weft_moved moved = {0};
    char memory[40];
    char back[40];

    (void)state;
    set_up();
    disk.most = 3;
    for (int i = 0; i < 40; i++) {
        memory[i] = (char)('A' + i);
        back[i] = '-';
    }
    weft_lock();
    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, 6, 2, 5, byte, &pairs),
                     WEFT_OK);
    assert_int_equal(
        weft_type_vector(MPI_COMBINER_VECTOR, false, 2, 3, 8, byte, &triples), WEFT_OK);
    assert_int_equal(weft_datatype_commit(pairs), WEFT_OK);
    assert_int_equal(weft_datatype_commit(triples), WEFT_OK);
    assert_int_equal(weft_view_make(&(struct weft_view){.displacement = 100,
                                                        .etype = byte,
                                                        .filetype = triples,
                                                        .in_file = triples,
                                                        .etype_bytes = 1},
                                    &view),
                     WEFT_OK);
    weft_unlock();
    data = weft_data_of(memory, 1, pairs, 12);
    weft_access_view(&writing, view, 1, &data, &moved);
    assert_int_equal(moved.bytes, 12);
    assert_memory_equal(disk.bytes + 100, "\0AB\0\0\0\0\0FGK", 11);
    assert_memory_equal(disk.bytes + 111, "LPQ\0\0\0\0\0UVZ", 11);
    moved = (struct weft_moved){0};
    data = weft_data_of(back, 1, pairs, 12);
    weft_access_view(&reading, view, 1, &data, &moved);
    assert_int_equal(moved.bytes, 12);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(back[i], i % 5 < 2 ? memory[i] : '-');
    }
    weft_lock();
    weft_view_release(view);
    weft_datatype_free(pairs);
    weft_datatype_free(triples);
    weft_unlock();
}

/* ---- sieving ---- */

static void small_pieces_close_together_are_one_read(void **state)
{
    const struct weft_file_extent near[3] = {{10, 5}, {20, 10}, {40, 3}};
    const struct weft_file_extent far_off[2] = {{10, 5}, {20000, 10}};
    const struct weft_file_extent back[2] = {{100, 5}, {20, 10}};
    const struct weft_file_extent long_one[2] = {{0, WEFT_SIEVE_BYTES + 1},
                                                 {WEFT_SIEVE_BYTES + 10, 1}};

    (void)state;
    assert_int_equal(weft_sieve_count(near, 3), 3);
    assert_int_equal(weft_sieve_count(near, 1), 0);
    assert_int_equal(weft_sieve_count(near, 0), 0);
    assert_int_equal(weft_sieve_count(far_off, 2), 0);
    assert_int_equal(weft_sieve_count(back, 2), 0);
    assert_int_equal(weft_sieve_count(long_one, 2), 0);
}

/* The bytes of every third place of a byte, read with holes and without, whatever a call
 * moves and wherever the file ends. */
static void sieved_bytes_are_those_that_are_read_one_by_one(void **state)
{
    const struct weft_access sieving = {.ops = &ops, .fd = 7, .may_sieve = true};
    struct weft_datatype *byte = weft_datatype_from_handle(MPI_BYTE);
    struct weft_datatype *type;
    struct weft_view *view;
    char one[200];
    char other[200];

    (void)state;
    set_up();
    for (int i = 0; i < FILE_BYTES; i++) {
        disk.bytes[i] = (char)(i * 7);
    }
    weft_lock();
    assert_int_equal(weft_type_resized(false, 0, 3, byte, &type), WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    assert_int_equal(weft_view_make(&(struct weft_view){.etype = byte,
                                                        .filetype = type,
                                                        .in_file = type,
                                                        .etype_bytes = 1},
                                    &view),
                     WEFT_OK);
    weft_datatype_free(type);
    weft_unlock();
    for (size_t most = 1; most < 700; most += most / 2 + 1) {
        for (uint64_t end = 100; end < 620; end += 37) {
            const struct weft_data here = data_at(one, 200);
            const struct weft_data there = data_at(other, 200);
            struct weft_moved moved = {0};
            struct weft_moved sieved = {0};

            memset(one, 1, sizeof(one));
            memset(other, 1, sizeof(other));
            disk.size = end;
            disk.most = FILE_BYTES;
            weft_access_view(&reading, view, 2, &here, &moved);
            disk.most = most;
            disk.interrupted = 1;
            weft_access_view(&sieving, view, 2, &there, &sieved);
            assert_int_equal(sieved.bytes, moved.bytes);
            assert_int_equal(sieved.is_at_end, moved.is_at_end);
            assert_memory_equal(one, other, sizeof(one));
        }
    }
    disk.most = FILE_BYTES;
    disk.size = FILE_BYTES;
    disk.calls = 0;
    weft_access_view(&sieving, view, 2, &(struct weft_data){.buffer = one, .bytes = 64},
                     &(struct weft_moved){0});
    assert_int_equal(disk.calls, 1);
    weft_lock();
    weft_view_release(view);
    weft_unlock();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_arrive_however_few_a_call_moves),
        cmocka_unit_test(a_full_device_tells_what_is_on_it),
        cmocka_unit_test(a_write_of_nothing_is_a_fault),
        cmocka_unit_test(a_read_ends_at_the_end_of_the_file),
        cmocka_unit_test(holes_in_memory_and_in_the_file),
        cmocka_unit_test(small_pieces_close_together_are_one_read),
        cmocka_unit_test(sieved_bytes_are_those_that_are_read_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
