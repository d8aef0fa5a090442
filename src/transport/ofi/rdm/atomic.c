#include "transport/ofi/rdm/atomic.h"

#include "transport/ofi/rdm/post.h"
#include "transport/ofi/rdm/send.h"

#include <rdma/fi_atomic.h>
#include <string.h>

enum { ELEMENT_MOST = 8 };

static const enum fi_op ops[WEFT_ATOMIC_OPS] = {
    [WEFT_ATOMIC_SUM] = FI_SUM,
    [WEFT_ATOMIC_MIN] = FI_MIN,
    [WEFT_ATOMIC_MAX] = FI_MAX,
    [WEFT_ATOMIC_BAND] = FI_BAND,
    [WEFT_ATOMIC_BOR] = FI_BOR,
    [WEFT_ATOMIC_BXOR] = FI_BXOR,
    [WEFT_ATOMIC_REPLACE] = FI_ATOMIC_WRITE,
    [WEFT_ATOMIC_READ] = FI_ATOMIC_READ,
    [WEFT_ATOMIC_CSWAP] = FI_CSWAP,
};

static const struct {
    enum fi_datatype type;
    uint8_t bytes;
} types[WEFT_ATOMIC_TYPES] = {
    [WEFT_ATOMIC_INT32] = {FI_INT32, 4}, [WEFT_ATOMIC_UINT32] = {FI_UINT32, 4},
    [WEFT_ATOMIC_INT64] = {FI_INT64, 8}, [WEFT_ATOMIC_UINT64] = {FI_UINT64, 8},
    [WEFT_ATOMIC_FLOAT] = {FI_FLOAT, 4}, [WEFT_ATOMIC_DOUBLE] = {FI_DOUBLE, 8},
};

/* In the buffer of its slot. */
struct element {
    uint8_t operand[ELEMENT_MOST];
    uint8_t compare[ELEMENT_MOST];
    uint8_t result[ELEMENT_MOST];
    void *to;
    size_t bytes;
    struct weft_op *op;
};

static bool is_offered(struct fid_ep *ep, enum weft_atomic_op op, enum fi_datatype type)
{
    size_t count = 0;
    const int code = op == WEFT_ATOMIC_CSWAP
                         ? fi_compare_atomicvalid(ep, type, ops[op], &count)
                         : fi_fetch_atomicvalid(ep, type, ops[op], &count);

    return code == 0 && count > 0;
}

void weft_rdm_find_atomics(struct weft_transport *tp)
{
    if ((tp->ofi.info->caps & FI_ATOMIC) == 0) {
        return;
    }
    for (int op = 0; op < WEFT_ATOMIC_OPS; op++) {
        for (int type = 0; type < WEFT_ATOMIC_TYPES; type++) {
            if (is_offered(tp->ofi.endpoint, (enum weft_atomic_op)op, types[type].type)) {
                tp->atomics[op] = (uint8_t)(tp->atomics[op] | 1U << type);
            }
        }
    }
}

bool weft_rdm_can_atomic(const struct weft_path *path, enum weft_atomic_op op,
                         enum weft_atomic_type type)
{
    return (path->transport->atomics[op] & 1U << type) != 0;
}

static struct element *fill(struct weft_ofi_slot *slot, const struct weft_atomic *atomic,
                            struct weft_op *op)
{
    struct element *element = (struct element *)(void *)slot->buffer;
    const size_t bytes = types[atomic->type].bytes;

    *element = (struct element){.to = atomic->result, .bytes = bytes, .op = op};
    if (atomic->op != WEFT_ATOMIC_READ) {
        memcpy(element->operand, atomic->operand, bytes);
    }
    if (atomic->op == WEFT_ATOMIC_CSWAP) {
        memcpy(element->compare, atomic->compare, bytes);
    }
    return element;
}

static ssize_t post(struct weft_transport *tp, const struct weft_rdm_peer *peer,
                    const struct weft_atomic *atomic, struct element *element,
                    struct weft_ofi_slot *slot)
{
    struct fid_ep *ep = tp->ofi.endpoint;
    void *mr = weft_ofi_descriptor(tp->slots.send_mr);
    const enum fi_datatype type = types[atomic->type].type;

    return atomic->op == WEFT_ATOMIC_CSWAP
               ? fi_compare_atomic(ep, element->operand, 1, mr, element->compare, mr,
                                   element->result, mr, peer->address, atomic->theirs,
                                   atomic->key, type, FI_CSWAP, &slot->context)
               : fi_fetch_atomic(ep, element->operand, 1, mr, element->result, mr,
                                 peer->address, atomic->theirs, atomic->key, type,
                                 ops[atomic->op], &slot->context);
}

enum weft_rc weft_rdm_atomic(struct weft_path *path, const struct weft_atomic *atomic,
                             struct weft_op *op)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_of(path);
    struct weft_transport *tp = path->transport;
    enum weft_rc rc = weft_rdm_can_atomic(path, atomic->op, atomic->type)
                          ? weft_rdm_may_send(tp, peer)
                          : WEFT_ERR_UNSUPPORTED;
    struct weft_ofi_slot *slot;

    if (rc != WEFT_OK) {
        return rc;
    }
    slot = weft_ofi_slots_take(&tp->slots, peer, &peer->slots_used);
    if (slot == NULL) {
        return WEFT_AGAIN;
    }
    slot->access = FI_ATOMIC;
    rc = weft_rdm_outcome(tp, peer, post(tp, peer, atomic, fill(slot, atomic, op), slot));
    if (rc != WEFT_OK) {
        weft_ofi_slots_give(&tp->slots, slot);
        return rc;
    }
    return WEFT_PENDING;
}

void weft_rdm_atomic_done(struct weft_transport *tp, struct weft_ofi_slot *slot,
                          enum weft_rc rc)
{
    const struct element *element = (const struct element *)(const void *)slot->buffer;
    struct weft_op *op = element->op;

    if (rc == WEFT_OK) {
        memcpy(element->to, element->result, element->bytes);
    }
    weft_ofi_slots_give(&tp->slots, slot);
    op->done(op, rc);
}
