/*
 * request.c - requests of sends and receives as such.
 */
#include "p2p/internal.h"

struct weft_wait_reason weft_p2p_wait_reason(const struct weft_request *request,
                                             const char *call)
{
    const struct weft_p2p_request *r = (const struct weft_p2p_request *)request;
    const bool is_recv = request->kind == WEFT_REQUEST_RECV;

    return (struct weft_wait_reason){
        .call = call,
        .comm = request->comm != NULL ? request->comm->name : "",
        .peer = is_recv ? r->posted.source : (int)r->peer->rank,
        .tag = is_recv ? r->posted.tag : r->header.tag,
        .bytes = r->data.bytes,
    };
}
