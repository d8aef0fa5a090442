/*
 * persistent.c - sends and receives that are started again and again.
 *
 * A persistent request is one of the requests that all messages have: starting it does
 * with that request what MPI_Isend and MPI_Irecv do with one they take. What they are
 * told as arguments is kept here. Answers of the peer name the request by its handle,
 * which stays the same; none is under way when the request is complete, so none can be
 * taken for one of the next start.
 */
#include "p2p/buffered.h"
#include "p2p/internal.h"

#include "engine/lock.h"

#include <stdlib.h>

struct standing {
    struct weft_persistent base; /* first */
    struct weft_data data;
    int peer; /* or MPI_PROC_NULL */
    int tag;
    unsigned flags; /* of a send */
};

/* It is over when it has been copied. */
static enum weft_rc start_bsend(struct weft_request *request)
{
    const struct standing *s = (const struct standing *)request->persistent;
    const enum weft_rc rc =
        s->peer == MPI_PROC_NULL
            ? WEFT_OK
            : weft_bsend_locked(request->comm, s->peer, s->tag, &s->data);

    if (rc == WEFT_OK) {
        weft_request_complete(request, WEFT_OK);
    }
    return rc;
}

static enum weft_rc start_send(struct weft_request *request)
{
    const struct standing *s = (const struct standing *)request->persistent;
    struct weft_p2p_request *send = (struct weft_p2p_request *)request;

    if (weft_unlikely(s->peer == MPI_PROC_NULL)) {
        weft_request_complete(request, WEFT_OK);
        return WEFT_OK;
    }
    return weft_likely(s->data.type == NULL)
               ? weft_p2p_send_with_request(send, request->comm, s->peer, s->tag,
                                            &s->data, s->flags)
               : weft_p2p_send_data_with_request(send, request->comm, s->peer, s->tag,
                                                 &s->data, s->flags);
}

static enum weft_rc start_recv(struct weft_request *request)
{
    const struct standing *s = (const struct standing *)request->persistent;

    if (weft_unlikely(s->peer == MPI_PROC_NULL)) {
        request->source = MPI_PROC_NULL;
        request->tag = MPI_ANY_TAG;
        request->bytes = 0;
        weft_request_complete(request, WEFT_OK);
        return WEFT_OK;
    }
    return weft_p2p_recv_with_request((struct weft_p2p_request *)request, request->comm,
                                      WEFT_PLANE_P2P, s->peer, s->tag, &s->data);
}

static void close_standing(struct weft_persistent *persistent)
{
    struct standing *s = (struct standing *)persistent;

    if (s->data.type != NULL) {
        weft_datatype_release(s->data.type);
    }
    free(s);
}

static enum weft_rc make(struct weft_comm *comm, const struct standing *description,
                         enum weft_request_kind kind, struct weft_request **out)
{
    struct standing *s = malloc(sizeof(*s));
    enum weft_rc rc;

    if (s == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *s = *description;
    weft_lock();
    rc = weft_p2p_take_request(out);
    if (rc == WEFT_OK) {
        struct weft_request *request = *out;

        if (s->data.type != NULL) {
            weft_datatype_keep(s->data.type);
        }
        request->kind = (uint8_t)kind;
        request->source = MPI_ANY_SOURCE; /* what a send tells */
        request->tag = MPI_ANY_TAG;
        request->bytes = 0;
        weft_request_set_comm(request, comm);
        weft_request_set_persistent(request, &s->base);
    }
    weft_unlock();
    if (rc != WEFT_OK) {
        free(s);
    }
    return rc;
}

enum weft_rc weft_send_init(struct weft_comm *comm, int dest, int tag,
                            const struct weft_data *data, unsigned flags,
                            struct weft_request **out)
{
    const struct standing s = {
        .base = {(flags & WEFT_SEND_BUFFERED) == WEFT_SEND_BUFFERED ? start_bsend
                                                                    : start_send,
                 close_standing},
        .data = *data,
        .peer = dest,
        .tag = tag,
        .flags = flags,
    };

    return make(comm, &s, WEFT_REQUEST_SEND, out);
}

enum weft_rc weft_recv_init(struct weft_comm *comm, int source, int tag,
                            const struct weft_data *data, struct weft_request **out)
{
    const struct standing s = {
        .base = {start_recv, close_standing},
        .data = *data,
        .peer = source,
        .tag = tag,
    };

    return make(comm, &s, WEFT_REQUEST_RECV, out);
}
