/*
 * pep.c - the passive endpoint, which listens, and how much private data there may be.
 *
 * The handle of a connection request is tcp's own: it goes back as it came.
 */
#include "strict.h"

#include <stdlib.h>

struct pep {
    struct fid_pep fid;
    struct fid_pep *tcp;
};

int strict_getopt(fid_t fid, int level, int name, void *value, size_t *length)
{
    (void)fid;
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_CM_DATA_SIZE) {
        return -FI_ENOPROTOOPT;
    }
    if (*length < sizeof(size_t)) {
        *length = sizeof(size_t);
        return -FI_ETOOSMALL;
    }
    *(size_t *)value = STRICT_CM_DATA_SIZE;
    *length = sizeof(size_t);
    return 0;
}

static int pep_setname(fid_t fid, void *address, size_t length)
{
    return fi_setname(&((struct pep *)fid)->tcp->fid, address, length);
}

static int pep_getname(fid_t fid, void *address, size_t *length)
{
    return fi_getname(&((struct pep *)fid)->tcp->fid, address, length);
}

static int pep_listen(struct fid_pep *fid)
{
    return fi_listen(((struct pep *)fid)->tcp);
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *data, size_t length)
{
    if (length > STRICT_CM_DATA_SIZE) {
        return -FI_EINVAL;
    }
    return fi_reject(((struct pep *)fid)->tcp, handle, data, length);
}

static int pep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    if (other->fclass != FI_CLASS_EQ) {
        return -FI_EINVAL;
    }
    return fi_pep_bind(((struct pep *)fid)->tcp, &((struct strict_eq *)other)->tcp->fid,
                       flags);
}

static int pep_close(struct fid *fid)
{
    struct pep *pep = (struct pep *)fid;
    const int err = fi_close(&pep->tcp->fid);

    if (err == 0) {
        free(pep);
    }
    return err;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = pep_close,
    .bind = pep_bind,
};

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .getopt = strict_getopt,
};

static struct fi_ops_cm cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .setname = pep_setname,
    .getname = pep_getname,
    .listen = pep_listen,
    .reject = pep_reject,
};

int strict_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **out,
                    void *context)
{
    struct pep *pep = calloc(1, sizeof(*pep));
    struct fi_info *tcp_info = strict_info_to_tcp(info);
    int err = -FI_ENOMEM;

    if (pep == NULL || tcp_info == NULL) {
        goto free_both;
    }
    err = fi_passive_ep(((struct strict_fabric *)fabric)->tcp, tcp_info, &pep->tcp,
                        &pep->fid.fid);
    if (err != 0) {
        goto free_both;
    }
    pep->fid.fid.fclass = FI_CLASS_PEP;
    pep->fid.fid.context = context;
    pep->fid.fid.ops = &fid_ops;
    pep->fid.ops = &ep_ops;
    pep->fid.cm = &cm_ops;
    fi_freeinfo(tcp_info);
    *out = &pep->fid;
    return 0;

free_both:
    fi_freeinfo(tcp_info);
    free(pep);
    return err;
}
