#include "transport/ofi/msg/stream.h"

#include "transport/ofi/msg/connect.h"
#include "transport/ofi/msg/peer.h"

struct weft_path *weft_msg_next_path(struct weft_path *path)
{
    struct weft_msg_stream *first = weft_msg_stream_of(path);
    struct weft_transport *tp = path->transport;
    struct weft_msg_peer *peer = first->peer;
    struct weft_msg_stream *stream;

    if (tp->streams == 1 || first->state != WEFT_MSG_OPEN) {
        return path;
    }
    stream = weft_msg_stream_get(peer, peer->next_stream++ % tp->streams);
    if (stream == NULL) {
        return path;
    }
    if (stream->state == WEFT_MSG_OPEN) {
        return &stream->base;
    }
    weft_msg_connect(tp, stream);
    return path;
}

struct weft_path *weft_msg_find_path(struct weft_path *path, uint32_t number)
{
    const struct weft_msg_peer *peer = weft_msg_stream_of(path)->peer;
    struct weft_msg_stream *stream =
        number < WEFT_STREAMS_MAX ? peer->streams[number] : NULL;

    return stream != NULL && stream->state == WEFT_MSG_OPEN ? &stream->base : path;
}
