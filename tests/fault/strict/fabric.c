/*
 * fabric.c - the fabric, and asking whether one may sleep.
 */
#include "strict.h"

#include <stdlib.h>

static int fabric_close(struct fid *fid)
{
    struct strict_fabric *fabric = (struct strict_fabric *)fid;
    const int err = fi_close(&fabric->tcp->fid);

    if (err == 0) {
        free(fabric);
    }
    return err;
}

static int trywait_one(struct strict_fabric *fabric, struct fid *fid)
{
    struct fid *tcp;
    bool is_quiet = true;

    if (fid->fclass == FI_CLASS_CQ) {
        struct strict_cq *cq = (struct strict_cq *)fid;

        strict_lock();
        is_quiet = strict_cq_is_quiet(cq);
        strict_unlock();
        tcp = &cq->tcp->fid;
    } else if (fid->fclass == FI_CLASS_EQ) {
        tcp = &((struct strict_eq *)fid)->tcp->fid;
    } else {
        return -FI_EINVAL;
    }
    return is_quiet ? fi_trywait(fabric->tcp, &tcp, 1) : -FI_EAGAIN;
}

static int fabric_trywait(struct fid_fabric *fid, struct fid **fids, int count)
{
    int i;

    for (i = 0; i < count; i++) {
        const int err = trywait_one((struct strict_fabric *)fid, fids[i]);

        if (err != 0) {
            return err;
        }
    }
    return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = fabric_close,
};

static struct fi_ops_fabric fabric_ops = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = strict_domain_open,
    .passive_ep = strict_pep_open,
    .eq_open = strict_eq_open,
    .trywait = fabric_trywait,
};

int strict_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out,
                       void *context)
{
    struct strict_fabric *fabric = calloc(1, sizeof(*fabric));
    struct fi_fabric_attr tcp_attr = *attr;
    int err;

    if (fabric == NULL) {
        return -FI_ENOMEM;
    }
    tcp_attr.fabric = NULL;
    tcp_attr.prov_name = (char *)(uintptr_t)strict_face()->below;
    err = strict_below_fabric(&tcp_attr, &fabric->tcp, &fabric->fid.fid);
    if (err != 0) {
        free(fabric);
        return err;
    }
    fabric->fid.fid.fclass = FI_CLASS_FABRIC;
    fabric->fid.fid.context = context;
    fabric->fid.fid.ops = &fid_ops;
    fabric->fid.ops = &fabric_ops;
    *out = &fabric->fid;
    return 0;
}
