/*
 * real16.h - the C type of Fortran's REAL*16, IEEE binary128. WEFT_HAS_REAL16 is defined
 * where the compiler has such a type: long double on some processors, __float128 on x86.
 * Elsewhere MPI_REAL16 and MPI_COMPLEX32 do not exist.
 */
#ifndef WEFT_DATATYPE_REAL16_H
#define WEFT_DATATYPE_REAL16_H

#include <float.h>

#if LDBL_MANT_DIG == 113
#define WEFT_HAS_REAL16
typedef long double weft_real16;
#elif defined(__SIZEOF_FLOAT128__)
#define WEFT_HAS_REAL16
__extension__ typedef __float128 weft_real16;
#endif

/* Decimal digits and largest decimal exponent of binary128. */
enum { WEFT_REAL16_DIG = 33, WEFT_REAL16_MAX_10_EXP = 4932 };

#endif
