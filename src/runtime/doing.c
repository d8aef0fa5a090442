#include "runtime/doing.h"

#include "coll/disagree.h"
#include "coll/shared.h"
#include "coll/slots.h"
#include "engine/engine.h"
#include "engine/lock.h"
#include "engine/wait.h"
#include "p2p/probe.h"
#include "p2p/request.h"
#include "p2p/state.h"
#include "sched/partitioned.h"

#include <stddef.h>
#include <string.h>

enum {
    LOOK_MOST = 256, /* requests, and messages, that are looked at */
    PLANE = WEFT_PLANES - 1,
};

static bool is_in_fence; /* of all ranks of the job; with the lock */

/* ---- one message ---- */

static int rank_of(const struct weft_peer *peer)
{
    return peer != NULL ? (int)weft_process_rank(peer->process) : WEFT_ANY_SOURCE;
}

/* Which member of the communicator a process is, for messages that go there. */
static int member_of(const struct weft_comm *comm, const struct weft_peer *peer)
{
    const struct weft_group *group = comm->remote != NULL ? comm->remote : comm->group;
    const int rank =
        group != NULL ? weft_group_rank_of(group, peer->process) : MPI_UNDEFINED;

    return rank != MPI_UNDEFINED ? rank : WEFT_DOING_UNKNOWN;
}

static struct weft_doing_message received(const struct weft_p2p_request *recv)
{
    return (struct weft_doing_message){
        .context = recv->posted.context,
        .peer = recv->posted.source,
        .rank =
            rank_of(recv->peer == NULL && recv->transfer != NULL ? recv->transfer->peer
                                                                 : recv->peer),
        .tag = recv->posted.tag,
        .bytes = recv->data.bytes,
    };
}

static struct weft_doing_message sent(const struct weft_p2p_request *send)
{
    return (struct weft_doing_message){
        .context = send->header.context,
        .peer = WEFT_DOING_UNKNOWN,
        .rank = rank_of(send->peer),
        .tag = send->header.tag,
        .bytes = send->data.bytes,
    };
}

static void name_comm(struct weft_doing_message *message)
{
    const struct weft_comm *comm = weft_comm_of_context(message->context);

    if (comm != NULL) {
        weft_doing_copy(message->comm, sizeof(message->comm), comm->name);
    }
}

/* ---- what is waited for ---- */

static void set_comm(struct weft_doing *doing, const struct weft_comm *comm,
                     enum weft_plane plane)
{
    if (comm == NULL) {
        return;
    }
    doing->awaits.context = comm->context | (uint32_t)plane;
    doing->comm_size = (uint32_t)comm->size;
    doing->comm_lead = (int32_t)weft_process_rank(comm->group != NULL
                                                      ? weft_group_process(comm->group, 0)
                                                      : weft_comm_process(comm, 0));
    weft_doing_copy(doing->comm, sizeof(doing->comm), comm->name);
    weft_doing_copy(doing->awaits.comm, sizeof(doing->awaits.comm), comm->name);
}

static void describe_message(struct weft_doing *doing,
                             const struct weft_p2p_request *request)
{
    const bool is_recv = request->base.kind == WEFT_REQUEST_RECV;
    const struct weft_doing_message message = is_recv ? received(request) : sent(request);
    const struct weft_comm *comm = weft_comm_of_context(message.context);

    doing->what = is_recv ? WEFT_DOING_RECV : WEFT_DOING_SEND;
    doing->awaits = message;
    set_comm(doing, comm, message.context & PLANE);
    if (!is_recv && comm != NULL) {
        doing->awaits.peer = member_of(comm, request->peer);
    }
}

static void describe_parts(struct weft_doing *doing, const struct weft_request *request)
{
    struct weft_partitioned_facts facts;
    const bool is_send = weft_is_psend(request);

    weft_partitioned_tell(request, &facts);
    doing->what = is_send ? WEFT_DOING_PARTS_OUT : WEFT_DOING_PARTS_IN;
    doing->parts = facts.partitions;
    doing->parts_ready = facts.ready;
    set_comm(doing, request->comm, WEFT_PLANE_PARTITIONED);
    doing->awaits.peer = facts.peer;
    doing->awaits.rank =
        (int32_t)weft_process_rank(weft_comm_process(request->comm, facts.peer));
    doing->awaits.tag = facts.tag;
    doing->awaits.bytes = facts.bytes;
    weft_doing_copy(doing->begun_by, sizeof(doing->begun_by),
                    is_send ? "MPI_Psend_init" : "MPI_Precv_init");
}

static bool describe_probe(struct weft_doing *doing)
{
    struct weft_comm *comm;
    int source;
    int tag;

    if (!weft_probe_oldest(&comm, &source, &tag)) {
        return false;
    }
    doing->what = WEFT_DOING_PROBE;
    set_comm(doing, comm, WEFT_PLANE_P2P);
    doing->awaits.peer = source;
    doing->awaits.rank = source == WEFT_ANY_SOURCE
                             ? WEFT_ANY_SOURCE
                             : (int)weft_process_rank(weft_comm_process(comm, source));
    doing->awaits.tag = tag;
    return true;
}

/* A schedule's steps are in the lists. */
static void describe_schedule(struct weft_doing *doing,
                              const struct weft_request *request)
{
    if (weft_is_psend(request) || weft_is_precv(request)) {
        describe_parts(doing, request);
    } else if (request->comm != NULL || !describe_probe(doing)) {
        set_comm(doing, request->comm, WEFT_PLANE_P2P);
    }
}

static void describe_request(struct weft_doing *doing, const struct weft_request *request)
{
    switch ((enum weft_request_kind)request->kind) {
    case WEFT_REQUEST_SEND:
    case WEFT_REQUEST_RECV:
        describe_message(doing, (const struct weft_p2p_request *)request);
        break;
    case WEFT_REQUEST_COLLECTIVE:
        doing->what = WEFT_DOING_COLLECTIVE;
        set_comm(doing, request->comm, WEFT_PLANE_COLL);
        if (strcmp(request->function, doing->call) != 0) {
            weft_doing_copy(doing->begun_by, sizeof(doing->begun_by), request->function);
        }
        break;
    case WEFT_REQUEST_SCHEDULE:
        describe_schedule(doing, request);
        break;
    case WEFT_REQUEST_FILE: /* it waits for no other process */
    case WEFT_REQUEST_GENERALIZED:
        break;
    }
}

/* ---- the lists ---- */

/* Adds to a list of the oldest; `keys` are their numbers, in ascending order. */
static void add(struct weft_doing_message *list, uint64_t *keys, uint32_t *count,
                uint64_t key, const struct weft_doing_message *message)
{
    uint32_t at = *count < WEFT_DOING_MESSAGES ? *count : WEFT_DOING_MESSAGES;

    while (at > 0 && keys[at - 1] > key) {
        if (at < WEFT_DOING_MESSAGES) {
            keys[at] = keys[at - 1];
            list[at] = list[at - 1];
        }
        at--;
    }
    if (at < WEFT_DOING_MESSAGES) {
        keys[at] = key;
        list[at] = *message;
    }
    ++*count;
}

struct lists {
    struct weft_doing *doing;
    uint64_t posted[WEFT_DOING_MESSAGES];
    uint64_t sending[WEFT_DOING_MESSAGES];
};

/* What belongs to the call that waits comes first. */
static uint64_t key_of(const struct weft_doing *doing, uint32_t context, uint64_t number)
{
    const uint64_t apart = UINT64_C(1) << 63;

    return context == doing->awaits.context ? number : number | apart;
}

static void list_request(const struct weft_request *request, void *owner)
{
    const struct weft_p2p_request *r = (const struct weft_p2p_request *)request;
    struct lists *lists = owner;
    struct weft_doing *doing = lists->doing;
    struct weft_doing_message message;

    if (request->kind == WEFT_REQUEST_RECV && r->posted.state == WEFT_POSTED) {
        message = received(r);
        add(doing->posted, lists->posted, &doing->posted_count,
            key_of(doing, message.context, r->posted.number), &message);
    } else if (request->kind == WEFT_REQUEST_SEND && r->peer != NULL) {
        message = sent(r);
        add(doing->sending, lists->sending, &doing->sending_count,
            key_of(doing, message.context, r->header.sequence), &message);
    }
}

/* By how many of communicator, source and tag it differs from what is waited for. */
static int distance(const struct weft_doing *doing, const struct weft_waiting *waiting,
                    int rank)
{
    const struct weft_doing_message *wanted = &doing->awaits;

    return (wanted->context != waiting->context) +
           (wanted->rank >= 0 && wanted->rank != rank) +
           (wanted->tag != WEFT_ANY_TAG && wanted->tag != waiting->tag);
}

static void list_unexpected(struct weft_doing *doing)
{
    const struct weft_link *all = &weft_p2p.match.all;
    uint64_t keys[WEFT_DOING_MESSAGES];
    uint32_t count = 0;
    int looked = 0;

    for (const struct weft_link *l = all->next; l != all && looked < LOOK_MOST;
         l = l->next, looked++) {
        const struct weft_waiting *waiting =
            (const struct weft_waiting *)((uintptr_t)l -
                                          offsetof(struct weft_waiting, all));
        const struct weft_unexpected *u = (const struct weft_unexpected *)waiting;
        const struct weft_doing_message message = {
            .context = waiting->context,
            .peer = waiting->source,
            .rank = rank_of(u->from),
            .tag = waiting->tag,
            .bytes = weft_probe_length(&u->header, u->data),
        };

        if ((waiting->context & PLANE) == WEFT_PLANE_P2P) {
            add(doing->unexpected, keys, &count,
                (uint64_t)distance(doing, waiting, message.rank) << 32 | (uint32_t)looked,
                &message);
        }
    }
    doing->unexpected_count =
        count < WEFT_DOING_MESSAGES ? count : weft_p2p.match.waiting_count;
    doing->is_full = weft_p2p.unexpected.is_full;
}

static void name_comms(struct weft_doing_message *list, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < WEFT_DOING_MESSAGES; i++) {
        name_comm(&list[i]);
    }
}

static void list_all(struct weft_doing *doing)
{
    struct lists lists = {.doing = doing};

    weft_request_look(LOOK_MOST, list_request, &lists);
    list_unexpected(doing);
    name_comms(doing->posted, doing->posted_count);
    name_comms(doing->sending, doing->sending_count);
    name_comms(doing->unexpected, doing->unexpected_count);
}

/* ---- the hook ---- */

/* What a collective without messages waits for is told as a receive, the first of all. */
static void list_missing(struct weft_doing *doing, const struct weft_comm *comm,
                         int missing)
{
    const struct weft_doing_message message = {
        .context = comm->context | (uint32_t)WEFT_PLANE_COLL,
        .peer = missing,
        .rank = (int32_t)weft_process_rank(weft_comm_process(comm, missing)),
        .tag = WEFT_ANY_TAG,
    };

    memmove(&doing->posted[1], &doing->posted[0],
            (WEFT_DOING_MESSAGES - 1) * sizeof(doing->posted[0]));
    doing->posted[0] = message;
    doing->posted_count++;
    name_comm(&doing->posted[0]);
}

static void describe_events(const struct weft_wait *wait, struct weft_doing *doing)
{
    for (int i = 0; i < wait->count; i++) {
        const struct weft_event *event = wait->at(wait->list, i);

        if (!weft_event_is_set(event)) { /* a request begins with its event */
            describe_request(doing, (const struct weft_request *)event);
            break;
        }
    }
}

/* Notes of a blocking collective its number in `tag`, by which a report tells members
 * that are behind from those that are ahead, its root in `peer`, and its bytes. */
static void describe_call(struct weft_doing *doing, const struct weft_comm *comm)
{
    struct weft_doing_message *awaits = &doing->awaits;
    uint32_t number;
    int root;

    awaits->tag = 0;
    if (comm == NULL || doing->begun_by[0] != '\0' ||
        !weft_calls_tell(comm, &number, &root, &awaits->bytes)) {
        return;
    }
    awaits->tag = (int32_t)number;
    awaits->peer = root;
}

/* The communicator in whose slots, or on whose board, a thread waits, or NULL. */
static const struct weft_comm *waiting_on(int *missing)
{
    const struct weft_comm *comm = weft_slots_waiting(missing);

    return comm != NULL ? comm : weft_shared_waiting(missing);
}

static void describe(const struct weft_wait *wait, struct weft_doing *doing)
{
    int missing = -1;
    const struct weft_comm *in_slots = wait == NULL ? waiting_on(&missing) : NULL;
    const bool is_world = weft_engine.is_in_barrier || is_in_fence;

    if (wait != NULL) {
        describe_events(wait, doing);
    } else if (is_world || in_slots != NULL) {
        doing->what = WEFT_DOING_COLLECTIVE;
        set_comm(doing, is_world ? &weft_comm_world : in_slots, WEFT_PLANE_COLL);
    } else {
        (void)describe_probe(doing);
    }
    list_all(doing);
    if (missing >= 0) {
        list_missing(doing, in_slots, missing);
    }
    if (doing->what == WEFT_DOING_COLLECTIVE) {
        describe_call(doing, weft_comm_of_context(doing->awaits.context));
    }
    doing->done += weft_p2p.match.next_posted + weft_p2p.match.next_waiting;
}

void weft_doing_open(void)
{
    weft_engine.describe = describe;
}

enum weft_rc weft_doing_fence(struct weft_job *job, const char *call)
{
    const struct weft_wait_reason why = {call, "MPI_COMM_WORLD", -1, -2, 0};
    enum weft_rc rc;

    weft_lock();
    is_in_fence = true;
    weft_engine_note(NULL, &why);
    is_in_fence = false;
    weft_unlock();
    rc = weft_wireup_fence(job);
    weft_lock();
    weft_engine_note_end();
    weft_unlock();
    return rc;
}
