/*
 * tools_control.c - MPI-5.0 chapter 15.3.6: control variables.
 */
#include "tools.h"

#include "tools/control.h"
#include "tools/token.h"

struct handle {
    uintptr_t token;
    enum weft_setting which;
};

static struct weft_pool handles;

static bool is_variable(int index)
{
    return index >= 0 && index < WEFT_SET_NUMBERS;
}

int PMPI_T_cvar_get_num(int *num_cvar)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (num_cvar == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    *num_cvar = WEFT_SET_NUMBERS;
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_cvar_get_num, PMPI_T_cvar_get_num);

int PMPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
                         MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc,
                         int *desc_len, int *bind, int *scope)
{
    enum weft_setting which = (enum weft_setting)cvar_index;
    bool has_words;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!is_variable(cvar_index)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_INDEX);
    }
    has_words = weft_control_has_words(which);
    weft_tools_give_text(name, name_len, weft_setting_row(which)->name);
    weft_tools_give_text(desc, desc_len, weft_setting_row(which)->meaning);
    weft_tools_give_int(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    weft_tools_give_int(bind, MPI_T_BIND_NO_OBJECT);
    weft_tools_give_int(scope, weft_control_scope(which));
    if (datatype != NULL) {
        *datatype = has_words ? MPI_INT : MPI_UNSIGNED_LONG_LONG;
    }
    if (enumtype != NULL) {
        *enumtype = has_words ? (MPI_T_enum)((uintptr_t)cvar_index + 1) : MPI_T_ENUM_NULL;
    }
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_cvar_get_info, PMPI_T_cvar_get_info);

int PMPI_T_cvar_get_index(const char *name, int *cvar_index)
{
    int found;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (name == NULL || cvar_index == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    found = weft_control_find(name);
    if (found < 0) {
        return weft_tools_leave(MPI_T_ERR_INVALID_NAME);
    }
    *cvar_index = found;
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_cvar_get_index, PMPI_T_cvar_get_index);

/* No variable is bound to an object, so `obj_handle` is not looked at. */
int PMPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle,
                             int *count)
{
    void *made;
    uintptr_t token;
    int err = weft_tools_enter();

    (void)obj_handle;
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!is_variable(cvar_index)) {
        return weft_tools_leave(MPI_T_ERR_INVALID_INDEX);
    }
    if (handle == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    if (weft_token_take(&handles, sizeof(struct handle), &made, &token) != WEFT_OK) {
        return weft_tools_leave(MPI_T_ERR_OUT_OF_HANDLES);
    }
    *(struct handle *)made = (struct handle){token, (enum weft_setting)cvar_index};
    *handle = (MPI_T_cvar_handle)token;
    weft_tools_give_int(count, 1);
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_cvar_handle_alloc, PMPI_T_cvar_handle_alloc);

int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (handle == NULL || weft_token_find(&handles, (uintptr_t)*handle) == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID_HANDLE);
    }
    weft_token_give(&handles, (uintptr_t)*handle);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_cvar_handle_free, PMPI_T_cvar_handle_free);

int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    const struct handle *h;
    int64_t value;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    h = weft_token_find(&handles, (uintptr_t)handle);
    if (h == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID_HANDLE);
    }
    if (buf == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    value = weft_setting(h->which);
    if (weft_control_has_words(h->which)) {
        *(int *)buf = (int)value;
    } else {
        *(unsigned long long *)buf = (unsigned long long)value;
    }
    return weft_tools_leave(MPI_SUCCESS);
}
WEFT_WEAK_ALIAS(MPI_T_cvar_read, PMPI_T_cvar_read);

/* A negative int becomes a number that no row accepts. */
static uint64_t value_in(const struct handle *handle, const void *buf)
{
    if (weft_control_has_words(handle->which)) {
        return (uint64_t)(*(const int *)buf);
    }
    return (uint64_t)(*(const unsigned long long *)buf);
}

int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    const struct handle *h;
    int err = weft_tools_enter();

    if (err != MPI_SUCCESS) {
        return err;
    }
    h = weft_token_find(&handles, (uintptr_t)handle);
    if (h == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID_HANDLE);
    }
    if (buf == NULL) {
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
    switch (weft_control_write(h->which, value_in(h, buf))) {
    case WEFT_OK:
        return weft_tools_leave(MPI_SUCCESS);
    case WEFT_ERR_UNSUPPORTED:
        return weft_tools_leave(MPI_T_ERR_CVAR_SET_NOT_NOW);
    default:
        return weft_tools_leave(MPI_T_ERR_INVALID);
    }
}
WEFT_WEAK_ALIAS(MPI_T_cvar_write, PMPI_T_cvar_write);
