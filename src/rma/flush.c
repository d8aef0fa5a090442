#include "rma/flush.h"

#include "engine/engine.h"
#include "rma/combine.h"
#include "rma/far.h"
#include "rma/near.h"
#include "rma/wait.h"

/* Operations up to a number, which are awaited. */
struct begun {
    const struct weft_target *target;
    uint64_t last;
};

static bool are_over(const void *what)
{
    const struct begun *begun = what;

    return weft_pending_are_over(&begun->target->pending, begun->last);
}

/* An answer that is awaited. */
struct answer {
    const struct weft_target *target;
    uint32_t number;
};

static bool is_there(const struct answer *a)
{
    return (int32_t)(a->target->answered - a->number) >= 0;
}

static bool is_answered(const void *what)
{
    const struct answer *a = what;

    return is_there(a) || a->target->peer->is_failed;
}

/* What operations there came to since the last look. */
static enum weft_rc look_back(struct weft_target *target)
{
    enum weft_rc rc = target->rc;

    if (rc == WEFT_OK && target->is_refused) {
        rc = WEFT_ERR_ARGUMENT;
    }
    target->rc = WEFT_OK;
    target->is_refused = false;
    return rc;
}

/* Returns when what has begun there is over; other threads may go on. */
static void wait_pending(struct weft_win *win, const struct weft_target *target,
                         const char *call)
{
    const struct begun begun = {target, weft_pending_last(&target->pending)};

    weft_rma_wait(win, are_over, &begun, call, (int)target->rank);
}

enum weft_rc weft_target_wait_local(struct weft_win *win, struct weft_target *target,
                                    const char *call)
{
    weft_combine_send(target);
    wait_pending(win, target, call);
    return look_back(target);
}

static struct answer ask(struct weft_win *win, struct weft_target *target,
                         enum weft_rma_sync what)
{
    const struct answer answer = {target, ++target->asked};

    target->is_dirty = false;
    target->is_put = false; /* a packet arrives later */
    weft_combine_tell(win, target, what, answer.number);
    return answer;
}

static enum weft_rc await_answer(struct weft_win *win, struct weft_target *target,
                                 const struct answer *answer, const char *call)
{
    enum weft_rc rc;

    weft_rma_wait(win, is_answered, answer, call, (int)target->rank);
    rc = look_back(target);
    return rc == WEFT_OK && !is_there(answer) ? WEFT_ERR_PROC_FAILED : rc;
}

enum weft_rc weft_target_ask(struct weft_win *win, struct weft_target *target,
                             enum weft_rma_sync what, const char *call)
{
    struct answer answer;

    weft_combine_send_gets(target);
    wait_pending(win, target, call);
    answer = ask(win, target, what);
    return await_answer(win, target, &answer, call);
}

enum weft_rc weft_target_wait_ours(struct weft_win *win, struct weft_target *target,
                                   const char *call)
{
    weft_combine_send_gets(target);
    wait_pending(win, target, call);
    return look_back(target);
}

void weft_target_begin_ask(struct weft_win *win, struct weft_target *target,
                           enum weft_rma_sync what)
{
    (void)ask(win, target, what);
}

enum weft_rc weft_target_end_ask(struct weft_win *win, struct weft_target *target,
                                 const char *call)
{
    const struct answer last = {target, target->asked};

    return await_answer(win, target, &last, call);
}

/* Asks the target, or the path, whether all is there. A packet arrives behind what was
 * put by the same path, so it tells of that, too; but not of what is put later. */
static void ask_all(struct weft_win *win, struct weft_target *target)
{
    if (target->is_put && !target->is_dirty) {
        weft_far_flush(win, target);
    }
    /* What has no room yet waits in the same queue, before this packet. */
    if (target->is_dirty) {
        (void)ask(win, target, WEFT_RMA_FLUSH);
    }
}

/* False: nothing was asked, as not all of it has begun. */
static bool begin_flush(struct weft_win *win, struct weft_target *target)
{
    weft_combine_send_gets(target);
    if (target->staged > 0) {
        return false;
    }
    ask_all(win, target);
    return true;
}

/* A member whose memory is reached from here answers nothing: its end is to be looked
 * for. */
static bool has_gone(const struct weft_win *win, const struct weft_target *target)
{
    const struct weft_near *near = weft_near_find(win, (int)target->rank);

    if (near == NULL || !weft_near_is_reached(near)) {
        return false;
    }
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed();
    }
    return target->peer == NULL || target->peer->is_failed;
}

enum weft_rc weft_target_flush(struct weft_win *win, struct weft_target *target,
                               const char *call)
{
    struct answer answer;
    enum weft_rc rc;

    if (!begin_flush(win, target)) {
        wait_pending(win, target, call);
        ask_all(win, target);
    }
    answer = (struct answer){target, target->asked};
    wait_pending(win, target, call);
    rc = await_answer(win, target, &answer, call);
    if (rc == WEFT_OK && target->is_dirty) { /* a path has said that it cannot tell */
        rc = weft_target_ask(win, target, WEFT_RMA_FLUSH, call);
    }
    return rc == WEFT_OK && has_gone(win, target) ? WEFT_ERR_PROC_FAILED : rc;
}

/* Is nothing under way? Another thread may have begun something. */
static bool is_quiet(const struct weft_win *win)
{
    const struct weft_target *target;
    uint32_t at = 0;

    while ((target = weft_table_next(&win->targets, &at)) != NULL) {
        if (weft_pending_is_any(&target->pending) || target->is_dirty || target->is_put ||
            (target->asked != target->answered && !target->peer->is_failed) ||
            target->combined != NULL) {
            return false;
        }
    }
    return true;
}

/* Asks all before it waits for any. */
enum weft_rc weft_targets_flush(struct weft_win *win, const char *call)
{
    struct weft_target *target;
    enum weft_rc rc = WEFT_OK;
    int at = 0;

    while ((target = weft_win_next_target(win, &at)) != NULL) {
        (void)begin_flush(win, target);
    }
    at = 0;
    while ((target = weft_win_next_target(win, &at)) != NULL) {
        const struct answer last = {target, target->asked};
        enum weft_rc one = weft_target_flush(win, target, call);

        if (one == WEFT_OK) {
            one = await_answer(win, target, &last, call);
        }
        rc = rc == WEFT_OK ? one : rc;
    }
    win->has_messages = !is_quiet(win);
    return rc;
}

static enum weft_rc wait_all_local(struct weft_win *win, const char *call)
{
    struct weft_target *target;
    enum weft_rc rc = WEFT_OK;
    int at = 0;

    while ((target = weft_win_next_target(win, &at)) != NULL) {
        const enum weft_rc one = weft_target_wait_local(win, target, call);

        rc = rc == WEFT_OK ? one : rc;
    }
    return rc;
}

static enum weft_rc flush_locked(struct weft_win *win, int rank, bool is_local,
                                 const char *call)
{
    struct weft_target *target;

    if (rank == WEFT_RMA_ALL_RANKS && !win->has_messages &&
        weft_engine.failed_count == 0 && !weft_engine_has_failures()) {
        return WEFT_OK; /* what went straight to memory is there */
    }
    if (rank == WEFT_RMA_ALL_RANKS) {
        return is_local ? wait_all_local(win, call) : weft_targets_flush(win, call);
    }
    target = weft_win_find_target(win, rank);
    if (target == NULL) {
        return WEFT_OK;
    }
    return is_local ? weft_target_wait_local(win, target, call)
                    : weft_target_flush(win, target, call);
}

enum weft_rc weft_rma_flush(struct weft_win *win, int rank, bool is_local,
                            const char *call)
{
    enum weft_rc rc;

    weft_assert_unlocked();
    atomic_thread_fence(memory_order_seq_cst);
    weft_lock();
    rc = flush_locked(win, rank, is_local, call);
    weft_engine_leave();
    weft_unlock();
    return rc;
}
