/*
 * lock.h - locks of parts of a file, among processes that open it by MPI.
 *
 * A lock belongs to the open file description (F_OFD_SETLKW), so two handles of one
 * process exclude each other, too. Threads that use one handle would not: they take the
 * handle's mutex first. Where the system has no such locks, those of the process are
 * used; then two handles of one process do not exclude each other, which the log says
 * once.
 *
 * Without the library's lock; blocks until the lock is granted.
 */
#ifndef WEFT_IO_LOCK_H
#define WEFT_IO_LOCK_H

#include "io/file.h"

/* Bytes from `offset` on, for writing or for reading. Returns a fault; then nothing is
 * locked. */
WEFT_MUST_CHECK int weft_file_lock(struct weft_file *file, struct weft_file_extent range,
                                   bool is_write);
void weft_file_unlock(struct weft_file *file, struct weft_file_extent range);

#endif
