/*
 * connect.h - connections, made on first contact by whoever polls: the caller's side.
 *
 * The three steps of the handshake (handshake.h) go in the private data of two attempts
 * to connect, so that no connection exists before all three are right:
 *
 *   caller                               listener (accept.h)
 *   connect with step 1, an ask     -->  refuses it, with step 2, an answer
 *   connect with step 3, a confirm  -->  accepts
 *
 * The second attempt is needed because receive buffers are shared: what comes through
 * them does not tell which connection it came by.
 *
 * All this is done for each stream by itself: its number is in the ask and, before the
 * confirm, in the clear; every tag covers it.
 */
#ifndef WEFT_OFI_MSG_CONNECT_H
#define WEFT_OFI_MSG_CONNECT_H

#include "transport/ofi/msg/msg.h"

/* Begins to connect, if that has not begun. */
void weft_msg_connect(struct weft_transport *tp, struct weft_msg_stream *stream);

/* An attempt of ours was refused: with an answer, with a reason, or because nobody is
 * there; then `bytes` is 0 and `code` is libfabric's. */
void weft_msg_on_refused(struct weft_transport *tp, struct weft_msg_stream *stream,
                         const uint8_t *data, size_t bytes, int code);

/* Nothing has come by this stream for weft_silence_ms(): if it was never open, the next
 * address of the peer is tried; else the peer is lost. */
void weft_msg_on_silence(struct weft_transport *tp, struct weft_msg_stream *stream);

/* What has answered our attempt is not of this job. */
void weft_msg_on_wrong_answer(struct weft_transport *tp, struct weft_msg_stream *stream);

/* The peer is about to connect to us, or so it seems: we do not ask for some time. */
void weft_msg_expect_theirs(struct weft_msg_stream *stream);

/* Makes the stream's endpoint in place of the one it has; the code is libfabric's. */
long weft_msg_make_endpoint(struct weft_transport *tp, struct weft_msg_stream *stream,
                            struct fi_info *info);

#endif
