#include "transport/ofi/rdm/flush.h"

#include "transport/ofi/rdm/post.h"

/* What the slot of a read that only tells of puts is for; no other slot has it. */
#define TELLS FI_RMA

void weft_rdm_note_put(struct weft_transport *tp, struct weft_rdm_peer *peer,
                       const struct weft_key *where, size_t len)
{
    if (tp->flush == WEFT_RDM_BY_DELIVERY) {
        peer->under_way++;
    } else if (tp->flush == WEFT_RDM_BY_READ && len > 0) {
        peer->is_unread = true;
        peer->put_to = *where;
    }
}

/* Reads a byte; false: not now. */
static bool begin_read(struct weft_transport *tp, struct weft_rdm_peer *peer,
                       const struct weft_key *where)
{
    struct weft_ofi_slot *slot = weft_ofi_slots_take(&tp->slots, peer, &peer->slots_used);

    if (slot == NULL) {
        return false;
    }
    slot->access = TELLS;
    if (weft_rdm_outcome(tp, peer,
                         fi_read(tp->ofi.endpoint, slot->buffer, 1,
                                 weft_ofi_descriptor(tp->slots.send_mr), peer->address,
                                 where->address, where->key, &slot->context)) !=
        WEFT_OK) {
        weft_ofi_slots_give(&tp->slots, slot);
        return false;
    }
    peer->is_unread = false;
    peer->under_way++;
    return true;
}

bool weft_rdm_try_flush(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    if (peer->is_unread) {
        (void)begin_read(tp, peer, &peer->put_to);
    }
    return weft_rdm_is_flushed(peer);
}

enum weft_rc weft_rdm_flush(struct weft_path *path, const struct weft_key *where,
                            struct weft_op *op)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_of(path);
    struct weft_transport *tp = path->transport;

    if (tp->flush == WEFT_RDM_NOT_KNOWN) {
        return WEFT_ERR_UNSUPPORTED;
    }
    if (peer->state == WEFT_RDM_LOST) {
        return weft_rdm_gone(peer);
    }
    if (weft_rdm_is_flushed(peer)) {
        return WEFT_OK;
    }
    if (peer->is_unread && !begin_read(tp, peer, where)) {
        return WEFT_AGAIN;
    }
    op->next = peer->flushing;
    peer->flushing = op;
    return WEFT_PENDING;
}

bool weft_rdm_is_of_flush(const struct weft_transport *tp,
                          const struct weft_ofi_slot *slot)
{
    return slot->access == (tp->flush == WEFT_RDM_BY_READ ? TELLS : FI_WRITE) &&
           tp->flush != WEFT_RDM_NOT_KNOWN;
}

void weft_rdm_flush_step(struct weft_rdm_peer *peer)
{
    const enum weft_rc rc = peer->state == WEFT_RDM_LOST ? WEFT_ERR_PROC_FAILED : WEFT_OK;
    struct weft_op *list;

    peer->under_way--;
    if (peer->under_way > 0) {
        return;
    }
    list = peer->flushing;
    peer->flushing = NULL;
    while (list != NULL) {
        struct weft_op *next = list->next;

        list->done(list, rc);
        list = next;
    }
}
