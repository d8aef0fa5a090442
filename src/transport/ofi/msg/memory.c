#include "transport/ofi/msg/memory.h"

#include "transport/ofi/msg/send.h"
#include "transport/ofi/msg/slots.h"

#include <assert.h>

/* Between memory of ours and a peer's, one block each: FI_WRITE there, or FI_READ from
 * there. */
static enum weft_rc start(struct weft_path *path, uint64_t access,
                          const struct weft_move *move, struct weft_op *op)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(path);
    struct weft_transport *tp = path->transport;
    const uint64_t theirs = (uint64_t)(uintptr_t)move->theirs->iov_base;
    void *ours = move->ours->iov_base;
    const size_t len = move->ours->iov_len;
    struct weft_ofi_slot *slot;
    enum weft_rc rc = weft_msg_may_send(tp, stream, 0);
    void *descriptor;

    assert(move->their_count == 1 && move->our_count == 1);
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
                                         move->key, &slot->context)
                              : fi_read(stream->ep, ours, len, descriptor, 0, theirs,
                                        move->key, &slot->context));
    if (rc != WEFT_OK) {
        weft_ofi_slots_give(&tp->slots, slot);
        return rc;
    }
    *(access == FI_WRITE ? &tp->bytes_put : &tp->bytes_got) += len;
    return WEFT_PENDING;
}

static enum weft_rc put(struct weft_path *path, const struct weft_move *move,
                        struct weft_op *op)
{
    return start(path, FI_WRITE, move, op);
}

static enum weft_rc get(struct weft_path *path, const struct weft_move *move,
                        struct weft_op *op)
{
    return start(path, FI_READ, move, op);
}

static enum weft_rc mr_register(struct weft_transport *tp, void *memory, size_t bytes,
                                unsigned rights, struct weft_key *key, void **mr)
{
    return weft_ofi_slots_register(&tp->slots, memory, bytes, rights, key, mr);
}

static void mr_deregister(struct weft_transport *tp, void *mr)
{
    weft_ofi_slots_deregister(&tp->slots, mr);
}

const struct weft_memory_ops *weft_msg_memory(void)
{
    static const struct weft_memory_ops ops = {
        .iov_max = 1,
        .put = put,
        .get = get,
        .mr_register = mr_register,
        .mr_deregister = mr_deregister,
    };

    return &ops;
}
