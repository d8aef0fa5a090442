/*
 * up.h - libfabric and what needs it: brought up at the first contact with another node,
 * or when a connection is pending (quirks/early.h), and down at the end.
 */
#ifndef WEFT_OFI_MSG_UP_H
#define WEFT_OFI_MSG_UP_H

#include "transport/ofi/msg/msg.h"

/* Brings libfabric up, if it is not; says why it cannot, the first time. */
WEFT_MUST_CHECK enum weft_rc weft_msg_come_up(struct weft_transport *tp);
/* Closes what needs libfabric, as far as it is there. No stream is left. */
void weft_msg_go_down(struct weft_transport *tp);

#endif
