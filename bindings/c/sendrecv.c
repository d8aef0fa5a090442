/*
 * sendrecv.c - MPI-5.0 chapter 3.10: a send and a receive in one request, from one buffer
 * or two; p2p.c has the blocking call with two.
 *
 * A replacing call sends a packed copy, so that what it receives can go to its place at
 * once. MPI_Cancel does not take such a request back.
 */
#include "complete.h"
#include "status.h"

#include "check/p2p.h"
#include "check/rc.h"
#include "sched/sendrecv.h"

#include <stdlib.h>

/* What one of the two moves, and where. */
struct side {
    void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    int rank;
    int tag;
    size_t bytes; /* found by check() */
};

static struct weft_data data_of(const struct side *side)
{
    return weft_data_of(side->buffer, side->count,
                        weft_datatype_from_handle(side->datatype), side->bytes);
}

static int check(const char *function, MPI_Comm comm, struct side *send,
                 struct side *recv, struct weft_comm **c)
{
    int err = weft_check_comm(function, comm, c);

    if (err == MPI_SUCCESS) {
        err = weft_check_buffer(function, *c, send->buffer, send->count, send->datatype,
                                &send->bytes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_dest(function, *c, send->rank, send->tag);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_buffer(function, *c, recv->buffer, recv->count, recv->datatype,
                                &recv->bytes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_source(function, *c, recv->rank, recv->tag);
    }
    return err;
}

/* The data of a side, packed; NULL if there are none, or they go nowhere. */
static enum weft_rc copy_of(const struct side *side, void **out)
{
    const struct weft_data data = data_of(side);

    *out = NULL;
    if (side->bytes == 0 || side->rank == MPI_PROC_NULL) {
        return WEFT_OK;
    }
    *out = malloc(side->bytes);
    if (*out == NULL) {
        return WEFT_ERR_NOMEM;
    }
    weft_data_pack(&data, *out);
    return WEFT_OK;
}

/* Both, as one request, which owns the copy, or NULL, if it is made. */
static enum weft_rc start(struct weft_comm *comm, const struct side *send,
                          const struct side *recv, void *copy, struct weft_request **out)
{
    const struct weft_data packed = {.buffer = copy, .bytes = send->bytes};
    const struct weft_side from = {
        .rank = send->rank,
        .tag = send->tag,
        .data = copy != NULL ? packed : data_of(send),
    };
    const struct weft_side to = {
        .rank = recv->rank,
        .tag = recv->tag,
        .data = data_of(recv),
    };

    return weft_isendrecv(comm, &from, &to, copy, out);
}

static int isendrecv_checked(const char *function, struct side *send, struct side *recv,
                             bool is_replacing, MPI_Comm comm, MPI_Request *request)
{
    struct weft_request *made;
    struct weft_comm *c;
    void *copy = NULL;
    enum weft_rc rc = WEFT_OK;
    int err = check(function, comm, send, recv, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, request, "request");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (is_replacing) {
        rc = copy_of(send, &copy);
    }
    if (rc == WEFT_OK) {
        rc = start(c, send, recv, copy, &made);
    }
    if (rc != WEFT_OK) {
        free(copy);
        return weft_raise_rc(c, rc, function);
    }
    *request = made->handle;
    return MPI_SUCCESS;
}

static int isendrecv_replace_checked(const char *function, void *buffer, MPI_Count count,
                                     MPI_Datatype datatype, int dest, int sendtag,
                                     int source, int recvtag, MPI_Comm comm,
                                     MPI_Request *request)
{
    struct side send = {buffer, count, datatype, dest, sendtag, 0};
    struct side recv = {buffer, count, datatype, source, recvtag, 0};

    return isendrecv_checked(function, &send, &recv, true, comm, request);
}

static int sendrecv_replace_checked(const char *function, void *buffer, MPI_Count count,
                                    MPI_Datatype datatype, int dest, int sendtag,
                                    int source, int recvtag, MPI_Comm comm,
                                    MPI_Status *status)
{
    MPI_Request request;
    int err = isendrecv_replace_checked(function, buffer, count, datatype, dest, sendtag,
                                        source, recvtag, comm, &request);

    return err != MPI_SUCCESS ? err : weft_complete(function, &request, status);
}

int PMPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest,
                          int sendtag, int source, int recvtag, MPI_Comm comm,
                          MPI_Status *status)
{
    WEFT_RECORD(Sendrecv_replace, comm, WEFT_PLANE_P2P, source, recvtag,
                weft_record_bytes(count, datatype));

    return sendrecv_replace_checked("MPI_Sendrecv_replace", buf, count, datatype, dest,
                                    sendtag, source, recvtag, comm, status);
}
WEFT_WEAK_ALIAS(MPI_Sendrecv_replace, PMPI_Sendrecv_replace);

int PMPI_Sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int sendtag, int source, int recvtag, MPI_Comm comm,
                            MPI_Status *status)
{
    WEFT_RECORD(Sendrecv_replace_c, comm, WEFT_PLANE_P2P, source, recvtag,
                weft_record_bytes(count, datatype));

    return sendrecv_replace_checked("MPI_Sendrecv_replace_c", buf, count, datatype, dest,
                                    sendtag, source, recvtag, comm, status);
}
WEFT_WEAK_ALIAS(MPI_Sendrecv_replace_c, PMPI_Sendrecv_replace_c);

int PMPI_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                   int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                   int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    WEFT_RECORD(Isendrecv, comm, WEFT_PLANE_P2P, source, recvtag,
                weft_record_bytes(recvcount, recvtype));
    struct side send = {
        (void *)(uintptr_t)sendbuf, sendcount, sendtype, dest, sendtag, 0};
    struct side recv = {recvbuf, recvcount, recvtype, source, recvtag, 0};

    return isendrecv_checked("MPI_Isendrecv", &send, &recv, false, comm, request);
}
WEFT_WEAK_ALIAS(MPI_Isendrecv, PMPI_Isendrecv);

int PMPI_Isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                     int dest, int sendtag, void *recvbuf, MPI_Count recvcount,
                     MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                     MPI_Request *request)
{
    WEFT_RECORD(Isendrecv_c, comm, WEFT_PLANE_P2P, source, recvtag,
                weft_record_bytes(recvcount, recvtype));
    struct side send = {
        (void *)(uintptr_t)sendbuf, sendcount, sendtype, dest, sendtag, 0};
    struct side recv = {recvbuf, recvcount, recvtype, source, recvtag, 0};

    return isendrecv_checked("MPI_Isendrecv_c", &send, &recv, false, comm, request);
}
WEFT_WEAK_ALIAS(MPI_Isendrecv_c, PMPI_Isendrecv_c);

int PMPI_Isendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest,
                           int sendtag, int source, int recvtag, MPI_Comm comm,
                           MPI_Request *request)
{
    WEFT_RECORD(Isendrecv_replace, comm, WEFT_PLANE_P2P, source, recvtag,
                weft_record_bytes(count, datatype));

    return isendrecv_replace_checked("MPI_Isendrecv_replace", buf, count, datatype, dest,
                                     sendtag, source, recvtag, comm, request);
}
WEFT_WEAK_ALIAS(MPI_Isendrecv_replace, PMPI_Isendrecv_replace);

int PMPI_Isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int sendtag, int source, int recvtag, MPI_Comm comm,
                             MPI_Request *request)
{
    WEFT_RECORD(Isendrecv_replace_c, comm, WEFT_PLANE_P2P, source, recvtag,
                weft_record_bytes(count, datatype));

    return isendrecv_replace_checked("MPI_Isendrecv_replace_c", buf, count, datatype,
                                     dest, sendtag, source, recvtag, comm, request);
}
WEFT_WEAK_ALIAS(MPI_Isendrecv_replace_c, PMPI_Isendrecv_replace_c);
