/*
 * probe.c - MPI-5.0 chapter 3.8: messages looked at before they are received, and
 * received by the handle that a matching probe gives.
 *
 * Which handler: the communicator's, of the call or of the message. A handle that is no
 * message has none, and MPI_ERR_ARG, since the standard has no class for it.
 */
#include "complete.h"
#include "status.h"

#include "check/p2p.h"
#include "check/rc.h"
#include "p2p/probe.h"
#include "engine/lock.h"

/* Where results go; what a call does not have is NULL. */
struct results {
    int *flag;
    MPI_Message *message;
    MPI_Status *status;
};

static int check_probe(const char *function, int source, int tag, MPI_Comm comm,
                       struct weft_comm **c)
{
    int err = weft_check_comm(function, comm, c);

    return err != MPI_SUCCESS ? err : weft_check_source(function, *c, source, tag);
}

/* From MPI_PROC_NULL there is always a message, of nothing (MPI-5.0, 3.8 and 3.11). */
static int probe_nobody(const struct results *out)
{
    if (out->flag != NULL) {
        *out->flag = 1;
    }
    if (out->message != NULL) {
        *out->message = MPI_MESSAGE_NO_PROC;
    }
    weft_status_set_proc_null(out->status);
    return MPI_SUCCESS;
}

static int probe(const char *function, struct weft_comm *comm, int source, int tag,
                 const struct results *out)
{
    struct weft_message *message = NULL;
    struct weft_message **taken = out->message != NULL ? &message : NULL;
    struct weft_received received;
    bool is_found = true;
    enum weft_rc rc;

    if (source == MPI_PROC_NULL) {
        return probe_nobody(out);
    }
    rc = out->flag == NULL ? weft_probe(comm, source, tag, taken, &received)
                           : weft_iprobe(comm, source, tag, &is_found, taken, &received);
    if (rc != WEFT_OK) {
        return weft_raise_rc(comm, rc, function);
    }
    if (out->flag != NULL) {
        *out->flag = is_found;
    }
    if (out->message != NULL) {
        *out->message = is_found ? message->handle : MPI_MESSAGE_NULL;
    }
    if (is_found && out->status != MPI_STATUS_IGNORE) {
        weft_status_set(out->status, received.source, received.tag, received.bytes,
                        false);
    }
    return MPI_SUCCESS;
}

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    WEFT_RECORD(Probe, comm, WEFT_PLANE_P2P, source, tag, 0);
    static const char function[] = "MPI_Probe";
    const struct results out = {.status = status};
    struct weft_comm *c;
    int err = check_probe(function, source, tag, comm, &c);

    return err != MPI_SUCCESS ? err : probe(function, c, source, tag, &out);
}
WEFT_WEAK_ALIAS(MPI_Probe, PMPI_Probe);

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    WEFT_RECORD_POLL(Iprobe, comm, source, tag);
    static const char function[] = "MPI_Iprobe";
    const struct results out = {.flag = flag, .status = status};
    struct weft_comm *c;
    int err = check_probe(function, source, tag, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, flag, "flag");
    }
    return err != MPI_SUCCESS ? err : probe(function, c, source, tag, &out);
}
WEFT_WEAK_ALIAS(MPI_Iprobe, PMPI_Iprobe);

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
                MPI_Status *status)
{
    WEFT_RECORD(Mprobe, comm, WEFT_PLANE_P2P, source, tag, 0);
    static const char function[] = "MPI_Mprobe";
    const struct results out = {.message = message, .status = status};
    struct weft_comm *c;
    int err = check_probe(function, source, tag, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, message, "message");
    }
    return err != MPI_SUCCESS ? err : probe(function, c, source, tag, &out);
}
WEFT_WEAK_ALIAS(MPI_Mprobe, PMPI_Mprobe);

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                 MPI_Status *status)
{
    WEFT_RECORD_POLL(Improbe, comm, source, tag);
    static const char function[] = "MPI_Improbe";
    const struct results out = {flag, message, status};
    struct weft_comm *c;
    int err = check_probe(function, source, tag, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, flag, "flag");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, message, "message");
    }
    return err != MPI_SUCCESS ? err : probe(function, c, source, tag, &out);
}
WEFT_WEAK_ALIAS(MPI_Improbe, PMPI_Improbe);

/* ---- receiving a message that was taken ---- */

/* The message of a handle; of MPI_MESSAGE_NO_PROC, NULL. */
static int find_message(const char *function, MPI_Message handle,
                        struct weft_message **out)
{
    char text[128];
    int err;

    *out = NULL;
    if (handle != MPI_MESSAGE_NO_PROC) {
        weft_lock();
        *out = weft_message_from_handle(handle);
        weft_unlock();
    }
    if (*out != NULL) {
        return MPI_SUCCESS;
    }
    err = weft_check_open(function);
    if (err != MPI_SUCCESS || handle == MPI_MESSAGE_NO_PROC) {
        return err;
    }
    if (handle == MPI_MESSAGE_NULL) {
        return weft_raise(function, WEFT_E_MESSAGE_NULL);
    }
    return weft_raise(
        function, MPI_ERR_ARG, WEFT_T_HANDLE,
        weft_describe_handle(WEFT_KIND_MESSAGE, handle, text, sizeof(text)));
}

static enum weft_rc start(struct weft_message *message, void *buffer, MPI_Count count,
                          MPI_Datatype datatype, size_t bytes, struct weft_request **out)
{
    const struct weft_data data =
        weft_data_of(buffer, count, weft_datatype_from_handle(datatype), bytes);

    return message == NULL ? weft_irecv_nothing(NULL, out)
                           : weft_imrecv(message, &data, out);
}

static int imrecv_checked(const char *function, void *buffer, MPI_Count count,
                          MPI_Datatype datatype, MPI_Message *handle,
                          MPI_Request *request)
{
    struct weft_message *message = NULL;
    struct weft_request *made;
    struct weft_comm *comm = NULL;
    size_t bytes = 0;
    enum weft_rc rc;
    int err = weft_check_out(function, NULL, handle, "message");

    if (err == MPI_SUCCESS) {
        err = find_message(function, *handle, &message);
    }
    if (err == MPI_SUCCESS) {
        comm = message != NULL ? message->comm : NULL;
        err = weft_check_buffer(function, comm, buffer, count, datatype, &bytes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, comm, request, "request");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = start(message, buffer, count, datatype, bytes, &made);
    if (rc != WEFT_OK) {
        return weft_raise_rc(comm, rc, function);
    }
    *handle = MPI_MESSAGE_NULL;
    *request = made->handle;
    return MPI_SUCCESS;
}

static int mrecv_checked(const char *function, void *buffer, MPI_Count count,
                         MPI_Datatype datatype, MPI_Message *message, MPI_Status *status)
{
    MPI_Request request;
    int err = imrecv_checked(function, buffer, count, datatype, message, &request);

    return err != MPI_SUCCESS ? err : weft_complete(function, &request, status);
}

int PMPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message,
               MPI_Status *status)
{
    WEFT_RECORD_PLAIN(Mrecv);

    return mrecv_checked("MPI_Mrecv", buf, count, datatype, message, status);
}
WEFT_WEAK_ALIAS(MPI_Mrecv, PMPI_Mrecv);

int PMPI_Mrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                 MPI_Status *status)
{
    WEFT_RECORD_PLAIN(Mrecv_c);

    return mrecv_checked("MPI_Mrecv_c", buf, count, datatype, message, status);
}
WEFT_WEAK_ALIAS(MPI_Mrecv_c, PMPI_Mrecv_c);

int PMPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message,
                MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Imrecv);

    return imrecv_checked("MPI_Imrecv", buf, count, datatype, message, request);
}
WEFT_WEAK_ALIAS(MPI_Imrecv, PMPI_Imrecv);

int PMPI_Imrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                  MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Imrecv_c);

    return imrecv_checked("MPI_Imrecv_c", buf, count, datatype, message, request);
}
WEFT_WEAK_ALIAS(MPI_Imrecv_c, PMPI_Imrecv_c);
