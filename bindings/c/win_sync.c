/*
 * win_sync.c - MPI-5.0 chapter 12.5: epochs in which the target takes part, and
 * MPI_Win_sync.
 */
#include "binding.h"

#include "check/win.h"
#include "rma/sync.h"

#include <stdatomic.h>

int PMPI_Win_fence(int assertion, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_fence);
    static const char function[] = "MPI_Win_fence";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_assert(function, w, assertion,
                                    MPI_MODE_NOSTORE | MPI_MODE_NOPUT |
                                        MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_epoch(function, w, weft_epoch_may_fence(&w->epoch));
    }
    return err == MPI_SUCCESS
               ? weft_raise_win_rc(w, weft_rma_fence(w, assertion, function), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Win_fence, PMPI_Win_fence);

int PMPI_Win_post(MPI_Group group, int assertion, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_post);
    static const char function[] = "MPI_Win_post";
    struct weft_group *g;
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_assert(function, w, assertion,
                                    MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_epoch(function, w, weft_epoch_may_post(&w->epoch));
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_win_group(function, w, group, &g);
    }
    return err == MPI_SUCCESS
               ? weft_raise_win_rc(w, weft_rma_post(w, g, assertion), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Win_post, PMPI_Win_post);

int PMPI_Win_start(MPI_Group group, int assertion, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_start);
    static const char function[] = "MPI_Win_start";
    struct weft_group *g;
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_assert(function, w, assertion, MPI_MODE_NOCHECK);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_epoch(function, w, weft_epoch_may_start(&w->epoch));
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_win_group(function, w, group, &g);
    }
    return err == MPI_SUCCESS
               ? weft_raise_win_rc(w, weft_rma_start_epoch(w, g, assertion), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Win_start, PMPI_Win_start);

int PMPI_Win_complete(MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_complete);
    static const char function[] = "MPI_Win_complete";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS && !w->epoch.is_started) {
        err = weft_check_epoch(function, w, WEFT_EPOCH_NO_START);
    }
    return err == MPI_SUCCESS
               ? weft_raise_win_rc(w, weft_rma_complete(w, function), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Win_complete, PMPI_Win_complete);

static int check_posted(const char *function, MPI_Win win, struct weft_win **out)
{
    int err = weft_check_win(function, win, out);

    return err == MPI_SUCCESS && !(*out)->epoch.is_posted
               ? weft_check_epoch(function, *out, WEFT_EPOCH_NO_POST)
               : err;
}

int PMPI_Win_wait(MPI_Win win)
{
    WEFT_RECORD_PLAIN(Win_wait);
    static const char function[] = "MPI_Win_wait";
    struct weft_win *w;
    int err = check_posted(function, win, &w);

    return err == MPI_SUCCESS
               ? weft_raise_win_rc(w, weft_rma_wait_epoch(w, function), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Win_wait, PMPI_Win_wait);

int PMPI_Win_test(MPI_Win win, int *flag)
{
    WEFT_RECORD_POLL(Win_test, MPI_COMM_NULL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG);
    static const char function[] = "MPI_Win_test";
    bool is_over = false;
    struct weft_win *w;
    int err = check_posted(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, flag, "flag");
    }
    if (err == MPI_SUCCESS) {
        err = weft_raise_win_rc(w, weft_rma_test_epoch(w, &is_over, function), function);
        *flag = is_over;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_test, PMPI_Win_test);

/* The model is the unified one: what others have stored is there for our loads. */
int PMPI_Win_sync(MPI_Win win)
{
    struct weft_win *w;
    int err = weft_check_win("MPI_Win_sync", win, &w);

    if (err == MPI_SUCCESS) {
        atomic_thread_fence(memory_order_seq_cst);
        weft_progress(); /* a program may wait here for a word to change */
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_sync, PMPI_Win_sync);
