/*
 * filter.h - the kernel rejects connections from outside the job.
 *
 * A rank draws a random token and publishes it with its address; a request to connect
 * begins with the token of the rank that is asked. The listening sockets have a packet
 * filter (BPF), which their connections inherit. It drops what is not the beginning of a
 * connection, its reset, or one whole request with the token. A connection is complete
 * for the kernel when its third packet arrives, and the first that passes is the request.
 * So a process without the token is never accepted, whatever it sends: it costs no
 * descriptor, does not wake this process, and the kernel forgets it after a minute. If
 * more such connections wait than the kernel remembers, it answers with cookies, and
 * peers connect all the same. A request is there as a whole when it is read, so that the
 * read cannot block; libfabric's tcp reads from a socket that blocks.
 *
 * The token is no proof, as it can be recorded from the network; the handshake that
 * follows is one (handshake.h). The filter is taken off a connection when its request has
 * been read.
 *
 * Where the kernel takes no filter, three options do a part of its work, which
 * connections inherit as well: TCP_DEFER_ACCEPT (a connection that has brought no data
 * within half a minute is not accepted), SO_RCVTIMEO (a read that waits gives up), and
 * SO_RCVLOWAT (less than the shortest request is nothing to read). The last one is a
 * mark, too: it is taken off together with the filter, so a connection that still has it
 * has not sent its request. reap.h ends such connections.
 */
#ifndef WEFT_OFI_QUIRKS_FILTER_H
#define WEFT_OFI_QUIRKS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

enum { WEFT_TOKEN_BYTES = 8 };

/* For a socket that is about to listen. What the kernel refuses is done without. */
void weft_filter_attach(int fd, const uint8_t token[WEFT_TOKEN_BYTES]);
/* The request of a connection has been read: from now on it may carry anything. */
bool weft_filter_detach(int fd);
/* Is it a connection that was accepted, and whose request has not been read? */
bool weft_filter_is_unknown(int fd);

#endif
