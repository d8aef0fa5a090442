/* events.h - what has happened to connections, read from libfabric's event queue. */
#ifndef WEFT_OFI_MSG_EVENTS_H
#define WEFT_OFI_MSG_EVENTS_H

#include "transport/ofi/msg/msg.h"

/* Handles all events that are there, and what is due by the clock; returns how many
 * events there were. */
int weft_msg_handle_events(struct weft_transport *tp);

#endif
