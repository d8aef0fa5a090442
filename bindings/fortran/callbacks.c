/*
 * callbacks.c - operations, error handlers, generalized requests and data representations
 * whose callbacks are Fortran procedures.
 */
#include "fortran.h"

#include <stdlib.h>

PROCEDURE(op_create, weft_procedure *function, const int *commute, int *op, int *ierror)
{
    weft_procedure *c = weft_trampoline_take(WEFT_OF_OP, function);
    MPI_Op made = MPI_OP_NULL;
    int err;

    if (c == NULL) {
        weft_end(ierror, weft_refuse(WEFT_CALL("MPI_Op_create"), WEFT_F_PROCEDURES));
        return;
    }
    err = CALL(Op_create)((MPI_User_function *)c, weft_logical_in(*commute), &made);
    *op = weft_op_out(made);
    weft_trampoline_tie(WEFT_OF_OP, c, err == MPI_SUCCESS ? *op : -1);
    weft_end(ierror, err);
}
ALSO(op_create_f08, op_create);

PROCEDURE(op_create_c_f08, weft_procedure *function, const int *commute, int *op,
          int *ierror)
{
    weft_procedure *c = weft_trampoline_take(WEFT_OF_OP_LARGE, function);
    MPI_Op made = MPI_OP_NULL;
    int err;

    if (c == NULL) {
        weft_end(ierror, weft_refuse(WEFT_CALL("MPI_Op_create_c"), WEFT_F_PROCEDURES));
        return;
    }
    err = CALL(Op_create_c)((MPI_User_function_c *)c, weft_logical_in(*commute), &made);
    *op = weft_op_out(made);
    weft_trampoline_tie(WEFT_OF_OP_LARGE, c, err == MPI_SUCCESS ? *op : -1);
    weft_end(ierror, err);
}

PROCEDURE(op_free, int *op, int *ierror)
{
    MPI_Op c = weft_op_in(*op);
    int err = CALL(Op_free)(&c);

    if (err == MPI_SUCCESS) {
        weft_trampoline_free_op(*op);
        *op = weft_op_out(c);
    }
    weft_end(ierror, err);
}
ALSO(op_free_f08, op_free);

PROCEDURE(errhandler_free, int *errhandler, int *ierror)
{
    MPI_Errhandler c = weft_errhandler_in(*errhandler);
    int err = CALL(Errhandler_free)(&c);

    if (err == MPI_SUCCESS) {
        weft_trampoline_free_errhandler(*errhandler);
        *errhandler = weft_errhandler_out(c);
    }
    weft_end(ierror, err);
}
ALSO(errhandler_free_f08, errhandler_free);

#define ERRHANDLER(name, function, kind)                                                 \
    PROCEDURE(name##_create_errhandler, weft_procedure *handler, int *errhandler,        \
              int *ierror)                                                               \
    {                                                                                    \
        weft_procedure *c = weft_trampoline_take(kind, handler);                         \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                       \
        int err;                                                                         \
                                                                                         \
        if (c == NULL) {                                                                 \
            weft_end(ierror,                                                             \
                     weft_refuse(WEFT_CALL("MPI_" #function "_create_errhandler"),       \
                                 WEFT_F_PROCEDURES));                                    \
            return;                                                                      \
        }                                                                                \
        err = CALL(function##_create_errhandler)(                                        \
            (MPI_##function##_errhandler_function *)c, &made);                           \
        *errhandler = weft_errhandler_out(made);                                         \
        weft_trampoline_tie(kind, c, err == MPI_SUCCESS ? *errhandler : -1);             \
        weft_end(ierror, err);                                                           \
    }                                                                                    \
    ALSO(name##_create_errhandler_f08, name##_create_errhandler)

ERRHANDLER(comm, Comm, WEFT_OF_COMM);
ERRHANDLER(file, File, WEFT_OF_FILE);
ERRHANDLER(session, Session, WEFT_OF_SESSION);
ERRHANDLER(win, Win, WEFT_OF_WIN);

typedef void fortran_query(MPI_Aint *extra_state, int *status, int *ierror);
typedef void fortran_free(MPI_Aint *extra_state, int *ierror);
typedef void fortran_cancel(MPI_Aint *extra_state, int *complete, int *ierror);

struct generalized {
    fortran_query *query;
    fortran_free *free;
    fortran_cancel *cancel;
    MPI_Aint extra_state;
};

static int query_request(void *extra_state, MPI_Status *status)
{
    struct generalized *g = extra_state;
    int err = MPI_SUCCESS;

    g->query(&g->extra_state, (int *)status, &err);
    return err;
}

static int free_request(void *extra_state)
{
    struct generalized *g = extra_state;
    int err = MPI_SUCCESS;

    g->free(&g->extra_state, &err);
    free(g);
    return err;
}

static int cancel_request(void *extra_state, int complete)
{
    struct generalized *g = extra_state;
    int logical = weft_logical_out(complete);
    int err = MPI_SUCCESS;

    g->cancel(&g->extra_state, &logical, &err);
    return err;
}

PROCEDURE(grequest_start, fortran_query *query, fortran_free *free_fn,
          fortran_cancel *cancel, const MPI_Aint *extra_state, int *request, int *ierror)
{
    struct generalized *g = malloc(sizeof(*g));
    MPI_Request made = MPI_REQUEST_NULL;
    int err = weft_need(WEFT_CALL("MPI_Grequest_start"), g);

    if (err != MPI_SUCCESS) {
        weft_end(ierror, err);
        return;
    }
    *g = (struct generalized){
        .query = query, .free = free_fn, .cancel = cancel, .extra_state = *extra_state};
    err = CALL(Grequest_start)(query_request, free_request, cancel_request, g, &made);
    if (err != MPI_SUCCESS) {
        free(g);
    }
    *request = weft_request_out(made);
    weft_end(ierror, err);
}
ALSO(grequest_start_f08, grequest_start);

typedef void fortran_extent(int *datatype, MPI_Aint *extent, MPI_Aint *extra_state,
                            int *ierror);
typedef void fortran_convert(void *userbuf, int *datatype, int *count, void *filebuf,
                             MPI_Offset *position, MPI_Aint *extra_state, int *ierror);
typedef void fortran_convert_large(void *userbuf, int *datatype, MPI_Count *count,
                                   void *filebuf, MPI_Offset *position,
                                   MPI_Aint *extra_state, int *ierror);

/* Lives as long as the process, as a data representation does. */
struct representation {
    weft_procedure *read;
    weft_procedure *write;
    fortran_extent *extent;
    MPI_Aint extra_state;
};

static int file_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state)
{
    struct representation *r = extra_state;
    int handle = weft_datatype_out(datatype);
    int err = MPI_SUCCESS;

    r->extent(&handle, extent, &r->extra_state, &err);
    return err;
}

#define CONVERSION(name, member)                                                         \
    static int name##_small(void *userbuf, MPI_Datatype datatype, int count,             \
                            void *filebuf, MPI_Offset position, void *extra_state)       \
    {                                                                                    \
        struct representation *r = extra_state;                                          \
        int handle = weft_datatype_out(datatype);                                        \
        int err = MPI_SUCCESS;                                                           \
                                                                                         \
        ((fortran_convert *)r->member)(userbuf, &handle, &count, filebuf, &position,     \
                                       &r->extra_state, &err);                           \
        return err;                                                                      \
    }                                                                                    \
    static int name##_large(void *userbuf, MPI_Datatype datatype, MPI_Count count,       \
                            void *filebuf, MPI_Offset position, void *extra_state)       \
    {                                                                                    \
        struct representation *r = extra_state;                                          \
        int handle = weft_datatype_out(datatype);                                        \
        int err = MPI_SUCCESS;                                                           \
                                                                                         \
        ((fortran_convert_large *)r->member)(userbuf, &handle, &count, filebuf,          \
                                             &position, &r->extra_state, &err);          \
        return err;                                                                      \
    }

CONVERSION(read, read)
CONVERSION(write, write)

/* The procedures that stand for MPI_CONVERSION_FN_NULL. They are never called. */
WEFT_EXPORT void mpi_conversion_fn_null_(void);
WEFT_EXPORT void mpi_conversion_fn_null_c_(void);

#ifndef WEFT_PROFILING
void mpi_conversion_fn_null_(void)
{
}

void mpi_conversion_fn_null_c_(void)
{
}
#endif

static bool is_null(weft_procedure *function)
{
    return function == mpi_conversion_fn_null_ || function == mpi_conversion_fn_null_c_;
}

static struct representation *make_representation(weft_procedure *read_fn,
                                                  weft_procedure *write_fn,
                                                  fortran_extent *extent,
                                                  const MPI_Aint *extra_state)
{
    struct representation *r = malloc(sizeof(*r));

    if (r != NULL) {
        *r = (struct representation){.read = read_fn,
                                     .write = write_fn,
                                     .extent = extent,
                                     .extra_state = *extra_state};
    }
    return r;
}

static int check_registration(const char *function, const struct representation *r,
                              const char *text)
{
    const struct weft_call call = {function, WEFT_ON_FILE, weft_file_out(MPI_FILE_NULL)};

    return weft_need(call, r != NULL ? text : NULL);
}

/* The representation stays where it was registered. */
static void end_registration(struct representation *r, char *text, int err, int *ierror)
{
    if (err != MPI_SUCCESS) {
        free(r);
    }
    free(text);
    weft_end(ierror, err);
}

PROCEDURE(register_datarep, const char *name, weft_procedure *read_fn,
          weft_procedure *write_fn, fortran_extent *extent, const MPI_Aint *extra_state,
          int *ierror, size_t length)
{
    struct representation *r =
        make_representation(read_fn, write_fn, extent, extra_state);
    char *text = weft_string_in(name, length);
    int err = check_registration("MPI_Register_datarep", r, text);

    if (err == MPI_SUCCESS) {
        err = CALL(Register_datarep)(
            text, is_null(read_fn) ? MPI_CONVERSION_FN_NULL : read_small,
            is_null(write_fn) ? MPI_CONVERSION_FN_NULL : write_small, file_extent, r);
    }
    end_registration(r, text, err, ierror);
}
ALSO(register_datarep_f08, register_datarep);

PROCEDURE(register_datarep_c_f08, const char *name, weft_procedure *read_fn,
          weft_procedure *write_fn, fortran_extent *extent, const MPI_Aint *extra_state,
          int *ierror, size_t length)
{
    struct representation *r =
        make_representation(read_fn, write_fn, extent, extra_state);
    char *text = weft_string_in(name, length);
    int err = check_registration("MPI_Register_datarep_c", r, text);

    if (err == MPI_SUCCESS) {
        err = CALL(Register_datarep_c)(
            text, is_null(read_fn) ? MPI_CONVERSION_FN_NULL_C : read_large,
            is_null(write_fn) ? MPI_CONVERSION_FN_NULL_C : write_large, file_extent, r);
    }
    end_registration(r, text, err, ierror);
}
