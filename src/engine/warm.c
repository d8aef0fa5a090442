#include "engine/warm.h"

#include "engine/hot.h"
#include "engine/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { EXIT_PATIENCE_S = 5 };
enum { WARM, COLD, WARMING }; /* before it is opened: nothing is missing */

static struct {
    void (*over)(void);
    _Atomic int state;
    _Atomic bool is_started; /* a thread, which nobody has joined */
} warm;

/* Held by the thread that loads; `is_refused` is changed and read with it. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static bool is_refused;

void weft_warm_open(void (*over)(void))
{
    is_refused = false; /* no thread loads yet */
    warm.over = over;
    atomic_store_explicit(&warm.state, COLD, memory_order_relaxed);
}

static void warm_up(void)
{
    const struct weft_engine *e = &weft_engine;

    pthread_mutex_lock(&loading);
    for (int i = 0; i < e->list_count && !is_refused; i++) {
        if (e->list[i].ops->warm_up != NULL) {
            e->list[i].ops->warm_up(e->list[i].tp);
        }
    }
    pthread_mutex_unlock(&loading);
    /* Release: what was loaded is there for who sees this (weft_warm_may_poll). */
    atomic_store_explicit(&warm.state, WARM, memory_order_release);
}

static void run(void)
{
    warm_up();
    warm.over();
}

/* Both the network thread and who has the lock may come here: one of them begins. A
 * thread that cannot be started is done without: who needs the network loads it. */
static void begin(void)
{
    const struct weft_segment_header *h = weft_engine.job->segment.header;
    int cold = COLD;

    if (!atomic_compare_exchange_strong_explicit(
            &warm.state, &cold, WARMING, memory_order_relaxed, memory_order_relaxed)) {
        return;
    }
    if (weft_thread_start(WEFT_THREAD_WARM, run, h->cpu_set, WEFT_SEGMENT_CPU_BYTES) ==
        WEFT_OK) {
        atomic_store_explicit(&warm.is_started, true, memory_order_release);
    } else {
        atomic_store_explicit(&warm.state, WARM, memory_order_relaxed);
    }
}

/*
 * Without a network to begin by: a node's first rank is the likeliest to speak with other
 * nodes, and warms up at once; the others when they are asked, or when the job has lasted
 * for a while, so that short ones do not pay for it. With one a first rank is as the
 * others, and timers are that network's.
 */
void weft_warm_look(enum weft_warm_when when)
{
    if (weft_engine.connect != NULL) {
        if (when == WEFT_WARM_ASKED || when == WEFT_WARM_QUIET) {
            begin();
        }
    } else if (!weft_warm_is_begun() &&
               (when != WEFT_WARM_FIRST || weft_engine.job->who.local_rank == 0)) {
        warm_up();
    }
}

bool weft_warm_is_begun(void)
{
    return atomic_load_explicit(&warm.state, memory_order_relaxed) != COLD;
}

bool weft_warm_may_poll(void)
{
    return weft_engine.connect == NULL ||
           atomic_load_explicit(&warm.state, memory_order_acquire) == WARM;
}

bool weft_warm_is_over(void)
{
    if (weft_engine.connect != NULL) {
        begin();
    }
    return weft_warm_may_poll();
}

void weft_warm_end(void)
{
    /* Relaxed: whoever sees it uses the network with the lock, as it is held here. */
    atomic_store_explicit(&warm.state, WARM, memory_order_relaxed);
}

void weft_warm_refuse(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += EXIT_PATIENCE_S;
    if (pthread_mutex_timedlock(&loading, &until) == 0) {
        is_refused = true;
        pthread_mutex_unlock(&loading);
    }
}

void weft_warm_stop(void)
{
    /* Acquire: its entry among the threads is written. */
    if (atomic_load_explicit(&warm.is_started, memory_order_acquire)) {
        weft_thread_join(WEFT_THREAD_WARM);
        atomic_store_explicit(&warm.is_started, false, memory_order_relaxed);
    }
}
