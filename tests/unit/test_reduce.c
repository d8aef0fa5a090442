/*
 * test_reduce.c - every operation on every type, against one evaluation in numbers that
 * are wide enough for all of them.
 */
#include "unit.h"

#include "datatype/real16.h"
#include "datatype/reduce.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MOST = 131,  /* elements: two blocks of a loop and a rest */
    WIDEST = 32, /* bytes */
};

typedef union {
    char bytes[(MOST + 1) * WIDEST];
    long double aligned;
} buffer;

/* An element of any type. A long double holds every integer of 64 bits. */
struct wide {
    uint64_t integer;
    long double value;
    long double imaginary;
    int index;
};

/* The number in an element, or in the first half of a pair. */
struct number {
    enum weft_number kind;
    size_t width;
};

static struct number number_of(const struct weft_datatype *type)
{
    if (type->number == WEFT_NUMBER_PAIR) {
        return (struct number){type->pair_of, type->size - sizeof(int)};
    }
    if (type->number == WEFT_NUMBER_TWO) {
        return (struct number){type->pair_of, type->size / 2};
    }
    return (struct number){type->number, type->size};
}

static bool is_pair(const struct weft_datatype *type)
{
    return type->number == WEFT_NUMBER_PAIR || type->number == WEFT_NUMBER_TWO;
}

static bool is_complex(struct number number)
{
    return number.kind == WEFT_NUMBER_COMPLEX || number.kind == WEFT_NUMBER_COMPLEX32;
}

static bool is_real16(struct number number)
{
    return number.kind == WEFT_NUMBER_REAL16 || number.kind == WEFT_NUMBER_COMPLEX32;
}

static bool is_real(struct number number)
{
    return number.kind == WEFT_NUMBER_FLOAT || is_complex(number) || is_real16(number);
}

/* Of one real number in it. */
static size_t real_width(struct number number)
{
    return is_complex(number) ? number.width / 2 : number.width;
}

static bool is_signed(struct number number)
{
    return number.kind == WEFT_NUMBER_SIGNED;
}

static size_t index_at(struct number number)
{
    return number.width < sizeof(int) ? sizeof(int) : number.width;
}

/* ---- elements as bytes, least significant first on the machines we know ---- */

static long double load_real(const char *from, struct number number)
{
    const size_t width = real_width(number);
    long double value;
    double middle;
    float small;

#if defined(WEFT_HAS_REAL16)
    weft_real16 quad;

    if (is_real16(number)) {
        memcpy(&quad, from, sizeof(quad));
        return (long double)quad;
    }
#endif
    if (width == sizeof(small)) {
        memcpy(&small, from, sizeof(small));
        return small;
    }
    if (width == sizeof(middle)) {
        memcpy(&middle, from, sizeof(middle));
        return middle;
    }
    memcpy(&value, from, sizeof(value));
    return value;
}

static void store_real(char *to, struct number number, long double value)
{
    const size_t width = real_width(number);
    const double middle = (double)value;
    const float small = (float)value;

#if defined(WEFT_HAS_REAL16)
    const weft_real16 quad = value;

    if (is_real16(number)) {
        memcpy(to, &quad, sizeof(quad));
        return;
    }
#endif
    if (width == sizeof(small)) {
        memcpy(to, &small, sizeof(small));
    } else if (width == sizeof(middle)) {
        memcpy(to, &middle, sizeof(middle));
    } else {
        memcpy(to, &value, sizeof(value));
    }
}

static void load_integer(const char *from, struct number number, struct wide *to)
{
    const int shift = 64 - 8 * (int)number.width;

    memcpy(&to->integer, from, number.width);
    if (is_signed(number)) {
        const int64_t value = (int64_t)(to->integer << shift) >> shift;

        to->integer = (uint64_t)value;
        to->value = (long double)value;
    } else {
        to->value = (long double)to->integer;
    }
}

static struct wide load(const struct weft_datatype *type, const char *from)
{
    const struct number number = number_of(type);
    struct wide wide = {0};

    if (is_real(number)) {
        wide.value = load_real(from, number);
        wide.imaginary =
            is_complex(number) ? load_real(from + real_width(number), number) : 0;
    } else {
        load_integer(from, number, &wide);
    }
    if (type->number == WEFT_NUMBER_PAIR) {
        memcpy(&wide.index, from + index_at(number), sizeof(int));
    } else if (type->number == WEFT_NUMBER_TWO && is_real(number)) {
        wide.index = (int)load_real(from + number.width, number);
    } else if (type->number == WEFT_NUMBER_TWO) {
        memcpy(&wide.index, from + number.width, sizeof(int));
    }
    return wide;
}

/* Reals are few and small, so that all results are exact; integers may overflow. */
static void fill(const struct weft_datatype *type, char *to)
{
    const struct number number = number_of(type);
    const long few = random() % 7 - 3; /* pairs: to be equal now and then */
    uint64_t integer =
        (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
    int index = (int)(random() % 100);

    if (random() % 4 == 0) {
        integer = 0;
    }
    if (is_pair(type)) {
        integer = (uint64_t)few;
    }
    if (is_complex(number)) {
        store_real(to, number, 0.25L * (long double)(random() % 401 - 200));
        store_real(to + real_width(number), number,
                   0.25L * (long double)(random() % 401 - 200));
    } else if (is_real(number)) {
        store_real(to, number,
                   is_pair(type) ? (long double)few
                                 : 0.25L * (long double)(random() % 401 - 200));
    } else {
        memcpy(to, &integer, number.width);
    }
    if (type->number == WEFT_NUMBER_TWO && is_real(number)) {
        store_real(to + number.width, number, (long double)index);
    } else if (is_pair(type)) {
        memcpy(to + index_at(number), &index, sizeof(index));
    }
}

/* ---- what an operation means ---- */

static struct wide add(struct wide x, struct wide y)
{
    return (struct wide){.integer = x.integer + y.integer,
                         .value = x.value + y.value,
                         .imaginary = x.imaginary + y.imaginary};
}

static struct wide multiply(struct wide x, struct wide y)
{
    return (struct wide){
        .integer = x.integer * y.integer,
        .value = x.value * y.value - x.imaginary * y.imaginary,
        .imaginary = x.value * y.imaginary + x.imaginary * y.value,
    };
}

static struct wide lower(struct wide x, struct wide y)
{
    if (x.value == y.value) {
        return x.index < y.index ? x : y;
    }
    return x.value < y.value ? x : y;
}

static struct wide higher(struct wide x, struct wide y)
{
    if (x.value == y.value) {
        return x.index < y.index ? x : y;
    }
    return x.value > y.value ? x : y;
}

static struct wide make(uint64_t integer)
{
    return (struct wide){.integer = integer};
}

static struct wide both(struct wide x, struct wide y)
{
    return make(x.integer && y.integer);
}

static struct wide either(struct wide x, struct wide y)
{
    return make(x.integer || y.integer);
}

static struct wide one(struct wide x, struct wide y)
{
    return make(!x.integer != !y.integer);
}

static struct wide bits_in_both(struct wide x, struct wide y)
{
    return make(x.integer & y.integer);
}

static struct wide bits_in_either(struct wide x, struct wide y)
{
    return make(x.integer | y.integer);
}

static struct wide bits_in_one(struct wide x, struct wide y)
{
    return make(x.integer ^ y.integer);
}

enum group { ARITHMETIC = 1, ORDER = 2, LOGICAL = 4, BITWISE = 8, PLACE = 16 };

static const struct {
    MPI_Op op;
    enum group group;
    struct wide (*meaning)(struct wide x, struct wide y);
} ops[] = {
    {MPI_SUM, ARITHMETIC, add},
    {MPI_PROD, ARITHMETIC, multiply},
    {MPI_MIN, ORDER, lower},
    {MPI_MAX, ORDER, higher},
    {MPI_LAND, LOGICAL, both},
    {MPI_LOR, LOGICAL, either},
    {MPI_LXOR, LOGICAL, one},
    {MPI_BAND, BITWISE, bits_in_both},
    {MPI_BOR, BITWISE, bits_in_either},
    {MPI_BXOR, BITWISE, bits_in_one},
    {MPI_MINLOC, PLACE, lower},
    {MPI_MAXLOC, PLACE, higher},
};
enum { OPS = sizeof(ops) / sizeof(ops[0]) };

/* The table of MPI-5.0, 6.9.2. */
static const unsigned defined[] = {
    [WEFT_NUMBER_NONE] = 0,
    [WEFT_NUMBER_SIGNED] = ARITHMETIC | ORDER | LOGICAL | BITWISE,
    [WEFT_NUMBER_UNSIGNED] = ARITHMETIC | ORDER | LOGICAL | BITWISE,
    [WEFT_NUMBER_FLOAT] = ARITHMETIC | ORDER,
    [WEFT_NUMBER_COMPLEX] = ARITHMETIC,
    [WEFT_NUMBER_REAL16] = ARITHMETIC | ORDER,
    [WEFT_NUMBER_COMPLEX32] = ARITHMETIC,
    [WEFT_NUMBER_LOGICAL] = LOGICAL,
    [WEFT_NUMBER_BYTE] = BITWISE,
    [WEFT_NUMBER_PAIR] = PLACE,
    [WEFT_NUMBER_TWO] = PLACE,
};

/* ---- the comparison ---- */

static bool is_same(const struct weft_datatype *type, struct wide got, struct wide wanted)
{
    const struct number number = number_of(type);
    const int shift = 64 - 8 * (int)number.width;

    if (is_pair(type) && got.index != wanted.index) {
        return false;
    }
    if (is_real(number)) {
        return got.value == wanted.value && got.imaginary == wanted.imaginary;
    }
    return got.integer << shift == wanted.integer << shift;
}

static void compare(int o, const struct weft_datatype *type, size_t count)
{
    static buffer in;
    static buffer before;
    static buffer after;

    for (size_t i = 0; i < MOST; i++) {
        fill(type, in.bytes + i * (size_t)type->extent);
        fill(type, before.bytes + i * (size_t)type->extent);
    }
    after = before;
    weft_reduce_apply(ops[o].op, type, in.bytes, after.bytes, count);
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * (size_t)type->extent;
        const struct wide wanted =
            ops[o].meaning(load(type, in.bytes + at), load(type, before.bytes + at));

        if (!is_same(type, load(type, after.bytes + at), wanted)) {
            fail_msg("%s of %s, element %zu of %zu", weft_reduce_name(ops[o].op),
                     type->name, i, count);
        }
    }
    assert_memory_equal(after.bytes + count * (size_t)type->extent,
                        before.bytes + count * (size_t)type->extent,
                        sizeof(after) - count * (size_t)type->extent);
}

static void all_operations_mean_what_they_say_on_all_types(void **state)
{
    static const size_t counts[] = {0, 1, 63, 64, 65, MOST};
    int combinations = 0;

    (void)state;
    for (size_t t = 0; t < WEFT_DATATYPE_COUNT; t++) {
        const struct weft_datatype *type = &weft_datatypes[t];

        for (int o = 0; o < OPS && type->name != NULL; o++) {
            if (!weft_reduce_is_defined(ops[o].op, type)) {
                continue;
            }
            combinations++;
            for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
                compare(o, type, counts[c]);
            }
        }
    }
    printf("%d operations on types\n", combinations);
    assert_true(combinations > 300);
}

static void the_standards_table_says_what_is_defined(void **state)
{
    (void)state;
    for (size_t t = 0; t < WEFT_DATATYPE_COUNT; t++) {
        const struct weft_datatype *type = &weft_datatypes[t];

        for (int o = 0; o < OPS && type->name != NULL; o++) {
            const bool is_defined = (defined[type->number] & ops[o].group) != 0;

            if (weft_reduce_is_defined(ops[o].op, type) != is_defined) {
                fail_msg("%s of %s", weft_reduce_name(ops[o].op), type->name);
            }
        }
    }
}

static void what_is_no_operation_is_refused(void **state)
{
    const MPI_Op others[] = {MPI_OP_NULL,
                             MPI_REPLACE,
                             MPI_NO_OP,
                             NULL,
                             (MPI_Op)0x1f,
                             (MPI_Op)0x25,
                             (MPI_Op)(uintptr_t)0x100000001};

    (void)state;
    for (size_t o = 0; o < sizeof(others) / sizeof(others[0]); o++) {
        assert_null(weft_reduce_name(others[o]));
        for (size_t t = 0; t < WEFT_DATATYPE_COUNT; t++) {
            if (weft_datatypes[t].name != NULL) {
                assert_false(weft_reduce_is_defined(others[o], &weft_datatypes[t]));
            }
        }
    }
}

static void some_of_the_standards_table_by_hand(void **state)
{
    static const struct {
        MPI_Datatype type;
        MPI_Op op;
        bool is_defined;
    } rows[] = {
        {MPI_INT, MPI_SUM, true},         {MPI_INT, MPI_MINLOC, false},
        {MPI_DOUBLE, MPI_MAX, true},      {MPI_DOUBLE, MPI_BAND, false},
        {MPI_DOUBLE, MPI_LAND, false},    {MPI_C_COMPLEX, MPI_PROD, true},
        {MPI_C_COMPLEX, MPI_MIN, false},  {MPI_BYTE, MPI_BXOR, true},
        {MPI_BYTE, MPI_SUM, false},       {MPI_C_BOOL, MPI_LXOR, true},
        {MPI_C_BOOL, MPI_SUM, false},     {MPI_LOGICAL, MPI_LOR, true},
        {MPI_2INT, MPI_MINLOC, true},     {MPI_2INT, MPI_SUM, false},
        {MPI_CHAR, MPI_SUM, false},       {MPI_CHAR, MPI_BAND, false},
        {MPI_SIGNED_CHAR, MPI_MAX, true}, {MPI_WCHAR, MPI_MAX, false},
        {MPI_AINT, MPI_BOR, true},        {MPI_PACKED, MPI_BOR, false},
        {MPI_COUNT, MPI_MIN, true},       {MPI_OFFSET, MPI_PROD, true},
        {MPI_INTEGER, MPI_SUM, true},     {MPI_REAL8, MPI_SUM, true},
        {MPI_2REAL, MPI_MINLOC, true},    {MPI_2REAL, MPI_SUM, false},
        {MPI_2INTEGER, MPI_MAXLOC, true}, {MPI_2DOUBLE_PRECISION, MPI_MAXLOC, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct weft_datatype *type = weft_datatype_from_handle(rows[i].type);

        assert_non_null(type);
        if (weft_reduce_is_defined(rows[i].op, type) != rows[i].is_defined) {
            fail_msg("%s of %s", weft_reduce_name(rows[i].op), type->name);
        }
    }
}

static void integers_wrap_around(void **state)
{
    const int one_more = 1;
    int largest = INT32_MAX;
    const short side = INT16_MAX;
    short product = INT16_MAX;
    const unsigned short unsigned_side = UINT16_MAX;
    unsigned short unsigned_product = UINT16_MAX; /* as int it would overflow */

    (void)state;
    weft_reduce_apply(MPI_SUM, weft_datatype_from_handle(MPI_INT), &one_more, &largest,
                      1);
    assert_int_equal(largest, INT32_MIN);
    weft_reduce_apply(MPI_PROD, weft_datatype_from_handle(MPI_SHORT), &side, &product, 1);
    assert_int_equal(product, 1);
    weft_reduce_apply(MPI_PROD, weft_datatype_from_handle(MPI_UNSIGNED_SHORT),
                      &unsigned_side, &unsigned_product, 1);
    assert_int_equal(unsigned_product, 1);
}

static void equal_values_take_the_lower_index(void **state)
{
    static const MPI_Op both_ops[] = {MPI_MINLOC, MPI_MAXLOC};
    const struct weft_datatype *type = weft_datatype_from_handle(MPI_DOUBLE_INT);
    struct pair {
        double value;
        int index;
    } in[2] = {{1.5, 3}, {1.5, 8}};

    (void)state;
    for (int o = 0; o < 2; o++) {
        struct pair inout[2] = {{1.5, 5}, {1.5, 5}};

        weft_reduce_apply(both_ops[o], type, in, inout, 2);
        assert_int_equal(inout[0].index, 3);
        assert_int_equal(inout[1].index, 5);
    }
}

static void a_comparison_with_no_number_yields_an_operand(void **state)
{
    const double nan = __builtin_nan("");
    const double in[3] = {nan, 1.0, nan};
    double inout[3] = {1.0, nan, nan};

    (void)state;
    weft_reduce_apply(MPI_MAX, weft_datatype_from_handle(MPI_DOUBLE), in, inout, 3);
    assert_true(inout[0] == 1.0);
    assert_true(inout[1] != inout[1]);
    assert_true(inout[2] != inout[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_operations_mean_what_they_say_on_all_types),
        cmocka_unit_test(the_standards_table_says_what_is_defined),
        cmocka_unit_test(what_is_no_operation_is_refused),
        cmocka_unit_test(some_of_the_standards_table_by_hand),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(equal_values_take_the_lower_index),
        cmocka_unit_test(a_comparison_with_no_number_yields_an_operand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
