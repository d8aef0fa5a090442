#include "core/errhandler.h"

#include "engine/lock.h"

static struct weft_pool pool;

struct weft_errhandler weft_errors_are_fatal = {.handle = MPI_ERRORS_ARE_FATAL};
struct weft_errhandler weft_errors_abort = {.handle = MPI_ERRORS_ABORT};
struct weft_errhandler weft_errors_return = {.handle = MPI_ERRORS_RETURN};

struct weft_errhandler *weft_file_errhandler = &weft_errors_return;

struct weft_errhandler *weft_errhandler_from_handle(MPI_Errhandler handle)
{
    struct weft_errhandler *found;

    if (handle == MPI_ERRORS_ARE_FATAL) {
        return &weft_errors_are_fatal;
    }
    if (handle == MPI_ERRORS_RETURN) {
        return &weft_errors_return;
    }
    if (handle == MPI_ERRORS_ABORT) {
        return &weft_errors_abort;
    }
    weft_object_lock();
    found = weft_handle_find(WEFT_KIND_ERRHANDLER, (uintptr_t)handle);
    if (found != NULL && found->held == 0) {
        found = NULL;
    }
    weft_object_unlock();
    return found;
}

static enum weft_rc create(enum weft_kind family, void (*call)(void),
                           struct weft_errhandler **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc;
    struct weft_errhandler *handler;

    weft_assert_object_locked();
    if (pool.first == 0) {
        weft_pool_init(&pool, sizeof(struct weft_errhandler), 8,
                       1u << WEFT_HANDLE_INDEX_BITS);
        weft_handle_register(WEFT_KIND_ERRHANDLER, &pool);
    }
    rc = weft_handle_take(WEFT_KIND_ERRHANDLER, &object, &handle);
    if (rc != WEFT_OK) {
        return rc;
    }
    handler = object;
    handler->handle = (MPI_Errhandler)handle;
    handler->family = family;
    handler->held = 1;
    handler->call.any = call;
    *out = handler;
    return WEFT_OK;
}

enum weft_rc weft_errhandler_create(enum weft_kind family, void (*call)(void),
                                    struct weft_errhandler **out)
{
    enum weft_rc rc;

    weft_object_lock();
    rc = create(family, call, out);
    weft_object_unlock();
    return rc;
}

/* With the objects' lock. */
static void free_unless_needed(struct weft_errhandler *handler)
{
    weft_assert_object_locked();
    if (handler->call.any != NULL && handler->held == 0 && handler->used == 0) {
        weft_handle_give(WEFT_KIND_ERRHANDLER, (uintptr_t)handler->handle);
    }
}

MPI_Errhandler weft_errhandler_hold(struct weft_errhandler *const *slot)
{
    MPI_Errhandler handle;

    weft_object_lock();
    (*slot)->held++;
    handle = (*slot)->handle;
    weft_object_unlock();
    return handle;
}

void weft_errhandler_let_go(struct weft_errhandler *handler)
{
    weft_object_lock();
    handler->held--;
    free_unless_needed(handler);
    weft_object_unlock();
}

struct weft_errhandler *weft_errhandler_use_at(struct weft_errhandler *const *slot)
{
    struct weft_errhandler *handler;

    weft_object_lock();
    handler = *slot;
    handler->used++;
    weft_object_unlock();
    return handler;
}

struct weft_errhandler *weft_errhandler_use(struct weft_errhandler *handler)
{
    return weft_errhandler_use_at(&handler);
}

void weft_errhandler_replace(struct weft_errhandler **slot,
                             struct weft_errhandler *handler)
{
    struct weft_errhandler *old;

    weft_object_lock();
    old = *slot;
    handler->used++;
    *slot = handler;
    old->used--;
    free_unless_needed(old);
    weft_object_unlock();
}

void weft_errhandler_release(struct weft_errhandler *handler)
{
    weft_object_lock();
    handler->used--;
    free_unless_needed(handler);
    weft_object_unlock();
}
