/*
 * predefined.c - the predefined datatypes, by the ABI's numbers. Optional Fortran types
 * that C cannot hold (REAL*2, 16-byte integers and reals) are left out: they do not exist
 * here.
 */
#include "datatype/datatype.h"

#include <wchar.h>

#define AT(name) [(uintptr_t)MPI_##name - WEFT_DATATYPE_FIRST]
#define TYPE(mpi, c, kind)                                                               \
    AT(mpi) = {MPI_##mpi,          sizeof(c),        sizeof(c),                          \
               WEFT_NUMBER_##kind, WEFT_NUMBER_NONE, "MPI_" #mpi}
/* A value and an int, laid out as C does it. */
#define PAIR(mpi, c, kind)                                                               \
    AT(mpi) = {MPI_##mpi,                                                                \
               sizeof(c) + sizeof(int),                                                  \
               sizeof(struct {                                                           \
                   c value;                                                              \
                   int index;                                                            \
               }),                                                                       \
               WEFT_NUMBER_PAIR,                                                         \
               WEFT_NUMBER_##kind,                                                       \
               "MPI_" #mpi}

const struct weft_datatype weft_datatypes[WEFT_DATATYPE_COUNT] = {
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
    PAIR(SHORT_INT, short, SIGNED),
    PAIR(LONG_DOUBLE_INT, long double, FLOAT),
    TYPE(2REAL, float[2], NONE),
    TYPE(2DOUBLE_PRECISION, double[2], NONE),
    TYPE(2INTEGER, int[2], NONE),
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
};
