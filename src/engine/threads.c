/*
 * threads.c - the library's own threads, all of them.
 */
#include "engine/engine.h"

#include "base/log.h"
#include "engine/network_thread.h"
#include "engine/progress_thread.h"
#include "engine/warm.h"
#include "engine/work.h"

#include <inttypes.h>

static const struct weft_network_callbacks callbacks = {weft_progress_thread_came,
                                                        weft_progress_thread_call};

enum weft_rc weft_threads_open(void)
{
    return weft_network_thread_open(&callbacks);
}

void weft_threads_start(void)
{
    if (weft_transports_leave_node()) {
        weft_network_thread_start();
        weft_progress_thread_start();
        weft_network_keep_time(); /* the program may compute before its first call */
    }
}

/*
 * In this order: what ends may call, or start, those that follow. The progress thread may
 * start the two behind it, and the network thread the one that loads a network. That one
 * is started once in a process, but when it is through it may start the network thread
 * again.
 */
void weft_threads_stop(void)
{
    weft_work_threads_stop();
    weft_progress_thread_stop();
    weft_network_thread_stop();
    weft_warm_stop();
    weft_network_thread_stop();
}

void weft_threads_close(void)
{
    weft_network_thread_close();
}

void weft_threads_log_wakeups(void)
{
    weft_log_info("rank %u was woken %" PRIu64 " times by peers, its progress thread "
                  "%" PRIu64 " times; it slept at once %" PRIu64 " times, because "
                  "other processes use the processors",
                  weft_process_rank(weft_engine.me), weft_node_rings(&weft_engine.node),
                  weft_engine.progress_thread_wakeups, weft_engine.early_sleeps);
}
