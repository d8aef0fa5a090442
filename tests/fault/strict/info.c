/*
 * info.c - the provider itself: which hints it accepts, and what it says of itself.
 *
 * tcp finds addresses and interfaces; fabrics and domains keep the names it gives them.
 * What goes to tcp is stripped of our demands, what comes back gets them.
 */
#include "strict.h"

#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <string.h>

/*
 * libfabric's own flag (OFI_GETINFO_HIDDEN): also ask providers that FI_PROVIDER hides,
 * so that FI_PROVIDER=strict leaves us tcp to stand on.
 */
#define HIDDEN_TOO (1ULL << 60)

#define MR_MODE        (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define MODE           (FI_CONTEXT2 | FI_RX_CQ_DATA)
#define TRANSMIT_CAPS  (FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
#define RECEIVE_CAPS   (FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define CAPS           (TRANSMIT_CAPS | RECEIVE_CAPS | FI_LOCAL_COMM | FI_REMOTE_COMM)
#define TRANSMIT_FLAGS (FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE)

static const char our_name[] = "strict";
static const char tcp_name[] = "tcp";

static int rename_provider(struct fi_info *info, const char *name)
{
    char *copy = strdup(name);

    if (copy == NULL) {
        return -FI_ENOMEM;
    }
    free(info->fabric_attr->prov_name);
    info->fabric_attr->prov_name = copy;
    return 0;
}

int strict_info_from_tcp(struct fi_info *info)
{
    info->caps &= CAPS;
    info->mode = MODE;
    info->tx_attr->caps &= TRANSMIT_CAPS;
    info->tx_attr->mode = FI_CONTEXT2;
    info->tx_attr->op_flags &= TRANSMIT_FLAGS;
    info->tx_attr->inject_size = 0;
    info->tx_attr->size = STRICT_QUEUE_SIZE;
    info->tx_attr->iov_limit = STRICT_IOV_LIMIT;
    info->tx_attr->rma_iov_limit = 1;
    info->rx_attr->caps &= RECEIVE_CAPS;
    info->rx_attr->mode = MODE;
    info->rx_attr->op_flags &= FI_COMPLETION;
    info->rx_attr->size = STRICT_QUEUE_SIZE;
    info->rx_attr->iov_limit = STRICT_IOV_LIMIT;
    info->ep_attr->max_msg_size = STRICT_MESSAGE_MAX;
    info->domain_attr->domain = NULL; /* tcp's own, if it has one open */
    info->domain_attr->mr_mode = MR_MODE;
    info->domain_attr->mr_cnt = STRICT_REGISTRATIONS;
    info->domain_attr->cq_data_size = sizeof(uint32_t);
    info->domain_attr->cntr_cnt = 0;
    info->fabric_attr->fabric = NULL;
    return rename_provider(info, our_name);
}

/*
 * FI_MR_VIRT_ADDR makes tcp take addresses as they are; keys stay ours to choose, because
 * FI_MR_PROV_KEY is not granted.
 */
static int strip(struct fi_info *info)
{
    info->caps &= CAPS;
    info->mode = 0;
    info->tx_attr->mode = 0;
    info->rx_attr->mode = 0;
    info->domain_attr->domain = NULL;
    info->domain_attr->mr_mode = FI_MR_VIRT_ADDR;
    info->domain_attr->mr_cnt = 0;
    info->fabric_attr->fabric = NULL;
    return rename_provider(info, tcp_name);
}

struct fi_info *strict_info_to_tcp(const struct fi_info *info)
{
    struct fi_info *copy = fi_dupinfo(info);

    if (copy != NULL && strip(copy) != 0) {
        fi_freeinfo(copy);
        return NULL;
    }
    return copy;
}

static bool endpoint_accepts(const struct fi_ep_attr *attr)
{
    return (attr->type == FI_EP_UNSPEC || attr->type == FI_EP_MSG) &&
           attr->tx_ctx_cnt <= 1 &&
           (attr->rx_ctx_cnt <= 1 || attr->rx_ctx_cnt == FI_SHARED_CONTEXT) &&
           attr->max_msg_size <= STRICT_MESSAGE_MAX;
}

static bool transmit_accepts(const struct fi_tx_attr *attr)
{
    return (attr->caps & ~TRANSMIT_CAPS) == 0 &&
           (attr->op_flags & ~TRANSMIT_FLAGS) == 0 && attr->inject_size == 0 &&
           attr->size <= STRICT_QUEUE_SIZE && attr->iov_limit <= STRICT_IOV_LIMIT &&
           attr->rma_iov_limit <= 1;
}

static bool receive_accepts(const struct fi_rx_attr *attr)
{
    return (attr->caps & ~RECEIVE_CAPS) == 0 && (attr->op_flags & ~FI_COMPLETION) == 0 &&
           attr->size <= STRICT_QUEUE_SIZE && attr->iov_limit <= STRICT_IOV_LIMIT;
}

static bool domain_accepts(const struct fi_domain_attr *attr)
{
    return (attr->mr_mode & MR_MODE) == MR_MODE && attr->mr_cnt <= STRICT_REGISTRATIONS &&
           attr->cq_data_size <= sizeof(uint32_t) && attr->cntr_cnt == 0;
}

static bool hints_are_acceptable(const struct fi_info *hints)
{
    const bool is_whole = hints->ep_attr != NULL && hints->tx_attr != NULL &&
                          hints->rx_attr != NULL && hints->domain_attr != NULL &&
                          hints->fabric_attr != NULL; /* as fi_allocinfo() makes them */

    return is_whole && (hints->caps & ~CAPS) == 0 && (hints->mode & MODE) == MODE &&
           endpoint_accepts(hints->ep_attr) && transmit_accepts(hints->tx_attr) &&
           receive_accepts(hints->rx_attr) && domain_accepts(hints->domain_attr);
}

/* Hints for tcp, to be freed with fi_freeinfo(); NULL: no memory. */
static struct fi_info *hints_for_tcp(const struct fi_info *hints)
{
    struct fi_info *ours = hints == NULL ? fi_allocinfo() : fi_dupinfo(hints);

    if (ours == NULL) {
        return NULL;
    }
    ours->ep_attr->type = FI_EP_MSG;
    if (strip(ours) != 0) {
        fi_freeinfo(ours);
        return NULL;
    }
    return ours;
}

/* tcp itself, not a utility provider above it, and its own receives. */
static bool is_suitable(const struct fi_info *info)
{
    return strcmp(info->fabric_attr->prov_name, tcp_name) == 0 &&
           info->ep_attr->type == FI_EP_MSG &&
           info->ep_attr->rx_ctx_cnt != FI_SHARED_CONTEXT;
}

/* Turns what is suitable of tcp's `list` into ours and frees the rest. */
static int adopt(struct fi_info *list, struct fi_info **out)
{
    struct fi_info **tail = out;
    int err = 0;

    *out = NULL;
    while (list != NULL) {
        struct fi_info *info = list;

        list = info->next;
        info->next = NULL;
        if (err == 0 && is_suitable(info)) {
            err = strict_info_from_tcp(info);
            free(info->fabric_attr->prov_name);
            info->fabric_attr->prov_name = NULL; /* libfabric writes it into the result */
            *tail = info;
            tail = &info->next;
        } else {
            fi_freeinfo(info);
        }
    }
    if (err == 0 && *out == NULL) {
        err = -FI_ENODATA;
    }
    if (err != 0) {
        fi_freeinfo(*out);
        *out = NULL;
    }
    return err;
}

static int getinfo(uint32_t version, const char *node, const char *service,
                   uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
    struct fi_info *asked;
    struct fi_info *found;
    int err;

    if (hints != NULL && !hints_are_acceptable(hints)) {
        return -FI_ENODATA;
    }
    asked = hints_for_tcp(hints);
    if (asked == NULL) {
        return -FI_ENOMEM;
    }
    err = fi_getinfo(version, node, service, flags | HIDDEN_TOO, asked, &found);
    fi_freeinfo(asked);
    return err != 0 ? err : adopt(found, info);
}

/* Not constant: libfabric keeps notes in `context`. */
static struct fi_provider provider = {
    .version = FI_VERSION(1, 0),
    .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
    .name = our_name,
    .getinfo = getinfo,
    .fabric = strict_fabric_open,
};

struct fi_provider *fi_prov_ini(void);
__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void)
{
    return &provider;
}
