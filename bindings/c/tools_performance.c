/*
 * tools_performance.c - MPI-5.0 chapter 15.3.7: performance variables.
 */
#include "tools.h"

#include "tools/performance.h"

static bool is_variable(int index)
{
    return index >= 0 && index < weft_performance_count();
}

int PMPI_T_pvar_get_num(int *num_pvar)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (num_pvar == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    *num_pvar = weft_performance_count();
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_get_num, PMPI_T_pvar_get_num);

int PMPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity,
                         int *var_class, MPI_Datatype *datatype, MPI_T_enum *enumtype,
                         char *desc, int *desc_len, int *bind, int *readonly,
                         int *continuous, int *atomic)
{
    const struct weft_performance_row *row;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!is_variable(pvar_index)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_INDEX);
    }
    row = weft_performance_row(pvar_index);
    weft_tools_give_text(name, name_len, row->name);
    weft_tools_give_text(desc, desc_len, row->meaning);
    weft_tools_give_int(verbosity, row->verbosity);
    weft_tools_give_int(var_class, row->class);
    weft_tools_give_int(bind, MPI_T_BIND_NO_OBJECT);
    weft_tools_give_int(readonly, weft_performance_is_level(row));
    weft_tools_give_int(continuous, weft_performance_is_level(row));
    weft_tools_give_int(atomic, !weft_performance_is_level(row));
    if (datatype != NULL) {
        *datatype = MPI_UNSIGNED_LONG_LONG;
    }
    if (enumtype != NULL) {
        *enumtype = MPI_T_ENUM_NULL;
    }
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_get_info, PMPI_T_pvar_get_info);

int PMPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    int found;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (name == NULL || pvar_index == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    found = weft_performance_find(name, var_class);
    if (found < 0) {
        return weft_tools_leave(MPI_T_ERR_INVALID_NAME);
    }
    *pvar_index = found;
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_get_index, PMPI_T_pvar_get_index);

int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (session == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    if (weft_pvar_session_create(session) != WEFT_OK) {
        return weft_tools_leave(MPI_T_ERR_OUT_OF_SESSIONS);
    }
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_session_create, PMPI_T_pvar_session_create);

int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    struct weft_pvar_session *s = NULL;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (session != NULL) {
        s = weft_pvar_session_find(*session);
    }
    if (s == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID_SESSION);
    }
    weft_pvar_session_free(s);
    *session = MPI_T_PVAR_SESSION_NULL;
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_session_free, PMPI_T_pvar_session_free);

/* No variable is bound to an object, so `obj_handle` is not looked at. */
int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                             MPI_T_pvar_handle *handle, int *count)
{
    struct weft_pvar_session *s;
    int err = weft_tools_enter();

    (void)obj_handle;
    if (err != MPI_SUCCESS) {
        return err;
    }
    s = weft_pvar_session_find(session);
    if (s == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID_SESSION);
    }
    if (!is_variable(pvar_index)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_INDEX);
    }
    if (handle == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    if (weft_pvar_handle_alloc(s, pvar_index, handle) != WEFT_OK) {
        return weft_tools_leave(MPI_T_ERR_OUT_OF_HANDLES);
    }
    weft_tools_give_int(count, 1);
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_handle_alloc, PMPI_T_pvar_handle_alloc);

/* With the lock: the handle of a session, or what is wrong with either. */
static int find(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                struct weft_pvar_handle **out)
{
    const struct weft_pvar_session *s = weft_pvar_session_find(session);

    if (s == NULL) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    *out = weft_pvar_handle_find(s, handle);
    return *out != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    struct weft_pvar_handle *h;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = find(session, handle != NULL ? *handle : MPI_T_PVAR_HANDLE_NULL, &h);
    if (err == MPI_SUCCESS) {
        weft_pvar_handle_free(h);
        *handle = MPI_T_PVAR_HANDLE_NULL;
    }
    return weft_tools_leave(err);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_handle_free, PMPI_T_pvar_handle_free);

/* Does something to one handle, or to all; `refusal` is what levels answer. */
static int act_on(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                  void (*act)(struct weft_pvar_handle *handle), int refusal)
{
    struct weft_pvar_session *s;
    struct weft_pvar_handle *h;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    s = weft_pvar_session_find(session);
    if (s != NULL && handle == MPI_T_PVAR_ALL_HANDLES) {
        weft_pvar_for_all(s, act);
        return weft_tools_leave(MPI_SUCCESS);
    }
    err = find(session, handle, &h);
    if (err == MPI_SUCCESS && weft_performance_is_level(weft_pvar_row(h))) {
        err = refusal;
    }
    if (err == MPI_SUCCESS) {
        act(h);
    }
    return weft_tools_leave(err);
}

int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act_on(session, handle, weft_pvar_start, MPI_T_ERR_PVAR_NO_STARTSTOP);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_start, PMPI_T_pvar_start);

int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act_on(session, handle, weft_pvar_stop, MPI_T_ERR_PVAR_NO_STARTSTOP);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_stop, PMPI_T_pvar_stop);

int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act_on(session, handle, weft_pvar_reset, MPI_T_ERR_PVAR_NO_WRITE);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_reset, PMPI_T_pvar_reset);

int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    struct weft_pvar_handle *h;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = find(session, handle, &h);
    if (err == MPI_SUCCESS && buf == NULL) {
        err = MPI_T_ERR_INVALID;
    }
    if (err == MPI_SUCCESS) {
        *(unsigned long long *)buf = weft_pvar_read(h);
    }
    return weft_tools_leave(err);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_read, PMPI_T_pvar_read);

int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    struct weft_pvar_handle *h;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = find(session, handle, &h);
    if (err == MPI_SUCCESS && buf == NULL) {
        err = MPI_T_ERR_INVALID;
    }
    if (err == MPI_SUCCESS && weft_performance_is_level(weft_pvar_row(h))) {
        err = MPI_T_ERR_PVAR_NO_ATOMIC;
    }
    if (err == MPI_SUCCESS) {
        *(unsigned long long *)buf = weft_pvar_read(h);
        weft_pvar_reset(h);
    }
    return weft_tools_leave(err);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_readreset, PMPI_T_pvar_readreset);

int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                      const void *buf)
{
    struct weft_pvar_handle *h;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = find(session, handle, &h);
    if (err == MPI_SUCCESS && buf == NULL) {
        err = MPI_T_ERR_INVALID;
    }
    if (err == MPI_SUCCESS && weft_performance_is_level(weft_pvar_row(h))) {
        err = MPI_T_ERR_PVAR_NO_WRITE;
    }
    if (err == MPI_SUCCESS) {
        weft_pvar_write(h, *(const unsigned long long *)buf);
    }
    return weft_tools_leave(err);
}
WEFT_WEAK_ALIAS(MPI_T_pvar_write, PMPI_T_pvar_write);
