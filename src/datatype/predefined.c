/*
 * predefined.c - the predefined datatypes, by the ABI's numbers. Optional Fortran types
 * that C cannot hold (REAL*2, 16-byte integers, and REAL*16 where the compiler lacks it)
 * are left out: they do not exist here.
 */
#include "datatype/datatype.h"
#include "datatype/real16.h"

#include <stddef.h>
#include <wchar.h>

#define AT(name) [(uintptr_t)MPI_##name - WEFT_DATATYPE_FIRST]
#define COMMON(mpi, c, bytes)                                                            \
    .handle = MPI_##mpi, .name = "MPI_" #mpi, .size = bytes, .extent = sizeof(c),        \
    .align = _Alignof(c), .is_predefined = true, .is_compiled = true,                    \
    .is_committed = true
#define ONE_BLOCK(bytes) .is_block = true, .layout = {.top = {.count = 1, .size = bytes}}
#define TYPE(mpi, c, kind)                                                               \
    AT(mpi) = {COMMON(mpi, c, sizeof(c)),   ONE_BLOCK(sizeof(c)),                        \
               .true_extent = sizeof(c),    .elements = 1,                               \
               .is_contiguous = true,       .is_plain = true,                            \
               .number = WEFT_NUMBER_##kind}
/* Two of a kind. */
#define TWO(mpi, c, kind)                                                                \
    AT(mpi) = {COMMON(mpi, c[2], 2 * sizeof(c)),                                         \
               ONE_BLOCK(2 * sizeof(c)),                                                 \
               .true_extent = 2 * sizeof(c),                                             \
               .elements = 2,                                                            \
               .is_contiguous = true,                                                    \
               .is_plain = true,                                                         \
               .number = WEFT_NUMBER_TWO,                                                \
               .pair_of = WEFT_NUMBER_##kind}
/* A value and an int, laid out as C does it; there may be a gap behind them. */
#define PAIR_SIZE(c) (sizeof(c) + sizeof(int))
#define PAIR(mpi, c, kind)                                                               \
    AT(mpi) = {COMMON(mpi, struct c##_and_int, PAIR_SIZE(c)),                            \
               ONE_BLOCK(PAIR_SIZE(c)),                                                  \
               .true_extent = PAIR_SIZE(c),                                              \
               .elements = 2,                                                            \
               .is_contiguous = sizeof(struct c##_and_int) == PAIR_SIZE(c),              \
               .is_plain = sizeof(struct c##_and_int) == PAIR_SIZE(c),                   \
               .number = WEFT_NUMBER_PAIR,                                               \
               .pair_of = WEFT_NUMBER_##kind}

typedef long double long_double;
struct float_and_int {
    float value;
    int index;
};
struct double_and_int {
    double value;
    int index;
};
struct long_and_int {
    long value;
    int index;
};
struct int_and_int {
    int value;
    int index;
};
struct short_and_int {
    short value;
    int index;
};
struct long_double_and_int {
    long_double value;
    int index;
};

#if defined(WEFT_HAS_REAL16)
struct two_real16 {
    weft_real16 part[2];
};
#endif

/* The one pair with a gap between the two. */
static int64_t short_int_offsets[] = {0, offsetof(struct short_and_int, index)};
static uint64_t short_int_starts[] = {0, sizeof(short), sizeof(short) + sizeof(int)};
_Static_assert(offsetof(struct double_and_int, index) == sizeof(double) &&
                   offsetof(struct long_and_int, index) == sizeof(long) &&
                   offsetof(struct long_double_and_int, index) == sizeof(long_double),
               "the others have none");
static const struct weft_body short_int = {
    .size = sizeof(short) + sizeof(int),
    .n = 2,
    .offsets = short_int_offsets,
    .starts = short_int_starts,
};

struct weft_datatype weft_datatypes[WEFT_DATATYPE_COUNT] = {
    TYPE(AINT, MPI_Aint, SIGNED),
    TYPE(COUNT, MPI_Count, SIGNED),
    TYPE(OFFSET, MPI_Offset, SIGNED),
    TYPE(PACKED, char, NONE),
    TYPE(SHORT, short, SIGNED),
    TYPE(INT, int, SIGNED),
    TYPE(LONG, long, SIGNED),
    TYPE(LONG_LONG, long long, SIGNED),
    TYPE(UNSIGNED_SHORT, unsigned short, UNSIGNED),
    TYPE(UNSIGNED, unsigned, UNSIGNED),
    TYPE(UNSIGNED_LONG, unsigned long, UNSIGNED),
    TYPE(UNSIGNED_LONG_LONG, unsigned long long, UNSIGNED),
    TYPE(FLOAT, float, FLOAT),
    TYPE(C_FLOAT_COMPLEX, float _Complex, COMPLEX),
    TYPE(CXX_FLOAT_COMPLEX, float _Complex, COMPLEX),
    TYPE(DOUBLE, double, FLOAT),
    TYPE(C_DOUBLE_COMPLEX, double _Complex, COMPLEX),
    TYPE(CXX_DOUBLE_COMPLEX, double _Complex, COMPLEX),
    TYPE(LOGICAL, int, LOGICAL),
    TYPE(INTEGER, int, SIGNED),
    TYPE(REAL, float, FLOAT),
    TYPE(COMPLEX, float _Complex, COMPLEX),
    TYPE(DOUBLE_PRECISION, double, FLOAT),
    TYPE(DOUBLE_COMPLEX, double _Complex, COMPLEX),
    TYPE(CHARACTER, char, NONE),
    TYPE(LONG_DOUBLE, long double, FLOAT),
    TYPE(C_LONG_DOUBLE_COMPLEX, long double _Complex, COMPLEX),
    TYPE(CXX_LONG_DOUBLE_COMPLEX, long double _Complex, COMPLEX),
    PAIR(FLOAT_INT, float, FLOAT),
    PAIR(DOUBLE_INT, double, FLOAT),
    PAIR(LONG_INT, long, SIGNED),
    PAIR(2INT, int, SIGNED),
    AT(SHORT_INT) =
        {
            COMMON(SHORT_INT, struct short_and_int, PAIR_SIZE(short)),
            .layout = {.top = {.count = 1, .size = PAIR_SIZE(short), .body = &short_int}},
            .true_extent = sizeof(struct short_and_int),
            .elements = 2,
            .number = WEFT_NUMBER_PAIR,
            .pair_of = WEFT_NUMBER_SIGNED,
        },
    PAIR(LONG_DOUBLE_INT, long_double, FLOAT),
    TWO(2REAL, float, FLOAT),
    TWO(2DOUBLE_PRECISION, double, FLOAT),
    TWO(2INTEGER, int, SIGNED),
    TYPE(C_BOOL, _Bool, LOGICAL),
    TYPE(CXX_BOOL, _Bool, LOGICAL),
    TYPE(WCHAR, wchar_t, NONE),
    TYPE(INT8_T, int8_t, SIGNED),
    TYPE(UINT8_T, uint8_t, UNSIGNED),
    TYPE(INT16_T, int16_t, SIGNED),
    TYPE(UINT16_T, uint16_t, UNSIGNED),
    TYPE(INT32_T, int32_t, SIGNED),
    TYPE(UINT32_T, uint32_t, UNSIGNED),
    TYPE(INT64_T, int64_t, SIGNED),
    TYPE(UINT64_T, uint64_t, UNSIGNED),
    TYPE(CHAR, char, NONE),
    TYPE(SIGNED_CHAR, signed char, SIGNED),
    TYPE(UNSIGNED_CHAR, unsigned char, UNSIGNED),
    TYPE(BYTE, char, BYTE),
    TYPE(LOGICAL1, int8_t, LOGICAL),
    TYPE(INTEGER1, int8_t, SIGNED),
    TYPE(LOGICAL2, int16_t, LOGICAL),
    TYPE(INTEGER2, int16_t, SIGNED),
    TYPE(LOGICAL4, int32_t, LOGICAL),
    TYPE(INTEGER4, int32_t, SIGNED),
    TYPE(LOGICAL8, int64_t, LOGICAL),
    TYPE(INTEGER8, int64_t, SIGNED),
    TYPE(REAL4, float, FLOAT),
    TYPE(REAL8, double, FLOAT),
    TYPE(COMPLEX8, float _Complex, COMPLEX),
    TYPE(COMPLEX16, double _Complex, COMPLEX),
#if defined(WEFT_HAS_REAL16)
    TYPE(REAL16, weft_real16, REAL16),
    TYPE(COMPLEX32, struct two_real16, COMPLEX32),
#endif
};
