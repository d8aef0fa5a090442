/*
 * lend.c - long packets out of memory of the user's, puts into a peer's memory and gets
 * from it. A slot carries the frame and the head, and finds what was lent when the
 * provider is through with it. Memory is registered for as long as that takes, where the
 * provider wants it: a cache of registrations is the provider's affair, which knows when
 * memory is unmapped.
 */
#include "transport/ofi/msg/msg.h"

#include <string.h>

/* A slot whose memory is registered; NULL: not now. */
static struct weft_msg_slot *borrow(struct weft_transport *tp,
                                    struct weft_msg_stream *stream, const void *data,
                                    size_t len, uint64_t access, struct weft_op *op)
{
    struct weft_msg_slot *slot = weft_msg_take_slot(tp, stream);
    enum weft_rc rc;

    if (slot == NULL) {
        return NULL;
    }
    rc = weft_ofi_register_local(&tp->ofi, data, len, access, &slot->mr);
    if (rc != WEFT_OK) {
        weft_msg_slot_is_free(tp, slot);
        tp->has_stumbled = true;
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

static void give_back(struct weft_transport *tp, struct weft_msg_slot *slot)
{
    weft_ofi_unregister(slot->mr);
    tp->registered--;
    slot->op = NULL;
    weft_msg_slot_is_free(tp, slot);
}

void weft_msg_return(struct weft_transport *tp, struct weft_msg_slot *slot,
                     enum weft_rc rc)
{
    struct weft_op *op = slot->op;

    if (op == NULL) {
        weft_msg_slot_is_free(tp, slot);
        return;
    }
    give_back(tp, slot);
    op->done(op, rc);
}

enum weft_rc weft_msg_send_zcopy(struct weft_endpoint *ep, const void *header,
                                 const void *head, size_t head_len, const void *data,
                                 size_t len, struct weft_op *op)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(ep);
    struct weft_transport *tp = ep->transport;
    struct weft_msg_frame frame;
    const size_t total = sizeof(frame) + head_len + len;
    struct weft_msg_slot *slot;
    enum weft_rc rc = weft_msg_may_send(tp, stream, total);

    if (rc != WEFT_OK) {
        return rc;
    }
    slot = borrow(tp, stream, data, len, FI_SEND, op);
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    frame = weft_msg_frame(tp, stream, WEFT_MSG_ORDERED);
    memcpy(frame.header, header, WEFT_HEADER_BYTES);
    memcpy(slot->buffer, &frame, sizeof(frame));
    if (head_len > 0) {
        memcpy(slot->buffer + sizeof(frame), head, head_len);
    }
    {
        const struct iovec parts[] = {
            {.iov_base = slot->buffer, .iov_len = sizeof(frame) + head_len},
            {.iov_base = (void *)(uintptr_t)data, .iov_len = len},
        };
        void *descriptors[] = {weft_ofi_descriptor(tp->send_mr),
                               weft_ofi_descriptor(slot->mr)};

        rc = weft_msg_outcome(
            tp, stream, fi_sendv(stream->ep, parts, descriptors, 2, 0, &slot->context));
    }
    if (rc != WEFT_OK) {
        give_back(tp, slot);
        return rc;
    }
    weft_msg_has_sent(stream->peer, &frame, total);
    return WEFT_PENDING;
}

/* Between memory of ours and a peer's: FI_WRITE there, or FI_READ from there. */
static enum weft_rc move(struct weft_endpoint *ep, uint64_t access,
                         const struct weft_key *key, uint64_t offset, void *ours,
                         size_t len, struct weft_op *op)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(ep);
    struct weft_transport *tp = ep->transport;
    const uint64_t theirs = key->address + offset;
    struct weft_msg_slot *slot;
    enum weft_rc rc = weft_msg_may_send(tp, stream, 0);
    void *descriptor;

    if (rc != WEFT_OK) {
        return rc;
    }
    slot = borrow(tp, stream, ours, len, access, op);
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    descriptor = weft_ofi_descriptor(slot->mr);
    rc = weft_msg_outcome(tp, stream,
                          access == FI_WRITE
                              ? fi_write(stream->ep, ours, len, descriptor, 0, theirs,
                                         key->key, &slot->context)
                              : fi_read(stream->ep, ours, len, descriptor, 0, theirs,
                                        key->key, &slot->context));
    if (rc != WEFT_OK) {
        give_back(tp, slot);
        return rc;
    }
    *(access == FI_WRITE ? &stream->peer->bytes_put : &stream->peer->bytes_got) += len;
    return WEFT_PENDING;
}

enum weft_rc weft_msg_put(struct weft_endpoint *ep, const struct weft_key *key,
                          uint64_t offset, const void *from, size_t len,
                          struct weft_op *op)
{
    return move(ep, FI_WRITE, key, offset, (void *)(uintptr_t)from, len, op);
}

enum weft_rc weft_msg_get(struct weft_endpoint *ep, const struct weft_key *key,
                          uint64_t offset, void *to, size_t len, struct weft_op *op)
{
    return move(ep, FI_READ, key, offset, to, len, op);
}

/* ---- memory that peers write to, or read ---- */

enum weft_rc weft_msg_mr_register(struct weft_transport *tp, void *memory, size_t bytes,
                                  unsigned how, struct weft_key *key, void **mr)
{
    const bool is_virtual = (tp->ofi.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    const uint64_t access = ((how & WEFT_MR_PUT) != 0 ? FI_REMOTE_WRITE : 0) |
                            ((how & WEFT_MR_GET) != 0 ? FI_REMOTE_READ : 0);
    struct fid_mr *registered;
    const enum weft_rc rc =
        weft_ofi_register(&tp->ofi, memory, bytes, access, &registered);

    if (rc != WEFT_OK) {
        return rc;
    }
    *key = (struct weft_key){
        .address = is_virtual ? (uint64_t)(uintptr_t)memory : 0,
        .key = fi_mr_key(registered),
    };
    *mr = registered;
    tp->registered++;
    return WEFT_OK;
}

void weft_msg_mr_deregister(struct weft_transport *tp, void *mr)
{
    tp->registered--;
    weft_ofi_unregister(mr);
}
