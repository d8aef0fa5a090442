/*
 * early.h - early listeners: sockets that listen before libfabric is loaded.
 *
 * Loading libfabric and asking what it offers takes a third of a second, a tenth of it
 * processor time in every rank (docs/engine.md, 0), and many ranks never speak to another
 * node. So a rank begins with plain sockets that listen at the port it publishes. It
 * opens the network when it wants to speak, or when a connection is pending: a process
 * that knows the token has asked for one. The kernel rejects others (filter.h). A process
 * with a recorded token achieves that libfabric is loaded, and no more.
 *
 * The early listeners stay for the whole job. libfabric makes a socket of its own to
 * listen at, at any port; before it listens, the early listener takes its descriptor. So
 * the port is never free for others in between, and pending connections are accepted.
 *
 * A rank has one port for all its addresses, so that WEFT_PORTS is a number of ranks.
 *
 * This works where the provider connects by sockets. With other hardware in the machine,
 * or a provider chosen by the user, the network is opened at once. A provider with ports
 * of its own leaves the early listeners unused; they only reserve the port.
 */
#ifndef WEFT_OFI_QUIRKS_EARLY_H
#define WEFT_OFI_QUIRKS_EARLY_H

#include "base/rc.h"
#include "transport/ofi/quirks/descriptors.h"
#include "transport/ofi/quirks/filter.h"
#include "wireup/net.h"

#include <stdbool.h>
#include <stdint.h>

struct weft_early {
    int listeners[WEFT_LISTENERS_MAX]; /* -1: none; `count` are open */
    int count;
    int pending;                     /* epoll's descriptor for all of them, or -1 */
    int port;                        /* the same at all addresses */
    uint8_t token[WEFT_TOKEN_BYTES]; /* what requests to connect begin with */
};

/* May libfabric wait until it is needed? */
bool weft_early_may_defer(void);

void weft_early_init(struct weft_early *early);
/* Draws the token and listens at each of `count` addresses, at a port of WEFT_PORTS;
 * processes of a host begin the search at different ones (`local_rank`). */
WEFT_MUST_CHECK enum weft_rc weft_early_open(struct weft_early *early,
                                             const struct weft_net_address *own,
                                             int count, int local_rank);
/* Gives the port up. */
void weft_early_close(struct weft_early *early);

/* Is a connection waiting to be accepted? */
bool weft_early_is_pending(const struct weft_early *early);
/* Nobody sleeps on the early listeners any more: libfabric's listeners take over. */
void weft_early_end_waiting(struct weft_early *early);

/* Puts an early listener in the place of the socket of libfabric's listener, which has
 * not begun to listen; false: that socket was not found. */
bool weft_early_adopt(const struct weft_early *early, int which,
                      struct weft_descriptors *descriptors, struct fid_pep *listener);

#endif
