/*
 * test_data.c - data of any layout, moved in parts: packed, unpacked, summed, and copied
 * between processes by a list of their blocks.
 */
#include "unit.h"

#include "random_type.h"

#include "base/crc32c.h"
#include "datatype/construct.h"
#include "transfer/iov_list.h"

#include <stdlib.h>
#include <string.h>

enum { TYPES = 300, ROOM = 64 * 1024, ROWS = 40, BLOCK = 5000, GAP = 1000 };

/* ---- parts of data ---- */

/* Some elements of a random type in memory of their own, with random bytes. */
struct sample {
    struct random_type random;
    uint8_t *memory;
    size_t size;
    struct weft_data data;
    uint8_t *packed; /* by the model */
};

static bool make_sample(struct sample *s)
{
    const int64_t count = 1 + (int64_t)random_below(4);
    int64_t span;

    s->random = random_type_make(2);
    if (s->random.is_huge || s->random.type->size == 0 ||
        s->random.type->size > 100 * 1024 ||
        weft_datatype_commit(s->random.type) != WEFT_OK) {
        random_type_free(&s->random);
        return false;
    }
    span = model_true_extent(&s->random.model) +
           llabs(model_extent(&s->random.model)) * count;
    s->size = (size_t)(2 * span);
    s->memory = malloc(s->size);
    for (size_t i = 0; i < s->size; i++) {
        s->memory[i] = (uint8_t)random_below(256);
    }
    s->data = (struct weft_data){
        .buffer = s->memory + span - model_true_lb(&s->random.model),
        .bytes = (size_t)count * s->random.type->size,
        .type = s->random.type,
        .count = (uint64_t)count,
    };
    s->packed = malloc(s->data.bytes);
    model_pack(&s->random.model, s->data.buffer, count, (char *)s->packed);
    return true;
}

static void free_sample(struct sample *s)
{
    free(s->packed);
    free(s->memory);
    random_type_free(&s->random);
}

static void parts_of_random_data_are_those_of_the_packed_message(void **state)
{
    (void)state;
    random_seed(7);
    for (int i = 0; i < TYPES; i++) {
        struct sample s;
        uint64_t offset;
        size_t bytes;
        uint8_t *out;

        if (!make_sample(&s)) {
            continue;
        }
        offset = random_below(s.data.bytes);
        bytes = (size_t)random_below(s.data.bytes - offset + 1);
        out = malloc(s.data.bytes);
        weft_data_pack(&s.data, out);
        assert_memory_equal(out, s.packed, s.data.bytes);
        weft_data_gather(&s.data, offset, out, bytes);
        assert_memory_equal(out, s.packed + offset, bytes);
        assert_int_equal(weft_data_crc(&s.data, offset, bytes),
                         weft_crc32c(s.packed + offset, bytes));
        {
            const struct weft_data part = weft_data_part(&s.data, offset, bytes);

            weft_data_pack(&part, out);
            assert_memory_equal(out, s.packed + offset, bytes);
        }
        free(out);
        free_sample(&s);
    }
}

static void what_is_scattered_is_gathered_again(void **state)
{
    (void)state;
    random_seed(11);
    for (int i = 0; i < TYPES; i++) {
        struct sample s;
        uint64_t offset;
        size_t bytes;
        uint8_t *out;

        if (!make_sample(&s)) {
            continue;
        }
        offset = random_below(s.data.bytes);
        bytes = (size_t)random_below(s.data.bytes - offset + 1);
        out = malloc(s.data.bytes);
        weft_data_gather(&s.data, offset, out, bytes);
        weft_data_scatter(&s.data, offset, out, bytes); /* changes nothing */
        weft_data_pack(&s.data, out);
        assert_memory_equal(out, s.packed, s.data.bytes);
        free(out);
        free_sample(&s);
    }
}

static void contiguous_data_need_no_type(void **state)
{
    uint8_t bytes[100];
    uint8_t out[100] = {0};
    const struct weft_data data = {.buffer = bytes, .bytes = sizeof(bytes)};
    const struct weft_data part = weft_data_part(&data, 10, 20);

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    weft_data_pack(&part, out);
    assert_memory_equal(out, bytes + 10, 20);
    assert_int_equal(weft_data_crc(&data, 10, 20), weft_crc32c(bytes + 10, 20));
    weft_data_scatter(&data, 50, "abc", 3);
    weft_data_gather(&data, 49, out, 5);
    assert_memory_equal(out,
                        "\x31"
                        "abc\x35",
                        5);
}

/* ---- lists of blocks ---- */

/* What moves memory in this process, at most so many blocks at once. */
static size_t most_blocks;
static int moves;

static void copy_blocks(const struct iovec *to, size_t to_count, const struct iovec *from,
                        size_t from_count)
{
    size_t j = 0;
    size_t done = 0;

    moves++;
    most_blocks = to_count > most_blocks ? to_count : most_blocks;
    most_blocks = from_count > most_blocks ? from_count : most_blocks;
    for (size_t i = 0; i < to_count; i++) {
        for (size_t k = 0; k < to[i].iov_len; k++) {
            assert_true(j < from_count);
            ((uint8_t *)to[i].iov_base)[k] = ((const uint8_t *)from[j].iov_base)[done++];
            if (done == from[j].iov_len) {
                j++;
                done = 0;
            }
        }
    }
    assert_int_equal(j, from_count);
}

static enum weft_rc put_blocks(struct weft_path *path, const struct weft_move *move,
                               struct weft_op *op)
{
    (void)path;
    (void)op;
    copy_blocks(move->theirs, move->their_count, move->ours, move->our_count);
    return WEFT_OK;
}

static enum weft_rc get_blocks(struct weft_path *path, const struct weft_move *move,
                               struct weft_op *op)
{
    (void)path;
    (void)op;
    copy_blocks(move->ours, move->our_count, move->theirs, move->their_count);
    return WEFT_OK;
}

static const struct weft_memory_ops here_ops = {
    .is_unlocked = true,
    .iov_max = WEFT_IOV_MAX,
    .put = put_blocks,
    .get = get_blocks,
};
static struct weft_path here = {.memory = &here_ops};

static uint8_t message[ROWS * BLOCK];
static uint8_t spread[2][ROWS * (BLOCK + GAP)];
static union {
    struct weft_iov_list list;
    uint8_t bytes[ROOM];
} room;

static struct weft_datatype *make_rows(int64_t rows, int64_t block, int64_t gap)
{
    struct weft_datatype *type;

    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, rows, block,
                                      block + gap, weft_datatype_from_handle(MPI_BYTE),
                                      &type),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    return type;
}

static struct weft_data rows_at(const void *buffer, struct weft_datatype *type)
{
    return weft_data_of(buffer, 1, type, type->size);
}

static int fill_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(message); i++) {
        message[i] = (uint8_t)(i * 7 + i / 256);
    }
    memset(spread, 0, sizeof(spread));
    memset(&room, 0, sizeof(room));
    most_blocks = 0;
    moves = 0;
    return 0;
}

static void only_long_blocks_are_listed(void **state)
{
    struct weft_datatype *rows = make_rows(ROWS, BLOCK, GAP);
    struct weft_datatype *crumbs = make_rows(ROWS, 100, 100);
    const struct weft_data data = rows_at(spread[0], rows);
    const struct weft_data small = rows_at(spread[0], crumbs);

    (void)state;
    assert_true(weft_iov_list_pays(&data));
    assert_false(weft_iov_list_pays(&small));
    assert_true(weft_iov_list_fill(&room.list, ROOM, &data));
    assert_int_equal(room.list.n, ROWS);
    for (uint64_t i = 0; i < ROWS; i++) {
        assert_int_equal(room.list.at[i].start, i * BLOCK);
        assert_ptr_equal((void *)(uintptr_t)room.list.at[i].address,
                         spread[0] + i * (BLOCK + GAP));
    }
    assert_int_equal(room.list.at[ROWS].start, ROWS * BLOCK);
    assert_false(weft_iov_list_fill(&room.list, ROOM, &small));
    /* Room for one entry less, and the one behind the last. */
    assert_false(weft_iov_list_fill(&room.list, 8 + 16 * ROWS, &data));
    assert_true(weft_iov_list_fill(&room.list, 8 + 16 * (ROWS + 1), &data));
    weft_datatype_free(rows);
    weft_datatype_free(crumbs);
}

static void bytes_move_between_two_layouts_from_any_offset(void **state)
{
    struct weft_datatype *rows = make_rows(ROWS, BLOCK, GAP);
    struct weft_datatype *other = make_rows(ROWS / 2, 2 * BLOCK, GAP);
    const struct weft_data theirs = rows_at(spread[0], rows);
    const struct weft_data ours = rows_at(spread[1], other);
    const struct weft_remote_data remote = {.list = &room.list, .room = ROOM};
    const uint64_t cuts[] = {0, 1, BLOCK - 1, 3 * BLOCK + 17, 30 * BLOCK, ROWS * BLOCK};
    uint8_t *out = malloc(sizeof(message));

    (void)state;
    weft_data_scatter(&theirs, 0, message, sizeof(message));
    assert_true(weft_iov_list_fill(&room.list, ROOM, &theirs));
    for (size_t i = 0; i + 1 < sizeof(cuts) / sizeof(*cuts); i++) {
        assert_int_equal(weft_iov_list_move(&here, WEFT_FETCH, &ours, cuts[i], &remote,
                                            cuts[i], cuts[i + 1] - cuts[i]),
                         WEFT_OK);
    }
    weft_data_pack(&ours, out);
    assert_memory_equal(out, message, sizeof(message));
    assert_true(most_blocks <= WEFT_IOV_MAX);

    /* And back, out of a flat buffer, whose offset is its own. */
    memset(spread[0], 0, sizeof(spread[0]));
    {
        const struct weft_data flat = {.buffer = message + 100, .bytes = 9000};

        assert_int_equal(
            weft_iov_list_move(&here, WEFT_STORE, &flat, 0, &remote, 100, 9000), WEFT_OK);
    }
    weft_data_gather(&theirs, 100, out, 9000);
    assert_memory_equal(out, message + 100, 9000);
    free(out);
    weft_datatype_free(rows);
    weft_datatype_free(other);
}

static void a_list_that_a_peer_has_spoilt_ends_the_move(void **state)
{
    uint8_t out[100];
    const struct weft_data ours = {.buffer = out, .bytes = sizeof(out)};
    const struct weft_remote_data remote = {.list = &room.list, .room = ROOM};

    (void)state;
    assert_int_equal(weft_iov_list_move(&here, WEFT_FETCH, &ours, 0, &remote, 0, 100),
                     WEFT_ERR_ARGUMENT);
    room.list.n = ROOM; /* more than there is room for */
    assert_int_equal(weft_iov_list_move(&here, WEFT_FETCH, &ours, 0, &remote, 0, 100),
                     WEFT_ERR_ARGUMENT);
    assert_int_equal(moves, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_random_data_are_those_of_the_packed_message),
        cmocka_unit_test(what_is_scattered_is_gathered_again),
        cmocka_unit_test(contiguous_data_need_no_type),
        cmocka_unit_test_setup(only_long_blocks_are_listed, fill_message),
        cmocka_unit_test_setup(bytes_move_between_two_layouts_from_any_offset,
                               fill_message),
        cmocka_unit_test_setup(a_list_that_a_peer_has_spoilt_ends_the_move, fill_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
