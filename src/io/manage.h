/*
 * manage.h - a file's size and what is on disk. Each call is of one process, runs on the
 * caller's thread without the lock, and returns a fault.
 */
#ifndef WEFT_IO_MANAGE_H
#define WEFT_IO_MANAGE_H

#include "io/file.h"

WEFT_MUST_CHECK int weft_file_size(const struct weft_file *file, uint64_t *size);
WEFT_MUST_CHECK int weft_file_resize(const struct weft_file *file, uint64_t size);

/* The file has at least `size` bytes from now on, and room for them on disk. What it has
 * stays. */
WEFT_MUST_CHECK int weft_file_reserve(const struct weft_file *file, uint64_t size);

/* What this process has written is on disk. Does nothing if it has written nothing since
 * the last time. */
WEFT_MUST_CHECK int weft_file_flush(struct weft_file *file);

#endif
