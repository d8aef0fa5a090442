#include "transport/ofi/rdm/address.h"

#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/common/own.h"
#include "transport/ofi/common/publish.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_MOST = 256 }; /* bytes */

enum weft_rc weft_rdm_publish(struct weft_transport *tp)
{
    uint8_t address[ADDRESS_MOST];
    size_t bytes = sizeof(address);
    char value[WEFT_OFI_VALUE_MAX + 1];
    char host[WEFT_RDM_HOST_BYTES] = "";
    size_t used;
    const int code = fi_getname(&tp->ofi.endpoint->fid, address, &bytes);

    if (code != 0) {
        weft_log_error(WEFT_S_PROVIDER, tp->ofi.info->fabric_attr->prov_name,
                       "no address", weft_ofi_error(code));
        return WEFT_ERR_SYSTEM;
    }
    used = (size_t)snprintf(value, sizeof(value), "%u/", tp->ofi.info->addr_format);
    used = weft_ofi_write_bytes(value, used, address, bytes);
    if (weft_ofi_own_host(host, sizeof(host))) {
        used += (size_t)snprintf(value + used, sizeof(value) - used, ",%s", host);
    }
    assert(used < sizeof(value));
    return weft_ofi_publish(tp->job, tp->opening, tp->packets, value);
}

/* Takes in what a peer has published; false: it is of no use here. */
static bool take(struct weft_transport *tp, struct weft_rdm_peer *peer, const char *value)
{
    const char *slash = strchr(value, '/');
    const char *comma = strchr(value, ',');
    uint8_t address[ADDRESS_MOST];

    if (slash == NULL || strtoul(value, NULL, 10) != tp->ofi.info->addr_format ||
        weft_ofi_read_bytes(slash + 1, strcspn(slash + 1, ","), address,
                            sizeof(address)) == 0) {
        return false;
    }
    if (comma != NULL) {
        snprintf(peer->host, sizeof(peer->host), "%s", comma + 1);
    }
    peer->has_address =
        fi_av_insert(tp->ofi.addresses, address, 1, &peer->address, 0, NULL) == 1;
    return peer->has_address;
}

enum weft_rc weft_rdm_find(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    char value[WEFT_KVS_VALUE_MAX + 1];
    enum weft_rc rc;

    if (peer->has_address) {
        return WEFT_OK;
    }
    rc = weft_ofi_look_up(tp->job, weft_process_rank(peer->process), tp->opening,
                          tp->packets, value);
    if (rc == WEFT_OK && !take(tp, peer, value)) {
        weft_log_error(WEFT_S_PEER_NO_ADDRESS, weft_process_rank(peer->process));
        return WEFT_ERR_UNREACHABLE;
    }
    return rc;
}
