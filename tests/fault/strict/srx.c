/*
 * srx.c - the shared receive context: receives for whichever endpoint a message comes by.
 *
 * It completes in the queues of the endpoints that are bound to it, has none itself, and
 * needs no enabling. post.c takes its receives.
 */
#include "strict.h"

#include <stdlib.h>

/* As with an endpoint, tcp reports what it drops. */
static int srx_close(struct fid *fid)
{
    struct strict_srx *srx = (struct strict_srx *)fid;
    int err = -FI_EBUSY;

    strict_lock();
    if (srx->used == 0) {
        srx->receives.is_closing = true;
        err = fi_close(&srx->tcp->fid);
        srx->receives.is_closing = err == 0;
    }
    if (err != 0) {
        strict_unlock();
        return err;
    }
    strict_cq_forget(&srx->receives);
    strict_queue_discard(&srx->receives);
    strict_unlock();
    free(srx);
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = srx_close,
};

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
};

int strict_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr,
                    struct fid_ep **out, void *context)
{
    struct strict_srx *srx;
    struct fi_rx_attr tcp_attr = *attr;
    int err;

    if (attr->size > STRICT_QUEUE_SIZE || attr->iov_limit > STRICT_IOV_LIMIT) {
        return -FI_EINVAL;
    }
    srx = calloc(1, sizeof(*srx));
    if (srx == NULL) {
        return -FI_ENOMEM;
    }
    tcp_attr.mode = 0;
    srx->receives.domain = (struct strict_domain *)domain;
    err = fi_srx_context(srx->receives.domain->tcp, &tcp_attr, &srx->tcp, &srx->fid.fid);
    if (err != 0) {
        free(srx);
        return err;
    }
    srx->fid.fid.fclass = FI_CLASS_SRX_CTX;
    srx->fid.fid.context = context;
    srx->fid.fid.ops = &fid_ops;
    srx->fid.ops = &ep_ops;
    srx->fid.msg = &strict_msg_ops;
    *out = &srx->fid;
    return 0;
}
