#include "transport/ofi/tagged/tagged.h"

#include "transport/ofi/quirks/provider.h"
#include "transport/ofi/rdm/address.h"
#include "transport/ofi/rdm/lost.h"
#include "transport/ofi/rdm/post.h"
#include "transport/ofi/rdm/send.h"

#include <rdma/fi_tagged.h>

_Static_assert(sizeof(struct fi_context2) <= WEFT_TAGGED_CONTEXT, "it lies in an op");

/* ---- what a provider has to have ---- */

/* A provider says how many bits it compares by the highest one of its format. */
static int bits_of(uint64_t format)
{
    return format == 0 ? 0 : 64 - __builtin_clzll(format);
}

const char *weft_tagged_refusal(const struct fi_info *info)
{
    const uint64_t order = info->tx_attr->msg_order & info->rx_attr->msg_order;

    if ((order & WEFT_TAGGED_ORDER) == 0) {
        return "it does not keep the order of messages (FI_ORDER_SAS)";
    }
    if (bits_of(info->ep_attr->mem_tag_format) < WEFT_TAGGED_BITS) {
        return "it compares fewer than 61 bits";
    }
    if (info->domain_attr->cq_data_size < WEFT_TAGGED_DATA_BYTES) {
        return "its messages carry less than 8 bytes of data for the receiver";
    }
    if (weft_provider_find(info->fabric_attr->prov_name)->hides_cuts) {
        return "it does not tell of messages that are longer than their receives";
    }
    return info->ep_attr->msg_prefix_size > 0 ? "it wants a prefix before messages"
                                              : NULL;
}

/* ---- sending ---- */

static bool is_self(const struct weft_rdm_peer *peer)
{
    return peer->process == peer->base.transport->self.process;
}

/* We need no proof of ourselves. */
static enum weft_rc may_send(struct weft_rdm_peer *peer)
{
    struct weft_transport *tp = peer->base.transport;

    return weft_unlikely(is_self(peer)) ? weft_rdm_find(tp, peer)
                                        : weft_rdm_may_send(tp, peer);
}

static size_t copied(const struct weft_transport *tp)
{
    return tp->ofi.info->tx_attr->inject_size;
}

static size_t longest(const struct weft_transport *tp)
{
    return tp->ofi.info->ep_attr->max_msg_size;
}

static void count_sent(struct weft_rdm_peer *peer, size_t len)
{
    peer->packets_sent++;
    peer->bytes_sent += len;
}

static enum weft_rc inject(struct weft_path *to, uint64_t bits, uint64_t data,
                           const void *buffer, size_t len)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_of(to);
    struct weft_transport *tp = to->transport;
    enum weft_rc rc = may_send(peer);

    if (rc == WEFT_OK) {
        rc = weft_rdm_outcome(
            tp, peer,
            fi_tinjectdata(tp->ofi.endpoint, buffer, len, data, peer->address, bits));
    }
    if (rc == WEFT_OK) {
        count_sent(peer, len);
    }
    return rc;
}

/* Of what the provider does not want to be registered there is no memory region. */
static enum weft_rc prepare(struct weft_transport *tp, struct weft_tagged_op *op,
                            const void *buffer, size_t len, uint64_t access)
{
    struct weft_mr *mr = NULL;
    enum weft_rc rc = WEFT_OK;

    if (len > 0) {
        rc = weft_mr_cache_take_local(&tp->slots.cache, buffer, len, access, &mr);
    }
    op->mr = mr;
    return rc;
}

static void give_back(struct weft_transport *tp, struct weft_tagged_op *op)
{
    weft_mr_cache_give(&tp->slots.cache, op->mr);
    op->mr = NULL;
}

static enum weft_rc tagged_send(struct weft_path *to, uint64_t bits, uint64_t data,
                                const void *buffer, size_t len, struct weft_tagged_op *op)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_of(to);
    struct weft_transport *tp = to->transport;
    enum weft_rc rc = may_send(peer);

    if (rc == WEFT_OK) {
        rc = prepare(tp, op, buffer, len, FI_SEND);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    op->path = to;
    rc = weft_rdm_outcome(tp, peer,
                          fi_tsenddata(tp->ofi.endpoint, buffer, len,
                                       weft_mr_descriptor(op->mr), data, peer->address,
                                       bits, op->context));
    if (rc != WEFT_OK) {
        give_back(tp, op);
        return rc;
    }
    count_sent(peer, len);
    return WEFT_PENDING;
}

/* ---- receiving ---- */

/* No message is longer, and a provider may refuse what is. */
static size_t room_for(const struct weft_transport *tp, size_t len)
{
    return len < longest(tp) ? len : longest(tp);
}

/* A sender that is named has an address, or has not published it yet. */
static enum weft_rc address_of(struct weft_transport *tp,
                               const struct weft_tagged_pattern *pattern, fi_addr_t *at)
{
    struct weft_rdm_peer *peer;
    enum weft_rc rc;

    *at = FI_ADDR_UNSPEC;
    if (pattern->from == NULL) {
        return WEFT_OK;
    }
    peer = weft_rdm_peer_of(pattern->from);
    rc = weft_rdm_find(tp, peer);
    *at = peer->address;
    return rc;
}

static enum weft_rc outcome(ssize_t code)
{
    return code == 0 ? WEFT_PENDING : code == -FI_EAGAIN ? WEFT_AGAIN : WEFT_ERR_SYSTEM;
}

static enum weft_rc tagged_recv(struct weft_transport *tp,
                                const struct weft_tagged_pattern *pattern, void *buffer,
                                size_t len, struct weft_tagged_op *op)
{
    fi_addr_t from;
    enum weft_rc rc = address_of(tp, pattern, &from);

    len = room_for(tp, len);
    if (rc == WEFT_OK) {
        rc = prepare(tp, op, buffer, len, FI_RECV);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    op->path = NULL;
    op->room = len;
    rc = outcome(fi_trecv(tp->ofi.endpoint, buffer, len, weft_mr_descriptor(op->mr), from,
                          pattern->bits, pattern->ignore, op->context));
    if (rc != WEFT_PENDING) {
        give_back(tp, op);
    }
    return rc;
}

static enum weft_rc peek(struct weft_transport *tp,
                         const struct weft_tagged_pattern *pattern, bool takes,
                         struct weft_tagged_op *op)
{
    struct fi_msg_tagged message = {
        .tag = pattern->bits,
        .ignore = pattern->ignore,
        .context = op->context,
    };
    const enum weft_rc rc = address_of(tp, pattern, &message.addr);

    op->path = NULL;
    op->mr = NULL;
    op->room = SIZE_MAX;
    return rc == WEFT_OK ? outcome(fi_trecvmsg(tp->ofi.endpoint, &message,
                                               takes ? FI_PEEK | FI_CLAIM : FI_PEEK))
                         : rc;
}

static enum weft_rc recv_claimed(struct weft_transport *tp, void *buffer, size_t len,
                                 struct weft_tagged_op *op)
{
    const struct iovec memory = {buffer, room_for(tp, len)};
    enum weft_rc rc = prepare(tp, op, buffer, memory.iov_len, FI_RECV);
    void *descriptor = weft_mr_descriptor(op->mr);
    const struct fi_msg_tagged message = {
        .msg_iov = &memory,
        .desc = &descriptor,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = op->context,
    };

    if (rc != WEFT_OK) {
        return rc;
    }
    op->room = memory.iov_len;
    rc = outcome(fi_trecvmsg(tp->ofi.endpoint, &message, FI_CLAIM | FI_COMPLETION));
    if (rc != WEFT_PENDING) {
        give_back(tp, op);
    }
    return rc;
}

static void cancel(struct weft_transport *tp, struct weft_tagged_op *op)
{
    fi_cancel(&tp->ofi.endpoint->fid, op->context);
}

static void tick(struct weft_transport *tp, bool is_needed)
{
    tp->needs_tick = is_needed;
}

/* ---- completions ---- */

void weft_tagged_complete(struct weft_transport *tp, struct weft_tagged_op *op,
                          const struct fi_cq_tagged_entry *entry)
{
    const struct weft_tagged_end end = {
        .rc = WEFT_OK,
        .is_found = true,
        .bits = entry->tag,
        .data = entry->data,
        .length = entry->len,
    };

    give_back(tp, op);
    op->done(op, &end);
}

void weft_tagged_fail(struct weft_transport *tp, struct weft_tagged_op *op,
                      const struct fi_cq_err_entry *error)
{
    struct weft_tagged_end end = {
        .rc = WEFT_ERR_PROC_FAILED,
        .bits = error->tag,
        .data = error->data,
        .length = error->len + error->olen,
    };

    if (error->err == FI_ETRUNC) {
        end.rc = WEFT_ERR_TRUNCATE;
        /* Where the provider does not say how much was cut off, some was. */
        end.length = end.length > op->room ? end.length : op->room + 1;
    } else if (error->err == FI_ECANCELED) {
        end.rc = WEFT_OK;
        end.is_cancelled = true;
    } else if (error->err == FI_ENOMSG) { /* a peek has found nothing */
        end.rc = WEFT_OK;
    } else if (op->path != NULL) {
        weft_rdm_lose(tp, weft_rdm_peer_of(op->path), weft_ofi_error(error->err));
    }
    give_back(tp, op);
    op->done(op, &end);
}

const struct weft_tagged_ops *weft_tagged_table(void)
{
    static const struct weft_tagged_ops ops = {
        .copied = copied,
        .longest = longest,
        .inject = inject,
        .send = tagged_send,
        .recv = tagged_recv,
        .peek = peek,
        .recv_claimed = recv_claimed,
        .cancel = cancel,
        .tick = tick,
    };

    return &ops;
}
