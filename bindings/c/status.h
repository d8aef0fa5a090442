/*
 * status.h - the part of MPI_Status that is ours: the bytes received, 64 bits wide, and
 * the cancelled flag. Its alignment is that of an int, so they are copied in and out.
 */
#ifndef WEFT_BINDING_STATUS_H
#define WEFT_BINDING_STATUS_H

#include "binding.h"

#include <stdint.h>
#include <string.h>

enum { WEFT_STATUS_CANCELLED = 2 }; /* behind the two words of the count */

static inline void weft_status_set(MPI_Status *status, int source, int tag,
                                   uint64_t bytes, bool is_cancelled)
{
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    memcpy(status->MPI_internal, &bytes, sizeof(bytes));
    status->MPI_internal[WEFT_STATUS_CANCELLED] = is_cancelled;
}

static inline uint64_t weft_status_bytes(const MPI_Status *status)
{
    uint64_t bytes;

    memcpy(&bytes, status->MPI_internal, sizeof(bytes));
    return bytes;
}

/* What a call on a null or inactive request gives (MPI-5.0, 3.7.3). */
static inline void weft_status_set_empty(MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE) {
        weft_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
        status->MPI_ERROR = MPI_SUCCESS;
    }
}

/* What receiving from MPI_PROC_NULL gives (MPI-5.0, 3.11). */
static inline void weft_status_set_proc_null(MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE) {
        weft_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
    }
}

#endif
