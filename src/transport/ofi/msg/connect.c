#include "transport/ofi/msg/connect.h"

#include "base/clock.h"
#include "base/log.h"
#include "transport/ofi/common/version.h"
#include "transport/ofi/msg/address.h"
#include "transport/ofi/msg/lost.h"
#include "transport/ofi/msg/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES_MAX = 20, /* refusals of our confirm */
    PATIENCE_NS = 500 * 1000 * 1000,
    PAUSE_NS = 1000 * 1000, /* before we ask again where nobody has answered, times */
    PAUSES_MOST = 100,      /* the number of tries, squared, and at most so often */
};

_Static_assert(WEFT_CONFIRM_PREFIX + WEFT_CONFIRM_BYTES <= WEFT_HANDSHAKE_MOST_BYTES, "");

void weft_msg_expect_theirs(struct weft_msg_stream *stream)
{
    stream->ask_at_ns = weft_clock_ns() + PATIENCE_NS;
}

long weft_msg_make_endpoint(struct weft_transport *tp, struct weft_msg_stream *stream,
                            struct fi_info *info)
{
    long code;

    weft_msg_close_endpoint(stream);
    info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    code = fi_endpoint(tp->ofi.domain, info, &stream->ep, stream);
    if (code == 0) {
        code = fi_ep_bind(stream->ep, &tp->ofi.eq->fid, 0);
    }
    if (code == 0) {
        code = fi_ep_bind(stream->ep, &tp->ofi.cq->fid, FI_TRANSMIT | FI_RECV);
    }
    if (code == 0) {
        code = fi_ep_bind(stream->ep, &tp->ofi.shared_receive->fid, 0);
    }
    return code == 0 ? fi_enable(stream->ep) : code;
}

/* The handshake's bytes follow the token of the rank that is asked. */
static size_t add_token(const struct weft_transport *tp, const uint8_t *token,
                        const void *data, size_t bytes, uint8_t *out)
{
    const size_t before = weft_quirks_token_bytes(&tp->quirks);

    memcpy(out, token, before);
    memcpy(out + before, data, bytes);
    return before + bytes;
}

/*
 * No connection can be made to the address of this peer. If it has another one, that is
 * tried next. Nothing was sent yet, so nothing is lost.
 */
static bool go_elsewhere(struct weft_transport *tp, struct weft_msg_stream *stream,
                         const char *why)
{
    char name[WEFT_MSG_NAME_BYTES];

    weft_msg_name_peer(stream->peer, name, sizeof(name));
    if (!weft_msg_is_first(stream) || !weft_msg_leave_address(stream->peer)) {
        return false;
    }
    weft_log_info("no connection to %s: %s: its next address is tried", name, why);
    weft_msg_close_endpoint(stream);
    weft_msg_set_state(tp, stream, WEFT_MSG_NONE);
    stream->tries = 0;
    stream->ask_at_ns = 0;
    tp->needs_retry = true;
    return true;
}

static void call(struct weft_transport *tp, struct weft_msg_stream *stream,
                 const void *data, size_t bytes, enum weft_msg_state state)
{
    uint8_t request[WEFT_TOKEN_BYTES + WEFT_HANDSHAKE_MOST_BYTES];
    const size_t all = add_token(tp, stream->peer->token, data, bytes, request);

    struct fi_info *info = weft_ofi_info(&tp->ofi, NULL, &stream->peer->address,
                                         stream->peer->address_bytes);
    long code = -FI_ENOMEM;

    if (info != NULL) {
        code = weft_msg_make_endpoint(tp, stream, info);
        if (code == 0) {
            code = fi_connect(stream->ep, info->dest_addr, request, all);
        }
        weft_libfabric.freeinfo(info);
    }
    if (code != 0) {
        if (!go_elsewhere(tp, stream, weft_ofi_error(code))) {
            weft_msg_lose(tp, stream, weft_ofi_error(code));
        }
        return;
    }
    stream->socket = weft_quirks_on_connecting(&tp->quirks, stream->ep);
    weft_msg_set_state(tp, stream, state);
}

static void ask(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    uint8_t data[WEFT_ASK_BYTES];

    if (++stream->tries > TRIES_MAX) {
        weft_msg_lose(tp, stream, "it keeps refusing");
        return;
    }
    stream->ours.caller = tp->self.process;
    stream->ours.listener = stream->peer->process;
    stream->ours.stream = (uint8_t)stream->base.number;
    if (weft_handshake_ask(&tp->self, &stream->ours, data) != WEFT_OK) {
        weft_msg_lose(tp, stream, "no random numbers");
        return;
    }
    call(tp, stream, data, sizeof(data), WEFT_MSG_ASKING);
}

static void confirm(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    uint8_t data[WEFT_CONFIRM_PREFIX + WEFT_CONFIRM_BYTES];

    stream->index_there = stream->ours.caller_index;
    stream->ours.listener_index = weft_msg_index_of(stream);
    weft_handshake_name(&stream->ours, data);
    weft_handshake_confirm(&tp->self, &stream->ours, data + WEFT_CONFIRM_PREFIX);
    call(tp, stream, data, sizeof(data), WEFT_MSG_CONFIRMING);
}

void weft_msg_connect(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    enum weft_rc rc;

    if (stream->state != WEFT_MSG_NONE) {
        return; /* it is under way */
    }
    if (stream->ask_at_ns > 0 && weft_clock_ns() < stream->ask_at_ns) {
        /* If nothing comes of theirs, nothing will tell; nobody waits for the others. */
        tp->needs_retry = tp->needs_retry || weft_msg_is_first(stream);
        return;
    }
    rc = stream->peer->has_address ? WEFT_OK : weft_msg_find(tp, stream->peer);
    if (rc ==
        WEFT_AGAIN) { /* it has not called MPI_Init, and nothing tells when it has */
        tp->needs_retry = tp->needs_retry || weft_msg_is_first(stream);
    } else if (rc != WEFT_OK) {
        weft_msg_lose(tp, stream, "its address is not known");
    } else {
        ask(tp, stream);
    }
}

/* A refusal with a reason. */
static void on_reason(struct weft_transport *tp, struct weft_msg_stream *stream,
                      enum weft_refusal reason)
{
    const bool has_confirmed = stream->state == WEFT_MSG_CONFIRMING;

    if (reason == WEFT_REFUSED_CROSSED || reason == WEFT_REFUSED_DUPLICATE) {
        weft_msg_close_endpoint(stream);
        weft_msg_set_state(tp, stream, WEFT_MSG_NONE);
        stream->tries = 0;
        weft_msg_expect_theirs(stream);
    } else if (reason == WEFT_REFUSED_UNAUTHENTICATED && has_confirmed) {
        ask(tp, stream); /* another ask in our name came between: once more */
    } else {
        weft_msg_lose(tp, stream, weft_refusal_text(reason));
    }
}

void weft_msg_on_silence(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    const bool is_ours =
        stream->state == WEFT_MSG_ASKING || stream->state == WEFT_MSG_CONFIRMING;

    if (!is_ours || !go_elsewhere(tp, stream, "no answer")) {
        weft_msg_lose_silent(tp, stream);
    }
}

/* There is no route to that host; trying again does not help. */
static bool is_hopeless(int code)
{
    return abs(code) == FI_EHOSTUNREACH || abs(code) == FI_ENETUNREACH ||
           abs(code) == FI_ENETDOWN || abs(code) == FI_EHOSTDOWN;
}

/*
 * Nobody has answered. It may have closed our pending connection, and will listen at
 * once; a rank that has died is known by other means.
 */
static void ask_later(struct weft_transport *tp, struct weft_msg_stream *stream, int code)
{
    const uint64_t pauses = (uint64_t)stream->tries * stream->tries;

    if (abs(code) == FI_ETIMEDOUT) {
        weft_msg_on_silence(tp, stream);
        return;
    }
    if (is_hopeless(code) || stream->tries >= TRIES_MAX) {
        if (!go_elsewhere(tp, stream, weft_ofi_error(code))) {
            weft_msg_lose(tp, stream, weft_ofi_error(code));
        }
        return;
    }
    weft_msg_close_endpoint(stream);
    weft_msg_set_state(tp, stream, WEFT_MSG_NONE);
    stream->ask_at_ns =
        weft_clock_ns() + PAUSE_NS * (pauses < PAUSES_MOST ? pauses : PAUSES_MOST);
    tp->needs_retry = true;
}

void weft_msg_on_wrong_answer(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    weft_reap_count(&tp->quirks.reap, "its answer is wrong");
    weft_msg_lose(tp, stream, "what answers there is not of this job");
}

/* Step 2, or what somebody else says in its place. */
static void on_answer(struct weft_transport *tp, struct weft_msg_stream *stream,
                      const uint8_t *data, size_t bytes)
{
    const enum weft_refusal refusal =
        weft_handshake_check_answer(&tp->self, data, bytes, &stream->ours);

    if (refusal == WEFT_REFUSED_PACKETS) {
        char name[WEFT_MSG_NAME_BYTES];

        weft_msg_name_peer(stream->peer, name, sizeof(name));
        weft_ofi_end_by_version(tp->job, name, weft_handshake_packets_of(data),
                                tp->self.packets);
    }
    if (refusal == WEFT_WELCOME) {
        confirm(tp, stream);
    } else {
        weft_msg_on_wrong_answer(tp, stream);
    }
}

/* Our attempt was refused: with an answer, with a reason, or because nobody is there. */
void weft_msg_on_refused(struct weft_transport *tp, struct weft_msg_stream *stream,
                         const uint8_t *data, size_t bytes, int code)
{
    if (bytes == 0) {
        ask_later(tp, stream, code);
    } else if (data[0] != WEFT_WELCOME) {
        on_reason(tp, stream, weft_refusal_from(data, bytes));
    } else if (stream->state == WEFT_MSG_ASKING) {
        on_answer(tp, stream, data + 1, bytes - 1);
    } else {
        weft_msg_on_wrong_answer(tp, stream);
    }
}
