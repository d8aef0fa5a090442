/*
 * fabric_connect.c - see fabric.h. Every end listens at the address by which the others
 * know it, tells it through the control channel, and connects to those before it, with
 * the secret of who listens.
 */
#include "gauge/modules/fabric.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    COMPLETIONS = 1024, /* wanted of the queue */
    HOST = 64,          /* bytes of an address as text */
    PATIENCE = 30,      /* seconds until all must be connected */
};

enum gauge_rc fabric_fail(const char *what, long code)
{
    return gauge_fail("fabric: %s: %s", what, weft_ofi_error(code));
}

struct address {
    struct sockaddr_storage at;
    uint64_t bytes;
};

/* What every end tells the others. */
struct card {
    uint64_t secret; /* of this end, for this run */
    struct address address;
};

/* What who connects says first. */
struct hello {
    uint64_t secret; /* of who listens */
    uint32_t end;
    uint32_t unused;
};

static bool read_host(const char *text, struct address *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)&out->at;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&out->at;

    *out = (struct address){.bytes = sizeof(*four)};
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        return true;
    }
    six->sin6_family = AF_INET6;
    out->bytes = sizeof(*six);
    return inet_pton(AF_INET6, text, &six->sin6_addr) == 1;
}

/* Where the others reach us: of end 0 only they know that. */
static enum gauge_rc find_own(const struct gauge_world *world, struct address *own)
{
    char(*seen)[HOST] = calloc((size_t)world->ends, sizeof(*seen));
    char mine[HOST] = "";
    const char *chosen = world->host(world, world->end);
    enum gauge_rc rc = GAUGE_OK;

    snprintf(mine, sizeof(mine), "%s", world->host(world, 0));
    rc = seen != NULL ? world->exchange(world, mine, sizeof(mine), seen)
                      : gauge_fail("fabric: no memory");
    for (int i = 1; rc == GAUGE_OK && world->end == 0 && i < world->ends; i++) {
        if (strncmp(seen[i], "127.", 4) != 0 && strcmp(seen[i], "::1") != 0) {
            chosen = seen[i];
            break;
        }
    }
    if (rc == GAUGE_OK && !read_host(chosen, own)) {
        rc = gauge_fail("fabric: %s is no address", chosen);
    }
    free(seen);
    return rc;
}

/* What the provider offers at our address, or to reach another; NULL: nothing. */
static struct fi_info *find(const struct fabric *fabric, const struct address *from,
                            const struct address *to)
{
    const struct address *one = from != NULL ? from : to;
    struct fi_info *hints = weft_libfabric.dupinfo(NULL);
    struct fi_info *found = NULL;
    void *copy = malloc(one->bytes);

    if (hints == NULL || copy == NULL) {
        free(copy);
        return NULL;
    }
    memcpy(copy, &one->at, one->bytes);
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
    hints->ep_attr->type = FI_EP_MSG;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup(fabric->provider);
    hints->addr_format = one->at.ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
    if (from != NULL) {
        hints->src_addr = copy;
        hints->src_addrlen = one->bytes;
    } else {
        hints->dest_addr = copy;
        hints->dest_addrlen = one->bytes;
    }
    if (weft_libfabric.getinfo(WEFT_OFI_API, NULL, NULL, 0, hints, &found) != 0) {
        found = NULL;
    }
    weft_libfabric.freeinfo(hints);
    return found;
}

static enum gauge_rc open_queues(struct fabric *fabric)
{
    struct fi_eq_attr eq = {.wait_obj = FI_WAIT_FD};
    struct fi_cq_attr cq = {
        .size = COMPLETIONS, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD};
    long code = fi_eq_open(fabric->fabric, &eq, &fabric->eq, NULL);

    if (code == 0) {
        code = fi_cq_open(fabric->domain, &cq, &fabric->cq, NULL);
    }
    if (code == 0 && fabric->is_blocking) {
        code = fi_control(&fabric->cq->fid, FI_GETWAIT, &fabric->wait_fd);
    }
    fabric->most = cq.size / 2;
    return code == 0 ? GAUGE_OK : fabric_fail("no queues", code);
}

static enum gauge_rc open_listener(struct fabric *fabric, struct address *out)
{
    size_t bytes = sizeof(out->at);
    long code = fi_passive_ep(fabric->fabric, fabric->info, &fabric->listener, NULL);

    if (code == 0) {
        code = fi_pep_bind(fabric->listener, &fabric->eq->fid, 0);
    }
    if (code == 0) {
        code = fi_listen(fabric->listener);
    }
    if (code == 0) {
        code = fi_getname(&fabric->listener->fid, &out->at, &bytes);
    }
    out->bytes = bytes;
    return code == 0 ? GAUGE_OK : fabric_fail("cannot listen", code);
}

static enum gauge_rc open_provider(struct fabric *fabric, const struct address *own)
{
    long code = 0;

    fabric->info = find(fabric, own, NULL);
    if (fabric->info == NULL) {
        return gauge_fail("fabric: the provider %s has no connected endpoints here "
                          "(fi_info -t FI_EP_MSG shows those that have)",
                          fabric->provider);
    }
    code = weft_libfabric.fabric(fabric->info->fabric_attr, &fabric->fabric, NULL);
    if (code == 0) {
        code = fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL);
    }
    return code == 0 ? open_queues(fabric) : fabric_fail("no domain", code);
}

/* Connecting */

static long make_endpoint(struct fabric *fabric, struct peer *peer, struct fi_info *info)
{
    long code = fi_endpoint(fabric->domain, info, &peer->ep, peer);

    if (code == 0) {
        code = fi_ep_bind(peer->ep, &fabric->eq->fid, 0);
    }
    if (code == 0) {
        code = fi_ep_bind(peer->ep, &fabric->cq->fid, FI_TRANSMIT | FI_RECV);
    }
    return code == 0 ? fi_enable(peer->ep) : code;
}

static enum gauge_rc call(struct fabric *fabric, int end, const struct card *card)
{
    const struct hello hello = {.secret = card->secret, .end = (uint32_t)fabric->end};
    struct fi_info *info = find(fabric, NULL, &card->address);
    struct peer *peer = &fabric->peer[end];
    long code = -FI_ENODATA;

    if (info != NULL) {
        code = make_endpoint(fabric, peer, info);
        if (code == 0) {
            code = fi_connect(peer->ep, info->dest_addr, &hello, sizeof(hello));
        }
        weft_libfabric.freeinfo(info);
    }
    return code == 0 ? GAUGE_OK : fabric_fail("cannot connect", code);
}

/* An event of a connection, and what was said with it. */
union event {
    struct fi_eq_cm_entry entry;
    unsigned char bytes[sizeof(struct fi_eq_cm_entry) + 256];
};

/* Whoever does not know our secret is refused. */
static long answer(struct fabric *fabric, const union event *event, size_t bytes,
                   uint64_t secret)
{
    struct hello hello = {.end = 0};
    long code = 0;

    if (bytes >= sizeof(hello)) {
        memcpy(&hello, event->entry.data, sizeof(hello));
    }
    if (bytes < sizeof(hello) || hello.secret != secret ||
        hello.end <= (uint32_t)fabric->end || hello.end >= (uint32_t)fabric->ends ||
        fabric->peer[hello.end].ep != NULL) {
        fi_reject(fabric->listener, event->entry.info->handle, NULL, 0);
    } else {
        struct peer *peer = &fabric->peer[hello.end];

        code = make_endpoint(fabric, peer, event->entry.info);
        code = code == 0 ? fi_accept(peer->ep, NULL, 0) : code;
    }
    weft_libfabric.freeinfo(event->entry.info);
    return code;
}

/* One event, if there is one; counts those that are connected. */
static enum gauge_rc take_event(struct fabric *fabric, uint64_t secret, int *connected)
{
    union event event;
    uint32_t type = 0;
    ssize_t bytes = fi_eq_read(fabric->eq, &type, &event, sizeof(event), 0);
    long code = 0;

    if (bytes == -FI_EAGAIN) {
        const struct timespec pause = {.tv_nsec = 50000};

        nanosleep(&pause, NULL);
    } else if (bytes < (ssize_t)sizeof(event.entry)) {
        struct fi_eq_err_entry error = {.err = FI_EOTHER};

        fi_eq_readerr(fabric->eq, &error, 0);
        code = error.err;
    } else if (type == FI_CONNREQ) {
        code = answer(fabric, &event, (size_t)bytes - sizeof(event.entry), secret);
    } else if (type == FI_CONNECTED) {
        *connected += 1;
    } else {
        code = -FI_ENOTCONN;
    }
    return code == 0 ? GAUGE_OK : fabric_fail("cannot connect", code);
}

static enum gauge_rc connect_all(struct fabric *fabric, const struct card *mine,
                                 const struct card *cards)
{
    const time_t late = time(NULL) + PATIENCE;
    enum gauge_rc rc = GAUGE_OK;
    int connected = 0;

    for (int i = 0; rc == GAUGE_OK && i < fabric->end; i++) {
        rc = call(fabric, i, &cards[i]);
    }
    while (rc == GAUGE_OK && connected < fabric->ends - 1) {
        rc = take_event(fabric, mine->secret, &connected);
        if (rc == GAUGE_OK && time(NULL) > late) {
            rc = gauge_fail("fabric: after %d s, %d of %d ends are connected", PATIENCE,
                            connected, fabric->ends - 1);
        }
    }
    return rc;
}

enum gauge_rc fabric_meet(struct fabric *fabric, const struct gauge_world *world)
{
    struct address own;
    struct card mine = {.secret = 0};
    struct card *cards = calloc((size_t)world->ends, sizeof(*cards));
    enum gauge_rc rc = find_own(world, &own);

    if (rc == GAUGE_OK &&
        (cards == NULL || getentropy(&mine.secret, sizeof(mine.secret)) != 0)) {
        rc = gauge_fail("fabric: no memory, or no random numbers");
    }
    if (rc == GAUGE_OK) {
        rc = open_provider(fabric, &own);
    }
    if (rc == GAUGE_OK) {
        rc = open_listener(fabric, &mine.address);
    }
    if (rc == GAUGE_OK) {
        rc = world->exchange(world, &mine, sizeof(mine), cards);
    }
    if (rc == GAUGE_OK) {
        rc = connect_all(fabric, &mine, cards);
    }
    free(cards);
    return rc;
}

static void close_one(struct fid *fid)
{
    if (fid != NULL) {
        fi_close(fid);
    }
}

void fabric_disconnect(struct fabric *fabric)
{
    for (int i = 0; fabric->peer != NULL && i < fabric->ends; i++) {
        close_one(fabric->peer[i].ep != NULL ? &fabric->peer[i].ep->fid : NULL);
    }
}

void fabric_close(struct fabric *fabric)
{
    close_one(fabric->listener != NULL ? &fabric->listener->fid : NULL);
    close_one(fabric->cq != NULL ? &fabric->cq->fid : NULL);
    close_one(fabric->eq != NULL ? &fabric->eq->fid : NULL);
    close_one(fabric->domain != NULL ? &fabric->domain->fid : NULL);
    close_one(fabric->fabric != NULL ? &fabric->fabric->fid : NULL);
    if (fabric->info != NULL) {
        weft_libfabric.freeinfo(fabric->info);
    }
}
