/*
 * persistent.c - MPI-5.0 chapter 3.9: requests that are started as often as wanted.
 */
#include "complete.h"

#include "check/p2p.h"
#include "check/rc.h"
#include "p2p/p2p.h"
#include "p2p/state.h"
#include "engine/lock.h"

static int finish_init(const char *function, struct weft_comm *comm, enum weft_rc rc,
                       const struct weft_request *made, MPI_Request *request)
{
    if (rc != WEFT_OK) {
        return weft_raise_rc(comm, rc, function);
    }
    *request = made->handle;
    return MPI_SUCCESS;
}

static int send_init_checked(const char *function, const void *buffer, MPI_Count count,
                             MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                             enum weft_send_mode mode, MPI_Request *request)
{
    struct weft_request *made = NULL;
    struct weft_data data;
    struct weft_comm *c;
    size_t bytes = 0;
    enum weft_rc rc;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_buffer(function, c, buffer, count, datatype, &bytes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_dest(function, c, dest, tag);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, request, "request");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    data = weft_data_of(buffer, count, weft_datatype_from_handle(datatype), bytes);
    rc = weft_send_init(c, dest, tag, &data, WEFT_PLANE_P2P | (unsigned)mode, &made);
    return finish_init(function, c, rc, made, request);
}

static int recv_init_checked(const char *function, void *buffer, MPI_Count count,
                             MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                             MPI_Request *request)
{
    struct weft_request *made = NULL;
    struct weft_data data;
    struct weft_comm *c;
    size_t bytes = 0;
    enum weft_rc rc;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_buffer(function, c, buffer, count, datatype, &bytes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_source(function, c, source, tag);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, request, "request");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    data = weft_data_of(buffer, count, weft_datatype_from_handle(datatype), bytes);
    rc = weft_recv_init(c, source, tag, &data, &made);
    return finish_init(function, c, rc, made, request);
}

int PMPI_Send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    return send_init_checked("MPI_Send_init", buf, count, datatype, dest, tag, comm,
                             WEFT_SEND_STANDARD, request);
}
WEFT_WEAK_ALIAS(MPI_Send_init, PMPI_Send_init);

int PMPI_Ssend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request *request)
{
    return send_init_checked("MPI_Ssend_init", buf, count, datatype, dest, tag, comm,
                             WEFT_SEND_SYNCHRONOUS, request);
}
WEFT_WEAK_ALIAS(MPI_Ssend_init, PMPI_Ssend_init);

int PMPI_Bsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request *request)
{
    return send_init_checked("MPI_Bsend_init", buf, count, datatype, dest, tag, comm,
                             WEFT_SEND_BUFFERED, request);
}
WEFT_WEAK_ALIAS(MPI_Bsend_init, PMPI_Bsend_init);

int PMPI_Rsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request *request)
{
    return send_init_checked("MPI_Rsend_init", buf, count, datatype, dest, tag, comm,
                             WEFT_SEND_READY, request);
}
WEFT_WEAK_ALIAS(MPI_Rsend_init, PMPI_Rsend_init);

int PMPI_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    return recv_init_checked("MPI_Recv_init", buf, count, datatype, source, tag, comm,
                             request);
}
WEFT_WEAK_ALIAS(MPI_Recv_init, PMPI_Recv_init);

int PMPI_Send_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                     int tag, MPI_Comm comm, MPI_Request *request)
{
    return send_init_checked("MPI_Send_init_c", buf, count, datatype, dest, tag, comm,
                             WEFT_SEND_STANDARD, request);
}
WEFT_WEAK_ALIAS(MPI_Send_init_c, PMPI_Send_init_c);

int PMPI_Ssend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                      int tag, MPI_Comm comm, MPI_Request *request)
{
    return send_init_checked("MPI_Ssend_init_c", buf, count, datatype, dest, tag, comm,
                             WEFT_SEND_SYNCHRONOUS, request);
}
WEFT_WEAK_ALIAS(MPI_Ssend_init_c, PMPI_Ssend_init_c);

int PMPI_Bsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                      int tag, MPI_Comm comm, MPI_Request *request)
{
    return send_init_checked("MPI_Bsend_init_c", buf, count, datatype, dest, tag, comm,
                             WEFT_SEND_BUFFERED, request);
}
WEFT_WEAK_ALIAS(MPI_Bsend_init_c, PMPI_Bsend_init_c);

int PMPI_Rsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                      int tag, MPI_Comm comm, MPI_Request *request)
{
    return send_init_checked("MPI_Rsend_init_c", buf, count, datatype, dest, tag, comm,
                             WEFT_SEND_READY, request);
}
WEFT_WEAK_ALIAS(MPI_Rsend_init_c, PMPI_Rsend_init_c);

int PMPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source,
                     int tag, MPI_Comm comm, MPI_Request *request)
{
    return recv_init_checked("MPI_Recv_init_c", buf, count, datatype, source, tag, comm,
                             request);
}
WEFT_WEAK_ALIAS(MPI_Recv_init_c, PMPI_Recv_init_c);

/* ---- starting ---- */

static int start_checked(const char *function, MPI_Request handle)
{
    struct weft_request *request;
    struct weft_comm *comm;
    enum weft_rc rc = WEFT_OK;
    bool is_inactive = false;

    weft_lock();
    request = weft_request_from_handle(handle);
    if (weft_likely(request != NULL && request->is_inactive)) {
        is_inactive = true;
        rc = weft_request_start(request);
        weft_engine_leave();
    }
    comm = request != NULL ? request->comm : NULL;
    weft_unlock();
    if (weft_likely(is_inactive && rc == WEFT_OK)) {
        return MPI_SUCCESS;
    }
    if (request == NULL) {
        return weft_find_request(function, handle, &request); /* says what is wrong */
    }
    if (rc != WEFT_OK) {
        return weft_raise_rc(comm, rc, function);
    }
    if (request->persistent != NULL) {
        return weft_raise_comm(comm, function, WEFT_E_REQUEST_ACTIVE);
    }
    return weft_raise_comm(comm, function, WEFT_E_REQUEST_NOT_PERSISTENT);
}

int PMPI_Start(MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Start);
    int err = weft_check_out("MPI_Start", NULL, request, "request");

    return err != MPI_SUCCESS ? err : start_checked("MPI_Start", *request);
}
WEFT_WEAK_ALIAS(MPI_Start, PMPI_Start);

/* In their order, up to the first that cannot be started. */
int PMPI_Startall(int count, MPI_Request array_of_requests[])
{
    WEFT_RECORD_PLAIN(Startall);
    int err = weft_check_requests("MPI_Startall", count, array_of_requests);

    for (int i = 0; i < count && err == MPI_SUCCESS; i++) {
        err = start_checked("MPI_Startall", array_of_requests[i]);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Startall, PMPI_Startall);
