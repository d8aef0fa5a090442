#include "engine/work.h"

#include "engine/hot.h"
#include "engine/lock.h"

/* Blocking work is no reason to be woken: a thread of its own ends it, and tells. */
static void count(const struct weft_work *work)
{
    weft_engine.work[work->kind].count++;
    if (work->kind != WEFT_WORK_BLOCKING) {
        weft_reason_add(work->kind == WEFT_WORK_SHORT ? WEFT_REASON_WORK
                                                      : WEFT_REASON_CALLS);
    }
}

static void uncount(const struct weft_work *work)
{
    weft_engine.work[work->kind].count--;
    if (work->kind != WEFT_WORK_BLOCKING) {
        weft_reason_drop(work->kind == WEFT_WORK_SHORT ? WEFT_REASON_WORK
                                                       : WEFT_REASON_CALLS);
    }
}

void weft_work_enqueue(struct weft_work *work, enum weft_work_class kind,
                       void (*run)(struct weft_work *work),
                       void (*done)(struct weft_work *work))
{
    struct weft_work_queue *queue = &weft_engine.work[kind];

    weft_assert_locked();
    assert(work->state == WEFT_WORK_NONE);
    assert(done != NULL || kind == WEFT_WORK_SHORT);
    *work = (struct weft_work){
        .run = run,
        .done = done,
        .state = WEFT_WORK_WAITING,
        .kind = (uint8_t)kind,
    };
    if (queue->first == NULL) {
        queue->first = work;
    } else {
        queue->last->next = work;
    }
    queue->last = work;
    count(work);
}

void weft_work_remove(struct weft_work *work)
{
    struct weft_work_queue *queue = &weft_engine.work[work->kind];
    struct weft_work *before = NULL;
    struct weft_work *at = queue->first;

    weft_assert_locked();
    assert(work->state == WEFT_WORK_WAITING);
    while (at != work) {
        before = at;
        at = at->next;
    }
    if (before == NULL) {
        queue->first = work->next;
    } else {
        before->next = work->next;
    }
    if (queue->last == work) {
        queue->last = before;
    }
    work->state = WEFT_WORK_NONE;
    uncount(work);
}

struct weft_work *weft_work_take(enum weft_work_class kind)
{
    struct weft_work_queue *queue = &weft_engine.work[kind];
    struct weft_work *work = queue->first;

    weft_assert_locked();
    if (work != NULL) {
        assert(work->state == WEFT_WORK_WAITING);
        queue->first = work->next;
        uncount(work);
        work->state = WEFT_WORK_RUNNING;
    }
    return work;
}

void weft_work_end(struct weft_work *work)
{
    weft_assert_locked();
    assert(work->state == WEFT_WORK_RUNNING);
    work->state = WEFT_WORK_NONE;
    work->done(work);
}

/* Not inlined: whoever polls finds none most times, and would save registers for it. */
__attribute__((noinline)) bool weft_work_do(void)
{
    struct weft_work *work = weft_work_take(WEFT_WORK_SHORT);
    bool is_progress_thread;

    if (work == NULL && !weft_engine.is_progress_thread_inside) {
        work = weft_work_take(WEFT_WORK_CALL);
    }
    if (work == NULL) {
        return false;
    }
    weft_engine.moved++;
    if (work->done == NULL) {
        work->run(work);
        return true;
    }
    is_progress_thread = weft_engine_drop_lock();
    work->run(work);
    weft_engine_retake_lock(is_progress_thread);
    weft_work_end(work);
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
