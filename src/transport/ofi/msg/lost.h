/*
 * lost.h - connections that have ended, and peers that cannot be reached.
 *
 * The `lost` upcall reports each lost peer once to the engine, with a sentence that
 * names both hosts, the address, the cause and the settings to look at. If the process at
 * the other end has died, the launcher knows the cause better than we do: it is about to
 * end the job or, with --keep-going, to count the failure. So the end of a connection
 * that was open is reported a second later. Meanwhile sends to that peer return
 * WEFT_AGAIN.
 */
#ifndef WEFT_OFI_MSG_LOST_H
#define WEFT_OFI_MSG_LOST_H

#include "transport/ofi/msg/msg.h"

/* A connection has failed, or cannot be made, and with it the peer is lost. A further
 * stream that was never open is given up alone. */
void weft_msg_lose(struct weft_transport *tp, struct weft_msg_stream *stream,
                   const char *cause);
/* Ends a connection for a cause that lies in this process. The engine learns it
 * before the peer, which sees only the end, reports it. */
void weft_msg_give_up(struct weft_transport *tp, struct weft_msg_stream *stream,
                      const char *cause);
/* The other end of a connection has not answered for weft_silence_ms(). */
void weft_msg_lose_silent(struct weft_transport *tp, struct weft_msg_stream *stream);

/* Calls `lost` for the peers that are due; returns the time when the next one is due, or
 * 0 if there is none. */
uint64_t weft_msg_report_losses(struct weft_transport *tp);

#endif
