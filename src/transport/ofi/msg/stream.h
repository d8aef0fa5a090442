/*
 * stream.h - which connection a long message takes: all of a peer's streams in turn.
 * Where one connection is not given all of a network's bandwidth, several are. Each is
 * made when its turn comes for the first time, as the first one is (connect.h); nothing
 * waits for a stream that is not open yet.
 */
#ifndef WEFT_OFI_MSG_STREAM_H
#define WEFT_OFI_MSG_STREAM_H

#include "transport/ofi/msg/msg.h"

/* The stream of the next long message to the peer; `path` itself while the stream whose
 * turn it is is not open. */
struct weft_path *weft_msg_next_path(struct weft_path *path);
/* The stream that the peer calls by a number; `path` itself if it is not open. */
struct weft_path *weft_msg_find_path(struct weft_path *path, uint32_t number);

#endif
