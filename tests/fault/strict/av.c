/*
 * av.c - the addresses of peers: those of the provider below.
 */
#include "strict.h"

#include <stdlib.h>

static struct fid_av *below(struct fid_av *fid)
{
    return ((struct strict_av *)fid)->tcp;
}

static int av_insert(struct fid_av *fid, const void *address, size_t count,
                     fi_addr_t *out, uint64_t flags, void *context)
{
    return fi_av_insert(below(fid), address, count, out, flags, context);
}

static int av_remove(struct fid_av *fid, fi_addr_t *addresses, size_t count,
                     uint64_t flags)
{
    return fi_av_remove(below(fid), addresses, count, flags);
}

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *out, size_t *length)
{
    return fi_av_lookup(below(fid), address, out, length);
}

static int av_close(struct fid *fid)
{
    struct strict_av *av = (struct strict_av *)fid;
    const int err = fi_close(&av->tcp->fid);

    if (err == 0) {
        free(av);
    }
    return err;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = av_close,
};

static struct fi_ops_av av_ops = {
    .size = sizeof(struct fi_ops_av),
    .insert = av_insert,
    .remove = av_remove,
    .lookup = av_lookup,
};

int strict_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
                   struct fid_av **out, void *context)
{
    struct strict_av *av = calloc(1, sizeof(*av));
    int err;

    if (av == NULL) {
        return -FI_ENOMEM;
    }
    err = fi_av_open(((struct strict_domain *)domain)->tcp, attr, &av->tcp, &av->fid.fid);
    if (err != 0) {
        free(av);
        return err;
    }
    av->fid.fid.fclass = FI_CLASS_AV;
    av->fid.fid.context = context;
    av->fid.fid.ops = &fid_ops;
    av->fid.ops = &av_ops;
    *out = &av->fid;
    return 0;
}
