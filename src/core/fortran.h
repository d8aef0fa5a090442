/*
 * fortran.h - what a Fortran binding says about its types, once (chapter 20).
 *
 * Weft lays INTEGER, LOGICAL and REAL out in 4 bytes and DOUBLE PRECISION in 8; a binding
 * that says something else is refused. A binding may set and read both, the sizes and
 * the booleans, at any time. All calls need the lock of objects.
 */
#ifndef WEFT_CORE_FORTRAN_H
#define WEFT_CORE_FORTRAN_H

#include "core/info.h"

enum weft_fortran_result {
    WEFT_FORTRAN_SET,
    WEFT_FORTRAN_SET_BEFORE,  /* may be set only once */
    WEFT_FORTRAN_UNSUPPORTED, /* Weft's types have other sizes */
    WEFT_FORTRAN_NO_MEMORY,
};

/* The sizes of Fortran's types, and which optional ones exist; the object is copied. */
enum weft_fortran_result weft_fortran_set_info(const struct weft_info *info);

/* The copy, or NULL. */
const struct weft_info *weft_fortran_info(void);

/* The bytes of .TRUE. and .FALSE. in a LOGICAL of `size` bytes; they are copied. */
enum weft_fortran_result weft_fortran_set_booleans(int size, const void *is_true,
                                                   const void *is_false);

/* Copies them out; false: they were not set, or for another size. */
bool weft_fortran_booleans(int size, void *is_true, void *is_false);

#endif
