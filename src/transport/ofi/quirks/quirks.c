#include "transport/ofi/quirks/quirks.h"

#include "transport/ofi/quirks/silence.h"

#include <errno.h>
#include <string.h>

void weft_quirks_init(struct weft_quirks *q)
{
    *q = (struct weft_quirks){.provider = NULL};
    weft_early_init(&q->early);
    weft_reap_init(&q->reap);
}

/* ---- opening ---- */

static bool may_have_sockets(const struct weft_quirks *q)
{
    return q->provider->sockets != WEFT_SOCKETS_NEVER;
}

enum weft_rc weft_quirks_before_fabric(struct weft_quirks *q, const struct weft_ofi *ofi)
{
    enum weft_rc rc;

    q->provider = weft_provider_find(ofi->info->fabric_attr->prov_name);
    if (!may_have_sockets(q)) {
        return WEFT_OK;
    }
    rc = weft_descriptors_open(&q->descriptors);
    if (rc != WEFT_OK) {
        return rc;
    }
    weft_reap_open(&q->reap, &q->early);
    weft_descriptors_note(&q->descriptors, &q->noted);
    q->is_over_sockets = q->provider->sockets == WEFT_SOCKETS_ALWAYS;
    return WEFT_OK;
}

static void close_queue_on_exec(struct fid *queue)
{
    int fd = -1;

    if (fi_control(queue, FI_GETWAIT, &fd) == 0) {
        weft_close_on_exec(fd);
    }
}

void weft_quirks_after_fabric(struct weft_quirks *q, const struct weft_ofi *ofi)
{
    if (may_have_sockets(q)) {
        weft_descriptors_close_new_on_exec(&q->descriptors, &q->noted);
    }
    if (ofi->eq != NULL) {
        close_queue_on_exec(&ofi->eq->fid);
    }
    if (ofi->cq != NULL) {
        close_queue_on_exec(&ofi->cq->fid);
    }
}

/* ---- listening ---- */

int weft_quirks_port(const struct weft_quirks *q)
{
    return q->is_over_sockets ? 0 : q->early.port; /* 0: any; it is replaced */
}

bool weft_quirks_is_port_ours(struct weft_quirks *q)
{
    if (q->is_over_sockets || !may_have_sockets(q)) {
        return false;
    }
    q->is_over_sockets = true;
    return true;
}

bool weft_quirks_before_listen(struct weft_quirks *q, int which, struct fid_pep *listener)
{
    return !q->is_over_sockets ||
           weft_early_adopt(&q->early, which, &q->descriptors, listener);
}

void weft_quirks_after_listen(struct weft_quirks *q, struct fid_pep *listener)
{
    struct weft_descriptors *d = &q->descriptors;

    if (q->is_over_sockets &&
        weft_socket_address_of(&listener->fid, &d->listeners[d->listener_count])) {
        d->listener_count++;
    }
}

/* ---- events ---- */

/* libfabric's tcp takes an old EAGAIN in errno for the cause of a short read, and never
 * closes the connection of a process that has gone. */
void weft_quirks_before_events(struct weft_quirks *q)
{
    if (q->is_over_sockets) {
        weft_reap_before(&q->reap, &q->early, &q->descriptors);
        errno = 0;
    }
}

void weft_quirks_after_events(struct weft_quirks *q)
{
    if (q->is_over_sockets) {
        weft_reap_after(&q->reap);
    }
}

bool weft_quirks_on_request(struct weft_quirks *q, const struct fid *listener,
                            const struct fi_info *info)
{
    struct weft_socket_address at;
    struct weft_socket_address peer = {.at.ss_family = AF_UNSPEC};
    int fd;

    if (!q->is_over_sockets) {
        return true;
    }
    if (!weft_socket_address_of((struct fid *)(uintptr_t)listener, &at) ||
        info->dest_addr == NULL || info->dest_addrlen > sizeof(peer.at)) {
        return false;
    }
    memcpy(&peer.at, info->dest_addr, info->dest_addrlen);
    fd = weft_descriptors_find(&q->descriptors, &at, &peer);
    if (fd < 0) {
        return false;
    }
    weft_close_on_exec(fd);
    return weft_filter_detach(fd);
}

/* ---- connections ---- */

/* The descriptor of an endpoint's socket, or 0. */
static int find_socket(struct weft_quirks *q, struct fid_ep *ep)
{
    struct weft_socket_address own;
    struct weft_socket_address peer;
    bool has_peer;
    int fd;

    if (!q->is_over_sockets || !weft_socket_address_of(&ep->fid, &own)) {
        return 0;
    }
    has_peer = weft_socket_address_of_peer(ep, &peer); /* not while it connects */
    fd = weft_descriptors_find(&q->descriptors, &own, has_peer ? &peer : NULL);
    return fd > 0 ? fd : 0;
}

int weft_quirks_on_connecting(struct weft_quirks *q, struct fid_ep *ep)
{
    const int fd = find_socket(q, ep);

    if (fd != 0) {
        weft_close_on_exec(fd);
        weft_silence_watch_connecting(fd);
    }
    return fd;
}

int weft_quirks_on_connected(struct weft_quirks *q, struct fid_ep *ep, int known)
{
    const int fd = known != 0 ? known : find_socket(q, ep);

    if (fd != 0) {
        weft_silence_watch_open(fd);
    }
    return fd;
}

/* ---- closing ---- */

int weft_quirks_end_unknown(struct weft_quirks *q)
{
    return q->is_over_sockets ? weft_reap_all(&q->reap, &q->descriptors) : 0;
}

void weft_quirks_close(struct weft_quirks *q)
{
    weft_reap_close(&q->reap);
    weft_descriptors_close(&q->descriptors);
    q->is_over_sockets = false;
}
