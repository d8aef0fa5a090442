#include "transport/ofi/choice.h"

#include "transport/ofi/common/fabric.h"
#include "transport/ofi/quirks/early.h"
#include "transport/ofi/quirks/provider.h"
#include "transport/ofi/rdm/endpoint.h"
#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

/* A name is that of a provider, or that with layers above it, each behind a ';'. */
static bool stand_on_the_same(const struct fi_info *a, const struct fi_info *b)
{
    const char *of_a = a->fabric_attr->prov_name;
    const char *of_b = b->fabric_attr->prov_name;
    const size_t length = strcspn(of_a, ";");

    return length == strcspn(of_b, ";") && strncmp(of_a, of_b, length) == 0;
}

static bool is_usable(const struct fi_info *info)
{
    if (weft_provider_find(info->fabric_attr->prov_name)->is_avoided) {
        return false;
    }
    return info->ep_attr->type == FI_EP_RDM ? weft_rdm_is_between_nodes(info)
                                            : weft_ofi_is_connected(info);
}

static const struct fi_info *first_usable(const struct fi_info *list)
{
    while (list != NULL && !is_usable(list)) {
        list = list->next;
    }
    return list;
}

bool weft_ofi_is_without_connections(const struct fi_info *list)
{
    const struct fi_info *first = first_usable(list);

    for (const struct fi_info *i = list; first != NULL && i != NULL; i = i->next) {
        if (weft_ofi_is_connected(i) && stand_on_the_same(first, i)) {
            return false;
        }
    }
    return first != NULL;
}

/* All that is offered, with all that either transport can live with. */
static struct fi_info *list_all(void)
{
    struct fi_info *hints = weft_rdm_hints(FI_EP_UNSPEC);
    struct fi_info *list = NULL;

    if (hints == NULL) {
        return NULL;
    }
    hints->caps = FI_MSG;
    if (weft_libfabric.getinfo(WEFT_OFI_API, NULL, NULL, 0, hints, &list) != 0) {
        list = NULL;
    }
    weft_libfabric.freeinfo(hints);
    return list;
}

/* A layer that the user names hides the connections below it, so that its sockets may be
 * ours: their ports are said before libfabric is loaded. */
static enum weft_rc prepare(const struct weft_job *job)
{
    const char *named = getenv("FI_PROVIDER");

    return named != NULL && strchr(named, ';') != NULL ? weft_rdm_set_ports(&job->who)
                                                       : WEFT_OK;
}

/*
 * Where nothing but sockets can be meant, the choice is clear without libfabric, whose
 * loading can wait then until the first contact.
 */
enum weft_rc weft_transport_choose_network(const struct weft_job *job,
                                           const struct weft_packet_ops **out)
{
    struct fi_info *list;
    enum weft_rc rc;

    *out = &weft_msg_ops;
    if (weft_early_may_defer()) {
        return WEFT_OK;
    }
    weft_libfabric_prepare();
    rc = prepare(job);
    if (rc == WEFT_OK) {
        rc = weft_libfabric_open();
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    list = list_all();
    if (weft_ofi_is_without_connections(list)) {
        *out = &weft_rdm_ops;
    }
    if (list != NULL) {
        weft_libfabric.freeinfo(list);
    }
    return WEFT_OK;
}
