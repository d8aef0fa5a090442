/*
 * endpoint.h - the endpoint of this process, with its address vector and its completion
 * queue: chosen and opened as the provider wants it.
 *
 * A provider is asked for what helps, and takes part without it: several packets to a
 * receive buffer, order of packets behind puts, or completions of puts that are there.
 * Of several providers the first of libfabric's list is taken, unless it is avoided
 * (quirks/provider.h); FI_PROVIDER chooses otherwise.
 */
#ifndef WEFT_OFI_RDM_ENDPOINT_H
#define WEFT_OFI_RDM_ENDPOINT_H

#include "transport/ofi/rdm/rdm.h"

/* Has it endpoints without connections that leave the node? */
bool weft_rdm_is_between_nodes(const struct fi_info *info);
/* As weft_ofi_hints(), with what else an endpoint here can live with. */
struct fi_info *weft_rdm_hints(enum fi_ep_type type);
/* Before libfabric is loaded, which then reads at which ports its tcp may listen. */
WEFT_MUST_CHECK enum weft_rc weft_rdm_set_ports(const struct weft_who *who);

/* Opens tp->ofi and the pool; sets the limits of packets and what the provider grants.
 * WEFT_ERR_UNSUPPORTED: there is no provider. Says why it failed; what was opened then
 * is for weft_rdm_endpoint_close(). */
WEFT_MUST_CHECK enum weft_rc weft_rdm_endpoint_open(struct weft_transport *tp);
void weft_rdm_endpoint_close(struct weft_transport *tp);

#endif
