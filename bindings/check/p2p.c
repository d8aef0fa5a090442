#include "check/p2p.h"

#include "check/datatype.h"
#include "runtime/runtime.h"

int weft_bad_buffer(const char *function, struct weft_comm *comm, const void *buffer,
                    MPI_Count count, MPI_Datatype datatype)
{
    const struct weft_datatype *type = weft_datatype_from_handle(datatype);
    char text[WEFT_DATATYPE_TEXT];

    if (type == NULL) {
        return weft_bad_type(function, comm, datatype);
    }
    if (!type->is_committed) {
        return weft_check_committed(function, comm, type);
    }
    if (count < 0) {
        return weft_raise_comm(comm, function, WEFT_E_COUNT, (long long)count);
    }
    if (buffer == NULL) {
        return weft_raise_comm(comm, function, WEFT_E_BUFFER_NULL, (long long)count,
                               weft_datatype_describe(type, text, sizeof(text)));
    }
    return weft_raise_comm(comm, function, WEFT_E_COUNT_HUGE, (long long)count,
                           weft_datatype_describe(type, text, sizeof(text)));
}

static int bad_rank(const char *function, struct weft_comm *comm, const char *what,
                    int rank)
{
    const char *name = rank == MPI_ANY_SOURCE ? " (MPI_ANY_SOURCE)" : "";

    if (rank > 0 && weft_runtime_size() == 1) {
        return weft_raise_comm(comm, function, WEFT_E_RANK_ALONE, what, rank, name);
    }
    return weft_raise_comm(comm, function, WEFT_E_RANK, what, rank, name,
                           comm->peers - 1);
}

static int bad_tag(const char *function, struct weft_comm *comm, int tag)
{
    return weft_raise_comm(comm, function, WEFT_E_TAG, tag,
                           tag == MPI_ANY_TAG ? ", MPI_ANY_TAG, in a send" : "");
}

/* Both may find nothing wrong: the callers know only the common case. */
int weft_bad_dest(const char *function, struct weft_comm *comm, int dest, int tag)
{
    if (weft_unlikely((unsigned)dest >= (unsigned)comm->peers && dest != MPI_PROC_NULL)) {
        return bad_rank(function, comm, "destination", dest);
    }
    return weft_likely(tag >= 0) ? MPI_SUCCESS : bad_tag(function, comm, tag);
}

int weft_bad_source(const char *function, struct weft_comm *comm, int source, int tag)
{
    if (weft_unlikely((unsigned)source >= (unsigned)comm->peers &&
                      source != MPI_PROC_NULL && source != MPI_ANY_SOURCE)) {
        return bad_rank(function, comm, "source", source);
    }
    return weft_likely(tag >= 0 || tag == MPI_ANY_TAG) ? MPI_SUCCESS
                                                       : bad_tag(function, comm, tag);
}
