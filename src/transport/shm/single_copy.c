/*
 * single_copy.c - bytes straight from one process's memory into another's.
 *
 * process_vm_readv and writev can be forbidden. So every process shows a word of its
 * memory and what it holds (node/node.c), and the first transfer to a peer begins by
 * reading it. Any later transfer can still fail by itself; then nothing is assumed about
 * how much arrived.
 */
#include "transport/shm/shm.h"

#include "base/log.h"

#include <sys/uio.h>

/* All of it, or WEFT_ERR_SYSTEM. */
static enum weft_rc move(bool is_fetch, int pid, uint64_t there, void *here, size_t len)
{
    while (len > 0) {
        struct iovec local = {.iov_base = here, .iov_len = len};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)there, .iov_len = len};
        ssize_t n = is_fetch ? process_vm_readv(pid, &local, 1, &remote, 1, 0)
                             : process_vm_writev(pid, &local, 1, &remote, 1, 0);

        if (n <= 0) {
            return WEFT_ERR_SYSTEM;
        }
        here = (char *)here + n;
        there += (uint64_t)n;
        len -= (size_t)n;
    }
    return WEFT_OK;
}

bool weft_shm_can_reach(struct weft_endpoint *base)
{
    struct weft_shm_endpoint *ep = (struct weft_shm_endpoint *)base;
    uint64_t seen = 0;

    if (weft_likely(ep->reach != REACH_UNKNOWN)) {
        return ep->reach == REACH_YES;
    }
    if (atomic_load_explicit(&ep->node->is_known, memory_order_acquire) == 0) {
        return false; /* it has not opened its transports yet: ask again later */
    }
    ep->reach = move(true, ep->slot->pid, ep->node->probe_address, &seen, sizeof(seen)) ==
                            WEFT_OK &&
                        seen == ep->node->probe_value
                    ? REACH_YES
                    : REACH_NO;
    if (ep->reach == REACH_NO) {
        weft_log_info("the memory of rank %u cannot be reached: long messages are copied "
                      "through the segment",
                      base->rank);
    }
    return ep->reach == REACH_YES;
}

/* Adds `len` to a counter of ours, if the bytes were moved. */
static enum weft_rc count_moved(_Atomic uint64_t *counter, size_t len, enum weft_rc rc)
{
    if (rc == WEFT_OK) {
        atomic_fetch_add_explicit(counter, len, memory_order_relaxed);
    }
    return rc;
}

enum weft_rc weft_shm_fetch(struct weft_endpoint *base, const struct weft_key *key,
                            uint64_t offset, void *to, size_t len, struct weft_op *op)
{
    struct weft_shm_endpoint *ep = (struct weft_shm_endpoint *)base;

    (void)op; /* done when it returns */
    return count_moved(&base->transport->fetched, len,
                       move(true, ep->slot->pid, key->address + offset, to, len));
}

enum weft_rc weft_shm_store(struct weft_endpoint *base, const struct weft_key *key,
                            uint64_t offset, const void *from, size_t len,
                            struct weft_op *op)
{
    struct weft_shm_endpoint *ep = (struct weft_shm_endpoint *)base;

    (void)op;
    return count_moved(
        &base->transport->stored, len,
        move(false, ep->slot->pid, key->address + offset, (void *)(uintptr_t)from, len));
}

static enum weft_rc move_vectors(bool is_fetch, struct weft_endpoint *base,
                                 _Atomic uint64_t *counter, const struct iovec *theirs,
                                 size_t their_count, const struct iovec *ours,
                                 size_t our_count)
{
    const int pid = ((struct weft_shm_endpoint *)base)->slot->pid;
    size_t len = 0;
    ssize_t n;

    for (size_t i = 0; i < our_count; i++) {
        len += ours[i].iov_len;
    }
    n = is_fetch ? process_vm_readv(pid, ours, our_count, theirs, their_count, 0)
                 : process_vm_writev(pid, ours, our_count, theirs, their_count, 0);
    return count_moved(counter, len, n == (ssize_t)len ? WEFT_OK : WEFT_ERR_SYSTEM);
}

enum weft_rc weft_shm_fetch_vectors(struct weft_endpoint *ep, const struct iovec *theirs,
                                    size_t their_count, const struct iovec *ours,
                                    size_t our_count)
{
    return move_vectors(true, ep, &ep->transport->fetched, theirs, their_count, ours,
                        our_count);
}

enum weft_rc weft_shm_store_vectors(struct weft_endpoint *ep, const struct iovec *theirs,
                                    size_t their_count, const struct iovec *ours,
                                    size_t our_count)
{
    return move_vectors(false, ep, &ep->transport->stored, theirs, their_count, ours,
                        our_count);
}
