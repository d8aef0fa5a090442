#include "transport/ofi/msg/memory.h"

#include "transport/ofi/msg/send.h"
#include "transport/ofi/msg/slots.h"

#include <assert.h>

/* Between memory of ours and a peer's, one block each: FI_WRITE there, with a word for
 * the peer where `word` is not NULL, or FI_READ from there. */
static enum weft_rc start(struct weft_path *path, uint64_t access,
                          const struct weft_move *move, const uint64_t *word,
                          struct weft_op *op)
{
    struct weft_msg_stream *stream = weft_msg_stream_of(path);
    struct weft_transport *tp = path->transport;
    const uint64_t theirs = (uint64_t)(uintptr_t)move->theirs->iov_base;
    void *ours = move->ours->iov_base;
    const size_t len = move->ours->iov_len;
    struct weft_ofi_slot *slot;
    enum weft_rc rc = weft_msg_may_send(tp, stream, 0);
    void *descriptor;
    ssize_t code;

    assert(move->their_count == 1 && move->our_count == 1);
    if (rc != WEFT_OK) {
        return rc;
    }
    slot = weft_msg_slot_borrow(tp, stream, ours, len, access, op);
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    ours = weft_ofi_slot_memory(slot, ours);
    descriptor = weft_ofi_slot_descriptor(&tp->slots, slot);
    if (access == FI_READ) {
        code = fi_read(stream->ep, ours, len, descriptor, 0, theirs, move->key,
                       &slot->context);
    } else if (word != NULL) {
        code = fi_writedata(stream->ep, ours, len, descriptor, *word, 0, theirs,
                            move->key, &slot->context);
    } else {
        code = fi_write(stream->ep, ours, len, descriptor, 0, theirs, move->key,
                        &slot->context);
    }
    rc = weft_msg_outcome(tp, stream, code);
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
    return start(path, FI_WRITE, move, NULL, op);
}

static enum weft_rc put_tell(struct weft_path *path, const struct weft_move *move,
                             uint64_t word, struct weft_op *op)
{
    return start(path, FI_WRITE, move, &word, op);
}

static enum weft_rc get(struct weft_path *path, const struct weft_move *move,
                        struct weft_op *op)
{
    return start(path, FI_READ, move, NULL, op);
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

const struct weft_memory_ops *weft_msg_memory(const struct fi_info *info)
{
    static const struct weft_memory_ops silent = {
        .iov_max = 1,
        .put = put,
        .get = get,
        .mr_register = mr_register,
        .mr_deregister = mr_deregister,
    };
    static const struct weft_memory_ops telling = {
        .iov_max = 1,
        .put = put,
        .get = get,
        .mr_register = mr_register,
        .mr_deregister = mr_deregister,
        .put_tell = put_tell,
    };

    return info->domain_attr->cq_data_size >= sizeof(uint64_t) &&
                   (info->mode & FI_RX_CQ_DATA) == 0
               ? &telling
               : &silent;
}
