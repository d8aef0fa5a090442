/*
 * late.c - reads and writes that begin later than they were posted.
 *
 * Where a face does not promise that a write arrives before what is sent after it, it
 * does not: reads and writes wait, in their order, until completions were asked for a few
 * times. Where writes are complete only when they are there, their completions come as
 * late. Elsewhere they come at once, as for a write that has left, and its data is
 * copied.
 */
#include "strict.h"

#include <stdlib.h>
#include <string.h>

enum { WAIT_READS = 3 }; /* of the completion queue */

struct strict_late {
    struct strict_late *next;
    struct strict_ep *ep;
    struct strict_op *op; /* `silent`: it is complete */
    struct strict_op silent;
    uint64_t flags;
    uint64_t access;
    unsigned waited;
    struct iovec iov[STRICT_IOV_LIMIT];
    size_t count;
    struct fi_rma_iov there;
    fi_addr_t address;
    char data[];
};

static struct strict_late *first;
static struct strict_late **end = &first;
static struct strict_late *begun; /* of which nobody hears */

static void complete_early(struct strict_ep *ep, struct strict_op *op)
{
    const struct fi_cq_err_entry entry = {
        .op_context = op,
        .flags = FI_RMA | FI_WRITE,
    };

    strict_cq_add(ep->cq, &entry);
}

static void copy_data(struct strict_late *late, const struct fi_msg_rma *msg)
{
    size_t at = 0;

    for (size_t i = 0; i < msg->iov_count; i++) {
        memcpy(late->data + at, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
        at += msg->msg_iov[i].iov_len;
    }
    late->iov[0] = (struct iovec){late->data, at};
    late->count = 1;
}

ssize_t strict_late_add(struct strict_ep *ep, const struct fi_msg_rma *msg,
                        uint64_t flags, uint64_t access, struct strict_op *op)
{
    const bool is_early =
        access == FI_WRITE && (strict_face()->flags & FI_DELIVERY_COMPLETE) == 0;
    struct strict_late *late;

    if (is_early && ep->cq->count == STRICT_CQ_SIZE) {
        return -FI_EAGAIN;
    }
    late = calloc(1, sizeof(*late) + (is_early ? msg->rma_iov->len : 0));
    if (late == NULL) {
        return -FI_ENOMEM;
    }
    late->ep = ep;
    late->silent.late = late;
    late->op = is_early ? &late->silent : op;
    late->flags = flags;
    late->access = access;
    late->there = *msg->rma_iov;
    late->address = msg->addr;
    if (is_early) {
        copy_data(late, msg);
        complete_early(ep, op);
    } else {
        memcpy(late->iov, msg->msg_iov, msg->iov_count * sizeof(late->iov[0]));
        late->count = msg->iov_count;
    }
    *end = late;
    end = &late->next;
    return 0;
}

static ssize_t begin(const struct strict_late *late)
{
    const struct fi_msg_rma msg = {
        .msg_iov = late->iov,
        .iov_count = late->count,
        .addr = late->address,
        .rma_iov = &late->there,
        .rma_iov_count = 1,
        .context = late->op,
    };

    return late->access == FI_READ ? fi_readmsg(late->ep->tcp, &msg, late->flags)
                                   : fi_writemsg(late->ep->tcp, &msg, late->flags);
}

static void report(const struct strict_late *late, ssize_t err)
{
    const struct fi_cq_err_entry entry = {
        .op_context = late->op,
        .flags = FI_RMA | late->access,
        .err = (int)-err,
    };

    if (late->op != &late->silent) {
        strict_cq_add(late->ep->cq, &entry);
    }
}

void strict_late_begin(void)
{
    for (struct strict_late *late = first; late != NULL; late = late->next) {
        late->waited++;
    }
    while (first != NULL && first->waited > WAIT_READS) {
        struct strict_late *late = first;
        const ssize_t err = begin(late);

        if (err == -FI_EAGAIN) {
            return;
        }
        if (err != 0) {
            report(late, err);
        }
        first = late->next;
        end = first == NULL ? &first : end;
        if (err == 0 && late->op == &late->silent) {
            late->next = begun;
            begun = late;
        } else {
            free(late);
        }
    }
}

bool strict_late_is_empty(void)
{
    return first == NULL;
}

void strict_late_done(const struct strict_late *late)
{
    struct strict_late **at = &begun;

    while (*at != late) {
        at = &(*at)->next;
    }
    *at = (*at)->next;
    free((void *)(uintptr_t)late);
}

/* Returns where the list ends. */
static struct strict_late **forget(struct strict_late **at, const struct strict_ep *ep)
{
    while (*at != NULL) {
        struct strict_late *late = *at;

        if (late->ep == ep) {
            *at = late->next;
            free(late);
        } else {
            at = &late->next;
        }
    }
    return at;
}

void strict_late_forget(const struct strict_ep *ep)
{
    end = forget(&first, ep);
}

void strict_late_end(const struct strict_ep *ep)
{
    (void)forget(&begun, ep);
}
