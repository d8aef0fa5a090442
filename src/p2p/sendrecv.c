/*
 * sendrecv.c - one request for a send and a receive: complete when both are, with what
 * the receive got. It is a schedule of one step, so it also ends while the program
 * computes.
 */
#include "p2p/internal.h"

#include "engine/lock.h"

#include <stdlib.h>

struct both {
    struct weft_request base; /* first: what the user holds */
    struct weft_schedule schedule;
    struct weft_request *recv;
    struct weft_request *send;
    void *copy; /* of what is sent, or NULL */
};

_Static_assert(sizeof(struct both) <= offsetof(struct weft_p2p_request, posted.number),
               "all requests are taken from one pool, and a receive that takes this one "
               "next relies on what the last receive left in `posted`");

/* The receive's error counts before the send's. */
static void end_if_complete(struct both *both)
{
    const struct weft_request *recv = both->recv;
    const struct weft_request *send = both->send;
    enum weft_rc rc;

    if (!weft_request_is_complete(recv) || !weft_request_is_complete(send)) {
        return;
    }
    both->base.source = recv->source;
    both->base.tag = recv->tag;
    both->base.bytes = recv->bytes;
    rc = recv->rc != WEFT_OK ? recv->rc : send->rc;
    weft_request_give(both->recv);
    weft_request_give(both->send);
    free(both->copy);
    weft_request_complete(&both->base, rc);
}

static void advance(struct weft_schedule *schedule)
{
    end_if_complete(
        (struct both *)(void *)((char *)schedule - offsetof(struct both, schedule)));
}

enum weft_rc weft_both_begin(struct weft_comm *comm, struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_request_take(out);
    if (rc == WEFT_OK) {
        struct both *both = (struct both *)*out;

        both->base.kind = WEFT_REQUEST_SCHEDULE;
        weft_request_set_comm(&both->base, comm);
        both->schedule = (struct weft_schedule){.advance = advance};
    }
    weft_unlock();
    return rc;
}

static void follow(struct both *both, struct weft_request *part)
{
    if (!weft_request_is_complete(part)) {
        weft_request_set_schedule(part, &both->schedule);
    }
}

void weft_both_join(struct weft_request *request, struct weft_request *recv,
                    struct weft_request *send, void *copy)
{
    struct both *both = (struct both *)request;

    weft_lock();
    both->recv = recv;
    both->send = send;
    both->copy = copy;
    follow(both, recv);
    follow(both, send);
    end_if_complete(both);
    weft_request_hand_out(request);
    weft_p2p_leave();
    weft_unlock();
}

void weft_both_undo(struct weft_request *request, struct weft_request *recv)
{
    weft_lock();
    if (recv != NULL) {
        if (weft_p2p_cancel(recv)) {
            weft_request_complete(recv, WEFT_OK);
        }
        weft_request_detach(recv);
    }
    weft_request_give(request);
    weft_unlock();
}
