#include "transport/ofi/msg/stream.h"

#include "transport/ofi/msg/connect.h"
#include "transport/ofi/msg/peer.h"

struct weft_endpoint *weft_msg_next_stream(struct weft_endpoint *ep)
{
    struct weft_msg_stream *first = weft_msg_stream_of(ep);
    struct weft_transport *tp = ep->transport;
    struct weft_msg_peer *peer = first->peer;
    struct weft_msg_stream *stream;

    if (tp->streams == 1 || first->state != WEFT_MSG_OPEN) {
        return ep;
    }
    stream = weft_msg_stream_get(peer, peer->next_stream++ % tp->streams);
    if (stream == NULL) {
        return ep;
    }
    if (stream->state == WEFT_MSG_OPEN) {
        return &stream->base;
    }
    weft_msg_connect(tp, stream);
    return ep;
}

struct weft_endpoint *weft_msg_find_stream(struct weft_endpoint *ep, uint32_t number)
{
    const struct weft_msg_peer *peer = weft_msg_stream_of(ep)->peer;
    struct weft_msg_stream *stream =
        number < WEFT_STREAMS_MAX ? peer->streams[number] : NULL;

    return stream != NULL && stream->state == WEFT_MSG_OPEN ? &stream->base : ep;
}
