/*
 * collectives.c - MPI-5.0 chapter 6, and the neighbourhood collectives of chapter 8:
 * every operation is blocking, nonblocking and persistent, with counts of two widths.
 *
 * An operation is written down once: its parameters, by the types of counts C and of
 * displacements D, and which of them is what (struct weft_call). FACES makes the six
 * functions of it.
 */
#include "binding.h"

#include "check/coll.h"
#include "check/rc.h"
#include "coll/shape.h"
#include "coll/slots.h"
#include "engine/lock.h"

/* ---- the three ways ---- */

/* Notes the call in the black box. */
static void record(const struct weft_call *call)
{
    uint64_t bytes = weft_record_bytes(call->send.count, call->send.datatype);

    if (bytes == 0) {
        bytes = weft_record_bytes(call->recv.count, call->recv.datatype);
    }
    weft_record_begin(call->number, call->site, call->comm, WEFT_PLANE_COLL,
                      weft_coll_facts(call->kind)->is_rooted ? call->root
                                                             : WEFT_DOING_UNKNOWN,
                      MPI_ANY_TAG, bytes);
}

static int run(const struct weft_call *call)
{
    struct weft_coll coll;
    int err;

    record(call);
    err = weft_check_call(call, &coll);
    if (err == MPI_SUCCESS) {
        /* The barrier of all ranks can go through the node's segment, which needs nothing
         * that other collectives have not made anyway. */
        const bool is_world = call->kind == WEFT_COLL_BARRIER &&
                              coll.comm == &weft_comm_world &&
                              !weft_slots_are_made(coll.comm);
        const enum weft_rc rc =
            is_world ? weft_world_barrier(call->function, false) : weft_coll_run(&coll);

        err = weft_raise_rc(coll.comm, rc, call->function);
    }
    weft_coll_forget(&coll);
    weft_record_end();
    return err;
}

typedef enum weft_rc start_function(const struct weft_coll *coll,
                                    struct weft_request **out);

static int begin(const struct weft_call *call, start_function *start,
                 MPI_Request *request)
{
    struct weft_request *made;
    struct weft_coll coll;
    int err;

    record(call);
    err = weft_check_call(call, &coll);
    if (err == MPI_SUCCESS) {
        err = weft_check_out(call->function, coll.comm, request, "request");
    }
    if (err == MPI_SUCCESS) {
        const enum weft_rc rc = start(&coll, &made);

        err = weft_raise_rc(coll.comm, rc, call->function);
        if (rc == WEFT_OK) {
            *request = made->handle;
        }
    }
    weft_coll_forget(&coll);
    weft_record_end();
    return err;
}

/* ---- six functions of one operation ---- */

#define ORIGIN(Name)                                                                     \
    .function = "MPI_" #Name, .number = WEFT_CALL_##Name,                                \
    .site = __builtin_return_address(0), .comm = comm

#define WIDTH(Name, name, suffix, is_large, C, D, PARAMETERS, CALL)                      \
    int PMPI_##Name##suffix(PARAMETERS(C, D))                                            \
    {                                                                                    \
        const struct weft_call call = {ORIGIN(Name##suffix), CALL(is_large)};            \
                                                                                         \
        return run(&call);                                                               \
    }                                                                                    \
    WEFT_WEAK_ALIAS(MPI_##Name##suffix, PMPI_##Name##suffix);                            \
                                                                                         \
    int PMPI_I##name##suffix(PARAMETERS(C, D), MPI_Request *request)                     \
    {                                                                                    \
        const struct weft_call call = {ORIGIN(I##name##suffix), CALL(is_large)};         \
                                                                                         \
        return begin(&call, weft_coll_start, request);                                   \
    }                                                                                    \
    WEFT_WEAK_ALIAS(MPI_I##name##suffix, PMPI_I##name##suffix);                          \
                                                                                         \
    int PMPI_##Name##_init##suffix(PARAMETERS(C, D), MPI_Info info,                      \
                                   MPI_Request *request)                                 \
    {                                                                                    \
        const struct weft_call call = {ORIGIN(Name##_init##suffix), CALL(is_large)};     \
                                                                                         \
        (void)info; /* no hint is known */                                               \
        return begin(&call, weft_coll_init, request);                                    \
    }                                                                                    \
    WEFT_WEAK_ALIAS(MPI_##Name##_init##suffix, PMPI_##Name##_init##suffix)

#define FACES(Name, name, PARAMETERS, CALL)                                              \
    WIDTH(Name, name, , false, int, int, PARAMETERS, CALL);                              \
    WIDTH(Name, name, _c, true, MPI_Count, MPI_Aint, PARAMETERS, CALL)

#define FACES_WITHOUT_COUNTS(Name, name, PARAMETERS, CALL)                               \
    WIDTH(Name, name, , false, int, int, PARAMETERS, CALL)

/* ---- sides ---- */

#define SEND_ONE .send = {.buffer = sendbuf, .count = sendcount, .datatype = sendtype}
#define RECV_ONE .recv = {.buffer = recvbuf, .count = recvcount, .datatype = recvtype}
#define SEND_SIZES(is_large)                                                             \
    .send = {.buffer = sendbuf,                                                          \
             .datatype = sendtype,                                                       \
             .counts = sendcounts,                                                       \
             .displs = sdispls,                                                          \
             .has_large_counts = is_large,                                               \
             .has_large_displs = is_large}
#define RECV_SIZES(is_large, places)                                                     \
    .recv = {.buffer = recvbuf,                                                          \
             .datatype = recvtype,                                                       \
             .counts = recvcounts,                                                       \
             .displs = places,                                                           \
             .has_large_counts = is_large,                                               \
             .has_large_displs = is_large}
#define SEND_TYPES(is_large, has_large_places)                                           \
    .send = {.buffer = sendbuf,                                                          \
             .counts = sendcounts,                                                       \
             .displs = sdispls,                                                          \
             .datatypes = sendtypes,                                                     \
             .has_large_counts = is_large,                                               \
             .has_large_displs = has_large_places}
#define RECV_TYPES(is_large, has_large_places)                                           \
    .recv = {.buffer = recvbuf,                                                          \
             .counts = recvcounts,                                                       \
             .displs = rdispls,                                                          \
             .datatypes = recvtypes,                                                     \
             .has_large_counts = is_large,                                               \
             .has_large_displs = has_large_places}

/* ---- no data, and one root ---- */

#define BARRIER_PARAMETERS(C, D) MPI_Comm comm
#define BARRIER_CALL(is_large)   .kind = WEFT_COLL_BARRIER
FACES_WITHOUT_COUNTS(Barrier, barrier, BARRIER_PARAMETERS, BARRIER_CALL);

#define BCAST_PARAMETERS(C, D)                                                           \
    void *buffer, C count, MPI_Datatype datatype, int root, MPI_Comm comm
#define BCAST_CALL(is_large)                                                             \
    .kind = WEFT_COLL_BCAST, .root = root,                                               \
    .recv = {.buffer = buffer, .count = count, .datatype = datatype}
FACES(Bcast, bcast, BCAST_PARAMETERS, BCAST_CALL);

#define GATHER_PARAMETERS(C, D)                                                          \
    const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, \
        MPI_Datatype recvtype, int root, MPI_Comm comm
#define GATHER_CALL(is_large) .kind = WEFT_COLL_GATHER, .root = root, SEND_ONE, RECV_ONE
FACES(Gather, gather, GATHER_PARAMETERS, GATHER_CALL);

#define SCATTER_CALL(is_large) .kind = WEFT_COLL_SCATTER, .root = root, SEND_ONE, RECV_ONE
FACES(Scatter, scatter, GATHER_PARAMETERS, SCATTER_CALL);

#define GATHERV_PARAMETERS(C, D)                                                         \
    const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf,              \
        const C recvcounts[], const D displs[], MPI_Datatype recvtype, int root,         \
        MPI_Comm comm
#define GATHERV_CALL(is_large)                                                           \
    .kind = WEFT_COLL_GATHERV, .root = root, SEND_ONE, RECV_SIZES(is_large, displs)
FACES(Gatherv, gatherv, GATHERV_PARAMETERS, GATHERV_CALL);

#define SCATTERV_PARAMETERS(C, D)                                                        \
    const void *sendbuf, const C sendcounts[], const D displs[], MPI_Datatype sendtype,  \
        void *recvbuf, C recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm
#define SCATTERV_CALL(is_large)                                                          \
    .kind = WEFT_COLL_SCATTERV, .root = root, RECV_ONE,                                  \
    .send = {.buffer = sendbuf,                                                          \
             .datatype = sendtype,                                                       \
             .counts = sendcounts,                                                       \
             .displs = displs,                                                           \
             .has_large_counts = is_large,                                               \
             .has_large_displs = is_large}
FACES(Scatterv, scatterv, SCATTERV_PARAMETERS, SCATTERV_CALL);

/* ---- all to all, and to neighbours ---- */

#define ALL_PARAMETERS(C, D)                                                             \
    const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, \
        MPI_Datatype recvtype, MPI_Comm comm
#define ALLGATHER_CALL(is_large) .kind = WEFT_COLL_ALLGATHER, SEND_ONE, RECV_ONE
#define ALLTOALL_CALL(is_large)  .kind = WEFT_COLL_ALLTOALL, SEND_ONE, RECV_ONE
#define NEIGHBOR_ALLGATHER_CALL(is_large)                                                \
    .kind = WEFT_COLL_NEIGHBOR_ALLGATHER, SEND_ONE, RECV_ONE
#define NEIGHBOR_ALLTOALL_CALL(is_large)                                                 \
    .kind = WEFT_COLL_NEIGHBOR_ALLTOALL, SEND_ONE, RECV_ONE
FACES(Allgather, allgather, ALL_PARAMETERS, ALLGATHER_CALL);
FACES(Alltoall, alltoall, ALL_PARAMETERS, ALLTOALL_CALL);
FACES(Neighbor_allgather, neighbor_allgather, ALL_PARAMETERS, NEIGHBOR_ALLGATHER_CALL);
FACES(Neighbor_alltoall, neighbor_alltoall, ALL_PARAMETERS, NEIGHBOR_ALLTOALL_CALL);

#define ALLGATHERV_PARAMETERS(C, D)                                                      \
    const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf,              \
        const C recvcounts[], const D displs[], MPI_Datatype recvtype, MPI_Comm comm
#define ALLGATHERV_CALL(is_large)                                                        \
    .kind = WEFT_COLL_ALLGATHERV, SEND_ONE, RECV_SIZES(is_large, displs)
#define NEIGHBOR_ALLGATHERV_CALL(is_large)                                               \
    .kind = WEFT_COLL_NEIGHBOR_ALLGATHERV, SEND_ONE, RECV_SIZES(is_large, displs)
FACES(Allgatherv, allgatherv, ALLGATHERV_PARAMETERS, ALLGATHERV_CALL);
FACES(Neighbor_allgatherv, neighbor_allgatherv, ALLGATHERV_PARAMETERS,
      NEIGHBOR_ALLGATHERV_CALL);

#define ALLTOALLV_PARAMETERS(C, D)                                                       \
    const void *sendbuf, const C sendcounts[], const D sdispls[], MPI_Datatype sendtype, \
        void *recvbuf, const C recvcounts[], const D rdispls[], MPI_Datatype recvtype,   \
        MPI_Comm comm
#define ALLTOALLV_CALL(is_large)                                                         \
    .kind = WEFT_COLL_ALLTOALLV, SEND_SIZES(is_large), RECV_SIZES(is_large, rdispls)
#define NEIGHBOR_ALLTOALLV_CALL(is_large)                                                \
    .kind = WEFT_COLL_NEIGHBOR_ALLTOALLV, SEND_SIZES(is_large),                          \
    RECV_SIZES(is_large, rdispls)
FACES(Alltoallv, alltoallv, ALLTOALLV_PARAMETERS, ALLTOALLV_CALL);
FACES(Neighbor_alltoallv, neighbor_alltoallv, ALLTOALLV_PARAMETERS,
      NEIGHBOR_ALLTOALLV_CALL);

#define ALLTOALLW_PARAMETERS(C, D)                                                       \
    const void *sendbuf, const C sendcounts[], const D sdispls[],                        \
        const MPI_Datatype sendtypes[], void *recvbuf, const C recvcounts[],             \
        const D rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
#define ALLTOALLW_CALL(is_large)                                                         \
    .kind = WEFT_COLL_ALLTOALLW, SEND_TYPES(is_large, is_large),                         \
    RECV_TYPES(is_large, is_large)
FACES(Alltoallw, alltoallw, ALLTOALLW_PARAMETERS, ALLTOALLW_CALL);

/* Its displacements are addresses, whatever its counts are. */
#define NEIGHBOR_ALLTOALLW_PARAMETERS(C, D) ALLTOALLW_PARAMETERS(C, MPI_Aint)
#define NEIGHBOR_ALLTOALLW_CALL(is_large)                                                \
    .kind = WEFT_COLL_NEIGHBOR_ALLTOALLW, SEND_TYPES(is_large, true),                    \
    RECV_TYPES(is_large, true)
FACES(Neighbor_alltoallw, neighbor_alltoallw, NEIGHBOR_ALLTOALLW_PARAMETERS,
      NEIGHBOR_ALLTOALLW_CALL);

/* ---- reductions ---- */

#define BOTH_SIDES                                                                       \
    .op = op, .send = {.buffer = sendbuf, .count = count, .datatype = datatype},         \
    .recv = {.buffer = recvbuf, .count = count, .datatype = datatype}

#define REDUCE_PARAMETERS(C, D)                                                          \
    const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op,       \
        int root, MPI_Comm comm
#define REDUCE_CALL(is_large) .kind = WEFT_COLL_REDUCE, .root = root, BOTH_SIDES
FACES(Reduce, reduce, REDUCE_PARAMETERS, REDUCE_CALL);

#define ALLREDUCE_PARAMETERS(C, D)                                                       \
    const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op,       \
        MPI_Comm comm
#define ALLREDUCE_CALL(is_large) .kind = WEFT_COLL_ALLREDUCE, BOTH_SIDES
#define SCAN_CALL(is_large)      .kind = WEFT_COLL_SCAN, BOTH_SIDES
#define EXSCAN_CALL(is_large)    .kind = WEFT_COLL_EXSCAN, BOTH_SIDES
FACES(Allreduce, allreduce, ALLREDUCE_PARAMETERS, ALLREDUCE_CALL);
FACES(Scan, scan, ALLREDUCE_PARAMETERS, SCAN_CALL);
FACES(Exscan, exscan, ALLREDUCE_PARAMETERS, EXSCAN_CALL);

#define REDUCE_SCATTER_BLOCK_PARAMETERS(C, D)                                            \
    const void *sendbuf, void *recvbuf, C recvcount, MPI_Datatype datatype, MPI_Op op,   \
        MPI_Comm comm
#define REDUCE_SCATTER_BLOCK_CALL(is_large)                                              \
    .kind = WEFT_COLL_REDUCE_SCATTER_BLOCK, .op = op,                                    \
    .send = {.buffer = sendbuf, .count = recvcount, .datatype = datatype},               \
    .recv = {.buffer = recvbuf, .count = recvcount, .datatype = datatype}
FACES(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK_PARAMETERS,
      REDUCE_SCATTER_BLOCK_CALL);

#define REDUCE_SCATTER_PARAMETERS(C, D)                                                  \
    const void *sendbuf, void *recvbuf, const C recvcounts[], MPI_Datatype datatype,     \
        MPI_Op op, MPI_Comm comm
#define REDUCE_SCATTER_CALL(is_large)                                                    \
    .kind = WEFT_COLL_REDUCE_SCATTER, .op = op,                                          \
    .send = {.buffer = sendbuf,                                                          \
             .datatype = datatype,                                                       \
             .counts = recvcounts,                                                       \
             .has_large_counts = is_large},                                              \
    .recv = {.buffer = recvbuf,                                                          \
             .datatype = datatype,                                                       \
             .counts = recvcounts,                                                       \
             .has_large_counts = is_large}
FACES(Reduce_scatter, reduce_scatter, REDUCE_SCATTER_PARAMETERS, REDUCE_SCATTER_CALL);
