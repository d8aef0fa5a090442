/*
 * connect.c - connections, made on first contact by whoever polls.
 *
 * The three steps of the handshake (handshake.h) go in the private data of two attempts
 * to connect, so that no connection exists before all three are right:
 *
 *   caller                               listener
 *   connect with step 1, an ask     -->  refuses it, with step 2, an answer
 *   connect with step 3, a confirm  -->  accepts
 *
 * The second attempt is needed because receive buffers are shared: what comes through
 * them does not tell which connection it came by. What the listener keeps of an ask is
 * one struct per rank and stream that was asked for with a right tag; a stranger leaves
 * nothing behind but a count.
 *
 * An ask may be recorded, so it takes nothing from us: our own attempts go on, and who
 * has answered one waits a little for the confirm and then asks itself. Another answer in
 * between makes the first worthless; its confirm is refused, and that rank asks again.
 *
 * If two ranks ask each other at once, the lower rank's connection is made: the lower one
 * refuses the other's ask, the higher one answers and waits. If each has answered before
 * it asked, both confirm, and the same rule decides: the lower rank, having confirmed,
 * refuses the other's confirm; the higher one takes the lower's and gives up its own.
 *
 * All this is done for each stream by itself: its number is in the ask and, before the
 * confirm, in the clear; every tag covers it.
 */
#include "transport/ofi/msg/msg.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONFIRM_MARK = 0xc3, /* an ask begins with its version */
    DATA_MAX = 256,      /* private data that we would read */
    TRIES_MAX = 20,      /* refusals of our confirm */
    PATIENCE_NS = 500 * 1000 * 1000,
    PAUSE_NS = 1000 * 1000, /* before we ask again where nobody has answered, times */
    PAUSES_MOST = 100,      /* the number of tries, squared, and at most so often */
};

_Static_assert(WEFT_CONFIRM_PREFIX + WEFT_CONFIRM_BYTES <= WEFT_HANDSHAKE_MOST_BYTES, "");
_Static_assert(1 + WEFT_ANSWER_BYTES <= WEFT_HANDSHAKE_MOST_BYTES, "");

/* The private data follow the entry. */
union event {
    struct fi_eq_cm_entry entry;
    uint8_t room[sizeof(struct fi_eq_cm_entry) + DATA_MAX];
};

/* ---- states ---- */

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

static void close_endpoint(struct weft_msg_stream *stream)
{
    if (stream->ep != NULL) {
        fi_close(&stream->ep->fid);
        stream->ep = NULL;
        stream->socket = 0;
    }
}

static bool is_first(const struct weft_msg_stream *stream)
{
    return stream == &stream->peer->first;
}

/* It is about to connect to us, or so it seems: we do not ask for some time. */
static void expect_theirs(struct weft_msg_stream *stream)
{
    stream->ask_at_ns = weft_clock_ns() + PATIENCE_NS;
}

/* ---- the caller ---- */

static long make_endpoint(struct weft_transport *tp, struct weft_msg_stream *stream,
                          struct fi_info *info)
{
    long code;

    close_endpoint(stream);
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

/* In front of the handshake's bytes, over sockets, comes the token of who is asked. */
static size_t add_token(const struct weft_transport *tp, const uint8_t *token,
                        const void *data, size_t bytes, uint8_t *out)
{
    const size_t before = tp->is_over_sockets ? WEFT_MSG_TOKEN_BYTES : 0;

    memcpy(out, token, before);
    memcpy(out + before, data, bytes);
    return before + bytes;
}

static void call(struct weft_transport *tp, struct weft_msg_stream *stream,
                 const void *data, size_t bytes, enum weft_msg_state state)
{
    uint8_t request[WEFT_MSG_TOKEN_BYTES + WEFT_HANDSHAKE_MOST_BYTES];
    const size_t all = add_token(tp, stream->peer->token, data, bytes, request);

    struct fi_info *info = weft_ofi_info(&tp->ofi, NULL, &stream->peer->address,
                                         stream->peer->address_bytes);
    long code = -FI_ENOMEM;

    if (info != NULL) {
        code = make_endpoint(tp, stream, info);
        if (code == 0) {
            code = fi_connect(stream->ep, info->dest_addr, request, all);
        }
        weft_libfabric.freeinfo(info);
    }
    if (code != 0) {
        weft_msg_lose(tp, stream, weft_ofi_error(code));
        return;
    }
    weft_msg_watch_connecting(stream);
    weft_msg_set_state(tp, stream, state);
}

static void ask(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    uint8_t data[WEFT_ASK_BYTES];

    if (++stream->tries > TRIES_MAX) {
        weft_msg_lose(tp, stream, "it keeps refusing");
        return;
    }
    stream->ours.caller = tp->me;
    stream->ours.listener = stream->peer->ranked.rank;
    stream->ours.stream = (uint8_t)stream->base.stream;
    if (weft_handshake_ask(&tp->self, &stream->ours, data) != WEFT_OK) {
        weft_msg_lose(tp, stream, "no random numbers");
        return;
    }
    call(tp, stream, data, sizeof(data), WEFT_MSG_ASKING);
}

static void confirm(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    uint8_t data[WEFT_CONFIRM_PREFIX + WEFT_CONFIRM_BYTES] = {CONFIRM_MARK};

    for (int i = 0; i < 4; i++) {
        data[1 + i] = (uint8_t)(tp->me >> (8 * i));
    }
    data[5] = stream->ours.stream;
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
        tp->has_stumbled = tp->has_stumbled || is_first(stream);
        return;
    }
    rc = stream->peer->has_address ? WEFT_OK : weft_msg_find(tp, stream->peer);
    if (rc ==
        WEFT_AGAIN) { /* it has not called MPI_Init, and nothing tells when it has */
        tp->has_stumbled = tp->has_stumbled || is_first(stream);
    } else if (rc != WEFT_OK) {
        weft_msg_lose(tp, stream, "its address is not known");
    } else {
        ask(tp, stream);
    }
}

/* With a reason. */
static void on_reason(struct weft_transport *tp, struct weft_msg_stream *stream,
                      enum weft_refusal reason)
{
    const bool has_confirmed = stream->state == WEFT_MSG_CONFIRMING;

    if (reason == WEFT_REFUSED_CROSSED || reason == WEFT_REFUSED_DUPLICATE) {
        close_endpoint(stream);
        weft_msg_set_state(tp, stream, WEFT_MSG_NONE);
        stream->tries = 0;
        expect_theirs(stream);
    } else if (reason == WEFT_REFUSED_STRANGER && has_confirmed) {
        ask(tp, stream); /* another ask in our name came between: once more */
    } else {
        weft_msg_lose(tp, stream, weft_refusal_text(reason));
    }
}

/* No way leads there; whoever listens is not reached by trying again. */
static bool is_hopeless(int code)
{
    return abs(code) == FI_EHOSTUNREACH || abs(code) == FI_ENETUNREACH ||
           abs(code) == FI_ENETDOWN || abs(code) == FI_EHOSTDOWN;
}

/*
 * Nobody has answered. It may have turned us away at its door, and will listen at once;
 * a rank that has died is known by other means.
 */
static void ask_later(struct weft_transport *tp, struct weft_msg_stream *stream, int code)
{
    const uint64_t pauses = (uint64_t)stream->tries * stream->tries;

    if (abs(code) == FI_ETIMEDOUT) {
        weft_msg_lose_silent(tp, stream);
        return;
    }
    if (is_hopeless(code)) {
        weft_msg_lose(tp, stream, weft_ofi_error(code));
        return;
    }
    if (stream->tries >= TRIES_MAX) {
        weft_msg_lose(tp, stream, weft_ofi_error(code));
        return;
    }
    close_endpoint(stream);
    weft_msg_set_state(tp, stream, WEFT_MSG_NONE);
    stream->ask_at_ns =
        weft_clock_ns() + PAUSE_NS * (pauses < PAUSES_MOST ? pauses : PAUSES_MOST);
    tp->has_stumbled = true;
}

static void on_wrong_answer(struct weft_transport *tp, struct weft_msg_stream *stream)
{
    weft_msg_count_rejected(tp, "it answers, and wrongly");
    weft_msg_lose(tp, stream, "what answers there is not of this job");
}

/* A rank of this job was built from another version: there is nothing that we could do.
 */
static _Noreturn void on_other_version(struct weft_transport *tp,
                                       const struct weft_msg_stream *stream,
                                       unsigned theirs)
{
    char place[WEFT_MSG_PLACE_BYTES];
    char cause[WEFT_CAUSE_BYTES];

    weft_msg_name_peer(stream->peer, place, sizeof(place));
    snprintf(cause, sizeof(cause),
             "%s runs another version of Weft: its packets are of version %u, ours of "
             "version %u; install the same version on all hosts of the job",
             place, theirs, tp->self.packets);
    weft_wireup_abort(tp->job, 1, cause);
}

/* Step 2, or what somebody else says in its place. */
static void on_answer(struct weft_transport *tp, struct weft_msg_stream *stream,
                      const uint8_t *data, size_t bytes)
{
    const enum weft_refusal refusal =
        weft_handshake_check_answer(&tp->self, data, bytes, &stream->ours);

    if (refusal == WEFT_REFUSED_PACKETS) {
        on_other_version(tp, stream, weft_handshake_packets_of(data));
    }
    if (refusal == WEFT_WELCOME) {
        confirm(tp, stream);
    } else {
        on_wrong_answer(tp, stream);
    }
}

/* Our attempt was refused: with an answer, with a reason, or because nobody is there. */
static void on_refused(struct weft_transport *tp, struct weft_msg_stream *stream,
                       const uint8_t *data, size_t bytes, int code)
{
    if (bytes == 0) {
        ask_later(tp, stream, code);
    } else if (data[0] != WEFT_WELCOME) {
        on_reason(tp, stream, weft_refusal_from(data, bytes));
    } else if (stream->state == WEFT_MSG_ASKING) {
        on_answer(tp, stream, data + 1, bytes - 1);
    } else {
        on_wrong_answer(tp, stream);
    }
}

/* ---- the listener ---- */

static bool is_stranger(enum weft_refusal reason)
{
    return reason != WEFT_REFUSED_CROSSED && reason != WEFT_REFUSED_DUPLICATE &&
           reason != WEFT_REFUSED_UNSAID;
}

static void refuse(struct weft_transport *tp, const union event *event,
                   enum weft_refusal reason)
{
    const uint8_t code = (uint8_t)reason;
    struct fid_pep *listener = (struct fid_pep *)(void *)event->entry.fid;

    if (is_stranger(reason)) {
        weft_msg_count_rejected(tp, weft_refusal_text(reason));
    }
    fi_reject(listener, event->entry.info->handle, &code, sizeof(code));
}

/* Does what comes from this rank take its place beside what there is? */
static enum weft_refusal place(const struct weft_transport *tp,
                               const struct weft_msg_stream *stream,
                               const struct weft_handshake *shake, bool is_confirm)
{
    const enum weft_msg_state state = stream->state;
    const bool is_connected = state == WEFT_MSG_OPEN || state == WEFT_MSG_ACCEPTING ||
                              (state == WEFT_MSG_CONFIRMING && !is_confirm);

    if (state == WEFT_MSG_LOST) {
        return WEFT_REFUSED_UNSAID;
    }
    return weft_handshake_place(&tp->self, shake, is_connected,
                                state ==
                                    (is_confirm ? WEFT_MSG_CONFIRMING : WEFT_MSG_ASKING));
}

static void on_ask(struct weft_transport *tp, const union event *event,
                   const uint8_t *data, size_t bytes)
{
    struct fid_pep *listener = (struct fid_pep *)(void *)event->entry.fid;
    uint8_t answer[1 + WEFT_ANSWER_BYTES] = {WEFT_WELCOME};
    struct weft_handshake shake;
    struct weft_msg_stream *stream;
    struct weft_msg_peer *peer;
    enum weft_refusal reason = weft_handshake_check_ask(&tp->self, data, bytes, &shake);

    if (reason != WEFT_WELCOME) {
        refuse(tp, event, reason);
        return;
    }
    peer = weft_msg_peer_get(tp, shake.caller);
    stream = peer != NULL ? weft_msg_stream_get(peer, shake.stream) : NULL;
    if (stream == NULL) {
        refuse(tp, event, WEFT_REFUSED_UNSAID);
        return;
    }
    reason = place(tp, stream, &shake, false);
    if (reason != WEFT_WELCOME) {
        refuse(tp, event, reason);
        return;
    }
    if (weft_handshake_answer(&tp->self, &shake, answer + 1) != WEFT_OK) {
        refuse(tp, event, WEFT_REFUSED_UNSAID);
        return;
    }
    if (!stream
             ->has_answered) { /* so that who repeats asks cannot make us wait forever */
        expect_theirs(stream);
    }
    stream->theirs = shake;
    stream->has_answered = true;
    fi_reject(listener, event->entry.info->handle, answer, sizeof(answer));
}

/* The stream that a confirm names, or NULL. */
static struct weft_msg_stream *find_confirmed(struct weft_transport *tp,
                                              const uint8_t *data)
{
    const uint8_t number = data[5];
    struct weft_msg_peer *peer;
    uint32_t rank = 0;

    for (int i = 0; i < 4; i++) {
        rank |= (uint32_t)data[1 + i] << (8 * i);
    }
    peer = weft_ranks_find(&tp->peers, rank);
    return peer != NULL && number < WEFT_STREAMS_MAX ? peer->streams[number] : NULL;
}

static void on_confirm(struct weft_transport *tp, const union event *event,
                       const uint8_t *data, size_t bytes)
{
    struct weft_msg_stream *stream = find_confirmed(tp, data);
    enum weft_refusal reason;
    long code;

    if (stream == NULL || !stream->has_answered) {
        refuse(tp, event, WEFT_REFUSED_STRANGER);
        return;
    }
    reason = weft_handshake_check_confirm(&tp->self, data + WEFT_CONFIRM_PREFIX,
                                          bytes - WEFT_CONFIRM_PREFIX, &stream->theirs);
    if (reason != WEFT_WELCOME) {
        /* The caller takes this for another's ask that came between, and asks again. */
        refuse(tp, event,
               reason == WEFT_REFUSED_PACKETS ? reason : WEFT_REFUSED_STRANGER);
        return;
    }
    stream->has_answered = false;
    reason = place(tp, stream, &stream->theirs, true);
    if (reason != WEFT_WELCOME) {
        refuse(tp, event, reason);
        return;
    }
    code =
        make_endpoint(tp, stream, event->entry.info); /* an attempt of ours ends here */
    if (code == 0) {
        code = fi_accept(stream->ep, NULL, 0);
    }
    if (code != 0) {
        weft_msg_lose(tp, stream, weft_ofi_error(code));
        return;
    }
    weft_msg_set_state(tp, stream, WEFT_MSG_ACCEPTING);
}

static void on_request(struct weft_transport *tp, const union event *event, size_t bytes)
{
    const size_t token = tp->is_over_sockets ? WEFT_MSG_TOKEN_BYTES : 0;
    const uint8_t *data = event->entry.data + token;

    if (tp->is_closing || !weft_msg_unfilter(tp, event->entry.fid, event->entry.info)) {
        refuse(tp, event, WEFT_REFUSED_UNSAID);
    } else if (bytes < token || memcmp(event->entry.data, tp->token, token) != 0) {
        refuse(tp, event, WEFT_REFUSED_STRANGER);
    } else if (bytes - token > WEFT_CONFIRM_PREFIX && data[0] == CONFIRM_MARK) {
        on_confirm(tp, event, data, bytes - token);
    } else {
        on_ask(tp, event, data, bytes - token);
    }
}

/* ---- events ---- */

static void on_event(struct weft_transport *tp, uint32_t type, const union event *event,
                     size_t bytes)
{
    struct weft_msg_stream *stream;

    if (type == FI_CONNREQ) {
        on_request(tp, event, bytes);
        weft_libfabric.freeinfo(event->entry.info);
        return;
    }
    stream = event->entry.fid->context;
    if (stream == NULL || stream->ep == NULL || event->entry.fid != &stream->ep->fid) {
        return; /* of an endpoint that was given up */
    }
    if (type == FI_CONNECTED) {
        stream->tries = 0;
        weft_msg_watch(stream);
        weft_msg_set_state(tp, stream, WEFT_MSG_OPEN);
        weft_log_info("connected to rank %u, stream %u", stream->peer->ranked.rank,
                      stream->base.stream);
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
        on_refused(tp, stream, error.err_data, error.err_data_size, error.err);
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

        /* libfabric's tcp takes an old EAGAIN for the cause of a short read, and never
         * closes the connection of somebody who has gone. */
        weft_msg_watch_listeners(tp);
        errno = 0;
        bytes = fi_eq_read(tp->ofi.eq, &type, &event, sizeof(event), 0);
        weft_msg_has_accepted(tp);
        if (bytes == -FI_EAVAIL) {
            on_error(tp);
        } else if (bytes < (ssize_t)sizeof(event.entry)) {
            if (!tp->is_closing) { /* then nobody is told of a loss */
                weft_msg_look_at_clock(tp);
            }
            return count;
        } else {
            on_event(tp, type, &event, (size_t)bytes - sizeof(event.entry));
        }
        count++;
    }
}
