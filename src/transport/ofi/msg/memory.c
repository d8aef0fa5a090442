#include "transport/ofi/msg/memory.h"

#include "transport/ofi/msg/send.h"
#include "transport/ofi/msg/slots.h"

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
    slot = weft_msg_slot_borrow(tp, stream, ours, len, access, op);
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
        weft_msg_slot_give(tp, slot);
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
