/*
 * work_threads.c - the threads that do blocking work.
 *
 * One is started when a piece finds all others busy, up to WEFT_BLOCKING_THREADS. It
 * sleeps while there is nothing to do, and ends with the library's other threads. It
 * takes the lock as the progress thread does, with the progress role, to fetch a piece
 * and to end it; while the piece runs it has neither. What the end has made ready goes on
 * at once; the rest is left to whoever polls, as a thread of the program leaves it.
 */
#include "engine/work.h"

#include "base/futex.h"
#include "base/log.h"
#include "base/texts.h"
#include "engine/hot.h"
#include "engine/lock.h"
#include "engine/thread.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static struct {
    _Atomic uint32_t bell; /* a futex: moved on, with the lock, to wake them */
    /* With the lock. */
    uint32_t count;  /* threads */
    uint32_t idle;   /* of them, those that wait for the bell */
    bool is_refused; /* none could be started: said once */
    bool is_stopping;
} threads;

static struct weft_work_queue *queue(void)
{
    return &weft_engine.work[WEFT_WORK_BLOCKING];
}

static void take_lock(void)
{
    weft_progress_role_take();
    weft_lock_as_progress();
    weft_engine.is_progress_thread_inside = true;
}

static void give_lock(void)
{
    weft_engine_leave();
    weft_engine.is_progress_thread_inside = false;
    weft_lock_leave_as_progress();
    weft_progress_role_give();
}

/* With the lock, which is dropped while there is none. NULL: the thread is to end. */
static struct weft_work *next_piece(void)
{
    while (queue()->first == NULL && !threads.is_stopping) {
        /* Relaxed: it moves with the lock only, so not between this look and the last. */
        const uint32_t bell = atomic_load_explicit(&threads.bell, memory_order_relaxed);

        threads.idle++;
        give_lock();
        weft_futex_wait(&threads.bell, bell, 0);
        take_lock();
        threads.idle--;
    }
    return weft_work_take(WEFT_WORK_BLOCKING);
}

static void serve(void)
{
    struct weft_work *work;

    take_lock();
    while ((work = next_piece()) != NULL) {
        give_lock();
        work->run(work);
        take_lock();
        weft_work_end(work);
    }
    give_lock();
}

static void ring(int count)
{
    atomic_fetch_add_explicit(&threads.bell, 1, memory_order_relaxed);
    weft_futex_wake(&threads.bell, count);
}

static void start_one(void)
{
    const struct weft_segment_header *h = weft_engine.job->segment.header;
    const enum weft_thread which =
        (enum weft_thread)((uint32_t)WEFT_THREAD_BLOCKING + threads.count);

    if (weft_thread_start(which, serve, h->cpu_set, WEFT_SEGMENT_CPU_BYTES) == WEFT_OK) {
        threads.count++;
    } else if (threads.count == 0 && !threads.is_refused) {
        threads.is_refused = true;
        weft_log_error(WEFT_S_WORK_THREAD, strerror(errno));
    }
}

/* False: there is no thread, and none can be started. */
static bool call_thread(void)
{
    if (queue()->count > threads.idle && threads.count < WEFT_BLOCKING_THREADS &&
        !threads.is_stopping) {
        start_one();
    }
    ring(1);
    return threads.count > 0;
}

void weft_work_add(struct weft_work *work, enum weft_work_class kind,
                   void (*run)(struct weft_work *work),
                   void (*done)(struct weft_work *work))
{
    weft_work_enqueue(work, kind, run, done);
    if (kind == WEFT_WORK_BLOCKING && !call_thread()) {
        weft_work_remove(work); /* a thread of the program does it, in an MPI call */
        weft_work_enqueue(work, WEFT_WORK_CALL, run, done);
    }
}

/* With the lock, which is dropped until they have ended. */
static void end_all(void)
{
    const uint32_t count = threads.count;

    threads.is_stopping = true;
    ring(INT_MAX);
    weft_unlock();
    for (uint32_t i = 0; i < count; i++) {
        weft_thread_join((enum weft_thread)((uint32_t)WEFT_THREAD_BLOCKING + i));
    }
    weft_lock();
    threads.is_stopping = false;
    threads.count = 0;
}

void weft_work_threads_stop(void)
{
    weft_assert_unlocked();
    weft_lock();
    while (threads.count > 0) {
        end_all();
        if (queue()->first != NULL) { /* added when the last had ended */
            (void)call_thread();
        }
    }
    weft_unlock();
}
