/* peer.h - peers, and their streams: made when they are first named, freed when the
 * transport is closed. */
#ifndef WEFT_OFI_MSG_PEER_H
#define WEFT_OFI_MSG_PEER_H

#include "transport/ofi/msg/msg.h"

/* The peer of a process, made if it is new; NULL: no memory. `above`: what upcalls call
 * it, if that is known. */
struct weft_msg_peer *weft_msg_peer_get(struct weft_transport *tp, uint64_t process,
                                        struct weft_peer *above);

/* What peers call a stream of ours in their frames, and the stream of such an index;
 * NULL: there is none. */
static inline uint32_t weft_msg_index_of(const struct weft_msg_stream *stream)
{
    return stream->peer->index * WEFT_STREAMS_MAX + stream->base.number;
}

static inline struct weft_msg_stream *weft_msg_stream_at(const struct weft_transport *tp,
                                                         uint32_t index)
{
    const uint32_t number = index / WEFT_STREAMS_MAX;
    const struct weft_msg_peer *peer =
        weft_likely(number < tp->index.count) ? tp->index.at[number] : NULL;

    return weft_likely(peer != NULL) ? peer->streams[index % WEFT_STREAMS_MAX] : NULL;
}

/* The peer's stream of a number below WEFT_STREAMS_MAX, made if it is new; NULL: no
 * memory. A new stream of a peer that is lost is lost, too. */
struct weft_msg_stream *weft_msg_stream_get(struct weft_msg_peer *peer, uint32_t number);

static inline bool weft_msg_is_first(const struct weft_msg_stream *stream)
{
    return stream == &stream->peer->first;
}

/* Keeps the transport's counts of connections. */
void weft_msg_set_state(struct weft_transport *tp, struct weft_msg_stream *stream,
                        enum weft_msg_state state);

/* Closes the endpoint of a stream, if there is one. */
void weft_msg_close_endpoint(struct weft_msg_stream *stream);
/* Closes and frees all streams of a peer, with the packets that wait there. */
void weft_msg_close_streams(struct weft_msg_peer *peer);

/* "rank 3 on node7 (10.0.0.7 port 47003)", as far as it is known. */
enum { WEFT_MSG_NAME_BYTES = 160 };
void weft_msg_name_peer(const struct weft_msg_peer *peer, char *text, size_t room);

#endif
