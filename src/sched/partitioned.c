/*
 * partitioned.c - one message, whose sender says part by part that it is ready.
 *
 *   sender                                      receiver
 *   Psend_init: greeting, with the user's  -->  Precv_init waits for it
 *               tag: how the message is cut,
 *               and the tags of the units
 *   Start                                       Start: a receive for each unit, as soon
 *   Pready: the last part of a unit: sent  -->         as the greeting has come
 *   over when all units are sent                over when all units have come
 *
 * Greetings and units are ordinary messages on a plane of their own, so what point-to-
 * point messages have is theirs too: eager or long, offered, held back when nobody takes
 * them. Greetings meet in the order in which both sides made their requests, for each
 * source and tag, which is the matching that the standard asks for; it happens once. From
 * then on every unit has a tag that only this pair of requests uses: the tags below zero,
 * which no user has, given out by the sender in ascending order. So a unit finds its
 * place whenever it becomes ready, and those of the next start wait behind it.
 *
 * The sender cuts by its own partitions (parts.h), so the receiver's may be others; a
 * partition has arrived when all units are there that have bytes of it.
 *
 * A request that is freed before its greeting is through leaves what it needs behind
 * until then: the peer's must not meet another's. All of it happens under the lock.
 */
#include "sched/partitioned.h"

#include "base/texts.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/lock.h"
#include "p2p/state.h"
#include "sched/parts.h"
#include "sched/sched.h"
#include "transport/lasting.h"
#include "wireup/wireup.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct greeting {
    struct weft_parts parts;
    int32_t first_tag; /* unit i has first_tag + i */
    uint32_t zero;
};
_Static_assert(sizeof(struct greeting) == 32, "wire version 1");

enum { LOWEST_TAG = INT32_MIN, TAGS_END = -2 /* the wildcards */ };

struct partitioned {
    struct weft_persistent base;
    struct partitioned *next;     /* in the list of all */
    struct weft_request *request; /* the user's; NULL: it was freed */
    bool is_send;
    int peer; /* or MPI_PROC_NULL */
    int tag;
    struct weft_data data;
    uint32_t partitions;
    uint64_t partition_bytes;
    uint8_t *is_ready; /* send: a byte for each partition */

    struct greeting greeting;
    struct weft_schedule greeted;          /* goes on when the greeting is through */
    struct weft_request *greeting_request; /* while it is not */
    enum weft_rc greeting_rc;              /* how it has ended */

    struct weft_graph graph; /* a step for each unit; receive: empty until greeted */
    struct weft_sched sched;
    uint64_t got; /* receive: bytes of the units of this start that are over */
};

static struct partitioned *all;
static int64_t next_tag = LOWEST_TAG;

/* ---- tags ---- */

static bool is_in_use(int64_t first, uint32_t units)
{
    for (const struct partitioned *p = all; p != NULL; p = p->next) {
        if (p->is_send && p->greeting.first_tag < first + units &&
            first < (int64_t)p->greeting.first_tag + p->greeting.parts.units) {
            next_tag = (int64_t)p->greeting.first_tag + p->greeting.parts.units;
            return true;
        }
    }
    return false;
}

/* So many that no send of ours has; after two thousand million they begin anew. */
static int32_t take_tags(uint32_t units)
{
    int64_t first;

    do {
        if (next_tag + units > TAGS_END) {
            next_tag = LOWEST_TAG;
        }
        first = next_tag;
    } while (is_in_use(first, units));
    next_tag = first + units;
    return (int32_t)first;
}

/* ---- the life of a request ---- */

/* The user's memory lives while the request is active, so one registration of it may
 * serve all units. */
static void begin_lasting(const struct partitioned *p)
{
    if (p->data.type == NULL && p->greeting.parts.units > 1) {
        weft_lasting_add(weft_data_at(&p->data, 0), (size_t)p->data.bytes, p);
    }
}

static void end_lasting(const struct partitioned *p)
{
    weft_lasting_remove(weft_data_at(&p->data, 0), p);
}

static void free_partitioned(struct partitioned *p)
{
    struct partitioned **at = &all;

    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
    end_lasting(p);
    if (p->data.type != NULL) {
        weft_datatype_release(p->data.type);
    }
    weft_sched_free(&p->sched);
    weft_graph_free(&p->graph);
    free(p->is_ready);
    free(p);
}

/* The request is given back; nothing of its last start is under way. */
static void close_partitioned(struct weft_persistent *persistent)
{
    struct partitioned *p = (struct partitioned *)persistent;

    p->request = NULL;
    if (p->greeting_request == NULL) {
        free_partitioned(p);
    }
}

void weft_partitioned_close(void)
{
    while (all != NULL) {
        all->data.type = NULL; /* the types are gone */
        free_partitioned(all);
    }
    next_tag = LOWEST_TAG;
}

static struct partitioned *of_sched(const struct weft_sched *sched)
{
    return (struct partitioned *)((uintptr_t)sched - offsetof(struct partitioned, sched));
}

/* ---- units ---- */

static void heard(struct weft_sched *sched, uint32_t step,
                  const struct weft_request *request)
{
    struct partitioned *p = of_sched(sched);

    (void)step;
    p->got += p->is_send ? 0 : request->bytes;
}

static void done(struct weft_sched *sched, enum weft_rc rc)
{
    const struct partitioned *p = of_sched(sched);

    (void)rc;
    sched->request->bytes = p->got;
    end_lasting(p);
}

static const struct weft_sched_ops ops = {.heard = heard, .done = done};

/* The part of the data that a unit is; a receive may have less room than it takes. */
static struct weft_span span_of(const struct partitioned *p, uint32_t unit)
{
    const uint64_t offset = weft_parts_offset(&p->greeting.parts, unit);
    const uint64_t length = weft_parts_length(&p->greeting.parts, unit);
    const uint64_t room = offset < p->data.bytes ? p->data.bytes - offset : 0;

    return weft_span(p->is_send ? WEFT_SPACE_SEND : WEFT_SPACE_RECV, offset,
                     length < room ? length : room);
}

/* A message for each unit, in no order; a send waits for the partitions in it. */
static void build(struct partitioned *p)
{
    const uint32_t units = p->greeting.parts.units;

    weft_graph_reserve(&p->graph, units, 0);
    for (uint32_t i = 0; i < units; i++) {
        weft_graph_add(&p->graph,
                       &(struct weft_step){
                           .kind = p->is_send ? WEFT_STEP_SEND : WEFT_STEP_RECV,
                           .needs = p->is_send ? weft_parts_in_unit(&p->greeting.parts,
                                                                    p->partitions, i)
                                               : 0,
                           .peer = p->peer,
                           .tag = p->greeting.first_tag + (int)i,
                           .from = p->is_send ? span_of(p, i) : (struct weft_span){0},
                           .to = p->is_send ? (struct weft_span){0} : span_of(p, i),
                       });
    }
}

/* One that fails does not stop the others: their peers would wait. */
static enum weft_rc make_units(struct partitioned *p)
{
    build(p);
    p->sched = (struct weft_sched){
        .graph = &p->graph,
        .ops = &ops,
        .comm = p->request->comm,
        .plane = WEFT_PLANE_PARTITIONED,
        .spaces = {[WEFT_SPACE_SEND] = &p->data, [WEFT_SPACE_RECV] = &p->data},
        .request = p->request,
        .goes_on = true,
        .is_patient = true,
    };
    return p->graph.rc == WEFT_OK ? weft_sched_make(&p->sched) : p->graph.rc;
}

/* ---- starting ---- */

static void finish(struct weft_request *request, enum weft_rc rc)
{
    request->bytes = 0;
    weft_request_complete(request, rc);
}

static enum weft_rc start_send(struct weft_request *request)
{
    struct partitioned *p = (struct partitioned *)request->persistent;

    memset(p->is_ready, 0, p->partitions);
    if (p->peer == MPI_PROC_NULL) {
        finish(request, WEFT_OK);
    } else {
        begin_lasting(p);
        weft_sched_start(&p->sched);
    }
    return WEFT_OK;
}

/* After the greeting. */
static void receive_units(struct partitioned *p)
{
    p->got = 0;
    if (p->greeting_rc != WEFT_OK) {
        finish(p->request, p->greeting_rc);
    } else {
        begin_lasting(p);
        weft_sched_start(&p->sched);
    }
}

static enum weft_rc start_recv(struct weft_request *request)
{
    struct partitioned *p = (struct partitioned *)request->persistent;

    if (p->peer == MPI_PROC_NULL) {
        finish(request, WEFT_OK);
    } else if (p->greeting_request == NULL) {
        receive_units(p);
    }
    return WEFT_OK;
}

/* ---- greetings ---- */

/* A receive knows how its message is cut, or that nobody will send it. */
static void meet(struct partitioned *p)
{
    if (p->greeting_rc == WEFT_OK && make_units(p) != WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_PARTITIONED);
    }
    if (!p->request->is_inactive) {
        receive_units(p);
    }
}

static void advance_greeting(struct weft_schedule *schedule)
{
    struct partitioned *p =
        (struct partitioned *)((char *)schedule - offsetof(struct partitioned, greeted));

    p->greeting_rc = p->greeting_request->rc;
    weft_request_give(p->greeting_request);
    p->greeting_request = NULL;
    if (p->request == NULL) {
        free_partitioned(p);
    } else if (!p->is_send) {
        meet(p);
    }
}

static enum weft_rc greet(struct partitioned *p)
{
    struct weft_comm *comm = p->request->comm;
    const struct weft_data data = {.buffer = &p->greeting, .bytes = sizeof(p->greeting)};
    enum weft_rc rc;

    rc = p->is_send ? weft_isend_data_locked(comm, p->peer, p->tag, &data,
                                             WEFT_PLANE_PARTITIONED | WEFT_SEND_STANDARD,
                                             &p->greeting_request)
                    : weft_irecv_data_locked(comm, WEFT_PLANE_PARTITIONED, p->peer,
                                             p->tag, &data, &p->greeting_request);
    if (rc != WEFT_OK) {
        p->greeting_request = NULL;
    } else if (weft_request_is_complete(p->greeting_request)) {
        advance_greeting(&p->greeted);
    } else {
        weft_request_set_schedule(p->greeting_request, &p->greeted);
    }
    return rc;
}

/* ---- making ---- */

/* The user's request of `p`, which is in the list of all. */
static enum weft_rc make_request(struct partitioned *p, struct weft_comm *comm)
{
    enum weft_rc rc = weft_request_take(&p->request);
    struct weft_request *request = p->request;

    if (rc != WEFT_OK) {
        return rc;
    }
    request->kind = WEFT_REQUEST_SCHEDULE;
    request->source = p->is_send ? MPI_ANY_SOURCE : p->peer;
    request->tag = p->is_send || p->peer == MPI_PROC_NULL ? MPI_ANY_TAG : p->tag;
    weft_request_set_comm(request, comm);
    weft_request_set_persistent(request, &p->base);
    return WEFT_OK;
}

/* Takes `p` over; it is freed on failure. */
static enum weft_rc make(struct partitioned *p, struct weft_comm *comm,
                         struct weft_request **out)
{
    enum weft_rc rc;

    weft_lock();
    if (p->data.type != NULL) {
        weft_datatype_keep(p->data.type);
    }
    if (p->is_send && p->peer != MPI_PROC_NULL) {
        p->greeting.first_tag = take_tags(p->greeting.parts.units);
    }
    p->next = all;
    all = p;
    rc = make_request(p, comm);
    if (rc != WEFT_OK) {
        free_partitioned(p);
    } else {
        *out = p->request;
        rc = p->is_send && p->peer != MPI_PROC_NULL ? make_units(p) : WEFT_OK;
        if (rc == WEFT_OK && p->peer != MPI_PROC_NULL) {
            rc = greet(p);
        }
        if (rc != WEFT_OK) {
            weft_request_give(*out);
        }
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_psend_init(struct weft_comm *comm, int dest, int tag,
                             const struct weft_data *data, uint32_t partitions,
                             uint64_t bytes, struct weft_request **out)
{
    struct partitioned *p = malloc(sizeof(*p));

    if (p == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *p = (struct partitioned){
        .base = {start_send, close_partitioned},
        .is_send = true,
        .peer = dest,
        .tag = tag,
        .data = *data,
        .partitions = partitions,
        .partition_bytes = bytes,
        .greeted = {.advance = advance_greeting, .is_patient = true},
    };
    p->greeting.parts = weft_parts_cut(partitions, bytes);
    p->is_ready = calloc(partitions + 1, 1);
    if (p->is_ready == NULL) {
        free(p);
        return WEFT_ERR_NOMEM;
    }
    return make(p, comm, out);
}

enum weft_rc weft_precv_init(struct weft_comm *comm, int source, int tag,
                             const struct weft_data *data, uint32_t partitions,
                             uint64_t bytes, struct weft_request **out)
{
    struct partitioned *p = malloc(sizeof(*p));

    if (p == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *p = (struct partitioned){
        .base = {start_recv, close_partitioned},
        .peer = source,
        .tag = tag,
        .data = *data,
        .partitions = partitions,
        .partition_bytes = bytes,
        .greeted = {.advance = advance_greeting, .is_patient = true},
    };
    return make(p, comm, out);
}

/* ---- partitions ---- */

static const struct partitioned *of(const struct weft_request *request)
{
    return (const struct partitioned *)request->persistent;
}

bool weft_is_psend(const struct weft_request *request)
{
    return request->persistent != NULL && request->persistent->start == start_send;
}

bool weft_is_precv(const struct weft_request *request)
{
    return request->persistent != NULL && request->persistent->start == start_recv;
}

uint32_t weft_partitions(const struct weft_request *request)
{
    return of(request)->partitions;
}

void weft_partitioned_tell(const struct weft_request *request,
                           struct weft_partitioned_facts *facts)
{
    const struct partitioned *p = of(request);

    *facts = (struct weft_partitioned_facts){
        .peer = p->peer,
        .tag = p->tag,
        .bytes = p->data.bytes,
        .partitions = p->partitions,
    };
    for (uint32_t i = 0; p->is_send && i < p->partitions; i++) {
        facts->ready += p->is_ready[i] != 0;
    }
}

bool weft_partition_is_ready(const struct weft_request *request, uint32_t partition)
{
    return of(request)->is_ready[partition] != 0;
}

void weft_partition_ready(struct weft_request *request, uint32_t partition)
{
    struct partitioned *p = (struct partitioned *)request->persistent;
    const uint32_t unit = partition / p->greeting.parts.per_unit;

    p->is_ready[partition] = 1;
    if (p->peer != MPI_PROC_NULL) {
        weft_sched_release(&p->sched, unit);
    }
}

bool weft_partition_has_arrived(const struct weft_request *request, uint32_t partition)
{
    const struct partitioned *p = of(request);
    struct weft_units units;

    if (weft_request_is_complete(request)) {
        return true;
    }
    if (p->greeting_request != NULL) {
        return false;
    }
    units = weft_parts_covering(&p->greeting.parts, partition * p->partition_bytes,
                                (partition + 1) * p->partition_bytes);
    for (uint32_t i = units.first; i < units.end; i++) {
        if (!weft_sched_is_over(&p->sched, i)) {
            return false;
        }
    }
    return true;
}
