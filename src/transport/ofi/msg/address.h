/*
 * address.h - where this process listens, and where a peer does.
 *
 * A rank listens at each of its host's addresses that are for jobs (wireup/net.h), at a
 * port of WEFT_PORTS (quirks/early.h), and publishes "ADDRESS/PORT,ADDRESS/PORT,HOST;
 * TOKEN" in one word. A caller takes the first address that lies in a network of its own,
 * and shows the token (quirks/filter.h). Where nothing answers there, it takes the next
 * one: a network may be dead although its interface is up. Ranks of a job on one host use
 * the loopback.
 */
#ifndef WEFT_OFI_MSG_ADDRESS_H
#define WEFT_OFI_MSG_ADDRESS_H

#include "transport/ofi/msg/msg.h"

/* Finds the addresses of this host that are for jobs; says why there is none. */
bool weft_msg_find_own(struct weft_transport *tp);
/* Publishes them with the port and the token. */
WEFT_MUST_CHECK enum weft_rc weft_msg_publish(struct weft_transport *tp);
/* Finds out where a peer listens. WEFT_AGAIN: it has not published that yet. */
enum weft_rc weft_msg_find(struct weft_transport *tp, struct weft_msg_peer *peer);
/* The address of a peer leads nowhere. True: it has another one, which weft_msg_find()
 * finds next. */
bool weft_msg_leave_address(struct weft_msg_peer *peer);

#endif
