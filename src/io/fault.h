/*
 * fault.h - what went wrong with a file: 0, an errno, or one of the numbers below.
 *
 * A fault is an int, so that all members of a file agree on one by a maximum. It becomes
 * an error class in bindings/check/file.c and nowhere else.
 */
#ifndef WEFT_IO_FAULT_H
#define WEFT_IO_FAULT_H

#include "base/rc.h"

enum weft_io_fault {
    WEFT_IO_FINE = 0,
    WEFT_IO_OWN = 4096,   /* errno is below */
    WEFT_IO_NOT_SAME,     /* members of a collective call gave different arguments */
    WEFT_IO_CONVERSION,   /* a conversion function of the user failed */
    WEFT_IO_RC,           /* plus an enum weft_rc, from here on */
    WEFT_IO_CLASS = 8192, /* plus an error class: a member's arguments were refused */
};

static inline int weft_io_fault_of(enum weft_rc rc)
{
    return rc == WEFT_OK ? WEFT_IO_FINE : WEFT_IO_RC + (int)rc;
}

#endif
