#include "check/check.h"

#include <stdio.h>
#include <string.h>

int weft_check_world(const char *function)
{
    switch (weft_world_state()) {
    case WEFT_WORLD_OPEN:
        return MPI_SUCCESS;
    case WEFT_WORLD_CLOSED:
        return strcmp(function, "MPI_Finalize") == 0
                   ? weft_raise(function, WEFT_E_FINALIZED_AGAIN)
                   : weft_raise(function, WEFT_E_FINALIZED);
    default:
        return weft_raise(function, WEFT_E_NOT_INITIALIZED);
    }
}

int weft_check_open(const char *function)
{
    return weft_likely(weft_world_state() == WEFT_WORLD_OPEN) || weft_runtime_is_open()
               ? MPI_SUCCESS
               : weft_check_world(function);
}

/* What the ABI's ranges of predefined handles are for. */
static const struct {
    enum weft_kind kind;
    uintptr_t first; /* the null handle, if it has a name */
    uintptr_t last;
    const char *null;
} ranges[] = {
    {WEFT_KIND_OP, 0x20, 0x3f, "MPI_OP_NULL"},
    {WEFT_KIND_COMM, 0x100, 0x107, "MPI_COMM_NULL"},
    {WEFT_KIND_GROUP, 0x108, 0x10f, "MPI_GROUP_NULL"},
    {WEFT_KIND_WIN, 0x110, 0x117, "MPI_WIN_NULL"},
    {WEFT_KIND_FILE, 0x118, 0x11f, "MPI_FILE_NULL"},
    {WEFT_KIND_SESSION, 0x120, 0x127, "MPI_SESSION_NULL"},
    {WEFT_KIND_MESSAGE, 0x128, 0x12f, "MPI_MESSAGE_NULL"},
    {WEFT_KIND_INFO, 0x130, 0x137, "MPI_INFO_NULL"},
    {WEFT_KIND_ERRHANDLER, 0x140, 0x17f, "MPI_ERRHANDLER_NULL"},
    {WEFT_KIND_REQUEST, 0x180, 0x1ff, "MPI_REQUEST_NULL"},
    {WEFT_KIND_DATATYPE, 0x200, 0x2ff, "MPI_DATATYPE_NULL"},
};

/* The range of a predefined handle; -1: none. */
static int range_of(uintptr_t value)
{
    for (int i = 0; i < (int)(sizeof(ranges) / sizeof(ranges[0])); i++) {
        if (value >= ranges[i].first && value <= ranges[i].last) {
            return i;
        }
    }
    return -1;
}

/* Returns the kind of object that a predefined or live handle names, 0 if that is not
 * known. */
static enum weft_kind kind_of(uintptr_t value)
{
    const int range = range_of(value);
    const enum weft_kind kind = weft_handle_kind(value);

    if (weft_handle_is_predefined(value)) {
        return range >= 0 ? ranges[range].kind : 0;
    }
    return kind != 0 && weft_handle_find(kind, value) != NULL ? kind : 0;
}

static const char *article_of(const char *name)
{
    return strchr("aeiou", name[0]) != NULL ? "an" : "a";
}

const char *weft_describe_handle(enum weft_kind kind, const void *handle, char *buffer,
                                 size_t size)
{
    const uintptr_t value = (uintptr_t)handle;
    const char *name = weft_kind_name(kind);
    const enum weft_kind is = kind_of(value);

    if (value == 0) {
        snprintf(buffer, size, WEFT_S_HANDLE_ZERO, name);
    } else if (is != 0 && is != kind) {
        snprintf(buffer, size, WEFT_S_HANDLE_KIND, (unsigned long)value,
                 article_of(weft_kind_name(is)), weft_kind_name(is), article_of(name),
                 name);
    } else if (is == kind && range_of(value) >= 0 &&
               value == ranges[range_of(value)].first) {
        snprintf(buffer, size, WEFT_S_HANDLE_NULL, name, ranges[range_of(value)].null);
    } else if (weft_handle_is_predefined(value)) {
        snprintf(buffer, size, WEFT_S_HANDLE_PREDEFINED, (unsigned long)value, name);
    } else {
        snprintf(buffer, size, WEFT_S_HANDLE_STALE, (unsigned long)value, name);
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
        return weft_raise(function, WEFT_E_COMM_NULL);
    }
    return weft_raise(function, MPI_ERR_COMM, WEFT_T_HANDLE,
                      weft_describe_handle(WEFT_KIND_COMM, handle, text, sizeof(text)));
}

int weft_bad_out(const char *function, struct weft_comm *comm, const char *name)
{
    return weft_raise_comm(comm, function, WEFT_E_NULL_ARGUMENT, name);
}

int weft_check_inter(const char *function, MPI_Comm handle, struct weft_comm **out)
{
    int err = weft_check_comm(function, handle, out);

    if (err == MPI_SUCCESS && !weft_comm_is_inter(*out)) {
        err = weft_raise_comm(*out, function, WEFT_E_COMM_INTRA);
    }
    return err;
}

int weft_check_intra(const char *function, MPI_Comm handle, struct weft_comm **out)
{
    int err = weft_check_comm(function, handle, out);

    if (err == MPI_SUCCESS && weft_comm_is_inter(*out)) {
        err = weft_raise_comm(*out, function, WEFT_E_COMM_INTER);
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
        return weft_raise(function, WEFT_E_SESSION_NULL);
    }
    return weft_raise(
        function, MPI_ERR_SESSION, WEFT_T_HANDLE,
        weft_describe_handle(WEFT_KIND_SESSION, handle, text, sizeof(text)));
}
