/*
 * fortran.h - what a Fortran binding has told about its types, once (chapter 20).
 *
 * Weft lays INTEGER, LOGICAL and REAL out in 4 bytes and DOUBLE PRECISION in 8; a binding
 * that says something else cannot work with it and is refused. Both kinds of knowledge
 * may come and be asked for at any time. All calls need the library's lock.
 */
#ifndef WEFT_CORE_FORTRAN_H
#define WEFT_CORE_FORTRAN_H

#include "core/info.h"

enum weft_told {
    WEFT_TOLD,
    WEFT_TOLD_BEFORE,     /* once is enough */
    WEFT_TOLD_IMPOSSIBLE, /* not with the sizes that we use */
    WEFT_TOLD_NO_MEMORY,
};

/* The sizes and what is supported; the object is copied. */
enum weft_told weft_fortran_set_info(const struct weft_info *info);

/* The copy, or NULL. */
const struct weft_info *weft_fortran_info(void);

/* How .TRUE. and .FALSE. look in a LOGICAL of so many bytes. */
enum weft_told weft_fortran_set_booleans(int size, const void *is_true,
                                         const void *is_false);

/* False: nobody has said, or for another size. */
bool weft_fortran_booleans(int size, void *is_true, void *is_false);

#endif
