/*
 * access.h - moves bytes between extents of a file and memory, and returns when they are
 * moved or cannot be.
 *
 * Memory is described by a struct weft_data, so it may have any layout. Every call runs
 * on the caller's thread, blocks as long as the file system does, and needs no lock. A
 * call that is interrupted goes on; one that moves less than it was asked for is repeated
 * for the rest.
 */
#ifndef WEFT_IO_ACCESS_H
#define WEFT_IO_ACCESS_H

#include "io/fault.h"
#include "io/view.h"
#include "transfer/data.h"

#include <sys/types.h>

/* What moves bytes: the system, or a test's own. As preadv() and pwritev(). */
struct weft_file_ops {
    ssize_t (*preadv)(int fd, const struct iovec *blocks, int count, off_t offset);
    ssize_t (*pwritev)(int fd, const struct iovec *blocks, int count, off_t offset);
};

/* Those of the system. */
const struct weft_file_ops *weft_file_posix(void);

struct weft_access {
    const struct weft_file_ops *ops;
    int fd;
    bool is_write;
    bool may_sieve; /* of a read: bytes between pieces may be read, too (sieve.h) */
};

/* What has happened so far. Zeroed at the start of a call; the next functions add to it,
 * and do nothing once `fault` is set or the end was met. */
struct weft_moved {
    uint64_t bytes; /* in the order of the data; all of them are in place */
    uint64_t at;    /* of a fault: the file offset of the first byte that was not moved */
    int fault;
    bool is_at_end;    /* of a read: the file has no more bytes */
    bool is_elsewhere; /* the fault is another member's, of a call of all members */
};

/* Moves the bytes of `n` extents, in order, from or to the packed bytes of `data` that
 * begin at `from`. */
void weft_access_extents(const struct weft_access *access,
                         const struct weft_file_extent *extents, size_t n,
                         const struct weft_data *data, uint64_t from,
                         struct weft_moved *moved);

/* The same for the bytes of a view: all of `data`, from a position of the view on. */
void weft_access_view(const struct weft_access *access, const struct weft_view *view,
                      uint64_t position, const struct weft_data *data,
                      struct weft_moved *moved);

#endif
