/*
 * recv.c - the way of a message in: a receive looks for a waiting message and is posted
 * if there is none, in one step under the lock.
 */
#include "p2p/p2p.h"

#include "base/copy.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "progress/lock.h"

#include <string.h>

/* One body for contiguous buffers and one for others. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

static enum weft_rc check_crc(const struct weft_p2p_request *recv,
                              const struct weft_header *header, uint64_t length)
{
    uint32_t crc;

    if (length > recv->capacity) {
        return WEFT_OK; /* cut off: there is nothing to compare with */
    }
    crc = recv->type == NULL ? weft_crc32c(recv->buffer, (size_t)length)
                             : weft_p2p_packed_crc(recv, length);
    if (crc == header->crc) {
        return WEFT_OK;
    }
    weft_log_error(
        "a message of %llu bytes from rank %u of its communicator with tag %d, "
        "sequence %u, arrived with checksum %08x instead of %08x",
        (unsigned long long)length, header->source, header->tag, header->sequence, crc,
        header->crc);
    return WEFT_ERR_CHECKSUM;
}

void weft_p2p_finish_recv(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length)
{
    enum weft_rc rc = WEFT_OK;

    recv->base.source = (int)header->source;
    recv->base.tag = header->tag;
    recv->base.bytes = length;
    if (weft_unlikely(length > recv->capacity)) {
        recv->base.bytes = recv->capacity;
        rc = WEFT_ERR_TRUNCATE;
    }
    if (weft_unlikely(weft_p2p.has_checksum) && rc == WEFT_OK) {
        rc = check_crc(recv, header, length);
    }
    weft_p2p_forget_type(recv);
    weft_request_complete(&recv->base, rc);
}

static void take_waiting(struct weft_p2p_request *recv, struct weft_unexpected *message)
{
    struct weft_p2p *p = &weft_p2p;

    weft_match_take(&p->match, &message->waiting);
    if (message->header.kind == WEFT_PKT_EAGER) {
        uint64_t len = message->header.length;
        size_t n = (size_t)(len < recv->capacity ? len : recv->capacity);

        if (weft_likely(recv->type == NULL)) {
            weft_copy(recv->buffer, message->data, n);
        } else {
            weft_p2p_scatter(recv, 0, message->data, n);
        }
        weft_p2p_finish_recv(recv, &message->header, len);
    } else {
        struct weft_announce announce;

        memcpy(&announce, message->data, sizeof(announce));
        weft_p2p_start_transfer(recv, weft_peer_get(&p->peers, message->from),
                                &message->header, &announce);
    }
    weft_unexpected_free(&p->unexpected, &p->match, message);
    p->up.is_full = p->unexpected.is_full;
}

/* Fills the request and takes a message or posts. */
static enum weft_rc start(struct weft_p2p_request *recv, const struct weft_comm *comm,
                          enum weft_plane plane, int source, int tag, void *buffer,
                          size_t bytes, struct weft_datatype *type, uint64_t count)
{
    struct weft_p2p *p = &weft_p2p;
    const uint32_t context = comm->context | (uint32_t)plane;
    struct weft_waiting *waiting;
    enum weft_rc rc;

    recv->base.kind = WEFT_REQUEST_RECV;
    recv->base.sleeper = NULL;
    recv->base.is_cancelled = false;
    weft_p2p_set_data(recv, buffer, bytes, type, count);
    recv->peer = NULL;
    recv->work = WEFT_WORK_NONE;
    waiting = weft_match_find(&p->match, context, source, tag);
    if (waiting != NULL) {
        take_waiting(recv, (struct weft_unexpected *)waiting);
        return WEFT_OK;
    }
    recv->posted.context = context;
    recv->posted.source = source;
    recv->posted.tag = tag;
    if (weft_likely(source != WEFT_ANY_SOURCE)) {
        recv->peer = weft_peer_get(&p->peers, weft_comm_process(comm, source));
        if (recv->peer == NULL) {
            weft_p2p_forget_type(recv);
            return WEFT_ERR_NOMEM;
        }
    }
    rc = weft_match_post(&p->match, &recv->posted);
    if (weft_unlikely(rc != WEFT_OK)) {
        weft_p2p_forget_type(recv);
    } else if (recv->peer != NULL) {
        recv->peer->posted++;
    }
    return rc;
}

static ALWAYS_INLINE enum weft_rc receive(const struct weft_comm *comm,
                                          enum weft_plane plane, int source, int tag,
                                          void *buffer, size_t bytes,
                                          struct weft_datatype *type, uint64_t count,
                                          struct weft_received *received)
{
    struct weft_p2p_request *recv;
    enum weft_rc rc = WEFT_ERR_NOMEM;

    weft_lock();
    recv = weft_p2p_take_spare();
    if (weft_likely(recv != NULL)) {
        rc = start(recv, comm, plane, source, tag, buffer, bytes, type, count);
    }
    if (weft_likely(rc == WEFT_OK)) {
        if (!weft_request_is_complete(&recv->base)) {
            const struct weft_wait_reason why = {"MPI_Recv", comm->name, source, tag,
                                                 bytes};

            weft_wait_locked(&recv->base, &why);
        }
        rc = recv->base.rc;
        received->source = recv->base.source;
        received->tag = recv->base.tag;
        received->bytes = recv->base.bytes;
    }
    if (weft_likely(recv != NULL)) {
        weft_p2p_give_spare(recv);
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_recv(const struct weft_comm *comm, enum weft_plane plane, int source,
                       int tag, void *buffer, size_t bytes,
                       struct weft_received *received)
{
    return receive(comm, plane, source, tag, buffer, bytes, NULL, 0, received);
}

enum weft_rc weft_recv_typed(const struct weft_comm *comm, enum weft_plane plane,
                             int source, int tag, void *buffer, uint64_t count,
                             struct weft_datatype *type, struct weft_received *received)
{
    return receive(comm, plane, source, tag, buffer, count * type->size, type, count,
                   received);
}

static ALWAYS_INLINE enum weft_rc post(struct weft_comm *comm, enum weft_plane plane,
                                       int source, int tag, void *buffer, size_t bytes,
                                       struct weft_datatype *type, uint64_t count,
                                       struct weft_request **out)
{
    struct weft_request *request;
    enum weft_rc rc;

    weft_lock();
    rc = weft_request_take(&request);
    if (weft_likely(rc == WEFT_OK)) {
        request->comm = comm;
        rc = start((struct weft_p2p_request *)request, comm, plane, source, tag, buffer,
                   bytes, type, count);
        if (weft_unlikely(rc != WEFT_OK)) {
            weft_request_give(request);
        } else {
            *out = request;
        }
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_irecv(struct weft_comm *comm, enum weft_plane plane, int source,
                        int tag, void *buffer, size_t bytes, struct weft_request **out)
{
    return post(comm, plane, source, tag, buffer, bytes, NULL, 0, out);
}

enum weft_rc weft_irecv_typed(struct weft_comm *comm, enum weft_plane plane, int source,
                              int tag, void *buffer, uint64_t count,
                              struct weft_datatype *type, struct weft_request **out)
{
    return post(comm, plane, source, tag, buffer, count * type->size, type, count, out);
}

enum weft_rc weft_irecv_nothing(struct weft_comm *comm, struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_request_take(out);
    if (rc == WEFT_OK) {
        (*out)->kind = WEFT_REQUEST_RECV;
        (*out)->comm = comm;
        (*out)->source = MPI_PROC_NULL;
        (*out)->tag = MPI_ANY_TAG;
        weft_request_complete(*out, WEFT_OK);
    }
    weft_unlock();
    return rc;
}
