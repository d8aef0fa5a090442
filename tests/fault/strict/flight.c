/*
 * flight.c - operations in flight: what a post must bring, and whose contexts are taken.
 *
 * All operations of the process stand in one list, because a context must not be shared
 * by two of them on whatever endpoint. Completion queues are short, so the list is too.
 */
#include "strict.h"

#include <stdalign.h>
#include <string.h>

enum { CONTEXT_WORDS = sizeof(struct fi_context2) / sizeof(uint64_t) };
_Static_assert(sizeof(struct fi_context2) == 8 * sizeof(void *), "a fi_context2 has 8");

static struct strict_op *newest;
static uint64_t posts; /* of the process, refused ones too */

static void overwrite(struct fi_context2 *context, uint64_t pattern)
{
    uint64_t words[CONTEXT_WORDS];
    size_t i;

    for (i = 0; i < CONTEXT_WORDS; i++) {
        words[i] = pattern + i;
    }
    memcpy(context, words, sizeof(words));
}

static bool is_intact(const struct fi_context2 *context, uint64_t pattern)
{
    uint64_t words[CONTEXT_WORDS];
    size_t i;

    memcpy(words, context, sizeof(words));
    for (i = 0; i < CONTEXT_WORDS; i++) {
        if (words[i] != pattern + i) {
            return false;
        }
    }
    return true;
}

static void check_context(const struct strict_post *post)
{
    const uintptr_t start = (uintptr_t)post->context;
    const struct strict_op *op;

    if (start == 0 || start % alignof(struct fi_context2) != 0) {
        strict_violation(post->call, "context %p is no struct fi_context2",
                         post->context);
    }
    for (op = newest; op != NULL; op = op->next) {
        const uintptr_t other = (uintptr_t)op->context;

        if (start < other + sizeof(struct fi_context2) &&
            other < start + sizeof(struct fi_context2)) {
            strict_violation(post->call, "context %p is in use by a %s in flight",
                             post->context, op->call);
        }
    }
}

/* Fills `memory` with the registrations of what is not empty. */
static size_t check_buffers(const struct strict_domain *domain,
                            const struct strict_post *post, struct strict_mr **memory)
{
    size_t found = 0;
    size_t i;

    if (post->count > STRICT_IOV_LIMIT) {
        strict_violation(post->call, "%zu buffers, at most %d", post->count,
                         STRICT_IOV_LIMIT);
    }
    for (i = 0; i < post->count; i++) {
        const struct iovec *iov = &post->iov[i];

        if (iov->iov_len != 0 && strict_is_local_checked()) {
            memory[found++] =
                strict_mr_check(domain, post->call, iov->iov_base, iov->iov_len,
                                post->desc == NULL ? NULL : post->desc[i], post->access);
        }
    }
    return found;
}

static struct strict_op *free_op(struct strict_op *ops)
{
    size_t i;

    for (i = 0; i < STRICT_QUEUE_SIZE; i++) {
        if (ops[i].call == NULL) {
            return &ops[i];
        }
    }
    return NULL;
}

bool strict_post_is_taken(void)
{
    posts++;
    return posts % STRICT_EAGAIN_EVERY != 0;
}

int strict_op_reserve(struct strict_queue *queue, const struct strict_post *post,
                      struct strict_op **out)
{
    struct strict_mr *memory[STRICT_IOV_LIMIT] = {0};
    struct strict_op *op;
    size_t count;

    check_context(post);
    count = check_buffers(queue->domain, post, memory);
    if (!strict_post_is_taken()) {
        return -FI_EAGAIN;
    }
    op = free_op(queue->ops);
    if (op == NULL) {
        return -FI_EAGAIN;
    }
    op->queue = queue;
    op->call = post->call;
    op->context = post->context;
    op->pattern = 0xbadc0de5eed00000 ^ (posts << 8);
    memcpy(op->memory, memory, sizeof(memory));
    op->memory_count = count;
    op->is_multiple = false;
    op->is_claiming = false;
    op->is_claimed = false;
    op->prefix = 0;
    *out = op;
    return 0;
}

void strict_op_launch(struct strict_op *op)
{
    size_t i;

    op->previous = NULL;
    op->next = newest;
    if (newest != NULL) {
        newest->previous = op;
    }
    newest = op;
    for (i = 0; i < op->memory_count; i++) {
        op->memory[i]->used++;
    }
    overwrite(op->context, op->pattern);
}

void strict_op_give_up(struct strict_op *op)
{
    op->call = NULL;
}

static void discard(struct strict_op *op)
{
    size_t i;

    if (op->next != NULL) {
        op->next->previous = op->previous;
    }
    if (op->previous != NULL) {
        op->previous->next = op->next;
    } else {
        newest = op->next;
    }
    for (i = 0; i < op->memory_count; i++) {
        op->memory[i]->used--;
    }
    op->call = NULL;
}

static void check_intact(const struct strict_op *op)
{
    if (!is_intact(op->context, op->pattern)) {
        strict_violation(op->call, "context %p was written to while in flight",
                         (void *)op->context);
    }
}

void *strict_op_report(struct strict_op *op)
{
    check_intact(op);
    return op->context;
}

void *strict_op_keep(struct strict_op *op)
{
    check_intact(op);
    op->pattern = ~op->pattern;
    overwrite(op->context, op->pattern);
    op->is_claiming = false;
    op->is_claimed = true;
    return op->context;
}

struct strict_op *strict_op_find(const struct strict_queue *queue, const void *context)
{
    struct strict_op *op = newest;

    while (op != NULL && (op->queue != queue || op->context != context)) {
        op = op->next;
    }
    return op;
}

int strict_op_resume(struct strict_queue *queue, const struct strict_post *post,
                     struct strict_op **out)
{
    struct strict_op *op = strict_op_find(queue, post->context);

    if (op == NULL || !op->is_claimed) {
        strict_violation(post->call, "context %p has claimed no message", post->context);
    }
    check_intact(op);
    op->memory_count = check_buffers(queue->domain, post, op->memory);
    if (!strict_post_is_taken()) {
        op->memory_count = 0;
        return -FI_EAGAIN;
    }
    op->call = post->call;
    *out = op;
    return 0;
}

void strict_op_relaunch(struct strict_op *op)
{
    op->is_claimed = false;
    for (size_t i = 0; i < op->memory_count; i++) {
        op->memory[i]->used++;
    }
}

void *strict_op_finish(struct strict_op *op)
{
    struct fi_context2 *context = op->context;

    check_intact(op);
    overwrite(context, ~op->pattern);
    discard(op);
    return context;
}

void strict_queue_discard(struct strict_queue *queue)
{
    size_t i;

    for (i = 0; i < STRICT_QUEUE_SIZE; i++) {
        if (queue->ops[i].call != NULL) {
            discard(&queue->ops[i]);
        }
    }
}
