/*
 * rma_tests.c - what the ends do in each test of the pattern `rma`.
 */
#include "gauge/patterns/rma.h"

static const struct gauge_one_sided *windows(const struct rma *rma)
{
    return rma->bench->module->one_sided;
}

static void work(const struct rma *rma)
{
    if (rma->loops > 0 && !rma->is_settling) {
        gauge_work(rma->bench, rma->loops);
    }
}

/* Epochs */

static enum gauge_rc post(struct rma *rma)
{
    return windows(rma)->post(rma->bench->module);
}

static enum gauge_rc wait(struct rma *rma)
{
    return windows(rma)->wait(rma->bench->module);
}

static enum gauge_rc expose(struct rma *rma)
{
    enum gauge_rc rc = post(rma);

    return rc == GAUGE_OK ? wait(rma) : rc;
}

/* A burst of puts; those of end e begin behind those of the ends before it. */
static enum gauge_rc put_all(struct rma *rma, int target)
{
    int from = rma->bench->end > 0 ? rma->bench->end - 1 : 0;
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < rma->burst; i++) {
        rc = windows(rma)->put(rma->bench->module, target, rma_place(rma, from, i),
                               rma->buffers.out + rma_place(rma, 0, i), rma->size);
        work(rma);
    }
    return rc;
}

static enum gauge_rc get_all(struct rma *rma, int target)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && i < rma->burst; i++) {
        rc = windows(rma)->get(rma->bench->module, target, rma_place(rma, 0, i),
                               rma->buffers.in + rma_place(rma, 0, i), rma->size);
    }
    return rc;
}

static enum gauge_rc none(struct rma *rma, int target)
{
    (void)rma;
    (void)target;
    return GAUGE_OK;
}

static enum gauge_rc reach(struct rma *rma, enum gauge_rc (*how)(struct rma *, int))
{
    struct gauge_module *module = rma->bench->module;
    enum gauge_rc rc = windows(rma)->start(module);

    if (rc == GAUGE_OK) {
        rc = how(rma, rma->bench->end == 0 ? 1 : 0);
    }
    return rc == GAUGE_OK ? windows(rma)->complete(module) : rc;
}

static enum gauge_rc put_epoch(struct rma *rma)
{
    return reach(rma, put_all);
}

static enum gauge_rc get_epoch(struct rma *rma)
{
    return reach(rma, get_all);
}

static enum gauge_rc empty_epoch(struct rma *rma)
{
    return reach(rma, none);
}

/* Latency: two epochs, one in each direction. */

static enum gauge_rc ping(struct rma *rma)
{
    enum gauge_rc rc = put_epoch(rma);

    return rc == GAUGE_OK ? expose(rma) : rc;
}

static enum gauge_rc pong(struct rma *rma)
{
    enum gauge_rc rc = expose(rma);

    return rc == GAUGE_OK ? put_epoch(rma) : rc;
}

/* Both directions at once, by fences or by messages. */

static enum gauge_rc first_fence(struct rma *rma)
{
    return windows(rma)->fence(rma->bench->module, true, false);
}

static enum gauge_rc last_fence(struct rma *rma)
{
    return windows(rma)->fence(rma->bench->module, false, true);
}

static enum gauge_rc put_and_fence(struct rma *rma)
{
    enum gauge_rc rc = put_all(rma, rma->bench->end == 0 ? 1 : 0);

    return rc == GAUGE_OK ? windows(rma)->fence(rma->bench->module, false, false) : rc;
}

static enum gauge_rc swap_messages(struct rma *rma)
{
    int other = rma->bench->end == 0 ? 1 : 0;
    struct gauge_request in;
    struct gauge_request out;
    enum gauge_rc rc = gauge_ireceive(rma->bench, other, rma->buffers.in, rma->size, &in);

    if (rc == GAUGE_OK) {
        rc = gauge_isend(rma->bench, other, rma->buffers.out, rma->size, &out);
    }
    if (rc == GAUGE_OK) {
        rc = gauge_wait(rma->bench, &in);
    }
    return rc == GAUGE_OK ? gauge_wait(rma->bench, &out) : rc;
}

/* Skew: the target has posted, says so, and works before it waits. */

static enum gauge_rc post_and_tell(struct rma *rma)
{
    unsigned char sign = 1;
    enum gauge_rc rc = post(rma);

    return rc == GAUGE_OK ? gauge_send(rma->bench, 0, &sign, 1) : rc;
}

static enum gauge_rc hear(struct rma *rma)
{
    unsigned char sign = 0;

    return gauge_receive(rma->bench, 1, &sign, 1);
}

static enum gauge_rc work_and_wait(struct rma *rma)
{
    work(rma);
    return wait(rma);
}

/* The origin of a skewed target does no work of its own. */
static enum gauge_rc put_epoch_alone(struct rma *rma)
{
    unsigned long loops = rma->loops;
    enum gauge_rc rc = GAUGE_OK;

    rma->loops = 0;
    rc = put_epoch(rma);
    rma->loops = loops;
    return rc;
}

const struct rma_test gauge_rma_tests[] = {
    {.name = "put_latency",
     .title = "latency",
     .act = {ping, pong},
     .bytes = RMA_SWAP,
     .kind = RMA_SIZES,
     .divide = 2},
    {.name = "put_fence",
     .title = "both",
     .before = {first_fence, first_fence},
     .act = {put_and_fence, put_and_fence},
     .after = {last_fence, last_fence},
     .bytes = RMA_SWAP,
     .kind = RMA_SIZES,
     .divide = 1},
    {.name = "two_sided",
     .title = "both",
     .act = {swap_messages, swap_messages},
     .bytes = RMA_SEND,
     .kind = RMA_SIZES,
     .divide = 1},
    {.name = "put_burst",
     .title = "put",
     .act = {put_epoch, expose},
     .bytes = RMA_PUT,
     .kind = RMA_BURSTS,
     .divide = 1},
    {.name = "get_burst",
     .title = "get",
     .act = {get_epoch, expose},
     .bytes = RMA_GET,
     .kind = RMA_BURSTS,
     .divide = 1},
    {.name = "sync_origins",
     .title = "sync",
     .act = {expose, empty_epoch},
     .kind = RMA_COUNTS,
     .key = "origins",
     .divide = 1},
    {.name = "sync_targets",
     .title = "sync",
     .act = {empty_epoch, expose},
     .kind = RMA_COUNTS,
     .key = "targets",
     .divide = 1},
    {.name = "work_at_origin",
     .title = "overlap",
     .act = {put_epoch, expose},
     .bytes = RMA_PUT,
     .kind = RMA_WORK,
     .key = "work_ns",
     .divide = 1},
    {.name = "work_at_target",
     .title = "skew",
     .before = {hear, post_and_tell},
     .act = {put_epoch_alone, work_and_wait},
     .bytes = RMA_PUT,
     .kind = RMA_WORK,
     .key = "work_ns",
     .divide = 1,
     .is_single = true},
    {.name = "put_origins",
     .title = "origins",
     .act = {expose, put_epoch},
     .bytes = RMA_GATHER,
     .kind = RMA_COUNTS,
     .key = "origins",
     .divide = 1},
    {.name = NULL},
};
