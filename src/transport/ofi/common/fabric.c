#include "transport/ofi/common/fabric.h"

#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/quirks/provider.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* What we can live with, so that every provider finds what it needs. */
struct fi_info *weft_ofi_hints(enum fi_ep_type type)
{
    struct fi_info *hints = weft_libfabric.dupinfo(NULL);

    if (hints == NULL) {
        return NULL;
    }
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
    hints->ep_attr->type = type;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_UNSPEC;
    return hints;
}

static bool set_address(void **slot, size_t *length, const void *address, size_t bytes)
{
    *slot = malloc(bytes);
    if (*slot == NULL) {
        return false;
    }
    memcpy(*slot, address, bytes);
    *length = bytes;
    return true;
}

static uint32_t format_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
}

bool weft_ofi_is_connected(const struct fi_info *info)
{
    return info->ep_attr->type == FI_EP_MSG && info->domain_attr->max_ep_srx_ctx > 0;
}

/* Of what is offered, the first that is not avoided and that shares receive buffers. */
static struct fi_info *choose(struct fi_info *list)
{
    for (struct fi_info *i = list; i != NULL; i = i->next) {
        if (!weft_provider_find(i->fabric_attr->prov_name)->is_avoided &&
            weft_ofi_is_connected(i)) {
            return weft_libfabric.dupinfo(i);
        }
    }
    return NULL;
}

static struct fi_info *find(const struct sockaddr_storage *at, size_t bytes)
{
    struct fi_info *hints = weft_ofi_hints(FI_EP_MSG);
    struct fi_info *list = NULL;
    struct fi_info *chosen = NULL;

    if (hints == NULL) {
        return NULL;
    }
    hints->addr_format = format_of(at);
    if (set_address(&hints->src_addr, &hints->src_addrlen, at, bytes) &&
        weft_libfabric.getinfo(WEFT_OFI_API, NULL, NULL, 0, hints, &list) == 0) {
        chosen = choose(list);
        weft_libfabric.freeinfo(list);
    }
    weft_libfabric.freeinfo(hints);
    return chosen;
}

struct fi_info *weft_ofi_info(const struct weft_ofi *ofi,
                              const struct sockaddr_storage *from,
                              const struct sockaddr_storage *to, socklen_t bytes)
{
    struct fi_info *info = weft_libfabric.dupinfo(ofi->info);
    bool is_set;

    if (info == NULL) {
        return NULL;
    }
    free(info->src_addr); /* where a caller calls from, the system knows best */
    info->src_addr = NULL;
    info->src_addrlen = 0;
    info->addr_format = format_of(from != NULL ? from : to);
    is_set = from != NULL ? set_address(&info->src_addr, &info->src_addrlen, from, bytes)
                          : set_address(&info->dest_addr, &info->dest_addrlen, to, bytes);
    if (!is_set) {
        weft_libfabric.freeinfo(info);
        return NULL;
    }
    return info;
}

enum weft_rc weft_ofi_fail(struct weft_ofi *ofi, const char *step, long code)
{
    weft_log_error(WEFT_S_PROVIDER, ofi->info->fabric_attr->prov_name, step,
                   weft_ofi_error(code));
    weft_ofi_close(ofi);
    return WEFT_ERR_SYSTEM;
}

void weft_ofi_warm_up(void)
{
    struct fi_info *list = NULL;
    struct fi_info *hints =
        weft_libfabric_open() == WEFT_OK ? weft_ofi_hints(FI_EP_MSG) : NULL;

    if (hints != NULL &&
        weft_libfabric.getinfo(WEFT_OFI_API, NULL, NULL, 0, hints, &list) == 0) {
        weft_libfabric.freeinfo(list);
    }
    if (hints != NULL) {
        weft_libfabric.freeinfo(hints);
    }
}

enum weft_rc weft_ofi_choose(struct weft_ofi *ofi, const struct sockaddr_storage *at,
                             socklen_t at_bytes)
{
    enum weft_rc rc = weft_libfabric_open();

    *ofi = (struct weft_ofi){.next_key = 1};
    if (rc != WEFT_OK) {
        return rc;
    }
    ofi->info = find(at, at_bytes);
    if (ofi->info == NULL) {
        weft_log_error(WEFT_S_NO_PROVIDER);
        return WEFT_ERR_UNSUPPORTED;
    }
    weft_log_info("network: libfabric's provider %s", ofi->info->fabric_attr->prov_name);
    return WEFT_OK;
}

enum weft_rc weft_ofi_open_domain(struct weft_ofi *ofi)
{
    long code = weft_libfabric.fabric(ofi->info->fabric_attr, &ofi->fabric, NULL);

    if (code != 0) {
        return weft_ofi_fail(ofi, "no fabric", code);
    }
    code = fi_domain(ofi->fabric, ofi->info, &ofi->domain, NULL);
    return code == 0 ? WEFT_OK : weft_ofi_fail(ofi, "no domain", code);
}

enum weft_rc weft_ofi_open(struct weft_ofi *ofi, size_t completions)
{
    struct fi_eq_attr eq = {.wait_obj = FI_WAIT_FD};
    struct fi_cq_attr cq = {
        .size = completions,
        .format = FI_CQ_FORMAT_DATA,
        .wait_obj = FI_WAIT_FD,
    };
    struct fi_rx_attr rx = *ofi->info->rx_attr;
    const enum weft_rc rc = weft_ofi_open_domain(ofi);
    long code;

    if (rc != WEFT_OK) {
        return rc;
    }
    code = fi_eq_open(ofi->fabric, &eq, &ofi->eq, NULL);
    if (code != 0) {
        return weft_ofi_fail(ofi, "no event queue", code);
    }
    code = fi_cq_open(ofi->domain, &cq, &ofi->cq, NULL);
    if (code != 0) {
        return weft_ofi_fail(ofi, "no completion queue", code);
    }
    ofi->completions = cq.size; /* written back */
    code = fi_srx_context(ofi->domain, &rx, &ofi->shared_receive, NULL);
    if (code != 0) {
        return weft_ofi_fail(ofi, "no shared receive queue", code);
    }
    return WEFT_OK;
}

void weft_ofi_close(struct weft_ofi *ofi)
{
    if (ofi->shared_receive != NULL) {
        fi_close(&ofi->shared_receive->fid);
    }
    if (ofi->endpoint != NULL) {
        fi_close(&ofi->endpoint->fid);
    }
    if (ofi->cq != NULL) {
        fi_close(&ofi->cq->fid);
    }
    if (ofi->addresses != NULL) {
        fi_close(&ofi->addresses->fid);
    }
    if (ofi->eq != NULL) {
        fi_close(&ofi->eq->fid);
    }
    if (ofi->domain != NULL) {
        fi_close(&ofi->domain->fid);
    }
    if (ofi->fabric != NULL) {
        fi_close(&ofi->fabric->fid);
    }
    if (ofi->info != NULL) {
        weft_libfabric.freeinfo(ofi->info);
    }
    *ofi = (struct weft_ofi){.info = NULL};
}

/* A key that peers present. Who has no connection could guess the next number. */
static uint64_t choose_key(struct weft_ofi *ofi)
{
    const size_t bytes = ofi->info->domain_attr->mr_key_size;
    uint64_t key = ofi->next_key++;

    if (ofi->endpoint != NULL && bytes > 0) {
        (void)!getrandom(&key, bytes < sizeof(key) ? bytes : sizeof(key), 0);
    }
    return key;
}

/* Where the provider wants it, memory belongs to the endpoint. */
static int enable(struct weft_ofi *ofi, struct fid_mr *mr)
{
    int code;

    if (ofi->endpoint == NULL ||
        (ofi->info->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) {
        return 0;
    }
    code = fi_mr_bind(mr, &ofi->endpoint->fid, 0);
    return code == 0 ? fi_mr_enable(mr) : code;
}

enum weft_rc weft_ofi_register(struct weft_ofi *ofi, const void *memory, size_t bytes,
                               uint64_t access, struct fid_mr **mr)
{
    int code;

    do { /* keys are ignored where the provider chooses; else they may be taken */
        code = fi_mr_reg(ofi->domain, memory, bytes, access, 0, choose_key(ofi), 0, mr,
                         NULL);
    } while (code == -FI_ENOKEY && ofi->endpoint != NULL);
    if (code == 0) {
        code = enable(ofi, *mr);
        if (code != 0) {
            fi_close(&(*mr)->fid);
        }
    }
    if (code != 0) {
        *mr = NULL;
        return code == -FI_ENOMEM || code == -FI_EAGAIN ? WEFT_AGAIN : WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

enum weft_rc weft_ofi_register_local(struct weft_ofi *ofi, const void *memory,
                                     size_t bytes, uint64_t access, struct fid_mr **mr)
{
    *mr = NULL;
    return weft_ofi_is_local_checked(ofi)
               ? weft_ofi_register(ofi, memory, bytes, access, mr)
               : WEFT_OK;
}
