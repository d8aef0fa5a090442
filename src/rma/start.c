#include "rma/start.h"

#include "engine/engine.h"
#include "rma/attach.h"
#include "rma/combine.h"
#include "rma/direct.h"
#include "rma/far.h"
#include "rma/operation.h"
#include "rma/send.h"
#include "rma/sync.h"
#include "rma/wait.h"

static enum weft_rc take_request(struct weft_win *win, struct weft_request **out)
{
    const enum weft_rc rc = weft_request_take(out);

    if (rc == WEFT_OK) {
        (*out)->kind = WEFT_REQUEST_SCHEDULE;
        (*out)->source = MPI_ANY_SOURCE;
        (*out)->tag = MPI_ANY_TAG;
        (*out)->bytes = 0;
        weft_request_set_comm(*out, win->comm);
    }
    return rc;
}

static enum weft_rc run_directly(struct weft_win *win, const struct weft_near *near,
                                 const struct weft_rma_call *call)
{
    enum weft_rc rc;

    weft_unlock();
    rc = weft_direct_run(win, near, call);
    weft_lock();
    return rc;
}

static enum weft_rc send(struct weft_win *win, struct weft_target *target,
                         const struct weft_rma_call *call, struct weft_request *request)
{
    if (weft_combine_get(win, target, call, request)) {
        return WEFT_OK;
    }
    if (target->combined != NULL) {
        weft_combine_send(target);
    }
    return weft_far_is_reached(win, target, call)
               ? weft_far_start(win, target, call, request)
               : weft_operation_start(win, target, call, request);
}

/* An operation that is complete later, and the request that tells. */
static enum weft_rc send_with(struct weft_win *win, struct weft_target *target,
                              const struct weft_rma_call *call,
                              struct weft_request **request)
{
    enum weft_rc rc = WEFT_OK;

    if (request != NULL) {
        rc = take_request(win, request);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    rc = send(win, target, call, request != NULL ? *request : NULL);
    if (rc != WEFT_OK && request != NULL) {
        weft_request_give(*request);
    } else if (request != NULL) {
        weft_request_hand_out(*request);
    }
    return rc;
}

static enum weft_rc by_packets(struct weft_win *win, struct weft_target *target,
                               const struct weft_rma_call *call,
                               struct weft_request **request)
{
    return weft_combine_put(win, target, call) ? WEFT_OK
                                               : send_with(win, target, call, request);
}

/* Nothing was done: whoever ends the epoch or flushes is told. */
static enum weft_rc refuse(struct weft_win *win, struct weft_target *target)
{
    target->is_refused = true;
    win->has_messages = true;
    return WEFT_OK;
}

static bool has_room(const void *what)
{
    const struct weft_target *target = what;

    return !target->is_full || target->peer->is_failed;
}

/* Too many operations on this member are under way: returns when fewer are. */
static __attribute__((noinline)) void
await_room(struct weft_win *win, const struct weft_target *target, const char *call)
{
    weft_rma_wait(win, has_room, target, call, (int)target->rank);
}

static enum weft_rc start(struct weft_win *win, const struct weft_rma_call *call,
                          struct weft_request **request)
{
    struct weft_near *near;
    struct weft_target *target;
    enum weft_rc rc = weft_win_target(win, call->target, &target);

    if (rc == WEFT_OK) {
        rc = weft_rma_enter(win, target, call->name);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    if (weft_unlikely(target->is_full)) {
        await_room(win, target, call->name);
    }
    if (win->epoch.is_fence) {
        win->epoch.is_used = true;
    }
    near = weft_near_meet(win, call->target);
    if (near == NULL || !weft_near_is_reached(near)) {
        return by_packets(win, target, call, request);
    }
    rc = weft_attached_check(win, near, call);
    if (rc == WEFT_AGAIN) {
        return send_with(win, target, call, request);
    }
    if (rc == WEFT_ERR_ARGUMENT) {
        return refuse(win, target);
    }
    if (rc == WEFT_OK) {
        rc = run_directly(win, near, call);
    }
    if (rc == WEFT_ERR_UNSUPPORTED) {
        weft_near_forbid(near);
        rc = by_packets(win, target, call, request);
    }
    return rc;
}

enum weft_rc weft_rma_start(struct weft_win *win, const struct weft_rma_call *call,
                            struct weft_request **request)
{
    enum weft_rc rc;

    weft_assert_unlocked();
    weft_lock();
    rc = start(win, call, request);
    weft_engine_leave();
    weft_unlock();
    return rc;
}
