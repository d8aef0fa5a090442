/*
 * choice.h - which of the two networks over libfabric a job takes: endpoints with
 * connections (msg) or without (rdm). The rule is in docs/design.md, 9.
 */
#ifndef WEFT_OFI_CHOICE_H
#define WEFT_OFI_CHOICE_H

#include <rdma/fabric.h>
#include <stdbool.h>

/* Of what libfabric offers, best first: is what comes first without connections, and
 * without a provider below it that has them? */
bool weft_ofi_is_without_connections(const struct fi_info *list);

#endif
