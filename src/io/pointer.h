/*
 * pointer.h - the file pointer that all members of a file share (MPI-5.0, 14.4.4).
 *
 * It is one word, in etypes, in the memory of the first member. To take a part of the
 * file is one fetch-and-add on it, from any member. All calls take the lock themselves,
 * and return a fault.
 */
#ifndef WEFT_IO_POINTER_H
#define WEFT_IO_POINTER_H

#include "io/file.h"

/* Called by all members; the first can fail, then no member has opened it. */
WEFT_MUST_CHECK int weft_pointer_open(struct weft_file *file, uint64_t start,
                                      const char *call);
void weft_pointer_close(struct weft_file *file, const char *call);

/* Of one member: the value before `etypes` were added; and another value. */
WEFT_MUST_CHECK int weft_pointer_add(struct weft_file *file, uint64_t etypes,
                                     const char *call, uint64_t *before);
WEFT_MUST_CHECK int weft_pointer_set(struct weft_file *file, uint64_t etypes,
                                     const char *call);

#endif
