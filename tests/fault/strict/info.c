/*
 * info.c - the provider itself: which hints it accepts, and what it says of itself.
 *
 * tcp finds addresses and interfaces; fabrics and domains keep the names it gives them.
 * What goes to tcp is stripped of our demands, what comes back gets them.
 */
#include "strict.h"

#include <netinet/in.h>
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <string.h>

#define MODE (FI_CONTEXT2 | FI_RX_CQ_DATA)

static const char our_name[] = "strict";

static uint64_t transmit_caps(void)
{
    return FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE |
           (strict_face()->caps & (FI_ATOMIC | FI_TAGGED));
}

static uint64_t receive_caps(void)
{
    return FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |
           strict_face()->caps;
}

static uint64_t all_caps(void)
{
    return transmit_caps() | receive_caps() | FI_LOCAL_COMM | FI_REMOTE_COMM;
}

static uint64_t transmit_flags(void)
{
    return FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |
           strict_face()->flags;
}

static size_t data_bytes(void)
{
    return strict_face()->data_bytes != 0 ? strict_face()->data_bytes : sizeof(uint32_t);
}

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

/* What a face says of endpoints without connections. */
static void put_on(struct fi_info *info)
{
    const struct strict_face *face = strict_face();

    info->tx_attr->msg_order = face->order; /* one stream of tcp keeps all of it */
    info->rx_attr->msg_order = face->order;
    info->ep_attr->msg_prefix_size = face->prefix;
    info->ep_attr->max_order_raw_size =
        (face->order & FI_ORDER_RMA_RAW) != 0 ? face->message_max : 0;
    if (face->tag_format != 0) {
        info->ep_attr->mem_tag_format = face->tag_format;
    }
    info->domain_attr->resource_mgmt = FI_RM_ENABLED;
    if (face->addresses != 0) {
        info->addr_format = face->addresses;
    }
}

int strict_info_from_tcp(struct fi_info *info)
{
    const struct strict_face *face = strict_face();

    info->caps &= all_caps();
    info->mode = MODE | face->mode;
    info->tx_attr->caps &= transmit_caps();
    info->tx_attr->mode = FI_CONTEXT2 | face->mode;
    info->tx_attr->op_flags &= transmit_flags();
    info->tx_attr->inject_size = face->inject_size;
    info->tx_attr->size = STRICT_QUEUE_SIZE;
    info->tx_attr->iov_limit = STRICT_IOV_LIMIT;
    info->tx_attr->rma_iov_limit = 1;
    info->rx_attr->caps &= receive_caps();
    info->rx_attr->mode = MODE | face->mode;
    info->rx_attr->op_flags &= FI_COMPLETION;
    info->rx_attr->size = STRICT_QUEUE_SIZE;
    info->rx_attr->iov_limit = STRICT_IOV_LIMIT;
    info->ep_attr->max_msg_size = face->message_max;
    info->domain_attr->domain = NULL; /* tcp's own, if it has one open */
    info->domain_attr->mr_mode = (int)face->mr_mode;
    info->domain_attr->mr_cnt = STRICT_REGISTRATIONS;
    info->domain_attr->cq_data_size = data_bytes();
    info->domain_attr->cntr_cnt = 0;
    info->fabric_attr->fabric = NULL;
    if (face->type == FI_EP_RDM) {
        put_on(info);
    }
    return rename_provider(info, our_name);
}

/* Addresses that only look different are those of this host's loopback. */
static int take_off_addresses(struct fi_info *info)
{
    const struct sockaddr_in loopback = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    if (strict_face()->addresses == 0) {
        return 0;
    }
    info->addr_format = FI_SOCKADDR_IN;
    if (info->src_addr == NULL) {
        info->src_addr = malloc(sizeof(loopback));
        if (info->src_addr == NULL) {
            return -FI_ENOMEM;
        }
        memcpy(info->src_addr, &loopback, sizeof(loopback));
        info->src_addrlen = sizeof(loopback);
    }
    return 0;
}

/*
 * FI_MR_VIRT_ADDR makes tcp take addresses as they are, which ofi_rxm cannot (memory.c);
 * keys stay ours to choose, because FI_MR_PROV_KEY is not granted.
 */
static int strip(struct fi_info *info)
{
    const struct strict_face *face = strict_face();
    const int err = take_off_addresses(info);

    if (err != 0) {
        return err;
    }
    info->caps &= all_caps();
    info->mode = 0;
    info->tx_attr->mode = 0;
    info->tx_attr->inject_size = 0;
    info->rx_attr->mode = 0;
    if (face->type == FI_EP_RDM) {
        info->tx_attr->msg_order = 0;
        info->rx_attr->msg_order = 0;
        info->ep_attr->max_order_raw_size = 0;
    }
    info->ep_attr->msg_prefix_size = 0;
    info->domain_attr->domain = NULL;
    info->domain_attr->mr_mode = face->type == FI_EP_MSG ? FI_MR_VIRT_ADDR : 0;
    info->domain_attr->mr_cnt = 0;
    info->fabric_attr->fabric = NULL;
    return rename_provider(info, face->below);
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
    return (attr->type == FI_EP_UNSPEC || attr->type == strict_face()->type) &&
           attr->tx_ctx_cnt <= 1 &&
           (attr->rx_ctx_cnt <= 1 || attr->rx_ctx_cnt == FI_SHARED_CONTEXT) &&
           attr->max_msg_size <= strict_face()->message_max;
}

static bool transmit_accepts(const struct fi_tx_attr *attr)
{
    return (attr->caps & ~transmit_caps()) == 0 &&
           (attr->op_flags & ~transmit_flags()) == 0 &&
           (attr->msg_order & ~strict_face()->order) == 0 &&
           attr->inject_size <= strict_face()->inject_size &&
           attr->size <= STRICT_QUEUE_SIZE && attr->iov_limit <= STRICT_IOV_LIMIT &&
           attr->rma_iov_limit <= 1;
}

static bool receive_accepts(const struct fi_rx_attr *attr)
{
    return (attr->caps & ~receive_caps()) == 0 &&
           (attr->op_flags & ~FI_COMPLETION) == 0 &&
           (attr->msg_order & ~strict_face()->order) == 0 &&
           attr->size <= STRICT_QUEUE_SIZE && attr->iov_limit <= STRICT_IOV_LIMIT;
}

static bool domain_accepts(const struct fi_domain_attr *attr)
{
    const uint64_t demanded = strict_face()->mr_mode;

    return ((uint64_t)attr->mr_mode & demanded) == demanded &&
           attr->mr_cnt <= STRICT_REGISTRATIONS && attr->cq_data_size <= data_bytes() &&
           attr->cntr_cnt == 0;
}

static bool hints_are_acceptable(const struct fi_info *hints)
{
    const bool is_whole = hints->ep_attr != NULL && hints->tx_attr != NULL &&
                          hints->rx_attr != NULL && hints->domain_attr != NULL &&
                          hints->fabric_attr != NULL; /* as fi_allocinfo() makes them */

    const uint64_t mode = MODE | strict_face()->mode;

    return is_whole && (hints->caps & ~all_caps()) == 0 && (hints->mode & mode) == mode &&
           (hints->addr_format == FI_FORMAT_UNSPEC || strict_face()->addresses == 0 ||
            hints->addr_format == strict_face()->addresses) &&
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
    ours->ep_attr->type = strict_face()->type;
    if (strip(ours) != 0) {
        fi_freeinfo(ours);
        return NULL;
    }
    return ours;
}

/* What the face stands on, no layer above it, and its own receives. */
static bool is_suitable(const struct fi_info *info)
{
    return strcmp(info->fabric_attr->prov_name, strict_face()->below) == 0 &&
           info->ep_attr->type == strict_face()->type &&
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
    err = strict_below_getinfo(version, node, service, flags, asked, &found);
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
