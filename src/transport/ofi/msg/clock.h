/* clock.h - what is due by the clock: looking for silent peers, and telling of losses. */
#ifndef WEFT_OFI_MSG_CLOCK_H
#define WEFT_OFI_MSG_CLOCK_H

#include "transport/ofi/msg/msg.h"

/* Loses peers that are silent (quirks/silence.h), tells of peers that are lost, and sets
 * `deadline`. */
void weft_msg_look_at_clock(struct weft_transport *tp);

#endif
