#include "transport/ofi/rdm/poll.h"

#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/rdm/atomic.h"
#include "transport/ofi/rdm/flush.h"
#include "transport/ofi/rdm/greet.h"
#include "transport/ofi/rdm/lost.h"
#include "transport/ofi/rdm/peer.h"
#include "transport/ofi/rdm/send.h"
#include "transport/ofi/tagged/tagged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 16 };

/* A frame with the right pass that no rank sends comes from damaged memory: the job ends.
 */
static _Noreturn __attribute__((noinline)) void
reject(struct weft_transport *tp, const struct weft_rdm_peer *peer, const char *what)
{
    char cause[WEFT_CAUSE_BYTES];

    snprintf(cause, sizeof(cause), WEFT_S_NETWORK_NONSENSE,
             weft_process_rank(peer->process), what);
    weft_wireup_abort(tp->job, 1, cause);
}

/* ---- taking ---- */

static void return_if_due(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    if (weft_unlikely(weft_credits_are_due(&peer->credits, tp->window / 2))) {
        weft_rdm_return_credits(tp, peer);
    }
}

/* Offers the ordered packet whose turn it is; false: it was not taken. */
static bool offer(struct weft_transport *tp, struct weft_rdm_peer *peer,
                  const void *header, const void *data, size_t len)
{
    if (tp->up->arrived(tp->up->owner, peer->above, header, data, len, 0) != WEFT_TAKEN) {
        return false;
    }
    peer->expected_ordered++;
    peer->credits.taken += (uint32_t)(sizeof(struct weft_rdm_frame) + len);
    tp->packets_received++;
    return_if_due(tp, peer);
    return true;
}

/* The control packet whose turn it is. */
static void take_control(struct weft_transport *tp, struct weft_rdm_peer *peer,
                         const void *header, const void *data, size_t len)
{
    peer->expected_control++;
    peer->credits.taken_control++;
    tp->up->control(tp->up->owner, peer->above, header, data, len);
    return_if_due(tp, peer);
}

/* ---- keeping ---- */

static void keep(struct weft_transport *tp, struct weft_rdm_peer *peer,
                 struct weft_kept_queue *queue, const struct weft_rdm_frame *frame,
                 const void *data, size_t len)
{
    struct weft_kept *kept = weft_kept_copy(frame->sequence, frame->header, data, len);

    if (kept == NULL) {
        weft_wireup_abort(tp->job, 1, WEFT_S_OOM_STORE);
    }
    weft_kept_insert(queue, kept);
    if (!peer->is_keeping) {
        peer->is_keeping = true;
        peer->next_keeping = tp->keeping;
        tp->keeping = peer;
    }
}

static bool is_turn(const struct weft_kept_queue *queue, uint32_t expected)
{
    return queue->first != NULL && queue->first->sequence == expected;
}

bool weft_rdm_may_take_kept(const struct weft_transport *tp)
{
    struct weft_upcalls *up = tp->up;

    for (const struct weft_rdm_peer *peer = tp->keeping; peer != NULL;
         peer = peer->next_keeping) {
        if (is_turn(&peer->control, peer->expected_control) ||
            (is_turn(&peer->ordered, peer->expected_ordered) &&
             up->may_take(up->owner, peer->above, peer->ordered.first->header, 0))) {
            return true;
        }
    }
    return false;
}

/* Offers what a peer has sent before, until one is not taken; true: some were. */
static bool offer_kept(struct weft_transport *tp, struct weft_rdm_peer *peer, int *budget)
{
    const int before = *budget;

    while (*budget > 0 && is_turn(&peer->control, peer->expected_control)) {
        struct weft_kept *kept = weft_kept_take(&peer->control);

        take_control(tp, peer, kept->header, kept->data, kept->length);
        free(kept);
        (*budget)--;
    }
    while (*budget > 0 && is_turn(&peer->ordered, peer->expected_ordered)) {
        const struct weft_kept *kept = peer->ordered.first;

        if (!offer(tp, peer, kept->header, kept->data, kept->length)) {
            break;
        }
        free(weft_kept_take(&peer->ordered));
        (*budget)--;
    }
    return *budget != before;
}

/* What one peer brings may be what another one waits for. */
static void offer_all_kept(struct weft_transport *tp, int *budget)
{
    struct weft_rdm_peer **at = &tp->keeping;
    bool has_taken;

    do {
        has_taken = false;
        for (struct weft_rdm_peer *p = tp->keeping; p != NULL; p = p->next_keeping) {
            has_taken |= offer_kept(tp, p, budget);
        }
    } while (has_taken && *budget > 0);
    while (*at != NULL) {
        struct weft_rdm_peer *peer = *at;

        if (peer->ordered.first == NULL && peer->control.first == NULL) {
            peer->is_keeping = false;
            *at = peer->next_keeping;
        } else {
            at = &peer->next_keeping;
        }
    }
}

/* ---- frames ---- */

static bool is_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static void on_ordered(struct weft_transport *tp, struct weft_rdm_peer *peer,
                       const struct weft_rdm_frame *frame, const void *data, size_t len,
                       int budget)
{
    if (weft_unlikely(is_before(frame->sequence, peer->expected_ordered) ||
                      is_turn(&peer->ordered, frame->sequence))) {
        reject(tp, peer, "a packet has come twice");
    }
    peer->has_left = peer->has_left && is_before(frame->sequence, peer->left_ordered);
    if (budget == 0 || weft_unlikely(frame->sequence != peer->expected_ordered) ||
        !offer(tp, peer, frame->header, data, len)) {
        keep(tp, peer, &peer->ordered, frame, data, len);
    }
}

static void on_control(struct weft_transport *tp, struct weft_rdm_peer *peer,
                       const struct weft_rdm_frame *frame, const void *data, size_t len,
                       int budget)
{
    if (weft_unlikely(is_before(frame->sequence, peer->expected_control) ||
                      is_turn(&peer->control, frame->sequence))) {
        reject(tp, peer, "a control packet has come twice");
    }
    peer->has_left = peer->has_left && is_before(frame->sequence, peer->left_control);
    if (budget == 0 || weft_unlikely(frame->sequence != peer->expected_control)) {
        keep(tp, peer, &peer->control, frame, data, len);
    } else {
        take_control(tp, peer, frame->header, data, len);
    }
}

/* Has something come that was sent after the packet of that number? */
static bool is_behind(const struct weft_kept_queue *queue, uint32_t expected,
                      uint32_t number)
{
    return is_before(number, queue->first != NULL ? queue->last->sequence + 1 : expected);
}

static void on_leave(struct weft_rdm_peer *peer, const struct weft_rdm_frame *frame)
{
    peer->left_ordered = frame->sequence;
    memcpy(&peer->left_control, frame->header, sizeof(peer->left_control));
    peer->has_left =
        !is_behind(&peer->ordered, peer->expected_ordered, peer->left_ordered) &&
        !is_behind(&peer->control, peer->expected_control, peer->left_control);
}

/* In a time that does not depend on where they differ. */
static bool is_same_pass(const uint8_t *a, const uint8_t *b)
{
    uint64_t first;
    uint64_t second;

    memcpy(&first, a, sizeof(first));
    memcpy(&second, b, sizeof(second));
    return first == second;
}
_Static_assert(sizeof(uint64_t) == WEFT_PASS_BYTES, "");

/* The sender of a frame, if it has shown its pass; NULL: it has not. */
static struct weft_rdm_peer *sender_of(struct weft_transport *tp,
                                       const struct weft_rdm_frame *frame)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_at(tp, frame->from);

    if (weft_unlikely(peer == NULL || !peer->has_asked ||
                      !is_same_pass(frame->pass, peer->pass_here))) {
        return NULL;
    }
    peer->has_proved = true;
    return peer;
}

/* A frame of a rank of the job; false: it is of somebody else. */
static bool take_packet(struct weft_transport *tp, const struct weft_rdm_frame *frame,
                        const void *data, size_t len, int budget)
{
    struct weft_rdm_peer *peer = sender_of(tp, frame);

    if (weft_unlikely(peer == NULL)) {
        return false;
    }
    if (weft_unlikely(peer->is_reported_lost)) {
        return true; /* it is no more */
    }
    if (weft_unlikely(!weft_credits_acknowledge(&peer->credits, frame->taken,
                                                frame->taken_control))) {
        reject(tp, peer, "it has taken more than we have sent");
    }
    if (weft_likely(frame->kind == WEFT_RDM_ORDERED)) {
        on_ordered(tp, peer, frame, data, len, budget);
    } else if (frame->kind == WEFT_RDM_CONTROL) {
        on_control(tp, peer, frame, data, len, budget);
    } else if (frame->kind == WEFT_RDM_LEAVE) {
        on_leave(peer, frame);
    } else if (frame->kind != WEFT_RDM_CREDIT || len > 0) {
        reject(tp, peer, "there is no such kind of frame");
    }
    return true;
}

/* Anybody may have sent these bytes, which need not be aligned. */
static void take_bytes(struct weft_transport *tp, const uint8_t *bytes, size_t length,
                       int budget)
{
    struct weft_rdm_frame frame;
    const uint8_t *data = bytes + sizeof(frame);
    size_t len;
    bool is_ours = false;

    tp->bytes_received += length;
    if (length >= sizeof(frame)) {
        memcpy(&frame, bytes, sizeof(frame));
        len = length - sizeof(frame);
        is_ours = frame.version != WEFT_RDM_VERSION ? false
                  : frame.kind == WEFT_RDM_ASK ? weft_rdm_on_ask(tp, &frame, data, len)
                  : frame.kind == WEFT_RDM_ANSWER
                      ? weft_rdm_on_answer(tp, &frame, data, len)
                      : take_packet(tp, &frame, data, len, budget);
    }
    tp->rejected += is_ours ? 0 : 1;
}

/* ---- completions ---- */

/* A provider with a prefix may have packets of its own, which have nothing behind it. */
static void complete_receive(struct weft_transport *tp, struct weft_ofi_slot *slot,
                             const struct fi_cq_tagged_entry *entry, int *budget)
{
    const bool is_multiple = tp->slots.is_multiple;
    const uint8_t *bytes = is_multiple ? entry->buf : slot->buffer + tp->prefix;

    if ((entry->flags & FI_RECV) != 0 && entry->len > tp->prefix) {
        take_bytes(tp, bytes, entry->len - tp->prefix, *budget);
        *budget -= *budget > 0 ? 1 : 0;
    }
    if (!is_multiple || (entry->flags & FI_MULTI_RECV) != 0) {
        weft_ofi_slots_post(&tp->slots, slot);
    }
}

static void complete_send(struct weft_transport *tp, struct weft_ofi_slot *slot,
                          enum weft_rc rc)
{
    if (slot->access == FI_ATOMIC) {
        weft_rdm_atomic_done(tp, slot, rc);
        return;
    }
    if (weft_rdm_is_of_flush(tp, slot)) {
        weft_rdm_flush_step(slot->owner);
    }
    weft_ofi_slots_done(&tp->slots, slot, rc);
}

/* What is neither a packet nor a buffer of the pool is a message that was matched. */
static bool is_packet(const struct weft_transport *tp, const struct weft_ofi_slot *slot)
{
    const struct weft_ofi_slots *slots = &tp->slots;

    return slot >= slots->sends && slot < slots->sends + slots->send_count;
}

static void complete(struct weft_transport *tp, const struct fi_cq_tagged_entry *entry,
                     int *budget)
{
    struct weft_ofi_slot *slot = entry->op_context;

    if (slot == NULL) {
        return; /* what was injected has none */
    }
    if (weft_ofi_slots_is_receive(&tp->slots, slot)) {
        complete_receive(tp, slot, entry, budget);
    } else if (weft_likely(is_packet(tp, slot))) {
        complete_send(tp, slot, WEFT_OK);
    } else {
        weft_tagged_complete(tp, entry->op_context, entry);
        *budget -= *budget > 0 ? 1 : 0;
    }
}

/* The queue stays blocked until its error was read. A receive that failed says nothing of
 * a peer: who it was is not known. */
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
        weft_log_info("a packet could not be received: %s", weft_ofi_error(error.err));
        if (!tp->slots.is_multiple || (error.flags & FI_MULTI_RECV) != 0) {
            weft_ofi_slots_post(&tp->slots, slot);
        }
    } else if (!is_packet(tp, slot)) {
        weft_tagged_fail(tp, error.op_context, &error);
    } else {
        weft_rdm_lose(tp, slot->owner, weft_ofi_error(error.err));
        complete_send(tp, slot, WEFT_ERR_PROC_FAILED);
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

/* Reads once, at most AT_ONCE; true: there may be more. */
static bool read_completions(struct weft_transport *tp, int *budget)
{
    struct fi_cq_tagged_entry entries[AT_ONCE];
    const ssize_t count = fi_cq_read(tp->ofi.cq, entries, AT_ONCE);

    if (count == -FI_EAVAIL) {
        complete_failed(tp);
        return true;
    }
    if (weft_unlikely(count < 0 && count != -FI_EAGAIN)) {
        fail(tp, count);
    }
    for (ssize_t i = 0; i < count; i++) {
        complete(tp, &entries[i], budget);
    }
    return count == AT_ONCE;
}

int weft_rdm_poll(struct weft_transport *tp, int budget)
{
    const int whole = budget;
    bool may_be_more;

    if (weft_unlikely(tp->losing != NULL)) {
        weft_rdm_report_losses(tp);
    }
    if (weft_unlikely(tp->answers != NULL)) {
        weft_rdm_answer_all(tp);
    }
    if (weft_unlikely(tp->keeping != NULL)) {
        offer_all_kept(tp, &budget);
    }
    do {
        may_be_more = read_completions(tp, &budget);
        if (weft_unlikely(tp->keeping != NULL)) { /* what came early may have its turn */
            offer_all_kept(tp, &budget);
        }
    } while (may_be_more && budget > 0);
    if (weft_unlikely(tp->slots.to_post != NULL)) {
        weft_ofi_slots_post_again(&tp->slots);
    }
    if (weft_unlikely(tp->credits_due.first != NULL)) {
        weft_rdm_return_all_credits(tp);
    }
    return whole - budget;
}
