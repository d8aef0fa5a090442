/*
 * quirks.h - what a provider of libfabric needs beyond libfabric's contract.
 *
 * provider.h has a row for each provider. The habits that follow are those of providers
 * over sockets, which means libfabric's tcp and what is built on it; all of them end at
 * once for other providers, which have no sockets to look for.
 *
 *   early.h        listens at the published port before libfabric is loaded
 *   filter.h       the kernel rejects connections from outside the job
 *   reap.h         ends those that it could not reject; descriptors that run out
 *   descriptors.h  finds the provider's sockets, and sets close-on-exec
 *   silence.h      finds peers that do not answer any more
 *
 * A transport calls the functions here at the moments that they name, with the library's
 * lock held. Early listeners exist for every provider, because they are opened before the
 * provider is known.
 */
#ifndef WEFT_OFI_QUIRKS_H
#define WEFT_OFI_QUIRKS_H

#include "transport/ofi/common/fabric.h"
#include "transport/ofi/quirks/early.h"
#include "transport/ofi/quirks/provider.h"
#include "transport/ofi/quirks/reap.h"

struct weft_quirks {
    struct weft_early early;
    const struct weft_provider *provider; /* NULL: not chosen yet */
    bool is_over_sockets;
    struct weft_descriptors descriptors;
    struct weft_noted_sockets noted; /* while the fabric is opened */
    struct weft_reap reap;
};

void weft_quirks_init(struct weft_quirks *q);

/* Before and after the queues of the provider `ofi->info` are opened, which makes sockets
 * that children must not inherit. */
WEFT_MUST_CHECK enum weft_rc weft_quirks_before_fabric(struct weft_quirks *q,
                                                       const struct weft_ofi *ofi);
void weft_quirks_after_fabric(struct weft_quirks *q, const struct weft_ofi *ofi);

/* The port at which libfabric makes its next listener, which is about to take the place
 * of an early one, or not. */
int weft_quirks_port(const struct weft_quirks *q);
/* libfabric says that the port is in use. True: by our early listener, so the provider is
 * over sockets; try again with the new weft_quirks_port(). */
bool weft_quirks_is_port_ours(struct weft_quirks *q);
/* Before listener `which` begins to listen, and after. False: its socket was not found.
 */
bool weft_quirks_before_listen(struct weft_quirks *q, int which,
                               struct fid_pep *listener);
void weft_quirks_after_listen(struct weft_quirks *q, struct fid_pep *listener);

/* How many bytes of a request to connect are the token of the rank that is asked. */
static inline size_t weft_quirks_token_bytes(const struct weft_quirks *q)
{
    return q->is_over_sockets ? WEFT_TOKEN_BYTES : 0;
}

/* Around each read of the event queue, in which the provider accepts connections. */
void weft_quirks_before_events(struct weft_quirks *q);
void weft_quirks_after_events(struct weft_quirks *q);
/* A request has been read: from now on its connection may carry anything. False: the
 * connection was not found. */
bool weft_quirks_on_request(struct weft_quirks *q, const struct fid *listener,
                            const struct fi_info *info);

/* An endpoint has begun to connect, or is connected: sets close-on-exec and the kernel's
 * time-outs. `known` is what the first call has returned, or 0. Each returns the
 * descriptor of its socket, or 0. */
int weft_quirks_on_connecting(struct weft_quirks *q, struct fid_ep *ep);
int weft_quirks_on_connected(struct weft_quirks *q, struct fid_ep *ep, int known);

/* Before the listeners are closed: ends connections without a request, which the provider
 * would forget together with their descriptors. Returns how many; the caller reads events
 * and calls again while there are any. */
int weft_quirks_end_unknown(struct weft_quirks *q);
/* After that; the early listeners stay. */
void weft_quirks_close(struct weft_quirks *q);

#endif
