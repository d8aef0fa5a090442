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

enum { HELD_READS = 4 };

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

/* For how many reads a completion is held: every third packet lets others pass. */
static unsigned hold(const struct fi_cq_err_entry *entry)
{
    static unsigned packets;

    return strict_face()->is_shuffled && entry->err == 0 &&
                   (entry->flags & FI_RECV) != 0 && ++packets % 3 == 0
               ? HELD_READS
               : 0;
}

/*
 * ofi_rxm gives a buffer back with the packet that takes its last room, although longer
 * ones before it may still be on their way. Packets lie one behind the other, so counting
 * their bytes tells when all are there.
 */
static void keep_until_whole(struct strict_completion *done)
{
    struct strict_op *op = done->op;
    const uint64_t last = done->entry.flags & FI_MULTI_RECV;

    op->received += done->entry.len;
    if (last != 0) {
        op->whole =
            (size_t)((const char *)done->entry.buf - op->buffer) + done->entry.len;
    }
    done->entry.flags &= ~FI_MULTI_RECV;
    if (op->whole != 0 && op->received == op->whole) {
        done->entry.flags |= FI_MULTI_RECV;
    }
}

void strict_cq_add(struct strict_cq *cq, const struct fi_cq_err_entry *entry)
{
    struct strict_op *op = entry->op_context;
    struct strict_completion *at = &cq->unread[cq->count];

    if (op != NULL && op->late != NULL) {
        strict_late_done(op->late);
        return;
    }
    if (op == NULL || op->queue->is_closing) {
        return;
    }
    if (cq->count == STRICT_CQ_SIZE) {
        overrun(cq);
        return;
    }
    at->op = op;
    at->entry = *entry;
    at->entry.len += (entry->flags & FI_RECV) != 0 ? op->prefix : 0;
    at->held = hold(entry);
    if (op->is_multiple && entry->err == 0) {
        keep_until_whole(at);
    }
    cq->count++;
}

/* Where resources are managed, what has no room stays where it is. */
static bool has_room(const struct strict_cq *cq)
{
    return strict_face()->type == FI_EP_MSG || cq->count < STRICT_CQ_SIZE;
}

/* Moves all that tcp has. */
static void pump(struct strict_cq *cq)
{
    strict_late_begin();
    while (has_room(cq)) {
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
        strict_cq_add(cq, &entry);
    }
}

static void remove_one(struct strict_cq *cq, size_t i)
{
    cq->count--;
    memmove(cq->unread + i, cq->unread + i + 1, (cq->count - i) * sizeof(cq->unread[0]));
}

/* The last packet of a buffer comes after those before it. */
static bool is_behind_others(const struct strict_cq *cq, size_t i)
{
    for (size_t before = 0; before < i; before++) {
        if (cq->unread[before].op == cq->unread[i].op) {
            return true;
        }
    }
    return false;
}

/* May it be handed out now? */
static bool is_due(struct strict_cq *cq, size_t i)
{
    struct strict_completion *done = &cq->unread[i];

    if (done->held > 0) {
        done->held--;
        return false;
    }
    return (done->entry.flags & FI_MULTI_RECV) == 0 || !is_behind_others(cq, i);
}

static void *context_of(const struct strict_completion *done)
{
    if (done->op->is_claiming && done->entry.err == 0) {
        return strict_op_keep(done->op);
    }
    return done->op->is_multiple && (done->entry.flags & FI_MULTI_RECV) == 0
               ? strict_op_report(done->op)
               : strict_op_finish(done->op);
}

static ssize_t hand_out(struct strict_cq *cq, char *buffer, size_t most)
{
    size_t given = 0;
    size_t i = 0;

    while (i < cq->count && given < most) {
        struct strict_completion *done = &cq->unread[i];

        if (!is_due(cq, i)) {
            i++;
            continue;
        }
        if (done->entry.err != 0) {
            return given == 0 ? -FI_EAVAIL : (ssize_t)given;
        }
        done->entry.op_context = context_of(done);
        memcpy(buffer + given * cq->entry_size, &done->entry, cq->entry_size);
        remove_one(cq, i);
        given++;
    }
    return given == 0 && (most > 0 || cq->count == 0) ? -FI_EAGAIN : (ssize_t)given;
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

/* The next that failed, all before which are held; or `count`. */
static size_t first_error(const struct strict_cq *cq)
{
    size_t i = 0;

    while (i < cq->count && cq->unread[i].entry.err == 0 && cq->unread[i].held > 0) {
        i++;
    }
    return i < cq->count && cq->unread[i].entry.err != 0 ? i : cq->count;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry,
                          uint64_t flags)
{
    struct strict_cq *cq = (struct strict_cq *)fid;
    ssize_t count = -FI_EAGAIN;
    size_t i;

    (void)flags;
    strict_lock();
    i = first_error(cq);
    if (cq->has_overrun) {
        memset(entry, 0, sizeof(*entry));
        entry->err = FI_EOVERRUN;
        count = 1;
    } else if (i < cq->count) {
        *entry = cq->unread[i].entry;
        entry->op_context = strict_op_finish(cq->unread[i].op);
        remove_one(cq, i);
        count = 1;
    }
    strict_unlock();
    return count;
}

bool strict_cq_is_quiet(const struct strict_cq *cq)
{
    return cq->count == 0 && !cq->has_overrun && strict_late_is_empty();
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
    if (!strict_face()->has_wait) {
        return -FI_ENOSYS;
    }
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
    if (!strict_face()->has_wait && attr->wait_obj != FI_WAIT_NONE) {
        return -FI_ENOSYS;
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
