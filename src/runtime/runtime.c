#include "runtime/runtime.h"

#include "base/log.h"
#include "core/comm.h"
#include "progress/lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static struct {
    int users; /* under the lock */
    int rank;
    int size;
    char host[256];
    pthread_t main_thread;
    atomic_int world; /* enum weft_world_state; written under the lock */
} run;

static enum weft_rc open_first(void)
{
    if (gethostname(run.host, sizeof(run.host)) != 0) {
        run.host[0] = '?';
    }
    run.host[sizeof(run.host) - 1] = '\0';
    run.rank = 0;
    run.size = 1;
    weft_log_identity(run.rank, run.host);
    return WEFT_OK;
}

enum weft_rc weft_runtime_open(void)
{
    enum weft_rc rc = WEFT_OK;

    weft_lock();
    if (run.users == 0) {
        rc = open_first();
    }
    if (rc == WEFT_OK) {
        run.users++;
    }
    weft_unlock();
    return rc;
}

void weft_runtime_close(void)
{
    weft_lock();
    run.users--;
    weft_unlock();
}

int weft_runtime_rank(void)
{
    return run.rank;
}

int weft_runtime_size(void)
{
    return run.size;
}

const char *weft_runtime_host(void)
{
    return run.host;
}

enum weft_world_state weft_world_state(void)
{
    /* Pairs with the release in set_world(): who sees OPEN sees what Init filled in. */
    return (enum weft_world_state)atomic_load_explicit(&run.world, memory_order_acquire);
}

static void set_world(enum weft_world_state state)
{
    atomic_store_explicit(&run.world, (int)state, memory_order_release);
}

/* Only one thread can lead the world from one state to another. */
static bool step_world(enum weft_world_state from, enum weft_world_state to)
{
    int expected = (int)from;

    return atomic_compare_exchange_strong_explicit(
        &run.world, &expected, (int)to, memory_order_acq_rel, memory_order_acquire);
}

enum weft_rc weft_world_init(void)
{
    enum weft_rc rc;

    if (!step_world(WEFT_WORLD_BEFORE, WEFT_WORLD_OPENING)) {
        return WEFT_ERR_ARGUMENT;
    }
    rc = weft_runtime_open();
    if (rc != WEFT_OK) {
        set_world(WEFT_WORLD_BEFORE);
        return rc;
    }
    run.main_thread = pthread_self();
    weft_comm_open_predefined(run.rank, run.size);
    set_world(WEFT_WORLD_OPEN);
    return WEFT_OK;
}

enum weft_rc weft_world_finalize(void)
{
    if (!step_world(WEFT_WORLD_OPEN, WEFT_WORLD_CLOSED)) {
        return WEFT_ERR_ARGUMENT;
    }
    weft_comm_close_predefined();
    weft_runtime_close();
    return WEFT_OK;
}

bool weft_world_is_main_thread(void)
{
    return pthread_equal(pthread_self(), run.main_thread) != 0;
}

_Noreturn void weft_runtime_abort(int code)
{
    int visible = code & 0xff;

    _exit(visible == 0 ? 1 : visible);
}
