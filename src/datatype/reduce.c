/*
 * reduce.c - one loop for each operation on each C type, and a table to find it: by kind
 * of number and width, then by operation. A hole in the table is an operation that is not
 * defined, so there is one list and no second one that could disagree with it.
 */
#include "datatype/reduce.h"

#include "datatype/real16.h"

#include <assert.h>

#define PAIR_OF(kind) (WEFT_NUMBERS + WEFT_NUMBER_##kind)
#define TWO_OF(kind)  (2 * WEFT_NUMBERS + WEFT_NUMBER_##kind)
#define INDEX(op)     ((uintptr_t)(op) - (uintptr_t)MPI_OP_NULL)

enum {
    BLOCK = 64, /* elements; see LOOP */
    WIDTHS = 6, /* 1 to 32 bytes, by their logarithm */
    KINDS = TWO_OF(FLOAT) + 1,
    OPS = INDEX(MPI_MAXLOC) + 1,
};

_Static_assert(sizeof(long double) == 16, "the table has it in the column of 16 bytes");

typedef void loop(const void *restrict in, void *restrict inout, size_t count);

/* The loops of a C type, by operation. */
struct loops {
    loop *of[OPS];
};

/* long and long long are one loop, so an element may be of a type with another name. */
#define ELEMENT __attribute__((may_alias))

typedef int8_t ELEMENT int8;
typedef int16_t ELEMENT int16;
typedef int32_t ELEMENT int32;
typedef int64_t ELEMENT int64;
typedef uint8_t ELEMENT uint8;
typedef uint16_t ELEMENT uint16;
typedef uint32_t ELEMENT uint32;
typedef uint64_t ELEMENT uint64;
typedef float ELEMENT float4;
typedef double ELEMENT float8;
typedef long double ELEMENT float16;
typedef float _Complex ELEMENT complex8;
typedef double _Complex ELEMENT complex16;
typedef long double _Complex ELEMENT complex32;

#if defined(WEFT_HAS_REAL16)
typedef weft_real16 ELEMENT real16;
/* Not every compiler that has the real type has a complex one of it. */
typedef struct ELEMENT {
    weft_real16 re;
    weft_real16 im;
} two_real16;
#endif

/* Does the processor have vectors of 32 bytes? A load and a test: libgcc has asked it. */
#if defined(__x86_64__)
#define IS_WIDE __builtin_cpu_supports("avx2")
#define WIDE    __attribute__((target("avx2")))
#else
#define IS_WIDE false
#define WIDE
#endif

/*
 * The inner loop of fixed length is there for the compiler: at -O2 GCC 12 vectorises no
 * loop of unknown length. It takes the sum of 1000 ints from 940 to 190 ns. The same
 * loop is there for vectors of 32 bytes. It adds and multiplies in the same order, and
 * joins no product with a sum, so results do not depend on the processor.
 */
#define LOOP(op, type, result)                                                           \
    static inline __attribute__((always_inline)) void op##_each_##type(                  \
        const void *restrict in, void *restrict inout, size_t count)                     \
    {                                                                                    \
        const type *restrict a = in;                                                     \
        type *restrict b = inout;                                                        \
                                                                                         \
        for (; count >= BLOCK; count -= BLOCK, a += BLOCK, b += BLOCK) {                 \
            for (size_t i = 0; i < BLOCK; i++) {                                         \
                const type x = a[i];                                                     \
                const type y = b[i];                                                     \
                                                                                         \
                b[i] = (result);                                                         \
            }                                                                            \
        }                                                                                \
        for (size_t i = 0; i < count; i++) {                                             \
            const type x = a[i];                                                         \
            const type y = b[i];                                                         \
                                                                                         \
            b[i] = (result);                                                             \
        }                                                                                \
    }                                                                                    \
                                                                                         \
    WIDE static void op##_wide_##type(const void *restrict in, void *restrict inout,     \
                                      size_t count)                                      \
    {                                                                                    \
        op##_each_##type(in, inout, count);                                              \
    }                                                                                    \
                                                                                         \
    static void op##_##type(const void *restrict in, void *restrict inout, size_t count) \
    {                                                                                    \
        if (count >= BLOCK && IS_WIDE) {                                                 \
            op##_wide_##type(in, inout, count);                                          \
        } else {                                                                         \
            op##_each_##type(in, inout, count);                                          \
        }                                                                                \
    }

#define AT(op) [INDEX(MPI_##op)]

#define ORDER(type)                                                                      \
    LOOP(min, type, x < y ? x : y)                                                       \
    LOOP(max, type, x > y ? x : y)

/* Unsigned, so that overflow wraps; the compiler narrows it to the type's width. */
#define INTEGER(type)                                                                    \
    ORDER(type)                                                                          \
    LOOP(sum, type, (type)((uint64_t)x + (uint64_t)y))                                   \
    LOOP(prod, type, (type)((uint64_t)x * (uint64_t)y))                                  \
    LOOP(land, type, (type)((x != 0) & (y != 0)))                                        \
    LOOP(lor, type, (type)((x != 0) | (y != 0)))                                         \
    LOOP(lxor, type, (type)((x != 0) ^ (y != 0)))                                        \
    LOOP(band, type, (type)(x & y))                                                      \
    LOOP(bor, type, (type)(x | y))                                                       \
    LOOP(bxor, type, (type)(x ^ y))                                                      \
    static const struct loops type##_loops = {{                                          \
        AT(MIN) = min_##type,                                                            \
        AT(MAX) = max_##type,                                                            \
        AT(SUM) = sum_##type,                                                            \
        AT(PROD) = prod_##type,                                                          \
        AT(LAND) = land_##type,                                                          \
        AT(LOR) = lor_##type,                                                            \
        AT(LXOR) = lxor_##type,                                                          \
        AT(BAND) = band_##type,                                                          \
        AT(BOR) = bor_##type,                                                            \
        AT(BXOR) = bxor_##type,                                                          \
    }};

#define LOGICAL(type)                                                                    \
    static const struct loops type##_logical = {{                                        \
        AT(LAND) = land_##type,                                                          \
        AT(LOR) = lor_##type,                                                            \
        AT(LXOR) = lxor_##type,                                                          \
    }};

#define FIELD(type)                                                                      \
    LOOP(sum, type, x + y)                                                               \
    LOOP(prod, type, x *y)

#define FLOATING(type)                                                                   \
    ORDER(type)                                                                          \
    FIELD(type)                                                                          \
    static const struct loops type##_loops = {{                                          \
        AT(MIN) = min_##type,                                                            \
        AT(MAX) = max_##type,                                                            \
        AT(SUM) = sum_##type,                                                            \
        AT(PROD) = prod_##type,                                                          \
    }};

#define COMPLEX(type)                                                                    \
    FIELD(type)                                                                          \
    static const struct loops type##_loops = {{                                          \
        AT(SUM) = sum_##type,                                                            \
        AT(PROD) = prod_##type,                                                          \
    }};

/* x goes before y: it is better, or as good and of lower index. */
#define WINS(better) (x.value better y.value || (x.value == y.value && x.index < y.index))

#define PAIR(name, type, place)                                                          \
    typedef struct ELEMENT {                                                             \
        type value;                                                                      \
        place index;                                                                     \
    } name;                                                                              \
    LOOP(minloc, name, WINS(<) ? x : y)                                                  \
    LOOP(maxloc, name, WINS(>) ? x : y)                                                  \
    static const struct loops name##_loops = {{                                          \
        AT(MINLOC) = minloc_##name,                                                      \
        AT(MAXLOC) = maxloc_##name,                                                      \
    }};

/* clang-format off: a list, without semicolons */
INTEGER(int8)
INTEGER(int16)
INTEGER(int32)
INTEGER(int64)
INTEGER(uint8)
INTEGER(uint16)
INTEGER(uint32)
INTEGER(uint64)
LOGICAL(int8)
LOGICAL(int16)
LOGICAL(int32)
LOGICAL(int64)
FLOATING(float4)
FLOATING(float8)
FLOATING(float16)
COMPLEX(complex8)
COMPLEX(complex16)
COMPLEX(complex32)
PAIR(short_int, short, int)
PAIR(int_int, int, int)
PAIR(long_int, long, int)
PAIR(float_int, float, int)
PAIR(double_int, double, int)
PAIR(long_double_int, long double, int)
PAIR(two_floats, float, float)
PAIR(two_doubles, double, double)
/* clang-format on */

#if defined(WEFT_HAS_REAL16)
FLOATING(real16)
LOOP(sum, two_real16, ((two_real16){x.re + y.re, x.im + y.im}))
LOOP(prod, two_real16, ((two_real16){x.re * y.re - x.im * y.im, x.re *y.im + x.im *y.re}))
static const struct loops two_real16_loops = {{
    AT(SUM) = sum_two_real16,
    AT(PROD) = prod_two_real16,
}};
#endif

static const struct loops byte_loops = {{
    AT(BAND) = band_uint8,
    AT(BOR) = bor_uint8,
    AT(BXOR) = bxor_uint8,
}};

/* Columns: 1, 2, 4, 8, 16 and 32 bytes, those of the value where it is a pair. */
static const struct loops *const table[KINDS][WIDTHS] = {
    [WEFT_NUMBER_SIGNED] = {&int8_loops, &int16_loops, &int32_loops, &int64_loops},
    [WEFT_NUMBER_UNSIGNED] = {&uint8_loops, &uint16_loops, &uint32_loops, &uint64_loops},
    [WEFT_NUMBER_LOGICAL] = {&int8_logical, &int16_logical, &int32_logical,
                             &int64_logical},
    [WEFT_NUMBER_BYTE] = {&byte_loops},
    [WEFT_NUMBER_FLOAT] = {NULL, NULL, &float4_loops, &float8_loops, &float16_loops},
    [WEFT_NUMBER_COMPLEX] = {NULL, NULL, NULL, &complex8_loops, &complex16_loops,
                             &complex32_loops},
#if defined(WEFT_HAS_REAL16)
    [WEFT_NUMBER_REAL16] = {NULL, NULL, NULL, NULL, &real16_loops},
    [WEFT_NUMBER_COMPLEX32] = {NULL, NULL, NULL, NULL, NULL, &two_real16_loops},
#endif
    [PAIR_OF(SIGNED)] = {NULL, &short_int_loops, &int_int_loops, &long_int_loops},
    [PAIR_OF(FLOAT)] = {NULL, NULL, &float_int_loops, &double_int_loops,
                        &long_double_int_loops},
    [TWO_OF(SIGNED)] = {NULL, NULL, &int_int_loops},
    [TWO_OF(FLOAT)] = {NULL, NULL, &two_floats_loops, &two_doubles_loops},
};

#define NAME(op) AT(op) = "MPI_" #op

static const char *const names[OPS] = {
    NAME(SUM),  NAME(MIN),  NAME(MAX), NAME(PROD), NAME(BAND),   NAME(BOR),
    NAME(BXOR), NAME(LAND), NAME(LOR), NAME(LXOR), NAME(MINLOC), NAME(MAXLOC),
};

const char *weft_reduce_name(MPI_Op op)
{
    const uintptr_t at = INDEX(op);

    return at < OPS ? names[at] : NULL;
}

/* NULL: nothing is defined for the type, as for all derived ones. */
static const struct loops *loops_of(const struct weft_datatype *type)
{
    size_t kind = type->number;
    size_t width = type->size;

    if (type->number == WEFT_NUMBER_PAIR) {
        kind = (size_t)WEFT_NUMBERS + type->pair_of;
        width -= sizeof(int);
    } else if (type->number == WEFT_NUMBER_TWO) {
        kind = 2 * (size_t)WEFT_NUMBERS + type->pair_of;
        width /= 2;
    }
    if (type->number == WEFT_NUMBER_NONE || width == 0 || (width & (width - 1)) != 0 ||
        width >= 1u << WIDTHS) {
        return NULL;
    }
    assert(kind < KINDS);
    return table[kind][__builtin_ctzl(width)];
}

static loop *find(MPI_Op op, const struct weft_datatype *type)
{
    const uintptr_t at = INDEX(op);
    const struct loops *loops = loops_of(type);

    return loops != NULL && at < OPS ? loops->of[at] : NULL;
}

bool weft_reduce_is_defined(MPI_Op op, const struct weft_datatype *type)
{
    return find(op, type) != NULL;
}

void weft_reduce_apply(MPI_Op op, const struct weft_datatype *type, const void *in,
                       void *inout, size_t count)
{
    loop *apply = find(op, type);

    assert(apply != NULL);
    apply(in, inout, count);
}
