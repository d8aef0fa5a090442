#include "runtime/session.h"

#include "p2p/buffered.h"
#include "engine/lock.h"
#include "runtime/runtime.h"

#include <assert.h>
#include <strings.h>

enum { PSET_WORLD, PSET_SELF, PSET_NODE, PSETS };

static const char *const names[PSETS] = {
    [PSET_WORLD] = "mpi://WORLD",
    [PSET_SELF] = "mpi://SELF",
    [PSET_NODE] = "weft://NODE",
};

static struct weft_pool pool;
static uint64_t sessions_made;

static enum weft_rc take(struct weft_errhandler *errhandler, struct weft_session **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc;

    weft_assert_object_locked();
    if (pool.limit == 0) {
        weft_pool_init(&pool, sizeof(struct weft_session), 4,
                       1u << WEFT_HANDLE_INDEX_BITS);
        weft_handle_register(WEFT_KIND_SESSION, &pool);
    }
    rc = weft_handle_take(WEFT_KIND_SESSION, &object, &handle);
    if (rc == WEFT_OK) {
        *out = object;
        (*out)->handle = (MPI_Session)handle;
        (*out)->errhandler = errhandler;
        (*out)->number = ++sessions_made;
    }
    return rc;
}

static void count_handlers(struct weft_handlers *handlers)
{
    weft_object_lock();
    for (uint32_t i = 0; i < pool.made; i++) {
        const struct weft_session *session =
            weft_pool_find(&pool, i, weft_pool_generation(&pool, i));

        if (session != NULL) {
            weft_runtime_count_handler(handlers, session->errhandler);
        }
    }
    weft_object_unlock();
}

/* Several threads may use a session, whatever MPI_Init was told. */
enum weft_rc weft_session_open(struct weft_errhandler *errhandler,
                               struct weft_session **out)
{
    enum weft_rc rc;

    weft_runtime_share_lock();
    rc = weft_runtime_open();
    if (rc != WEFT_OK) {
        return rc;
    }
    weft_lock();
    weft_threads_start();
    weft_unlock();
    errhandler = weft_errhandler_use(errhandler);
    weft_object_lock();
    rc = take(errhandler, out);
    weft_object_unlock();
    if (rc != WEFT_OK) {
        weft_errhandler_release(errhandler);
        weft_runtime_close();
        return rc;
    }
    weft_runtime_ask_sessions(count_handlers);
    return WEFT_OK;
}

void weft_session_close(struct weft_session *session)
{
    const struct weft_buffer_owner owner = {.session = session->number};

    weft_buffer_detach_comms(session->number, "MPI_Session_finalize");
    (void)weft_buffer_detach(owner, "MPI_Session_finalize");
    weft_runtime_wait_detached();
    weft_errhandler_release(session->errhandler);
    weft_object_lock();
    weft_handle_give(WEFT_KIND_SESSION, (uintptr_t)session->handle);
    weft_object_unlock();
    weft_runtime_close();
}

struct weft_session *weft_session_from_handle(MPI_Session handle)
{
    struct weft_session *session;

    weft_object_lock();
    session = weft_handle_find(WEFT_KIND_SESSION, (uintptr_t)handle);
    weft_object_unlock();
    return session;
}

int weft_pset_count(void)
{
    return PSETS;
}

const char *weft_pset_name(int n)
{
    assert(n >= 0 && n < PSETS);
    return names[n];
}

int weft_pset_find(const char *name)
{
    for (int i = 0; i < PSETS; i++) {
        if (strcasecmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

int weft_pset_size(int n)
{
    switch (n) {
    case PSET_WORLD:
        return weft_runtime_size();
    case PSET_SELF:
        return 1;
    default:
        return weft_runtime_node_size();
    }
}

static enum weft_rc node_group(struct weft_group **out)
{
    struct weft_group_draft draft = {.size = 0};
    const int size = weft_runtime_node_size();

    for (int i = 0; i < size; i++) {
        enum weft_rc rc =
            weft_group_add(&draft, weft_engine_process(weft_runtime_node_rank(i)));

        if (rc != WEFT_OK) {
            weft_group_drop(&draft);
            return rc;
        }
    }
    return weft_group_make(&draft, out);
}

static enum weft_rc make_group(int n, struct weft_group **out)
{
    switch (n) {
    case PSET_WORLD:
        return weft_group_make_range(0, weft_runtime_size(), out);
    case PSET_SELF:
        return weft_group_make_range((uint32_t)weft_runtime_rank(), 1, out);
    default:
        return node_group(out);
    }
}

enum weft_rc weft_pset_group(const struct weft_session *session, int n,
                             struct weft_group **out)
{
    enum weft_rc rc = make_group(n, out);

    weft_assert_locked();
    if (rc == WEFT_OK) { /* a set has at least this process: its group is a new one */
        (*out)->session = session->number;
    }
    return rc;
}
