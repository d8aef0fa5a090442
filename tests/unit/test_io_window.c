/*
 * test_io_window.c - an aggregator's work on one window, against a file and sources that
 * are arrays of bytes.
 */
#include "fake_disk.h"

#include "datatype/construct.h"
#include "engine/lock.h"
#include "io/window.h"

#include <stdlib.h>

enum { SOURCES = 5, START = 3000, END = 23000, ROOM = 2 * (END - START), NOBODY = -1 };

static struct {
    struct weft_io_runs runs;
    struct weft_io_supply supply;
    uint8_t memory[ROOM];
    uint64_t bytes;
} source[SOURCES];

static int owner[END];              /* source that has each byte of the file, or NOBODY */
static uint64_t place[END];         /* where it has it, in packed bytes */
static struct weft_datatype *pairs; /* two bytes of every three */
static uint64_t state = 7;

static uint64_t below(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

/* Where a packed byte of a source is in its memory: odd sources have holes there. */
static uint64_t in_memory(int s, uint64_t packed)
{
    return s % 2 == 0 ? packed : packed / 2 * 3 + packed % 2;
}

/* The byte that a source has, or is to get, for this byte of the file. */
static uint8_t value(uint64_t offset)
{
    return (uint8_t)(1 + offset % 251);
}

static void describe(int s)
{
    struct weft_data *data = &source[s].supply.data;

    if (s % 2 == 0) {
        *data = data_at(source[s].memory, source[s].bytes);
    } else {
        *data = weft_data_of(source[s].memory, (int64_t)(source[s].bytes + 1) / 2, pairs,
                             source[s].bytes);
    }
    source[s].supply.run = source[s].runs.run;
    source[s].supply.runs = source[s].runs.count;
}

/* Deals the window out in pieces of up to `longest` bytes; some bytes are nobody's. */
static void deal(uint64_t longest)
{
    for (int s = 0; s < SOURCES; s++) {
        weft_io_runs_free(&source[s].runs);
        source[s].bytes = 0;
    }
    for (int i = 0; i < END; i++) {
        owner[i] = NOBODY;
    }
    for (uint64_t at = START; at < END;) {
        uint64_t bytes = 1 + below(longest);
        const int s = (int)below(SOURCES + 1);

        bytes = bytes < END - at ? bytes : END - at;
        for (uint64_t i = 0; s < SOURCES && i < bytes; i++) {
            owner[at + i] = s;
            place[at + i] = source[s].bytes + i;
        }
        if (s < SOURCES) {
            weft_io_runs_add(&source[s].runs, 0, at, bytes);
            source[s].bytes += bytes;
        }
        at += bytes;
    }
    for (int s = 0; s < SOURCES; s++) {
        assert_int_equal(source[s].runs.rc, WEFT_OK);
        describe(s);
    }
}

static void fill_memory(bool has_values)
{
    for (int s = 0; s < SOURCES; s++) {
        memset(source[s].memory, 0, sizeof(source[s].memory));
    }
    for (uint64_t at = START; has_values && at < END; at++) {
        if (owner[at] != NOBODY) {
            source[owner[at]].memory[in_memory(owner[at], place[at])] = value(at);
        }
    }
}

static struct weft_moved move_window(const struct weft_access *access)
{
    const struct weft_io_range range = {START, END};
    struct weft_io_supply supply[SOURCES];
    struct weft_moved moved = {0};

    for (int s = 0; s < SOURCES; s++) {
        supply[s] = source[s].supply;
    }
    weft_io_window_move(access, range, supply, SOURCES, &moved);
    return moved;
}

static uint64_t owned_below(uint64_t end)
{
    uint64_t count = 0;

    for (uint64_t at = START; at < end && at < END; at++) {
        count += owner[at] != NOBODY;
    }
    return count;
}

/* The file has what was written below `end`, and nothing else. */
static void check_file(uint64_t end)
{
    for (uint64_t at = 0; at < END; at++) {
        const bool is_there = at >= START && at < end && owner[at] != NOBODY;

        assert_int_equal((uint8_t)disk.bytes[at], is_there ? value(at) : 0);
    }
}

/* Sources have what the file has below `end`, and nothing in between. */
static void check_memory(uint64_t end)
{
    uint64_t sum = 0;
    uint64_t wanted = 0;

    for (uint64_t at = START; at < end && at < END; at++) {
        if (owner[at] != NOBODY) {
            const uint8_t got = source[owner[at]].memory[in_memory(owner[at], place[at])];

            assert_int_equal(got, value(at));
            wanted += got;
        }
    }
    for (int s = 0; s < SOURCES; s++) {
        for (int i = 0; i < ROOM; i++) {
            sum += source[s].memory[i];
        }
    }
    assert_int_equal(sum, wanted);
}

static void fill_disk(void)
{
    for (uint64_t at = 0; at < END; at++) {
        disk.bytes[at] = (char)value(at);
    }
}

/* Lengths on both sides of the rule that small pieces pass a buffer. */
static const uint64_t lengths[] = {3, 40, 900, 1100, 5000, 30000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static void every_piece_goes_where_it_belongs(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 6 * LENGTHS; turn++) {
        set_up();
        deal(lengths[turn % LENGTHS]);
        disk.most = turn < LENGTHS ? FILE_BYTES : 1 + below(3000);
        disk.interrupted = turn % 3;
        fill_memory(true);
        assert_int_equal(move_window(&writing).bytes, owned_below(END));
        check_file(END);
        fill_disk();
        fill_memory(false);
        assert_int_equal(move_window(&reading).fault, 0);
        check_memory(END);
    }
}

static void a_full_device_keeps_what_lies_before_it(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 6 * LENGTHS; turn++) {
        const uint64_t room = START + below(END - START);
        struct weft_moved moved;

        set_up();
        deal(lengths[turn % LENGTHS]);
        disk.room = room;
        fill_memory(true);
        moved = move_window(&writing);
        assert_int_equal(moved.fault, owned_below(END) > owned_below(room) ? ENOSPC : 0);
        assert_int_equal(moved.bytes, owned_below(room));
        assert_true(moved.fault == 0 || moved.at >= room);
        assert_int_equal(owned_below(moved.fault == 0 ? END : moved.at),
                         owned_below(room));
        check_file(room);
    }
}

static void a_read_stops_at_the_end_of_the_file(void **unused)
{
    (void)unused;
    for (int turn = 0; turn < 6 * LENGTHS; turn++) {
        const uint64_t size = START + below(END - START);
        struct weft_moved moved;

        set_up();
        fill_disk();
        deal(lengths[turn % LENGTHS]);
        disk.size = size;
        fill_memory(false);
        moved = move_window(&reading);
        assert_int_equal(moved.fault, 0);
        assert_int_equal(moved.is_at_end, owned_below(END) > owned_below(size));
        assert_true(!moved.is_at_end || owned_below(moved.at) == owned_below(size));
        check_memory(size);
    }
}

static void pieces_that_touch_are_one_call(void **unused)
{
    (void)unused;
    set_up();
    deal(1); /* some of its bytes are nobody's */
    for (int s = 0; s < SOURCES; s++) {
        weft_io_runs_free(&source[s].runs);
        source[s].bytes = 0;
        for (uint64_t i = 0; i < 20; i++) {
            weft_io_runs_add(&source[s].runs, 0,
                             START + (i * SOURCES + (uint64_t)s) * 100, 100);
            source[s].bytes += 100;
        }
        describe(s);
    }
    assert_int_equal(move_window(&writing).bytes, 20 * SOURCES * 100);
    assert_int_equal(disk.calls, 1);
}

static void nothing_moves_after_a_fault(void **unused)
{
    struct weft_moved moved = {.fault = EIO, .at = 5};

    (void)unused;
    set_up();
    deal(100);
    weft_io_window_move(&writing, (struct weft_io_range){START, END}, &source[0].supply,
                        1, &moved);
    assert_int_equal(disk.calls, 0);
    assert_int_equal(moved.at, 5);
}

static int make_type(void **unused)
{
    struct weft_datatype *byte = weft_datatype_from_handle(MPI_BYTE);
    struct weft_datatype *two;
    enum weft_rc rc;

    (void)unused;
    weft_lock();
    rc = weft_type_contiguous(false, 2, byte, &two);
    if (rc == WEFT_OK) {
        rc = weft_type_resized(false, 0, 3, two, &pairs);
        weft_datatype_free(two);
    }
    if (rc == WEFT_OK) {
        rc = weft_datatype_commit(pairs);
    }
    weft_unlock();
    return rc == WEFT_OK ? 0 : -1;
}

static int free_type(void **unused)
{
    (void)unused;
    weft_lock();
    weft_datatype_free(pairs);
    weft_unlock();
    for (int s = 0; s < SOURCES; s++) {
        weft_io_runs_free(&source[s].runs);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_goes_where_it_belongs),
        cmocka_unit_test(a_full_device_keeps_what_lies_before_it),
        cmocka_unit_test(a_read_stops_at_the_end_of_the_file),
        cmocka_unit_test(pieces_that_touch_are_one_call),
        cmocka_unit_test(nothing_moves_after_a_fault),
    };

    return cmocka_run_group_tests(tests, make_type, free_type);
}
