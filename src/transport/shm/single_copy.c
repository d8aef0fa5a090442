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
#include "base/process.h"

#include <sys/uio.h>

typedef ssize_t syscall_move(pid_t pid, const struct iovec *ours, unsigned long our_count,
                             const struct iovec *theirs, unsigned long their_count,
                             unsigned long flags);

/* The kernel moves 2 GiB at once; all of one block, or WEFT_ERR_SYSTEM. */
static enum weft_rc move_block(syscall_move *call, pid_t pid, struct iovec theirs,
                               struct iovec ours)
{
    while (ours.iov_len > 0) {
        const ssize_t n = call(pid, &ours, 1, &theirs, 1, 0);

        if (n <= 0) {
            return WEFT_ERR_SYSTEM;
        }
        ours.iov_base = (char *)ours.iov_base + n;
        ours.iov_len -= (size_t)n;
        theirs.iov_base = (char *)theirs.iov_base + n;
        theirs.iov_len -= (size_t)n;
    }
    return WEFT_OK;
}

static enum weft_rc move_blocks(syscall_move *call, pid_t pid,
                                const struct weft_move *move, size_t len)
{
    const ssize_t n =
        call(pid, move->ours, move->our_count, move->theirs, move->their_count, 0);

    return n == (ssize_t)len ? WEFT_OK : WEFT_ERR_SYSTEM;
}

static enum weft_rc move_and_count(syscall_move *call, struct weft_path *base,
                                   const struct weft_move *move,
                                   _Atomic uint64_t *counter)
{
    const pid_t pid = ((struct weft_shm_path *)base)->slot->pid;
    enum weft_rc rc;
    size_t len = 0;

    for (size_t i = 0; i < move->our_count; i++) {
        len += move->ours[i].iov_len;
    }
    rc = move->our_count == 1 && move->their_count == 1
             ? move_block(call, pid, move->theirs[0], move->ours[0])
             : move_blocks(call, pid, move, len);
    if (rc == WEFT_OK) {
        atomic_fetch_add_explicit(counter, len, memory_order_relaxed);
    }
    return rc;
}

static enum weft_rc put(struct weft_path *path, const struct weft_move *move,
                        struct weft_op *op)
{
    (void)op; /* done when it returns */
    return move_and_count(process_vm_writev, path, move, &path->transport->stored);
}

static enum weft_rc get(struct weft_path *path, const struct weft_move *move,
                        struct weft_op *op)
{
    (void)op;
    return move_and_count(process_vm_readv, path, move, &path->transport->fetched);
}

static const struct weft_memory_ops memory = {
    .is_unlocked = true,
    .iov_max = WEFT_IOV_MAX,
    .put = put,
    .get = get,
};

void weft_shm_try_memory(struct weft_path *base)
{
    struct weft_shm_path *path = (struct weft_shm_path *)base;
    const struct weft_node_area *node = path->node;
    uint64_t seen = 0;
    struct iovec ours = {&seen, sizeof(seen)};
    struct iovec theirs = {.iov_len = sizeof(seen)};

    if (path->is_memory_tried ||
        atomic_load_explicit(&node->is_known, memory_order_acquire) == 0) {
        return; /* it has not opened its transports yet: tried again later */
    }
    path->is_memory_tried = true;
    theirs.iov_base = (void *)(uintptr_t)node->probe_address;
    if (move_block(process_vm_readv, path->slot->pid, theirs, ours) == WEFT_OK &&
        seen == node->probe_value) {
        base->memory = &memory;
    } else {
        weft_log_info("the memory of rank %u cannot be reached: long messages are copied "
                      "through the segment",
                      weft_process_rank(base->process));
    }
}
