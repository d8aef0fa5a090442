/*
 * tagged.c - messages that the provider matches: each post is checked, then given to the
 * provider below, which matches.
 *
 * A peek that takes its message (FI_CLAIM) keeps its context, and its place, until the
 * message was received by the same context. Nothing is discarded but so.
 */
#include "strict.h"

static void check_data(const char *call, uint64_t data)
{
    const size_t bytes = strict_face()->data_bytes;

    if (bytes < sizeof(data) && data >> (8 * bytes) != 0) {
        strict_violation(call, "remote CQ data %#llx does not fit %zu bytes",
                         (unsigned long long)data, bytes);
    }
}

static struct strict_post post_of(const char *call, const struct fi_msg_tagged *msg,
                                  uint64_t access)
{
    return (struct strict_post){
        .call = call,
        .iov = msg->msg_iov,
        .desc = msg->desc,
        .count = msg->iov_count,
        .access = access,
        .context = msg->context,
    };
}

static ssize_t post_tagged(struct fid_ep *fid, const char *call,
                           const struct fi_msg_tagged *msg, uint64_t flags,
                           uint64_t access)
{
    const struct strict_post post = post_of(call, msg, access);
    struct fi_msg_tagged below = *msg;
    struct strict_way way;
    struct strict_op *op;
    ssize_t err;

    strict_check_length(call, msg->msg_iov, msg->iov_count);
    strict_lock();
    way = access == FI_RECV ? strict_way_in(fid, call) : strict_way_out(fid, call);
    err = strict_op_reserve(way.queue, &post, &op);
    if (err != 0) {
        strict_unlock();
        return err;
    }
    op->is_claiming = (flags & FI_CLAIM) != 0;
    below.desc = NULL;
    below.context = op;
    flags |= (flags & FI_PEEK) != 0 ? 0 : FI_COMPLETION;
    err = access == FI_RECV ? fi_trecvmsg(way.tcp, &below, flags)
                            : fi_tsendmsg(way.tcp, &below, flags);
    return strict_post_end(op, err);
}

/* ---- receives ---- */

static ssize_t receive_claimed(struct fid_ep *fid, const struct fi_msg_tagged *msg)
{
    const struct strict_post post = post_of("fi_trecvmsg", msg, FI_RECV);
    struct fi_msg_tagged below = *msg;
    struct strict_way way;
    struct strict_op *op;
    ssize_t err;

    strict_lock();
    way = strict_way_in(fid, post.call);
    err = strict_op_resume(way.queue, &post, &op);
    if (err == 0) {
        below.desc = NULL;
        below.context = op;
        err = fi_trecvmsg(way.tcp, &below, FI_CLAIM | FI_COMPLETION);
    }
    if (err == 0) {
        strict_op_relaunch(op);
    }
    strict_unlock();
    return err;
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg,
                              uint64_t flags)
{
    if ((flags & ~(FI_COMPLETION | FI_MORE | FI_PEEK | FI_CLAIM)) != 0) {
        return -FI_EBADFLAGS;
    }
    return (flags & (FI_PEEK | FI_CLAIM)) == FI_CLAIM
               ? receive_claimed(ep, msg)
               : post_tagged(ep, "fi_trecvmsg", msg, flags, FI_RECV);
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc,
                            size_t count, fi_addr_t source, uint64_t tag, uint64_t ignore,
                            void *context)
{
    const struct fi_msg_tagged msg = {
        .msg_iov = iov,
        .desc = desc,
        .iov_count = count,
        .addr = source,
        .tag = tag,
        .ignore = ignore,
        .context = context,
    };

    return post_tagged(ep, "fi_trecvv", &msg, 0, FI_RECV);
}

static ssize_t tagged_recv(struct fid_ep *ep, void *buffer, size_t length, void *desc,
                           fi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
    const struct iovec iov = {.iov_base = buffer, .iov_len = length};
    const struct fi_msg_tagged msg = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = source,
        .tag = tag,
        .ignore = ignore,
        .context = context,
    };

    return post_tagged(ep, "fi_trecv", &msg, 0, FI_RECV);
}

/* ---- sends ---- */

static ssize_t post_send(struct fid_ep *ep, const char *call,
                         const struct fi_msg_tagged *msg, uint64_t flags)
{
    if ((flags & FI_REMOTE_CQ_DATA) != 0) {
        check_data(call, msg->data);
    }
    return post_tagged(ep, call, msg, flags, FI_SEND);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg,
                              uint64_t flags)
{
    return (flags & ~(strict_transmit_flags() | FI_REMOTE_CQ_DATA)) != 0
               ? -FI_EBADFLAGS
               : post_send(ep, "fi_tsendmsg", msg, flags);
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
                            size_t count, fi_addr_t destination, uint64_t tag,
                            void *context)
{
    const struct fi_msg_tagged msg = {
        .msg_iov = iov,
        .desc = desc,
        .iov_count = count,
        .addr = destination,
        .tag = tag,
        .context = context,
    };

    return post_send(ep, "fi_tsendv", &msg, 0);
}

static ssize_t send_one(struct fid_ep *ep, const char *call, const void *buffer,
                        size_t length, void *desc, uint64_t data, fi_addr_t destination,
                        uint64_t tag, uint64_t flags, void *context)
{
    const struct iovec iov = {.iov_base = (void *)buffer, .iov_len = length};
    const struct fi_msg_tagged msg = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = destination,
        .tag = tag,
        .context = context,
        .data = data,
    };

    return post_send(ep, call, &msg, flags);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buffer, size_t length,
                           void *desc, fi_addr_t destination, uint64_t tag, void *context)
{
    return send_one(ep, "fi_tsend", buffer, length, desc, 0, destination, tag, 0,
                    context);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buffer, size_t length,
                               void *desc, uint64_t data, fi_addr_t destination,
                               uint64_t tag, void *context)
{
    return send_one(ep, "fi_tsenddata", buffer, length, desc, data, destination, tag,
                    FI_REMOTE_CQ_DATA, context);
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buffer, size_t length,
                                 uint64_t data, fi_addr_t destination, uint64_t tag)
{
    ssize_t err = -FI_EAGAIN;

    if (length > strict_face()->inject_size) {
        return -FI_EINVAL;
    }
    check_data("fi_tinjectdata", data);
    strict_lock();
    if (strict_post_is_taken()) {
        err = fi_tinjectdata(strict_way_out(fid, "fi_tinjectdata").tcp, buffer, length,
                             data, destination, tag);
    }
    strict_unlock();
    return err;
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buffer, size_t length,
                             fi_addr_t destination, uint64_t tag)
{
    ssize_t err = -FI_EAGAIN;

    if (length > strict_face()->inject_size) {
        return -FI_EINVAL;
    }
    strict_lock();
    if (strict_post_is_taken()) {
        err = fi_tinject(strict_way_out(fid, "fi_tinject").tcp, buffer, length,
                         destination, tag);
    }
    strict_unlock();
    return err;
}

struct fi_ops_tagged strict_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = tagged_recv,
    .recvv = tagged_recvv,
    .recvmsg = tagged_recvmsg,
    .send = tagged_send,
    .sendv = tagged_sendv,
    .sendmsg = tagged_sendmsg,
    .inject = tagged_inject,
    .senddata = tagged_senddata,
    .injectdata = tagged_injectdata,
};
