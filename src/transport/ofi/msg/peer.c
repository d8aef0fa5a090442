#include "transport/ofi/msg/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

struct weft_msg_peer *weft_msg_peer_get(struct weft_transport *tp, uint64_t process,
                                        struct weft_peer *above)
{
    struct weft_msg_peer *peer = weft_table_find(&tp->peers, process);

    if (peer != NULL) {
        return peer;
    }
    peer = weft_ofi_index_grow(&tp->index)
               ? weft_table_add(&tp->peers, process, sizeof(*peer))
               : NULL;
    if (peer != NULL) {
        peer->index = weft_ofi_index_add(&tp->index, peer);
        peer->above = above != NULL ? above : tp->up->meet(tp->up->owner, process);
        peer->first = (struct weft_msg_stream){
            .base =
                {
                    .packets = tp->packets,
                    .memory = tp->memory,
                    .transport = tp,
                    .peer = peer->above,
                    .process = process,
                    .packet_max = WEFT_MSG_PACKET_MAX,
                    .zcopy_max = tp->zcopy_max,
                    .prefers_get = tp->is_fetching,
                },
            .peer = peer,
        };
        peer->streams[0] = &peer->first;
    }
    return peer;
}

struct weft_msg_stream *weft_msg_stream_get(struct weft_msg_peer *peer, uint32_t number)
{
    struct weft_msg_stream *stream = peer->streams[number];

    if (stream != NULL) {
        return stream;
    }
    stream = calloc(1, sizeof(*stream));
    if (stream != NULL) {
        stream->base = peer->first.base;
        stream->base.number = (uint8_t)number;
        stream->peer = peer;
        stream->state =
            peer->first.state == WEFT_MSG_LOST ? WEFT_MSG_LOST : WEFT_MSG_NONE;
        peer->streams[number] = stream;
    }
    return stream;
}

static bool is_pending(enum weft_msg_state state)
{
    return state == WEFT_MSG_ASKING || state == WEFT_MSG_CONFIRMING ||
           state == WEFT_MSG_ACCEPTING;
}

void weft_msg_set_state(struct weft_transport *tp, struct weft_msg_stream *stream,
                        enum weft_msg_state state)
{
    tp->pending += is_pending(state) ? 1 : 0;
    tp->pending -= is_pending(stream->state) ? 1 : 0;
    tp->connections += state == WEFT_MSG_OPEN ? 1 : 0;
    tp->connections -= stream->state == WEFT_MSG_OPEN ? 1 : 0;
    stream->state = state;
}

void weft_msg_close_endpoint(struct weft_msg_stream *stream)
{
    if (stream->ep != NULL) {
        fi_close(&stream->ep->fid);
        stream->ep = NULL;
        stream->socket = 0;
    }
}

void weft_msg_close_streams(struct weft_msg_peer *peer)
{
    for (uint32_t i = 0; i < WEFT_STREAMS_MAX; i++) {
        struct weft_msg_stream *stream = peer->streams[i];

        if (stream == NULL) {
            continue;
        }
        weft_msg_close_endpoint(stream);
        weft_kept_empty(&stream->kept);
        peer->streams[i] = NULL;
        if (stream != &peer->first) {
            free(stream);
        }
    }
}

static void text_of(const struct sockaddr_storage *address, char *text, size_t room)
{
    char host[INET6_ADDRSTRLEN] = "?";
    int port;

    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)(const void *)address;

        inet_ntop(AF_INET6, &a->sin6_addr, host, sizeof(host));
        port = ntohs(a->sin6_port);
    } else {
        const struct sockaddr_in *a = (const struct sockaddr_in *)(const void *)address;

        inet_ntop(AF_INET, &a->sin_addr, host, sizeof(host));
        port = ntohs(a->sin_port);
    }
    snprintf(text, room, "%s port %d", host, port);
}

void weft_msg_name_peer(const struct weft_msg_peer *peer, char *text, size_t room)
{
    char address[80] = "its address is not known";

    if (peer->has_address) {
        text_of(&peer->address, address, sizeof(address));
    }
    snprintf(text, room, "rank %u%s%s (%s)", weft_process_rank(peer->process),
             peer->host[0] != '\0' ? " on " : "", peer->host, address);
}
