#include "transport/ofi/rdm/endpoint.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/texts.h"
#include "transport/ofi/common/own.h"
#include "transport/ofi/quirks/descriptors.h"
#include "transport/ofi/quirks/provider.h"
#include "transport/ofi/sodium.h"
#include "transport/ofi/tagged/tagged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMPLETIONS = 1024, /* a buffer of many packets brings many */
    INJECT_MOST = 256,
    LEAST_PACKET = 512,
    LISTEN_TRIES = 16,
    MOVE_MOST = 64 * 1024 * 1024, /* what one put or get has to move */
};

enum { LONG_AUTO, LONG_PUSH, LONG_FETCH }; /* words of WEFT_LONG */

/* What is asked for, best first: memory whose puts packets follow, and of which one can
 * know that they are there. */
static const struct wish {
    uint64_t caps;
    uint64_t order;
    uint64_t flags;
    enum weft_rdm_flush flush;
} wishes[] = {
    {FI_MSG | FI_RMA, FI_ORDER_SAW | FI_ORDER_RMA_RAW, 0, WEFT_RDM_BY_READ},
    {FI_MSG | FI_RMA, FI_ORDER_SAW, FI_DELIVERY_COMPLETE, WEFT_RDM_BY_DELIVERY},
    {FI_MSG | FI_RMA, 0, FI_DELIVERY_COMPLETE, WEFT_RDM_BY_DELIVERY},
    {FI_MSG | FI_RMA, FI_ORDER_RMA_RAW, 0, WEFT_RDM_BY_READ},
    {FI_MSG | FI_RMA, FI_ORDER_SAW, 0, WEFT_RDM_NOT_KNOWN},
    {FI_MSG, 0, 0, WEFT_RDM_NOT_KNOWN},
};

enum { WISHES = sizeof(wishes) / sizeof(wishes[0]) };

/* With each of them, best first; atomics need memory. */
static const uint64_t extras[] = {
    FI_ATOMIC | FI_MULTI_RECV,
    FI_ATOMIC,
    FI_MULTI_RECV,
    0,
};

enum { EXTRAS = sizeof(extras) / sizeof(extras[0]) };

/* ---- choosing ---- */

bool weft_rdm_is_between_nodes(const struct fi_info *info)
{
    return info->ep_attr->type == FI_EP_RDM && info->addr_format != FI_ADDR_STR;
}

struct fi_info *weft_rdm_hints(enum fi_ep_type type)
{
    struct fi_info *hints = weft_ofi_hints(type);

    if (hints != NULL) {
        hints->mode |= FI_MSG_PREFIX;
        hints->domain_attr->mr_mode |= FI_MR_ENDPOINT;
    }
    return hints;
}

/* Reads follow writes of a limited length. */
static bool are_puts_ordered(const struct fi_info *info, const struct wish *wish)
{
    return wish->flush != WEFT_RDM_BY_READ ||
           info->ep_attr->max_order_raw_size >= MOVE_MOST;
}

static struct fi_info *get_info(const struct weft_transport *tp, struct fi_info *hints,
                                const struct wish *wish)
{
    const uint64_t order = wish->order | (tp->is_tagged ? WEFT_TAGGED_ORDER : 0);
    struct fi_info *list = NULL;
    struct fi_info *chosen = NULL;

    hints->caps = wish->caps | (tp->is_tagged ? WEFT_TAGGED_CAPS : 0);
    hints->tx_attr->msg_order = order;
    hints->rx_attr->msg_order = order;
    hints->tx_attr->op_flags = wish->flags;
    if (weft_libfabric.getinfo(WEFT_OFI_API, NULL, NULL, 0, hints, &list) != 0) {
        return NULL;
    }
    for (struct fi_info *i = list; chosen == NULL && i != NULL; i = i->next) {
        if (!weft_provider_find(i->fabric_attr->prov_name)->is_avoided &&
            weft_rdm_is_between_nodes(i) && are_puts_ordered(i, wish)) {
            chosen = weft_libfabric.dupinfo(i);
        }
    }
    weft_libfabric.freeinfo(list);
    return chosen;
}

/* A provider with addresses of the internet is told which of ours to use. */
static bool set_source(struct fi_info *hints, const struct weft_job *job)
{
    struct weft_net_address own[WEFT_NET_MOST];
    struct sockaddr_storage at;
    socklen_t bytes;

    if (weft_ofi_list_own(job, own) == 0 ||
        !weft_net_address_of(own[0].text, 0, &at, &bytes)) {
        return false;
    }
    hints->addr_format = at.ss_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
    hints->src_addr = malloc(bytes);
    if (hints->src_addr == NULL) {
        return false;
    }
    memcpy(hints->src_addr, &at, bytes);
    hints->src_addrlen = bytes;
    return true;
}

/* The best that a provider can do, and what that is. */
static struct fi_info *find_best(const struct weft_transport *tp, struct fi_info *hints,
                                 struct wish *granted)
{
    struct fi_info *info = NULL;

    for (int i = 0; info == NULL && i < WISHES * EXTRAS; i++) {
        const uint64_t extra = extras[i % EXTRAS];

        *granted = wishes[i / EXTRAS];
        granted->caps |= extra;
        if ((extra & FI_ATOMIC) == 0 || (granted->caps & FI_RMA) != 0) {
            info = get_info(tp, hints, granted);
        }
    }
    return info;
}

/* The first provider that can do the least, as libfabric calls it; then the best that
 * this one can do. */
static struct fi_info *choose(const struct weft_transport *tp, struct fi_info *hints,
                              struct wish *granted)
{
    struct fi_info *info = get_info(tp, hints, &wishes[WISHES - 1]);
    bool is_ready;

    if (info == NULL) {
        return NULL;
    }
    hints->fabric_attr->prov_name = strdup(info->fabric_attr->prov_name);
    is_ready = hints->fabric_attr->prov_name != NULL &&
               (info->addr_format > FI_SOCKADDR_IN6 || set_source(hints, tp->job));
    weft_libfabric.freeinfo(info);
    return is_ready ? find_best(tp, hints, granted) : NULL;
}

/* Can the provider match messages, where it is to? */
static enum weft_rc check_tagged(const struct weft_transport *tp)
{
    const struct fi_info *info = tp->ofi.info;
    const char *refusal = tp->is_tagged ? weft_tagged_refusal(info) : NULL;

    if (refusal != NULL) {
        weft_log_error(WEFT_S_NOT_TAGGED, info->fabric_attr->prov_name, refusal);
        return WEFT_ERR_UNSUPPORTED;
    }
    return WEFT_OK;
}

static enum weft_rc find(struct weft_transport *tp, struct wish *granted)
{
    struct fi_info *hints = weft_rdm_hints(FI_EP_RDM);

    if (hints == NULL) {
        return WEFT_ERR_NOMEM;
    }
    tp->ofi = (struct weft_ofi){.next_key = 1};
    tp->ofi.info = choose(tp, hints, granted);
    weft_libfabric.freeinfo(hints);
    if (tp->ofi.info == NULL) {
        weft_log_error(tp->is_tagged ? WEFT_S_NO_TAGGED_PROVIDER
                                     : WEFT_S_NO_RDM_PROVIDER);
        return WEFT_ERR_UNSUPPORTED;
    }
    weft_log_info("network: libfabric's provider %s, without connections%s",
                  tp->ofi.info->fabric_attr->prov_name,
                  tp->is_tagged ? ", which matches messages" : "");
    return check_tagged(tp);
}

/* ---- opening ---- */

/* With a descriptor to sleep on, or without. */
static long open_completions(struct weft_transport *tp)
{
    struct weft_ofi *ofi = &tp->ofi;
    struct fi_cq_attr cq = {
        .size = COMPLETIONS,
        .format = FI_CQ_FORMAT_TAGGED,
        .wait_obj = FI_WAIT_FD,
    };
    long code = fi_cq_open(ofi->domain, &cq, &ofi->cq, NULL);
    int fd = -1;

    tp->has_wait = code == 0 && fi_control(&ofi->cq->fid, FI_GETWAIT, &fd) == 0;
    if (tp->has_wait) {
        weft_close_on_exec(fd);
    } else {
        if (code == 0) {
            fi_close(&ofi->cq->fid);
            ofi->cq = NULL;
        }
        cq.size = COMPLETIONS;
        cq.wait_obj = FI_WAIT_NONE;
        code = fi_cq_open(ofi->domain, &cq, &ofi->cq, NULL);
    }
    ofi->completions = cq.size; /* written back */
    return code;
}

static long open_endpoint(struct weft_transport *tp)
{
    struct weft_ofi *ofi = &tp->ofi;
    struct fi_av_attr av = {.type = ofi->info->domain_attr->av_type};
    long code = open_completions(tp);

    if (code == 0) {
        code = fi_av_open(ofi->domain, &av, &ofi->addresses, NULL);
    }
    if (code == 0) {
        code = fi_endpoint(ofi->domain, ofi->info, &ofi->endpoint, NULL);
    }
    if (code == 0) {
        code = fi_ep_bind(ofi->endpoint, &ofi->addresses->fid, 0);
    }
    if (code == 0) {
        code = fi_ep_bind(ofi->endpoint, &ofi->cq->fid, FI_TRANSMIT | FI_RECV);
    }
    return code == 0 ? fi_enable(ofi->endpoint) : code;
}

/* The queue goes with its endpoint: ofi_rxm 1.17 leaves there what it has closed, and
 * looks at that before it lets anybody sleep. */
static void close_endpoint(struct weft_ofi *ofi)
{
    if (ofi->endpoint != NULL) {
        fi_close(&ofi->endpoint->fid);
        ofi->endpoint = NULL;
    }
    if (ofi->addresses != NULL) {
        fi_close(&ofi->addresses->fid);
        ofi->addresses = NULL;
    }
    if (ofi->cq != NULL) {
        fi_close(&ofi->cq->fid);
        ofi->cq = NULL;
    }
}

/* A port that was free may be taken before one listens there, by a rank of another job.
 */
static long try_to_open_endpoint(struct weft_transport *tp)
{
    long code = open_endpoint(tp);

    for (int i = 1; i < LISTEN_TRIES && code == -FI_EADDRINUSE; i++) {
        close_endpoint(&tp->ofi);
        code = open_endpoint(tp);
    }
    return code;
}

static uint32_t least(size_t a, size_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* What the provider allows, and what it grants. */
static enum weft_rc set_limits(struct weft_transport *tp, const struct wish *granted)
{
    const struct fi_info *info = tp->ofi.info;
    const size_t before = tp->prefix + sizeof(struct weft_rdm_frame);
    const size_t most = info->ep_attr->max_msg_size;
    const int64_t protocol = weft_setting(WEFT_SET_LONG);

    if (most < before + LEAST_PACKET) {
        weft_log_error(WEFT_S_NO_RDM_PROVIDER);
        return WEFT_ERR_UNSUPPORTED;
    }
    tp->packet_max = least(WEFT_RDM_PACKET_MAX, most - before);
    tp->zcopy_max = info->tx_attr->iov_limit < 2
                        ? 0
                        : least(least(WEFT_RDM_ZCOPY_MAX, tp->window / 4), most - before);
    tp->inject_max = least(INJECT_MOST, info->tx_attr->inject_size);
    tp->has_put_order = (granted->order & FI_ORDER_SAW) != 0;
    tp->flush = granted->flush;
    if ((granted->caps & FI_RMA) == 0 || most < MOVE_MOST) {
        tp->memory = NULL;
    }
    tp->prefers_get = protocol == LONG_FETCH ||
                      (protocol == LONG_AUTO &&
                       weft_provider_find(info->fabric_attr->prov_name)->has_reads);
    return WEFT_OK;
}

/* A buffer goes back when it has no room for the longest packet. Its packets are more
 * than there is room for completions of, so the provider must see to that. */
static long prepare_pool(struct weft_transport *tp, const struct wish *granted,
                         size_t longest)
{
    const struct fi_info *info = tp->ofi.info;

    tp->slots.is_multiple = (granted->caps & FI_MULTI_RECV) != 0 && tp->prefix == 0 &&
                            info->domain_attr->resource_mgmt == FI_RM_ENABLED &&
                            !weft_provider_has_single(info->fabric_attr->prov_name);
    return tp->slots.is_multiple
               ? fi_setopt(&tp->ofi.endpoint->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
                           &longest, sizeof(longest))
               : 0;
}

/* This rank's share of the ports, if there are enough for all ranks of its node: where
 * two draw the same one, one of them cannot listen. */
static void take_share(const struct weft_who *who, int *first, int *last)
{
    const int width = (*last - *first + 1) / (who->local_size > 0 ? who->local_size : 1);

    if (width > 0) {
        *first += who->local_rank * width;
        *last = *first + width - 1;
    }
}

static void set_variable(const char *name, int number)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", number);
    weft_environment_offer(name, text);
}

/* What the user has said to libfabric counts more than what was said to us. */
enum weft_rc weft_rdm_set_ports(const struct weft_who *who)
{
    const char *wanted = weft_setting_text(WEFT_SET_PORTS);
    int first;
    int last;

    if (!weft_net_read_ports(wanted, &first, &last)) {
        weft_log_error(WEFT_S_PORTS, wanted);
        return WEFT_ERR_ARGUMENT;
    }
    take_share(who, &first, &last);
    if (getenv("FI_TCP_PORT_LOW_RANGE") == NULL &&
        getenv("FI_TCP_PORT_HIGH_RANGE") == NULL) {
        set_variable("FI_TCP_PORT_LOW_RANGE", first);
        set_variable("FI_TCP_PORT_HIGH_RANGE", last);
    }
    return WEFT_OK;
}

enum weft_rc weft_rdm_endpoint_open(struct weft_transport *tp)
{
    struct wish granted = {.caps = 0};
    size_t before;
    size_t longest;
    long code;
    enum weft_rc rc = weft_rdm_set_ports(&tp->job->who);

    if (rc == WEFT_OK) {
        rc = weft_libfabric_open();
    }
    if (rc == WEFT_OK) {
        rc = weft_sodium_open();
    }
    if (rc == WEFT_OK) {
        rc = find(tp, &granted);
    }
    if (rc == WEFT_OK) {
        tp->prefix = tp->ofi.info->ep_attr->msg_prefix_size;
        rc = set_limits(tp, &granted);
    }
    if (rc == WEFT_OK) {
        rc = weft_ofi_open_domain(&tp->ofi);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    before = tp->prefix + sizeof(struct weft_rdm_frame);
    longest = before + WEFT_HEAD_MAX + WEFT_RDM_ZCOPY_MAX;
    code = try_to_open_endpoint(tp);
    if (code == 0) {
        code = prepare_pool(tp, &granted, longest);
    }
    if (code != 0) {
        return weft_ofi_fail(&tp->ofi, "no endpoint without connections", code);
    }
    tp->slots.has_results = (granted.caps & FI_RMA) != 0;
    return weft_ofi_slots_open(&tp->slots, &tp->ofi, tp->ofi.endpoint,
                               before + WEFT_RDM_PACKET_MAX, longest);
}

void weft_rdm_endpoint_close(struct weft_transport *tp)
{
    if (tp->ofi.endpoint != NULL) { /* before the buffers that are posted there */
        fi_close(&tp->ofi.endpoint->fid);
        tp->ofi.endpoint = NULL;
    }
    weft_ofi_slots_close(&tp->slots);
    weft_ofi_close(&tp->ofi);
}
