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
 * one struct per rank that has asked with a right tag; a stranger leaves nothing behind
 * but a count.
 *
 * An ask may be recorded, so it takes nothing from us: our own attempts go on, and who
 * has answered one waits a little for the confirm and then asks itself. Another answer in
 * between makes the first worthless; its confirm is refused, and that rank asks again.
 *
 * If two ranks ask each other at once, the lower rank's connection is made: the lower one
 * refuses the other's ask, the higher one answers and waits. If each has answered before
 * it asked, both confirm, and the same rule decides: the lower rank, having confirmed,
 * refuses the other's confirm; the higher one takes the lower's and gives up its own.
 */
#include "transport/ofi/msg/msg.h"

#include "base/clock.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONFIRM_MARK = 0xc3, /* an ask begins with its version */
    CONFIRM_PREFIX = 5,  /* mark, and the rank that confirms */
    DATA_MAX = 256,      /* private data that we would read */
    TRIES_MAX = 20,      /* refusals of our confirm */
    PATIENCE_NS = 500 * 1000 * 1000,
    PAUSE_NS = 1000 * 1000, /* before we ask again where nobody has answered, times */
    PAUSES_MOST = 100,      /* the number of tries, squared, and at most so often */
};

_Static_assert(CONFIRM_PREFIX + WEFT_CONFIRM_BYTES <= WEFT_HANDSHAKE_MOST_BYTES, "");
_Static_assert(1 + WEFT_ANSWER_BYTES <= WEFT_HANDSHAKE_MOST_BYTES, "");

/* The private data follow the entry. */
union event {
    struct fi_eq_cm_entry entry;
    uint8_t room[sizeof(struct fi_eq_cm_entry) + DATA_MAX];
};

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

/* ---- states ---- */

static bool is_pending(enum weft_msg_state state)
{
    return state == WEFT_MSG_ASKING || state == WEFT_MSG_CONFIRMING ||
           state == WEFT_MSG_ACCEPTING;
}

static void set_state(struct weft_transport *tp, struct weft_msg_peer *peer,
                      enum weft_msg_state state)
{
    tp->pending += is_pending(state) ? 1 : 0;
    tp->pending -= is_pending(peer->state) ? 1 : 0;
    tp->connections += state == WEFT_MSG_OPEN ? 1 : 0;
    tp->connections -= peer->state == WEFT_MSG_OPEN ? 1 : 0;
    peer->state = state;
}

static void close_endpoint(struct weft_msg_peer *peer)
{
    if (peer->ep != NULL) {
        fi_close(&peer->ep->fid);
        peer->ep = NULL;
    }
}

void weft_msg_lose(struct weft_transport *tp, struct weft_msg_peer *peer,
                   const char *cause)
{
    char where[64] = "its host";

    if (peer->state == WEFT_MSG_LOST || tp->is_closing) {
        return;
    }
    if (peer->has_address) {
        text_of(&peer->address, where, sizeof(where));
    }
    if (peer->state == WEFT_MSG_OPEN) {
        weft_log_warn("the connection to rank %u at %s is lost: %s", peer->ranked.rank,
                      where, cause);
    } else {
        weft_log_error("no connection to rank %u at %s: %s; do the hosts reach each "
                       "other's ports (WEFT_PORTS)?",
                       peer->ranked.rank, where, cause);
    }
    set_state(tp, peer, WEFT_MSG_LOST); /* the endpoint stays until closing */
}

/* It is about to connect to us, or so it seems: we do not ask for some time. */
static void expect_theirs(struct weft_msg_peer *peer)
{
    peer->ask_at_ns = weft_clock_ns() + PATIENCE_NS;
}

/* ---- the caller ---- */

static long make_endpoint(struct weft_transport *tp, struct weft_msg_peer *peer,
                          struct fi_info *info)
{
    long code;

    close_endpoint(peer);
    info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    code = fi_endpoint(tp->ofi.domain, info, &peer->ep, peer);
    if (code == 0) {
        code = fi_ep_bind(peer->ep, &tp->ofi.eq->fid, 0);
    }
    if (code == 0) {
        code = fi_ep_bind(peer->ep, &tp->ofi.cq->fid, FI_TRANSMIT | FI_RECV);
    }
    if (code == 0) {
        code = fi_ep_bind(peer->ep, &tp->ofi.shared_receive->fid, 0);
    }
    return code == 0 ? fi_enable(peer->ep) : code;
}

static void call(struct weft_transport *tp, struct weft_msg_peer *peer, const void *data,
                 size_t bytes, enum weft_msg_state state)
{
    struct fi_info *info =
        weft_ofi_info(&tp->ofi, NULL, &peer->address, peer->address_bytes);
    long code = -FI_ENOMEM;

    if (info != NULL) {
        code = make_endpoint(tp, peer, info);
        if (code == 0) {
            code = fi_connect(peer->ep, info->dest_addr, data, bytes);
        }
        weft_libfabric.freeinfo(info);
    }
    if (code != 0) {
        weft_msg_lose(tp, peer, weft_ofi_error(code));
        return;
    }
    set_state(tp, peer, state);
}

static void ask(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    uint8_t data[WEFT_ASK_BYTES];

    if (++peer->tries > TRIES_MAX) {
        weft_msg_lose(tp, peer, "it keeps refusing");
        return;
    }
    peer->ours.caller = tp->me;
    peer->ours.listener = peer->ranked.rank;
    peer->ours.stream = 0;
    if (weft_handshake_ask(&tp->self, &peer->ours, data) != WEFT_OK) {
        weft_msg_lose(tp, peer, "no random numbers");
        return;
    }
    call(tp, peer, data, sizeof(data), WEFT_MSG_ASKING);
}

static void confirm(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    uint8_t data[CONFIRM_PREFIX + WEFT_CONFIRM_BYTES] = {CONFIRM_MARK};

    for (int i = 0; i < 4; i++) {
        data[1 + i] = (uint8_t)(tp->me >> (8 * i));
    }
    weft_handshake_confirm(&tp->self, &peer->ours, data + CONFIRM_PREFIX);
    call(tp, peer, data, sizeof(data), WEFT_MSG_CONFIRMING);
}

void weft_msg_connect(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    if (peer->state != WEFT_MSG_NONE) {
        return; /* it is under way */
    }
    if (peer->ask_at_ns > 0 && weft_clock_ns() < peer->ask_at_ns) {
        tp->has_stumbled = true; /* if nothing comes of theirs, nothing will tell */
        return;
    }
    if (!peer->has_address && weft_msg_find(tp, peer) != WEFT_OK) {
        weft_msg_lose(tp, peer, "its address is not known");
        return;
    }
    ask(tp, peer);
}

/* With a reason. */
static void on_reason(struct weft_transport *tp, struct weft_msg_peer *peer,
                      enum weft_refusal reason)
{
    const bool has_confirmed = peer->state == WEFT_MSG_CONFIRMING;

    if (reason == WEFT_REFUSED_CROSSED || reason == WEFT_REFUSED_DUPLICATE) {
        close_endpoint(peer);
        set_state(tp, peer, WEFT_MSG_NONE);
        peer->tries = 0;
        expect_theirs(peer);
    } else if (reason == WEFT_REFUSED_STRANGER && has_confirmed) {
        ask(tp, peer); /* another ask in our name came between: once more */
    } else {
        weft_msg_lose(tp, peer, weft_refusal_text(reason));
    }
}

/*
 * Nobody has answered. It may have turned us away at its door, and will listen at once;
 * a rank that has died is known by other means.
 */
static void ask_later(struct weft_transport *tp, struct weft_msg_peer *peer, int code)
{
    const uint64_t pauses = (uint64_t)peer->tries * peer->tries;

    if (peer->tries >= TRIES_MAX) {
        weft_msg_lose(tp, peer, weft_ofi_error(code));
        return;
    }
    close_endpoint(peer);
    set_state(tp, peer, WEFT_MSG_NONE);
    peer->ask_at_ns =
        weft_clock_ns() + PAUSE_NS * (pauses < PAUSES_MOST ? pauses : PAUSES_MOST);
    tp->has_stumbled = true;
}

/* Our attempt was refused: with an answer, with a reason, or because nobody is there. */
static void on_refused(struct weft_transport *tp, struct weft_msg_peer *peer,
                       const uint8_t *data, size_t bytes, int code)
{
    if (bytes == 0) {
        ask_later(tp, peer, code);
    } else if (data[0] != WEFT_WELCOME) {
        on_reason(tp, peer, weft_refusal_from(data, bytes));
    } else if (peer->state == WEFT_MSG_ASKING &&
               weft_handshake_check_answer(&tp->self, data + 1, bytes - 1, &peer->ours) ==
                   WEFT_WELCOME) {
        confirm(tp, peer);
    } else {
        weft_msg_count_stranger(tp, "it answers, and wrongly");
        weft_msg_lose(tp, peer, "what answers there is not of this job");
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
        weft_msg_count_stranger(tp, weft_refusal_text(reason));
    }
    fi_reject(listener, event->entry.info->handle, &code, sizeof(code));
}

/* Does what comes from this rank take its place beside what there is? */
static enum weft_refusal place(const struct weft_transport *tp,
                               const struct weft_msg_peer *peer,
                               const struct weft_handshake *shake, bool is_confirm)
{
    const enum weft_msg_state state = peer->state;
    const bool is_connected = state == WEFT_MSG_OPEN || state == WEFT_MSG_ACCEPTING ||
                              (state == WEFT_MSG_CONFIRMING && !is_confirm);

    if (state == WEFT_MSG_LOST) {
        return WEFT_REFUSED_UNSAID;
    }
    return weft_handshake_place(&tp->self, shake, is_connected,
                                state ==
                                    (is_confirm ? WEFT_MSG_CONFIRMING : WEFT_MSG_ASKING));
}

static void on_ask(struct weft_transport *tp, const union event *event, size_t bytes)
{
    struct fid_pep *listener = (struct fid_pep *)(void *)event->entry.fid;
    uint8_t answer[1 + WEFT_ANSWER_BYTES] = {WEFT_WELCOME};
    struct weft_handshake shake;
    struct weft_msg_peer *peer;
    enum weft_refusal reason =
        weft_handshake_check_ask(&tp->self, event->entry.data, bytes, &shake);

    if (reason != WEFT_WELCOME) {
        refuse(tp, event, reason);
        return;
    }
    peer = weft_msg_peer_get(tp, shake.caller);
    if (peer == NULL) {
        refuse(tp, event, WEFT_REFUSED_UNSAID);
        return;
    }
    reason = place(tp, peer, &shake, false);
    if (reason != WEFT_WELCOME) {
        refuse(tp, event, reason);
        return;
    }
    if (weft_handshake_answer(&tp->self, &shake, answer + 1) != WEFT_OK) {
        refuse(tp, event, WEFT_REFUSED_UNSAID);
        return;
    }
    if (!peer->has_answered) { /* so that who repeats asks cannot make us wait forever */
        expect_theirs(peer);
    }
    peer->theirs = shake;
    peer->has_answered = true;
    fi_reject(listener, event->entry.info->handle, answer, sizeof(answer));
}

static void on_confirm(struct weft_transport *tp, const union event *event, size_t bytes)
{
    struct weft_msg_peer *peer;
    enum weft_refusal reason;
    uint32_t rank = 0;
    long code;

    for (int i = 0; i < 4; i++) {
        rank |= (uint32_t)event->entry.data[1 + i] << (8 * i);
    }
    peer = weft_ranks_find(&tp->peers, rank);
    if (peer == NULL || !peer->has_answered ||
        weft_handshake_check_confirm(&tp->self, event->entry.data + CONFIRM_PREFIX,
                                     bytes - CONFIRM_PREFIX,
                                     &peer->theirs) != WEFT_WELCOME) {
        refuse(tp, event, WEFT_REFUSED_STRANGER);
        return;
    }
    peer->has_answered = false;
    reason = place(tp, peer, &peer->theirs, true);
    if (reason != WEFT_WELCOME) {
        refuse(tp, event, reason);
        return;
    }
    code = make_endpoint(tp, peer, event->entry.info); /* an attempt of ours ends here */
    if (code == 0) {
        code = fi_accept(peer->ep, NULL, 0);
    }
    if (code != 0) {
        weft_msg_lose(tp, peer, weft_ofi_error(code));
        return;
    }
    set_state(tp, peer, WEFT_MSG_ACCEPTING);
}

/* ---- events ---- */

static void on_event(struct weft_transport *tp, uint32_t type, const union event *event,
                     size_t bytes)
{
    struct weft_msg_peer *peer;

    if (type == FI_CONNREQ) {
        if (bytes > CONFIRM_PREFIX && event->entry.data[0] == CONFIRM_MARK) {
            on_confirm(tp, event, bytes);
        } else {
            on_ask(tp, event, bytes);
        }
        weft_libfabric.freeinfo(event->entry.info);
        return;
    }
    peer = event->entry.fid->context;
    if (peer == NULL || peer->ep == NULL || event->entry.fid != &peer->ep->fid) {
        return; /* of an endpoint that was given up */
    }
    if (type == FI_CONNECTED) {
        peer->tries = 0;
        set_state(tp, peer, WEFT_MSG_OPEN);
        weft_log_info("connected to rank %u", peer->ranked.rank);
    } else if (type == FI_SHUTDOWN) {
        weft_msg_lose(tp, peer, "the other side has closed it");
    }
}

static void on_error(struct weft_transport *tp)
{
    uint8_t data[DATA_MAX];
    struct fi_eq_err_entry error = {.err_data = data, .err_data_size = sizeof(data)};
    struct weft_msg_peer *peer;

    if (fi_eq_readerr(tp->ofi.eq, &error, 0) <= 0 || error.fid == NULL ||
        error.fid->fclass != FI_CLASS_EP) {
        return;
    }
    peer = error.fid->context;
    if (peer == NULL || peer->ep == NULL || error.fid != &peer->ep->fid) {
        return;
    }
    if (peer->state == WEFT_MSG_ASKING || peer->state == WEFT_MSG_CONFIRMING) {
        on_refused(tp, peer, error.err_data, error.err_data_size, error.err);
    } else {
        weft_msg_lose(tp, peer, weft_ofi_error(error.err));
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
        errno = 0;
        bytes = fi_eq_read(tp->ofi.eq, &type, &event, sizeof(event), 0);
        if (bytes == -FI_EAVAIL) {
            on_error(tp);
        } else if (bytes < (ssize_t)sizeof(event.entry)) {
            weft_msg_sweep(tp);
            return count;
        } else {
            on_event(tp, type, &event, (size_t)bytes - sizeof(event.entry));
        }
        count++;
    }
}
