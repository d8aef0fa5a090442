/*
 * stream.h - chooses the connection (stream) of a long message: all of a peer's streams
 * in turn. Several connections help where the network limits the bandwidth of one. Each
 * is made when it is chosen for the first time (connect.h). No message waits for a stream
 * that is not open yet. All functions need the library's lock.
 */
#ifndef WEFT_OFI_MSG_STREAM_H
#define WEFT_OFI_MSG_STREAM_H

#include "transport/ofi/msg/msg.h"

/* Returns the stream of the next long message to the peer; `path` itself if the next
 * stream is not open yet. */
struct weft_path *weft_msg_next_path(struct weft_path *path);
/* Returns the stream with the number that the peer has named; `path` itself if it is not
 * open. */
struct weft_path *weft_msg_find_path(struct weft_path *path, uint32_t number);

#endif
