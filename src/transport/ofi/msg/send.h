/*
 * send.h - packets out, against the credits that the peer has granted. Small ones are
 * injected where the provider can; others are copied into a slot, which is free again
 * when the provider says so.
 */
#ifndef WEFT_OFI_MSG_SEND_H
#define WEFT_OFI_MSG_SEND_H

#include "transport/ofi/msg/msg.h"

/* The transport's send(). */
enum weft_rc weft_msg_send(struct weft_path *path, const void *header, const void *data,
                           size_t len, unsigned flags);

/* Sends a frame without a packet by the peer's first stream. False: there is no room
 * now. */
bool weft_msg_send_bare(struct weft_transport *tp, struct weft_msg_peer *peer,
                        enum weft_frame_kind kind);

/* Returns credits by a frame of its own, now or when there is room. */
void weft_msg_return_credits(struct weft_transport *tp, struct weft_msg_peer *peer);
/* Tries again for all peers whose credits could not be returned. */
void weft_msg_return_all_credits(struct weft_transport *tp);

/* For zcopy.c and memory.c. May `bytes` bytes of ordered packets go by the stream? Begins
 * to connect if it is not open. */
enum weft_rc weft_msg_may_send(struct weft_transport *tp, struct weft_msg_stream *stream,
                               size_t bytes);
/* The frame of a packet by this stream; what is counted once it was sent. */
struct weft_frame weft_msg_frame(const struct weft_msg_stream *stream,
                                 enum weft_frame_kind kind);
void weft_msg_has_sent(struct weft_msg_peer *peer, const struct weft_frame *frame,
                       size_t bytes);
/* What a post to libfabric that returned `code` means: WEFT_OK, WEFT_AGAIN, or the peer
 * is lost. */
enum weft_rc weft_msg_outcome(struct weft_transport *tp, struct weft_msg_stream *stream,
                              ssize_t code);

#endif
