/*
 * environment.c - MPI-5.0 chapter 9: versions, names, time, error classes and handlers.
 */
#include "binding.h"

#include "base/clock.h"
#include "core/error.h"
#include "progress/lock.h"
#include "version.h"

#include <stdio.h>
#include <string.h>

int PMPI_Get_version(int *version, int *subversion)
{
    int err = weft_check_out("MPI_Get_version", NULL, version, "version");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_version", NULL, subversion, "subversion");
    }
    if (err == MPI_SUCCESS) {
        *version = MPI_VERSION;
        *subversion = MPI_SUBVERSION;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_version, PMPI_Get_version);

/* Copies `text` into a user's buffer of `size` bytes and tells its length. */
static void give_string(char *to, size_t size, int *length, const char *text)
{
    int n = snprintf(to, size, "%s", text);

    *length = (size_t)n < size ? n : (int)size - 1;
}

int PMPI_Get_library_version(char *version, int *resultlen)
{
    int err = weft_check_out("MPI_Get_library_version", NULL, version, "version");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_library_version", NULL, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS) {
        give_string(version, MPI_MAX_LIBRARY_VERSION_STRING, resultlen,
                    "Weft " WEFT_VERSION ", MPI " WEFT_MPI_VERSION
                    ", ABI " WEFT_ABI_VERSION);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_library_version, PMPI_Get_library_version);

int PMPI_Get_processor_name(char *name, int *resultlen)
{
    int err = weft_check_open("MPI_Get_processor_name");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_processor_name", NULL, name, "name");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Get_processor_name", NULL, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS) {
        give_string(name, MPI_MAX_PROCESSOR_NAME, resultlen, weft_runtime_host());
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Get_processor_name, PMPI_Get_processor_name);

double PMPI_Wtime(void)
{
    return 1e-9 * (double)weft_clock_ns();
}
WEFT_WEAK_ALIAS(MPI_Wtime, PMPI_Wtime);

double PMPI_Wtick(void)
{
    return 1e-9 * (double)weft_clock_resolution_ns();
}
WEFT_WEAK_ALIAS(MPI_Wtick, PMPI_Wtick);

int PMPI_Error_class(int errorcode, int *errorclass)
{
    int err = weft_check_out("MPI_Error_class", NULL, errorclass, "errorclass");

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (weft_error_row(errorcode) == NULL) {
        return weft_raise(MPI_ERR_ARG, "MPI_Error_class", "%d is not an error code",
                          errorcode);
    }
    *errorclass = errorcode;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Error_class, PMPI_Error_class);

int PMPI_Error_string(int errorcode, char *string, int *resultlen)
{
    const struct weft_error_row *row = weft_error_row(errorcode);
    char text[MPI_MAX_ERROR_STRING];
    int err = weft_check_out("MPI_Error_string", NULL, string, "string");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Error_string", NULL, resultlen, "resultlen");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (row == NULL) {
        return weft_raise(MPI_ERR_ARG, "MPI_Error_string", "%d is not an error code",
                          errorcode);
    }
    snprintf(text, sizeof(text), "%s: %s", row->name, row->meaning);
    give_string(string, MPI_MAX_ERROR_STRING, resultlen, text);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Error_string, PMPI_Error_string);

int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn,
                                MPI_Errhandler *errhandler)
{
    static const char function[] = "MPI_Comm_create_errhandler";
    struct weft_errhandler *made;
    enum weft_rc rc;
    int err = weft_check_out(function, NULL, errhandler, "errhandler");

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (comm_errhandler_fn == NULL) {
        return weft_raise(MPI_ERR_ARG, function, "argument comm_errhandler_fn is NULL");
    }
    weft_lock();
    rc =
        weft_errhandler_create(WEFT_KIND_COMM, (void (*)(void))comm_errhandler_fn, &made);
    weft_unlock();
    if (rc != WEFT_OK) {
        return weft_raise(MPI_ERR_NO_MEM, function, "no memory for an error handler");
    }
    *errhandler = made->handle;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Comm_create_errhandler, PMPI_Comm_create_errhandler);

/* Finds a handler and raises MPI_ERR_ERRHANDLER where there is none. */
static int find_errhandler(const char *function, struct weft_comm *comm,
                           MPI_Errhandler handle, struct weft_errhandler **out)
{
    char text[128];

    weft_lock();
    *out = weft_errhandler_from_handle(handle);
    weft_unlock();
    if (*out != NULL) {
        return MPI_SUCCESS;
    }
    return weft_raise_comm(
        comm, MPI_ERR_ERRHANDLER, function, "%s",
        weft_describe_handle(WEFT_KIND_ERRHANDLER, handle, text, sizeof(text)));
}

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    static const char function[] = "MPI_Comm_set_errhandler";
    struct weft_comm *c;
    struct weft_errhandler *handler;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = find_errhandler(function, c, errhandler, &handler);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (handler->call.any != NULL && handler->family != WEFT_KIND_COMM) {
        return weft_raise_comm(c, MPI_ERR_ERRHANDLER, function,
                               "the handler was made for a %s",
                               weft_kind_name(handler->family));
    }
    weft_lock();
    weft_errhandler_use(handler);
    weft_errhandler_release(c->errhandler);
    c->errhandler = handler;
    weft_unlock();
    return MPI_SUCCESS;
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
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    weft_errhandler_hold(c->errhandler);
    *errhandler = c->errhandler->handle;
    weft_unlock();
    return MPI_SUCCESS;
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
    weft_raise_comm(c, errorcode, function, "raised by the program");
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Comm_call_errhandler, PMPI_Comm_call_errhandler);

int PMPI_Errhandler_free(MPI_Errhandler *errhandler)
{
    static const char function[] = "MPI_Errhandler_free";
    struct weft_errhandler *handler;
    int err = weft_check_out(function, NULL, errhandler, "errhandler");

    if (err == MPI_SUCCESS) {
        err = find_errhandler(function, NULL, *errhandler, &handler);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    weft_errhandler_let_go(handler);
    weft_unlock();
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Errhandler_free, PMPI_Errhandler_free);
