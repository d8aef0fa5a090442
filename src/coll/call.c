/*
 * call.c - the life of a collective call.
 *
 * A call is made without the lock: its graph comes from its shape alone. With the lock it
 * gets its number and is started. It frees itself when it is over, unless its request is
 * persistent; then it lives as long as the request. It keeps the communicator, the types
 * and the operation, so that the user may free them at once.
 */
#include "coll/coll.h"

#include "coll/between.h"
#include "coll/data.h"
#include "coll/disagree.h"
#include "coll/flags.h"
#include "coll/choices.h"
#include "coll/nodes.h"
#include "coll/shape.h"
#include "coll/shared.h"
#include "coll/slots.h"
#include "engine/held.h"
#include "p2p/p2p.h"
#include "sched/sched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct call {
    struct weft_sched sched;           /* first */
    struct weft_persistent persistent; /* of a persistent request, else empty */
    struct weft_open_call open;        /* of a call that is not blocking, while it runs */
    struct weft_coll coll;
    const struct weft_algorithm *algorithm; /* NULL: between two groups */
    struct weft_graph graph;
    struct weft_data send;
    struct weft_data recv;
    struct weft_coll_scratch scratch; /* of a reduction; no buffer: none */
    int local_tag; /* of messages in our own group, of an operation between two */
    void *arrays;  /* counts and displacements of a persistent operation, else NULL */
    struct weft_datatype *types[]; /* of both sides, where blocks have their own */
};

/* ---- what sched/ asks ---- */

/* In an operation between two groups, peers behind our own are those of the other. */
static struct weft_route route(const struct weft_sched *sched, int peer)
{
    const struct call *call = (const struct call *)sched;
    struct weft_comm *comm = call->coll.comm;

    if (weft_likely(!weft_comm_is_inter(comm))) {
        return (struct weft_route){comm, peer, sched->tag};
    }
    if (peer < comm->size) {
        return (struct weft_route){comm->local, peer, call->local_tag};
    }
    return (struct weft_route){comm, peer - comm->size, sched->tag};
}

static struct weft_data block(const struct weft_sched *sched,
                              const struct weft_span *span)
{
    const struct call *call = (const struct call *)sched;
    struct weft_data whole;

    if (span->space == WEFT_SPACE_SCRATCH) {
        return weft_coll_scratch_span(&call->scratch, span);
    }
    whole = weft_coll_block(span->space == WEFT_SPACE_SEND ? &call->coll.send
                                                           : &call->coll.recv,
                            (int)span->block);
    return weft_data_part(&whole, span->offset, span->bytes);
}

static struct weft_datatype *type_of(const struct call *call)
{
    return call->coll.recv.type != NULL ? call->coll.recv.type : call->coll.send.type;
}

static void reduce(const struct weft_sched *sched, const struct weft_data *from,
                   const struct weft_data *to)
{
    const struct call *call = (const struct call *)sched;

    weft_coll_reduce(call->coll.op, type_of(call), from, to);
}

/* ---- references ---- */

static void keep_side(struct weft_coll_side *side, int blocks,
                      struct weft_datatype **copy)
{
    if (side->types != NULL) {
        memcpy(copy, side->types, (size_t)blocks * sizeof(*copy));
        side->types = copy;
        for (int i = 0; i < blocks; i++) {
            weft_datatype_show(copy[i]);
        }
    } else if (side->type != NULL) {
        weft_datatype_show(side->type);
    }
}

static void release_side(const struct weft_coll_side *side, int blocks)
{
    if (side->types != NULL) {
        for (int i = 0; i < blocks; i++) {
            weft_datatype_hide(side->types[i]);
        }
    } else if (side->type != NULL) {
        weft_datatype_hide(side->type);
    }
}

/* A function of the user gets the type's handle, which therefore stays valid, too. */
static void keep(struct call *call)
{
    struct weft_coll *coll = &call->coll;

    weft_assert_locked();
    keep_side(&coll->send, weft_coll_peers(coll, true), call->types);
    keep_side(&coll->recv, weft_coll_peers(coll, false),
              call->types + (coll->send.types != NULL ? weft_coll_peers(coll, true) : 0));
    if (coll->op != NULL) {
        weft_operation_keep(coll->op);
    }
}

static void release(const struct call *call)
{
    const struct weft_coll *coll = &call->coll;

    weft_assert_locked();
    release_side(&coll->send, weft_coll_peers(coll, true));
    release_side(&coll->recv, weft_coll_peers(coll, false));
    if (coll->op != NULL) {
        weft_operation_release(coll->op);
    }
}

/* ---- making ---- */

static size_t type_count(const struct weft_coll *coll)
{
    return (coll->send.types != NULL ? (size_t)weft_coll_peers(coll, true) : 0) +
           (coll->recv.types != NULL ? (size_t)weft_coll_peers(coll, false) : 0);
}

/* One rank of a group that neither gives nor gets anything has no part in it. */
static bool is_outside(const struct weft_coll *coll)
{
    return weft_coll_facts(coll->kind)->is_rooted && coll->root == MPI_PROC_NULL;
}

static enum weft_rc build(struct call *call)
{
    const struct weft_coll *coll = &call->coll;
    const size_t count = weft_coll_size_count(coll);
    uint64_t *sizes = count > 0 ? reallocarray(NULL, count, sizeof(*sizes)) : NULL;
    struct weft_shape shape;
    enum weft_rc rc = WEFT_OK;

    if (count > 0 && sizes == NULL) {
        return WEFT_ERR_NOMEM;
    }
    shape = weft_coll_shape(coll, sizes);
    call->graph.unit = shape.unit;
    if (shape.remote == 0) {
        rc = weft_coll_spread(coll->comm->group, &shape.spread);
        if (shape.spread != NULL) {
            shape.nodes = shape.spread->nodes;
        }
        call->algorithm =
            rc == WEFT_OK ? weft_choices_find(coll->comm, coll->kind, &shape) : NULL;
    }
    if (rc == WEFT_OK) {
        rc = (call->algorithm != NULL
                  ? call->algorithm->build
                  : weft_between_builder(coll->kind))(&shape, &call->graph);
    }
    free(sizes);
    return rc;
}

static void set_spaces(struct call *call)
{
    const struct weft_coll *coll = &call->coll;

    if (weft_coll_facts(coll->kind)->has_own_sizes) {
        /* The side of one block is a space by itself. */
        if (coll->send.counts == NULL && coll->send.type != NULL) {
            call->send = weft_coll_space(&coll->send, (uint64_t)coll->send.count);
            call->sched.spaces[WEFT_SPACE_SEND] = &call->send;
        }
        if (coll->recv.counts == NULL && coll->recv.type != NULL) {
            call->recv = weft_coll_space(&coll->recv, (uint64_t)coll->recv.count);
            call->sched.spaces[WEFT_SPACE_RECV] = &call->recv;
        }
        return;
    }
    call->send = weft_coll_space(&coll->send, weft_coll_elements(coll, true));
    call->recv = weft_coll_space(&coll->recv, weft_coll_elements(coll, false));
    call->sched.spaces[WEFT_SPACE_SEND] = &call->send;
    call->sched.spaces[WEFT_SPACE_RECV] = &call->recv;
}

static enum weft_rc set_scratch(struct call *call)
{
    const struct weft_graph *graph = &call->graph;
    enum weft_rc rc;

    if (graph->unit == 0 || graph->scratch == 0) {
        return WEFT_OK; /* sched/ makes plain memory */
    }
    rc = weft_coll_scratch_make(&call->scratch, type_of(call), graph->scratch,
                                graph->scratch_blocks);
    if (rc == WEFT_OK && call->scratch.gap == 0) {
        call->sched.spaces[WEFT_SPACE_SCRATCH] = &call->scratch.data;
    }
    return rc;
}

static void free_call(struct call *call)
{
    weft_sched_free(&call->sched);
    weft_graph_free(&call->graph);
    free(call->scratch.data.memory);
    free(call->arrays);
    free(call);
}

/* A member has died. */
static void revoke(struct weft_comm *comm)
{
    weft_p2p_revoke(comm);
    if (comm->local != NULL) {
        weft_p2p_revoke(comm->local);
    }
}

static void done(struct weft_sched *sched, enum weft_rc rc)
{
    struct call *call = (struct call *)sched;

    weft_assert_locked();
    weft_open_call_end(&call->open);
    if (weft_unlikely(rc == WEFT_ERR_PROC_FAILED)) {
        revoke(call->coll.comm);
    }
    if (call->sched.request->persistent == NULL) {
        release(call);
        free_call(call);
    }
}

static const struct weft_sched_ops ops = {
    .route = route,
    .block = block,
    .reduce = reduce,
    .done = done,
};

static enum weft_rc make(const struct weft_coll *coll, struct call **out)
{
    struct call *call =
        calloc(1, sizeof(*call) + type_count(coll) * sizeof(call->types[0]));
    enum weft_rc rc;

    *out = call;
    if (call == NULL) {
        return WEFT_ERR_NOMEM;
    }
    call->coll = *coll;
    weft_graph_init(&call->graph);
    rc = is_outside(coll) ? WEFT_OK : build(call);
    if (rc == WEFT_OK) {
        call->sched = (struct weft_sched){
            .graph = &call->graph,
            .ops = &ops,
            .comm = coll->comm,
            .plane = WEFT_PLANE_COLL,
            .goes_on_truncated = true,
            .is_exact = true,
            .reduces_by_call = coll->op != NULL && weft_operation_is_user(coll->op),
        };
        set_spaces(call);
        rc = set_scratch(call);
    }
    if (rc == WEFT_OK) {
        rc = weft_sched_make(&call->sched);
    }
    if (rc != WEFT_OK) {
        free_call(call);
    }
    return rc;
}

/* ---- starting ---- */

/* A member whose collectives are broken returns that as the reason of every failure. */
static enum weft_rc reason_of(const struct weft_comm *comm, enum weft_rc rc)
{
    return rc == WEFT_ERR_PROC_FAILED && !weft_calls_are_whole(comm) ? WEFT_ERR_DISAGREE
                                                                     : rc;
}

/* The result of a call that is not blocking. Without memory it breaks the communicator.
 */
static enum weft_rc told(struct weft_comm *comm, enum weft_rc rc)
{
    if (weft_unlikely(rc == WEFT_ERR_NOMEM)) {
        weft_disagree_starved_apart(comm);
    }
    return reason_of(comm, rc);
}

static void start(struct call *call)
{
    if (call->algorithm != NULL) {
        weft_choices_count(call->algorithm);
    }
    weft_sched_start(&call->sched);
}

/* Members with which messages are left wait for them, and learn that they do not come. */
static void end_open(struct weft_open_call *open)
{
    struct call *call = (struct call *)((char *)open - offsetof(struct call, open));

    for (uint32_t i = 0; i < call->graph.step_count; i++) {
        const struct weft_step *step = &call->graph.steps[i];

        if ((step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_RECV) &&
            !weft_sched_is_over(&call->sched, i)) {
            weft_disagree_tell(open->comm, route(&call->sched, step->peer).rank);
        }
    }
    weft_sched_fail(&call->sched, open->comm->calls->other.why == WEFT_GAVE_UP_STARVED
                                      ? WEFT_ERR_NOMEM
                                      : WEFT_ERR_DISAGREE);
}

static void start_open(struct call *call)
{
    if (!weft_comm_is_inter(call->coll.comm)) {
        call->open.comm = call->coll.comm;
        call->open.end = end_open;
        weft_open_call_begin(&call->open);
    }
    start(call);
}

int weft_coll_number(struct weft_comm *comm)
{
    weft_assert_locked();
    return (int)(comm->collectives++ % WEFT_COLL_NUMBERS);
}

/* With the lock: its request, and its number. On failure the call is still the caller's.
 */
static enum weft_rc begin(struct call *call, struct weft_request **out)
{
    struct weft_comm *comm = call->coll.comm;
    enum weft_rc rc = comm->is_revoked ? WEFT_ERR_PROC_FAILED : weft_request_take(out);

    weft_assert_locked();
    if (rc != WEFT_OK) {
        return rc;
    }
    (*out)->kind = WEFT_REQUEST_COLLECTIVE;
    (*out)->function = call->coll.name;
    (*out)->source = MPI_ANY_SOURCE;
    (*out)->tag = MPI_ANY_TAG;
    (*out)->bytes = 0;
    weft_request_set_comm(*out, comm);
    call->sched.request = *out;
    call->sched.tag = weft_coll_number(comm);
    if (comm->local != NULL) {
        call->local_tag = weft_coll_number(comm->local);
    }
    keep(call);
    return WEFT_OK;
}

/* Begins a call that was made, or frees it. On success the lock is held. */
static enum weft_rc begin_made(struct call *call, struct weft_request **out)
{
    enum weft_rc rc;

    weft_assert_unlocked();
    weft_lock();
    rc = begin(call, out);
    if (rc != WEFT_OK) {
        weft_unlock();
        free_call(call);
    }
    return rc;
}

/*
 * After a process of the job has failed: a member that only sends would go on without an
 * error while all others have theirs. The last barrier of MPI_Finalize is for survivors,
 * too.
 */
static enum weft_rc check_members_locked(const struct weft_coll *coll)
{
    weft_assert_locked();
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed();
    }
    if (!coll->is_last && weft_p2p_failed_from(coll->comm, 0) != MPI_UNDEFINED) {
        revoke(coll->comm);
        return WEFT_ERR_PROC_FAILED;
    }
    return WEFT_OK;
}

static __attribute__((noinline)) enum weft_rc check_members(const struct weft_coll *coll)
{
    enum weft_rc rc;

    weft_lock();
    rc = check_members_locked(coll);
    weft_unlock();
    return rc;
}

static bool is_job_whole(void)
{
    return weft_likely(atomic_load_explicit(weft_engine.failures, memory_order_relaxed) ==
                       0);
}

static enum weft_rc begin_new(const struct weft_coll *coll, struct call **call,
                              struct weft_request **out)
{
    const enum weft_rc checked = is_job_whole() ? WEFT_OK : check_members(coll);
    const enum weft_rc rc = checked == WEFT_OK ? make(coll, call) : checked;

    return rc == WEFT_OK ? begin_made(*call, out) : rc;
}

enum weft_rc weft_coll_start(const struct weft_coll *coll, struct weft_request **out)
{
    struct call *call;
    const enum weft_rc rc = begin_new(coll, &call, out);

    if (rc == WEFT_OK) {
        start_open(call);
        weft_request_hand_out(*out);
        weft_engine_leave();
        weft_unlock();
    }
    return told(coll->comm, rc);
}

/* ---- blocking calls ---- */

/* Keeps the signature of a call for members that ask, and returns its word. Between two
 * groups a root has several names, and calls are not compared. */
static inline uint32_t say(const struct weft_coll *coll, uint64_t bytes)
{
    struct weft_comm *comm = coll->comm;
    const uint32_t number = ++comm->blocking % WEFT_SIGNATURE_NUMBERS;
    struct weft_calls *calls = comm->calls;
    struct weft_signature says;

    if (weft_unlikely(calls == NULL)) { /* as it always is between two groups */
        if (weft_comm_is_inter(comm)) {
            return 0;
        }
        weft_lock(); /* another thread may be told of a member that waits */
        calls = comm->calls != NULL ? comm->calls : weft_calls_make(comm);
        weft_unlock();
    }
    says = (struct weft_signature){weft_signature_what(coll, number), bytes};
    if (weft_likely(calls != NULL)) {
        weft_calls_keep(calls, number, &says, weft_slots_calls(comm));
    }
    return (uint32_t)says.what;
}

/* A call has freed itself when its request is complete. */
struct message_wait {
    struct weft_call_wait base; /* first */
    struct call *call;
    const struct weft_request *request;
};

static bool ask(void *argument, int peer)
{
    struct message_wait *wait = argument;

    return weft_call_wait_ask(&wait->base, route(&wait->call->sched, peer).rank);
}

static void look_for_missing(struct weft_call_wait *base, int first)
{
    struct message_wait *wait = (struct message_wait *)base;

    if (!weft_request_is_complete(wait->request)) {
        base->next = weft_sched_each_peer(&wait->call->sched, first, ask, wait);
    }
}

static bool tell(void *argument, int peer)
{
    struct message_wait *wait = argument;

    weft_disagree_tell(wait->base.comm, route(&wait->call->sched, peer).rank);
    return true;
}

static void end_wait(struct weft_call_wait *base)
{
    struct message_wait *wait = (struct message_wait *)base;

    if (!weft_request_is_complete(wait->request)) {
        weft_sched_each_peer(&wait->call->sched, 0, tell, wait);
        weft_sched_fail(&wait->call->sched, WEFT_ERR_DISAGREE);
    }
}

/* Waits for the call's request. The call frees itself when that is complete. */
static void wait_for_messages(struct call *call, struct weft_request *request)
{
    const struct weft_wait_reason why = {call->coll.name, call->coll.comm->name,
                                         MPI_ANY_SOURCE, MPI_ANY_TAG, 0};
    struct message_wait wait = {
        .base = {.comm = call->coll.comm, .missing = look_for_missing, .end = end_wait},
        .call = call,
        .request = request,
    };

    weft_call_wait_begin(&wait.base);
    weft_wait_locked(request, &why);
    weft_call_wait_end(&wait.base);
}

/* The barrier through the segment, which has no way to tell ranks that one gives up: a
 * rank that learns that others make another call ends the job. */
struct barrier_wait {
    struct weft_call_wait base; /* first */
    struct weft_wait_watch watch;
};

static void look_for_late(struct weft_call_wait *base, int first)
{
    const struct weft_segment *segment = &weft_engine.job->segment;

    for (int i = first; i < base->comm->size; i++) {
        const int rank = (int)weft_segment_rank(segment, (uint32_t)i);

        if (rank != base->comm->rank && !weft_engine_has_come((uint32_t)i) &&
            !weft_call_wait_ask(base, rank)) {
            base->next = i;
            return;
        }
    }
}

static void end_job(struct weft_call_wait *base)
{
    char cause[WEFT_CAUSE_BYTES];
    const int class = weft_disagree_describe(base->comm, cause, sizeof(cause));

    weft_wireup_abort(weft_engine.job, class, cause);
}

static struct barrier_wait *wait_of(struct weft_wait_watch *watch)
{
    return (struct barrier_wait *)((char *)watch - offsetof(struct barrier_wait, watch));
}

static void begin_barrier_wait(struct weft_wait_watch *watch)
{
    weft_call_wait_begin(&wait_of(watch)->base);
}

static void end_barrier_wait(struct weft_wait_watch *watch)
{
    weft_call_wait_end(&wait_of(watch)->base);
}

enum weft_rc weft_coll_node_barrier(const char *name, bool is_last)
{
    const struct weft_coll coll = {
        .comm = &weft_comm_world,
        .name = name,
        .kind = WEFT_COLL_BARRIER,
        .is_last = is_last,
    };
    struct barrier_wait wait = {
        .base = {.comm = coll.comm,
                 .missing = look_for_late,
                 .end = end_job,
                 .is_last = is_last},
        .watch = {begin_barrier_wait, end_barrier_wait},
    };

    (void)say(&coll, 0);
    return weft_engine_barrier(name, &wait.watch);
}

static enum weft_rc run_by_messages(const struct weft_coll *coll)
{
    struct weft_request *request;
    struct call *call;
    enum weft_rc rc = begin_new(coll, &call, &request);

    if (rc == WEFT_OK) {
        start(call);
        if (!weft_request_is_complete(request)) {
            wait_for_messages(call, request);
        }
        rc = request->rc;
        weft_request_give(request);
        weft_engine_leave();
        weft_unlock();
    }
    return rc;
}

/* A blocking call of members that share slots. *is_done becomes false: it is to be made
 * by messages. */
static enum weft_rc run_in_slots(const struct weft_coll *coll, struct weft_shape *shape,
                                 struct weft_slots *slots, uint32_t word, bool *is_done)
{
    struct weft_shared *large = weft_slots_large(slots);
    const struct weft_algorithm *algorithm;
    enum weft_rc rc;

    shape->nodes = 1;
    shape->has_slots = true;
    shape->has_meetings = weft_slots_meets(slots);
    shape->is_reached = large != NULL && weft_shared_may_reach(large);
    algorithm = weft_choices_find(coll->comm, coll->kind, shape);
    *is_done = algorithm->method != WEFT_BY_GRAPH;
    if (algorithm->method == WEFT_BY_FLAGS) {
        weft_choices_count(algorithm);
        return weft_flags_run(coll, shape, slots, word);
    }
    if (algorithm->method == WEFT_BY_PIECES) {
        rc = weft_shared_agree(large, coll->name, is_done);
        if (rc == WEFT_OK && *is_done) {
            weft_choices_count(algorithm);
            rc = weft_shared_call(large, word, coll, shape);
            rc = rc == WEFT_ERR_TRUNCATE ? WEFT_ERR_DISAGREE : rc;
        }
        *is_done |= rc != WEFT_OK;
        return rc;
    }
    return WEFT_OK;
}

static struct weft_coll bcast_of(struct weft_comm *comm, const char *name, void *buffer,
                                 size_t bytes, int root)
{
    return (struct weft_coll){
        .comm = comm,
        .name = name,
        .kind = WEFT_COLL_BCAST,
        .root = root,
        .recv = {.buffer = buffer,
                 .type = weft_datatype_from_handle(MPI_BYTE),
                 .count = (MPI_Count)bytes},
    };
}

static struct weft_coll sum_of(struct weft_comm *comm, const char *name, const int *mine,
                               int *all, size_t count)
{
    struct weft_datatype *type = weft_datatype_from_handle(MPI_INT);

    return (struct weft_coll){
        .comm = comm,
        .name = name,
        .kind = WEFT_COLL_ALLREDUCE,
        .op = weft_operation_from_handle(MPI_SUM),
        .send = {.buffer = mine, .type = type, .count = (MPI_Count)count},
        .recv = {.buffer = all, .type = type, .count = (MPI_Count)count},
    };
}

/* The calls that make slots are a part of the call that needs them: they have no number
 * and keep no signature. */
static enum weft_rc bcast_for_slots(struct weft_comm *comm, const char *name,
                                    void *buffer, size_t bytes, int root)
{
    const struct weft_coll coll = bcast_of(comm, name, buffer, bytes, root);

    return run_by_messages(&coll);
}

static enum weft_rc sum_for_slots(struct weft_comm *comm, const char *name,
                                  const int *mine, int *all, size_t count)
{
    const struct weft_coll coll = sum_of(comm, name, mine, all, count);

    return run_by_messages(&coll);
}

/* A call on a communicator without slots, which are made if it can have them, or with
 * sizes of its own. */
static __attribute__((noinline)) enum weft_rc run_slowly(const struct weft_coll *coll)
{
    static const struct weft_slots_ask makers = {bcast_for_slots, sum_for_slots};
    const uint32_t word = say(coll, weft_coll_common_bytes(coll));
    const size_t count = weft_coll_size_count(coll);
    bool is_done = false;
    struct weft_slots *slots;
    enum weft_rc rc = weft_slots_of(coll->comm, coll->name, &makers, &slots);

    if (rc != WEFT_OK) {
        return rc;
    }
    if (slots != NULL && (count == 0 || coll->kind == WEFT_COLL_REDUCE_SCATTER)) {
        uint64_t *sizes = count > 0 ? reallocarray(NULL, count, sizeof(*sizes)) : NULL;
        struct weft_shape shape;

        if (count > 0 && sizes == NULL) {
            return WEFT_ERR_NOMEM;
        }
        shape = weft_coll_shape(coll, sizes);
        rc = run_in_slots(coll, &shape, slots, word, &is_done);
        free(sizes);
    }
    return is_done ? rc : run_by_messages(coll);
}

/* A call in slots that are there. Neighbours agree in pairs, so that the bytes of this
 * rank's block say nothing about those of others (weft_coll_common_bytes). */
static inline enum weft_rc run_at_once(const struct weft_coll *coll)
{
    struct weft_shape shape = weft_coll_shape(coll, NULL);
    const uint32_t word = say(coll, shape.around == NULL ? shape.bytes : 0);
    bool is_done;
    const enum weft_rc rc = run_in_slots(coll, &shape, coll->comm->slots, word, &is_done);

    return is_done ? rc : run_by_messages(coll);
}

enum weft_rc weft_coll_run(const struct weft_coll *coll)
{
    enum weft_rc rc;

    if (weft_unlikely(!weft_calls_are_whole(coll->comm))) {
        return WEFT_ERR_DISAGREE;
    }
    rc = weft_likely(weft_slots_are_made(coll->comm) && weft_coll_size_count(coll) == 0)
             ? run_at_once(coll)
             : run_slowly(coll);
    if (weft_likely(rc == WEFT_OK)) {
        return rc;
    }
    if (rc == WEFT_ERR_NOMEM) {
        weft_disagree_starved(coll->comm);
    }
    return reason_of(coll->comm, rc);
}

/* ---- persistent ---- */

static struct call *call_of(struct weft_persistent *persistent)
{
    return (struct call *)((uintptr_t)persistent - offsetof(struct call, persistent));
}

static enum weft_rc start_again(struct weft_request *request)
{
    struct call *call = call_of(request->persistent);
    struct weft_comm *comm = call->coll.comm;
    const enum weft_rc rc = is_job_whole() ? WEFT_OK : check_members_locked(&call->coll);

    if (rc != WEFT_OK || comm->is_revoked) {
        return reason_of(comm, WEFT_ERR_PROC_FAILED);
    }
    start_open(call);
    weft_request_hand_out(request);
    return WEFT_OK;
}

static void close_call(struct weft_persistent *persistent)
{
    struct call *call = call_of(persistent);

    release(call);
    free_call(call);
}

/* How many blocks of a side have a count in `counts`, which means nothing in place. */
static size_t counted_blocks(const struct weft_coll *coll, bool is_send)
{
    const struct weft_coll_side *side = is_send ? &coll->send : &coll->recv;

    if (side->counts == NULL || side->buffer == MPI_IN_PLACE) {
        return 0;
    }
    return coll->kind == WEFT_COLL_REDUCE_SCATTER
               ? (size_t)coll->comm->size
               : (size_t)weft_coll_peers(coll, is_send);
}

/* Copies counts and displacements of a side to `at` and returns what is behind them. Each
 * array begins at a multiple of eight bytes. */
static char *copy_arrays(struct weft_coll_side *side, size_t blocks, char *at)
{
    const size_t count_bytes = side->has_large_counts ? sizeof(MPI_Count) : sizeof(int);
    const size_t displ_bytes = side->has_large_displs ? sizeof(MPI_Aint) : sizeof(int);

    if (blocks > 0) {
        side->counts = memcpy(at, side->counts, blocks * count_bytes);
        at += blocks * sizeof(MPI_Count);
        if (side->displs != NULL) {
            side->displs = memcpy(at, side->displs, blocks * displ_bytes);
        }
        at += blocks * sizeof(MPI_Aint);
    }
    return at;
}

/*
 * The standard has the user keep the arrays until the request is freed. Programs forget
 * it, because other libraries read them once, in the initialization (mpi4py 4.1.2 frees
 * those of MPI_Allgatherv_init).
 */
static enum weft_rc keep_arrays(struct call *call)
{
    struct weft_coll *coll = &call->coll;
    const size_t sent = counted_blocks(coll, true);
    const size_t gotten = counted_blocks(coll, false);

    if (sent + gotten == 0) {
        return WEFT_OK;
    }
    call->arrays = calloc(sent + gotten, sizeof(MPI_Count) + sizeof(MPI_Aint));
    if (call->arrays == NULL) {
        return WEFT_ERR_NOMEM;
    }
    copy_arrays(&coll->recv, gotten, copy_arrays(&coll->send, sent, call->arrays));
    return WEFT_OK;
}

enum weft_rc weft_coll_init(const struct weft_coll *coll, struct weft_request **out)
{
    struct call *call;
    enum weft_rc rc = make(coll, &call);

    if (rc == WEFT_OK) {
        rc = keep_arrays(call);
        if (rc != WEFT_OK) {
            free_call(call);
        }
    }
    if (rc != WEFT_OK) {
        return told(coll->comm, rc);
    }
    rc = begin_made(call, out);
    if (rc == WEFT_OK) {
        call->persistent = (struct weft_persistent){start_again, close_call};
        weft_request_set_persistent(*out, &call->persistent);
        weft_unlock();
    }
    return told(coll->comm, rc);
}

/* ---- for the library ---- */

enum weft_rc weft_coll_run_inside(const struct weft_coll *coll)
{
    return weft_disagree_reason(coll->comm, weft_coll_run(coll));
}

enum weft_rc weft_coll_barrier(struct weft_comm *comm, const char *name)
{
    return weft_coll_run_inside(
        &(struct weft_coll){.comm = comm, .name = name, .kind = WEFT_COLL_BARRIER});
}

enum weft_rc weft_coll_last_barrier(struct weft_comm *comm, const char *name)
{
    return weft_coll_run_inside(&(struct weft_coll){
        .comm = comm, .name = name, .kind = WEFT_COLL_BARRIER, .is_last = true});
}

enum weft_rc weft_coll_bcast(struct weft_comm *comm, const char *name, void *buffer,
                             size_t bytes, int root)
{
    const struct weft_coll coll = bcast_of(comm, name, buffer, bytes, root);

    return weft_coll_run_inside(&coll);
}

enum weft_rc weft_coll_sum(struct weft_comm *comm, const char *name, const int *mine,
                           int *all, size_t count)
{
    const struct weft_coll coll = sum_of(comm, name, mine, all, count);

    return weft_coll_run_inside(&coll);
}
