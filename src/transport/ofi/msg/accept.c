#include "transport/ofi/msg/accept.h"

#include "transport/ofi/msg/connect.h"
#include "transport/ofi/msg/lost.h"
#include "transport/ofi/msg/peer.h"

#include <string.h>

_Static_assert(1 + WEFT_ANSWER_BYTES <= WEFT_HANDSHAKE_MOST_BYTES, "");

/* Does a process of this job get no such refusal? */
static bool is_from_outside(enum weft_refusal reason)
{
    return reason != WEFT_REFUSED_CROSSED && reason != WEFT_REFUSED_DUPLICATE &&
           reason != WEFT_REFUSED_UNSAID;
}

static void refuse(struct weft_transport *tp, const struct fi_eq_cm_entry *entry,
                   enum weft_refusal reason)
{
    const uint8_t code = (uint8_t)reason;
    struct fid_pep *listener = (struct fid_pep *)(void *)entry->fid;

    if (is_from_outside(reason)) {
        weft_reap_count(&tp->quirks.reap, weft_refusal_text(reason));
    }
    fi_reject(listener, entry->info->handle, &code, sizeof(code));
}

/* Does this connection prevail over what there is with this rank? */
static enum weft_refusal arbitrate(const struct weft_transport *tp,
                                   const struct weft_msg_stream *stream,
                                   const struct weft_handshake *shake, bool is_confirm)
{
    const enum weft_msg_state state = stream->state;
    const bool is_connected = state == WEFT_MSG_OPEN || state == WEFT_MSG_ACCEPTING ||
                              (state == WEFT_MSG_CONFIRMING && !is_confirm);

    if (state == WEFT_MSG_LOST) {
        return WEFT_REFUSED_UNSAID;
    }
    return weft_handshake_arbitrate(
        &tp->self, shake, is_connected,
        state == (is_confirm ? WEFT_MSG_CONFIRMING : WEFT_MSG_ASKING));
}

static void on_ask(struct weft_transport *tp, const struct fi_eq_cm_entry *entry,
                   const uint8_t *data, size_t bytes)
{
    struct fid_pep *listener = (struct fid_pep *)(void *)entry->fid;
    uint8_t answer[1 + WEFT_ANSWER_BYTES] = {WEFT_WELCOME};
    struct weft_handshake shake;
    struct weft_msg_stream *stream;
    struct weft_msg_peer *peer;
    enum weft_refusal reason = weft_handshake_check_ask(&tp->self, data, bytes, &shake);

    if (reason != WEFT_WELCOME) {
        refuse(tp, entry, reason);
        return;
    }
    peer = weft_msg_peer_get(tp, shake.caller, NULL);
    stream = peer != NULL ? weft_msg_stream_get(peer, shake.stream) : NULL;
    if (stream == NULL) {
        refuse(tp, entry, WEFT_REFUSED_UNSAID);
        return;
    }
    reason = arbitrate(tp, stream, &shake, false);
    if (reason != WEFT_WELCOME) {
        refuse(tp, entry, reason);
        return;
    }
    shake.caller_index = weft_msg_index_of(stream);
    if (weft_handshake_answer(&tp->self, &shake, answer + 1) != WEFT_OK) {
        refuse(tp, entry, WEFT_REFUSED_UNSAID);
        return;
    }
    if (!stream->has_answered) { /* repeated asks do not make us wait for ever */
        weft_msg_expect_theirs(stream);
    }
    stream->theirs = shake;
    stream->has_answered = true;
    fi_reject(listener, entry->info->handle, answer, sizeof(answer));
}

/* The stream that a confirm names, or NULL. */
static struct weft_msg_stream *find_confirmed(struct weft_transport *tp,
                                              const uint8_t *data)
{
    struct weft_msg_peer *peer;
    uint64_t caller;
    uint8_t number;

    weft_handshake_read_name(data, &caller, &number);
    if (!weft_handshake_is_peer(&tp->self, caller) || number >= WEFT_STREAMS_MAX) {
        return NULL;
    }
    peer = weft_table_find(&tp->peers, caller);
    return peer != NULL ? peer->streams[number] : NULL;
}

static void on_confirm(struct weft_transport *tp, const struct fi_eq_cm_entry *entry,
                       const uint8_t *data, size_t bytes)
{
    struct weft_msg_stream *stream = find_confirmed(tp, data);
    enum weft_refusal reason;
    long code;

    if (stream == NULL || !stream->has_answered) {
        refuse(tp, entry, WEFT_REFUSED_UNAUTHENTICATED);
        return;
    }
    reason = weft_handshake_check_confirm(&tp->self, data + WEFT_CONFIRM_PREFIX,
                                          bytes - WEFT_CONFIRM_PREFIX, &stream->theirs);
    if (reason != WEFT_WELCOME) {
        /* The caller takes this for another's ask that came between, and asks again. */
        refuse(tp, entry,
               reason == WEFT_REFUSED_PACKETS ? reason : WEFT_REFUSED_UNAUTHENTICATED);
        return;
    }
    stream->has_answered = false;
    reason = arbitrate(tp, stream, &stream->theirs, true);
    if (reason != WEFT_WELCOME) {
        refuse(tp, entry, reason);
        return;
    }
    stream->index_there = stream->theirs.listener_index;
    code = weft_msg_make_endpoint(tp, stream, entry->info); /* ends an attempt of ours */
    if (code == 0) {
        code = fi_accept(stream->ep, NULL, 0);
    }
    if (code != 0) {
        weft_msg_lose(tp, stream, weft_ofi_error(code));
        return;
    }
    weft_msg_set_state(tp, stream, WEFT_MSG_ACCEPTING);
}

void weft_msg_on_request(struct weft_transport *tp, const struct fi_eq_cm_entry *entry,
                         size_t bytes)
{
    const size_t token = weft_quirks_token_bytes(&tp->quirks);
    const uint8_t *data = entry->data + token;

    if (tp->is_closing || !weft_quirks_on_request(&tp->quirks, entry->fid, entry->info)) {
        refuse(tp, entry, WEFT_REFUSED_UNSAID);
    } else if (bytes < token || memcmp(entry->data, tp->quirks.early.token, token) != 0) {
        refuse(tp, entry, WEFT_REFUSED_UNAUTHENTICATED);
    } else if (weft_handshake_is_confirm(data, bytes - token)) {
        on_confirm(tp, entry, data, bytes - token);
    } else {
        on_ask(tp, entry, data, bytes - token);
    }
}
