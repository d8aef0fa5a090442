/*
 * ep.c - an endpoint: its queues, its connection or its addresses, its end. post.c moves
 * the data.
 */
#include "strict.h"

#include <stdlib.h>

static int bind_cq(struct strict_ep *ep, struct strict_cq *cq, uint64_t flags)
{
    if ((flags & ~(FI_TRANSMIT | FI_RECV)) != 0) {
        return -FI_EBADFLAGS; /* FI_SELECTIVE_COMPLETION too */
    }
    if ((flags & FI_TRANSMIT) != 0) {
        ep->cq = cq;
    }
    return fi_ep_bind(ep->tcp, &cq->tcp->fid, flags);
}

static int bind_srx(struct strict_ep *ep, struct strict_srx *srx)
{
    int err;

    if (!ep->is_shared || ep->srx != NULL || ep->is_enabled) {
        return -FI_EINVAL;
    }
    err = fi_ep_bind(ep->tcp, &srx->tcp->fid, 0);
    if (err == 0) {
        strict_lock();
        ep->srx = srx;
        srx->used++;
        strict_unlock();
    }
    return err;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct strict_ep *ep = (struct strict_ep *)fid;

    switch (other->fclass) {
    case FI_CLASS_CQ:
        return bind_cq(ep, (struct strict_cq *)other, flags);
    case FI_CLASS_EQ:
        return fi_ep_bind(ep->tcp, &((struct strict_eq *)other)->tcp->fid, flags);
    case FI_CLASS_AV:
        return fi_ep_bind(ep->tcp, &((struct strict_av *)other)->tcp->fid, flags);
    case FI_CLASS_SRX_CTX:
        return bind_srx(ep, (struct strict_srx *)other);
    default:
        return -FI_EINVAL;
    }
}

static int ep_control(struct fid *fid, int command, void *arg)
{
    struct strict_ep *ep = (struct strict_ep *)fid;
    int err;

    if (command == FI_ENABLE && ep->is_shared && ep->srx == NULL) {
        return -FI_ENORX;
    }
    err = fi_control(&ep->tcp->fid, command, arg);
    if (err == 0 && command == FI_ENABLE) {
        strict_lock();
        ep->is_enabled = true;
        ep->is_connected = strict_face()->type == FI_EP_RDM;
        strict_unlock();
    }
    return err;
}

static void set_closing(struct strict_ep *ep, bool is_closing)
{
    ep->transmits.is_closing = is_closing;
    ep->receives.is_closing = is_closing;
}

/* tcp reports what it drops, with operations that are about to be freed: take that out.
 */
static int ep_close(struct fid *fid)
{
    struct strict_ep *ep = (struct strict_ep *)fid;
    int err;

    strict_lock();
    set_closing(ep, true);
    err = fi_close(&ep->tcp->fid);
    if (err != 0) {
        set_closing(ep, false);
        strict_unlock();
        return err;
    }
    strict_late_forget(ep);
    strict_cq_forget(&ep->transmits);
    strict_cq_forget(&ep->receives);
    strict_late_end(ep);
    strict_queue_discard(&ep->transmits);
    strict_queue_discard(&ep->receives);
    if (ep->srx != NULL) {
        ep->srx->used--;
    }
    strict_unlock();
    free(ep);
    return 0;
}

static ssize_t ep_cancel(fid_t fid, void *context)
{
    struct strict_ep *ep = (struct strict_ep *)fid;
    const struct strict_op *op;
    ssize_t err = -FI_ENOENT;

    if ((strict_face()->caps & FI_TAGGED) == 0) {
        return -FI_ENOSYS;
    }
    strict_lock();
    op = strict_op_find(&ep->receives, context);
    if (op != NULL && !op->is_claimed) {
        err = fi_cancel(&ep->tcp->fid, (void *)(uintptr_t)op);
    }
    strict_unlock();
    return err;
}

static int ep_getname(fid_t fid, void *address, size_t *length)
{
    return fi_getname(&((struct strict_ep *)fid)->tcp->fid, address, length);
}

static int ep_getpeer(struct fid_ep *fid, void *address, size_t *length)
{
    return fi_getpeer(((struct strict_ep *)fid)->tcp, address, length);
}

static int ep_connect(struct fid_ep *fid, const void *address, const void *data,
                      size_t length)
{
    struct strict_ep *ep = (struct strict_ep *)fid;

    if (length > STRICT_CM_DATA_SIZE) {
        return -FI_EINVAL;
    }
    if (!ep->is_enabled) {
        strict_violation("fi_connect", "endpoint %p is not enabled", (void *)ep);
    }
    return fi_connect(ep->tcp, address, data, length);
}

static int ep_accept(struct fid_ep *fid, const void *data, size_t length)
{
    struct strict_ep *ep = (struct strict_ep *)fid;

    if (length > STRICT_CM_DATA_SIZE) {
        return -FI_EINVAL;
    }
    if (!ep->is_enabled) {
        strict_violation("fi_accept", "endpoint %p is not enabled", (void *)ep);
    }
    return fi_accept(ep->tcp, data, length);
}

static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
    return fi_shutdown(((struct strict_ep *)fid)->tcp, flags);
}

/* How much room the last packet of a buffer needs. */
static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t length)
{
    if ((strict_face()->caps & FI_MULTI_RECV) == 0 || name != FI_OPT_MIN_MULTI_RECV) {
        return -FI_ENOPROTOOPT;
    }
    return fi_setopt(&((struct strict_ep *)fid)->tcp->fid, level, name, value, length);
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = ep_close,
    .bind = ep_bind,
    .control = ep_control,
};

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = ep_cancel,
    .getopt = strict_getopt,
    .setopt = ep_setopt,
};

static struct fi_ops_cm cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .getname = ep_getname,
    .getpeer = ep_getpeer,
    .connect = ep_connect,
    .accept = ep_accept,
    .shutdown = ep_shutdown,
};

int strict_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
                   void *context)
{
    struct strict_ep *ep;
    struct fi_info *tcp_info;
    int err = -FI_ENOMEM;

    if (info->handle != NULL && info->handle->fclass == FI_CLASS_PEP) {
        return -FI_ENOSYS; /* a listener made into an endpoint */
    }
    ep = calloc(1, sizeof(*ep));
    tcp_info = strict_info_to_tcp(info);
    if (ep == NULL || tcp_info == NULL) {
        goto free_both;
    }
    ep->transmits.domain = (struct strict_domain *)domain;
    ep->receives.domain = ep->transmits.domain;
    ep->is_shared = info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
    err = fi_endpoint(ep->transmits.domain->tcp, tcp_info, &ep->tcp, &ep->fid.fid);
    if (err != 0) {
        goto free_both;
    }
    ep->fid.fid.fclass = FI_CLASS_EP;
    ep->fid.fid.context = context;
    ep->fid.fid.ops = &fid_ops;
    ep->fid.ops = &ep_ops;
    ep->fid.cm = &cm_ops;
    ep->fid.msg = &strict_msg_ops;
    ep->fid.rma = &strict_rma_ops;
    ep->fid.tagged = (info->caps & FI_TAGGED) != 0 ? &strict_tagged_ops : NULL;
    ep->fid.atomic = (info->caps & FI_ATOMIC) != 0 ? &strict_atomic_ops : NULL;
    fi_freeinfo(tcp_info);
    *out = &ep->fid;
    return 0;

free_both:
    fi_freeinfo(tcp_info);
    free(ep);
    return err;
}
