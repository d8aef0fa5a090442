/*
 * agree.h - members of a file agree on what went wrong. Takes the lock.
 */
#ifndef WEFT_IO_AGREE_H
#define WEFT_IO_AGREE_H

#include "core/comm.h"

/* Every number becomes the largest that a member has. */
WEFT_MUST_CHECK enum weft_rc weft_io_largest(struct weft_comm *comm, const char *call,
                                             int64_t *numbers, int count);

/* The fault that all members get: 0 if all gave 0. */
int weft_io_agree(struct weft_comm *comm, const char *call, int fault);

#endif
