/*
 * stream.c - further connections to a peer, for long messages in turn: where one
 * connection is not given all of a network's bandwidth, several are. They are made as the
 * first is (connect.c), each when its turn comes for the first time; nothing waits for
 * one that does not stand yet.
 */
#include "transport/ofi/msg/msg.h"

#include <stdlib.h>

struct weft_msg_stream *weft_msg_stream_get(struct weft_msg_peer *peer, uint32_t number)
{
    struct weft_msg_stream *stream = peer->streams[number];

    if (stream != NULL) {
        return stream;
    }
    stream = calloc(1, sizeof(*stream));
    if (stream != NULL) {
        stream->base = peer->first.base;
        stream->base.stream = number;
        stream->peer = peer;
        peer->streams[number] = stream;
    }
    return stream;
}

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

void weft_msg_close_streams(struct weft_msg_peer *peer)
{
    for (uint32_t i = 0; i < WEFT_STREAMS_MAX; i++) {
        struct weft_msg_stream *stream = peer->streams[i];

        if (stream == NULL) {
            continue;
        }
        if (stream->ep != NULL) {
            fi_close(&stream->ep->fid);
            stream->ep = NULL;
        }
        weft_msg_empty(&stream->early);
        peer->streams[i] = NULL;
        if (stream != &peer->first) {
            free(stream);
        }
    }
}
