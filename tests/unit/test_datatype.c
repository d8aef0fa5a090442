/*
 * test_datatype.c - datatypes beside a model of them, and what the model cannot show: the
 * normal form, sizes beyond memory, time and memory of large lists.
 *
 * WEFT_ORACLE_TYPES says how many random types are tried; without it, as many as fit into
 * some seconds.
 */
#include "random_type.h"
#include "unit.h"

#include "base/clock.h"
#include "datatype/array.h"
#include "datatype/cursor.h"
#include "datatype/elements.h"
#include "datatype/fortran.h"

#include <stdlib.h>
#include <time.h>

enum { SPAN_MAX = 1 << 18, EVERY_BYTE = 96 };

static uint64_t now;

/* Names the type that failed, so that it can be made again. */
#define AGREE(claim)                                                                     \
    do {                                                                                 \
        if (!(claim)) {                                                                  \
            fail_msg("random type %llu: not so: %s", (unsigned long long)now, #claim);   \
        }                                                                                \
    } while (0)

static struct weft_datatype *of(MPI_Datatype handle)
{
    return weft_datatype_from_handle(handle);
}

/* ---- against the model ---- */

struct trial {
    const struct weft_datatype *type;
    const struct model *model;
    int64_t count;
    char *memory; /* `span` bytes */
    size_t span;
    char *buffer; /* in it, where the first element lies */
    size_t bytes; /* packed */
    char *expected;
    char *packed;
};

static void start(struct weft_cursor *cursor, const struct trial *t, const void *buffer)
{
    weft_cursor_init(cursor, &t->type->layout, t->type->extent, (uint64_t)t->count,
                     buffer);
}

/* In two steps, cut at `cut`, and what was not asked for stays untouched. */
static void pack_cut(const struct trial *t, size_t cut)
{
    struct weft_cursor c;

    memset(t->packed, 0x55, t->bytes + 1);
    start(&c, t, t->buffer);
    AGREE(weft_cursor_pack(&c, t->packed, cut) == cut);
    AGREE(weft_cursor_pack(&c, t->packed + cut, t->bytes - cut + 1) == t->bytes - cut);
    AGREE(weft_cursor_pack(&c, t->packed, 1) == 0);
    AGREE(memcmp(t->packed, t->expected, t->bytes) == 0);
    AGREE(t->packed[t->bytes] == 0x55);
}

static void unpack_steps(const struct trial *t, size_t most, char *there,
                         const char *should)
{
    struct weft_cursor c;
    size_t done = 0;

    memset(there, 0x66, t->span);
    start(&c, t, there + (t->buffer - t->memory));
    while (done < t->bytes) {
        size_t part = 1 + random_below(most);
        size_t moved = weft_cursor_unpack(&c, t->expected + done, part);

        AGREE(moved == (part < t->bytes - done ? part : t->bytes - done));
        done += moved;
    }
    AGREE(memcmp(there, should, t->span) == 0);
}

/* What unpacking leaves, byte by byte. */
static char *unpacked(const struct trial *t)
{
    const int64_t extent = model_extent(t->model);
    char *should = malloc(t->span + 1);
    size_t at = 0;

    memset(should, 0x66, t->span);
    for (int64_t k = 0; k < t->count; k++) {
        for (size_t i = 0; i < t->model->n; i++) {
            const struct model_entry *e = &t->model->entries[i];

            memcpy(should + (t->buffer - t->memory) + e->at + k * extent,
                   t->expected + at, (size_t)e->size);
            at += (size_t)e->size;
        }
    }
    return should;
}

/* The addresses alone, so that there need not be any memory. */
static void check_vectors(const struct trial *t, uintptr_t buffer)
{
    const int64_t extent = model_extent(t->model);
    struct weft_cursor c;
    struct iovec v[7];
    size_t n = 0;
    size_t at = 0;
    size_t used = 0;

    start(&c, t, (const void *)buffer);
    for (int64_t k = 0; k < t->count; k++) {
        for (size_t i = 0; i < t->model->n; i++) {
            const struct model_entry *e = &t->model->entries[i];

            for (int64_t b = 0; b < e->size; b++) {
                while (at < n && used == v[at].iov_len) {
                    at++;
                    used = 0;
                }
                if (at == n) {
                    n = weft_cursor_iov(&c, v, 1 + random_below(7),
                                        1 + random_below(200));
                    at = 0;
                    AGREE(n > 0 && v[0].iov_len > 0);
                }
                AGREE((uintptr_t)v[at].iov_base + used ==
                      buffer + (uintptr_t)(e->at + k * extent + b));
                used++;
            }
        }
    }
    AGREE(at == n || (at + 1 == n && used == v[at].iov_len));
    AGREE(weft_cursor_iov(&c, v, 7, 100) == 0);
}

static void check_moves(struct trial *t)
{
    char *there = malloc(t->span + 1);
    char *should;

    t->expected = malloc(t->bytes + 1);
    t->packed = malloc(t->bytes + 1);
    model_pack(t->model, t->buffer, t->count, t->expected);
    should = unpacked(t);
    if (t->bytes <= EVERY_BYTE) {
        for (size_t cut = 0; cut <= t->bytes; cut++) {
            pack_cut(t, cut);
        }
        unpack_steps(t, 1, there, should);
    }
    for (int i = 0; i < 4; i++) {
        pack_cut(t, random_below(t->bytes + 1));
        unpack_steps(t, 1 + random_below(t->bytes + 1), there, should);
    }
    pack_cut(t, 0);
    unpack_steps(t, 1, there, should);
    free(should);
    free(there);
    free(t->expected);
    free(t->packed);
}

static void check_elements(const struct trial *t)
{
    size_t bytes = 0;
    MPI_Count elements = 0;

    for (int64_t k = 0; k < t->count; k++) {
        for (size_t i = 0; i < t->model->n; i++) {
            const size_t size = (size_t)t->model->entries[i].size;

            AGREE(size == 1 || weft_elements_in(t->type, bytes + 1) == -1 ||
                  t->type->contents == NULL);
            bytes += size;
            elements++;
            AGREE(weft_elements_in(t->type, bytes) == elements);
            AGREE(weft_elements_bytes(t->type, (uint64_t)elements) == (MPI_Count)bytes);
        }
    }
}

static void check_bounds(const struct weft_datatype *type, const struct model *model)
{
    AGREE((int64_t)type->size == model_size(model));
    AGREE(type->elements == model->n);
    AGREE(type->true_lb == model_true_lb(model));
    AGREE(type->true_extent == model_true_extent(model));
    AGREE(type->lb == model_lb(model));
    AGREE(type->extent == model_extent(model));
}

/* All elements of all rounds are in [*low, *high). */
static void find_span(const struct model *model, int64_t count, int64_t *low,
                      int64_t *high)
{
    const int64_t last = (count - 1) * model_extent(model);

    *low = model_true_lb(model) + (last < 0 ? last : 0);
    *high = model_true_lb(model) + model_true_extent(model) + (last > 0 ? last : 0);
}

static void check_random(const struct random_type *r)
{
    struct trial t = {.type = r->type, .model = &r->model};
    int64_t low;
    int64_t high;

    check_bounds(r->type, &r->model);
    assert_int_equal(weft_datatype_commit(r->type), WEFT_OK);
    t.count = 1 + (int64_t)random_below(4);
    t.bytes = r->type->size * (size_t)t.count;
    find_span(&r->model, t.count, &low, &high);
    AGREE(!r->type->is_contiguous || r->type->size == 0 ||
          high - low == (int64_t)t.bytes);
    check_vectors(&t, (uintptr_t)1 << 45);
    check_elements(&t);
    if (!r->is_huge && high - low <= SPAN_MAX) {
        t.span = (size_t)(high - low);
        t.memory = malloc(t.span + 1);
        t.buffer = (char *)((uintptr_t)t.memory - (uintptr_t)low);
        for (size_t i = 0; i < t.span; i++) {
            t.memory[i] = (char)random_below(256);
        }
        check_moves(&t);
        free(t.memory);
    }
}

static void random_types_agree_with_the_model(void **state)
{
    const char *wanted = getenv("WEFT_ORACLE_TYPES");
    const uint64_t most = wanted != NULL ? strtoull(wanted, NULL, 10) : 100000;
    const uint64_t end = weft_clock_ns() + UINT64_C(8000000000);

    (void)state;
    for (now = 0; now < most && (wanted != NULL || weft_clock_ns() < end); now++) {
        struct random_type r;

        random_seed(now);
        r = random_type_make(1 + (int)random_below(4));
        check_random(&r);
        random_type_free(&r);
    }
    print_message("%llu random types\n", (unsigned long long)now);
}

/* ---- the normal form ---- */

static struct weft_datatype *vector_of(MPI_Count n, MPI_Count length, MPI_Count stride,
                                       struct weft_datatype *old)
{
    struct weft_datatype *type;

    assert_int_equal(
        weft_type_vector(MPI_COMBINER_HVECTOR, true, n, length, stride, old, &type),
        WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    return type;
}

static struct weft_datatype *indexed_of(MPI_Count n, const MPI_Count *places,
                                        MPI_Count length, struct weft_datatype *old)
{
    struct weft_datatype *type;

    assert_int_equal(weft_type_indexed_block(MPI_COMBINER_HINDEXED_BLOCK, true, n, length,
                                             (struct weft_numbers){.count = places}, old,
                                             &type),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    return type;
}

static void a_vector_is_one_loop_however_it_is_made(void **state)
{
    const MPI_Count places[] = {0, 16, 32, 48, 64, 80};
    const int sizes[] = {6, 2};
    const int parts[] = {6, 1};
    const int zero[] = {0, 0};
    struct weft_datatype *v = vector_of(6, 1, 16, of(MPI_DOUBLE));
    struct weft_datatype *i = indexed_of(6, places, 1, of(MPI_DOUBLE));
    struct weft_datatype *pairs = vector_of(2, 1, 16, of(MPI_DOUBLE));
    struct weft_datatype *nested = vector_of(3, 1, 32, pairs);
    struct weft_datatype *bytes = vector_of(6, 8, 16, of(MPI_CHAR));
    struct weft_datatype *box;

    (void)state;
    assert_int_equal(weft_type_subarray(false, 2, (struct weft_numbers){.integer = sizes},
                                        (struct weft_numbers){.integer = parts},
                                        (struct weft_numbers){.integer = zero},
                                        MPI_ORDER_C, of(MPI_DOUBLE), &box),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(box), WEFT_OK);
    assert_null(v->layout.top.body);
    assert_int_equal(v->layout.top.count, 6);
    assert_int_equal(v->layout.top.stride, 16);
    assert_int_equal(v->layout.top.size, 8);
    assert_true(weft_piece_is_equal(&v->layout.top, &i->layout.top));
    assert_true(weft_piece_is_equal(&v->layout.top, &nested->layout.top));
    assert_true(weft_piece_is_equal(&v->layout.top, &bytes->layout.top));
    assert_true(weft_piece_is_equal(&v->layout.top, &box->layout.top));
    weft_datatype_free(box);
    weft_datatype_free(bytes);
    weft_datatype_free(nested);
    weft_datatype_free(pairs);
    weft_datatype_free(i);
    weft_datatype_free(v);
}

static void a_face_is_two_loops_however_it_is_made(void **state)
{
    MPI_Count places[12];
    struct weft_datatype *row = vector_of(4, 1, 24, of(MPI_DOUBLE));
    struct weft_datatype *face = vector_of(3, 1, 500, row);
    struct weft_datatype *list;

    (void)state;
    for (int i = 0; i < 12; i++) {
        places[i] = i / 4 * 500 + i % 4 * 24;
    }
    list = indexed_of(12, places, 1, of(MPI_DOUBLE));
    assert_true(weft_piece_is_equal(&face->layout.top, &list->layout.top));
    assert_int_equal(face->layout.top.body->n, 1);
    weft_datatype_free(list);
    weft_datatype_free(face);
    weft_datatype_free(row);
}

static void what_touches_is_contiguous(void **state)
{
    const MPI_Count places[] = {0, 8, 24};
    const MPI_Count lengths[] = {1, 2, 1};
    struct weft_datatype *type;
    struct weft_datatype *longer;

    (void)state;
    assert_int_equal(weft_type_indexed(MPI_COMBINER_HINDEXED, true, 3,
                                       (struct weft_numbers){.count = lengths},
                                       (struct weft_numbers){.count = places},
                                       of(MPI_DOUBLE), &type),
                     WEFT_OK);
    assert_false(type->is_contiguous);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    assert_true(type->is_contiguous);
    longer = vector_of(1000, 3, 3 * 32, type);
    assert_true(longer->is_contiguous);
    assert_int_equal(longer->layout.top.size, 3 * 32 * 1000);
    weft_datatype_free(longer);
    weft_datatype_free(type);
}

/* ---- sizes, time, memory ---- */

static void a_type_may_be_larger_than_memory(void **state)
{
    const MPI_Count far = INT64_C(1) << 40;
    struct weft_datatype *row = vector_of(far / 1024, 1, 1024, of(MPI_DOUBLE));
    struct weft_datatype *all = vector_of(1 << 20, 1, far, row);
    struct weft_datatype *none = NULL;
    struct weft_cursor c;
    struct iovec v[2];

    (void)state;
    assert_int_equal(row->extent, far - 1024 + 8);
    assert_int_equal(all->size, (UINT64_C(1) << 50) * 8);
    assert_null(all->layout.top.body);
    weft_cursor_init(&c, &all->layout, all->extent, 1, (void *)((uintptr_t)1 << 12));
    c.position = c.end - 12;
    assert_int_equal(weft_cursor_iov(&c, v, 2, 100), 2);
    assert_int_equal(v[0].iov_len, 4);
    assert_int_equal((uintptr_t)v[1].iov_base,
                     ((UINT64_C(1) << 50) - 1) * 1024 + (1 << 12));
    assert_int_equal(weft_type_vector(MPI_COMBINER_HVECTOR, true, far, far, far,
                                      of(MPI_DOUBLE), &none),
                     WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_type_contiguous(true, INT64_MAX, of(MPI_SHORT), &none),
                     WEFT_ERR_ARGUMENT);
    assert_null(none);
    weft_datatype_free(all);
    weft_datatype_free(row);
}

/* What this process has used: other load of the machine does not count. */
static uint64_t cpu_ns(void)
{
    struct timespec t;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Seconds to make and commit a list of `n` blocks in no order; best of three. */
static double commit_seconds(int n)
{
    MPI_Count *places = malloc((size_t)n * sizeof(*places));
    MPI_Count *lengths = malloc((size_t)n * sizeof(*lengths));
    double best = 1e9;

    for (int i = 0; i < n; i++) {
        lengths[i] = 1 + (MPI_Count)random_below(8);
        places[i] = (MPI_Count)random_below((uint64_t)n * 16) * 8;
    }
    for (int turn = 0; turn < 3; turn++) {
        struct weft_datatype *type;
        uint64_t start_ns = cpu_ns();
        double seconds;

        assert_int_equal(weft_type_indexed(MPI_COMBINER_HINDEXED, true, n,
                                           (struct weft_numbers){.count = lengths},
                                           (struct weft_numbers){.count = places},
                                           of(MPI_DOUBLE), &type),
                         WEFT_OK);
        assert_int_equal(weft_datatype_commit(type), WEFT_OK);
        seconds = (double)(cpu_ns() - start_ns) * 1e-9;
        best = seconds < best ? seconds : best;
        assert_true(type->layout.top.body->n <= (size_t)n);
        weft_datatype_free(type);
    }
    free(places);
    free(lengths);
    return best;
}

static void a_million_blocks_take_linear_time(void **state)
{
    double small;
    double large;

    (void)state;
    random_seed(1);
    small = commit_seconds(100000);
    large = commit_seconds(1000000);
    print_message("100,000 blocks: %.1f ms, 1,000,000 blocks: %.1f ms\n", small * 1e3,
                  large * 1e3);
    assert_true(large < small * 40);
}

static void a_type_lives_while_others_are_made_of_it(void **state)
{
    struct weft_datatype *inner = vector_of(3, 1, 16, of(MPI_INT));
    const MPI_Datatype handle = inner->handle;
    struct weft_datatype *outer = vector_of(2, 1, 100, inner);

    (void)state;
    assert_ptr_equal(weft_datatype_from_handle(handle), inner);
    weft_datatype_free(inner);
    assert_null(weft_datatype_from_handle(handle)); /* the user has freed it */
    assert_int_equal(outer->contents->type[0]->size, 12);
    weft_datatype_share(outer->contents->type[0]);
    assert_ptr_equal(weft_datatype_from_handle(handle), inner);
    weft_datatype_free(outer);
    assert_int_equal(inner->size, 12);
    weft_datatype_free(inner);
    assert_null(weft_datatype_from_handle(handle));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_types_agree_with_the_model),
        cmocka_unit_test(a_vector_is_one_loop_however_it_is_made),
        cmocka_unit_test(a_face_is_two_loops_however_it_is_made),
        cmocka_unit_test(what_touches_is_contiguous),
        cmocka_unit_test(a_type_may_be_larger_than_memory),
        cmocka_unit_test(a_million_blocks_take_linear_time),
        cmocka_unit_test(a_type_lives_while_others_are_made_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
