#include "check/info.h"

#include "engine/lock.h"

#include <string.h>

int weft_check_info(const char *function, struct weft_comm *comm, MPI_Info handle,
                    struct weft_info **out)
{
    char text[128];

    weft_object_lock();
    *out = weft_info_from_handle(handle);
    weft_object_unlock();
    if (*out != NULL) {
        return MPI_SUCCESS;
    }
    if (handle == MPI_INFO_NULL) {
        return weft_raise_comm(comm, function, WEFT_E_INFO_NULL);
    }
    return weft_raise_comm(
        comm, function, MPI_ERR_INFO, WEFT_T_HANDLE,
        weft_describe_handle(WEFT_KIND_INFO, handle, text, sizeof(text)));
}

int weft_check_info_or_null(const char *function, struct weft_comm *comm, MPI_Info handle,
                            struct weft_info **out)
{
    if (handle == MPI_INFO_NULL) {
        *out = NULL;
        return MPI_SUCCESS;
    }
    return weft_check_info(function, comm, handle, out);
}

int weft_check_info_key(const char *function, const char *key)
{
    if (key == NULL) {
        return weft_raise(function, WEFT_E_INFO_KEY_NULL);
    }
    if (key[0] == '\0') {
        return weft_raise(function, WEFT_E_INFO_KEY_EMPTY);
    }
    if (strnlen(key, MPI_MAX_INFO_KEY) == MPI_MAX_INFO_KEY) {
        return weft_raise(function, WEFT_E_INFO_KEY_LONG, key, MPI_MAX_INFO_KEY - 1);
    }
    return MPI_SUCCESS;
}
