#include "transport/ofi/msg/events.h"

#include "base/log.h"
#include "transport/ofi/msg/accept.h"
#include "transport/ofi/msg/clock.h"
#include "transport/ofi/msg/connect.h"
#include "transport/ofi/msg/lost.h"
#include "transport/ofi/msg/peer.h"

#include <assert.h>

enum { DATA_MAX = 256 }; /* private data that we would read */

/* The private data follow the entry. */
union event {
    struct fi_eq_cm_entry entry;
    uint8_t room[sizeof(struct fi_eq_cm_entry) + DATA_MAX];
};

/* Every rank refuses an ask, with its answer. A listener that accepts one has not proved
 * that it knows the secret. */
static void on_connected(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    if (stream->state == WEFT_MSG_ASKING) {
        weft_msg_on_wrong_answer(tp, stream);
        return;
    }
    assert(stream->state == WEFT_MSG_CONFIRMING || stream->state == WEFT_MSG_ACCEPTING);
    stream->tries = 0;
    stream->socket = weft_quirks_on_connected(&tp->quirks, stream->ep, stream->socket);
    weft_msg_set_state(tp, stream, WEFT_MSG_OPEN);
    weft_log_info("connected to rank %u, stream %u",
                  weft_process_rank(stream->peer->process), stream->base.number);
    if (tp->up->opened != NULL && weft_msg_is_first(stream)) {
        tp->up->opened(tp->up->owner, stream->peer->above);
    }
}

static void on_event(struct weft_transport *tp, uint32_t type, const union event *event,
                     size_t bytes)
{
    struct weft_msg_stream *stream;

    if (type == FI_CONNREQ) {
        weft_msg_on_request(tp, &event->entry, bytes);
        weft_libfabric.freeinfo(event->entry.info);
        return;
    }
    stream = event->entry.fid->context;
    if (stream == NULL || stream->ep == NULL || event->entry.fid != &stream->ep->fid) {
        return; /* of an endpoint that was given up */
    }
    if (type == FI_CONNECTED) {
        on_connected(tp, stream);
    } else if (type == FI_SHUTDOWN) {
        weft_msg_lose(tp, stream, "the other side has closed it");
    }
}

static void on_error(struct weft_transport *tp)
{
    uint8_t data[DATA_MAX];
    struct fi_eq_err_entry error = {.err_data = data, .err_data_size = sizeof(data)};
    struct weft_msg_stream *stream;

    if (fi_eq_readerr(tp->ofi.eq, &error, 0) <= 0 || error.fid == NULL ||
        error.fid->fclass != FI_CLASS_EP) {
        return;
    }
    stream = error.fid->context;
    if (stream == NULL || stream->ep == NULL || error.fid != &stream->ep->fid) {
        return;
    }
    if (stream->state == WEFT_MSG_ASKING || stream->state == WEFT_MSG_CONFIRMING) {
        weft_msg_on_refused(tp, stream, error.err_data, error.err_data_size, error.err);
    } else {
        weft_msg_lose(tp, stream, weft_ofi_error(error.err));
    }
}

int weft_msg_handle_events(struct weft_transport *tp)
{
    int count = 0;

    for (;;) {
        union event event;
        uint32_t type = 0;
        ssize_t bytes;

        weft_quirks_before_events(&tp->quirks);
        bytes = fi_eq_read(tp->ofi.eq, &type, &event, sizeof(event), 0);
        weft_quirks_after_events(&tp->quirks);
        if (bytes == -FI_EAVAIL) {
            on_error(tp);
        } else if (bytes < (ssize_t)sizeof(event.entry)) {
            if (!tp->is_closing) { /* a transport that closes tells of no loss */
                weft_msg_look_at_clock(tp);
            }
            return count;
        } else {
            on_event(tp, type, &event, (size_t)bytes - sizeof(event.entry));
        }
        count++;
    }
}
