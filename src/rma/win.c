#include "rma/win.h"

#include "p2p/p2p.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a packet finds its window. */
struct named {
    uint64_t context; /* first: the key */
    struct weft_win *win;
};

struct weft_wins weft_wins = {.handle = {1}};
static struct weft_table by_context;

/* What an empty place holds: a handle of another place. */
static uintptr_t no_handle(uintptr_t place)
{
    return place == 0 ? 1 : 0;
}

void weft_win_open(void)
{
    weft_pool_init(&weft_wins.pool, sizeof(struct weft_win), 8,
                   1u << WEFT_HANDLE_INDEX_BITS);
    weft_handle_register(WEFT_KIND_WIN, &weft_wins.pool);
    weft_table_open(&by_context);
    for (uintptr_t at = 0; at < WEFT_WIN_PLACES; at++) {
        atomic_store_explicit(&weft_wins.handle[at], no_handle(at), memory_order_relaxed);
    }
}

struct weft_win *weft_win_find(MPI_Win handle)
{
    return weft_handle_find(WEFT_KIND_WIN, (uintptr_t)handle);
}

struct weft_win *weft_win_of_context(uint32_t context)
{
    const struct named *named =
        weft_table_find(&by_context, context & ~(uint32_t)(WEFT_PLANES - 1));

    weft_assert_locked();
    return named != NULL ? named->win : NULL;
}

struct weft_win *weft_win_next(uint32_t *index)
{
    /* Tools look before the room has opened. */
    const struct named *named =
        by_context.count > 0 ? weft_table_next(&by_context, index) : NULL;

    return named != NULL ? named->win : NULL;
}

static void take_place(struct weft_win *win)
{
    const uintptr_t at = (uintptr_t)win->handle % WEFT_WIN_PLACES;
    _Atomic uintptr_t *handle = &weft_wins.handle[at];

    if (atomic_load_explicit(handle, memory_order_relaxed) == no_handle(at)) {
        atomic_store_explicit(&weft_wins.win[at], win, memory_order_relaxed);
        atomic_store_explicit(handle, (uintptr_t)win->handle, memory_order_release);
    }
}

static void give_place(const struct weft_win *win)
{
    const uintptr_t at = (uintptr_t)win->handle % WEFT_WIN_PLACES;
    _Atomic uintptr_t *handle = &weft_wins.handle[at];

    if (atomic_load_explicit(handle, memory_order_relaxed) == (uintptr_t)win->handle) {
        atomic_store_explicit(handle, no_handle(at), memory_order_relaxed);
    }
}

enum weft_rc weft_win_take(struct weft_win **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc = weft_handle_take(WEFT_KIND_WIN, &object, &handle);

    weft_assert_locked();
    if (rc == WEFT_OK) {
        struct weft_win *win = object;

        *win = (struct weft_win){.handle = (MPI_Win)handle, .model = MPI_WIN_UNIFIED};
        win->errhandler = weft_errhandler_use(&weft_errors_are_fatal);
        weft_table_open(&win->targets);
        take_place(win);
        *out = win;
    }
    return rc;
}

void weft_win_give(struct weft_win *win)
{
    weft_assert_locked();
    assert(win->waits == NULL && win->started == NULL && win->posted == NULL);
    assert(win->attached == NULL);
    give_place(win);
    weft_table_close(&win->targets);
    weft_lock_queue_close(&win->locks);
    weft_errhandler_release(win->errhandler);
    weft_win_parts_close(&win->parts);
    free(win->name);
    weft_handle_give(WEFT_KIND_WIN, (uintptr_t)win->handle);
}

enum weft_rc weft_win_register(struct weft_win *win)
{
    struct named *named = weft_table_add(&by_context, win->comm->context, sizeof(*named));

    weft_assert_locked();
    if (named == NULL) {
        return WEFT_ERR_NOMEM;
    }
    named->win = win;
    weft_reason_add(WEFT_REASON_SERVED);
    return WEFT_OK;
}

void weft_win_unregister(struct weft_win *win)
{
    struct named *named = weft_table_find(&by_context, win->comm->context);

    weft_assert_locked();
    if (named != NULL) { /* else there was no memory for it */
        weft_table_remove(&by_context, named);
        weft_reason_drop(WEFT_REASON_SERVED);
    }
}

enum weft_rc weft_win_set_name(struct weft_win *win, const char *name)
{
    weft_assert_locked();
    if (win->name == NULL) {
        win->name = malloc(MPI_MAX_OBJECT_NAME);
    }
    if (win->name == NULL) {
        return WEFT_ERR_NOMEM;
    }
    snprintf(win->name, MPI_MAX_OBJECT_NAME, "%s", name);
    return WEFT_OK;
}

const char *weft_win_name(const struct weft_win *win)
{
    return win->name != NULL ? win->name : "";
}

/* ---- members ---- */

struct weft_target *weft_win_find_target(const struct weft_win *win, int rank)
{
    return weft_table_find(&win->targets, (uint64_t)rank);
}

struct weft_target *weft_win_next_target(const struct weft_win *win, int *rank)
{
    struct weft_target *target = NULL;

    while (target == NULL && *rank < win->comm->size) {
        target = weft_win_find_target(win, (*rank)++);
    }
    return target;
}

enum weft_rc weft_win_target(struct weft_win *win, int rank, struct weft_target **out)
{
    struct weft_target *target = weft_win_find_target(win, rank);

    weft_assert_locked();
    if (weft_unlikely(target == NULL)) {
        target = weft_table_add(&win->targets, (uint64_t)rank, sizeof(*target));
    }
    if (target == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *out = target;
    return target->peer != NULL
               ? WEFT_OK
               : weft_p2p_reach(weft_comm_process(win->comm, rank), &target->peer);
}

/* ---- hints ---- */

static const char *value_of(const struct weft_info *info, const char *key)
{
    return info != NULL ? weft_info_get(info, key) : NULL;
}

static void take_flag(const struct weft_info *info, const char *key, bool *flag)
{
    const char *value = value_of(info, key);

    if (value != NULL && strcmp(value, "true") == 0) {
        *flag = true;
    } else if (value != NULL && strcmp(value, "false") == 0) {
        *flag = false;
    }
}

static void take_text(const struct weft_info *info, const char *key,
                      const char *otherwise, char *text)
{
    const char *value = value_of(info, key);

    if (value != NULL && strlen(value) < WEFT_WIN_HINT_BYTES) {
        snprintf(text, WEFT_WIN_HINT_BYTES, "%s", value);
    } else if (text[0] == '\0') {
        snprintf(text, WEFT_WIN_HINT_BYTES, "%s", otherwise);
    }
}

void weft_win_update_hints(struct weft_win *win, const struct weft_info *info)
{
    struct weft_win_hints *h = &win->hints;

    take_flag(info, "no_locks", &h->no_locks);
    take_flag(info, "same_size", &h->same_size);
    take_flag(info, "same_disp_unit", &h->same_disp_unit);
    take_flag(info, "alloc_shared_noncontig", &h->is_noncontiguous);
    take_text(info, "accumulate_ordering", "rar,raw,war,waw", h->ordering);
    take_text(info, "accumulate_ops", "same_op_no_op", h->ops);
    take_text(info, "mpi_accumulate_granularity", "0", h->granularity);
}

enum weft_rc weft_win_hints_to_info(const struct weft_win *win, struct weft_info **out)
{
    const struct weft_win_hints *h = &win->hints;
    const struct {
        const char *key;
        const char *value;
    } rows[] = {
        {"no_locks", h->no_locks ? "true" : "false"},
        {"same_size", h->same_size ? "true" : "false"},
        {"same_disp_unit", h->same_disp_unit ? "true" : "false"},
        {"accumulate_ordering", h->ordering},
        {"accumulate_ops", h->ops},
        {"mpi_accumulate_granularity", h->granularity},
        {"alloc_shared_noncontig", h->is_noncontiguous ? "true" : "false"},
        {"mpi_memory_alloc_kinds", "mpi,system"},
    };
    struct weft_info *info;
    enum weft_rc rc = weft_info_create(&info);

    if (rc != WEFT_OK) {
        return rc;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == WEFT_OK; i++) {
        rc = weft_info_set(info, rows[i].key, rows[i].value);
    }
    if (rc != WEFT_OK) {
        weft_info_free(info);
        return rc;
    }
    *out = info;
    return WEFT_OK;
}
