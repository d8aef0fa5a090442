#include "transport/ofi/msg/poll.h"

#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/msg/clock.h"
#include "transport/ofi/msg/events.h"
#include "transport/ofi/msg/lost.h"
#include "transport/ofi/msg/peer.h"
#include "transport/ofi/msg/send.h"
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

/* ---- taking, or keeping ---- */

static void return_if_due(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    if (weft_unlikely(weft_credits_are_due(&peer->credits, tp->return_each))) {
        weft_msg_return_credits(tp, peer);
    }
}

/* Offers a packet; false: it was not taken. */
static bool offer(struct weft_transport *tp, struct weft_msg_peer *peer,
                  const void *header, const void *data, size_t len)
{
    if (tp->up->arrived(tp->up->owner, peer->above, header, data, len, 0) != WEFT_TAKEN) {
        return false;
    }
    peer->credits.taken += (uint32_t)(sizeof(struct weft_frame) + len);
    tp->packets_received++;
    return_if_due(tp, peer);
    return true;
}

bool weft_msg_may_take_kept(const struct weft_transport *tp)
{
    struct weft_upcalls *up = tp->up;

    for (const struct weft_msg_stream *stream = tp->keeping; stream != NULL;
         stream = stream->next_keeping) {
        if (stream->kept.first != NULL &&
            up->may_take(up->owner, stream->peer->above, stream->kept.first->header, 0)) {
            return true;
        }
    }
    return false;
}

static void keep(struct weft_transport *tp, struct weft_msg_stream *stream,
                 const struct weft_frame *frame, size_t len)
{
    struct weft_kept *kept = weft_kept_copy(0, frame->header, frame + 1, len);

    if (kept == NULL) {
        weft_wireup_abort(tp->job, 1, WEFT_S_OOM_STORE);
    }
    weft_kept_insert(&stream->kept, kept);
    if (!stream->is_keeping) {
        stream->is_keeping = true;
        stream->next_keeping = tp->keeping;
        tp->keeping = stream;
    }
}

/* Offers what a stream has kept, until one is not taken; true: some were. */
static bool offer_kept(struct weft_transport *tp, struct weft_msg_stream *stream,
                       int *budget)
{
    const int before = *budget;

    while (stream->kept.first != NULL && *budget > 0) {
        struct weft_kept *kept = stream->kept.first;

        if (!offer(tp, stream->peer, kept->header, kept->data, kept->length)) {
            break;
        }
        free(weft_kept_take(&stream->kept));
        (*budget)--;
    }
    return *budget != before;
}

/* What one stream brings may be what another one waits for. */
static void offer_all_kept(struct weft_transport *tp, int *budget)
{
    struct weft_msg_stream **at = &tp->keeping;
    bool has_taken;

    do {
        has_taken = false;
        for (struct weft_msg_stream *s = tp->keeping; s != NULL; s = s->next_keeping) {
            has_taken |= offer_kept(tp, s, budget);
        }
    } while (has_taken && *budget > 0);
    while (*at != NULL) {
        struct weft_msg_stream *stream = *at;

        if (stream->kept.first == NULL) {
            stream->is_keeping = false;
            *at = stream->next_keeping;
        } else {
            at = &stream->next_keeping;
        }
    }
}

static void take_ordered(struct weft_transport *tp, struct weft_msg_stream *stream,
                         const struct weft_frame *frame, size_t len)
{
    if (weft_unlikely(stream->kept.first != NULL) ||
        !offer(tp, stream->peer, frame->header, frame + 1, len)) {
        keep(tp, stream, frame, len);
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
    if (weft_unlikely(tp->pending > 0 && stream->state != WEFT_MSG_OPEN)) {
        weft_msg_handle_events(tp); /* that it stands is told before what came by it */
    }
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
        tp->up->control(tp->up->owner, peer->above, frame->header, frame + 1, len);
        peer->credits.taken_control++;
        return_if_due(tp, peer);
    }
}

/* ---- completions ---- */

static int complete(struct weft_transport *tp, const struct fi_cq_data_entry *entry)
{
    struct weft_ofi_slot *slot = entry->op_context;

    if (weft_unlikely((entry->flags & FI_REMOTE_WRITE) != 0)) {
        tp->up->told(tp->up->owner, entry->data);
        return 1;
    }
    if (weft_ofi_slots_is_receive(&tp->slots, slot)) {
        take_frame(tp, (const struct weft_frame *)(const void *)slot->buffer, entry->len);
        weft_ofi_slots_post(&tp->slots, slot);
        return 1;
    }
    weft_ofi_slots_done(&tp->slots, slot, WEFT_OK);
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
    struct weft_ofi_slot *slot;

    if (fi_cq_readerr(tp->ofi.cq, &error, 0) <= 0) {
        return;
    }
    slot = error.op_context;
    if (slot == NULL) {
        return;
    }
    if (weft_ofi_slots_is_receive(&tp->slots, slot)) {
        if (!tp->is_closing && !is_of_connection(error.err)) {
            weft_log_error(WEFT_S_PACKET, weft_ofi_error(error.err));
        }
        weft_ofi_slots_post(&tp->slots, slot);
    } else {
        weft_msg_lose(tp, slot->owner, cause_of(error.err));
        weft_ofi_slots_done(&tp->slots, slot, WEFT_ERR_PROC_FAILED);
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
    if (weft_unlikely(tp->keeping != NULL)) {
        offer_all_kept(tp, &budget);
    }
    while (budget > 0) {
        struct fi_cq_data_entry entries[AT_ONCE];
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
        if (weft_unlikely(tp->keeping != NULL)) { /* what came early may have its turn */
            offer_all_kept(tp, &budget);
        }
        if ((size_t)count < most) {
            break; /* the next look is the caller's: it costs a system call */
        }
    }
    if (weft_unlikely(tp->slots.to_post != NULL)) {
        weft_ofi_slots_post_again(&tp->slots);
    }
    if (weft_unlikely(tp->credits_due.first != NULL)) {
        weft_msg_return_all_credits(tp);
    }
    return whole - budget;
}
