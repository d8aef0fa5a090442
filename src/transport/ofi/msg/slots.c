#include "transport/ofi/msg/slots.h"

#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/msg/lost.h"

#include <stdlib.h>
#include <sys/mman.h>

struct weft_msg_limits weft_msg_limits;

/* ---- opening and closing ---- */

/* Pages are touched when they are used: a buffer costs what has come in it. */
static uint8_t *map(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static size_t packet_bytes(size_t data)
{
    return (sizeof(struct weft_frame) + data + 63) / 64 * 64;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* All that can be posted at once has room in the completion queue. */
static void choose_counts(struct weft_transport *tp)
{
    const struct fi_info *info = tp->ofi.info;
    const size_t room = tp->ofi.completions;
    const size_t receives =
        least(WEFT_MSG_RECEIVES, least(info->rx_attr->size, room / 2));

    tp->receive_count = weft_msg_limits.receives != 0
                            ? (uint32_t)least(weft_msg_limits.receives, receives)
                            : (uint32_t)receives;
    tp->send_count =
        (uint32_t)least(WEFT_MSG_SENDS, least(info->tx_attr->size / 2, room - receives));
}

static enum weft_rc make_sends(struct weft_transport *tp)
{
    const size_t each = packet_bytes(WEFT_MSG_PACKET_MAX);

    tp->sends = calloc(tp->send_count, sizeof(*tp->sends));
    tp->send_memory = map(tp->send_count * each);
    if (tp->sends == NULL || tp->send_memory == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < tp->send_count; i++) {
        tp->sends[i].buffer = tp->send_memory + i * each;
        tp->sends[i].next = tp->free_sends;
        tp->free_sends = &tp->sends[i];
    }
    return weft_ofi_register_local(&tp->ofi, tp->send_memory, tp->send_count * each,
                                   FI_SEND, &tp->send_mr);
}

static enum weft_rc make_receives(struct weft_transport *tp)
{
    enum weft_rc rc;

    tp->receive_bytes = packet_bytes(WEFT_HEAD_MAX + WEFT_MSG_ZCOPY_MAX);
    tp->receives = calloc(tp->receive_count, sizeof(*tp->receives));
    tp->receive_memory = map(tp->receive_count * tp->receive_bytes);
    if (tp->receives == NULL || tp->receive_memory == NULL) {
        return WEFT_ERR_NOMEM;
    }
    rc = weft_ofi_register_local(&tp->ofi, tp->receive_memory,
                                 tp->receive_count * tp->receive_bytes, FI_RECV,
                                 &tp->receive_mr);
    for (uint32_t i = 0; rc == WEFT_OK && i < tp->receive_count; i++) {
        tp->receives[i].buffer = tp->receive_memory + i * tp->receive_bytes;
        weft_msg_post(tp, &tp->receives[i]);
    }
    return rc;
}

enum weft_rc weft_msg_slots_open(struct weft_transport *tp)
{
    enum weft_rc rc;

    choose_counts(tp);
    rc = make_sends(tp);
    return rc == WEFT_OK ? make_receives(tp) : rc;
}

void weft_msg_slots_close(struct weft_transport *tp)
{
    weft_ofi_unregister(tp->send_mr);
    weft_ofi_unregister(tp->receive_mr);
    tp->send_mr = NULL;
    tp->receive_mr = NULL;
    if (tp->send_memory != NULL) {
        munmap(tp->send_memory, tp->send_count * packet_bytes(WEFT_MSG_PACKET_MAX));
    }
    if (tp->receive_memory != NULL) {
        munmap(tp->receive_memory, tp->receive_count * tp->receive_bytes);
    }
    free(tp->sends);
    free(tp->receives);
    tp->send_memory = NULL;
    tp->receive_memory = NULL;
    tp->sends = NULL;
    tp->receives = NULL;
}

/* ---- packets out ---- */

/* How many packets one peer may have on their way, so that one that does not read leaves
 * room for others. */
static bool has_share(const struct weft_transport *tp, const struct weft_msg_peer *peer)
{
    return peer->slots_used < tp->send_count / 4;
}

struct weft_msg_slot *weft_msg_slot_take(struct weft_transport *tp,
                                         struct weft_msg_stream *stream)
{
    struct weft_msg_slot *slot = tp->free_sends;

    if (slot == NULL || !has_share(tp, stream->peer)) {
        return NULL;
    }
    tp->free_sends = slot->next;
    slot->stream = stream;
    slot->op = NULL;
    stream->peer->slots_used++;
    return slot;
}

static void make_free(struct weft_transport *tp, struct weft_msg_slot *slot)
{
    slot->stream->peer->slots_used--;
    slot->next = tp->free_sends;
    tp->free_sends = slot;
}

struct weft_msg_slot *weft_msg_slot_borrow(struct weft_transport *tp,
                                           struct weft_msg_stream *stream,
                                           const void *data, size_t len, uint64_t access,
                                           struct weft_op *op)
{
    struct weft_msg_slot *slot = weft_msg_slot_take(tp, stream);
    enum weft_rc rc;

    if (slot == NULL) {
        return NULL;
    }
    rc = weft_ofi_register_local(&tp->ofi, data, len, access, &slot->mr);
    if (rc != WEFT_OK) {
        make_free(tp, slot);
        tp->needs_retry = true;
        if (rc != WEFT_AGAIN || tp->registered == 0) { /* nothing will be given back */
            weft_msg_give_up(tp, stream,
                             "the message's memory cannot be registered; is the limit of "
                             "locked memory too low (ulimit -l)?");
        }
        return NULL;
    }
    slot->op = op;
    tp->registered++;
    return slot;
}

void weft_msg_slot_give(struct weft_transport *tp, struct weft_msg_slot *slot)
{
    if (slot->op != NULL) {
        weft_ofi_unregister(slot->mr);
        tp->registered--;
        slot->op = NULL;
    }
    make_free(tp, slot);
}

void weft_msg_slot_done(struct weft_transport *tp, struct weft_msg_slot *slot,
                        enum weft_rc rc)
{
    struct weft_op *op = slot->op;

    weft_msg_slot_give(tp, slot);
    if (op != NULL) {
        op->done(op, rc);
    }
}

/* ---- packets in ---- */

void weft_msg_post(struct weft_transport *tp, struct weft_msg_slot *slot)
{
    const ssize_t code = fi_recv(tp->ofi.shared_receive, slot->buffer, tp->receive_bytes,
                                 weft_ofi_descriptor(tp->receive_mr), 0, &slot->context);

    if (weft_unlikely(code != 0)) {
        slot->next = tp->to_post; /* tried again by the next poll */
        tp->to_post = slot;
        if (code != -FI_EAGAIN) {
            weft_log_error(WEFT_S_NO_RECEIVE, weft_ofi_error(code));
        }
    }
}

void weft_msg_post_again(struct weft_transport *tp)
{
    struct weft_msg_slot *list = tp->to_post;

    tp->to_post = NULL;
    while (list != NULL) {
        struct weft_msg_slot *next = list->next;

        weft_msg_post(tp, list);
        list = next;
    }
}
