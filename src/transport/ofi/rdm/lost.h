/*
 * lost.h - peers that cannot be reached any more.
 *
 * An endpoint without connections learns this from what it sends. The `lost` upcall
 * reports each lost peer once, a second later, as that of connections does (msg/lost.h):
 * if the process has died, the launcher knows the cause better than we do. Meanwhile
 * sends to that peer return WEFT_AGAIN.
 */
#ifndef WEFT_OFI_RDM_LOST_H
#define WEFT_OFI_RDM_LOST_H

#include "transport/ofi/rdm/rdm.h"

void weft_rdm_lose(struct weft_transport *tp, struct weft_rdm_peer *peer,
                   const char *cause);

/* Calls `lost` for the peers that are due. */
void weft_rdm_report_losses(struct weft_transport *tp);
/* When the next one is due; 0: none is. */
uint64_t weft_rdm_next_loss(const struct weft_transport *tp);

#endif
