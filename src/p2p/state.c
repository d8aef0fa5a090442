/*
 * state.c - the room's state, first contact with a peer, requests for blocking calls.
 */
#include "p2p/internal.h"

struct weft_p2p weft_p2p;

enum weft_rc weft_p2p_reach(uint64_t process, struct weft_peer **out)
{
    *out = weft_peer_get(process);
    return weft_likely(*out != NULL) ? weft_engine_reach(*out) : WEFT_ERR_NOMEM;
}

struct weft_p2p_request *weft_p2p_take_spare(void)
{
    struct weft_p2p_request *request = weft_p2p.spare;
    struct weft_request *fresh;

    if (weft_likely(request != NULL)) {
        weft_p2p.spare = request->next;
        weft_event_clear(&request->base.event);
        return request;
    }
    return weft_p2p_take_request(&fresh) == WEFT_OK ? (struct weft_p2p_request *)fresh
                                                    : NULL;
}

void weft_p2p_give_spare(struct weft_p2p_request *request)
{
    request->next = weft_p2p.spare;
    weft_p2p.spare = request;
}
