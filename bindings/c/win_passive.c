/*
 * win_passive.c - MPI-5.0 chapter 12.5.3 and 12.5.4: epochs in which the target takes no
 * part: locks and flushes.
 */
#include "binding.h"

#include "check/win.h"
#include "rma/fast.h"
#include "rma/flush.h"
#include "rma/lock.h"

/* ---- locks ---- */

static int check_locks(const char *function, MPI_Win win, int assertion,
                       struct weft_win **out)
{
    int err = weft_check_win(function, win, out);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_assert(function, *out, assertion, MPI_MODE_NOCHECK);
    }
    if (err == MPI_SUCCESS && (*out)->hints.no_locks) {
        err = weft_raise_win(*out, function, WEFT_E_WIN_NO_LOCKS);
    }
    return err;
}

int PMPI_Win_lock(int lock_type, int rank, int assertion, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_lock);
    static const char function[] = "MPI_Win_lock";
    struct weft_win *w;
    int err = check_locks(function, win, assertion, &w);

    if (err == MPI_SUCCESS && lock_type != MPI_LOCK_SHARED &&
        lock_type != MPI_LOCK_EXCLUSIVE) {
        err = weft_raise_win(w, function, WEFT_E_WIN_LOCK_TYPE, lock_type);
    }
    if (err != MPI_SUCCESS || rank == MPI_PROC_NULL) {
        return err;
    }
    err = weft_check_win_rank(function, w, rank);
    if (err == MPI_SUCCESS) {
        err = weft_check_epoch(
            function, w, weft_epoch_may_lock(&w->epoch, weft_win_is_locked(w, rank)));
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    return weft_raise_win_rc(w,
                             weft_rma_lock(w, rank, lock_type == MPI_LOCK_EXCLUSIVE,
                                           (assertion & MPI_MODE_NOCHECK) != 0, function),
                             function);
}
WEFT_WEAK_ALIAS(MPI_Win_lock, PMPI_Win_lock);

int PMPI_Win_unlock(int rank, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_unlock);
    static const char function[] = "MPI_Win_unlock";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err != MPI_SUCCESS || rank == MPI_PROC_NULL) {
        return err;
    }
    err = weft_check_win_rank(function, w, rank);
    if (err == MPI_SUCCESS && !weft_win_is_locked(w, rank)) {
        err = weft_check_epoch(function, w, WEFT_EPOCH_NO_LOCK);
    }
    return err == MPI_SUCCESS
               ? weft_raise_win_rc(w, weft_rma_unlock(w, rank, function), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Win_unlock, PMPI_Win_unlock);

int PMPI_Win_lock_all(int assertion, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_lock_all);
    static const char function[] = "MPI_Win_lock_all";
    struct weft_win *w;
    int err = check_locks(function, win, assertion, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_epoch(function, w, weft_epoch_may_lock_all(&w->epoch));
    }
    if (err == MPI_SUCCESS) {
        weft_rma_lock_all(w, (assertion & MPI_MODE_NOCHECK) != 0);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_lock_all, PMPI_Win_lock_all);

int PMPI_Win_unlock_all(MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_unlock_all);
    static const char function[] = "MPI_Win_unlock_all";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS && !w->epoch.is_all) {
        err = weft_check_epoch(function, w, WEFT_EPOCH_NO_LOCK_ALL);
    }
    return err == MPI_SUCCESS
               ? weft_raise_win_rc(w, weft_rma_unlock_all(w, function), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Win_unlock_all, PMPI_Win_unlock_all);

/* ---- flushes ---- */

static int flush_one(const char *function, int rank, MPI_Win win, bool is_local)
{
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err != MPI_SUCCESS || rank == MPI_PROC_NULL) {
        return err;
    }
    err = weft_check_win_rank(function, w, rank);
    if (err == MPI_SUCCESS) {
        err = weft_check_epoch(
            function, w, weft_epoch_may_flush(&w->epoch, weft_win_is_locked(w, rank)));
    }
    return err == MPI_SUCCESS
               ? weft_raise_win_rc(w, weft_rma_flush(w, rank, is_local, function),
                                   function)
               : err;
}

static int flush_all(const char *function, MPI_Win win, bool is_local)
{
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_epoch(function, w,
                               weft_epoch_may_flush(&w->epoch, w->epoch.locks > 0));
    }
    return err == MPI_SUCCESS
               ? weft_raise_win_rc(
                     w, weft_rma_flush(w, WEFT_RMA_ALL_RANKS, is_local, function),
                     function)
               : err;
}

/* Is a flush no more than a fence of the processor: what was stored before is there for
 * all, and what is loaded later is not older? */
static inline bool is_fence_enough(int rank, MPI_Win handle)
{
    struct weft_win *win;

    return weft_likely(weft_win_from_place(handle, &win) &&
                       weft_fast_may_flush(win, rank));
}

static __attribute__((noinline)) int flush_slowly(int rank, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_flush);

    return flush_one("MPI_Win_flush", rank, win, false);
}

int PMPI_Win_flush(int rank, MPI_Win win)
{
    if (is_fence_enough(rank, win)) {
        weft_fast_fence();
        return MPI_SUCCESS;
    }
    return flush_slowly(rank, win);
}
WEFT_WEAK_ALIAS(MPI_Win_flush, PMPI_Win_flush);

int PMPI_Win_flush_all(MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_flush_all);

    return flush_all("MPI_Win_flush_all", win, false);
}
WEFT_WEAK_ALIAS(MPI_Win_flush_all, PMPI_Win_flush_all);

static __attribute__((noinline)) int flush_local_slowly(int rank, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_flush_local);

    return flush_one("MPI_Win_flush_local", rank, win, true);
}

int PMPI_Win_flush_local(int rank, MPI_Win win)
{
    if (is_fence_enough(rank, win)) {
        weft_fast_fence();
        return MPI_SUCCESS;
    }
    return flush_local_slowly(rank, win);
}
WEFT_WEAK_ALIAS(MPI_Win_flush_local, PMPI_Win_flush_local);

int PMPI_Win_flush_local_all(MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_flush_local_all);

    return flush_all("MPI_Win_flush_local_all", win, true);
}
WEFT_WEAK_ALIAS(MPI_Win_flush_local_all, PMPI_Win_flush_local_all);
