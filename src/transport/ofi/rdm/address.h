/*
 * address.h - where the endpoint of this process is, and that of a peer.
 *
 * A rank publishes "FORMAT/ADDRESS,HOST" in one word: the number that libfabric has for
 * the kind of address, and the bytes of the address as hexadecimal digits.
 */
#ifndef WEFT_OFI_RDM_ADDRESS_H
#define WEFT_OFI_RDM_ADDRESS_H

#include "transport/ofi/rdm/rdm.h"

WEFT_MUST_CHECK enum weft_rc weft_rdm_publish(struct weft_transport *tp);
/* Finds out where a peer is. WEFT_AGAIN: it has not published that yet, and no event will
 * tell; else it says why it is not known. */
enum weft_rc weft_rdm_find(struct weft_transport *tp, struct weft_rdm_peer *peer);

#endif
