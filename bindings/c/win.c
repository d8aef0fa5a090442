/*
 * win.c - MPI-5.0 chapters 7.7, 7.8, 9.3 and 12.2: what a window tells: its name, group,
 * hints, attributes and error handler.
 */
#include "binding.h"

#include "check/rc.h"
#include "check/win.h"
#include "engine/lock.h"

#include <stdio.h>
#include <string.h>

int PMPI_Win_set_name(MPI_Win win, const char *win_name)
{
    static const char function[] = "MPI_Win_set_name";
    struct weft_win *w;
    enum weft_rc rc;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, win_name, "win_name");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_win_set_name(w, win_name);
    weft_unlock();
    return weft_raise_win_rc(w, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Win_set_name, PMPI_Win_set_name);

/* MPI_WIN_NULL has a name too (MPI-5.0, 7.8). */
int PMPI_Win_get_name(MPI_Win win, char *win_name, int *resultlen)
{
    static const char function[] = "MPI_Win_get_name";
    struct weft_win *w = NULL;
    int err = win == MPI_WIN_NULL ? weft_check_open(function)
                                  : weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, win_name, "win_name");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        *resultlen = snprintf(win_name, MPI_MAX_OBJECT_NAME, "%s",
                              w != NULL ? weft_win_name(w) : "MPI_WIN_NULL");
        weft_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_get_name, PMPI_Win_get_name);

int PMPI_Win_get_group(MPI_Win win, MPI_Group *group)
{
    static const char function[] = "MPI_Win_get_group";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, group, "group");
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        weft_group_hold(w->comm->group);
        *group = w->comm->group->handle;
        weft_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_get_group, PMPI_Win_get_group);

int PMPI_Win_set_info(MPI_Win win, MPI_Info info)
{
    static const char function[] = "MPI_Win_set_info";
    struct weft_info *from;
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_info(function, w, info, &from);
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        weft_object_lock();
        weft_win_update_hints(w, from);
        weft_object_unlock();
        weft_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_set_info, PMPI_Win_set_info);

int PMPI_Win_get_info(MPI_Win win, MPI_Info *info_used)
{
    static const char function[] = "MPI_Win_get_info";
    struct weft_info *made = NULL;
    struct weft_win *w;
    enum weft_rc rc;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, info_used, "info_used");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    rc = weft_win_hints_to_info(w, &made);
    weft_object_unlock();
    if (rc == WEFT_OK) {
        *info_used = weft_info_handle(made);
    }
    return weft_raise_win_rc(w, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Win_get_info, PMPI_Win_get_info);

/* ---- attributes ---- */

static bool is_predefined_key(int keyval)
{
    return keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL;
}

/* What the user gets for a key of the standard: a base itself, else where it stands. */
static void *predefined_value(struct weft_win *win, int keyval)
{
    switch (keyval) {
    case MPI_WIN_BASE:
        return win->base;
    case MPI_WIN_SIZE:
        return &win->size;
    case MPI_WIN_DISP_UNIT:
        return &win->unit_as_int;
    case MPI_WIN_CREATE_FLAVOR:
        return &win->flavor;
    default:
        return &win->model;
    }
}

static int finish(const char *function, struct weft_win *win, int keyval, int err)
{
    if (err == MPI_SUCCESS) {
        return MPI_SUCCESS;
    }
    if (err == MPI_ERR_KEYVAL && keyval == MPI_KEYVAL_INVALID) {
        return weft_raise_win(win, function, WEFT_E_KEY_INVALID);
    }
    if (err == MPI_ERR_KEYVAL && is_predefined_key(keyval)) {
        return weft_raise_win(win, function, WEFT_E_KEY_PREDEFINED, keyval);
    }
    if (err == MPI_ERR_KEYVAL) {
        return weft_raise_win(win, function, WEFT_E_KEY_OTHER, keyval,
                              weft_kind_name(WEFT_KIND_WIN));
    }
    if (err == MPI_ERR_NO_MEM) {
        return weft_raise_win(win, function, err, WEFT_T_NO_MEM_ATTRIBUTE);
    }
    return weft_raise_win(win, function, err, WEFT_T_KEY_DELETE, keyval, err);
}

int PMPI_Win_set_attr(MPI_Win win, int win_keyval, void *attribute_val)
{
    static const char function[] = "MPI_Win_set_attr";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    return err != MPI_SUCCESS
               ? err
               : finish(function, w, win_keyval,
                        weft_attribute_set(WEFT_KIND_WIN, win, &w->attributes, win_keyval,
                                           attribute_val));
}
WEFT_WEAK_ALIAS(MPI_Win_set_attr, PMPI_Win_set_attr);

int PMPI_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag)
{
    static const char function[] = "MPI_Win_get_attr";
    bool is_there = true;
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, attribute_val, "attribute_val");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, flag, "flag");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (is_predefined_key(win_keyval)) {
        *(void **)attribute_val = predefined_value(w, win_keyval);
    } else {
        err = weft_attribute_get(WEFT_KIND_WIN, &w->attributes, win_keyval, attribute_val,
                                 &is_there);
    }
    if (err == MPI_SUCCESS) {
        *flag = is_there;
    }
    return finish(function, w, win_keyval, err);
}
WEFT_WEAK_ALIAS(MPI_Win_get_attr, PMPI_Win_get_attr);

int PMPI_Win_delete_attr(MPI_Win win, int win_keyval)
{
    static const char function[] = "MPI_Win_delete_attr";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    return err != MPI_SUCCESS ? err
                              : finish(function, w, win_keyval,
                                       weft_attribute_delete(WEFT_KIND_WIN, win,
                                                             &w->attributes, win_keyval));
}
WEFT_WEAK_ALIAS(MPI_Win_delete_attr, PMPI_Win_delete_attr);

/* ---- error handlers ---- */

int PMPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler errhandler)
{
    static const char function[] = "MPI_Win_set_errhandler";
    struct weft_errhandler *handler;
    struct weft_win *w;
    char text[128];
    int err = weft_check_win(function, win, &w);

    if (err != MPI_SUCCESS) {
        return err;
    }
    handler = weft_errhandler_from_handle(errhandler);
    if (handler == NULL) {
        return weft_raise_win(
            w, function, MPI_ERR_ERRHANDLER, WEFT_T_HANDLE,
            weft_describe_handle(WEFT_KIND_ERRHANDLER, errhandler, text, sizeof(text)));
    }
    if (handler->call.any != NULL && handler->family != WEFT_KIND_WIN) {
        snprintf(text, sizeof(text), WEFT_S_HANDLER_OTHER,
                 weft_kind_name(handler->family), weft_kind_name(WEFT_KIND_WIN));
        return weft_raise_win(w, function, MPI_ERR_ERRHANDLER, WEFT_T_SAID, text);
    }
    weft_errhandler_replace(&w->errhandler, handler);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Win_set_errhandler, PMPI_Win_set_errhandler);

int PMPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *errhandler)
{
    static const char function[] = "MPI_Win_get_errhandler";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, errhandler, "errhandler");
    }
    if (err == MPI_SUCCESS) {
        *errhandler = weft_errhandler_hold(&w->errhandler);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_get_errhandler, PMPI_Win_get_errhandler);

int PMPI_Win_call_errhandler(MPI_Win win, int errorcode)
{
    static const char function[] = "MPI_Win_call_errhandler";
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_raise_win(w, function, errorcode, WEFT_T_RAISED);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Win_call_errhandler, PMPI_Win_call_errhandler);
