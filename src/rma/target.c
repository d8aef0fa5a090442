/*
 * target.c - packets of windows as they come. Operations are applied under the lock, one
 * packet after the other: so accumulates are atomic, and those of one origin stay in
 * order. What a peer sends is checked before anything is touched; what no rank sends ends
 * the job.
 */
#include "rma/target.h"

#include "base/copy.h"
#include "base/texts.h"
#include "engine/engine.h"
#include "engine/seal.h"
#include "p2p/p2p.h"
#include "p2p/state.h"
#include "rma/apply.h"
#include "rma/attach.h"
#include "rma/far.h"
#include "rma/lock.h"
#include "rma/operation.h"
#include "rma/runs.h"
#include "rma/send.h"
#include "rma/sync.h"
#include "rma/update.h"
#include "rma/wait.h"

#include <stdlib.h>
#include <string.h>

/* A packet, taken apart. */
struct arrived {
    struct weft_win *win;
    struct weft_peer *from;
    int rank;
    struct weft_pkt_rma packet;
    struct weft_rma_run runs[WEFT_RUNS_MAX];
    char *memory[WEFT_RUNS_MAX]; /* where each begins here */
    const uint8_t *data;
    const struct weft_datatype *type; /* of its elements, or NULL */
    MPI_Op op;
};

static const char other_length[] = "its lengths do not agree";

/* ---- what came ---- */

static const char *open_packet(const struct weft_header *header, const void *data,
                               size_t len, struct weft_win **win)
{
    if (header->length != len) {
        return other_length;
    }
    if (weft_p2p.has_checksum && !weft_seal_is_intact(header, data, len)) {
        return "its checksum is wrong";
    }
    *win = weft_win_of_context(header->context);
    if (*win == NULL) {
        return "there is no such window";
    }
    return header->source < (uint32_t)(*win)->comm->size ? NULL : "there is no such rank";
}

/* Do elements and operation exist, and go together? */
static const char *find_elements(struct arrived *a)
{
    const struct weft_pkt_rma *p = &a->packet;

    a->op = (MPI_Op)(uintptr_t)p->op;
    if (p->kind == WEFT_RMA_PUT || p->kind == WEFT_RMA_GET) {
        return NULL;
    }
    a->type = weft_datatype_from_handle((MPI_Datatype)(uintptr_t)p->type);
    if (a->type == NULL || !a->type->is_predefined || a->type->size == 0 ||
        p->bytes % a->type->size != 0) {
        return "its elements make no sense";
    }
    if (p->kind == WEFT_RMA_SWAP) {
        return p->bytes == a->type->size ? NULL : other_length;
    }
    return weft_rma_is_defined(a->op, a->type)
               ? NULL
               : "its operation is not defined for its elements";
}

/* How many bytes of data come with a packet. */
static uint64_t data_wanted(const struct weft_pkt_rma *p)
{
    if (p->kind == WEFT_RMA_SWAP) {
        return 2 * (uint64_t)p->bytes;
    }
    return p->kind == WEFT_RMA_GET || (MPI_Op)(uintptr_t)p->op == MPI_NO_OP ? 0
                                                                            : p->bytes;
}

static const char *read_packet(struct arrived *a, const uint8_t *data, size_t len)
{
    struct weft_pkt_rma *p = &a->packet;
    size_t runs;
    uint64_t bytes = 0;

    memcpy(p, data, sizeof(*p));
    runs = p->runs * sizeof(a->runs[0]);
    if (p->kind == 0 || p->kind >= WEFT_RMA_KINDS || p->runs > WEFT_RUNS_MAX ||
        p->bytes > WEFT_EAGER_MAX || len != sizeof(*p) + runs + p->data ||
        p->data != data_wanted(p)) {
        return other_length;
    }
    if (p->step != 0 && p->kind != WEFT_RMA_PUT && p->kind != WEFT_RMA_ACCUMULATE) {
        return "it brings something back, and has a step";
    }
    memcpy(a->runs, data + sizeof(*p), runs);
    a->data = data + sizeof(*p) + runs;
    for (int i = 0; i < p->runs; i++) {
        const uint64_t some = (uint64_t)a->runs[i].count * a->runs[i].length;

        if (some > p->bytes - bytes) { /* the sum of large ones would overflow */
            return other_length;
        }
        bytes += some;
    }
    return bytes == p->bytes ? find_elements(a) : other_length;
}

/* Finds the memory. False: some of it is not in the window. */
static bool find_memory(struct arrived *a)
{
    for (int i = 0; i < a->packet.runs; i++) {
        a->memory[i] = weft_region_find(a->win, &a->runs[i]);
        if (a->memory[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* ---- moving ---- */

static void copy_out(const struct arrived *a, uint8_t *to)
{
    for (int i = 0; i < a->packet.runs; i++) {
        const struct weft_rma_run *run = &a->runs[i];

        for (uint32_t k = 0; k < run->count; k++) {
            memcpy(to, a->memory[i] + (int64_t)k * run->stride, run->length);
            to += run->length;
        }
    }
}

static void copy_in(const struct arrived *a, const uint8_t *from)
{
    for (int i = 0; i < a->packet.runs; i++) {
        const struct weft_rma_run *run = &a->runs[i];

        for (uint32_t k = 0; k < run->count; k++) {
            weft_copy(a->memory[i] + (int64_t)k * run->stride, from, run->length);
            from += run->length;
        }
    }
}

/* ---- answers ---- */

/* As much as a packet carries each time. The head of a packet is written before its
 * bytes, over what is there: over bytes that have gone, or to the room that the caller
 * has left. */
static void bring_back(const struct arrived *a, uint8_t *bytes, size_t len)
{
    struct weft_pkt_rma_data head = {.operation = a->packet.operation,
                                     .offset = a->packet.offset};
    const size_t most = weft_rma_packet_max(a->from) - sizeof(head);

    while (len > 0) {
        const size_t some = len < most ? len : most;
        uint8_t *packet = bytes - sizeof(head);

        memcpy(packet, &head, sizeof(head));
        weft_rma_send(a->win, a->from, WEFT_PKT_RMA_DATA, packet, sizeof(head) + some);
        head.offset += some;
        bytes += some;
        len -= some;
    }
}

static bool is_fetch(const struct arrived *a)
{
    return a->packet.kind != WEFT_RMA_PUT && a->packet.kind != WEFT_RMA_ACCUMULATE;
}

static void refuse(const struct arrived *a)
{
    const struct weft_pkt_rma_data head = {
        .operation = a->packet.operation,
        .offset = a->packet.offset,
        .is_refused = 1,
        .bytes = a->packet.bytes,
    };

    if (is_fetch(a)) {
        weft_rma_send(a->win, a->from, WEFT_PKT_RMA_DATA, &head, sizeof(head));
    } else {
        weft_rma_sync(a->win, a->from, WEFT_RMA_REFUSED, a->packet.bytes);
    }
}

/* ---- operations ---- */

/* Bytes before the first that is brought back, and the most that are changed on the
 * stack. */
enum { ROOM_BEFORE = 64, STACK_MOST = 512 };
_Static_assert((int)sizeof(struct weft_pkt_rma_data) <= (int)ROOM_BEFORE,
               "a packet's head fits");

static void apply(const struct arrived *a)
{
    /* Little is on the stack of the thread that polls, which may be a small one. */
    _Alignas(64) uint8_t small[ROOM_BEFORE + 2 * STACK_MOST];
    const size_t bytes = a->packet.bytes;
    uint8_t *memory = bytes <= STACK_MOST ? small : malloc(ROOM_BEFORE + 2 * bytes);
    uint8_t *old = memory + ROOM_BEFORE;
    uint8_t *fresh = old + bytes;

    if (memory == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_ANSWER);
    }
    copy_out(a, old);
    if (a->packet.kind == WEFT_RMA_SWAP) {
        memcpy(fresh, old, bytes);
        weft_rma_swap(a->type, a->data, a->data + bytes, fresh);
        copy_in(a, fresh);
    } else if (a->packet.kind != WEFT_RMA_GET && a->op != MPI_NO_OP) {
        memcpy(fresh, old, bytes);
        weft_rma_apply(a->op, a->type, a->data, fresh, bytes);
        copy_in(a, fresh);
    }
    if (is_fetch(a)) {
        bring_back(a, old, bytes);
    }
    if (memory != small) {
        free(memory);
    }
}

static const char *take_step(struct weft_win *win, struct weft_target *t,
                             const struct weft_pkt_rma_sync *step);

/* The step of an epoch that follows a put or accumulate; says what is wrong, or NULL. */
static const char *step_behind(const struct arrived *a)
{
    const struct weft_pkt_rma_sync step = {a->packet.step, (uint32_t)a->packet.operation};
    struct weft_target *target;
    const char *fault = NULL;

    if (weft_win_target(a->win, a->rank, &target) == WEFT_OK) {
        fault = take_step(a->win, target, &step);
        weft_rma_look(a->win);
    }
    return fault;
}

static void on_operation(void *owner, struct weft_peer *from,
                         const struct weft_header *header, const void *data, size_t len)
{
    struct arrived a;
    const char *fault = open_packet(header, data, len, &a.win);

    (void)owner;
    a.from = from;
    a.rank = (int)header->source;
    fault = fault != NULL ? fault : read_packet(&a, data, len);
    if (fault != NULL) {
        weft_engine_reject(from, header, len, fault);
    }
    if (weft_p2p_reach(from->process, &a.from) != WEFT_OK) {
        return; /* it has failed: nobody waits */
    }
    if (!find_memory(&a)) {
        refuse(&a);
    } else if (a.packet.kind == WEFT_RMA_PUT) {
        copy_in(&a, a.data);
    } else if (a.packet.kind == WEFT_RMA_GET || a.win->own_words == NULL) {
        apply(&a);
    } else {
        weft_update_begin(a.win, a.win->own_words);
        apply(&a);
        weft_update_end(a.win->own_words);
    }
    fault = a.packet.step != 0 ? step_behind(&a) : NULL;
    if (fault != NULL) {
        weft_engine_reject(from, header, len, fault);
    }
}

/* ---- at the origin ---- */

static void on_data(void *owner, struct weft_peer *from, const struct weft_header *header,
                    const void *data, size_t len)
{
    struct weft_win *win;
    struct weft_pkt_rma_data head;
    const char *fault = open_packet(header, data, len, &win);

    (void)owner;
    if (fault == NULL) {
        memcpy(&head, data, sizeof(head));
        fault = weft_operation_on_data(
            win, from, &head, (const char *)data + sizeof(head), len - sizeof(head));
    }
    if (fault != NULL) {
        weft_engine_reject(from, header, len, fault);
    }
}

/* ---- epochs ---- */

/* What it means for one of whom we know, and can answer. */
static const char *take_step(struct weft_win *win, struct weft_target *t,
                             const struct weft_pkt_rma_sync *step)
{
    switch ((enum weft_rma_sync)step->what) {
    case WEFT_RMA_FLUSH:
        weft_rma_sync(win, t->peer, WEFT_RMA_FLUSHED, step->number);
        return NULL;
    case WEFT_RMA_FLUSHED:
        t->answered = step->number;
        return NULL;
    case WEFT_RMA_LOCK_SHARED:
    case WEFT_RMA_LOCK_EXCLUSIVE:
        return weft_rma_on_lock(win, t, step->what == WEFT_RMA_LOCK_EXCLUSIVE);
    case WEFT_RMA_GRANTED:
        t->is_granted = true;
        return NULL;
    case WEFT_RMA_UNLOCK:
        return weft_rma_on_unlock(win, t, step->number);
    case WEFT_RMA_POST:
        t->posts++;
        return NULL;
    case WEFT_RMA_COMPLETE:
        t->completes++;
        return NULL;
    case WEFT_RMA_COMPLETE_ASKED:
        t->completes++;
        weft_rma_sync(win, t->peer, WEFT_RMA_FLUSHED, step->number);
        return NULL;
    case WEFT_RMA_REFUSED:
        t->is_refused = true;
        return NULL;
    case WEFT_RMA_WITHDRAW:
        weft_far_leave(win, t, step->number);
        return NULL;
    case WEFT_RMA_SYNCS:
        break;
    }
    return "there is no such step of an epoch";
}

static void on_sync(void *owner, struct weft_peer *from, const struct weft_header *header,
                    const void *data, size_t len)
{
    struct weft_pkt_rma_sync step;
    struct weft_target *target;
    struct weft_win *win;
    const char *fault = open_packet(header, data, len, &win);

    (void)owner;
    if (fault == NULL && weft_win_target(win, (int)header->source, &target) == WEFT_OK) {
        memcpy(&step, data, sizeof(step));
        fault = take_step(win, target, &step);
        weft_rma_look(win);
    }
    if (fault != NULL) {
        weft_engine_reject(from, header, len, fault);
    }
}

void weft_target_register_kinds(void)
{
    enum { HEAD = sizeof(struct weft_pkt_rma), DATA = sizeof(struct weft_pkt_rma_data) };
    static const struct weft_packet_kind operation = {on_operation, HEAD,
                                                      WEFT_EAGER_MAX - HEAD, "RMA", true};
    static const struct weft_packet_kind data = {on_data, DATA, WEFT_EAGER_MAX - DATA,
                                                 "RMA_DATA", true};
    static const struct weft_packet_kind sync = {
        on_sync, sizeof(struct weft_pkt_rma_sync), 0, "RMA_SYNC", true};

    weft_engine_kind(WEFT_PKT_RMA, &operation);
    weft_engine_kind(WEFT_PKT_RMA_DATA, &data);
    weft_engine_kind(WEFT_PKT_RMA_SYNC, &sync);
}
