#include "base/forks.h"

#include <pthread.h>
#include <stdatomic.h>

/* Relaxed: a thread that must see a change was ordered behind the fork by the program. */
static _Atomic uint64_t forks;
static _Atomic bool is_child;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int code;

static void after_in_parent(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void after_in_child(void)
{
    atomic_store_explicit(&is_child, true, memory_order_relaxed);
}

static void watch(void)
{
    code = pthread_atfork(NULL, after_in_parent, after_in_child);
}

enum weft_rc weft_forks_open(void)
{
    pthread_once(&once, watch);
    atomic_store_explicit(&is_child, false, memory_order_relaxed);
    return code == 0 ? WEFT_OK : WEFT_ERR_NOMEM;
}

uint64_t weft_forks_count(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

bool weft_forks_is_child(void)
{
    return atomic_load_explicit(&is_child, memory_order_relaxed);
}
