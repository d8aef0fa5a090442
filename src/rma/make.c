#include "rma/make.h"

#include "coll/coll.h"
#include "comm/make.h"
#include "datatype/datatype.h"
#include "engine/engine.h"
#include "rma/attach.h"
#include "rma/combine.h"
#include "rma/far.h"
#include "rma/withdraw.h"
#include "transport/lasting.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* ---- memory ---- */

/* With the lock: memory that the other members on this node can map, if there is any. */
static void take_extent(struct weft_win *win, size_t alignment)
{
    if (weft_heap_take(&weft_engine.node, (uint64_t)win->size, &win->extent) != WEFT_OK) {
        win->extent = (struct weft_extent){0};
        return;
    }
    win->memory = weft_heap_map_aligned(&weft_engine.node, win->extent, alignment);
    if (win->memory == NULL) {
        weft_heap_give(&weft_engine.node, win->extent);
        win->extent = (struct weft_extent){0};
    }
    win->base = win->memory;
    win->is_extent_ours = win->memory != NULL;
}

/* A window that the library allocates, unless all share the memory. */
static enum weft_rc allocate(struct weft_win *win, size_t alignment)
{
    const size_t bytes = (size_t)win->size;

    if (win->flavor != MPI_WIN_FLAVOR_ALLOCATE || bytes == 0) {
        return WEFT_OK;
    }
    if (bytes > SIZE_MAX - alignment) {
        return WEFT_ERR_NOMEM;
    }
    if (weft_near_is_wanted()) {
        weft_lock();
        take_extent(win, alignment);
        weft_unlock();
        if (win->base != NULL) {
            return WEFT_OK;
        }
    }
    win->memory =
        aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    win->base = win->memory;
    return win->memory != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
}

/* With the lock. */
static void free_memory(struct weft_win *win)
{
    if (win->extent.bytes == 0) {
        free(win->memory);
        return;
    }
    if (win->memory != NULL) {
        weft_heap_unmap(win->memory, win->extent);
    }
    if (win->is_extent_ours) {
        weft_heap_give(&weft_engine.node, win->extent);
    }
}

/* ---- shared memory ---- */

static bool is_on_one_node(const struct weft_comm *comm)
{
    const struct weft_location *map = weft_segment_map(&weft_engine.job->segment);
    const uint32_t node = map[weft_engine_rank(weft_engine.me)].node;

    for (int r = 0; r < comm->size; r++) {
        if (map[weft_engine_rank(weft_comm_process(comm, r))].node != node) {
            return false;
        }
    }
    return true;
}

/* Rounds up to a multiple of a power of 2. False: no number is so large. */
static bool round_up(uint64_t *at, uint64_t alignment)
{
    if (__builtin_add_overflow(*at, alignment - 1, at)) {
        return false;
    }
    *at &= ~(alignment - 1);
    return true;
}

/* Where each member's part begins, and how long all are; the parts touch unless the user
 * does without that. Until then a part's base is the alignment that its owner wants:
 * `alignment` becomes the largest of them. False: no number says how long. */
static bool place_parts(const struct weft_win *win, struct weft_win_offer *offers,
                        uint64_t *bytes, uint64_t *alignment)
{
    uint64_t at = 0;

    *alignment = WEFT_NODE_PAGE;
    for (int r = 0; r < win->comm->size; r++) {
        const uint64_t wanted = offers[r].part.base;

        if (wanted > *alignment) {
            *alignment = wanted;
        }
        if (win->hints.is_noncontiguous &&
            !round_up(&at, wanted > WEFT_NODE_PAGE ? wanted : WEFT_NODE_PAGE)) {
            return false;
        }
        offers[r].part.base = at;
        if (__builtin_add_overflow(at, offers[r].part.size, &at)) {
            return false;
        }
    }
    *bytes = at > 0 ? at : 1;
    return true;
}

/* The first member takes the memory, and all map it. */
static enum weft_rc share_memory(struct weft_win *win, struct weft_win_offer *offers,
                                 const char *call)
{
    uint64_t bytes;
    uint64_t alignment;
    const bool is_possible = place_parts(win, offers, &bytes, &alignment);
    enum weft_rc rc = WEFT_OK;
    int mine;
    int all;

    if (win->comm->rank == 0 && is_possible) {
        weft_lock();
        win->is_extent_ours =
            weft_heap_take(&weft_engine.node, bytes, &win->extent) == WEFT_OK;
        weft_unlock();
    }
    rc = weft_coll_bcast(win->comm, call, &win->extent, sizeof(win->extent), 0);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (win->extent.bytes > 0) {
        weft_lock();
        win->memory =
            weft_heap_map_aligned(&weft_engine.node, win->extent, (size_t)alignment);
        weft_unlock();
    }
    mine = win->memory == NULL ? 1 : 0;
    rc = weft_coll_sum(win->comm, call, &mine, &all, 1);
    if (rc != WEFT_OK || all > 0) {
        return rc != WEFT_OK ? rc : WEFT_ERR_NOMEM;
    }
    win->base = (char *)win->memory + offers[win->comm->rank].part.base;
    return weft_coll_barrier(win->comm, call); /* nobody is late for what comes */
}

/* ---- making ---- */

/* With the lock. */
static enum weft_rc take(const struct weft_win_ask *ask, struct weft_win **out)
{
    struct weft_win *win;
    const enum weft_rc rc = weft_win_take(&win);

    if (rc != WEFT_OK) {
        return rc;
    }
    win->flavor = ask->flavor;
    win->base = ask->base;
    win->size = ask->size;
    win->unit = ask->unit;
    win->unit_as_int = (int)ask->unit;
    weft_object_lock();
    weft_win_update_hints(win, ask->info);
    weft_object_unlock();
    *out = win;
    return WEFT_OK;
}

/* This member's part: what the others are told, if it fails. */
static enum weft_rc begin(struct weft_win *win, size_t alignment)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_win_register(win);
    weft_unlock();
    return rc == WEFT_OK ? allocate(win, alignment) : rc;
}

/* All members learn of all parts, and whether all have succeeded. */
static enum weft_rc exchange(struct weft_win *win, struct weft_win_offer *offers,
                             const struct weft_win_ask *ask, size_t alignment)
{
    const enum weft_rc made = begin(win, alignment);
    struct weft_datatype *byte = weft_datatype_from_handle(MPI_BYTE);
    struct weft_win_offer mine = {
        .part =
            {
                .base = win->flavor == MPI_WIN_FLAVOR_SHARED
                            ? alignment
                            : (uint64_t)(uintptr_t)win->base,
                .size = (uint64_t)win->size,
                .unit = (uint64_t)win->unit,
                .memory = win->extent,
            },
        .rc = made,
    };
    const struct weft_coll coll = {
        .comm = win->comm,
        .name = ask->call,
        .kind = WEFT_COLL_ALLGATHER,
        .send = {.buffer = &mine, .type = byte, .count = sizeof(mine)},
        .recv = {.buffer = offers, .type = byte, .count = sizeof(mine)},
    };
    enum weft_rc rc;

    weft_near_prepare(win, &mine);
    weft_far_prepare(win, &mine);
    rc = weft_coll_run_inside(&coll);
    for (int r = 0; r < win->comm->size && rc == WEFT_OK; r++) {
        rc = (enum weft_rc)offers[r].rc;
    }
    return rc;
}

/* What is left when nobody else needs it. */
static void give(struct weft_win *win)
{
    struct weft_comm *own = win->comm;

    weft_lock();
    weft_win_unregister(win);
    weft_lasting_remove(win->base, win);
    weft_attached_close(win);
    weft_near_close(win);
    weft_far_close(win);
    weft_combine_close(win);
    free_memory(win);
    weft_win_give(win);
    weft_engine_leave();
    weft_unlock();
    (void)weft_comm_free(own); /* it has no attributes */
}

static size_t alignment_of(const struct weft_win_ask *ask)
{
    size_t alignment;

    weft_object_lock();
    alignment = weft_info_alignment(ask->info, ALIGNMENT);
    weft_object_unlock();
    return alignment;
}

/* The part of the creation that all members do together. */
static enum weft_rc meet(struct weft_win *win, struct weft_win_offer *offers,
                         const struct weft_win_ask *ask)
{
    const char *call = ask->call;
    enum weft_rc rc = exchange(win, offers, ask, alignment_of(ask));

    if (rc == WEFT_OK && win->flavor == MPI_WIN_FLAVOR_SHARED) {
        rc = share_memory(win, offers, call);
    }
    if (rc == WEFT_OK) {
        weft_far_open(win, offers);
        rc = weft_near_open(win, offers, call);
    }
    return rc;
}

/* Takes the memory that a member needs before it can tell the others of anything. */
static enum weft_rc prepare(const struct weft_win_ask *ask, struct weft_win **win,
                            struct weft_win_offer **offers)
{
    enum weft_rc rc;

    *offers = calloc((size_t)ask->comm->size, sizeof(**offers));
    if (*offers == NULL) {
        return WEFT_ERR_NOMEM;
    }
    weft_lock();
    rc = take(ask, win);
    weft_unlock();
    return rc;
}

static enum weft_rc make_with(const struct weft_win_ask *ask,
                              struct weft_win_offer *offers, struct weft_win *win)
{
    const enum weft_rc rc = meet(win, offers, ask);

    if (rc != WEFT_OK) {
        give(win);
        return rc;
    }
    weft_lock();
    win->is_made = true;
    weft_lasting_add(win->base, (size_t)win->size, win);
    weft_engine_leave(); /* we are served from now on */
    weft_unlock();
    return WEFT_OK;
}

enum weft_rc weft_win_make(const struct weft_win_ask *ask, struct weft_win **out)
{
    struct weft_win_offer *offers;
    struct weft_win *win = NULL;
    struct weft_comm *own;
    enum weft_rc rc;

    weft_assert_unlocked();
    if (ask->flavor == MPI_WIN_FLAVOR_SHARED && !is_on_one_node(ask->comm)) {
        return WEFT_ERR_UNSUPPORTED;
    }
    rc = prepare(ask, &win, &offers);
    rc = weft_comm_create_all(ask->call, ask->comm, ask->comm->group, rc, &own);
    if (rc == WEFT_OK) {
        win->comm = own;
        rc = make_with(ask, offers, win);
    } else if (win != NULL) {
        weft_lock();
        weft_win_give(win);
        weft_unlock();
    }
    free(offers);
    if (rc == WEFT_OK) {
        *out = win;
    }
    return rc;
}

enum weft_rc weft_win_leave(struct weft_win *win, const char *call)
{
    weft_assert_unlocked();
    return weft_coll_barrier(win->comm, call);
}

void weft_win_free(struct weft_win *win, bool is_left_by_all, const char *call)
{
    weft_assert_unlocked();
    if (is_left_by_all) {
        give(win);
        return;
    }
    weft_lock();
    weft_region_detach_all(win);
    weft_lasting_remove(win->base, win);
    win->is_made = false;
    win->base = NULL;
    win->size = 0;
    weft_unlock();
    weft_rma_withdraw(win, call);
}
