#include "rma/lock.h"

#include "base/texts.h"
#include "engine/engine.h"
#include "rma/flush.h"
#include "rma/near.h"
#include "rma/send.h"
#include "rma/ticket.h"
#include "rma/wait.h"

/* ---- at the target ---- */

void weft_rma_grant(struct weft_win *win)
{
    int rank;

    while ((rank = weft_lock_queue_grant(&win->locks)) >= 0) {
        const struct weft_target *target = weft_win_find_target(win, rank);

        assert(target != NULL && target->peer != NULL);
        weft_rma_sync(win, target->peer, WEFT_RMA_GRANTED, 0);
    }
}

const char *weft_rma_on_lock(struct weft_win *win, struct weft_target *from,
                             bool is_exclusive)
{
    if (weft_lock_queue_ask(&win->locks, (int)from->rank, is_exclusive) != WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_ANSWER);
    }
    weft_rma_grant(win);
    return NULL;
}

const char *weft_rma_on_unlock(struct weft_win *win, struct weft_target *from,
                               uint32_t number)
{
    if (!weft_lock_queue_leave(&win->locks, (int)from->rank)) {
        return "it gives back a lock that it does not have";
    }
    weft_rma_sync(win, from->peer, WEFT_RMA_FLUSHED, number);
    weft_rma_grant(win);
    return NULL;
}

/* ---- at the origin ---- */

static bool is_granted(const void *what)
{
    const struct weft_target *target = what;

    return target->is_granted || target->peer->is_failed;
}

static bool is_settled(const void *what)
{
    return !((const struct weft_target *)what)->is_asked;
}

/* By the words of a window on one node. */
static enum weft_rc take_ticket(struct weft_win *win, struct weft_target *target,
                                bool is_exclusive, const char *call)
{
    const struct weft_near *near = weft_near_meet(win, (int)target->rank);
    enum weft_rc rc;

    if (near == NULL || target->peer->is_failed) {
        return near == NULL ? WEFT_ERR_NOMEM : WEFT_ERR_PROC_FAILED;
    }
    if (target->is_asked) {
        weft_rma_wait(win, is_settled, target, call, (int)target->rank);
        return target->is_granted ? WEFT_OK : WEFT_ERR_PROC_FAILED;
    }
    target->is_asked = true;
    target->is_granted = false;
    weft_unlock();
    rc = weft_ticket_lock(win, near, is_exclusive, call);
    weft_lock();
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed();
    }
    if (rc == WEFT_OK && target->peer->is_failed) {
        weft_ticket_unlock(win, near, is_exclusive);
        rc = WEFT_ERR_PROC_FAILED;
    }
    target->is_granted = rc == WEFT_OK;
    target->is_asked = false;
    weft_rma_look(win);
    return rc;
}

/* What is near may be reached, or no longer, by whoever does not take the lock. */
static void set_access(struct weft_win *win, const struct weft_target *target, bool is_on)
{
    struct weft_near *near = weft_near_meet(win, (int)target->rank);

    if (near != NULL) {
        weft_near_set_access(near, WEFT_NEAR_LOCKED, is_on);
    }
}

/* While a thread waits it lets go of the library's lock: one that comes then waits for
 * the same grant. */
static enum weft_rc take(struct weft_win *win, struct weft_target *target,
                         bool is_exclusive, const char *call)
{
    if (win->is_whole) {
        return take_ticket(win, target, is_exclusive, call);
    }
    if (!target->is_asked) {
        target->is_asked = true;
        target->is_granted = false;
        weft_rma_sync(win, target->peer,
                      is_exclusive ? WEFT_RMA_LOCK_EXCLUSIVE : WEFT_RMA_LOCK_SHARED, 0);
    }
    weft_rma_wait(win, is_granted, target, call, (int)target->rank);
    target->is_asked = false;
    return target->is_granted ? WEFT_OK : WEFT_ERR_PROC_FAILED;
}

/* A lock that was not taken is not given back. */
static enum weft_rc give_back(struct weft_win *win, struct weft_target *target,
                              const char *call)
{
    const bool is_unchecked = target->is_unchecked;
    enum weft_rc rc;

    set_access(win, target, false);
    target->is_unchecked = false;
    if (!is_unchecked && !win->is_whole) {
        return weft_target_ask(win, target, WEFT_RMA_UNLOCK, call);
    }
    rc = weft_target_flush(win, target, call);
    if (!is_unchecked) {
        weft_ticket_unlock(win, weft_near_find(win, (int)target->rank),
                           target->is_exclusive);
    }
    return rc;
}

enum weft_rc weft_rma_lock(struct weft_win *win, int rank, bool is_exclusive,
                           bool is_unchecked, const char *call)
{
    struct weft_target *target;
    enum weft_rc rc;

    weft_lock();
    rc = weft_win_target(win, rank, &target);
    if (rc == WEFT_OK && !is_unchecked) {
        rc = take(win, target, is_exclusive, call);
    }
    if (rc == WEFT_OK) {
        target->is_unchecked = is_unchecked;
        target->is_exclusive = is_exclusive;
        target->is_locked = true;
        set_access(win, target, true);
        win->epoch.locks++;
        weft_epoch_leave_fence(&win->epoch);
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_rma_unlock(struct weft_win *win, int rank, const char *call)
{
    struct weft_target *target;
    enum weft_rc rc;

    weft_lock();
    target = weft_win_find_target(win, rank);
    assert(target != NULL && target->is_locked);
    rc = give_back(win, target, call);
    target->is_locked = false;
    win->epoch.locks--;
    weft_engine_leave();
    weft_unlock();
    return rc;
}

void weft_rma_lock_all(struct weft_win *win, bool is_unchecked)
{
    weft_lock();
    weft_epoch_leave_fence(&win->epoch);
    win->epoch.is_all = true;
    win->epoch.is_unchecked = is_unchecked;
    weft_unlock();
}

enum weft_rc weft_rma_lock_for(struct weft_win *win, struct weft_target *target,
                               const char *call)
{
    enum weft_rc rc = WEFT_OK;

    if (win->epoch.is_all && !target->is_taken) {
        if (!win->epoch.is_unchecked) {
            rc = take(win, target, false, call);
        }
        target->is_unchecked = win->epoch.is_unchecked;
        target->is_exclusive = false;
        target->is_taken = rc == WEFT_OK;
        set_access(win, target, target->is_taken);
    }
    return rc;
}

enum weft_rc weft_rma_unlock_all(struct weft_win *win, const char *call)
{
    struct weft_target *target;
    enum weft_rc rc;
    int at = 0;

    weft_lock();
    rc = win->has_messages || weft_engine.failed_count > 0 ? weft_targets_flush(win, call)
                                                           : WEFT_OK;
    while ((target = weft_win_next_target(win, &at)) != NULL) {
        if (target->is_taken) {
            const enum weft_rc one = give_back(win, target, call);

            rc = rc == WEFT_OK ? one : rc;
            target->is_taken = false;
        }
    }
    win->epoch.is_all = false;
    weft_engine_leave();
    weft_unlock();
    return rc;
}
