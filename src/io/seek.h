/*
 * seek.h - where a file pointer goes (MPI-5.0, 14.4.3).
 */
#ifndef WEFT_IO_SEEK_H
#define WEFT_IO_SEEK_H

#include "io/file.h"

/* The etype that MPI_File_seek means, from a pointer at `now`, by the view of the file;
 * *out may be negative. Returns a fault. Without the lock. */
WEFT_MUST_CHECK int weft_file_seek_to(struct weft_file *file, uint64_t now, int64_t etype,
                                      int whence, int64_t *out);

/* The same; EINVAL if it would be negative. */
WEFT_MUST_CHECK int weft_file_seek_from(struct weft_file *file, uint64_t now,
                                        int64_t etype, int whence, int64_t *out);

#endif
