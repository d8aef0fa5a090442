#include "p2p/probe.h"

#include "p2p/internal.h"
#include "p2p/tagged.h"
#include "base/copy.h"
#include "engine/lock.h"

#include <stdlib.h>
#include <string.h>

/* On the stack of the thread that asks, which has the lock when it goes. */
struct weft_probe {
    struct weft_request base; /* first; nobody has a handle of it */
    struct weft_probe *next;  /* among those that wait, oldest first */
    struct weft_comm *comm;
    uint32_t context;
    int source;
    int tag;
    bool is_taking;
    struct weft_message *message; /* taken */
};

static struct weft_pool pool;

void weft_probe_open(void)
{
    weft_pool_init(&pool, sizeof(struct weft_message), 16,
                   (1u << WEFT_HANDLE_INDEX_BITS) - 1);
    weft_handle_register(WEFT_KIND_MESSAGE, &pool);
}

void weft_probe_close(void)
{
    const uint32_t made = atomic_load_explicit(&pool.made, memory_order_relaxed);

    for (uint32_t i = 0; i < made; i++) {
        const uint32_t generation = weft_pool_generation(&pool, i);

        if (generation != 0) {
            struct weft_message *message = weft_pool_find(&pool, i, generation);

            free(message->data);
        }
    }
    weft_pool_fini(&pool);
}

/* ---- messages that were taken ---- */

struct weft_message *weft_message_from_handle(MPI_Message handle)
{
    return weft_handle_find(WEFT_KIND_MESSAGE, (uintptr_t)handle);
}

uint64_t weft_probe_length(const struct weft_header *header, const void *data)
{
    struct weft_pkt_announce announce;

    if (header->kind == WEFT_PKT_EAGER) {
        return header->length;
    }
    memcpy(&announce, data, sizeof(announce));
    return announce.length;
}

static enum weft_rc copy_message(const struct weft_unexpected *found,
                                 struct weft_message **out)
{
    const size_t length = found->header.length;
    void *data = length > 0 ? malloc(length) : NULL;
    void *object;
    uintptr_t handle;
    enum weft_rc rc;

    if (length > 0 && data == NULL) {
        return WEFT_ERR_NOMEM;
    }
    rc = weft_handle_take(WEFT_KIND_MESSAGE, &object, &handle);
    if (rc != WEFT_OK) {
        free(data);
        return rc;
    }
    weft_copy(data, found->data, length);
    *out = object;
    (*out)->handle = (MPI_Message)handle;
    (*out)->header = found->header;
    (*out)->from = found->from;
    (*out)->data = data;
    (*out)->claim = NULL;
    return WEFT_OK;
}

/* Its reference to the communicator has gone elsewhere. */
static void free_message(struct weft_message *message)
{
    free(message->data);
    weft_handle_give(WEFT_KIND_MESSAGE, (uintptr_t)message->handle);
}

/* ---- probes ---- */

/* The probe has found its message; without memory to take it, that stays. */
static void answer(struct weft_probe *probe, struct weft_unexpected *found)
{
    struct weft_p2p *p = &weft_p2p;
    enum weft_rc rc = WEFT_OK;

    probe->base.source = (int)found->header.source;
    probe->base.tag = found->header.tag;
    probe->base.bytes = weft_probe_length(&found->header, found->data);
    if (probe->is_taking) {
        rc = copy_message(found, &probe->message);
    }
    if (probe->message != NULL) {
        weft_comm_use(probe->comm);
        probe->message->comm = probe->comm;
        weft_match_take(&p->match, &found->waiting);
        weft_unexpected_free(&p->unexpected, &p->match, found);
        weft_engine.order.is_full = p->unexpected.is_full;
    }
    weft_request_complete(&probe->base, rc);
}

static bool fits(const struct weft_probe *probe, const struct weft_header *header)
{
    return probe->context == header->context &&
           (probe->source == WEFT_ANY_SOURCE || probe->source == (int)header->source) &&
           (probe->tag == WEFT_ANY_TAG || probe->tag == header->tag);
}

void weft_probe_notify(struct weft_unexpected *message)
{
    struct weft_probe **at = &weft_p2p.probes;

    while (*at != NULL) {
        struct weft_probe *probe = *at;

        if (!fits(probe, &message->header)) {
            at = &probe->next;
            continue;
        }
        *at = probe->next;
        answer(probe, message);
        if (probe->message != NULL) {
            return;
        }
    }
}

bool weft_probe_wants(const struct weft_peer *from)
{
    for (const struct weft_probe *probe = weft_p2p.probes; probe != NULL;
         probe = probe->next) {
        if (from == NULL || probe->source == WEFT_ANY_SOURCE ||
            weft_comm_process(probe->comm, probe->source) == from->process) {
            return true;
        }
    }
    return false;
}

/* The network tells nobody of a message that waits there: each poll asks. */
static void count(bool is_in)
{
    if (!weft_p2p_is_tagged(WEFT_PLANE_P2P)) {
        return;
    }
    if (is_in) {
        weft_tagged_watch();
    } else {
        weft_tagged_unwatch();
    }
}

static void join(struct weft_probe *probe)
{
    struct weft_probe **end = &weft_p2p.probes;

    count(true);
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = probe;
}

static void leave(struct weft_probe *probe)
{
    struct weft_probe **at = &weft_p2p.probes;

    count(false);
    while (*at != probe) {
        at = &(*at)->next;
    }
    *at = probe->next;
}

static struct weft_probe make(struct weft_comm *comm, int source, int tag, bool is_taking)
{
    return (struct weft_probe){
        .base = {.kind = WEFT_REQUEST_SCHEDULE}, /* it has no buffer and no peer */
        .comm = comm,
        .context = comm->context | WEFT_PLANE_P2P,
        .source = source,
        .tag = tag,
        .is_taking = is_taking,
    };
}

/* Asks the network, which takes the message if it is to; so its object is there before.
 */
static bool has_peeked(struct weft_probe *probe)
{
    struct weft_tagged *claim = NULL;
    struct weft_header header;
    void *object = NULL;
    uintptr_t handle = 0;

    if (probe->is_taking &&
        weft_handle_take(WEFT_KIND_MESSAGE, &object, &handle) != WEFT_OK) {
        weft_request_complete(&probe->base, WEFT_ERR_NOMEM);
        return true;
    }
    if (!weft_tagged_peek(probe->comm, probe->source, probe->tag, &header,
                          &probe->base.bytes, probe->is_taking ? &claim : NULL)) {
        if (probe->is_taking) {
            weft_handle_give(WEFT_KIND_MESSAGE, handle);
        }
        return false;
    }
    probe->base.source = (int)header.source;
    probe->base.tag = header.tag;
    if (probe->is_taking) {
        weft_comm_use(probe->comm);
        probe->message = object;
        *probe->message = (struct weft_message){
            .handle = (MPI_Message)handle,
            .comm = probe->comm,
            .header = header,
            .claim = claim,
        };
    }
    weft_request_complete(&probe->base, WEFT_OK);
    return true;
}

/* Among the messages that wait already. */
static bool has_found(struct weft_probe *probe)
{
    struct weft_waiting *waiting;

    if (weft_p2p_is_tagged(WEFT_PLANE_P2P)) {
        return has_peeked(probe);
    }
    waiting = weft_match_find(&weft_p2p.match, probe->context, probe->source, probe->tag);
    if (waiting == NULL) {
        return false;
    }
    answer(probe, (struct weft_unexpected *)waiting);
    return true;
}

/* Nobody is left who could send it (failed.c). */
static bool has_failed(struct weft_probe *probe)
{
    const int dead =
        weft_engine.failed_count == 0
            ? MPI_UNDEFINED
            : weft_p2p_failed_source(probe->comm, WEFT_PLANE_P2P, probe->source);

    if (dead == MPI_UNDEFINED) {
        return false;
    }
    probe->base.source = dead;
    probe->base.tag = MPI_ANY_TAG;
    weft_request_complete(&probe->base, WEFT_ERR_PROC_FAILED);
    return true;
}

/* Asks each probe whether it is complete, and forgets those that are. */
static void ask_all(bool (*is_over)(struct weft_probe *probe))
{
    struct weft_probe **at = &weft_p2p.probes;

    while (*at != NULL) {
        struct weft_probe *next = (*at)->next; /* a complete one may be gone */

        if (is_over(*at)) {
            *at = next;
            count(false);
        } else {
            at = &(*at)->next;
        }
    }
}

void weft_probe_fail(void)
{
    ask_all(has_failed);
}

void weft_probe_look(void)
{
    ask_all(has_found);
}

bool weft_probe_oldest(struct weft_comm **comm, int *source, int *tag)
{
    const struct weft_probe *probe = weft_p2p.probes;

    if (probe == NULL) {
        return false;
    }
    *comm = probe->comm;
    *source = probe->source;
    *tag = probe->tag;
    return true;
}

/* What a complete probe has found. */
static enum weft_rc tell_caller(const struct weft_probe *probe,
                                struct weft_message **message,
                                struct weft_received *received)
{
    received->source = probe->base.source;
    received->tag = probe->base.tag;
    received->bytes = probe->base.bytes;
    if (message != NULL) {
        *message = probe->message;
    }
    return probe->base.rc;
}

enum weft_rc weft_probe(struct weft_comm *comm, int source, int tag,
                        struct weft_message **message, struct weft_received *received)
{
    struct weft_probe probe = make(comm, source, tag, message != NULL);

    weft_lock();
    if (!has_found(&probe) && !has_failed(&probe)) {
        const struct weft_wait_reason why = {probe.is_taking ? "MPI_Mprobe" : "MPI_Probe",
                                             comm->name, source, tag, 0};

        join(&probe);
        weft_wait_locked(&probe.base, &why);
        weft_engine_leave();
    }
    weft_unlock();
    return tell_caller(&probe, message, received);
}

enum weft_rc weft_iprobe(struct weft_comm *comm, int source, int tag, bool *is_found,
                         struct weft_message **message, struct weft_received *received)
{
    struct weft_probe probe = make(comm, source, tag, message != NULL);

    weft_lock();
    if (!has_found(&probe) && !has_failed(&probe)) {
        join(&probe);
        weft_engine_poll_as_thread(probe.is_taking ? "MPI_Improbe" : "MPI_Iprobe");
        if (!weft_request_is_complete(&probe.base)) {
            leave(&probe);
        }
        weft_engine_leave();
    }
    weft_unlock();
    *is_found = weft_request_is_complete(&probe.base);
    return *is_found ? tell_caller(&probe, message, received) : WEFT_OK;
}

/* ---- receiving what was taken ---- */

/* The request takes a message that the network has. */
static enum weft_rc recv_claimed(struct weft_p2p_request *recv,
                                 struct weft_message *message,
                                 const struct weft_data *into)
{
    enum weft_rc rc;

    if (into->type != NULL) {
        weft_p2p_set_type(recv, into);
    }
    weft_p2p_fill_recv(recv, (void *)(uintptr_t)into->buffer, into->bytes);
    recv->posted.context = message->header.context;
    recv->posted.source = (int32_t)message->header.source;
    recv->posted.tag = message->header.tag;
    rc = weft_tagged_recv_claimed(recv, message->claim);
    if (rc != WEFT_OK) {
        weft_p2p_release(recv);
    }
    return rc;
}

enum weft_rc weft_imrecv(struct weft_message *message, const struct weft_data *data,
                         struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_p2p_take_request(out);
    if (rc == WEFT_OK) {
        struct weft_p2p_request *recv = (struct weft_p2p_request *)*out;

        recv->base.comm = message->comm; /* with the reference */
        if (message->claim == NULL) {
            weft_p2p_recv_message(recv, data, message->from, &message->header,
                                  message->data);
        } else {
            rc = recv_claimed(recv, message, data);
        }
        if (rc == WEFT_OK) {
            weft_request_hand_out(&recv->base);
            free_message(message);
        } else {
            recv->base.comm = NULL; /* its message has it still */
            weft_request_give(&recv->base);
        }
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}
