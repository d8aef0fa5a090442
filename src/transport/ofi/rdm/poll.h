/* poll.h - packets in. */
#ifndef WEFT_OFI_RDM_POLL_H
#define WEFT_OFI_RDM_POLL_H

#include "transport/ofi/rdm/rdm.h"

/* The transport's poll(). What comes beyond the budget is kept. */
int weft_rdm_poll(struct weft_transport *tp, int budget);

/* Would a packet that was kept be taken now? */
bool weft_rdm_may_take_kept(const struct weft_transport *tp);

#endif
