#include "p2p/buffered.h"

#include "base/wait.h"
#include "p2p/internal.h"
#include "p2p/space.h"
#include "engine/lock.h"

#include <stdlib.h>

/* A request that is complete when the messages below a number are gone. */
struct flush {
    struct flush *next;
    struct weft_request *request;
    uint64_t limit;
    uint64_t missing; /* of them, still there */
};

struct weft_buffer {
    struct weft_memory_owner memory_owner; /* first */
    struct weft_buffer *next;              /* among those of sessions */
    uint64_t session;
    void *memory;
    uint64_t size;
    bool is_automatic;
    bool is_abandoned; /* the memory is not ours any more; freed with its last message */
    struct weft_space space;
    uint64_t taken;    /* messages so far: the number of the next one */
    uint64_t messages; /* that are there */
    struct flush *flushes;
};

static struct weft_buffer *of_process;
static struct weft_buffer *of_sessions;

/* Where the owner's buffer is, or would be. */
static struct weft_buffer **slot_of(struct weft_buffer_owner owner)
{
    struct weft_buffer **at = &of_sessions;

    if (owner.comm != NULL) {
        return &owner.comm->buffer;
    }
    if (owner.session == 0) {
        return &of_process;
    }
    while (*at != NULL && (*at)->session != owner.session) {
        at = &(*at)->next;
    }
    return at;
}

/* The one for messages on a communicator, or NULL. */
static struct weft_buffer *find_buffer(const struct weft_comm *comm)
{
    struct weft_buffer *buffer = comm->buffer;

    if (buffer == NULL && comm->group->session != 0) {
        buffer = *slot_of((struct weft_buffer_owner){.session = comm->group->session});
    }
    return buffer != NULL ? buffer : of_process;
}

/* ---- messages in a buffer ---- */

static void *take(struct weft_buffer *buffer, size_t bytes)
{
    void *copy = buffer->is_automatic ? malloc(bytes > 0 ? bytes : 1)
                                      : weft_space_take(&buffer->space, bytes);

    if (copy != NULL) {
        buffer->taken++;
        buffer->messages++;
    }
    return copy;
}

static void give(struct weft_memory_owner *memory_owner, void *copy, uint64_t number)
{
    struct weft_buffer *buffer = (struct weft_buffer *)memory_owner;
    struct flush **at = &buffer->flushes;

    if (buffer->is_automatic) {
        free(copy);
    } else if (!buffer->is_abandoned) {
        weft_space_give(&buffer->space, copy);
    }
    buffer->messages--;
    while (*at != NULL) {
        struct flush *flush = *at;

        if (number >= flush->limit || --flush->missing > 0) {
            at = &flush->next;
            continue;
        }
        *at = flush->next;
        weft_request_complete(flush->request, WEFT_OK);
        free(flush);
    }
    if (buffer->is_abandoned && buffer->messages == 0) {
        free(buffer);
    }
}

/*
 * Room in the buffer for messages on `comm`. What was received meanwhile may not have
 * been noticed: as long as looking for it frees anything, it is worth another try. The
 * lock may be dropped, so the buffer may be another one than before.
 */
static enum weft_rc take_room(const struct weft_comm *comm, size_t bytes,
                              struct weft_buffer **buffer, void **copy)
{
    uint64_t before = UINT64_MAX;

    *buffer = find_buffer(comm);
    while (*buffer != NULL) {
        *copy = take(*buffer, bytes);
        if (*copy != NULL) {
            return WEFT_OK;
        }
        if ((*buffer)->is_automatic) {
            return WEFT_ERR_NOMEM;
        }
        if ((*buffer)->messages == 0 || (*buffer)->messages >= before) {
            break;
        }
        before = (*buffer)->messages;
        weft_engine_work_and_poll();
        *buffer = find_buffer(comm);
    }
    return WEFT_ERR_BUFFER;
}

static enum weft_rc send_copy(struct weft_comm *comm, int dest, int tag,
                              const struct weft_data *data)
{
    struct weft_data packed = {.bytes = data->bytes};
    struct weft_p2p_request *send;
    struct weft_buffer *buffer;
    uint64_t number;
    void *copy;
    enum weft_rc rc = take_room(comm, data->bytes, &buffer, &copy);

    if (rc != WEFT_OK) {
        return rc;
    }
    number = buffer->taken - 1;
    weft_unlock(); /* it has a message, so the buffer stays */
    weft_data_pack(data, copy);
    weft_lock();
    packed.buffer = copy;
    rc = weft_p2p_send_slow(comm, dest, tag, &packed,
                            WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD, false, &send);
    if (send == NULL) { /* it has gone, or cannot go */
        give(&buffer->memory_owner, copy, number);
        return rc;
    }
    if (weft_request_is_complete(&send->base)) {
        rc = send->base.rc;
        give(&buffer->memory_owner, copy, number);
        weft_request_give(&send->base);
        return rc;
    }
    send->data.memory = copy;
    send->memory_owner = &buffer->memory_owner;
    send->memory_number = number;
    weft_request_set_comm(&send->base, comm);
    weft_request_hand_out(&send->base);
    weft_request_detach(&send->base);
    return WEFT_OK;
}

enum weft_rc weft_bsend_locked(struct weft_comm *comm, int dest, int tag,
                               const struct weft_data *data)
{
    uint8_t packed[WEFT_EAGER_MAX];
    enum weft_rc rc = WEFT_AGAIN;

    if (data->bytes <= WEFT_EAGER_MAX && data->type == NULL) {
        rc = weft_p2p_try_send(comm, dest, tag, data->buffer, data->bytes);
    } else if (data->bytes <= WEFT_EAGER_MAX) {
        weft_data_pack(data, packed);
        rc = weft_p2p_try_send(comm, dest, tag, packed, data->bytes);
    }
    return rc == WEFT_AGAIN ? send_copy(comm, dest, tag, data) : rc;
}

enum weft_rc weft_bsend(struct weft_comm *comm, int dest, int tag,
                        const struct weft_data *data)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_bsend_locked(comm, dest, tag, data);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

/* ---- attaching, flushing, detaching ---- */

enum weft_rc weft_buffer_attach(struct weft_buffer_owner owner, void *memory,
                                uint64_t size)
{
    struct weft_buffer *buffer = calloc(1, sizeof(*buffer));
    struct weft_buffer **slot;
    enum weft_rc rc = WEFT_OK;

    if (buffer == NULL) {
        return WEFT_ERR_NOMEM;
    }
    buffer->memory_owner.give_back = give;
    buffer->session = owner.session;
    buffer->memory = memory;
    buffer->is_automatic = memory == MPI_BUFFER_AUTOMATIC;
    if (!buffer->is_automatic) {
        buffer->size = size;
        weft_space_init(&buffer->space, memory, size);
    }
    weft_lock();
    slot = slot_of(owner);
    if (*slot == NULL) {
        *slot = buffer;
    } else {
        rc = WEFT_ERR_BUFFER;
    }
    weft_unlock();
    if (rc != WEFT_OK) {
        free(buffer);
    }
    return rc;
}

/* With the lock: a request for the end of the messages that are there. */
static enum weft_rc start_flush(struct weft_buffer *buffer, struct weft_request **out)
{
    struct flush *flush = malloc(sizeof(*flush));

    if (flush == NULL || weft_p2p_take_request(out) != WEFT_OK) {
        free(flush);
        return WEFT_ERR_NOMEM;
    }
    (*out)->kind = WEFT_REQUEST_SCHEDULE;
    (*out)->source = MPI_ANY_SOURCE;
    (*out)->tag = MPI_ANY_TAG;
    (*out)->bytes = 0;
    *flush = (struct flush){
        .next = buffer->flushes,
        .request = *out,
        .limit = buffer->taken,
        .missing = buffer->messages,
    };
    buffer->flushes = flush;
    return WEFT_OK;
}

/* With the lock, at both ends. */
static enum weft_rc flush_and_wait(struct weft_buffer *buffer,
                                   struct weft_buffer_owner owner, const char *call)
{
    const struct weft_wait_reason why = {
        .call = call,
        .comm = owner.comm != NULL ? owner.comm->name : "an attached buffer",
        .peer = MPI_ANY_SOURCE,
        .tag = MPI_ANY_TAG,
    };
    struct weft_request *request;
    enum weft_rc rc = start_flush(buffer, &request);

    if (rc == WEFT_OK) {
        weft_wait_locked(request, &why);
        weft_request_give(request);
    }
    return rc;
}

enum weft_rc weft_buffer_flush(struct weft_buffer_owner owner, const char *call)
{
    struct weft_buffer *buffer;
    enum weft_rc rc = WEFT_OK;

    weft_lock();
    buffer = *slot_of(owner);
    if (buffer != NULL && buffer->messages > 0) {
        rc = flush_and_wait(buffer, owner, call);
        weft_engine_leave();
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_buffer_iflush(struct weft_buffer_owner owner, struct weft_request **out)
{
    struct weft_buffer *buffer;
    enum weft_rc rc = WEFT_OK;

    weft_lock();
    buffer = *slot_of(owner);
    *out = &weft_request_sent;
    if (buffer != NULL && buffer->messages > 0) {
        rc = start_flush(buffer, out);
    }
    if (rc == WEFT_OK && *out != &weft_request_sent) {
        if (owner.comm != NULL) {
            weft_request_set_comm(*out, owner.comm);
        }
        weft_request_hand_out(*out);
        weft_engine_leave();
    }
    weft_unlock();
    return rc;
}

struct weft_attached weft_buffer_detach(struct weft_buffer_owner owner, const char *call)
{
    struct weft_attached was = {NULL, 0};
    struct weft_buffer **slot;
    struct weft_buffer *buffer;

    weft_lock();
    slot = slot_of(owner);
    buffer = *slot;
    if (buffer != NULL) {
        *slot = buffer->next;
        while (buffer->messages > 0) {
            if (flush_and_wait(buffer, owner, call) != WEFT_OK) {
                weft_engine_work_and_poll(); /* what leaves gives memory back */
                weft_unlock();
                weft_wait_moment();
                weft_lock();
            }
        }
        was = (struct weft_attached){buffer->memory, buffer->size};
        free(buffer);
        weft_engine_leave();
    }
    weft_unlock();
    return was;
}

void weft_buffer_abandon(struct weft_buffer_owner owner)
{
    struct weft_buffer **slot;
    struct weft_buffer *buffer;
    uint64_t before = UINT64_MAX;

    weft_lock();
    slot = slot_of(owner);
    buffer = *slot;
    if (buffer != NULL) {
        *slot = buffer->next;
        while (buffer->messages > 0 && buffer->messages < before) {
            before = buffer->messages;
            weft_engine_work_and_poll();
        }
        if (buffer->messages > 0) {
            buffer->is_abandoned = true;
        } else {
            free(buffer);
        }
    }
    weft_unlock();
}

/* The next communicator of a session, or of the world, 0, that has a buffer, or NULL. */
static struct weft_comm *next_with_buffer(uint64_t session, uint32_t *index)
{
    struct weft_comm *comm;

    weft_lock();
    do {
        comm = weft_comm_next(index);
    } while (comm != NULL && (comm->buffer == NULL || comm->group->session != session));
    weft_unlock();
    return comm;
}

void weft_buffer_detach_comms(uint64_t session, const char *call)
{
    struct weft_comm *comm;
    uint32_t index = 0;

    while ((comm = next_with_buffer(session, &index)) != NULL) {
        (void)weft_buffer_detach((struct weft_buffer_owner){.comm = comm}, call);
    }
}

void weft_buffer_abandon_comms(void)
{
    struct weft_comm *comm;
    uint32_t index = 0;

    weft_buffer_abandon((struct weft_buffer_owner){.comm = &weft_comm_world});
    weft_buffer_abandon((struct weft_buffer_owner){.comm = &weft_comm_self});
    while ((comm = next_with_buffer(0, &index)) != NULL) {
        weft_buffer_abandon((struct weft_buffer_owner){.comm = comm});
    }
}
