/*
 * attribute.c - MPI-5.0 chapter 7.7: keys and attributes of communicators, datatypes and
 * windows. The families differ in the types of their callbacks and in how the object is
 * found.
 */
#include "binding.h"

#include "check/datatype.h"
#include "check/p2p.h"
#include "datatype/attribute.h"
#include "runtime/environment.h"

/* Whose attributes: what a call works on, once its handle was checked. */
struct owner {
    enum weft_kind family;
    void *handle;
    struct weft_attributes *attributes;
    struct weft_comm *comm; /* whose error handler runs; NULL: that of MPI_COMM_SELF */
};

static int create_checked(const char *function, enum weft_kind family,
                          union weft_copy_fn copy, union weft_delete_fn delete_fn,
                          int *keyval, void *extra_state)
{
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, keyval, "keyval");
    }
    if (err == MPI_SUCCESS &&
        weft_keyval_create(family, copy, delete_fn, extra_state, keyval) != WEFT_OK) {
        err = weft_raise(function, WEFT_E_NO_MEM_KEY);
    }
    return err;
}

static int bad_keyval(const char *function, const struct owner *o, int keyval)
{
    if (keyval == MPI_KEYVAL_INVALID) {
        return weft_raise_comm(o->comm, function, WEFT_E_KEY_INVALID);
    }
    if (o->family == WEFT_KIND_COMM && weft_environment_is_key(keyval)) {
        return weft_raise_comm(o->comm, function, WEFT_E_KEY_PREDEFINED, keyval);
    }
    return weft_raise_comm(o->comm, function, WEFT_E_KEY_OTHER, keyval,
                           weft_kind_name(o->family));
}

static int free_checked(const char *function, enum weft_kind family, int *keyval)
{
    const struct owner nobody = {.family = family};
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, keyval, "keyval");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (!weft_keyval_free(family, *keyval)) {
        return bad_keyval(function, &nobody, *keyval);
    }
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* What setting and deleting end with: the core's own errors, or a callback's. */
static int finish(const char *function, const struct owner *o, int keyval, int err)
{
    switch (err) {
    case MPI_SUCCESS:
        return MPI_SUCCESS;
    case MPI_ERR_KEYVAL:
        return bad_keyval(function, o, keyval);
    case MPI_ERR_NO_MEM:
        return weft_raise_comm(o->comm, function, err, WEFT_T_NO_MEM_ATTRIBUTE);
    default:
        return weft_raise_comm(o->comm, function, err, WEFT_T_KEY_DELETE, keyval, err);
    }
}

static int set_checked(const char *function, const struct owner *o, int keyval,
                       void *value)
{
    return finish(function, o, keyval,
                  weft_attribute_set(o->family, o->handle, o->attributes, keyval, value));
}

static int delete_checked(const char *function, const struct owner *o, int keyval)
{
    return finish(function, o, keyval,
                  weft_attribute_delete(o->family, o->handle, o->attributes, keyval));
}

/* `value` is where the user wants the pointer that is the value. */
static int get_checked(const char *function, const struct owner *o, int keyval,
                       void *value, int *flag)
{
    bool is_there = false;
    int err = weft_check_out(function, o->comm, value, "attribute_val");

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, o->comm, flag, "flag");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    err = weft_attribute_get(o->family, o->attributes, keyval, value, &is_there);
    if (err == MPI_SUCCESS) {
        *flag = is_there;
    }
    return finish(function, o, keyval, err);
}

/* ---- communicators ---- */

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
                            MPI_Comm_delete_attr_function *comm_delete_attr_fn,
                            int *comm_keyval, void *extra_state)
{
    return create_checked("MPI_Comm_create_keyval", WEFT_KIND_COMM,
                          (union weft_copy_fn){.comm = comm_copy_attr_fn},
                          (union weft_delete_fn){.comm = comm_delete_attr_fn},
                          comm_keyval, extra_state);
}
WEFT_WEAK_ALIAS(MPI_Comm_create_keyval, PMPI_Comm_create_keyval);

int PMPI_Comm_free_keyval(int *comm_keyval)
{
    return free_checked("MPI_Comm_free_keyval", WEFT_KIND_COMM, comm_keyval);
}
WEFT_WEAK_ALIAS(MPI_Comm_free_keyval, PMPI_Comm_free_keyval);

static int find_comm(const char *function, MPI_Comm handle, struct owner *out)
{
    struct weft_comm *c;
    int err = weft_check_comm(function, handle, &c);

    if (err == MPI_SUCCESS) {
        *out = (struct owner){WEFT_KIND_COMM, handle, &c->attributes, c};
    }
    return err;
}

int PMPI_Comm_set_attr(MPI_Comm comm, int comm_keyval, void *attribute_val)
{
    struct owner o = {0};
    int err = find_comm("MPI_Comm_set_attr", comm, &o);

    return err != MPI_SUCCESS
               ? err
               : set_checked("MPI_Comm_set_attr", &o, comm_keyval, attribute_val);
}
WEFT_WEAK_ALIAS(MPI_Comm_set_attr, PMPI_Comm_set_attr);

int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    static const char function[] = "MPI_Comm_get_attr";
    struct owner o = {0};
    int err = find_comm(function, comm, &o);

    if (err == MPI_SUCCESS && weft_environment_is_key(comm_keyval) &&
        attribute_val != NULL && flag != NULL) {
        const int *value = weft_environment_value(comm_keyval);

        *flag = value != NULL;
        if (value != NULL) {
            *(const int **)attribute_val = value;
        }
        return MPI_SUCCESS;
    }
    return err != MPI_SUCCESS
               ? err
               : get_checked(function, &o, comm_keyval, attribute_val, flag);
}
WEFT_WEAK_ALIAS(MPI_Comm_get_attr, PMPI_Comm_get_attr);

int PMPI_Comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
    struct owner o = {0};
    int err = find_comm("MPI_Comm_delete_attr", comm, &o);

    return err != MPI_SUCCESS ? err
                              : delete_checked("MPI_Comm_delete_attr", &o, comm_keyval);
}
WEFT_WEAK_ALIAS(MPI_Comm_delete_attr, PMPI_Comm_delete_attr);

/* ---- datatypes ---- */

int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *type_copy_attr_fn,
                            MPI_Type_delete_attr_function *type_delete_attr_fn,
                            int *type_keyval, void *extra_state)
{
    return create_checked("MPI_Type_create_keyval", WEFT_KIND_DATATYPE,
                          (union weft_copy_fn){.type = type_copy_attr_fn},
                          (union weft_delete_fn){.type = type_delete_attr_fn},
                          type_keyval, extra_state);
}
WEFT_WEAK_ALIAS(MPI_Type_create_keyval, PMPI_Type_create_keyval);

int PMPI_Type_free_keyval(int *type_keyval)
{
    return free_checked("MPI_Type_free_keyval", WEFT_KIND_DATATYPE, type_keyval);
}
WEFT_WEAK_ALIAS(MPI_Type_free_keyval, PMPI_Type_free_keyval);

static int find_type(const char *function, MPI_Datatype handle, struct owner *out)
{
    struct weft_datatype *type;
    int err = weft_check_type(function, handle, &type);

    if (err == MPI_SUCCESS) {
        *out = (struct owner){WEFT_KIND_DATATYPE, handle, weft_datatype_attributes(type),
                              NULL};
    }
    return err;
}

int PMPI_Type_set_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val)
{
    struct owner o = {0};
    int err = find_type("MPI_Type_set_attr", datatype, &o);

    return err != MPI_SUCCESS
               ? err
               : set_checked("MPI_Type_set_attr", &o, type_keyval, attribute_val);
}
WEFT_WEAK_ALIAS(MPI_Type_set_attr, PMPI_Type_set_attr);

int PMPI_Type_get_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val,
                       int *flag)
{
    struct owner o = {0};
    int err = find_type("MPI_Type_get_attr", datatype, &o);

    return err != MPI_SUCCESS
               ? err
               : get_checked("MPI_Type_get_attr", &o, type_keyval, attribute_val, flag);
}
WEFT_WEAK_ALIAS(MPI_Type_get_attr, PMPI_Type_get_attr);

int PMPI_Type_delete_attr(MPI_Datatype datatype, int type_keyval)
{
    struct owner o = {0};
    int err = find_type("MPI_Type_delete_attr", datatype, &o);

    return err != MPI_SUCCESS ? err
                              : delete_checked("MPI_Type_delete_attr", &o, type_keyval);
}
WEFT_WEAK_ALIAS(MPI_Type_delete_attr, PMPI_Type_delete_attr);

/* ---- windows: keys only, as long as there are no windows ---- */

int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *win_copy_attr_fn,
                           MPI_Win_delete_attr_function *win_delete_attr_fn,
                           int *win_keyval, void *extra_state)
{
    return create_checked("MPI_Win_create_keyval", WEFT_KIND_WIN,
                          (union weft_copy_fn){.win = win_copy_attr_fn},
                          (union weft_delete_fn){.win = win_delete_attr_fn}, win_keyval,
                          extra_state);
}
WEFT_WEAK_ALIAS(MPI_Win_create_keyval, PMPI_Win_create_keyval);

int PMPI_Win_free_keyval(int *win_keyval)
{
    return free_checked("MPI_Win_free_keyval", WEFT_KIND_WIN, win_keyval);
}
WEFT_WEAK_ALIAS(MPI_Win_free_keyval, PMPI_Win_free_keyval);
