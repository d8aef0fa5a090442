/*
 * single_copy.c - bytes straight from one process's memory into another's.
 *
 * process_vm_readv and writev can be forbidden. So every process shows a word of its
 * memory and what it holds (node/node.c), and the first transfer to a peer begins by
 * reading it. Any later transfer can still fail by itself; then nothing is assumed about
 * how much arrived. Its return code says why: WEFT_ERR_PROC_FAILED, WEFT_ERR_ADDRESS for
 * memory on either side, or WEFT_ERR_UNSUPPORTED if the kernel forbids it from now on.
 */
#include "transport/shm/shm.h"

#include "base/log.h"
#include "base/process.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

typedef ssize_t syscall_move(pid_t pid, const struct iovec *ours, unsigned long our_count,
                             const struct iovec *theirs, unsigned long their_count,
                             unsigned long flags);

/* Why the kernel has moved nothing. */
static enum weft_rc reason_of(int error)
{
    switch (error) {
    case ESRCH:
        return WEFT_ERR_PROC_FAILED;
    case EFAULT:
        return WEFT_ERR_ADDRESS;
    case EPERM:
    case EACCES:
    case ENOSYS:
        return WEFT_ERR_UNSUPPORTED;
    case ENOMEM:
        return WEFT_ERR_NOMEM;
    default:
        return WEFT_ERR_SYSTEM;
    }
}

static size_t bytes_of(const struct iovec *blocks, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += blocks[i].iov_len;
    }
    return bytes;
}

/* A list of blocks whose first bytes are done. */
struct rest {
    struct iovec blocks[WEFT_IOV_MAX];
    size_t first;
    size_t count;
};

static void rest_init(struct rest *rest, const struct iovec *blocks, size_t count)
{
    assert(count <= WEFT_IOV_MAX);
    memcpy(rest->blocks, blocks, count * sizeof(*blocks));
    rest->first = 0;
    rest->count = count;
}

static void rest_skip(struct rest *rest, size_t bytes)
{
    while (rest->count > 0 && bytes >= rest->blocks[rest->first].iov_len) {
        bytes -= rest->blocks[rest->first++].iov_len;
        rest->count--;
    }
    if (bytes > 0) {
        struct iovec *block = &rest->blocks[rest->first];

        block->iov_base = (char *)block->iov_base + bytes;
        block->iov_len -= bytes;
    }
}

/*
 * Goes on after a short count. One call moves 2 GiB at most, and it stops before the
 * first byte that it cannot move; the call after that says why, which a short count does
 * not.
 */
static WEFT_COLD enum weft_rc move_rest(syscall_move *call, pid_t pid,
                                        const struct weft_move *move, size_t done,
                                        size_t len)
{
    struct rest ours;
    struct rest theirs;

    rest_init(&ours, move->ours, move->our_count);
    rest_init(&theirs, move->theirs, move->their_count);
    for (ssize_t n = (ssize_t)done; (len -= (size_t)n) > 0;) {
        rest_skip(&ours, (size_t)n);
        rest_skip(&theirs, (size_t)n);
        n = call(pid, ours.blocks + ours.first, ours.count, theirs.blocks + theirs.first,
                 theirs.count, 0);
        if (n <= 0) {
            return n == 0 ? WEFT_ERR_SYSTEM : reason_of(errno);
        }
    }
    return WEFT_OK;
}

/* Moves all `len` bytes, or fails. */
static enum weft_rc move_all(syscall_move *call, pid_t pid, const struct weft_move *move,
                             size_t len)
{
    const ssize_t n =
        call(pid, move->ours, move->our_count, move->theirs, move->their_count, 0);

    if (weft_likely(n == (ssize_t)len)) {
        return WEFT_OK;
    }
    return n < 0 ? reason_of(errno) : move_rest(call, pid, move, (size_t)n, len);
}

static enum weft_rc move_and_count(syscall_move *call, struct weft_path *base,
                                   const struct weft_move *move,
                                   _Atomic uint64_t *counter)
{
    const pid_t pid = ((struct weft_shm_path *)base)->slot->pid;
    const size_t len = bytes_of(move->ours, move->our_count);
    const enum weft_rc rc = move_all(call, pid, move, len);

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
    const struct iovec ours = {&seen, sizeof(seen)};
    struct iovec theirs = {.iov_len = sizeof(seen)};
    const struct weft_move move = {0, &theirs, 1, &ours, 1};

    if (path->is_memory_tried ||
        atomic_load_explicit(&node->is_known, memory_order_acquire) == 0) {
        return; /* it has not opened its transports yet: tried again later */
    }
    path->is_memory_tried = true;
    theirs.iov_base = (void *)(uintptr_t)node->probe_address;
    if (move_all(process_vm_readv, path->slot->pid, &move, sizeof(seen)) == WEFT_OK &&
        seen == node->probe_value) {
        base->memory = &memory;
    } else {
        weft_log_info("the memory of rank %u cannot be reached: long messages are copied "
                      "through the segment",
                      weft_process_rank(base->process));
    }
}
