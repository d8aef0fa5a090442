#include "check/win.h"

#include "check/group.h"
#include "check/rc.h"
#include "core/error.h"
#include "engine/lock.h"

int weft_check_win(const char *function, MPI_Win handle, struct weft_win **out)
{
    char text[128];

    *out = weft_win_from_handle(handle);
    if (weft_likely(*out != NULL)) {
        return MPI_SUCCESS;
    }
    return weft_raise(function, MPI_ERR_WIN, WEFT_T_HANDLE,
                      weft_describe_handle(WEFT_KIND_WIN, handle, text, sizeof(text)));
}

int weft_check_win_out(const char *function, struct weft_win *win, const void *address,
                       const char *name)
{
    return address != NULL ? MPI_SUCCESS
                           : weft_raise_win(win, function, WEFT_E_NULL_ARGUMENT, name);
}

int weft_check_win_info(const char *function, struct weft_win *win, MPI_Info handle,
                        struct weft_info **out)
{
    char text[128];

    *out = NULL;
    if (handle == MPI_INFO_NULL) {
        return MPI_SUCCESS;
    }
    weft_object_lock();
    *out = weft_info_from_handle(handle);
    weft_object_unlock();
    return *out != NULL ? MPI_SUCCESS
                        : weft_raise_win(win, function, MPI_ERR_INFO, WEFT_T_HANDLE,
                                         weft_describe_handle(WEFT_KIND_INFO, handle,
                                                              text, sizeof(text)));
}

int weft_check_win_rank(const char *function, struct weft_win *win, int rank)
{
    if (weft_likely((unsigned)rank < (unsigned)win->comm->size)) {
        return MPI_SUCCESS;
    }
    return weft_raise_win(win, function, WEFT_E_WIN_RANK, rank, win->comm->size - 1);
}

int weft_check_win_assert(const char *function, struct weft_win *win, int assertion,
                          int allowed)
{
    if (weft_likely((assertion & ~allowed) == 0)) {
        return MPI_SUCCESS;
    }
    return weft_raise_win(win, function, WEFT_E_WIN_ASSERT, assertion,
                          assertion & ~allowed);
}

int weft_check_win_group(const char *function, struct weft_win *win, MPI_Group handle,
                         struct weft_group **out)
{
    int outside = 0;
    int err = weft_check_group(function, handle, out);

    if (err != MPI_SUCCESS) {
        return err;
    }
    for (int i = 0; i < (*out)->size; i++) {
        outside += weft_group_rank_of(win->comm->group, weft_group_process(*out, i)) ==
                   MPI_UNDEFINED;
    }
    return outside == 0 ? MPI_SUCCESS
                        : weft_raise_win(win, function, WEFT_E_WIN_GROUP, outside);
}

int weft_check_epoch(const char *function, struct weft_win *win,
                     enum weft_epoch_fault fault)
{
    if (weft_likely(fault == WEFT_EPOCH_FINE)) {
        return MPI_SUCCESS;
    }
    return weft_raise_win(win, function, WEFT_E_WIN_EPOCH, weft_epoch_text(fault));
}

bool weft_win_is_locked(struct weft_win *win, int rank)
{
    const struct weft_target *target;
    bool is_locked;

    weft_lock();
    target = weft_win_find_target(win, rank);
    is_locked = target != NULL && target->is_locked;
    weft_unlock();
    return is_locked;
}

int weft_raise_win_rc(struct weft_win *win, enum weft_rc rc, const char *function)
{
    char text[WEFT_FAILED_TEXT];
    const struct weft_error_row *row;

    if (weft_likely(rc == WEFT_OK)) {
        return MPI_SUCCESS;
    }
    if (rc == WEFT_ERR_ARGUMENT) {
        return weft_raise_win(win, function, WEFT_E_WIN_REFUSED);
    }
    if (rc == WEFT_ERR_PROC_FAILED) {
        weft_progress(); /* a member's words may tell of its end before the launcher does
                          */
        weft_describe_failed(win->comm, text, sizeof(text));
        return weft_raise_win(win, function, MPI_ERR_PROC_ABORTED, WEFT_T_SAID, text);
    }
    row = weft_error_row(weft_class_of(rc));
    return weft_raise_win(win, function, weft_class_of(rc), WEFT_T_SAID,
                          row != NULL ? row->meaning : "");
}
