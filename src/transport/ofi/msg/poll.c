#include "transport/ofi/msg/poll.h"

#include "base/log.h"
#include "transport/ofi/msg/clock.h"
#include "transport/ofi/msg/events.h"
#include "transport/ofi/msg/lost.h"
#include "transport/ofi/msg/peer.h"
#include "transport/ofi/msg/send.h"
#include "transport/ofi/msg/slots.h"
#include "transport/ofi/msg/up.h"

#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 16, EVENTS_EVERY = 64 };

/*
 * Both ends of a connection have proved that they are of this job, and their versions are
 * the same. So a frame that no rank sends comes from damaged memory: the job ends.
 */
static _Noreturn __attribute__((noinline)) void reject(struct weft_transport *tp,
                                                       const struct weft_frame *frame,
                                                       size_t bytes, const char *what)
{
    const struct weft_msg_stream *stream = weft_msg_stream_at(tp, frame->from);
    char who[32] = "a rank that is not known";
    char cause[WEFT_CAUSE_BYTES];

    if (stream != NULL) {
        snprintf(who, sizeof(who), "rank %u", weft_process_rank(stream->peer->process));
    }
    snprintf(cause, sizeof(cause),
             "what came over the network from %s makes no sense: %s (a frame of kind %u "
             "with %zu bytes); its memory is damaged, or it runs another version of Weft",
             who, what, frame->kind, bytes);
    weft_wireup_abort(tp->job, 1, cause);
}

/* ---- taking, or holding ---- */

static void return_if_due(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    if (weft_unlikely(weft_credits_are_due(&peer->credits, tp->return_each))) {
        weft_msg_return_credits(tp, peer);
    }
}

static void count_taken(struct weft_transport *tp, struct weft_msg_peer *peer, size_t len)
{
    peer->credits.taken += (uint32_t)(sizeof(struct weft_frame) + len);
    tp->packets_received++;
    return_if_due(tp, peer);
}

static bool may_take(const struct weft_transport *tp, const struct weft_msg_peer *peer)
{
    return !tp->up->is_full || tp->up->may_take(tp->up->owner, peer->above);
}

bool weft_msg_may_take_held(const struct weft_transport *tp)
{
    for (const struct weft_msg_peer *peer = tp->holding; peer != NULL;
         peer = peer->next_holding) {
        if (may_take(tp, peer)) {
            return true;
        }
    }
    return false;
}

static struct weft_msg_held *copy(struct weft_transport *tp,
                                  const struct weft_frame *frame, size_t len)
{
    struct weft_msg_held *held = weft_msg_copy(frame, len);

    if (held == NULL) {
        weft_wireup_abort(tp->job, 1,
                          "out of memory: cannot store a message from the network");
    }
    return held;
}

static void hold(struct weft_transport *tp, struct weft_msg_peer *peer,
                 struct weft_msg_held *held)
{
    weft_msg_enqueue(&peer->held, held);
    if (!peer->is_holding) {
        peer->is_holding = true;
        peer->next_holding = tp->holding;
        tp->holding = peer;
    }
}

/* Takes what may be taken now; true if none is left. */
static bool take_held(struct weft_transport *tp, struct weft_msg_peer *peer, int *budget)
{
    while (peer->held.first != NULL) {
        struct weft_msg_held *held;

        if (*budget == 0 || !may_take(tp, peer)) {
            return false;
        }
        held = weft_msg_dequeue(&peer->held);
        tp->up->arrived(tp->up->owner, peer->above, held->header, held->data,
                        held->length);
        count_taken(tp, peer, held->length);
        free(held);
        (*budget)--;
    }
    return true;
}

static void take_all_held(struct weft_transport *tp, int *budget)
{
    struct weft_msg_peer **at = &tp->holding;

    while (*at != NULL) {
        struct weft_msg_peer *peer = *at;

        if (take_held(tp, peer, budget)) {
            peer->is_holding = false;
            *at = peer->next_holding;
        } else {
            at = &peer->next_holding;
        }
    }
}

/* ---- order among streams ---- */

/* What came by a stream before its turn, and now has it. */
static bool take_early(struct weft_transport *tp, struct weft_msg_peer *peer,
                       struct weft_msg_queue *early)
{
    bool has_taken = false;

    while (early->first != NULL && early->first->number == peer->number_in) {
        hold(tp, peer, weft_msg_dequeue(early));
        peer->number_in++;
        peer->early--;
        has_taken = true;
    }
    return has_taken;
}

static void take_all_early(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    bool has_taken;

    do {
        has_taken = false;
        for (uint32_t i = 0; i < WEFT_STREAMS_MAX; i++) {
            has_taken |= peer->streams[i] != NULL &&
                         take_early(tp, peer, &peer->streams[i]->early);
        }
    } while (has_taken && peer->early > 0);
}

/*
 * May this packet have come before its turn? Its stream brings numbers that grow, and a
 * peer has no more packets under way than its window has room for.
 */
static bool may_be_early(const struct weft_msg_stream *stream, uint32_t number)
{
    const struct weft_msg_queue *early = &stream->early;
    const uint32_t ahead = number - stream->peer->number_in;

    return ahead <= WEFT_STREAMS_MAX * WEFT_MSG_WINDOW_MOST / sizeof(struct weft_frame) &&
           (early->first == NULL || (int32_t)(number - early->last->number) > 0);
}

static void take_ordered(struct weft_transport *tp, struct weft_msg_stream *stream,
                         const struct weft_frame *frame, size_t len)
{
    struct weft_msg_peer *peer = stream->peer;
    const uint32_t number = weft_frame_number(frame);

    if (weft_unlikely(number != peer->number_in)) {
        if (!may_be_early(stream, number)) {
            reject(tp, frame, len, "its number is none that comes next");
        }
        weft_msg_enqueue(&stream->early, copy(tp, frame, len));
        peer->early++;
        return;
    }
    peer->number_in++;
    if (weft_likely(peer->held.first == NULL && may_take(tp, peer))) {
        tp->up->arrived(tp->up->owner, peer->above, frame->header, frame + 1, len);
        count_taken(tp, peer, len);
    } else {
        hold(tp, peer, copy(tp, frame, len));
    }
    if (weft_unlikely(peer->early > 0)) {
        take_all_early(tp, peer);
    }
}

/* The frame's stream: peers and their streams stay until the transport is closed. */
static struct weft_msg_stream *check_frame(struct weft_transport *tp,
                                           const struct weft_frame *frame, size_t bytes)
{
    struct weft_msg_stream *stream;

    if (weft_unlikely(bytes < sizeof(*frame))) {
        const struct weft_frame none = {.from = UINT32_MAX};

        reject(tp, &none, bytes, "it is shorter than any");
    }
    if (weft_unlikely(frame->kind < WEFT_FRAME_ORDERED ||
                      frame->kind > WEFT_FRAME_LEAVE || frame->zero != 0 ||
                      (frame->kind >= WEFT_FRAME_CREDIT && bytes > sizeof(*frame)))) {
        reject(tp, frame, bytes, "there is no such kind");
    }
    stream = weft_msg_stream_at(tp, frame->from);
    if (weft_unlikely(stream == NULL)) {
        reject(tp, frame, bytes, "no such stream is connected");
    }
    return stream;
}

static void take_frame(struct weft_transport *tp, const struct weft_frame *frame,
                       size_t bytes)
{
    struct weft_msg_stream *stream = check_frame(tp, frame, bytes);
    struct weft_msg_peer *peer = stream->peer;
    const size_t len = bytes - sizeof(*frame);

    tp->bytes_received += bytes;
    if (weft_unlikely(!weft_credits_acknowledge(&peer->credits, frame->taken,
                                                frame->taken_control))) {
        reject(tp, frame, bytes, "it has taken more than we have sent");
    }
    if (weft_likely(frame->kind == WEFT_FRAME_ORDERED)) {
        peer->has_left = false;
        take_ordered(tp, stream, frame, len);
    } else if (frame->kind == WEFT_FRAME_LEAVE) {
        peer->has_left = true;
    } else if (frame->kind == WEFT_FRAME_CONTROL) {
        peer->has_left = false;
        tp->up->arrived(tp->up->owner, peer->above, frame->header, frame + 1, len);
        peer->credits.taken_control++;
        return_if_due(tp, peer);
    }
}

/* ---- completions ---- */

static int complete(struct weft_transport *tp, const struct fi_cq_msg_entry *entry)
{
    struct weft_msg_slot *slot = entry->op_context;

    if (weft_msg_slot_is_receive(tp, slot)) {
        take_frame(tp, (const struct weft_frame *)(const void *)slot->buffer, entry->len);
        weft_msg_post(tp, slot);
        return 1;
    }
    weft_msg_slot_done(tp, slot, WEFT_OK);
    return 0;
}

/* A provider that finds a connection closed cancels what goes by it, and tells no more.
 */
static const char *cause_of(int error)
{
    return abs(error) == FI_ECANCELED ? "it was closed or reset" : weft_ofi_error(error);
}

/* Errors of the connection by which a packet came. Its end is an event, too: the peer is
 * reported as lost, with both hosts and the cause. */
static bool is_of_connection(int error)
{
    switch (abs(error)) {
    case FI_ECANCELED:
    case FI_ENOTCONN:
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ETIMEDOUT:
    case FI_EHOSTUNREACH:
    case FI_ENETUNREACH:
    case FI_ENETDOWN:
    case FI_EHOSTDOWN:
    case FI_ESHUTDOWN:
        return true;
    default:
        return false;
    }
}

/* The queue stays blocked until its error was read. */
static void complete_failed(struct weft_transport *tp)
{
    struct fi_cq_err_entry error = {.err = 0};
    struct weft_msg_slot *slot;

    if (fi_cq_readerr(tp->ofi.cq, &error, 0) <= 0) {
        return;
    }
    slot = error.op_context;
    if (slot == NULL) {
        return;
    }
    if (weft_msg_slot_is_receive(tp, slot)) {
        if (!tp->is_closing && !is_of_connection(error.err)) {
            weft_log_error("a packet could not be received: %s",
                           weft_ofi_error(error.err));
        }
        weft_msg_post(tp, slot);
    } else {
        weft_msg_lose(tp, slot->stream, cause_of(error.err));
        weft_msg_slot_done(tp, slot, WEFT_ERR_PROC_FAILED);
    }
}

/* The queue itself is broken: nothing would ever complete. */
static _Noreturn void fail(struct weft_transport *tp, ssize_t code)
{
    char cause[128];

    snprintf(cause, sizeof(cause), "the network's completions cannot be read: %s",
             weft_ofi_error(code));
    weft_wireup_abort(tp->job, 1, cause);
}

int weft_msg_poll(struct weft_transport *tp, int budget)
{
    const int whole = budget;

    if (weft_unlikely(!tp->is_up) &&
        (!weft_early_is_pending(&tp->quirks.early) || weft_msg_come_up(tp) != WEFT_OK)) {
        return 0;
    }
    if (weft_unlikely(tp->pending > 0 || ++tp->polls % EVENTS_EVERY == 0)) {
        weft_msg_handle_events(tp);
    }
    if (weft_unlikely(tp->losing != NULL)) {
        weft_msg_look_at_clock(tp);
    }
    if (weft_unlikely(tp->holding != NULL)) {
        take_all_held(tp, &budget);
    }
    while (budget > 0) {
        struct fi_cq_msg_entry entries[AT_ONCE];
        const size_t most = budget < AT_ONCE ? (size_t)budget : AT_ONCE;
        const ssize_t count = fi_cq_read(tp->ofi.cq, entries, most);

        if (count == -FI_EAVAIL) {
            complete_failed(tp);
            continue;
        }
        if (count == -FI_EAGAIN) {
            break;
        }
        if (weft_unlikely(count < 0)) {
            fail(tp, count);
        }
        for (ssize_t i = 0; i < count; i++) {
            budget -= complete(tp, &entries[i]);
        }
        if (weft_unlikely(tp->holding != NULL)) { /* what came early, and has its turn */
            take_all_held(tp, &budget);
        }
        if ((size_t)count < most) {
            break; /* the next look is the caller's: it costs a system call */
        }
    }
    if (weft_unlikely(tp->to_post != NULL)) {
        weft_msg_post_again(tp);
    }
    if (weft_unlikely(tp->credits_due != NULL)) {
        weft_msg_return_all_credits(tp);
    }
    return whole - budget;
}
