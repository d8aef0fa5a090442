/*
 * attributes.c - keys with Fortran callbacks, and attribute values.
 *
 * A key's extra state is a `struct key`, which lives as long as the process: attributes
 * may outlive their key. The predefined attributes are pointers to integers in C and the
 * integers themselves in Fortran. MPI-1's calls, with INTEGER values, are here, too.
 */
#include "fortran.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef void fortran_copy(int *object, int *keyval, MPI_Aint *extra_state, MPI_Aint *in,
                          MPI_Aint *out, int *flag, int *ierror);
typedef void fortran_delete(int *object, int *keyval, MPI_Aint *value,
                            MPI_Aint *extra_state, int *ierror);
typedef void fortran_copy_old(int *object, int *keyval, int *extra_state, int *in,
                              int *out, int *flag, int *ierror);
typedef void fortran_delete_old(int *object, int *keyval, int *value, int *extra_state,
                                int *ierror);

struct key {
    struct key *next;
    weft_procedure *copy;
    weft_procedure *delete;
    MPI_Aint extra_state;
    bool is_old; /* of MPI-1: values are INTEGERs */
};

static MPI_Aint value_of(void *attribute)
{
    MPI_Aint value;

    return weft_cell_read(attribute, &value) ? value : (MPI_Aint)attribute;
}

static int call_copy(const struct key *key, int object, int keyval, MPI_Aint in,
                     MPI_Aint *out, int *flag)
{
    MPI_Aint extra_state = key->extra_state;
    int logical = weft_logical_out(0);
    int err = MPI_SUCCESS;

    if (key->is_old) {
        int old_extra = (int)extra_state;
        int old_in = (int)in;
        int old_out = 0;

        ((fortran_copy_old *)key->copy)(&object, &keyval, &old_extra, &old_in, &old_out,
                                        &logical, &err);
        *out = old_out;
    } else {
        ((fortran_copy *)key->copy)(&object, &keyval, &extra_state, &in, out, &logical,
                                    &err);
    }
    *flag = weft_logical_in(logical);
    return err;
}

static int copy_attribute(const struct key *key, int object, int keyval, void *in,
                          void *out, int *flag)
{
    MPI_Aint value = 0;
    int err = call_copy(key, object, keyval, value_of(in), &value, flag);

    if (err == MPI_SUCCESS && *flag) {
        MPI_Aint *cell = weft_cell_make(value);

        *(void **)out = cell;
        err = cell == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    return err;
}

static int delete_attribute(const struct key *key, int object, int keyval,
                            void *attribute)
{
    MPI_Aint value = value_of(attribute);
    MPI_Aint extra_state = key->extra_state;
    int err = MPI_SUCCESS;

    if (key->is_old) {
        int old_extra = (int)extra_state;
        int old_value = (int)value;

        ((fortran_delete_old *)key->delete)(&object, &keyval, &old_value, &old_extra,
                                            &err);
    } else {
        ((fortran_delete *)key->delete)(&object, &keyval, &value, &extra_state, &err);
    }
    if (err == MPI_SUCCESS) {
        weft_cell_free(attribute);
    }
    return err;
}

#define CALLBACKS(type, name)                                                            \
    static int copy_of_##name(type object, int keyval, void *extra_state, void *in,      \
                              void *out, int *flag)                                      \
    {                                                                                    \
        return copy_attribute(extra_state, weft_##name##_out(object), keyval, in, out,   \
                              flag);                                                     \
    }                                                                                    \
    static int delete_of_##name(type object, int keyval, void *attribute,                \
                                void *extra_state)                                       \
    {                                                                                    \
        return delete_attribute(extra_state, weft_##name##_out(object), keyval,          \
                                attribute);                                              \
    }

CALLBACKS(MPI_Comm, comm)
CALLBACKS(MPI_Datatype, datatype)
CALLBACKS(MPI_Win, win)

static _Atomic(struct key *) keys; /* all that were made, so that none looks lost */

static struct key *make_key(weft_procedure *copy, weft_procedure *delete,
                            MPI_Aint extra_state, bool is_old)
{
    struct key *key = malloc(sizeof(*key));

    if (key != NULL) {
        *key = (struct key){
            .copy = copy, .delete = delete, .extra_state = extra_state, .is_old = is_old};
        key->next = atomic_load(&keys);
        while (!atomic_compare_exchange_weak(&keys, &key->next, key)) {
        }
    }
    return key;
}

static void *make_value(const MPI_Aint *value)
{
    return weft_cell_make(*value);
}

/* Predefined attributes; the keys of MPI_Comm and MPI_Win have different numbers. */
static MPI_Aint read_value(int keyval, void *attribute)
{
    switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
        return *(int *)attribute;
    case MPI_WIN_SIZE:
        return *(MPI_Aint *)attribute;
    case MPI_WIN_BASE:
        return (MPI_Aint)attribute;
    default:
        return value_of(attribute);
    }
}

#define KEYS(name, handle, function, kind)                                               \
    PROCEDURE(name##_create_keyval, weft_procedure *copy, weft_procedure *delete,        \
              int *keyval, const MPI_Aint *extra_state, int *ierror)                     \
    {                                                                                    \
        struct key *key = make_key(copy, delete, *extra_state, false);                   \
        int err = weft_need(WEFT_CALL("MPI_" #function "_create_keyval"), key);          \
                                                                                         \
        if (err == MPI_SUCCESS) {                                                        \
            err = CALL(function##_create_keyval)(copy_of_##handle, delete_of_##handle,   \
                                                 keyval, key);                           \
        }                                                                                \
        weft_end(ierror, err);                                                           \
    }                                                                                    \
    ALSO(name##_create_keyval_f08, name##_create_keyval);                                \
                                                                                         \
    PROCEDURE(name##_set_attr, const int *object, const int *keyval,                     \
              const MPI_Aint *value, int *ierror)                                        \
    {                                                                                    \
        const struct weft_call call = {"MPI_" #function "_set_attr", kind, *object};     \
        void *cell = make_value(value);                                                  \
        int err = weft_need(call, cell);                                                 \
                                                                                         \
        if (err == MPI_SUCCESS) {                                                        \
            err = CALL(function##_set_attr)(weft_##handle##_in(*object), *keyval, cell); \
        }                                                                                \
        if (err != MPI_SUCCESS) {                                                        \
            weft_cell_free(cell);                                                        \
        }                                                                                \
        weft_end(ierror, err);                                                           \
    }                                                                                    \
    ALSO(name##_set_attr_f08, name##_set_attr);                                          \
                                                                                         \
    PROCEDURE(name##_get_attr, const int *object, const int *keyval, MPI_Aint *value,    \
              int *flag, int *ierror)                                                    \
    {                                                                                    \
        void *attribute = NULL;                                                          \
        int is_set = 0;                                                                  \
        int err = CALL(function##_get_attr)(weft_##handle##_in(*object), *keyval,        \
                                            &attribute, &is_set);                        \
                                                                                         \
        if (err == MPI_SUCCESS && is_set) {                                              \
            *value = read_value(*keyval, attribute);                                     \
        }                                                                                \
        *flag = weft_logical_out(is_set);                                                \
        weft_end(ierror, err);                                                           \
    }                                                                                    \
    ALSO(name##_get_attr_f08, name##_get_attr)

KEYS(comm, comm, Comm, WEFT_ON_COMM);
KEYS(type, datatype, Type, WEFT_ON_NOTHING);
KEYS(win, win, Win, WEFT_ON_WIN);

PROCEDURE(keyval_create, weft_procedure *copy, weft_procedure *delete, int *keyval,
          const int *extra_state, int *ierror)
{
    struct key *key = make_key(copy, delete, *extra_state, true);
    int err = weft_need(WEFT_CALL("MPI_Keyval_create"), key);

    if (err == MPI_SUCCESS) {
        err = CALL(Comm_create_keyval)(copy_of_comm, delete_of_comm, keyval, key);
    }
    weft_end(ierror, err);
}

PROCEDURE(keyval_free, int *keyval, int *ierror)
{
    weft_end(ierror, CALL(Comm_free_keyval)(keyval));
}

PROCEDURE(attr_put, const int *comm, const int *keyval, const int *value, int *ierror)
{
    const MPI_Aint wide = *value;

    NAME(comm_set_attr)(comm, keyval, &wide, ierror);
}

PROCEDURE(attr_get, const int *comm, const int *keyval, int *value, int *flag,
          int *ierror)
{
    MPI_Aint wide = *value;

    NAME(comm_get_attr)(comm, keyval, &wide, flag, ierror);
    *value = (int)wide;
}

PROCEDURE(attr_delete, const int *comm, const int *keyval, int *ierror)
{
    weft_end(ierror, CALL(Comm_delete_attr)(weft_comm_in(*comm), *keyval));
}

/* The predefined callbacks. */
#define PREDEFINED(name, value_type)                                                     \
    PROCEDURE(name##null_copy_fn, const int *object, const int *keyval,                  \
              const value_type *extra_state, const value_type *in, value_type *out,      \
              int *flag, int *ierror)                                                    \
    {                                                                                    \
        (void)object;                                                                    \
        (void)keyval;                                                                    \
        (void)extra_state;                                                               \
        (void)in;                                                                        \
        (void)out;                                                                       \
        *flag = weft_logical_out(0);                                                     \
        weft_end(ierror, MPI_SUCCESS);                                                   \
    }                                                                                    \
                                                                                         \
    PROCEDURE(name##dup_fn, const int *object, const int *keyval,                        \
              const value_type *extra_state, const value_type *in, value_type *out,      \
              int *flag, int *ierror)                                                    \
    {                                                                                    \
        (void)object;                                                                    \
        (void)keyval;                                                                    \
        (void)extra_state;                                                               \
        *out = *in;                                                                      \
        *flag = weft_logical_out(1);                                                     \
        weft_end(ierror, MPI_SUCCESS);                                                   \
    }                                                                                    \
                                                                                         \
    PROCEDURE(name##null_delete_fn, const int *object, const int *keyval,                \
              const value_type *value, const value_type *extra_state, int *ierror)       \
    {                                                                                    \
        (void)object;                                                                    \
        (void)keyval;                                                                    \
        (void)value;                                                                     \
        (void)extra_state;                                                               \
        weft_end(ierror, MPI_SUCCESS);                                                   \
    }

#ifndef WEFT_PROFILING
PREDEFINED(, int)
PREDEFINED(comm_, MPI_Aint)
PREDEFINED(type_, MPI_Aint)
PREDEFINED(win_, MPI_Aint)
#endif
