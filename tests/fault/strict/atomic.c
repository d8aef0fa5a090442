/*
 * atomic.c - atomic operations with a result, on one element: those that the face has are
 * given to the provider below. Others are violations, for a caller can ask.
 */
#include "strict.h"

/* Bytes of an element; 0: no type that there are operations for here. */
static size_t size_of(enum fi_datatype type)
{
    switch (type) {
    case FI_INT32:
    case FI_UINT32:
    case FI_FLOAT:
        return 4;
    case FI_INT64:
    case FI_UINT64:
    case FI_DOUBLE:
        return 8;
    default:
        return 0;
    }
}

static int is_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
                    size_t *count, uint64_t kind)
{
    struct fid_ep *below = ((struct strict_ep *)fid)->tcp;
    int err = -FI_EOPNOTSUPP;

    if (size_of(type) != 0 && strict_face_has_atomic(type, op, kind)) {
        err = kind == FI_COMPARE_ATOMIC ? fi_compare_atomicvalid(below, type, op, count)
                                        : fi_fetch_atomicvalid(below, type, op, count);
    }
    return err;
}

static int fetch_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
                       size_t *count)
{
    return is_valid(fid, type, op, count, FI_FETCH_ATOMIC);
}

static int compare_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
                         size_t *count)
{
    return is_valid(fid, type, op, count, FI_COMPARE_ATOMIC);
}

/* Without a result there are none. */
static int write_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
                       size_t *count)
{
    (void)fid;
    (void)type;
    (void)op;
    (void)count;
    return -FI_EOPNOTSUPP;
}

static void check_offered(struct fid_ep *fid, const char *call, enum fi_datatype type,
                          enum fi_op op, size_t count, uint64_t kind)
{
    size_t most = 0;

    if (count != 1 || is_valid(fid, type, op, &most, kind) != 0 || most < 1) {
        strict_violation(call, "%zu elements of type %d, operation %d: not offered",
                         count, (int)type, (int)op);
    }
}

/* Takes the lock, which strict_post_end() gives back if it worked. */
static int reserve(struct fid_ep *fid, const struct strict_post *post,
                   struct strict_op **op)
{
    int err;

    strict_lock();
    err = strict_op_reserve(&((struct strict_ep *)fid)->transmits, post, op);
    if (err != 0) {
        strict_unlock();
    }
    return err;
}

/* Results are read into, so all buffers must be permitted that. */
static ssize_t fetch(struct fid_ep *fid, const void *buffer, size_t count, void *desc,
                     void *result, void *result_desc, fi_addr_t peer, uint64_t address,
                     uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
    const size_t bytes = op == FI_ATOMIC_READ ? 0 : size_of(type);
    const struct iovec iov[] = {{(void *)(uintptr_t)buffer, bytes},
                                {result, size_of(type)}};
    void *const descs[] = {desc, result_desc};
    const struct strict_post post = {"fi_fetch_atomic", iov, descs, 2, FI_READ, context};
    struct strict_op *ours;
    int err;

    check_offered(fid, post.call, type, op, count, FI_FETCH_ATOMIC);
    err = reserve(fid, &post, &ours);
    return err != 0 ? err
                    : strict_post_end(
                          ours, fi_fetch_atomic(((struct strict_ep *)fid)->tcp, buffer,
                                                count, NULL, result, NULL, peer, address,
                                                key, type, op, ours));
}

static ssize_t compare(struct fid_ep *fid, const void *buffer, size_t count, void *desc,
                       const void *expected, void *expected_desc, void *result,
                       void *result_desc, fi_addr_t peer, uint64_t address, uint64_t key,
                       enum fi_datatype type, enum fi_op op, void *context)
{
    const size_t bytes = size_of(type);
    const struct iovec iov[] = {{(void *)(uintptr_t)buffer, bytes},
                                {(void *)(uintptr_t)expected, bytes},
                                {result, bytes}};
    void *const descs[] = {desc, expected_desc, result_desc};
    const struct strict_post post = {
        "fi_compare_atomic", iov, descs, 3, FI_READ, context};
    struct strict_op *ours;
    int err;

    check_offered(fid, post.call, type, op, count, FI_COMPARE_ATOMIC);
    err = reserve(fid, &post, &ours);
    return err != 0
               ? err
               : strict_post_end(ours, fi_compare_atomic(((struct strict_ep *)fid)->tcp,
                                                         buffer, count, NULL, expected,
                                                         NULL, result, NULL, peer,
                                                         address, key, type, op, ours));
}

struct fi_ops_atomic strict_atomic_ops = {
    .size = sizeof(struct fi_ops_atomic),
    .readwrite = fetch,
    .compwrite = compare,
    .writevalid = write_valid,
    .readwritevalid = fetch_valid,
    .compwritevalid = compare_valid,
};
