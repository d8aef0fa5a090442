/*
 * fabric.h - what every transport over libfabric opens: a provider that was chosen, its
 * fabric and domain, the queues for events and completions, and memory it may touch.
 *
 * The domain is used by one thread at a time, with the library's lock. Hardware is
 * written for from the start: buffers handed down have a descriptor where the provider
 * wants one, and addresses and keys of remote memory are as its mr_mode says.
 */
#ifndef WEFT_OFI_FABRIC_H
#define WEFT_OFI_FABRIC_H

#include "transport/ofi/common/library.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct weft_ofi {
    struct fi_info *info; /* of the provider, at our own address */
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_ep *shared_receive; /* buffers for whoever sends */
    struct fid_ep *endpoint;       /* the one for all peers, without connections */
    struct fid_av *addresses;      /* of the peers of that endpoint */
    uint64_t next_key;             /* where keys are ours to choose */
    size_t completions;            /* that may be unread, of whatever is posted */
};

/* Does what takes long the first time that a network is opened. From any thread. */
void weft_ofi_warm_up(void);

/* What we can live with, so that every provider finds what it needs; the caller gives it
 * to freeinfo(). NULL: no memory. */
struct fi_info *weft_ofi_hints(enum fi_ep_type type);

/* Are its endpoints connected ones that share receive buffers? */
bool weft_ofi_is_connected(const struct fi_info *info);

/* Chooses a provider with connected endpoints at the address `at`. WEFT_ERR_UNSUPPORTED:
 * there is none. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_choose(struct weft_ofi *ofi,
                                             const struct sockaddr_storage *at,
                                             socklen_t at_bytes);
/*
 * Opens the queues of the provider that was chosen. Asks for room for `completions` that
 * are not read yet; ofi->completions is what there is, and no more than that may be
 * posted at once. Closes all again if it fails.
 */
WEFT_MUST_CHECK enum weft_rc weft_ofi_open(struct weft_ofi *ofi, size_t completions);
/* Opens only the fabric and the domain. Closes all again if it fails. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_open_domain(struct weft_ofi *ofi);
/* Says which step failed, and closes what was opened. */
enum weft_rc weft_ofi_fail(struct weft_ofi *ofi, const char *step, long code);
void weft_ofi_close(struct weft_ofi *ofi);

/* What the same provider needs to reach `to`, or to listen at `from`, of which one is
 * NULL; the caller gives it to freeinfo(). */
struct fi_info *weft_ofi_info(const struct weft_ofi *ofi,
                              const struct sockaddr_storage *from,
                              const struct sockaddr_storage *to, socklen_t bytes);

/* Must buffers that only we use be registered? */
static inline bool weft_ofi_is_local_checked(const struct weft_ofi *ofi)
{
    return (ofi->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
}

/* Registers memory for FI_SEND, FI_RECV, FI_READ, FI_WRITE and the REMOTE ones. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_register(struct weft_ofi *ofi, const void *memory,
                                               size_t bytes, uint64_t access,
                                               struct fid_mr **mr);

/* Registers memory that no peer reads or writes; *mr is NULL where the provider does not
 * need it. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_register_local(struct weft_ofi *ofi,
                                                     const void *memory, size_t bytes,
                                                     uint64_t access, struct fid_mr **mr);

static inline void weft_ofi_unregister(struct fid_mr *mr)
{
    if (mr != NULL) {
        fi_close(&mr->fid);
    }
}

static inline void *weft_ofi_descriptor(struct fid_mr *mr)
{
    return mr != NULL ? fi_mr_desc(mr) : NULL;
}

#endif
