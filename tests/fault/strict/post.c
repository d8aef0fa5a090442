/*
 * post.c - sends, receives, reads and writes: each is checked, then given to tcp.
 *
 * The many forms of a call end in one of four, which take a message structure. tcp gets
 * our record of the operation as its context, and is asked for a completion of
 * everything.
 */
#include "strict.h"

#include <string.h>

uint64_t strict_transmit_flags(void)
{
    return FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_MORE |
           strict_face()->flags;
}

static size_t total(const struct iovec *iov, size_t count)
{
    size_t sum = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        sum += iov[i].iov_len;
    }
    return sum;
}

void strict_check_length(const char *call, const struct iovec *iov, size_t count)
{
    const size_t length = total(iov, count);

    if (length > strict_face()->message_max) {
        strict_violation(call, "%zu bytes, at most %zu", length,
                         strict_face()->message_max);
    }
}

ssize_t strict_post_end(struct strict_op *op, ssize_t err)
{
    if (err == 0) {
        strict_op_launch(op);
    } else {
        strict_op_give_up(op);
    }
    strict_unlock();
    return err;
}

static void check_enabled(const struct strict_ep *ep, const char *call)
{
    if (!ep->is_enabled) {
        strict_violation(call, "endpoint %p is not enabled", (const void *)ep);
    }
}

/* The bytes in front of a packet are ours: overwrites them, and leaves them out of `iov`,
 * which has room for as many blocks as `msg`. */
static void skip_prefix(const char *call, const struct fi_msg *msg, struct iovec *iov)
{
    const size_t prefix = strict_face()->prefix;

    memcpy(iov, msg->msg_iov, msg->iov_count * sizeof(*iov));
    if (prefix == 0) {
        return;
    }
    if (msg->iov_count == 0 || iov->iov_len < prefix) {
        strict_violation(call, "no room for %zu bytes in front", prefix);
    }
    memset(iov->iov_base, 0x5a, prefix);
    iov->iov_base = (char *)iov->iov_base + prefix;
    iov->iov_len -= prefix;
}

struct strict_way strict_way_out(struct fid_ep *fid, const char *call)
{
    struct strict_ep *ep = (struct strict_ep *)fid;

    if (fid->fid.fclass != FI_CLASS_EP) {
        strict_violation(call, "a shared receive context only receives");
    }
    check_enabled(ep, call);
    if (!ep->is_connected) {
        strict_violation(call, "endpoint %p: no FI_CONNECTED was read for it",
                         (const void *)ep);
    }
    return (struct strict_way){.queue = &ep->transmits, .tcp = ep->tcp};
}

struct strict_way strict_way_in(struct fid_ep *fid, const char *call)
{
    struct strict_ep *ep = (struct strict_ep *)fid;

    if (fid->fid.fclass == FI_CLASS_SRX_CTX) {
        struct strict_srx *srx = (struct strict_srx *)fid;

        return (struct strict_way){.queue = &srx->receives, .tcp = srx->tcp};
    }
    check_enabled(ep, call);
    if (ep->srx != NULL) {
        strict_violation(call, "endpoint %p: its receives are shared ones",
                         (const void *)ep);
    }
    return (struct strict_way){.queue = &ep->receives, .tcp = ep->tcp};
}

/* A receive may be longer than a packet can be. */
static void check_sizes(const char *call, const struct fi_msg *msg, uint64_t access)
{
    if (access != FI_RECV || strict_face()->type == FI_EP_MSG) {
        strict_check_length(call, msg->msg_iov, msg->iov_count);
    }
}

static ssize_t post_message(struct fid_ep *fid, const char *call,
                            const struct fi_msg *msg, uint64_t flags, uint64_t access)
{
    struct strict_way way;
    struct strict_post post = {
        .call = call,
        .iov = msg->msg_iov,
        .desc = msg->desc,
        .count = msg->iov_count,
        .access = access,
        .context = msg->context,
    };
    struct fi_msg to_tcp = *msg;
    struct iovec iov[STRICT_IOV_LIMIT];
    struct strict_op *op;
    ssize_t err;

    check_sizes(call, msg, access);
    strict_lock();
    way = access == FI_RECV ? strict_way_in(fid, call) : strict_way_out(fid, call);
    err = strict_op_reserve(way.queue, &post, &op);
    if (err != 0) {
        strict_unlock();
        return err;
    }
    skip_prefix(call, msg, iov);
    op->prefix = access == FI_RECV ? strict_face()->prefix : 0;
    op->is_multiple = (flags & FI_MULTI_RECV) != 0;
    op->buffer = msg->iov_count > 0 ? iov[0].iov_base : NULL;
    op->received = 0;
    op->whole = 0;
    to_tcp.msg_iov = iov;
    to_tcp.desc = NULL;
    to_tcp.context = op;
    flags |= FI_COMPLETION;
    err = access == FI_RECV ? fi_recvmsg(way.tcp, &to_tcp, flags)
                            : fi_sendmsg(way.tcp, &to_tcp, flags);
    return strict_post_end(op, err);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    const uint64_t multiple = strict_face()->caps & FI_MULTI_RECV;

    if ((flags & ~(FI_COMPLETION | FI_MORE | multiple)) != 0) {
        return -FI_EBADFLAGS;
    }
    return post_message(ep, "fi_recvmsg", msg, flags, FI_RECV);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc,
                         size_t count, fi_addr_t source, void *context)
{
    const struct fi_msg msg = {
        .msg_iov = iov,
        .desc = desc,
        .iov_count = count,
        .addr = source,
        .context = context,
    };

    return post_message(ep, "fi_recvv", &msg, 0, FI_RECV);
}

static ssize_t msg_recv(struct fid_ep *ep, void *buffer, size_t length, void *desc,
                        fi_addr_t source, void *context)
{
    const struct iovec iov = {.iov_base = buffer, .iov_len = length};
    const struct fi_msg msg = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = source,
        .context = context,
    };

    return post_message(ep, "fi_recv", &msg, 0, FI_RECV);
}

static void check_data(const char *call, uint64_t data)
{
    if (data > UINT32_MAX) {
        strict_violation(call, "remote CQ data %#llx does not fit 4 bytes",
                         (unsigned long long)data);
    }
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    if ((flags & ~(strict_transmit_flags() | FI_REMOTE_CQ_DATA)) != 0) {
        return -FI_EBADFLAGS;
    }
    if ((flags & FI_REMOTE_CQ_DATA) != 0) {
        check_data("fi_sendmsg", msg->data);
    }
    return post_message(ep, "fi_sendmsg", msg, flags, FI_SEND);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
                         size_t count, fi_addr_t destination, void *context)
{
    const struct fi_msg msg = {
        .msg_iov = iov,
        .desc = desc,
        .iov_count = count,
        .addr = destination,
        .context = context,
    };

    return post_message(ep, "fi_sendv", &msg, 0, FI_SEND);
}

static ssize_t send_one(struct fid_ep *ep, const char *call, const void *buffer,
                        size_t length, void *desc, uint64_t data, fi_addr_t destination,
                        uint64_t flags, void *context)
{
    const struct iovec iov = {.iov_base = (void *)buffer, .iov_len = length};
    const struct fi_msg msg = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = destination,
        .context = context,
        .data = data,
    };

    check_data(call, data);
    return post_message(ep, call, &msg, flags, FI_SEND);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                        fi_addr_t destination, void *context)
{
    return send_one(ep, "fi_send", buffer, length, desc, 0, destination, 0, context);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buffer, size_t length,
                            void *desc, uint64_t data, fi_addr_t destination,
                            void *context)
{
    return send_one(ep, "fi_senddata", buffer, length, desc, data, destination,
                    FI_REMOTE_CQ_DATA, context);
}

/* Without a completion, and with no context. */
static ssize_t msg_inject(struct fid_ep *fid, const void *buffer, size_t length,
                          fi_addr_t destination)
{
    const size_t prefix = strict_face()->prefix;
    ssize_t err = -FI_EAGAIN;

    if (length < prefix || length - prefix > strict_face()->inject_size ||
        strict_face()->inject_size == 0) {
        return -FI_EINVAL;
    }
    strict_lock();
    if (strict_post_is_taken()) {
        err = fi_inject(strict_way_out(fid, "fi_inject").tcp,
                        (const char *)buffer + prefix, length - prefix, destination);
    }
    strict_unlock();
    return err;
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buffer, size_t length,
                              uint64_t data, fi_addr_t destination)
{
    (void)ep;
    (void)buffer;
    (void)length;
    (void)data;
    (void)destination;
    return -FI_EINVAL; /* of these there are none */
}

struct fi_ops_msg strict_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = msg_recv,
    .recvv = msg_recvv,
    .recvmsg = msg_recvmsg,
    .send = msg_send,
    .sendv = msg_sendv,
    .sendmsg = msg_sendmsg,
    .inject = msg_inject,
    .senddata = msg_senddata,
    .injectdata = msg_injectdata,
};

static void check_remote(const char *call, const struct fi_msg_rma *msg)
{
    const size_t local = total(msg->msg_iov, msg->iov_count);

    if (msg->rma_iov_count != 1) {
        strict_violation(call, "%zu remote buffers, not 1", msg->rma_iov_count);
    }
    if (msg->rma_iov->len != local) {
        strict_violation(call, "%zu bytes here, %zu there", local, msg->rma_iov->len);
    }
}

static ssize_t post_late(struct strict_ep *ep, const struct fi_msg_rma *msg,
                         uint64_t flags, uint64_t access, struct strict_op *op)
{
    const ssize_t err = strict_late_add(ep, msg, flags, access, op);

    return strict_post_end(op, err);
}

static ssize_t post_remote(struct fid_ep *fid, const char *call,
                           const struct fi_msg_rma *msg, uint64_t flags, uint64_t access)
{
    struct strict_way way;
    struct strict_post post = {
        .call = call,
        .iov = msg->msg_iov,
        .desc = msg->desc,
        .count = msg->iov_count,
        .access = access,
        .context = msg->context,
    };
    struct fi_msg_rma to_tcp = *msg;
    struct strict_op *op;
    ssize_t err;

    if ((flags & ~strict_transmit_flags()) != 0) {
        return -FI_EBADFLAGS;
    }
    strict_check_length(call, msg->msg_iov, msg->iov_count);
    check_remote(call, msg);
    strict_lock();
    way = strict_way_out(fid, call);
    err = strict_op_reserve(way.queue, &post, &op);
    if (err != 0) {
        strict_unlock();
        return err;
    }
    to_tcp.desc = NULL;
    to_tcp.context = op;
    flags |= FI_COMPLETION | strict_face()->flags;
    if (strict_face()->is_late) {
        return post_late((struct strict_ep *)fid, &to_tcp, flags, access, op);
    }
    err = access == FI_READ ? fi_readmsg(way.tcp, &to_tcp, flags)
                            : fi_writemsg(way.tcp, &to_tcp, flags);
    return strict_post_end(op, err);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
                           uint64_t flags)
{
    return post_remote(ep, "fi_readmsg", msg, flags, FI_READ);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
                            uint64_t flags)
{
    return post_remote(ep, "fi_writemsg", msg, flags, FI_WRITE);
}

static ssize_t remote_vector(struct fid_ep *ep, const char *call, const struct iovec *iov,
                             void **desc, size_t count, fi_addr_t peer, uint64_t address,
                             uint64_t key, void *context, uint64_t access)
{
    const struct fi_rma_iov there = {
        .addr = address,
        .len = total(iov, count),
        .key = key,
    };
    const struct fi_msg_rma msg = {
        .msg_iov = iov,
        .desc = desc,
        .iov_count = count,
        .addr = peer,
        .rma_iov = &there,
        .rma_iov_count = 1,
        .context = context,
    };

    return post_remote(ep, call, &msg, 0, access);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc,
                         size_t count, fi_addr_t source, uint64_t address, uint64_t key,
                         void *context)
{
    return remote_vector(ep, "fi_readv", iov, desc, count, source, address, key, context,
                         FI_READ);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc,
                          size_t count, fi_addr_t destination, uint64_t address,
                          uint64_t key, void *context)
{
    return remote_vector(ep, "fi_writev", iov, desc, count, destination, address, key,
                         context, FI_WRITE);
}

static ssize_t rma_read(struct fid_ep *ep, void *buffer, size_t length, void *desc,
                        fi_addr_t source, uint64_t address, uint64_t key, void *context)
{
    const struct iovec iov = {.iov_base = buffer, .iov_len = length};

    return remote_vector(ep, "fi_read", &iov, &desc, 1, source, address, key, context,
                         FI_READ);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                         fi_addr_t destination, uint64_t address, uint64_t key,
                         void *context)
{
    const struct iovec iov = {.iov_base = (void *)buffer, .iov_len = length};

    return remote_vector(ep, "fi_write", &iov, &desc, 1, destination, address, key,
                         context, FI_WRITE);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buffer, size_t length,
                          fi_addr_t destination, uint64_t address, uint64_t key)
{
    (void)ep;
    (void)buffer;
    (void)length;
    (void)destination;
    (void)address;
    (void)key;
    return -FI_EINVAL; /* of these there are none */
}

struct fi_ops_rma strict_rma_ops = {
    .size = sizeof(struct fi_ops_rma),
    .read = rma_read,
    .readv = rma_readv,
    .readmsg = rma_readmsg,
    .write = rma_write,
    .writev = rma_writev,
    .writemsg = rma_writemsg,
    .inject = rma_inject,
};
