#include "engine/work.h"

#include "engine/hot.h"
#include "engine/lock.h"

void weft_work_add(struct weft_work *work, void (*run)(struct weft_work *work))
{
    struct weft_engine *e = &weft_engine;

    weft_assert_locked();
    assert(work->state == WEFT_WORK_NONE);
    *work = (struct weft_work){.run = run, .state = WEFT_WORK_WAITING};
    if (e->work == NULL) {
        e->work = work;
    } else {
        e->work_last->next = work;
    }
    e->work_last = work;
    weft_reason_add(WEFT_REASON_WORK);
}

void weft_work_remove(struct weft_work *work)
{
    struct weft_engine *e = &weft_engine;
    struct weft_work *before = NULL;
    struct weft_work *at = e->work;

    weft_assert_locked();
    assert(work->state == WEFT_WORK_WAITING);
    while (at != work) {
        before = at;
        at = at->next;
    }
    if (before == NULL) {
        e->work = work->next;
    } else {
        before->next = work->next;
    }
    if (e->work_last == work) {
        e->work_last = before;
    }
    work->state = WEFT_WORK_NONE;
    weft_reason_drop(WEFT_REASON_WORK);
}

bool weft_work_do(void)
{
    struct weft_engine *e = &weft_engine;
    struct weft_work *work = e->work;

    weft_assert_locked();
    if (work == NULL) {
        return false;
    }
    e->work = work->next;
    weft_reason_drop(WEFT_REASON_WORK);
    work->state = WEFT_WORK_RUNNING;
    work->run(work);
    return true;
}

bool weft_engine_drop_lock(void)
{
    struct weft_engine *e = &weft_engine;

    if (e->is_progress_thread_inside) {
        e->is_progress_thread_inside = false;
        weft_lock_leave_as_progress();
        return true;
    }
    weft_unlock();
    return false;
}

void weft_engine_retake_lock(bool is_progress_thread)
{
    if (is_progress_thread) {
        weft_lock_as_progress();
        weft_engine.is_progress_thread_inside = true;
    } else {
        weft_lock();
    }
}
