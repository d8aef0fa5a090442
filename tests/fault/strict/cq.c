/*
 * cq.c - the completion queue: short, and out of order for good once it has overrun.
 *
 * Hardware completes operations whether or not anybody reads. tcp does so only while its
 * queue is read, so each read first moves all that tcp has into our queue, and then hands
 * out as much as was asked for. Nobody can tell the difference: what would have overrun
 * before the read has overrun when it returns.
 */
#include "strict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every format is the beginning of the next, and of the error entry. */
_Static_assert(offsetof(struct fi_cq_err_entry, tag) ==
                   offsetof(struct fi_cq_tagged_entry, tag),
               "an error entry begins as a tagged one");

static struct strict_cq *open_queues;

static void overrun(struct strict_cq *cq)
{
    if (!cq->has_overrun) {
        fprintf(
            stderr,
            "strict: process %d: completion queue %p has overrun: more than %d unread\n",
            (int)getpid(), (void *)cq, STRICT_CQ_SIZE);
    }
    cq->has_overrun = true;
}

static void add(struct strict_cq *cq, const struct fi_cq_err_entry *entry)
{
    struct strict_op *op = entry->op_context;

    if (op == NULL || op->queue->is_closing) {
        return;
    }
    if (cq->count == STRICT_CQ_SIZE) {
        overrun(cq);
        return;
    }
    cq->unread[cq->count].op = op;
    cq->unread[cq->count].entry = *entry;
    cq->count++;
}

/* Moves all that tcp has. */
static void pump(struct strict_cq *cq)
{
    for (;;) {
        struct fi_cq_tagged_entry arrived;
        struct fi_cq_err_entry entry = {0};
        ssize_t count = fi_cq_read(cq->tcp, &arrived, 1);

        if (count == 1) {
            memcpy(&entry, &arrived, sizeof(arrived));
        } else if (count == -FI_EAVAIL) {
            count = fi_cq_readerr(cq->tcp, &entry, 0);
            entry.err_data = NULL; /* tcp's, and gone with its next read */
            entry.err_data_size = 0;
        }
        if (count != 1) {
            return;
        }
        add(cq, &entry);
    }
}

static void remove_first(struct strict_cq *cq, size_t count)
{
    cq->count -= count;
    memmove(cq->unread, cq->unread + count, cq->count * sizeof(cq->unread[0]));
}

static ssize_t hand_out(struct strict_cq *cq, char *buffer, size_t most)
{
    size_t i;

    if (cq->count == 0) {
        return -FI_EAGAIN;
    }
    for (i = 0; i < most && i < cq->count && cq->unread[i].entry.err == 0; i++) {
        struct strict_completion *done = &cq->unread[i];

        done->entry.op_context = strict_op_finish(done->op);
        memcpy(buffer + i * cq->entry_size, &done->entry, cq->entry_size);
    }
    if (i == 0 && most != 0) {
        return -FI_EAVAIL;
    }
    remove_first(cq, i);
    return (ssize_t)i;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t most)
{
    struct strict_cq *cq = (struct strict_cq *)fid;
    ssize_t count;

    strict_lock();
    pump(cq);
    count = cq->has_overrun ? -FI_EOVERRUN : hand_out(cq, buffer, most);
    strict_unlock();
    return count;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buffer, size_t most,
                           fi_addr_t *source)
{
    const ssize_t count = cq_read(fid, buffer, most);
    ssize_t i;

    for (i = 0; source != NULL && i < count; i++) {
        source[i] = FI_ADDR_NOTAVAIL;
    }
    return count;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry,
                          uint64_t flags)
{
    struct strict_cq *cq = (struct strict_cq *)fid;
    ssize_t count = -FI_EAGAIN;

    (void)flags;
    strict_lock();
    if (cq->has_overrun) {
        memset(entry, 0, sizeof(*entry));
        entry->err = FI_EOVERRUN;
        count = 1;
    } else if (cq->count != 0 && cq->unread[0].entry.err != 0) {
        *entry = cq->unread[0].entry;
        entry->op_context = strict_op_finish(cq->unread[0].op);
        remove_first(cq, 1);
        count = 1;
    }
    strict_unlock();
    return count;
}

bool strict_cq_is_quiet(const struct strict_cq *cq)
{
    return cq->count == 0 && !cq->has_overrun;
}

static void forget(struct strict_cq *cq, const struct strict_queue *queue)
{
    size_t kept = 0;
    size_t i;

    pump(cq);
    for (i = 0; i < cq->count; i++) {
        if (cq->unread[i].op->queue != queue) {
            cq->unread[kept++] = cq->unread[i];
        }
    }
    cq->count = kept;
}

void strict_cq_forget(const struct strict_queue *queue)
{
    struct strict_cq *cq;

    for (cq = open_queues; cq != NULL; cq = cq->next) {
        forget(cq, queue);
    }
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data,
                               char *buffer, size_t length)
{
    struct strict_cq *cq = (struct strict_cq *)fid;

    return fi_cq_strerror(cq->tcp, prov_errno, err_data, buffer, length);
}

static int cq_signal(struct fid_cq *fid)
{
    return fi_cq_signal(((struct strict_cq *)fid)->tcp);
}

static int cq_control(struct fid *fid, int command, void *arg)
{
    return fi_control(&((struct strict_cq *)fid)->tcp->fid, command, arg);
}

static int cq_close(struct fid *fid)
{
    struct strict_cq *cq = (struct strict_cq *)fid;
    struct strict_cq **at = &open_queues;
    int err;

    strict_lock();
    err = fi_close(&cq->tcp->fid);
    while (err == 0 && *at != cq) {
        at = &(*at)->next;
    }
    if (err == 0) {
        *at = cq->next;
    }
    strict_unlock();
    if (err == 0) {
        free(cq);
    }
    return err;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cq_close,
    .control = cq_control,
};

static struct fi_ops_cq cq_ops = {
    .size = sizeof(struct fi_ops_cq),
    .read = cq_read,
    .readfrom = cq_readfrom,
    .readerr = cq_readerr,
    .signal = cq_signal,
    .strerror = cq_strerror,
};

/* 0: no such format. */
static size_t entry_size(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_UNSPEC:
    case FI_CQ_FORMAT_CONTEXT:
        return sizeof(struct fi_cq_entry);
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(struct fi_cq_tagged_entry);
    default:
        return 0;
    }
}

int strict_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
                   struct fid_cq **out, void *context)
{
    struct strict_cq *cq;
    struct fi_cq_attr tcp_attr = *attr;
    int err;

    if (entry_size(attr->format) == 0) {
        return -FI_EINVAL;
    }
    cq = calloc(1, sizeof(*cq));
    if (cq == NULL) {
        return -FI_ENOMEM;
    }
    tcp_attr.format = FI_CQ_FORMAT_TAGGED;
    tcp_attr.size = 0; /* it grows */
    err = fi_cq_open(((struct strict_domain *)domain)->tcp, &tcp_attr, &cq->tcp,
                     &cq->fid.fid);
    if (err != 0) {
        free(cq);
        return err;
    }
    cq->fid.fid.fclass = FI_CLASS_CQ;
    cq->fid.fid.context = context;
    cq->fid.fid.ops = &fid_ops;
    cq->fid.ops = &cq_ops;
    cq->entry_size = entry_size(attr->format);
    attr->size = STRICT_CQ_SIZE;
    strict_lock();
    cq->next = open_queues;
    open_queues = cq;
    strict_unlock();
    *out = &cq->fid;
    return 0;
}
