#include "rma/sync.h"

#include "coll/coll.h"
#include "engine/engine.h"
#include "rma/flush.h"
#include "rma/send.h"
#include "rma/wait.h"

/* ---- fence ---- */

enum weft_rc weft_rma_fence(struct weft_win *win, int assertion, const char *call)
{
    enum weft_rc barrier;
    enum weft_rc rc = WEFT_OK;

    weft_assert_unlocked();
    if ((assertion & MPI_MODE_NOPRECEDE) == 0) {
        rc = weft_rma_flush(win, WEFT_RMA_ALL_RANKS, false, call);
    }
    barrier = weft_coll_barrier(win->comm, call);
    weft_lock();
    win->epoch.is_fence = (assertion & MPI_MODE_NOSUCCEED) == 0;
    win->epoch.is_used = false;
    weft_engine_leave();
    weft_unlock();
    return rc != WEFT_OK ? rc : barrier;
}

/* ---- members of a group ---- */

/* Calls `step` for each member; the first failure is kept, and the others are done. */
typedef enum weft_rc weft_member_step(struct weft_win *win, struct weft_target *target,
                                      const char *call);

static enum weft_rc each(struct weft_win *win, const struct weft_group *group,
                         weft_member_step *step, const char *call)
{
    enum weft_rc rc = WEFT_OK;

    for (int i = 0; i < group->size; i++) {
        const int rank =
            weft_group_rank_of(win->comm->group, weft_group_process(group, i));
        struct weft_target *target;
        enum weft_rc one = weft_win_target(win, rank, &target);

        if (one == WEFT_OK && step != NULL) {
            one = step(win, target, call);
        }
        rc = rc == WEFT_OK ? one : rc;
    }
    return rc;
}

/* ---- exposure ---- */

static enum weft_rc tell_posted(struct weft_win *win, struct weft_target *target,
                                const char *call)
{
    (void)call;
    weft_rma_sync(win, target->peer, WEFT_RMA_POST, 0);
    return WEFT_OK;
}

enum weft_rc weft_rma_post(struct weft_win *win, struct weft_group *group, int assertion)
{
    enum weft_rc rc;

    weft_lock();
    rc = each(win, group, (assertion & MPI_MODE_NOCHECK) != 0 ? NULL : tell_posted, NULL);
    if (rc == WEFT_OK) {
        win->posted = weft_group_use(group);
        win->epoch.is_posted = true;
        weft_epoch_leave_fence(&win->epoch);
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

static bool has_completed(const void *what)
{
    const struct weft_target *target = what;

    return target->completes > 0 || target->peer->is_failed;
}

static enum weft_rc await_complete(struct weft_win *win, struct weft_target *target,
                                   const char *call)
{
    weft_rma_wait(win, has_completed, target, call, (int)target->rank);
    if (target->completes == 0) {
        return WEFT_ERR_PROC_FAILED;
    }
    target->completes--;
    return WEFT_OK;
}

/* With the lock: all have completed, or have failed. */
static enum weft_rc end_exposure(struct weft_win *win, const char *call)
{
    const enum weft_rc rc = each(win, win->posted, await_complete, call);

    weft_group_release(win->posted);
    win->posted = NULL;
    win->epoch.is_posted = false;
    return rc;
}

enum weft_rc weft_rma_wait_epoch(struct weft_win *win, const char *call)
{
    enum weft_rc rc;

    weft_lock();
    rc = end_exposure(win, call);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

static enum weft_rc look_for_complete(struct weft_win *win, struct weft_target *target,
                                      const char *call)
{
    (void)win;
    (void)call;
    return has_completed(target) ? WEFT_OK : WEFT_AGAIN;
}

enum weft_rc weft_rma_test_epoch(struct weft_win *win, bool *is_over, const char *call)
{
    enum weft_rc rc;

    weft_lock();
    weft_engine_poll_as_thread(call);
    rc = each(win, win->posted, look_for_complete, call);
    *is_over = rc == WEFT_OK;
    if (rc == WEFT_OK) {
        rc = end_exposure(win, call);
    }
    weft_engine_leave();
    weft_unlock();
    return rc == WEFT_AGAIN ? WEFT_OK : rc;
}

/* ---- access ---- */

static bool has_posted(const void *what)
{
    const struct weft_target *target = what;

    return target->posts > 0 || target->peer->is_failed;
}

static enum weft_rc await_post(struct weft_win *win, struct weft_target *target,
                               const char *call)
{
    weft_rma_wait(win, has_posted, target, call, (int)target->rank);
    if (target->posts == 0) {
        return WEFT_ERR_PROC_FAILED;
    }
    target->posts--;
    return WEFT_OK;
}

enum weft_rc weft_rma_start_epoch(struct weft_win *win, struct weft_group *group,
                                  int assertion, const char *call)
{
    enum weft_rc rc;

    weft_lock();
    rc = each(win, group, (assertion & MPI_MODE_NOCHECK) != 0 ? NULL : await_post, call);
    if (rc == WEFT_OK) {
        win->started = weft_group_use(group);
        win->epoch.is_started = true;
        weft_epoch_leave_fence(&win->epoch);
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

static enum weft_rc complete_one(struct weft_win *win, struct weft_target *target,
                                 const char *call)
{
    const enum weft_rc rc = weft_target_wait_local(win, target, call);

    weft_rma_sync(win, target->peer, WEFT_RMA_COMPLETE, 0);
    target->is_dirty = false;
    return rc;
}

enum weft_rc weft_rma_complete(struct weft_win *win, const char *call)
{
    enum weft_rc rc;

    weft_lock();
    rc = each(win, win->started, complete_one, call);
    weft_group_release(win->started);
    win->started = NULL;
    win->epoch.is_started = false;
    weft_engine_leave();
    weft_unlock();
    return rc;
}
