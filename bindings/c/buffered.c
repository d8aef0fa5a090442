/*
 * buffered.c - MPI-5.0 chapter 3.6: sending in buffered mode, and the buffers for it. A
 * communicator, a session and the process have the same functions, which differ in whose
 * error handler is told.
 */
#include "binding.h"

#include "check/p2p.h"
#include "check/rc.h"
#include "p2p/buffered.h"

#include <limits.h>

/* ---- sending ---- */

static int bsend_checked(const char *function, const void *buffer, MPI_Count count,
                         MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct weft_data data = {.bytes = 0};
    struct weft_comm *c;
    enum weft_rc rc;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_buffer(function, c, buffer, count, datatype, &data.bytes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_dest(function, c, dest, tag);
    }
    if (err != MPI_SUCCESS || dest == MPI_PROC_NULL) {
        return err;
    }
    data = weft_data_of(buffer, count, weft_datatype_from_handle(datatype), data.bytes);
    rc = weft_bsend(c, dest, tag, &data);
    if (rc == WEFT_ERR_BUFFER) {
        return weft_raise_comm(c, function, WEFT_E_BSEND_NO_ROOM, data.bytes, dest);
    }
    return weft_raise_rc(c, rc, function);
}

/* It is over when it has been copied. */
static int ibsend_checked(const char *function, const void *buffer, MPI_Count count,
                          MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                          MPI_Request *request)
{
    struct weft_comm *c;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, request, "request");
    }
    if (err == MPI_SUCCESS) {
        err = bsend_checked(function, buffer, count, datatype, dest, tag, comm);
    }
    if (err == MPI_SUCCESS) {
        *request = weft_request_sent.handle;
    }
    return err;
}

int PMPI_Bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm)
{
    WEFT_RECORD(Bsend, comm, WEFT_PLANE_P2P, dest, tag,
                weft_record_bytes(count, datatype));

    return bsend_checked("MPI_Bsend", buf, count, datatype, dest, tag, comm);
}
WEFT_WEAK_ALIAS(MPI_Bsend, PMPI_Bsend);

int PMPI_Bsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm)
{
    WEFT_RECORD(Bsend_c, comm, WEFT_PLANE_P2P, dest, tag,
                weft_record_bytes(count, datatype));

    return bsend_checked("MPI_Bsend_c", buf, count, datatype, dest, tag, comm);
}
WEFT_WEAK_ALIAS(MPI_Bsend_c, PMPI_Bsend_c);

int PMPI_Ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm, MPI_Request *request)
{
    WEFT_RECORD(Ibsend, comm, WEFT_PLANE_P2P, dest, tag,
                weft_record_bytes(count, datatype));

    return ibsend_checked("MPI_Ibsend", buf, count, datatype, dest, tag, comm, request);
}
WEFT_WEAK_ALIAS(MPI_Ibsend, PMPI_Ibsend);

int PMPI_Ibsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Request *request)
{
    WEFT_RECORD(Ibsend_c, comm, WEFT_PLANE_P2P, dest, tag,
                weft_record_bytes(count, datatype));

    return ibsend_checked("MPI_Ibsend_c", buf, count, datatype, dest, tag, comm, request);
}
WEFT_WEAK_ALIAS(MPI_Ibsend_c, PMPI_Ibsend_c);

/* ---- whose buffer ---- */

struct owner {
    struct weft_comm *comm;
    struct weft_session *session;
};

static struct weft_buffer_owner core_owner(const struct owner *owner)
{
    return (struct weft_buffer_owner){
        .comm = owner->comm,
        .session = owner->session != NULL ? owner->session->number : 0,
    };
}

static int check_process(const char *function, struct owner *owner)
{
    *owner = (struct owner){NULL, NULL};
    return weft_check_open(function);
}

static int check_comm(const char *function, MPI_Comm comm, struct owner *owner)
{
    *owner = (struct owner){NULL, NULL};
    return weft_check_comm(function, comm, &owner->comm);
}

static int check_session(const char *function, MPI_Session session, struct owner *owner)
{
    *owner = (struct owner){NULL, NULL};
    return weft_check_session(function, session, &owner->session);
}

static int raise(const struct owner *owner, const char *function, int class,
                 const char *text, const char *cure)
{
    return owner->session != NULL
               ? weft_raise_session(owner->session, function, class, "%s", cure, text)
               : weft_raise_comm(owner->comm, function, class, "%s", cure, text);
}

static int raise_rc(const struct owner *owner, enum weft_rc rc, const char *function)
{
    return rc == WEFT_OK ? MPI_SUCCESS : raise(owner, function, WEFT_E_NO_MEM);
}

/* ---- what is done with it; `err` is what became of the check of the owner ---- */

static int attach(const char *function, int err, const struct owner *owner, void *buffer,
                  MPI_Count size)
{
    enum weft_rc rc;

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (buffer != MPI_BUFFER_AUTOMATIC && size < 0) {
        return raise(owner, function, WEFT_E_ATTACH_SIZE);
    }
    if (buffer == NULL && size > 0) {
        return raise(owner, function, WEFT_E_ATTACH_NULL);
    }
    rc = weft_buffer_attach(core_owner(owner), buffer, (uint64_t)size);
    if (rc == WEFT_ERR_BUFFER) {
        return raise(owner, function, WEFT_E_ATTACHED);
    }
    return raise_rc(owner, rc, function);
}

static int detach(const char *function, int err, const struct owner *owner,
                  void *buffer_addr, const void *size, struct weft_attached *was)
{
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (buffer_addr == NULL) {
        return raise(owner, function, WEFT_E_ATTACH_NO_ADDRESS);
    }
    if (size == NULL) {
        return raise(owner, function, WEFT_E_ATTACH_NO_SIZE);
    }
    *was = weft_buffer_detach(core_owner(owner), function);
    *(void **)buffer_addr = was->memory;
    return MPI_SUCCESS;
}

static int detach_int(const char *function, int err, const struct owner *owner,
                      void *buffer_addr, int *size)
{
    struct weft_attached was;

    err = detach(function, err, owner, buffer_addr, size, &was);
    if (err == MPI_SUCCESS) {
        *size = was.size <= INT_MAX ? (int)was.size : MPI_UNDEFINED;
    }
    return err;
}

static int detach_count(const char *function, int err, const struct owner *owner,
                        void *buffer_addr, MPI_Count *size)
{
    struct weft_attached was;

    err = detach(function, err, owner, buffer_addr, size, &was);
    if (err == MPI_SUCCESS) {
        *size = (MPI_Count)was.size;
    }
    return err;
}

static int flush(const char *function, int err, const struct owner *owner)
{
    return err == MPI_SUCCESS
               ? raise_rc(owner, weft_buffer_flush(core_owner(owner), function), function)
               : err;
}

static int iflush(const char *function, int err, const struct owner *owner,
                  MPI_Request *request)
{
    struct weft_request *made;
    enum weft_rc rc;

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (request == NULL) {
        return raise(owner, function, WEFT_E_ATTACH_NO_REQUEST);
    }
    rc = weft_buffer_iflush(core_owner(owner), &made);
    if (rc == WEFT_OK) {
        *request = made->handle;
    }
    return raise_rc(owner, rc, function);
}

/* ---- the process ---- */

int PMPI_Buffer_attach(void *buffer, int size)
{
    static const char function[] = "MPI_Buffer_attach";
    struct owner owner;
    const int err = check_process(function, &owner);

    return attach(function, err, &owner, buffer, size);
}
WEFT_WEAK_ALIAS(MPI_Buffer_attach, PMPI_Buffer_attach);

int PMPI_Buffer_attach_c(void *buffer, MPI_Count size)
{
    static const char function[] = "MPI_Buffer_attach_c";
    struct owner owner;
    const int err = check_process(function, &owner);

    return attach(function, err, &owner, buffer, size);
}
WEFT_WEAK_ALIAS(MPI_Buffer_attach_c, PMPI_Buffer_attach_c);

int PMPI_Buffer_detach(void *buffer_addr, int *size)
{
    WEFT_RECORD_PLAIN(Buffer_detach);
    static const char function[] = "MPI_Buffer_detach";
    struct owner owner;
    const int err = check_process(function, &owner);

    return detach_int(function, err, &owner, buffer_addr, size);
}
WEFT_WEAK_ALIAS(MPI_Buffer_detach, PMPI_Buffer_detach);

int PMPI_Buffer_detach_c(void *buffer_addr, MPI_Count *size)
{
    WEFT_RECORD_PLAIN(Buffer_detach_c);
    static const char function[] = "MPI_Buffer_detach_c";
    struct owner owner;
    const int err = check_process(function, &owner);

    return detach_count(function, err, &owner, buffer_addr, size);
}
WEFT_WEAK_ALIAS(MPI_Buffer_detach_c, PMPI_Buffer_detach_c);

int PMPI_Buffer_flush(void)
{
    WEFT_RECORD_PLAIN(Buffer_flush);
    static const char function[] = "MPI_Buffer_flush";
    struct owner owner;
    const int err = check_process(function, &owner);

    return flush(function, err, &owner);
}
WEFT_WEAK_ALIAS(MPI_Buffer_flush, PMPI_Buffer_flush);

int PMPI_Buffer_iflush(MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Buffer_iflush);
    static const char function[] = "MPI_Buffer_iflush";
    struct owner owner;
    const int err = check_process(function, &owner);

    return iflush(function, err, &owner, request);
}
WEFT_WEAK_ALIAS(MPI_Buffer_iflush, PMPI_Buffer_iflush);

/* ---- communicators ---- */

int PMPI_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size)
{
    static const char function[] = "MPI_Comm_attach_buffer";
    struct owner owner;
    const int err = check_comm(function, comm, &owner);

    return attach(function, err, &owner, buffer, size);
}
WEFT_WEAK_ALIAS(MPI_Comm_attach_buffer, PMPI_Comm_attach_buffer);

int PMPI_Comm_attach_buffer_c(MPI_Comm comm, void *buffer, MPI_Count size)
{
    static const char function[] = "MPI_Comm_attach_buffer_c";
    struct owner owner;
    const int err = check_comm(function, comm, &owner);

    return attach(function, err, &owner, buffer, size);
}
WEFT_WEAK_ALIAS(MPI_Comm_attach_buffer_c, PMPI_Comm_attach_buffer_c);

int PMPI_Comm_detach_buffer(MPI_Comm comm, void *buffer_addr, int *size)
{
    WEFT_RECORD(Comm_detach_buffer, comm, WEFT_PLANE_P2P, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                0);
    static const char function[] = "MPI_Comm_detach_buffer";
    struct owner owner;
    const int err = check_comm(function, comm, &owner);

    return detach_int(function, err, &owner, buffer_addr, size);
}
WEFT_WEAK_ALIAS(MPI_Comm_detach_buffer, PMPI_Comm_detach_buffer);

int PMPI_Comm_detach_buffer_c(MPI_Comm comm, void *buffer_addr, MPI_Count *size)
{
    WEFT_RECORD(Comm_detach_buffer_c, comm, WEFT_PLANE_P2P, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);
    static const char function[] = "MPI_Comm_detach_buffer_c";
    struct owner owner;
    const int err = check_comm(function, comm, &owner);

    return detach_count(function, err, &owner, buffer_addr, size);
}
WEFT_WEAK_ALIAS(MPI_Comm_detach_buffer_c, PMPI_Comm_detach_buffer_c);

int PMPI_Comm_flush_buffer(MPI_Comm comm)
{
    WEFT_RECORD(Comm_flush_buffer, comm, WEFT_PLANE_P2P, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                0);
    static const char function[] = "MPI_Comm_flush_buffer";
    struct owner owner;
    const int err = check_comm(function, comm, &owner);

    return flush(function, err, &owner);
}
WEFT_WEAK_ALIAS(MPI_Comm_flush_buffer, PMPI_Comm_flush_buffer);

int PMPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    WEFT_RECORD(Comm_iflush_buffer, comm, WEFT_PLANE_P2P, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                0);
    static const char function[] = "MPI_Comm_iflush_buffer";
    struct owner owner;
    const int err = check_comm(function, comm, &owner);

    return iflush(function, err, &owner, request);
}
WEFT_WEAK_ALIAS(MPI_Comm_iflush_buffer, PMPI_Comm_iflush_buffer);

/* ---- sessions ---- */

int PMPI_Session_attach_buffer(MPI_Session session, void *buffer, int size)
{
    static const char function[] = "MPI_Session_attach_buffer";
    struct owner owner;
    const int err = check_session(function, session, &owner);

    return attach(function, err, &owner, buffer, size);
}
WEFT_WEAK_ALIAS(MPI_Session_attach_buffer, PMPI_Session_attach_buffer);

int PMPI_Session_attach_buffer_c(MPI_Session session, void *buffer, MPI_Count size)
{
    static const char function[] = "MPI_Session_attach_buffer_c";
    struct owner owner;
    const int err = check_session(function, session, &owner);

    return attach(function, err, &owner, buffer, size);
}
WEFT_WEAK_ALIAS(MPI_Session_attach_buffer_c, PMPI_Session_attach_buffer_c);

int PMPI_Session_detach_buffer(MPI_Session session, void *buffer_addr, int *size)
{
    WEFT_RECORD_PLAIN(Session_detach_buffer);
    static const char function[] = "MPI_Session_detach_buffer";
    struct owner owner;
    const int err = check_session(function, session, &owner);

    return detach_int(function, err, &owner, buffer_addr, size);
}
WEFT_WEAK_ALIAS(MPI_Session_detach_buffer, PMPI_Session_detach_buffer);

int PMPI_Session_detach_buffer_c(MPI_Session session, void *buffer_addr, MPI_Count *size)
{
    WEFT_RECORD_PLAIN(Session_detach_buffer_c);
    static const char function[] = "MPI_Session_detach_buffer_c";
    struct owner owner;
    const int err = check_session(function, session, &owner);

    return detach_count(function, err, &owner, buffer_addr, size);
}
WEFT_WEAK_ALIAS(MPI_Session_detach_buffer_c, PMPI_Session_detach_buffer_c);

int PMPI_Session_flush_buffer(MPI_Session session)
{
    WEFT_RECORD_PLAIN(Session_flush_buffer);
    static const char function[] = "MPI_Session_flush_buffer";
    struct owner owner;
    const int err = check_session(function, session, &owner);

    return flush(function, err, &owner);
}
WEFT_WEAK_ALIAS(MPI_Session_flush_buffer, PMPI_Session_flush_buffer);

int PMPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Session_iflush_buffer);
    static const char function[] = "MPI_Session_iflush_buffer";
    struct owner owner;
    const int err = check_session(function, session, &owner);

    return iflush(function, err, &owner, request);
}
WEFT_WEAK_ALIAS(MPI_Session_iflush_buffer, PMPI_Session_iflush_buffer);
