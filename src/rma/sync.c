#include "rma/sync.h"

#include "coll/coll.h"
#include "engine/engine.h"
#include "rma/combine.h"
#include "rma/flush.h"
#include "rma/lock.h"
#include "rma/near.h"
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

/* ---- near members: flags in words (words.h) ---- */

/* With the lock, which it drops meanwhile. */
static enum weft_rc wait_for(struct weft_near_wait *wait)
{
    enum weft_rc rc;

    weft_unlock();
    rc = weft_near_wait(wait);
    weft_lock();
    return rc;
}

static bool has_failed(uint64_t process)
{
    const struct weft_peer *peer = weft_peer_find(process);

    return peer != NULL && peer->is_failed;
}

static bool has_failed_there(const struct weft_near_wait *wait)
{
    return has_failed(weft_comm_process(wait->win->comm, wait->rank));
}

static bool is_bit_set(const struct weft_near_wait *wait)
{
    return (atomic_load_explicit(wait->word, memory_order_acquire) & wait->value) != 0;
}

/* Has this member posted its window to us? */
static struct weft_near_wait wait_of_post(struct weft_win *win,
                                          const struct weft_near *near, const char *call)
{
    return (struct weft_near_wait){
        .win = win,
        .words = win->own_words,
        .word = weft_words_post(win->own_words, near->number),
        .is_so = is_bit_set,
        .is_vain = has_failed_there,
        .value = weft_words_bit(near->number),
        .rank = near->rank,
        .call = call,
    };
}

static bool are_complete(const struct weft_near_wait *wait)
{
    return (int32_t)(atomic_load_explicit(wait->word, memory_order_acquire) -
                     wait->value) >= 0;
}

/* Has a member that is near completed the epoch that is posted? Acquire pairs with
 * tell_complete(). */
static bool has_completed_near(const struct weft_win *win, const struct weft_near *near)
{
    const uint32_t bits = atomic_load_explicit(
        weft_words_completed(near->words, win->near_members, win->near_number),
        memory_order_acquire);

    return ((bits & weft_words_bit(win->near_number)) != 0) != near->is_odd;
}

/* Has one of those to whom the window is posted failed, and have all others on this node
 * completed? What comes from them later would count for another epoch. */
static bool has_failed_origin(const struct weft_near_wait *wait)
{
    const struct weft_group *posted = wait->win->posted;
    bool is_any = false;

    for (int i = 0; i < posted->size; i++) {
        const uint64_t process = weft_group_process(posted, i);
        const struct weft_near *near = weft_near_find(
            wait->win, weft_group_rank_of(wait->win->comm->group, process));

        if (has_failed(process)) {
            is_any = true;
        } else if (near != NULL && !has_completed_near(wait->win, near)) {
            return false;
        }
    }
    return is_any;
}

static uint32_t count_near_origins(struct weft_win *win)
{
    uint32_t n = 0;

    for (int i = 0; i < win->posted->size; i++) {
        const uint64_t process = weft_group_process(win->posted, i);

        n += weft_near_meet(win, weft_group_rank_of(win->comm->group, process)) != NULL;
    }
    return n;
}

static struct weft_near_wait wait_of_completes(struct weft_win *win, const char *call)
{
    return (struct weft_near_wait){
        .win = win,
        .words = win->own_words,
        .word = &win->own_words->completes,
        .is_so = are_complete,
        .is_vain = has_failed_origin,
        .value = count_near_origins(win),
        .rank = MPI_ANY_SOURCE,
        .call = call,
    };
}

/* ---- exposure ---- */

static enum weft_rc tell_posted(struct weft_win *win, struct weft_target *target,
                                const char *call)
{
    const struct weft_near *near = weft_near_meet(win, (int)target->rank);

    (void)call;
    if (near == NULL) {
        weft_rma_sync(win, target->peer, WEFT_RMA_POST, 0);
    } else {
        atomic_fetch_or_explicit(weft_words_post(near->words, win->near_number),
                                 weft_words_bit(win->near_number), memory_order_seq_cst);
        weft_words_changed(near->words);
    }
    return WEFT_OK;
}

enum weft_rc weft_rma_post(struct weft_win *win, struct weft_group *group, int assertion)
{
    enum weft_rc rc;

    weft_lock();
    rc = each(win, group, NULL, NULL); /* nobody is told of what does not begin */
    if (rc == WEFT_OK || rc == WEFT_ERR_PROC_FAILED) {
        if ((assertion & MPI_MODE_NOCHECK) == 0) {
            (void)each(win, group, tell_posted, NULL);
        }
        win->posted = weft_group_use(group);
        win->epoch.is_posted = true;
        weft_epoch_leave_fence(&win->epoch);
    }
    weft_engine_leave();
    weft_unlock();
    return rc == WEFT_ERR_PROC_FAILED ? WEFT_OK : rc; /* MPI_Win_wait tells it */
}

static bool has_completed(const void *what)
{
    const struct weft_target *target = what;

    return target->completes > 0 || target->peer->is_failed;
}

static enum weft_rc await_complete(struct weft_win *win, struct weft_target *target,
                                   const char *call)
{
    if (weft_near_meet(win, (int)target->rank) != NULL) {
        return WEFT_OK; /* counted with all that are near */
    }
    weft_rma_wait(win, has_completed, target, call, (int)target->rank);
    if (target->completes == 0) {
        return WEFT_ERR_PROC_FAILED;
    }
    target->completes--;
    return WEFT_OK;
}

/* The completes of this epoch count no longer. */
static void use_completes(struct weft_win *win)
{
    uint32_t n = 0;

    for (int i = 0; i < win->posted->size; i++) {
        struct weft_near *near =
            weft_near_find(win, weft_group_rank_of(win->comm->group,
                                                   weft_group_process(win->posted, i)));

        if (near != NULL && has_completed_near(win, near)) {
            near->is_odd = !near->is_odd;
            n++;
        }
    }
    atomic_fetch_sub_explicit(&win->own_words->completes, n, memory_order_seq_cst);
}

static enum weft_rc await_near_completes(struct weft_win *win, const char *call)
{
    struct weft_near_wait wait;
    enum weft_rc rc;

    if (win->own_words == NULL) {
        return WEFT_OK;
    }
    wait = wait_of_completes(win, call);
    rc = wait_for(&wait);
    use_completes(win);
    return rc;
}

/* With the lock: all have completed, or have failed. */
static enum weft_rc end_exposure(struct weft_win *win, const char *call)
{
    enum weft_rc rc = await_near_completes(win, call);
    const enum weft_rc others = each(win, win->posted, await_complete, call);

    rc = rc == WEFT_OK ? others : rc;
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
    (void)call;
    return weft_near_meet(win, (int)target->rank) != NULL || has_completed(target)
               ? WEFT_OK
               : WEFT_AGAIN;
}

static enum weft_rc look_for_completes(struct weft_win *win, const char *call)
{
    if (win->own_words != NULL) {
        const struct weft_near_wait wait = wait_of_completes(win, call);

        if (!are_complete(&wait) && !has_failed_origin(&wait)) {
            return WEFT_AGAIN;
        }
    }
    return each(win, win->posted, look_for_complete, call);
}

enum weft_rc weft_rma_test_epoch(struct weft_win *win, bool *is_over, const char *call)
{
    enum weft_rc rc;

    weft_lock();
    weft_engine_poll_as_thread(call);
    rc = look_for_completes(win, call);
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
    const struct weft_near *near = weft_near_meet(win, (int)target->rank);
    enum weft_rc rc;

    if (target->is_posted) {
        return WEFT_OK;
    }
    if (near != NULL) {
        struct weft_near_wait wait = wait_of_post(win, near, call);

        rc = wait_for(&wait);
    } else {
        weft_rma_wait(win, has_posted, target, call, (int)target->rank);
        rc = target->posts > 0 ? WEFT_OK : WEFT_ERR_PROC_FAILED;
    }
    target->is_posted = rc == WEFT_OK;
    return rc;
}

/* The post that this epoch has waited for counts no longer. */
static void use_post(struct weft_win *win, struct weft_target *target)
{
    const struct weft_near *near = weft_near_meet(win, (int)target->rank);

    if (near != NULL) {
        atomic_fetch_and_explicit(weft_words_post(win->own_words, near->number),
                                  ~weft_words_bit(near->number), memory_order_seq_cst);
    } else {
        target->posts--;
    }
}

enum weft_rc weft_rma_enter(struct weft_win *win, struct weft_target *target,
                            const char *call)
{
    enum weft_rc rc = WEFT_OK;
    struct weft_near *near;

    if (!win->epoch.is_started) {
        return weft_rma_lock_for(win, target, call);
    }
    rc = await_post(win, target, call);
    near = weft_near_meet(win, (int)target->rank);
    if (rc == WEFT_OK && near != NULL) {
        weft_near_set_access(near, WEFT_NEAR_STARTED, true);
    }
    return rc;
}

static enum weft_rc expect_post(struct weft_win *win, struct weft_target *target,
                                const char *call)
{
    (void)win;
    (void)call;
    target->is_posted = false;
    return WEFT_OK;
}

static enum weft_rc expect_nothing(struct weft_win *win, struct weft_target *target,
                                   const char *call)
{
    (void)win;
    (void)call;
    target->is_posted = true;
    return WEFT_OK;
}

enum weft_rc weft_rma_start_epoch(struct weft_win *win, struct weft_group *group,
                                  int assertion)
{
    const bool is_unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
    enum weft_rc rc;

    weft_lock();
    rc = each(win, group, is_unchecked ? expect_nothing : expect_post, NULL);
    if (rc == WEFT_OK || rc == WEFT_ERR_PROC_FAILED) {
        win->started = weft_group_use(group);
        win->epoch.is_started = true;
        win->epoch.is_unchecked = is_unchecked;
        weft_epoch_leave_fence(&win->epoch);
    }
    weft_engine_leave();
    weft_unlock();
    return rc == WEFT_ERR_PROC_FAILED ? WEFT_OK : rc; /* MPI_Win_complete tells it */
}

/* Only who knows what is attached to a dynamic window can refuse operations on it, and
 * has to be asked whether it has. */
static void tell_complete(struct weft_win *win, struct weft_target *target)
{
    struct weft_near *near = weft_near_meet(win, (int)target->rank);

    if (near == NULL) {
        if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC && target->is_dirty) {
            weft_target_begin_ask(win, target, WEFT_RMA_COMPLETE_ASKED);
        } else {
            weft_combine_tell(win, target, WEFT_RMA_COMPLETE, 0);
        }
        return;
    }
    weft_near_set_access(near, WEFT_NEAR_STARTED, false);
    atomic_fetch_xor_explicit(
        weft_words_completed(win->own_words, win->near_members, near->number),
        weft_words_bit(near->number), memory_order_release);
    atomic_fetch_add_explicit(&near->words->completes, 1, memory_order_seq_cst);
    weft_words_changed(near->words);
}

/* A member that is near is told by its words, so what went by messages is there first. */
static enum weft_rc complete_one(struct weft_win *win, struct weft_target *target,
                                 const char *call)
{
    enum weft_rc rc = await_post(win, target, call);
    const bool is_near = weft_near_meet(win, (int)target->rank) != NULL;
    const enum weft_rc done = is_near ? weft_target_flush(win, target, call)
                                      : weft_target_wait_ours(win, target, call);

    if (rc == WEFT_OK && !win->epoch.is_unchecked) {
        use_post(win, target);
    }
    tell_complete(win, target);
    target->is_dirty = false;
    target->is_put = false; /* it was told by a packet, which arrives later */
    if (rc == WEFT_OK && target->peer->is_failed) {
        rc = WEFT_ERR_PROC_FAILED;
    }
    return rc == WEFT_OK ? done : rc;
}

enum weft_rc weft_rma_complete(struct weft_win *win, const char *call)
{
    enum weft_rc rc;
    enum weft_rc told;

    weft_lock();
    rc = each(win, win->started, complete_one, call);
    told = each(win, win->started, weft_target_end_ask, call);
    rc = rc == WEFT_OK ? told : rc;
    weft_group_release(win->started);
    win->started = NULL;
    win->epoch.is_started = false;
    weft_engine_leave();
    weft_unlock();
    return rc;
}
