/*
 * accessible.h - buffers of the user's that cannot be read or written: a pointer that
 * leads nowhere, or memory of a device.
 *
 * Over a network the kernel or the hardware would find out, and end the connection with
 * an error that names no cause. So long buffers are looked at before they are handed down
 * (base/memory.h): one system call for a send, two for a receive, where the message takes
 * ten times as long. The call fails, and its peer is not harmed. Inside a node a look
 * costs too much beside the message. If bytes cannot be moved from memory to memory, the
 * owner looks whether its own buffer is the cause; then the job ends with a line, because
 * the other side waits in the middle of the message. What is small, or not contiguous, is
 * copied by the processor: there a bad pointer is a signal, as it is anywhere else.
 *
 * Needs the lock.
 */
#ifndef WEFT_TRANSFER_ACCESSIBLE_H
#define WEFT_TRANSFER_ACCESSIBLE_H

#include "transfer/data.h"
#include "wireup/wireup.h"

#include <stdbool.h>

/* Are the data of a send contiguous and not readable? Remembers those that are not. */
bool weft_data_is_unreadable(const struct weft_data *data);

/* Are the first `length` bytes for a receive contiguous and not writable? Remembers them
 * if they are not. */
bool weft_data_is_unwritable(const struct weft_data *data, uint64_t length);

/* Describes the buffer that was remembered last. */
const char *weft_data_describe_bad(char *text, size_t size);

/* Ends the job if bytes of contiguous data, which could not be moved, are not readable
 * or, if they are received, not writable. `what` names the buffer. */
void weft_data_end_if_inaccessible(struct weft_job *job, const struct weft_data *data,
                                   uint64_t offset, uint64_t length, bool is_received,
                                   const char *what);

#endif
