/*
 * collectives.c - MPI-5.0 chapter 6. A function and its _c twin differ only in the width
 * of their counts, so both are a line over one checked function.
 */
#include "binding.h"
#include "coll_data.h"

#include "check/rc.h"
#include "coll/coll.h"

int PMPI_Barrier(MPI_Comm comm)
{
    struct weft_comm *c;
    enum weft_rc rc;
    int err = weft_check_coll("MPI_Barrier", comm, &c);

    if (err != MPI_SUCCESS) {
        return err;
    }
    /* That of all ranks can go through the node's segment. */
    rc = c == &weft_comm_world
             ? weft_world_barrier("MPI_Barrier")
             : weft_barrier(&(struct weft_coll){c, "MPI_Barrier", WEFT_COLL_BARRIER});
    return weft_raise_rc(c, rc, "MPI_Barrier");
}
WEFT_WEAK_ALIAS(MPI_Barrier, PMPI_Barrier);

static int bcast_checked(const char *function, void *buffer, MPI_Count count,
                         MPI_Datatype datatype, int root, MPI_Comm comm)
{
    struct weft_blocks blocks = {buffer, count, datatype, .is_for_each = false};
    struct weft_coll_data side;
    struct weft_comm *c;
    enum weft_rc rc;
    int err = weft_check_coll(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_root(function, c, root);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_blocks(function, c, &blocks);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_coll_data_open(&side, &blocks, 1);
    if (rc == WEFT_OK) {
        rc = weft_bcast(&(struct weft_coll){c, function, WEFT_COLL_BCAST}, side.data,
                        blocks.bytes, root);
        weft_coll_data_close(&side, c->rank != root);
    }
    return weft_raise_rc(c, rc, function);
}

int PMPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return bcast_checked("MPI_Bcast", buffer, count, datatype, root, comm);
}
WEFT_WEAK_ALIAS(MPI_Bcast, PMPI_Bcast);

int PMPI_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root,
                 MPI_Comm comm)
{
    return bcast_checked("MPI_Bcast_c", buffer, count, datatype, root, comm);
}
WEFT_WEAK_ALIAS(MPI_Bcast_c, PMPI_Bcast_c);

/* `recvbuf` matters where `has_result`; nobody else can be in place. */
static int check_reduction(const char *function, struct weft_comm *comm,
                           const void *sendbuf, const void *recvbuf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Op op, bool has_result)
{
    struct weft_blocks send = {sendbuf, count, datatype, .is_for_each = false};
    struct weft_blocks recv = {recvbuf, count, datatype, .is_for_each = false};
    int err = has_result ? weft_check_sides(function, comm, &send, &recv)
                         : weft_check_blocks(function, comm, &send);

    if (err != MPI_SUCCESS) {
        return err;
    }
    return weft_check_op(function, comm, op, weft_datatype_from_handle(datatype));
}

static int reduce_checked(const char *function, const void *sendbuf, void *recvbuf,
                          MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                          MPI_Comm comm)
{
    struct weft_comm *c;
    enum weft_rc rc;
    int err = weft_check_coll(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_root(function, c, root);
    }
    if (err == MPI_SUCCESS) {
        err = check_reduction(function, c, sendbuf, recvbuf, count, datatype, op,
                              c->rank == root);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_reduce(&(struct weft_coll){c, function, WEFT_COLL_REDUCE}, sendbuf, recvbuf,
                     (size_t)count, weft_datatype_from_handle(datatype), op, root);
    return weft_raise_rc(c, rc, function);
}

int PMPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                MPI_Op op, int root, MPI_Comm comm)
{
    return reduce_checked("MPI_Reduce", sendbuf, recvbuf, count, datatype, op, root,
                          comm);
}
WEFT_WEAK_ALIAS(MPI_Reduce, PMPI_Reduce);

int PMPI_Reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    return reduce_checked("MPI_Reduce_c", sendbuf, recvbuf, count, datatype, op, root,
                          comm);
}
WEFT_WEAK_ALIAS(MPI_Reduce_c, PMPI_Reduce_c);

static int allreduce_checked(const char *function, const void *sendbuf, void *recvbuf,
                             MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm)
{
    struct weft_comm *c;
    enum weft_rc rc;
    int err = weft_check_coll(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = check_reduction(function, c, sendbuf, recvbuf, count, datatype, op, true);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_allreduce(&(struct weft_coll){c, function, WEFT_COLL_ALLREDUCE}, sendbuf,
                        recvbuf, (size_t)count, weft_datatype_from_handle(datatype), op);
    return weft_raise_rc(c, rc, function);
}

int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                   MPI_Op op, MPI_Comm comm)
{
    return allreduce_checked("MPI_Allreduce", sendbuf, recvbuf, count, datatype, op,
                             comm);
}
WEFT_WEAK_ALIAS(MPI_Allreduce, PMPI_Allreduce);

int PMPI_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                     MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return allreduce_checked("MPI_Allreduce_c", sendbuf, recvbuf, count, datatype, op,
                             comm);
}
WEFT_WEAK_ALIAS(MPI_Allreduce_c, PMPI_Allreduce_c);

/* Both or none. */
static enum weft_rc open_sides(struct weft_coll_data *from,
                               const struct weft_blocks *send, struct weft_coll_data *to,
                               const struct weft_blocks *recv, int ranks)
{
    enum weft_rc rc = weft_coll_data_open(from, send, ranks);

    if (rc == WEFT_OK) {
        rc = weft_coll_data_open(to, recv, ranks);
        if (rc != WEFT_OK) {
            weft_coll_data_close(from, false);
        }
    }
    return rc;
}

static int gather_checked(const char *function, const void *sendbuf, MPI_Count sendcount,
                          MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                          MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct weft_blocks send = {sendbuf, sendcount, sendtype, .is_for_each = false};
    struct weft_blocks recv = {recvbuf, recvcount, recvtype, .is_for_each = true};
    struct weft_coll_data from;
    struct weft_coll_data to;
    struct weft_comm *c;
    enum weft_rc rc;
    int err = weft_check_coll(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_root(function, c, root);
    }
    if (err == MPI_SUCCESS) {
        err = c->rank == root ? weft_check_sides(function, c, &send, &recv)
                              : weft_check_blocks(function, c, &send);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = open_sides(&from, &send, &to, &recv, c->size);
    if (rc == WEFT_OK) {
        rc = weft_gather(&(struct weft_coll){c, function, WEFT_COLL_GATHER}, from.data,
                         send.bytes, to.data, recv.bytes, root);
        weft_coll_data_close(&from, false);
        weft_coll_data_close(&to, true);
    }
    return weft_raise_rc(c, rc, function);
}

int PMPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return gather_checked("MPI_Gather", sendbuf, sendcount, sendtype, recvbuf, recvcount,
                          recvtype, root, comm);
}
WEFT_WEAK_ALIAS(MPI_Gather, PMPI_Gather);

int PMPI_Gather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                  MPI_Comm comm)
{
    return gather_checked("MPI_Gather_c", sendbuf, sendcount, sendtype, recvbuf,
                          recvcount, recvtype, root, comm);
}
WEFT_WEAK_ALIAS(MPI_Gather_c, PMPI_Gather_c);

/* MPI_Allgather and MPI_Alltoall: one sends everyone the same, the other does not. */
static int all_checked(const char *function, enum weft_coll_kind kind,
                       const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       MPI_Comm comm)
{
    const bool is_for_each = kind == WEFT_COLL_ALLTOALL;
    struct weft_blocks send = {sendbuf, sendcount, sendtype, .is_for_each = is_for_each};
    struct weft_blocks recv = {recvbuf, recvcount, recvtype, .is_for_each = true};
    struct weft_coll_data from;
    struct weft_coll_data to;
    struct weft_comm *c;
    enum weft_rc rc;
    int err = weft_check_coll(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_sides(function, c, &send, &recv);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = open_sides(&from, &send, &to, &recv, c->size);
    if (rc == WEFT_OK) {
        rc = (is_for_each ? weft_alltoall
                          : weft_allgather)(&(struct weft_coll){c, function, kind},
                                            from.data, send.bytes, to.data, recv.bytes);
        weft_coll_data_close(&from, false);
        weft_coll_data_close(&to, true);
    }
    return weft_raise_rc(c, rc, function);
}

int PMPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                   void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return all_checked("MPI_Allgather", WEFT_COLL_ALLGATHER, sendbuf, sendcount, sendtype,
                       recvbuf, recvcount, recvtype, comm);
}
WEFT_WEAK_ALIAS(MPI_Allgather, PMPI_Allgather);

int PMPI_Allgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                     void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                     MPI_Comm comm)
{
    return all_checked("MPI_Allgather_c", WEFT_COLL_ALLGATHER, sendbuf, sendcount,
                       sendtype, recvbuf, recvcount, recvtype, comm);
}
WEFT_WEAK_ALIAS(MPI_Allgather_c, PMPI_Allgather_c);

int PMPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return all_checked("MPI_Alltoall", WEFT_COLL_ALLTOALL, sendbuf, sendcount, sendtype,
                       recvbuf, recvcount, recvtype, comm);
}
WEFT_WEAK_ALIAS(MPI_Alltoall, PMPI_Alltoall);

int PMPI_Alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                    void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                    MPI_Comm comm)
{
    return all_checked("MPI_Alltoall_c", WEFT_COLL_ALLTOALL, sendbuf, sendcount, sendtype,
                       recvbuf, recvcount, recvtype, comm);
}
WEFT_WEAK_ALIAS(MPI_Alltoall_c, PMPI_Alltoall_c);
