/* poll.h - packets in: taken, or kept and offered again; completions of packets out. */
#ifndef WEFT_OFI_MSG_POLL_H
#define WEFT_OFI_MSG_POLL_H

#include "transport/ofi/msg/msg.h"

/* The transport's poll(). */
int weft_msg_poll(struct weft_transport *tp, int budget);
/* Could a packet be taken that is kept? */
bool weft_msg_may_take_kept(const struct weft_transport *tp);

#endif
