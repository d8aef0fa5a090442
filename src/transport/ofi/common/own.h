/* own.h - where this process is: its host's addresses that are for jobs, and its host's
 * name. */
#ifndef WEFT_OFI_OWN_H
#define WEFT_OFI_OWN_H

#include "wireup/net.h"
#include "wireup/wireup.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Our addresses that are for jobs, in the order in which peers are to try them: fast
 * interfaces first, then those near to our processors. Returns how many of WEFT_NET_MOST
 * there are; says why there is none. A host that is in no network has its loopback: nodes
 * of a launcher may be one host.
 */
int weft_ofi_list_own(const struct weft_job *job, struct weft_net_address *list);

/* Writes the host's name, into zeroed memory; false: it cannot be published, behind
 * addresses. */
bool weft_ofi_own_host(char *host, size_t room);

#endif
