/*
 * domain.c - the domain, which opens what else there is.
 */
#include "strict.h"

#include <stdlib.h>

static int domain_close(struct fid *fid)
{
    struct strict_domain *domain = (struct strict_domain *)fid;
    const int err = fi_close(&domain->tcp->fid);

    if (err == 0) {
        free(domain);
    }
    return err;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = domain_close,
};

static struct fi_ops_domain domain_ops = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = strict_av_open,
    .cq_open = strict_cq_open,
    .endpoint = strict_ep_open,
    .srx_ctx = strict_srx_open,
};

int strict_domain_open(struct fid_fabric *fabric, struct fi_info *info,
                       struct fid_domain **out, void *context)
{
    struct strict_domain *domain = calloc(1, sizeof(*domain));
    struct fi_info *tcp_info = strict_info_to_tcp(info);
    int err = -FI_ENOMEM;

    if (domain == NULL || tcp_info == NULL) {
        goto free_both;
    }
    err = fi_domain(((struct strict_fabric *)fabric)->tcp, tcp_info, &domain->tcp,
                    &domain->fid.fid);
    if (err != 0) {
        goto free_both;
    }
    domain->fid.fid.fclass = FI_CLASS_DOMAIN;
    domain->fid.fid.context = context;
    domain->fid.fid.ops = &fid_ops;
    domain->fid.ops = &domain_ops;
    domain->fid.mr = &strict_mr_ops;
    fi_freeinfo(tcp_info);
    *out = &domain->fid;
    return 0;

free_both:
    fi_freeinfo(tcp_info);
    free(domain);
    return err;
}
