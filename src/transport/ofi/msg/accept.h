/*
 * accept.h - connections that peers ask for: the listener's side of connect.h.
 *
 * What the listener keeps of an ask is one struct per rank and stream that was asked for
 * with a right tag; a process outside the job leaves nothing behind but a count.
 *
 * An ask may be recorded, so it takes nothing from us: our own attempts go on, and after
 * an answer we wait a little for the confirm and then ask ourselves. Another answer in
 * between makes the first worthless; its confirm is refused, and that rank asks again.
 *
 * If two ranks ask each other at once, the lower rank's connection is made: the lower one
 * refuses the other's ask, the higher one answers and waits. If each has answered before
 * it asked, both confirm, and the same rule decides: the lower rank, having confirmed,
 * refuses the other's confirm; the higher one takes the lower's and gives up its own.
 */
#ifndef WEFT_OFI_MSG_ACCEPT_H
#define WEFT_OFI_MSG_ACCEPT_H

#include "transport/ofi/msg/msg.h"

/* A peer, or a process outside the job, asks for a connection: `bytes` of private data
 * follow the entry, whose info stays the caller's. */
void weft_msg_on_request(struct weft_transport *tp, const struct fi_eq_cm_entry *entry,
                         size_t bytes);

#endif
