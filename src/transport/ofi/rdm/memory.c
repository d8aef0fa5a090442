#include "transport/ofi/rdm/memory.h"

#include "transport/ofi/rdm/atomic.h"
#include "transport/ofi/rdm/flush.h"
#include "transport/ofi/rdm/post.h"
#include "transport/ofi/rdm/send.h"

#include <assert.h>

/* Between memory of ours and a peer's, one block each: FI_WRITE there, or FI_READ from
 * there. */
static enum weft_rc start(struct weft_path *path, uint64_t access,
                          const struct weft_move *move, struct weft_op *op)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_of(path);
    struct weft_transport *tp = path->transport;
    struct fid_ep *ep = tp->ofi.endpoint;
    const uint64_t theirs = (uint64_t)(uintptr_t)move->theirs->iov_base;
    void *ours = move->ours->iov_base;
    const size_t len = move->ours->iov_len;
    struct weft_ofi_slot *slot;
    enum weft_rc rc = weft_rdm_may_send(tp, peer);
    void *descriptor;

    assert(move->their_count == 1 && move->our_count == 1);
    if (rc != WEFT_OK) {
        return rc;
    }
    slot = weft_rdm_borrow(tp, peer, ours, len, access, op);
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    ours = weft_ofi_slot_memory(slot, ours);
    descriptor = weft_ofi_slot_descriptor(&tp->slots, slot);
    rc = weft_rdm_outcome(tp, peer,
                          access == FI_WRITE
                              ? fi_write(ep, ours, len, descriptor, peer->address, theirs,
                                         move->key, &slot->context)
                              : fi_read(ep, ours, len, descriptor, peer->address, theirs,
                                        move->key, &slot->context));
    if (rc != WEFT_OK) {
        weft_ofi_slots_give(&tp->slots, slot);
        return rc;
    }
    *(access == FI_WRITE ? &tp->bytes_put : &tp->bytes_got) += len;
    if (access == FI_WRITE) {
        weft_rdm_note_put(tp, peer, &(struct weft_key){theirs, move->key}, len);
    }
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

/* What is put to may have to be read, to know that it was. */
static enum weft_rc mr_register(struct weft_transport *tp, void *memory, size_t bytes,
                                unsigned rights, struct weft_key *key, void **mr)
{
    const unsigned more = tp->flush == WEFT_RDM_BY_READ ? WEFT_MR_GET : 0;

    return weft_ofi_slots_register(&tp->slots, memory, bytes, rights | more, key, mr);
}

static void mr_deregister(struct weft_transport *tp, void *mr)
{
    weft_ofi_slots_deregister(&tp->slots, mr);
}

const struct weft_memory_ops *weft_rdm_memory(void)
{
    static const struct weft_memory_ops ops = {
        .iov_max = 1,
        .put = put,
        .get = get,
        .mr_register = mr_register,
        .mr_deregister = mr_deregister,
        .flush = weft_rdm_flush,
        .can_atomic = weft_rdm_can_atomic,
        .atomic = weft_rdm_atomic,
    };

    return &ops;
}
