/*
 * request.c - requests of sends and receives as such.
 */
#include "p2p/internal.h"

#include "transfer/stage.h"

#include <stdlib.h>

struct weft_wait_reason weft_p2p_wait_reason(const struct weft_request *request,
                                             const char *call)
{
    const struct weft_p2p_request *r = (const struct weft_p2p_request *)request;
    const bool is_recv = request->kind == WEFT_REQUEST_RECV;

    return (struct weft_wait_reason){
        .call = call,
        .comm = request->comm != NULL ? request->comm->name : "",
        .peer = is_recv ? r->posted.source : (int)weft_process_rank(r->peer->process),
        .tag = is_recv ? r->posted.tag : r->header.tag,
        .bytes = r->data.bytes,
    };
}

void weft_p2p_set_type(struct weft_p2p_request *request, const struct weft_data *data)
{
    weft_datatype_keep(data->type);
    request->data.type = data->type;
    request->data.count = data->count;
    request->data.skip = data->skip;
}

void weft_p2p_give_packed(void *packed, uint64_t stage)
{
    if (stage != 0) {
        weft_stage_return((struct weft_stage){packed, stage});
    } else {
        free(packed);
    }
}

void weft_p2p_release(struct weft_p2p_request *request)
{
    if (weft_unlikely(request->data.type != NULL)) {
        weft_datatype_release(request->data.type);
        request->data.type = NULL;
    }
    if (weft_unlikely(request->data.memory != NULL)) {
        if (request->memory_owner != NULL) {
            request->memory_owner->give_back(request->memory_owner, request->data.memory,
                                             request->memory_number);
            request->memory_owner = NULL;
        } else {
            weft_p2p_give_packed(request->data.memory, request->data.stage);
        }
        request->data.memory = NULL;
    }
    request->data.stage = 0;
}
