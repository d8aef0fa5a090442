#include "rma/attach.h"

#include "base/wait.h"
#include "engine/engine.h"
#include "engine/lock.h"
#include "rma/runs.h"
#include "transport/lasting.h"

#include <stdlib.h>

enum {
    TURNS = 1000,    /* looks at a table that changes, until its owner may have failed */
    PIECE = 1 << 30, /* bytes of an operation that are looked at together */
};

/* A version that no table has: the copy is worth nothing. */
#define NO_VERSION UINT64_MAX

/* A table of ours. */
struct table {
    struct table *older;
    struct weft_extent extent;
    weft_shown_word *words;
};

/* Of tables the last is the first. Those that were too short stay: others may read them.
 */
struct weft_attached {
    struct weft_regions regions;
    struct table *tables;
    bool is_hidden;
};

/* What we know of what a member has attached. */
struct weft_seen {
    uint64_t version;
    struct weft_regions regions;
    struct weft_extent extent; /* that is mapped; or of 0 bytes */
    weft_shown_word *words;
};

/* ---- our own ---- */

/* A table for more than so many regions becomes the last. */
static bool add_table(struct weft_attached *own, size_t count)
{
    struct table *fresh = malloc(sizeof(*fresh));

    if (fresh == NULL) {
        return false;
    }
    if (weft_heap_take(&weft_engine.node, weft_shown_bytes(2 * count + 1),
                       &fresh->extent) != WEFT_OK) {
        free(fresh);
        return false;
    }
    fresh->words = weft_heap_map(&weft_engine.node, fresh->extent);
    if (fresh->words == NULL) {
        weft_heap_give(&weft_engine.node, fresh->extent);
        free(fresh);
        return false;
    }
    fresh->older = own->tables;
    own->tables = fresh;
    return true;
}

/* Shows what is attached; regions below the number `from` have not changed. */
static void show(const struct weft_win *win, size_t from)
{
    struct weft_attached *own = win->attached;

    if (win->own_words == NULL || own->is_hidden) {
        return;
    }
    if (own->tables == NULL ||
        weft_shown_bytes(own->regions.count) > own->tables->extent.bytes) {
        from = 0;
        own->is_hidden = !add_table(own, own->regions.count);
    }
    if (own->is_hidden) {
        weft_shown_hide(&win->own_words->shown);
    } else {
        weft_shown_change(&win->own_words->shown, own->tables->extent, own->tables->words,
                          &own->regions, from);
    }
}

enum weft_rc weft_region_attach(struct weft_win *win, void *base, uint64_t bytes)
{
    size_t place = 0;
    enum weft_rc rc;

    weft_assert_locked();
    if (win->attached == NULL) {
        win->attached = calloc(1, sizeof(*win->attached));
    }
    if (win->attached == NULL) {
        return WEFT_ERR_NOMEM;
    }
    rc = weft_regions_add(&win->attached->regions, (uint64_t)(uintptr_t)base, bytes,
                          &place);
    if (rc == WEFT_OK) {
        weft_lasting_add(base, (size_t)bytes, win);
        show(win, place);
    }
    return rc;
}

bool weft_region_detach(struct weft_win *win, const void *base)
{
    size_t place = 0;

    weft_assert_locked();
    if (win->attached == NULL ||
        !weft_regions_remove(&win->attached->regions, (uint64_t)(uintptr_t)base,
                             &place)) {
        return false;
    }
    weft_lasting_remove(base, win);
    show(win, place);
    return true;
}

/* From the last: what lies behind the one that is removed has to move. */
static void forget_lasting(const struct weft_win *win)
{
    const struct weft_regions *regions = &win->attached->regions;

    for (size_t i = regions->count; i > 0; i--) {
        weft_lasting_remove((const void *)(uintptr_t)regions->at[i - 1].base, win);
    }
}

void weft_region_detach_all(struct weft_win *win)
{
    weft_assert_locked();
    if (win->attached != NULL) {
        forget_lasting(win);
        weft_regions_close(&win->attached->regions);
        show(win, 0);
    }
}

static bool is_in_block(const struct weft_win *win, const struct weft_rma_run *run)
{
    const uint64_t size = (uint64_t)win->size;
    int64_t low;
    int64_t high;
    uint64_t from;

    if (!weft_rma_run_span(run, &low, &high)) {
        return false;
    }
    from = run->at + (uint64_t)low;
    return from <= size && (uint64_t)high - (uint64_t)low <= size - from;
}

void *weft_region_find(const struct weft_win *win, const struct weft_rma_run *run)
{
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        return is_in_block(win, run) ? (char *)win->base + run->at : NULL;
    }
    return win->attached != NULL && weft_regions_hold(&win->attached->regions, run)
               ? (void *)(uintptr_t)run->at
               : NULL;
}

/* ---- others' ---- */

static struct weft_seen *seen_of(struct weft_near *near)
{
    if (near->seen == NULL) {
        near->seen = calloc(1, sizeof(*near->seen)); /* a table that was never changed */
    }
    return near->seen;
}

static void unmap_table(struct weft_seen *seen)
{
    if (seen->extent.bytes > 0) {
        weft_heap_unmap(seen->words, seen->extent);
        seen->extent = (struct weft_extent){0};
    }
}

/* Has the table in our address space, and room for a copy of it. */
static bool map_table(struct weft_seen *seen, const struct weft_shown_head *head)
{
    if (seen->extent.at != head->extent.at || seen->extent.bytes != head->extent.bytes) {
        unmap_table(seen);
        seen->words = weft_heap_map(&weft_engine.node, head->extent);
        if (seen->words == NULL) {
            return false;
        }
        seen->extent = head->extent;
    }
    return weft_regions_reserve(&seen->regions, (size_t)head->count);
}

/* One try. WEFT_PENDING: the table has changed meanwhile. */
static enum weft_rc copy_table(struct weft_shown *shown, struct weft_seen *seen)
{
    struct weft_shown_head head;

    if (!weft_shown_look(shown, &head)) {
        return WEFT_PENDING;
    }
    seen->version = NO_VERSION;
    if (head.count == WEFT_SHOWN_NOTHING) {
        return WEFT_AGAIN;
    }
    if (!map_table(seen, &head)) {
        return WEFT_ERR_NOMEM;
    }
    if (!weft_shown_copy(shown, &head, seen->words, &seen->regions)) {
        return WEFT_PENDING;
    }
    seen->version = head.version;
    return WEFT_OK;
}

/* Has the member failed, in the middle of a change? Another thread may know it already.
 */
static bool has_failed(const struct weft_win *win, const struct weft_near *near)
{
    if (atomic_load_explicit(weft_engine.failures, memory_order_relaxed) == 0 ||
        !weft_near_has_failed(win, near->number)) {
        return false;
    }
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed(); /* so that the error can tell who */
    }
    return true;
}

/* Brings the copy up to date. */
static enum weft_rc refresh(const struct weft_win *win, struct weft_near *near,
                            struct weft_seen *seen)
{
    struct weft_shown *shown = &near->words->shown;
    enum weft_rc rc = copy_table(shown, seen);

    for (int turn = 1; rc == WEFT_PENDING; turn++) {
        if (turn % TURNS == 0 && has_failed(win, near)) {
            return WEFT_ERR_PROC_FAILED;
        }
        weft_wait_moment();
        rc = copy_table(shown, seen);
    }
    return rc;
}

/* Is each byte of the operation's place in the list? */
static bool is_held(const struct weft_regions *list, const struct weft_rma_call *call)
{
    struct weft_rma_runs runs;

    for (uint64_t at = 0; at < call->bytes; at += runs.bytes) {
        const uint64_t left = call->bytes - at;

        weft_runs_take(&runs, &call->where, at, left < PIECE ? left : PIECE, SIZE_MAX,
                       false, 1);
        assert(runs.bytes > 0);
        for (size_t i = 0; i < runs.n; i++) {
            if (!weft_regions_hold(list, &runs.at[i])) {
                return false;
            }
        }
    }
    return true;
}

enum weft_rc weft_attached_check(struct weft_win *win, struct weft_near *near,
                                 const struct weft_rma_call *call)
{
    struct weft_seen *seen;
    enum weft_rc rc = WEFT_OK;

    weft_assert_locked();
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        return WEFT_OK;
    }
    seen = seen_of(near);
    if (seen == NULL) {
        return WEFT_ERR_NOMEM;
    }
    if (weft_shown_version(&near->words->shown) != seen->version) {
        rc = refresh(win, near, seen);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    return is_held(&seen->regions, call) ? WEFT_OK : WEFT_ERR_ARGUMENT;
}

/* ---- the end ---- */

static void forget(struct weft_near *near)
{
    unmap_table(near->seen);
    weft_regions_close(&near->seen->regions);
    free(near->seen);
    near->seen = NULL;
}

static void close_own(struct weft_attached *own)
{
    while (own->tables != NULL) {
        struct table *table = own->tables;

        own->tables = table->older;
        weft_heap_unmap(table->words, table->extent);
        weft_heap_give(&weft_engine.node, table->extent);
        free(table);
    }
    weft_regions_close(&own->regions);
    free(own);
}

void weft_attached_close(struct weft_win *win)
{
    weft_assert_locked();
    for (uint32_t r = 0; r < win->near_count; r++) {
        struct weft_near *near = weft_near_find(win, (int)r);

        if (near != NULL && near->seen != NULL) {
            forget(near);
        }
    }
    if (win->attached != NULL) {
        forget_lasting(win);
        close_own(win->attached);
        win->attached = NULL;
    }
}
