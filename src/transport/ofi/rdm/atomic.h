/*
 * atomic.h - atomic operations on one element of a peer's memory, as far as the provider
 * has them. It is asked for each operation and each type when it is opened.
 *
 * Operand and result lie in a slot's buffer, which is registered.
 */
#ifndef WEFT_OFI_RDM_ATOMIC_H
#define WEFT_OFI_RDM_ATOMIC_H

#include "transport/ofi/rdm/rdm.h"

/* Fills tp->atomics, once the endpoint is open. */
void weft_rdm_find_atomics(struct weft_transport *tp);

/* The can_atomic() and atomic() of the table of memory. */
bool weft_rdm_can_atomic(const struct weft_path *path, enum weft_atomic_op op,
                         enum weft_atomic_type type);
enum weft_rc weft_rdm_atomic(struct weft_path *path, const struct weft_atomic *atomic,
                             struct weft_op *op);

/* The slot of an atomic operation, whose access is FI_ATOMIC, is complete. */
void weft_rdm_atomic_done(struct weft_transport *tp, struct weft_ofi_slot *slot,
                          enum weft_rc rc);

#endif
