/*
 * together.h - what all members of a file change together: its size, its state on disk,
 * views, the shared pointer.
 *
 * Every call is of all members, takes the lock itself, and returns a fault, the same for
 * all of them: WEFT_IO_NOT_SAME if they gave different arguments. A member whose
 * arguments were refused gives its fault, and nothing is changed.
 */
#ifndef WEFT_IO_TOGETHER_H
#define WEFT_IO_TOGETHER_H

#include "io/file.h"

WEFT_MUST_CHECK int weft_file_set_size(struct weft_file *file, int64_t size, int fault,
                                       const char *call);
WEFT_MUST_CHECK int weft_file_preallocate(struct weft_file *file, int64_t size, int fault,
                                          const char *call);
WEFT_MUST_CHECK int weft_file_sync(struct weft_file *file, const char *call);
WEFT_MUST_CHECK int weft_file_set_atomic(struct weft_file *file, bool is_atomic,
                                         const char *call);

/* `view` has no references yet; `is_current`: its displacement is where the shared
 * pointer is. Both pointers are at 0 then. */
WEFT_MUST_CHECK int weft_file_set_view(struct weft_file *file, struct weft_view *view,
                                       bool is_current, int fault, const char *call);

/* `etype` is the same for all. */
WEFT_MUST_CHECK int weft_file_seek_shared(struct weft_file *file, int64_t etype,
                                          int64_t whence, int fault, const char *call);

#endif
