/*
 * rma_fixture.h - windows over the fake transport: those of p2p_fixture.h have one, too.
 *
 * The functions need the lock, but for rma_fixture_open() and rma_fixture_end(). Windows
 * are not made with their members, who are the test; they end when all peers count as
 * failed.
 */
#ifndef WEFT_TEST_RMA_FIXTURE_H
#define WEFT_TEST_RMA_FIXTURE_H

#include "p2p_fixture.h"

#include "engine/lock.h"
#include "rma/combine.h"
#include "rma/attach.h"
#include "rma/failed.h"
#include "rma/operation.h"
#include "rma/start.h"
#include "rma/target.h"

/* Behind fixture_open(): what a process does once, and what the fixture forgets. */
static inline void rma_fixture_open(void)
{
    static bool is_open;

    weft_lock();
    if (!is_open) {
        weft_win_open();
        weft_operations_open();
        is_open = true;
    }
    weft_combine_open();
    weft_target_register_kinds();
    weft_engine_on_failed(weft_rma_fail_members);
    weft_unlock();
}

static inline struct weft_win *rma_fixture_window(struct weft_comm *comm, int flavor,
                                                  void *base, MPI_Aint size)
{
    struct weft_win_offer offers[FIXTURE_RANKS] = {{.rc = WEFT_OK}};
    struct weft_win *win;

    if (weft_win_take(&win) != WEFT_OK) {
        abort();
    }
    win->comm = comm;
    win->flavor = flavor;
    win->unit = 1;
    win->base = base;
    win->size = size;
    for (uint32_t rank = 0; rank < FIXTURE_RANKS; rank++) {
        offers[rank].part.size = (uint64_t)size;
        offers[rank].part.unit = 1;
    }
    if (weft_win_parts_make(&win->parts, offers, FIXTURE_RANKS, NULL) != WEFT_OK) {
        abort();
    }
    if (weft_win_register(win) != WEFT_OK) {
        abort();
    }
    return win;
}

/* Ends operations that are under way. */
static inline void rma_fixture_fail_peers(void)
{
    for (uint32_t rank = 0; rank < FIXTURE_RANKS; rank++) {
        struct weft_peer *peer = weft_peer_find(weft_engine_process(rank));

        if (peer != NULL) {
            peer->is_failed = true;
            weft_engine_fail_retries(peer, WEFT_RETRY_ORDERED);
        }
    }
    weft_operations_fail();
}

static inline void rma_fixture_close(struct weft_win *win)
{
    weft_combine_close(win);
    weft_win_unregister(win);
    weft_attached_close(win);
    weft_win_give(win);
}

/* The end of a test with one window; without the lock, and instead of fixture_close(). */
static inline int rma_fixture_end(struct weft_win *win, void **state)
{
    weft_lock();
    rma_fixture_fail_peers();
    rma_fixture_close(win);
    weft_unlock();
    return fixture_close(state);
}

#endif
