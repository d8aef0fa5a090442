#include "rma/near.h"

#include "base/settings.h"
#include "base/wait.h"
#include "coll/coll.h"
#include "engine/engine.h"
#include "engine/lock.h"
#include "p2p/p2p.h"

#include <stdlib.h>

static struct weft_near_wait *all_waiting;

void weft_near_reset(void)
{
    all_waiting = NULL;
}

/* ---- who is near ---- */

static uint32_t node_of(const struct weft_comm *comm, int rank)
{
    const struct weft_location *map = weft_segment_map(&weft_engine.job->segment);

    return map[weft_engine_rank(weft_comm_process(comm, rank))].node;
}

bool weft_near_is_here(const struct weft_comm *comm, int rank)
{
    return node_of(comm, rank) == node_of(comm, comm->rank);
}

/* How many members on this node have a lower rank than this one. */
static uint32_t count_near(const struct weft_comm *comm, int end)
{
    uint32_t n = 0;

    for (int r = 0; r < end; r++) {
        n += weft_near_is_here(comm, r) ? 1 : 0;
    }
    return n;
}

static int first_near(const struct weft_comm *comm)
{
    int rank = 0;

    while (!weft_near_is_here(comm, rank)) {
        rank++;
    }
    return rank;
}

bool weft_near_has_transport(void)
{
    bool is_node_local = false;

    for (int i = 0; i < weft_engine.list_count; i++) {
        is_node_local |= weft_engine.list[i].ops->is_node_local;
    }
    return is_node_local;
}

bool weft_near_is_wanted(void)
{
    return weft_near_has_transport() && weft_setting(WEFT_SET_RMA) == WEFT_RMA_AUTO;
}

static int rank_of_number(const struct weft_comm *comm, uint32_t number)
{
    int rank = first_near(comm);

    while (number > 0) {
        number -= weft_near_is_here(comm, ++rank) ? 1 : 0;
    }
    return rank;
}

bool weft_near_has_failed(const struct weft_win *win, uint32_t number)
{
    const int rank = rank_of_number(win->comm, number);
    uint32_t local;

    return weft_node_has(&weft_engine.node, weft_comm_process(win->comm, rank), &local) &&
           weft_segment_why_lost(&weft_engine.job->segment, local) != NULL;
}

/* ---- the board ---- */

static struct weft_win_words *words_of(const struct weft_win *win, uint32_t number)
{
    return (struct weft_win_words *)(win->board +
                                     number * weft_words_bytes(win->near_members));
}

/* The tables of parts are behind the words. */
static uint64_t *tables_of(const struct weft_win *win)
{
    return (uint64_t *)(win->board +
                        win->near_members * weft_words_bytes(win->near_members));
}

void weft_near_prepare(struct weft_win *win, struct weft_win_offer *mine)
{
    const uint32_t members = count_near(win->comm, win->comm->size);

    win->near_members = members;
    win->is_whole = members == (uint32_t)win->comm->size;
    if (!weft_near_is_wanted() || first_near(win->comm) != win->comm->rank) {
        return;
    }
    weft_lock();
    if (weft_heap_take(&weft_engine.node,
                       members * weft_words_bytes(members) +
                           weft_win_parts_most(win->comm->size),
                       &win->own_board) != WEFT_OK) {
        win->own_board = (struct weft_extent){0};
    }
    weft_unlock();
    mine->board = win->own_board;
}

static bool map_board(struct weft_win *win, const struct weft_win_offer *offers)
{
    const int first = first_near(win->comm);

    win->board_extent = offers[first].board;
    if (!weft_near_is_wanted() || win->board_extent.bytes == 0) {
        return false;
    }
    win->near = calloc((size_t)win->comm->size, sizeof(*win->near));
    if (win->near == NULL) {
        return false;
    }
    weft_lock();
    win->board = weft_heap_map(&weft_engine.node, win->board_extent);
    weft_unlock();
    if (win->board != NULL && first == win->comm->rank) {
        (void)weft_win_parts_write(tables_of(win), offers, win->comm->size);
    }
    return win->board != NULL;
}

/* Without a board no member is near. */
static void do_without(struct weft_win *win)
{
    weft_lock();
    weft_near_close(win);
    weft_unlock();
}

enum weft_rc weft_near_open(struct weft_win *win, const struct weft_win_offer *offers,
                            const char *call)
{
    const int size = win->comm->size;
    struct weft_win_parts own = {.own = NULL};
    int mine[2]; /* has this member no board, has it no memory? */
    int all[2] = {0};
    enum weft_rc rc;

    mine[0] = map_board(win, offers) ? 0 : 1;
    mine[1] = weft_win_parts_make(&own, offers, size, NULL) == WEFT_OK ? 0 : 1;
    rc = weft_coll_sum(win->comm, call, mine, all, 2);
    if (rc == WEFT_OK && all[1] > 0) {
        rc = WEFT_ERR_NOMEM;
    }
    if (rc != WEFT_OK || all[0] > 0) {
        do_without(win);
        if (rc == WEFT_OK) {
            win->parts = own;
        } else {
            weft_win_parts_close(&own);
        }
        return rc;
    }
    weft_win_parts_close(&own);
    win->near_count = (uint32_t)size;
    win->near_number = count_near(win->comm, win->comm->rank);
    win->own_words = words_of(win, win->near_number);
    /* The sum orders this after what the first member here has written. */
    return weft_win_parts_make(&win->parts, offers, size, tables_of(win));
}

/* What weft_heap_map() has mapped is neither our own memory nor that of a shared window.
 */
static void close_one(const struct weft_win *win, struct weft_near *near)
{
    const struct weft_extent extent = weft_win_part_of(&win->parts, near->rank).memory;

    assert(near->seen == NULL);
    if (near->memory != NULL && near->rank != win->comm->rank && extent.bytes > 0) {
        weft_heap_unmap(near->memory, extent);
    }
    free(near);
}

void weft_near_close(struct weft_win *win)
{
    weft_assert_locked();
    for (uint32_t r = 0; r < win->near_count; r++) {
        struct weft_near *near = weft_near_find(win, (int)r);

        if (near != NULL) {
            close_one(win, near);
        }
    }
    if (win->board != NULL) {
        weft_win_parts_close(&win->parts); /* their tables are there */
        weft_heap_unmap(win->board, win->board_extent);
    }
    if (win->own_board.bytes > 0) { /* members may never have learnt of it */
        weft_heap_give(&weft_engine.node, win->own_board);
    }
    free(win->near);
    win->near = NULL;
    win->near_count = 0;
    win->board = NULL;
    win->own_words = NULL;
    win->own_board = (struct weft_extent){0};
    win->is_whole = false;
}

/* A member that has failed in the middle of a copy does not count down. */
void weft_near_withdraw(const struct weft_win *win)
{
    const uint32_t members = win->near_members;

    weft_assert_unlocked();
    if (win->own_words == NULL) {
        return;
    }
    /* Pairs with the count in direct.c. */
    atomic_store_explicit(&win->own_words->is_closed, 1, memory_order_seq_cst);
    for (uint32_t number = 0; number < members; number++) {
        const _Atomic uint16_t *copies =
            weft_words_copies(words_of(win, number), members, win->near_number);

        while (atomic_load_explicit(copies, memory_order_seq_cst) != 0 &&
               !weft_near_has_failed(win, number)) {
            weft_wait_moment();
        }
    }
}

/* ---- one member ---- */

/* The path by which a member's memory is copied, or NULL. */
static struct weft_path *path_to(const struct weft_win *win, int rank)
{
    struct weft_peer *peer;

    return weft_p2p_reach(weft_comm_process(win->comm, rank), &peer) == WEFT_OK &&
                   peer->path != NULL && peer->path->packets->is_node_local &&
                   weft_path_memory(peer->path) != NULL
               ? peer->path
               : NULL;
}

/* How its memory is reached, or not at all. */
static void find_memory(struct weft_win *win, struct weft_near *near)
{
    const struct weft_win_part part = weft_win_part_of(&win->parts, near->rank);

    if (near->rank == win->comm->rank) {
        near->memory = win->base;
    } else if (win->flavor == MPI_WIN_FLAVOR_SHARED) {
        near->memory = (char *)win->memory + part.base;
    } else if (part.memory.bytes > 0) {
        near->memory = weft_heap_map(&weft_engine.node, part.memory);
    }
    near->unit = part.unit;
    near->base = part.base;
    near->is_mapped = near->memory != NULL || near->rank == win->comm->rank;
    if (near->is_mapped) {
        near->size = part.size;
        return;
    }
    near->path = path_to(win, near->rank);
    near->size = near->path != NULL ? part.size : 0;
}

struct weft_near *weft_near_meet(struct weft_win *win, int rank)
{
    struct weft_near *near = weft_near_find(win, rank);

    weft_assert_locked();
    if (near != NULL || win->near_count == 0 || !weft_near_is_here(win->comm, rank)) {
        return near;
    }
    near = calloc(1, sizeof(*near));
    if (near == NULL) {
        return NULL;
    }
    near->rank = rank;
    near->number = count_near(win->comm, rank);
    near->words = words_of(win, near->number);
    find_memory(win, near);
    /* Release pairs with the acquire in weft_near_find(). */
    atomic_store_explicit(&win->near[rank], near, memory_order_release);
    return near;
}

bool weft_near_is_shared(const struct weft_win *win, int rank)
{
    return win->flavor == MPI_WIN_FLAVOR_SHARED ||
           (win->near_count > 0 && weft_win_part_of(&win->parts, rank).memory.bytes > 0);
}

char *weft_near_map(struct weft_win *win, int rank)
{
    const struct weft_near *near;

    weft_assert_unlocked();
    if (rank == win->comm->rank) {
        return win->base;
    }
    if (win->flavor == MPI_WIN_FLAVOR_SHARED) { /* mapped when the window was made */
        return (char *)win->memory + weft_win_part_of(&win->parts, rank).base;
    }
    weft_lock();
    near = weft_near_meet(win, rank);
    weft_unlock();
    return near != NULL ? near->memory : NULL;
}

/* Relaxed: epochs are opened and closed by calls that the program puts in order. */
void weft_near_set_access(struct weft_near *near, enum weft_near_access which, bool is_on)
{
    const uint32_t before = atomic_load_explicit(&near->access, memory_order_relaxed);
    uint32_t access = is_on ? before | which : before & ~(uint32_t)which;

    weft_assert_locked();
    access &= ~(uint32_t)WEFT_NEAR_SETTLED;
    /* On a dynamic window, whose size is 0 here, messages may be under way. */
    if ((access & WEFT_NEAR_LOCKED) != 0 && near->size > 0 &&
        !atomic_load_explicit(&near->is_forbidden, memory_order_relaxed)) {
        access |= WEFT_NEAR_SETTLED;
    }
    atomic_store_explicit(&near->access, access, memory_order_relaxed);
    atomic_store_explicit(&near->room,
                          access != 0 && near->memory != NULL ? near->size : 0,
                          memory_order_relaxed);
}

void weft_near_forbid(struct weft_near *near)
{
    const uint32_t access = atomic_load_explicit(&near->access, memory_order_relaxed);

    weft_assert_locked();
    atomic_store_explicit(&near->is_forbidden, true, memory_order_relaxed);
    atomic_store_explicit(&near->access, access & ~(uint32_t)WEFT_NEAR_SETTLED,
                          memory_order_relaxed);
}

/* ---- waiting ---- */

enum weft_rc weft_near_wait_long(struct weft_near_wait *wait)
{
    struct weft_win_words *words = wait->words;
    const struct weft_wait_reason why = {
        wait->call, wait->win->name != NULL ? wait->win->name : "a window", wait->rank,
        MPI_ANY_TAG, 0};
    enum weft_rc rc = WEFT_AGAIN;

    weft_lock();
    atomic_fetch_add_explicit(&words->waiters, 1, memory_order_seq_cst);
    wait->next = all_waiting;
    all_waiting = wait;
    while (rc == WEFT_AGAIN) {
        const uint32_t seen = atomic_load_explicit(&words->bell, memory_order_seq_cst);

        if (wait->is_so(wait)) {
            rc = WEFT_OK;
        } else if (wait->is_vain(wait)) {
            rc = WEFT_ERR_PROC_FAILED;
            if (weft_engine_has_failures()) {
                weft_engine_notice_failed(); /* so that the error can tell who */
            }
        } else {
            weft_engine_wait_word(&words->bell, seen, &words->sleepers, &why);
        }
    }
    for (struct weft_near_wait **at = &all_waiting; *at != NULL; at = &(*at)->next) {
        if (*at == wait) {
            *at = wait->next;
            break;
        }
    }
    atomic_fetch_sub_explicit(&words->waiters, 1, memory_order_seq_cst);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_near_wait(struct weft_near_wait *wait)
{
    uint32_t seen;

    weft_assert_unlocked();
    do {
        seen = atomic_load_explicit(wait->word, memory_order_acquire);
        if (wait->is_so(wait)) {
            return WEFT_OK;
        }
    } while (weft_wait_briefly(wait->word, seen));
    return weft_near_wait_long(wait);
}

void weft_near_fail_members(void)
{
    weft_assert_locked();
    for (struct weft_near_wait *wait = all_waiting; wait != NULL; wait = wait->next) {
        weft_words_ring(wait->words);
    }
}
