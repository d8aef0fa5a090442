/*
 * coll_random_layout.h - the datatypes and the operations of coll_random.c.
 *
 * Data are 32-bit numbers. A layout is a datatype of one to three of them, which says
 * where each lies; two layouts have the same signature when they hold as many numbers.
 * A function of the user finds the layout by size and extents, also when the program has
 * freed the datatype already.
 */
#ifndef WEFT_TEST_COLL_RANDOM_LAYOUT_H
#define WEFT_TEST_COLL_RANDOM_LAYOUT_H

#include "check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { PER_MOST = 3, NUMBER = sizeof(uint32_t) };

struct layout {
    int per;          /* numbers in an element */
    int at[PER_MOST]; /* where each lies; places are counted in numbers */
    int extent;
    MPI_Datatype type;
    int most; /* elements that do not overlap; 0: any number */
};

/* The first is predefined. Some have a gap, or numbers before their start, or in another
 * order than in memory, or go backwards. In the last ones an element is longer than the
 * distance to the next: elements interleave, for ever or, as the columns of a matrix, up
 * to a number of them. */
static struct layout layouts[] = {
    {1, {0}, 1, MPI_DATATYPE_NULL, 0},        {1, {0}, 2, MPI_DATATYPE_NULL, 0},
    {1, {-2}, 3, MPI_DATATYPE_NULL, 0},       {1, {0}, -1, MPI_DATATYPE_NULL, 0},
    {2, {0, 1}, 2, MPI_DATATYPE_NULL, 0},     {2, {2, 0}, 3, MPI_DATATYPE_NULL, 0},
    {2, {0, 1}, -3, MPI_DATATYPE_NULL, 0},    {3, {0, 1, 2}, 3, MPI_DATATYPE_NULL, 0},
    {3, {4, -1, 1}, 6, MPI_DATATYPE_NULL, 0}, {3, {0, 1, 2}, 40, MPI_DATATYPE_NULL, 0},
    {2, {0, 3}, 2, MPI_DATATYPE_NULL, 0},     {2, {-9, 0}, 2, MPI_DATATYPE_NULL, 0},
    {3, {0, 7, -4}, 3, MPI_DATATYPE_NULL, 0}, {2, {0, 64}, 1, MPI_DATATYPE_NULL, 64},
    {2, {-64, 0}, 1, MPI_DATATYPE_NULL, 64},  {2, {0, 64}, -1, MPI_DATATYPE_NULL, 64},
};

/* Of predefined types, for predefined operations. */
static const struct layout one = {1, {0}, 1, MPI_DATATYPE_NULL, 0};
static const struct layout two = {2, {0, 1}, 2, MPI_DATATYPE_NULL, 0};

static pthread_t main_thread;

static inline int lowest(const struct layout *layout)
{
    int low = layout->at[0];

    for (int i = 1; i < layout->per; i++) {
        low = layout->at[i] < low ? layout->at[i] : low;
    }
    return low;
}

static inline int highest(const struct layout *layout)
{
    int high = layout->at[0];

    for (int i = 1; i < layout->per; i++) {
        high = layout->at[i] > high ? layout->at[i] : high;
    }
    return high;
}

static inline void open_layouts(void)
{
    for (int i = 0; i < LENGTH(layouts); i++) {
        struct layout *layout = &layouts[i];
        MPI_Aint at[PER_MOST];
        MPI_Datatype plain;

        for (int k = 0; k < layout->per; k++) {
            at[k] = (MPI_Aint)layout->at[k] * NUMBER;
        }
        layout->type = MPI_UINT32_T;
        if (i > 0) {
            MPI_Type_create_hindexed_block(layout->per, 1, at, MPI_UINT32_T, &plain);
            MPI_Type_create_resized(plain, 0, (MPI_Aint)layout->extent * NUMBER,
                                    &layout->type);
            MPI_Type_free(&plain);
            MPI_Type_commit(&layout->type);
        }
    }
}

static inline void close_layouts(void)
{
    for (int i = 1; i < LENGTH(layouts); i++) {
        MPI_Type_free(&layouts[i].type);
    }
}

/* ---- operations ---- */

enum arithmetic {
    SUM,
    XOR,
    MAX,
    SUM_WIDE,
    MINLOC,
    ADD,
    ADD_LARGE,
    ADD_PAIRS,
    COMPOSE,
    COMPOSE_LARGE
};

/* Numbers in an element. */
static inline int width_of(enum arithmetic arithmetic)
{
    return arithmetic == SUM_WIDE || arithmetic == MINLOC || arithmetic >= ADD_PAIRS ? 2
                                                                                     : 1;
}

static inline bool is_users(enum arithmetic arithmetic)
{
    return arithmetic >= ADD;
}

/* Operands as the operation wants them: MPI_MINLOC sees many equal values. */
static inline uint32_t operand(enum arithmetic arithmetic, int k, uint32_t number)
{
    if (arithmetic == MINLOC) {
        return k == 0 ? number % 4 : number & 0xffff;
    }
    return number;
}

static inline void minloc(const uint32_t *left, uint32_t *right)
{
    if (left[0] < right[0] || (left[0] == right[0] && left[1] < right[1])) {
        right[0] = left[0];
        right[1] = left[1];
    }
}

/* right = left op right. Affine functions do not commute: of f and then g, x -> g(f(x)),
 * with f = a x + b. */
static inline void combine(enum arithmetic arithmetic, const uint32_t *left,
                           uint32_t *right)
{
    uint64_t sum;

    switch (arithmetic) {
    case SUM:
    case ADD:
    case ADD_LARGE:
        right[0] += left[0];
        break;
    case ADD_PAIRS:
        right[0] += left[0];
        right[1] ^= left[1];
        break;
    case XOR:
        right[0] ^= left[0];
        break;
    case MAX:
        right[0] = left[0] > right[0] ? left[0] : right[0];
        break;
    case SUM_WIDE:
        sum = ((uint64_t)left[1] << 32 | left[0]) + ((uint64_t)right[1] << 32 | right[0]);
        right[0] = (uint32_t)sum;
        right[1] = (uint32_t)(sum >> 32);
        break;
    case MINLOC:
        minloc(left, right);
        break;
    case COMPOSE:
    case COMPOSE_LARGE:
        right[1] += right[0] * left[1];
        right[0] *= left[0];
        break;
    }
}

static inline const struct layout *find_layout(MPI_Datatype type)
{
    MPI_Aint lb;
    MPI_Aint extent;
    MPI_Aint true_lb;
    MPI_Aint true_extent;
    int bytes;

    CHECK(MPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS);
    CHECK(MPI_Type_get_true_extent(type, &true_lb, &true_extent) == MPI_SUCCESS);
    CHECK(MPI_Type_size(type, &bytes) == MPI_SUCCESS);
    for (int i = 0; i < LENGTH(layouts); i++) {
        if (layouts[i].per * NUMBER == bytes && layouts[i].extent * NUMBER == extent &&
            lowest(&layouts[i]) * NUMBER == true_lb &&
            (highest(&layouts[i]) + 1) * NUMBER == true_lb + true_extent) {
            return &layouts[i];
        }
    }
    fail(__FILE__, __LINE__, "the type is one of ours");
    return NULL;
}

/* Runs on the thread that is in an MPI call, and never on one of the library. */
static inline void apply(enum arithmetic arithmetic, const uint32_t *in, uint32_t *inout,
                         MPI_Count length, MPI_Datatype type)
{
    const struct layout *layout = find_layout(type);

    CHECK(pthread_equal(pthread_self(), main_thread));
    CHECK(layout->per == width_of(arithmetic));
    for (MPI_Count i = 0; i < length; i++) {
        uint32_t left[PER_MOST];
        uint32_t right[PER_MOST];

        for (int k = 0; k < layout->per; k++) {
            left[k] = in[i * layout->extent + layout->at[k]];
            right[k] = inout[i * layout->extent + layout->at[k]];
        }
        combine(arithmetic, left, right);
        for (int k = 0; k < layout->per; k++) {
            inout[i * layout->extent + layout->at[k]] = right[k];
        }
    }
}

static inline void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    apply(ADD, in, inout, *length, *type);
}

static inline void add_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    apply(ADD_LARGE, in, inout, *length, *type);
}

static inline void add_pairs(void *in, void *inout, int *length, MPI_Datatype *type)
{
    apply(ADD_PAIRS, in, inout, *length, *type);
}

static inline void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    apply(COMPOSE, in, inout, *length, *type);
}

static inline void compose_large(void *in, void *inout, MPI_Count *length,
                                 MPI_Datatype *type)
{
    apply(COMPOSE_LARGE, in, inout, *length, *type);
}

/* One of the user is made, and is to be freed. */
static inline MPI_Op make_op(enum arithmetic arithmetic)
{
    MPI_Op op = MPI_OP_NULL;

    switch (arithmetic) {
    case SUM:
    case SUM_WIDE:
        return MPI_SUM;
    case XOR:
        return MPI_BXOR;
    case MAX:
        return MPI_MAX;
    case MINLOC:
        return MPI_MINLOC;
    case ADD:
        MPI_Op_create(add, 1, &op);
        break;
    case ADD_LARGE:
        MPI_Op_create_c(add_large, 1, &op);
        break;
    case ADD_PAIRS:
        MPI_Op_create(add_pairs, 1, &op);
        break;
    case COMPOSE:
        MPI_Op_create(compose, 0, &op);
        break;
    case COMPOSE_LARGE:
        MPI_Op_create_c(compose_large, 0, &op);
        break;
    }
    return op;
}

/* The type of a predefined operation. */
static inline MPI_Datatype type_of_op(enum arithmetic arithmetic)
{
    switch (arithmetic) {
    case SUM_WIDE:
        return MPI_UINT64_T;
    case MINLOC:
        return MPI_2INT;
    default:
        return MPI_UINT32_T;
    }
}

#endif
