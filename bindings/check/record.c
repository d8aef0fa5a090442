#include "check/record.h"

#include "datatype/datatype.h"

static uint32_t saturate(uint64_t bytes)
{
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static void record(enum weft_call_number call, const void *site, uint32_t context,
                   int peer, int tag, uint64_t bytes)
{
    const bool is_alone = weft_lock_is_biased();

    if (!is_alone) {
        weft_lock();
    }
    weft_recorder_call(call, site, context, peer, tag, saturate(bytes));
    if (!is_alone) {
        weft_unlock();
    }
}

void weft_record_begin(enum weft_call_number call, const void *site, MPI_Comm comm,
                       enum weft_plane plane, int peer, int tag, uint64_t bytes)
{
    const struct weft_comm *c = weft_comm_from_handle(comm);

    record(call, site, c != NULL ? c->context | plane : WEFT_TRACE_NO_CONTEXT, peer, tag,
           bytes);
}

void weft_record_plain(enum weft_call_number call, const void *site)
{
    record(call, site, WEFT_TRACE_NO_CONTEXT, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
}

void weft_record_abort(const void *site, const struct weft_comm *comm, int code)
{
    weft_recorder_call(WEFT_CALL_Abort, site,
                       comm != NULL ? comm->context : WEFT_TRACE_NO_CONTEXT,
                       WEFT_DOING_UNKNOWN, code, 0);
}

uint64_t weft_record_bytes(MPI_Count count, MPI_Datatype datatype)
{
    const struct weft_datatype *type = weft_datatype_from_handle(datatype);
    uint64_t bytes;

    if (type == NULL || count < 0) {
        return 0;
    }
    return __builtin_mul_overflow((uint64_t)count, (uint64_t)type->size, &bytes)
               ? UINT64_MAX
               : bytes;
}
