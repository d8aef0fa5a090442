/*
 * errhandler.c - MPI-5.0 chapter 9.3: error handlers. A family is made for one kind of
 * object; files that are not open share the handler that is set on MPI_FILE_NULL.
 */
#include "binding.h"

#include "check/file.h"
#include "engine/lock.h"

#include <stdio.h>

static int create_checked(const char *function, enum weft_kind family, void (*call)(void),
                          MPI_Errhandler *errhandler)
{
    struct weft_errhandler *made;
    enum weft_rc rc;
    int err = weft_check_out(function, NULL, errhandler, "errhandler");

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (call == NULL) {
        return weft_raise(function, WEFT_E_NULL_FUNCTION);
    }
    rc = weft_errhandler_create(family, call, &made);
    if (rc != WEFT_OK) {
        return weft_raise(function, WEFT_E_NO_MEM_HANDLER);
    }
    *errhandler = made->handle;
    return MPI_SUCCESS;
}

int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn,
                                MPI_Errhandler *errhandler)
{
    return create_checked("MPI_Comm_create_errhandler", WEFT_KIND_COMM,
                          (void (*)(void))comm_errhandler_fn, errhandler);
}
WEFT_WEAK_ALIAS(MPI_Comm_create_errhandler, PMPI_Comm_create_errhandler);

int PMPI_Win_create_errhandler(MPI_Win_errhandler_function *win_errhandler_fn,
                               MPI_Errhandler *errhandler)
{
    return create_checked("MPI_Win_create_errhandler", WEFT_KIND_WIN,
                          (void (*)(void))win_errhandler_fn, errhandler);
}
WEFT_WEAK_ALIAS(MPI_Win_create_errhandler, PMPI_Win_create_errhandler);

int PMPI_File_create_errhandler(MPI_File_errhandler_function *file_errhandler_fn,
                                MPI_Errhandler *errhandler)
{
    return create_checked("MPI_File_create_errhandler", WEFT_KIND_FILE,
                          (void (*)(void))file_errhandler_fn, errhandler);
}
WEFT_WEAK_ALIAS(MPI_File_create_errhandler, PMPI_File_create_errhandler);

int PMPI_Session_create_errhandler(MPI_Session_errhandler_function *session_errhandler_fn,
                                   MPI_Errhandler *errhandler)
{
    return create_checked("MPI_Session_create_errhandler", WEFT_KIND_SESSION,
                          (void (*)(void))session_errhandler_fn, errhandler);
}
WEFT_WEAK_ALIAS(MPI_Session_create_errhandler, PMPI_Session_create_errhandler);

int PMPI_Errhandler_free(MPI_Errhandler *errhandler)
{
    static const char function[] = "MPI_Errhandler_free";
    struct weft_errhandler *handler;
    char text[128];
    int err = weft_check_out(function, NULL, errhandler, "errhandler");

    if (err != MPI_SUCCESS) {
        return err;
    }
    handler = weft_errhandler_from_handle(*errhandler);
    if (handler == NULL) {
        return weft_raise(
            function, MPI_ERR_ERRHANDLER, WEFT_T_HANDLE,
            weft_describe_handle(WEFT_KIND_ERRHANDLER, *errhandler, text, sizeof(text)));
    }
    weft_errhandler_let_go(handler);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Errhandler_free, PMPI_Errhandler_free);

/*
 * Puts the handler into the place where an object of `family` keeps its own. What is
 * wrong goes to *text and is raised by the caller, who knows the object.
 */
static int replace(enum weft_kind family, struct weft_errhandler **place,
                   MPI_Errhandler handle, char *text, size_t size)
{
    struct weft_errhandler *handler = weft_errhandler_from_handle(handle);

    if (handler == NULL) {
        weft_describe_handle(WEFT_KIND_ERRHANDLER, handle, text, size);
        return MPI_ERR_ERRHANDLER;
    }
    if (handler->call.any != NULL && handler->family != family) {
        snprintf(text, size, WEFT_S_HANDLER_OTHER, weft_kind_name(handler->family),
                 weft_kind_name(family));
        return MPI_ERR_ERRHANDLER;
    }
    weft_lock(); /* those who make communicators look at the place with this lock */
    weft_errhandler_replace(place, handler);
    weft_unlock();
    return MPI_SUCCESS;
}

/* ---- communicators ---- */

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    static const char function[] = "MPI_Comm_set_errhandler";
    struct weft_comm *c;
    char text[128];
    int err = weft_check_comm(function, comm, &c);

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = replace(WEFT_KIND_COMM, &c->errhandler, errhandler, text, sizeof(text));
    return err == MPI_SUCCESS ? err
                              : weft_raise_comm(c, function, err, WEFT_T_SAID, text);
}
WEFT_WEAK_ALIAS(MPI_Comm_set_errhandler, PMPI_Comm_set_errhandler);

int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    static const char function[] = "MPI_Comm_get_errhandler";
    struct weft_comm *c;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, errhandler, "errhandler");
    }
    if (err == MPI_SUCCESS) {
        *errhandler = weft_errhandler_hold(&c->errhandler);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_get_errhandler, PMPI_Comm_get_errhandler);

int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
    static const char function[] = "MPI_Comm_call_errhandler";
    struct weft_comm *c;
    int err = weft_check_comm(function, comm, &c);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_raise_comm(c, function, errorcode, WEFT_T_RAISED);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Comm_call_errhandler, PMPI_Comm_call_errhandler);

/* ---- files: MPI_FILE_NULL has the handler of files that are not open ---- */

/* An open file, or NULL for MPI_FILE_NULL, goes to *out. */
static int check_file(const char *function, MPI_File handle, struct weft_file **out)
{
    int err = weft_check_open(function);

    *out = NULL;
    return err != MPI_SUCCESS || handle == MPI_FILE_NULL
               ? err
               : weft_check_file(function, handle, out);
}

static struct weft_errhandler **place_of(struct weft_file *file)
{
    return file != NULL ? &file->errhandler : &weft_file_errhandler;
}

int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
    static const char function[] = "MPI_File_set_errhandler";
    struct weft_file *f;
    char text[128];
    int err = check_file(function, file, &f);

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = replace(WEFT_KIND_FILE, place_of(f), errhandler, text, sizeof(text));
    return err == MPI_SUCCESS ? err
                              : weft_raise_file(f, function, err, WEFT_T_SAID, text);
}
WEFT_WEAK_ALIAS(MPI_File_set_errhandler, PMPI_File_set_errhandler);

int PMPI_File_get_errhandler(MPI_File file, MPI_Errhandler *errhandler)
{
    static const char function[] = "MPI_File_get_errhandler";
    struct weft_file *f;
    int err = check_file(function, file, &f);

    if (err == MPI_SUCCESS && errhandler == NULL) {
        err = weft_raise_file(f, function, WEFT_E_HANDLER_NULL);
    }
    if (err == MPI_SUCCESS) {
        *errhandler = weft_errhandler_hold(place_of(f));
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_File_get_errhandler, PMPI_File_get_errhandler);

int PMPI_File_call_errhandler(MPI_File fh, int errorcode)
{
    static const char function[] = "MPI_File_call_errhandler";
    struct weft_file *f;
    int err = check_file(function, fh, &f);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_raise_file(f, function, errorcode, WEFT_T_RAISED);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_File_call_errhandler, PMPI_File_call_errhandler);
