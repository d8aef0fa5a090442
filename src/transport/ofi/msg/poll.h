/* poll.h - packets in: taken, held, or kept until their turn; completions of packets out.
 */
#ifndef WEFT_OFI_MSG_POLL_H
#define WEFT_OFI_MSG_POLL_H

#include "transport/ofi/msg/msg.h"

/* The transport's poll(). */
int weft_msg_poll(struct weft_transport *tp, int budget);
/* Could a packet be taken that is held? */
bool weft_msg_may_take_held(const struct weft_transport *tp);

#endif
