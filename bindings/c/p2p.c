/*
 * p2p.c - MPI-5.0 chapter 3: sending and receiving. A function and its _c twin differ
 * only in the width of `count`, so both are a line over one checked function.
 */
#include "complete.h"
#include "status.h"

#include "check/p2p.h"
#include "check/rc.h"
#include "p2p/p2p.h"
#include "p2p/send_small.h"

/* One body for each name: the mode and the name are constants in it. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* The call that is made, for the black box and for error messages: two arguments, `call`
 * and `site`. */
#define ORIGIN(Name) WEFT_CALL_##Name, __builtin_return_address(0)

/* MPI_PROC_NULL, data that are not contiguous, NULL for a buffer of nothing or with
 * absolute addresses, and whatever is wrong. */
static __attribute__((noinline)) int
send_unusual(const void *buffer, MPI_Count count, MPI_Datatype datatype, int dest,
             int tag, MPI_Comm comm, enum weft_send_mode mode, const char *function)
{
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
    if (err != MPI_SUCCESS || dest == MPI_PROC_NULL) {
        return err;
    }
    data = weft_data_of(buffer, count, weft_datatype_from_handle(datatype), bytes);
    rc = weft_send_data(c, dest, tag, &data, WEFT_PLANE_P2P | (unsigned)mode);
    return rc == WEFT_OK ? MPI_SUCCESS : weft_raise_rc(c, rc, function);
}

/* A part of another call: it is not noted. */
static int send_part(const void *buffer, MPI_Count count, MPI_Datatype datatype, int dest,
                     int tag, MPI_Comm comm, const char *function)
{
    struct weft_comm *c = weft_comm_from_handle(comm);
    uint32_t bytes;
    enum weft_rc rc;

    if (weft_unlikely(c == NULL ||
                      !weft_is_plain_buffer(buffer, count, datatype, &bytes) ||
                      !weft_is_plain_rank(c, dest, tag))) {
        return send_unusual(buffer, count, datatype, dest, tag, comm, WEFT_SEND_STANDARD,
                            function);
    }
    rc = weft_send(c, dest, tag, buffer, bytes, WEFT_PLANE_P2P | WEFT_SEND_STANDARD);
    return weft_likely(rc == WEFT_OK) ? MPI_SUCCESS : weft_raise_rc(c, rc, function);
}

/* The same as a call of its own. */
static __attribute__((noinline)) int
send_unusual_call(const void *buffer, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, enum weft_send_mode mode,
                  enum weft_call_number call, const void *site)
{
    int err;

    weft_record_begin(call, site, comm, WEFT_PLANE_P2P, dest, tag,
                      weft_record_bytes(count, datatype));
    err = send_unusual(buffer, count, datatype, dest, tag, comm, mode,
                       weft_trace_name(call));
    weft_record_end();
    return err;
}

/* The way of a small message is in line: see p2p/send_small.h. */
static ALWAYS_INLINE int send_on(struct weft_comm *c, const void *buffer, MPI_Count count,
                                 MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                                 enum weft_send_mode mode, enum weft_call_number call,
                                 const void *site)
{
    struct weft_trace_slot *slot;
    uint32_t bytes;
    enum weft_rc rc;

    if (weft_unlikely(!weft_is_plain_buffer(buffer, count, datatype, &bytes) ||
                      !weft_is_plain_rank(c, dest, tag))) {
        return send_unusual_call(buffer, count, datatype, dest, tag, comm, mode, call,
                                 site);
    }
    weft_lock();
    slot = weft_record_untimed(call, site, c->context | WEFT_PLANE_P2P, dest, tag, bytes);
    weft_recorder_enter();
    rc = weft_send_small(c, dest, tag, buffer, bytes, WEFT_PLANE_P2P,
                         mode == WEFT_SEND_STANDARD);
    weft_trace_set_time(slot);
    if (weft_unlikely(rc == WEFT_AGAIN)) {
        rc =
            weft_send_block(c, dest, tag, buffer, bytes, WEFT_PLANE_P2P | (unsigned)mode);
    }
    weft_recorder_leave();
    weft_unlock();
    return weft_likely(rc == WEFT_OK) ? MPI_SUCCESS
                                      : weft_raise_rc(c, rc, weft_trace_name(call));
}

/* On communicators that have to be found first. */
static __attribute__((noinline)) int
send_elsewhere(const void *buffer, MPI_Count count, MPI_Datatype datatype, int dest,
               int tag, MPI_Comm comm, enum weft_send_mode mode,
               enum weft_call_number call, const void *site)
{
    struct weft_comm *c = weft_comm_from_handle(comm);

    return weft_likely(c != NULL)
               ? send_on(c, buffer, count, datatype, dest, tag, comm, mode, call, site)
               : send_unusual_call(buffer, count, datatype, dest, tag, comm, mode, call,
                                   site);
}

static ALWAYS_INLINE int send_checked(enum weft_call_number call, const void *site,
                                      const void *buffer, MPI_Count count,
                                      MPI_Datatype datatype, int dest, int tag,
                                      MPI_Comm comm, enum weft_send_mode mode)
{
    return weft_likely(comm == MPI_COMM_WORLD)
               ? send_on(&weft_comm_world, buffer, count, datatype, dest, tag, comm, mode,
                         call, site)
               : send_elsewhere(buffer, count, datatype, dest, tag, comm, mode, call,
                                site);
}

static __attribute__((noinline)) int
isend_unusual(const void *buffer, MPI_Count count, MPI_Datatype datatype, int dest,
              int tag, MPI_Comm comm, enum weft_send_mode mode, MPI_Request *request,
              enum weft_call_number call, const void *site)
{
    const char *function = weft_trace_name(call);
    struct weft_comm *c;
    struct weft_request *made = &weft_request_sent;
    size_t bytes = 0;
    enum weft_rc rc = WEFT_OK;
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
    weft_record_quickly(call, site, c->context | WEFT_PLANE_P2P, dest, tag, bytes);
    if (dest != MPI_PROC_NULL) {
        const struct weft_data data =
            weft_data_of(buffer, count, weft_datatype_from_handle(datatype), bytes);

        rc = weft_isend_data(c, dest, tag, &data, WEFT_PLANE_P2P | (unsigned)mode, &made);
    }
    weft_record_end();
    if (rc != WEFT_OK) {
        return weft_raise_rc(c, rc, function);
    }
    *request = made->handle;
    return MPI_SUCCESS;
}

/* The way of a small message is in line: see p2p/send_small.h. */
static ALWAYS_INLINE int isend_on(struct weft_comm *c, const void *buffer,
                                  MPI_Count count, MPI_Datatype datatype, int dest,
                                  int tag, MPI_Comm comm, enum weft_send_mode mode,
                                  MPI_Request *request, enum weft_call_number call,
                                  const void *site)
{
    struct weft_request *made = &weft_request_sent;
    struct weft_trace_slot *slot;
    uint32_t bytes;
    enum weft_rc rc;

    if (weft_unlikely(!weft_is_plain_buffer(buffer, count, datatype, &bytes) ||
                      !weft_is_plain_rank(c, dest, tag) || request == NULL)) {
        return isend_unusual(buffer, count, datatype, dest, tag, comm, mode, request,
                             call, site);
    }
    weft_lock();
    slot = weft_record_untimed(call, site, c->context | WEFT_PLANE_P2P, dest, tag, bytes);
    weft_recorder_enter();
    rc = weft_send_small(c, dest, tag, buffer, bytes, WEFT_PLANE_P2P,
                         mode == WEFT_SEND_STANDARD);
    weft_trace_set_time(slot);
    if (weft_unlikely(rc == WEFT_AGAIN)) {
        rc = weft_isend_block(c, dest, tag, buffer, bytes,
                              WEFT_PLANE_P2P | (unsigned)mode, &made);
        weft_engine_leave();
    }
    weft_recorder_leave();
    weft_unlock();
    if (weft_unlikely(rc != WEFT_OK)) {
        return weft_raise_rc(c, rc, weft_trace_name(call));
    }
    *request = made->handle;
    return MPI_SUCCESS;
}

static __attribute__((noinline)) int
isend_elsewhere(const void *buffer, MPI_Count count, MPI_Datatype datatype, int dest,
                int tag, MPI_Comm comm, enum weft_send_mode mode, MPI_Request *request,
                enum weft_call_number call, const void *site)
{
    struct weft_comm *c = weft_comm_from_handle(comm);

    return weft_likely(c != NULL) ? isend_on(c, buffer, count, datatype, dest, tag, comm,
                                             mode, request, call, site)
                                  : isend_unusual(buffer, count, datatype, dest, tag,
                                                  comm, mode, request, call, site);
}

static ALWAYS_INLINE int isend_checked(enum weft_call_number call, const void *site,
                                       const void *buffer, MPI_Count count,
                                       MPI_Datatype datatype, int dest, int tag,
                                       MPI_Comm comm, enum weft_send_mode mode,
                                       MPI_Request *request)
{
    return weft_likely(comm == MPI_COMM_WORLD)
               ? isend_on(&weft_comm_world, buffer, count, datatype, dest, tag, comm,
                          mode, request, call, site)
               : isend_elsewhere(buffer, count, datatype, dest, tag, comm, mode, request,
                                 call, site);
}

/* Of a receive that failed. */
static __attribute__((noinline, cold)) int
recv_failed(enum weft_rc rc, MPI_Comm comm, const struct weft_received *received,
            MPI_Status *status, enum weft_call_number call)
{
    if (status != MPI_STATUS_IGNORE &&
        (rc == WEFT_ERR_TRUNCATE || rc == WEFT_ERR_PROC_FAILED)) {
        weft_status_set(status, received->source, received->tag, received->bytes, false);
    }
    return weft_raise_rc(weft_comm_from_handle(comm), rc, weft_trace_name(call));
}

static ALWAYS_INLINE int finish_recv(enum weft_rc rc, MPI_Comm comm,
                                     const struct weft_received *received,
                                     MPI_Status *status, enum weft_call_number call)
{
    if (weft_unlikely(rc != WEFT_OK)) {
        return recv_failed(rc, comm, received, status, call);
    }
    if (status != MPI_STATUS_IGNORE) {
        weft_status_set(status, received->source, received->tag, received->bytes, false);
    }
    return MPI_SUCCESS;
}

static int recv_any(void *buffer, MPI_Count count, MPI_Datatype datatype, int source,
                    int tag, MPI_Comm comm, MPI_Status *status,
                    enum weft_call_number call)
{
    const char *function = weft_trace_name(call);
    struct weft_received received;
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
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (source == MPI_PROC_NULL) {
        weft_status_set_proc_null(status);
        return MPI_SUCCESS;
    }
    data = weft_data_of(buffer, count, weft_datatype_from_handle(datatype), bytes);
    rc = weft_recv_data(c, WEFT_PLANE_P2P, source, tag, &data, &received);
    return finish_recv(rc, comm, &received, status, call);
}

static __attribute__((noinline)) int
recv_unusual(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag,
             MPI_Comm comm, MPI_Status *status, enum weft_call_number call,
             const void *site)
{
    int err;

    weft_record_begin(call, site, comm, WEFT_PLANE_P2P, source, tag,
                      weft_record_bytes(count, datatype));
    err = recv_any(buffer, count, datatype, source, tag, comm, status, call);
    weft_record_end();
    return err;
}

static ALWAYS_INLINE int recv_on(struct weft_comm *c, void *buffer, MPI_Count count,
                                 MPI_Datatype datatype, int source, int tag,
                                 MPI_Comm comm, MPI_Status *status,
                                 enum weft_call_number call, const void *site)
{
    struct weft_received received;
    uint32_t bytes;
    enum weft_rc rc;

    if (weft_unlikely(!weft_is_plain_buffer(buffer, count, datatype, &bytes) ||
                      !weft_is_plain_rank(c, source, tag))) {
        return recv_unusual(buffer, count, datatype, source, tag, comm, status, call,
                            site);
    }
    rc = weft_recv_call(c, call, source, tag, buffer, bytes, &received, site);
    return finish_recv(rc, comm, &received, status, call);
}

static __attribute__((noinline)) int
recv_elsewhere(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag,
               MPI_Comm comm, MPI_Status *status, enum weft_call_number call,
               const void *site)
{
    struct weft_comm *c = weft_comm_from_handle(comm);

    return weft_likely(c != NULL) ? recv_on(c, buffer, count, datatype, source, tag, comm,
                                            status, call, site)
                                  : recv_unusual(buffer, count, datatype, source, tag,
                                                 comm, status, call, site);
}

static ALWAYS_INLINE int recv_checked(enum weft_call_number call, const void *site,
                                      void *buffer, MPI_Count count,
                                      MPI_Datatype datatype, int source, int tag,
                                      MPI_Comm comm, MPI_Status *status)
{
    return weft_likely(comm == MPI_COMM_WORLD)
               ? recv_on(&weft_comm_world, buffer, count, datatype, source, tag, comm,
                         status, call, site)
               : recv_elsewhere(buffer, count, datatype, source, tag, comm, status, call,
                                site);
}

/* The caller notes that the call returns: it may be MPI_Sendrecv. */
static __attribute__((noinline)) int
irecv_unusual(void *buffer, MPI_Count count, MPI_Datatype datatype, int source, int tag,
              MPI_Comm comm, MPI_Request *request, enum weft_call_number call,
              const void *site)
{
    const char *function = weft_trace_name(call);
    struct weft_comm *c;
    struct weft_request *made;
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
    weft_record_quickly(call, site, c->context | WEFT_PLANE_P2P, source, tag, bytes);
    if (source == MPI_PROC_NULL) {
        rc = weft_irecv_nothing(c, &made);
    } else {
        const struct weft_data data =
            weft_data_of(buffer, count, weft_datatype_from_handle(datatype), bytes);

        rc = weft_irecv_data(c, WEFT_PLANE_P2P, source, tag, &data, &made);
    }
    if (rc != WEFT_OK) {
        return weft_raise_rc(c, rc, function);
    }
    *request = made->handle;
    return MPI_SUCCESS;
}

/* The caller notes that the call returns. */
static ALWAYS_INLINE int irecv_checked(enum weft_call_number call, const void *site,
                                       void *buffer, MPI_Count count,
                                       MPI_Datatype datatype, int source, int tag,
                                       MPI_Comm comm, MPI_Request *request)
{
    struct weft_comm *c = weft_likely(comm == MPI_COMM_WORLD)
                              ? &weft_comm_world
                              : weft_comm_from_handle(comm);
    struct weft_request *made;
    uint32_t bytes;
    enum weft_rc rc;

    if (weft_unlikely(c == NULL ||
                      !weft_is_plain_buffer(buffer, count, datatype, &bytes) ||
                      !weft_is_plain_rank(c, source, tag) || request == NULL)) {
        return irecv_unusual(buffer, count, datatype, source, tag, comm, request, call,
                             site);
    }
    weft_lock();
    weft_record(call, site, c->context | WEFT_PLANE_P2P, source, tag, bytes);
    weft_recorder_enter();
    rc = weft_irecv_block(c, source, tag, buffer, bytes, &made);
    weft_engine_leave();
    weft_unlock();
    if (weft_unlikely(rc != WEFT_OK)) {
        return weft_raise_rc(c, rc, weft_trace_name(call));
    }
    *request = made->handle;
    return MPI_SUCCESS;
}

static int sendrecv_checked(enum weft_call_number call, const void *site,
                            const char *function, const void *sendbuf,
                            MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                            int sendtag, void *recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                            MPI_Status *status)
{
    MPI_Request request;
    int send_err;
    int err = irecv_checked(call, site, recvbuf, recvcount, recvtype, source, recvtag,
                            comm, &request);

    if (err != MPI_SUCCESS) {
        return err;
    }
    send_err = send_part(sendbuf, sendcount, sendtype, dest, sendtag, comm, function);
    if (send_err != MPI_SUCCESS) {
        weft_cancel_recv(&request);
        return send_err;
    }
    return weft_complete(function, &request, status);
}

int PMPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
              MPI_Comm comm)
{
    return send_checked(ORIGIN(Send), buf, count, datatype, dest, tag, comm,
                        WEFT_SEND_STANDARD);
}
WEFT_WEAK_ALIAS(MPI_Send, PMPI_Send);

int PMPI_Ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm)
{
    return send_checked(ORIGIN(Ssend), buf, count, datatype, dest, tag, comm,
                        WEFT_SEND_SYNCHRONOUS);
}
WEFT_WEAK_ALIAS(MPI_Ssend, PMPI_Ssend);

int PMPI_Rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm)
{
    return send_checked(ORIGIN(Rsend), buf, count, datatype, dest, tag, comm,
                        WEFT_SEND_READY);
}
WEFT_WEAK_ALIAS(MPI_Rsend, PMPI_Rsend);

int PMPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    return isend_checked(ORIGIN(Isend), buf, count, datatype, dest, tag, comm,
                         WEFT_SEND_STANDARD, request);
}
WEFT_WEAK_ALIAS(MPI_Isend, PMPI_Isend);

int PMPI_Issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm, MPI_Request *request)
{
    return isend_checked(ORIGIN(Issend), buf, count, datatype, dest, tag, comm,
                         WEFT_SEND_SYNCHRONOUS, request);
}
WEFT_WEAK_ALIAS(MPI_Issend, PMPI_Issend);

int PMPI_Irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm, MPI_Request *request)
{
    return isend_checked(ORIGIN(Irsend), buf, count, datatype, dest, tag, comm,
                         WEFT_SEND_READY, request);
}
WEFT_WEAK_ALIAS(MPI_Irsend, PMPI_Irsend);

int PMPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
              MPI_Comm comm, MPI_Status *status)
{
    return recv_checked(ORIGIN(Recv), buf, count, datatype, source, tag, comm, status);
}
WEFT_WEAK_ALIAS(MPI_Recv, PMPI_Recv);

int PMPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    int err =
        irecv_checked(ORIGIN(Irecv), buf, count, datatype, source, tag, comm, request);

    weft_record_end();
    return err;
}
WEFT_WEAK_ALIAS(MPI_Irecv, PMPI_Irecv);

int PMPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                  int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                  int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    int err = sendrecv_checked(ORIGIN(Sendrecv), "MPI_Sendrecv", sendbuf, sendcount,
                               sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                               source, recvtag, comm, status);

    weft_record_end();
    return err;
}
WEFT_WEAK_ALIAS(MPI_Sendrecv, PMPI_Sendrecv);

int PMPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                int tag, MPI_Comm comm)
{
    return send_checked(ORIGIN(Send_c), buf, count, datatype, dest, tag, comm,
                        WEFT_SEND_STANDARD);
}
WEFT_WEAK_ALIAS(MPI_Send_c, PMPI_Send_c);

int PMPI_Ssend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm)
{
    return send_checked(ORIGIN(Ssend_c), buf, count, datatype, dest, tag, comm,
                        WEFT_SEND_SYNCHRONOUS);
}
WEFT_WEAK_ALIAS(MPI_Ssend_c, PMPI_Ssend_c);

int PMPI_Rsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm)
{
    return send_checked(ORIGIN(Rsend_c), buf, count, datatype, dest, tag, comm,
                        WEFT_SEND_READY);
}
WEFT_WEAK_ALIAS(MPI_Rsend_c, PMPI_Rsend_c);

int PMPI_Isend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm, MPI_Request *request)
{
    return isend_checked(ORIGIN(Isend_c), buf, count, datatype, dest, tag, comm,
                         WEFT_SEND_STANDARD, request);
}
WEFT_WEAK_ALIAS(MPI_Isend_c, PMPI_Isend_c);

int PMPI_Issend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Request *request)
{
    return isend_checked(ORIGIN(Issend_c), buf, count, datatype, dest, tag, comm,
                         WEFT_SEND_SYNCHRONOUS, request);
}
WEFT_WEAK_ALIAS(MPI_Issend_c, PMPI_Issend_c);

int PMPI_Irsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Request *request)
{
    return isend_checked(ORIGIN(Irsend_c), buf, count, datatype, dest, tag, comm,
                         WEFT_SEND_READY, request);
}
WEFT_WEAK_ALIAS(MPI_Irsend_c, PMPI_Irsend_c);

int PMPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Status *status)
{
    return recv_checked(ORIGIN(Recv_c), buf, count, datatype, source, tag, comm, status);
}
WEFT_WEAK_ALIAS(MPI_Recv_c, PMPI_Recv_c);

int PMPI_Irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Request *request)
{
    int err =
        irecv_checked(ORIGIN(Irecv_c), buf, count, datatype, source, tag, comm, request);

    weft_record_end();
    return err;
}
WEFT_WEAK_ALIAS(MPI_Irecv_c, PMPI_Irecv_c);

int PMPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                    int dest, int sendtag, void *recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                    MPI_Status *status)
{
    int err = sendrecv_checked(ORIGIN(Sendrecv_c), "MPI_Sendrecv_c", sendbuf, sendcount,
                               sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                               source, recvtag, comm, status);

    weft_record_end();
    return err;
}
WEFT_WEAK_ALIAS(MPI_Sendrecv_c, PMPI_Sendrecv_c);
