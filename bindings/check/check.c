#include "check/check.h"

#include <stdio.h>

int weft_check_world(const char *function)
{
    switch (weft_world_state()) {
    case WEFT_WORLD_OPEN:
        return MPI_SUCCESS;
    case WEFT_WORLD_CLOSED:
        return weft_raise(MPI_ERR_OTHER, function, "called after MPI_Finalize");
    default:
        return weft_raise(MPI_ERR_OTHER, function,
                          "called before MPI_Init: call MPI_Init first");
    }
}

int weft_check_open(const char *function)
{
    return weft_likely(weft_world_state() == WEFT_WORLD_OPEN) || weft_runtime_is_open()
               ? MPI_SUCCESS
               : weft_check_world(function);
}

const char *weft_describe_handle(enum weft_kind kind, const void *handle, char *buffer,
                                 size_t size)
{
    uintptr_t value = (uintptr_t)handle;

    if (value == 0) {
        snprintf(buffer, size, "0 is no %s: was the variable set?", weft_kind_name(kind));
    } else if (weft_handle_is_predefined(value)) {
        snprintf(buffer, size, "predefined handle 0x%lx is not a usable %s",
                 (unsigned long)value, weft_kind_name(kind));
    } else {
        snprintf(buffer, size, "handle 0x%lx is no live %s: freed, or never made here",
                 (unsigned long)value, weft_kind_name(kind));
    }
    return buffer;
}

int weft_bad_comm(const char *function, MPI_Comm handle)
{
    char text[128];
    int err;

    err = weft_check_open(function);
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (handle == MPI_COMM_NULL) {
        return weft_raise(MPI_ERR_COMM, function, "the communicator is MPI_COMM_NULL");
    }
    return weft_raise(MPI_ERR_COMM, function, "%s",
                      weft_describe_handle(WEFT_KIND_COMM, handle, text, sizeof(text)));
}

int weft_bad_out(const char *function, struct weft_comm *comm, const char *name)
{
    return weft_raise_comm(comm, MPI_ERR_ARG, function, "argument %s is NULL", name);
}

int weft_check_inter(const char *function, MPI_Comm handle, struct weft_comm **out)
{
    int err = weft_check_comm(function, handle, out);

    if (err == MPI_SUCCESS && !weft_comm_is_inter(*out)) {
        err = weft_raise_comm(*out, MPI_ERR_COMM, function,
                              "it is an intracommunicator: there is no remote group");
    }
    return err;
}

int weft_check_intra(const char *function, MPI_Comm handle, struct weft_comm **out)
{
    int err = weft_check_comm(function, handle, out);

    if (err == MPI_SUCCESS && weft_comm_is_inter(*out)) {
        err = weft_raise_comm(*out, MPI_ERR_COMM, function,
                              "it is an intercommunicator, which this call cannot use");
    }
    return err;
}

int weft_check_session(const char *function, MPI_Session handle,
                       struct weft_session **out)
{
    char text[128];

    *out = weft_session_from_handle(handle);
    if (*out != NULL) {
        return MPI_SUCCESS;
    }
    if (handle == MPI_SESSION_NULL) {
        return weft_raise(MPI_ERR_SESSION, function, "the session is MPI_SESSION_NULL");
    }
    return weft_raise(
        MPI_ERR_SESSION, function, "%s",
        weft_describe_handle(WEFT_KIND_SESSION, handle, text, sizeof(text)));
}
