/*
 * passing.h - sends and receives bytes and a descriptor over a UNIX socket.
 */
#ifndef WEFT_WIREUP_PASSING_H
#define WEFT_WIREUP_PASSING_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Sends `size` bytes, with the descriptor `fd` beside them. `flags` are those of
 * sendmsg(); a closed socket raises no signal. Returns as sendmsg() does.
 */
ssize_t weft_pass_descriptor(int to, const void *bytes, size_t size, int fd, int flags);

/*
 * Receives up to `size` bytes. *fd is the descriptor that came with them, which the
 * caller owns and which is close-on-exec, or -1. Returns as recvmsg() does.
 */
ssize_t weft_take_descriptor(int from, void *bytes, size_t size, int *fd);

#endif
