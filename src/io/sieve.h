/*
 * sieve.h - reads small pieces of a file that lie close together by one read of all
 * between the first and the last.
 *
 * A system call costs about as much as the copy of a few KiB, so this pays where pieces
 * begin at most SIEVE_DISTANCE bytes apart on average; larger holes are not read. Only
 * reads are sieved: to write what lies between pieces would be to write what another
 * process may own.
 */
#ifndef WEFT_IO_SIEVE_H
#define WEFT_IO_SIEVE_H

#include "io/access.h"

enum { WEFT_SIEVE_BYTES = 64 << 10, WEFT_SIEVE_DISTANCE = 2048 };

/* How many of the first extents are worth one read; 0 or 1: none. */
size_t weft_sieve_count(const struct weft_file_extent *extents, size_t n);

/* Reads the span of `n` extents into `buffer`, of WEFT_SIEVE_BYTES, and hands them out to
 * the data, from `from` on. Returns how many extents were whole: fewer at the end of the
 * file, after a fault, or if less was read than asked for. */
size_t weft_sieve_read(const struct weft_access *access,
                       const struct weft_file_extent *extents, size_t n, char *buffer,
                       const struct weft_data *data, uint64_t from,
                       struct weft_moved *moved);

#endif
