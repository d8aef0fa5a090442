#include "coll/disagree.h"

#include "base/clock.h"
#include "base/reserve.h"
#include "base/settings.h"
#include "base/texts.h"
#include "coll/algorithm.h"
#include "datatype/reduce.h"
#include "engine/engine.h"
#include "engine/held.h"
#include "p2p/p2p.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- what travels ---- */

/* Of all kinds: the asker's call, or that of the member that answers, or the last call.
 */
struct packet {
    uint32_t context;
    uint32_t rank; /* whose call it is, and why it makes no more, from bit WHY on */
    uint64_t what;
    uint64_t bytes;
    uint32_t in_slots; /* of the asker's call, as it is kept */
    uint32_t origin;   /* of the communicator (core/comm.h), or 0 */
};
_Static_assert(sizeof(struct packet) == 32, "WEFT_WIRE_VERSION");

enum { WHY = 30, RANKS = (1 << WHY) - 1 };

static enum weft_gave_up why_of(const struct packet *packet)
{
    return (enum weft_gave_up)(packet->rank >> WHY);
}

static int rank_of(const struct packet *packet)
{
    return (int)(packet->rank & RANKS);
}

/* ---- what this process has said ---- */

struct weft_calls *weft_calls_make(struct weft_comm *comm)
{
    comm->calls = weft_reserve_take_zeroed(sizeof(*comm->calls));
    return comm->calls;
}

/* The call of that number, and the calls in slots before it; false: it is not made yet,
 * or forgotten, or being made. */
static bool find_call(struct weft_calls *calls, uint32_t number,
                      struct weft_signature *out, uint32_t *in_slots)
{
    const uint32_t at = number % WEFT_CALLS_KEPT;

    out->what = atomic_load_explicit(&calls->ring[at].what, memory_order_acquire);
    out->bytes = atomic_load_explicit(&calls->ring[at].bytes, memory_order_relaxed);
    *in_slots = atomic_load_explicit(&calls->ring[at].in_slots, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return out->what != 0 && weft_signature_number(out->what) == number &&
           atomic_load_explicit(&calls->ring[at].what, memory_order_relaxed) == out->what;
}

/* These three are for the thread that makes the last call, or while that thread waits. */
static uint32_t last_at(const struct weft_comm *comm)
{
    return comm->blocking % WEFT_CALLS_KEPT;
}

static uint32_t last_in_slots(const struct weft_comm *comm)
{
    return atomic_load_explicit(&comm->calls->ring[last_at(comm)].in_slots,
                                memory_order_relaxed);
}

static struct weft_signature last_call(const struct weft_comm *comm)
{
    const uint32_t at = last_at(comm);

    return (struct weft_signature){
        atomic_load_explicit(&comm->calls->ring[at].what, memory_order_relaxed),
        atomic_load_explicit(&comm->calls->ring[at].bytes, memory_order_relaxed),
    };
}

/* ---- communicators that this process has freed ---- */

/* Members that wait have asked by then. */
#define LEFT_NS (UINT64_C(128) * WEFT_DISAGREE_NS)

/* The next call is the one that was not made. */
static struct left {
    uint32_t context; /* 0: none */
    int rank;
    uint32_t blocking;
    uint32_t origin;
    uint64_t since_ns;
    struct weft_calls *calls; /* or NULL */
    bool is_over;             /* a member has said that it makes no more calls there */
} lefts[WEFT_CALLS_LEFT];
static uint32_t left_count;

static struct left *find_left(uint32_t context)
{
    for (int i = 0; i < WEFT_CALLS_LEFT; i++) {
        if (lefts[i].context == context) {
            return &lefts[i];
        }
    }
    return NULL;
}

void weft_calls_leave(struct weft_comm *comm)
{
    struct left *left = find_left(comm->context);

    weft_assert_locked();
    if (weft_comm_is_inter(comm) || comm->size < 2) {
        return;
    }
    if (left == NULL) {
        left = &lefts[left_count++ % WEFT_CALLS_LEFT];
    }
    weft_reserve_give(left->calls);
    *left = (struct left){
        .context = comm->context,
        .rank = comm->rank,
        .blocking = comm->blocking,
        .origin = comm->origin,
        .since_ns = weft_clock_ns(),
        .calls = comm->calls,
        .is_over = comm->is_revoked,
    };
    comm->calls = NULL;
}

/*
 * The communicator that this process has freed and that members speak of, or NULL. Its
 * context may be that of a new one, which this process does not know yet: then it has
 * begun to make that, or no other member could have it. The new one comes from another
 * call; `origin` is that of the one that is meant, or 0 if that is not known.
 */
static struct left *find_asked(uint32_t context, uint32_t origin)
{
    struct left *left = find_left(context);

    if (left == NULL || weft_clock_ns() - left->since_ns >= LEFT_NS) {
        return NULL;
    }
    return (origin != 0 && left->origin != 0 ? origin == left->origin
                                             : !weft_comm_is_agreeing())
               ? left
               : NULL;
}

static bool is_left(uint32_t context)
{
    const struct left *left = find_asked(context, 0);

    return left != NULL && left->is_over;
}

static void forget_lefts(void)
{
    for (int i = 0; i < WEFT_CALLS_LEFT; i++) {
        weft_reserve_give(lefts[i].calls);
        lefts[i] = (struct left){0};
    }
}

static bool is_alike(const struct weft_signature *a, const struct weft_signature *b)
{
    return weft_signature_is_alike(a->what, b->what) && a->bytes == b->bytes;
}

/* ---- nonblocking calls under way ---- */

static struct weft_open_call *open_calls;

void weft_open_call_begin(struct weft_open_call *open)
{
    weft_assert_locked();
    open->is_ended = false;
    open->next = open_calls;
    open->at = &open_calls;
    if (open_calls != NULL) {
        open_calls->at = &open->next;
    }
    open_calls = open;
}

void weft_open_call_end(struct weft_open_call *open)
{
    weft_assert_locked();
    if (open->at == NULL) {
        return;
    }
    *open->at = open->next;
    if (open->next != NULL) {
        open->next->at = open->at;
    }
    open->at = NULL;
}

/* The end of one may end others, so the list is looked at from its beginning again. */
static void end_open_calls(const struct weft_comm *comm)
{
    struct weft_open_call *open = open_calls;

    while (open != NULL) {
        if (open->comm == comm && !open->is_ended) {
            open->is_ended = true;
            open->end(open);
            open = open_calls;
        } else {
            open = open->next;
        }
    }
}

/* ---- the end of collectives on a communicator ---- */

static void note(struct weft_comm *comm, const struct weft_other *other, bool is_broken)
{
    struct weft_calls *calls = comm->calls;

    weft_assert_locked();
    if (calls->is_broken) { /* by what was noted first */
        return;
    }
    calls->is_noted = true;
    calls->other = *other;
    if (is_broken) {
        calls->is_broken = true;
        if (calls->waiting != NULL) {
            calls->waiting->end(calls->waiting); /* revoking may free what it looks at */
        }
        end_open_calls(comm);
        weft_p2p_revoke(comm);
    }
}

enum weft_rc weft_disagree_bytes(struct weft_comm *comm, int rank, uint64_t bytes)
{
    if (comm->calls != NULL) {
        struct weft_other other = {.rank = rank, .says = last_call(comm)};

        other.says.bytes = bytes;
        weft_lock();
        note(comm, &other, false);
        weft_unlock();
    }
    return WEFT_ERR_DISAGREE;
}

enum weft_rc weft_disagree_word(struct weft_comm *comm, int rank, uint32_t word,
                                uint64_t bytes)
{
    if (comm->calls != NULL) {
        const struct weft_other other = {.rank = rank, .says = {word, bytes}};

        weft_lock();
        note(comm, &other, true);
        weft_unlock();
    }
    return WEFT_ERR_DISAGREE;
}

void weft_disagree_starved(struct weft_comm *comm)
{
    const struct weft_other self = {.rank = comm->rank, .why = WEFT_GAVE_UP_STARVED};

    if (comm->size < 2) { /* nobody waits for this member */
        return;
    }
    weft_lock();
    if (!weft_comm_is_inter(comm) &&
        (comm->calls != NULL || weft_calls_make(comm) != NULL)) {
        note(comm, &self, true);
    }
    weft_unlock();
}

enum weft_rc weft_disagree_reason(const struct weft_comm *comm, enum weft_rc rc)
{
    if (rc != WEFT_ERR_DISAGREE) {
        return rc;
    }
    weft_lock();
    if (comm->calls != NULL && comm->calls->other.why == WEFT_GAVE_UP_STARVED) {
        rc = WEFT_ERR_NOMEM;
    }
    weft_unlock();
    return rc;
}

/* ---- waiting ---- */

static void run(struct weft_timer *timer, uint64_t now)
{
    struct weft_call_wait *wait = (struct weft_call_wait *)timer;
    const uint64_t longest = (uint64_t)WEFT_DISAGREE_NS * WEFT_DISAGREE_LONGEST;

    wait->since_ns = wait->since_ns != 0 ? wait->since_ns : now;
    if (wait->is_to_pause && !wait->is_told) {
        wait->is_to_pause = false;
        timer->due_ns = now + WEFT_DISAGREE_NS;
        return;
    }
    if (!wait->is_told && weft_calls_are_whole(wait->comm)) {
        const int first = wait->next;

        wait->asked = 0;
        wait->next = 0;
        wait->missing(wait, first);
    }
    if (wait->is_told && weft_calls_are_whole(wait->comm)) {
        note(wait->comm, &wait->told, true);
    }
    wait->pause_ns = wait->pause_ns < longest ? 2 * wait->pause_ns : longest;
    timer->due_ns = now + wait->pause_ns;
}

void weft_call_wait_begin(struct weft_call_wait *wait)
{
    weft_assert_locked();
    wait->timer.after_ns = WEFT_DISAGREE_NS;
    wait->timer.run = run;
    wait->since_ns = 0;
    wait->pause_ns = WEFT_DISAGREE_NS;
    wait->next = 0;
    wait->is_told = false;
    wait->is_warned = false;
    wait->is_to_pause = false;
    wait->has_connected = false;
    if (wait->comm->calls != NULL && !weft_comm_is_inter(wait->comm)) {
        wait->comm->calls->waiting = wait;
        weft_engine_timer_start(&wait->timer);
    }
}

void weft_call_wait_end(struct weft_call_wait *wait)
{
    weft_assert_locked();
    if (wait->comm->calls != NULL && wait->comm->calls->waiting == wait) {
        wait->comm->calls->waiting = NULL;
        weft_engine_timer_stop(&wait->timer);
    }
}

static bool has_left(const struct weft_peer *peer)
{
    const struct weft_path *path = peer->path;

    return path->packets->has_left != NULL && path->packets->has_left(path);
}

/* A peer that has died, or left MPI, makes no call. */
static bool may_call(struct weft_peer *peer)
{
    return !peer->is_failed && weft_engine_reach(peer) == WEFT_OK && !has_left(peer);
}

/* Asks a peer for its call. A question that finds no room is dropped, because the peer is
 * asked again, and a kept packet would wake this rank. */
static void send_question(struct weft_peer *to, const struct weft_comm *comm)
{
    const struct weft_signature mine = last_call(comm);
    const struct packet packet = {
        .context = comm->context,
        .rank = (uint32_t)comm->rank,
        .what = mine.what,
        .bytes = mine.bytes,
        .in_slots = last_in_slots(comm),
        .origin = comm->origin,
    };

    if (may_call(to)) {
        (void)weft_engine_try_control(to, WEFT_PKT_CALL, &packet, sizeof(packet));
    }
}

static void send(struct weft_peer *to, enum weft_packet kind, uint32_t context,
                 uint32_t origin, int rank, const struct weft_signature *says,
                 enum weft_gave_up why)
{
    const struct packet packet = {
        .context = context,
        .rank = (uint32_t)rank | (uint32_t)why << WHY,
        .what = says->what,
        .bytes = says->bytes,
        .origin = origin,
    };

    if (may_call(to)) {
        weft_engine_control(to, kind, &packet, sizeof(packet));
    }
}

/* Has an ordered packet gone to the peer, or come from it, or is one about to go? */
static bool has_contact(const struct weft_peer *peer)
{
    return peer->path != NULL &&
           (peer->next_sequence > 0 || peer->in_sequence > 0 || peer->retries != NULL);
}

/* Two heartbeats. The launcher notices a host that has crashed in one. */
static uint64_t patience_ns(void)
{
    const int64_t seconds = weft_setting(WEFT_SET_HEARTBEAT);

    return UINT64_C(2000000000) * (uint64_t)(seconds > 0 ? seconds : 1);
}

/*
 * A question to a member on another host may be the first packet between the two, and an
 * attempt to connect to a host that has crashed ends the job with an error that does not
 * name the crash. So a member without contact is asked when the launcher has had its time
 * to notice. The question finds no way yet as a rule, and only begins a connection: from
 * then on pauses are short once more.
 */
static bool may_ask(struct weft_call_wait *wait, const struct weft_peer *peer)
{
    uint32_t local;

    if (peer->is_self || peer->is_failed) {
        return false;
    }
    if (has_contact(peer) || weft_node_has(&weft_engine.node, peer->process, &local)) {
        return true;
    }
    if (weft_clock_ns() - wait->since_ns <= patience_ns()) {
        return false;
    }
    if (!wait->has_connected) {
        wait->has_connected = true;
        wait->pause_ns = WEFT_DISAGREE_NS / 2; /* it is doubled */
    }
    return true;
}

bool weft_call_wait_ask(struct weft_call_wait *wait, int rank)
{
    struct weft_peer *peer;

    if (wait->asked == WEFT_DISAGREE_ASKED) {
        return false;
    }
    peer = weft_peer_get(weft_comm_process(wait->comm, rank));
    if (peer != NULL && may_ask(wait, peer)) {
        wait->asked++;
        send_question(peer, wait->comm);
    }
    return true;
}

void weft_call_wait_ask_all(struct weft_call_wait *wait, int first)
{
    if (wait->asked > 0) {
        return;
    }
    for (int rank = first; rank < wait->comm->size; rank++) {
        if (rank != wait->comm->rank && !weft_call_wait_ask(wait, rank)) {
            wait->next = rank;
            return;
        }
    }
}

void weft_call_wait_found(struct weft_call_wait *wait, int rank, uint32_t word,
                          uint64_t bytes)
{
    wait->is_told = true;
    wait->told = (struct weft_other){.rank = rank, .says = {word, bytes}};
}

/* ---- packets ---- */

static void read_packet(const struct weft_header *header, const void *data, size_t len,
                        struct weft_peer *from, struct packet *packet)
{
    if (header->length != len || len != sizeof(*packet)) {
        weft_engine_reject(from, header, len, "its length is another one");
    }
    memcpy(packet, data, sizeof(*packet));
}

/* The communicator that a packet names. It may stay for a while after it was freed here:
 * until those below in the tree have freed it, too (comm/unmake.c). */
static struct weft_comm *comm_of_any(const struct packet *packet)
{
    struct weft_comm *comm = weft_comm_of_context(packet->context);

    return comm != NULL && comm->context == packet->context &&
                   !weft_comm_is_inter(comm) && rank_of(packet) < comm->size
               ? comm
               : NULL;
}

/* The same, unless this process has freed it. */
static struct weft_comm *comm_of(const struct packet *packet)
{
    struct weft_comm *comm = comm_of_any(packet);

    return comm != NULL && comm->references > 0 ? comm : NULL;
}

/* The reason that members are told of a broken communicator. */
static enum weft_gave_up why_broken(const struct weft_calls *calls)
{
    return calls->other.why == WEFT_GAVE_UP_STARVED ? WEFT_GAVE_UP_STARVED
                                                    : WEFT_GAVE_UP_DISAGREED;
}

/* A member that still asks has not freed the communicator, so no other one has its
 * context. */
static void answer_left(const struct left *left, struct weft_peer *from,
                        const struct weft_signature *theirs)
{
    const uint32_t number = weft_signature_number(theirs->what);
    const uint32_t ahead = (number - left->blocking) % WEFT_SIGNATURE_NUMBERS;
    struct weft_signature mine = {
        weft_signature_numbered((uint64_t)WEFT_SIGNATURE_FREE << WEFT_SIGNATURE_KIND_AT,
                                number),
        0};
    uint32_t in_slots;

    if (left->calls != NULL && left->calls->is_broken) {
        send(from, WEFT_PKT_OTHER_CALL, left->context, left->origin, left->rank, &mine,
             why_broken(left->calls));
    } else if ((ahead != 0 && ahead < WEFT_SIGNATURE_NUMBERS / 2) ||
               (left->calls != NULL && find_call(left->calls, number, &mine, &in_slots) &&
                !is_alike(&mine, theirs))) {
        send(from, WEFT_PKT_OTHER_CALL, left->context, left->origin, left->rank, &mine,
             0);
    }
}

/* A member that asks says as much as one that answers: a thread that waits in the call of
 * that number need not ask it. */
static void hear(struct weft_comm *comm, int rank, const struct weft_signature *theirs)
{
    struct weft_call_wait *wait = comm->calls->waiting;

    if (wait != NULL && !wait->is_told &&
        weft_signature_number(theirs->what) ==
            weft_signature_number(last_call(comm).what)) {
        wait->is_told = true;
        wait->told = (struct weft_other){.rank = rank, .says = *theirs};
        weft_engine_timer_expire(&wait->timer);
    }
}

/* A member asks. What broke the communicator is told to members that made neither call,
 * too. */
static void on_call(void *owner, struct weft_peer *from, const struct weft_header *header,
                    const void *data, size_t len)
{
    struct packet packet;
    struct weft_comm *comm;
    const struct left *left;
    struct weft_signature theirs;
    struct weft_signature mine;
    uint32_t number;
    uint32_t in_slots;
    bool is_known;

    (void)owner;
    read_packet(header, data, len, from, &packet);
    theirs = (struct weft_signature){packet.what, packet.bytes};
    comm = comm_of(&packet);
    if (comm == NULL) {
        left = find_asked(packet.context, packet.origin);
        if (left != NULL) {
            answer_left(left, from, &theirs);
        }
        return;
    }
    if (comm->calls == NULL) { /* this rank has made no call there yet */
        return;
    }
    number = weft_signature_number(theirs.what);
    is_known = find_call(comm->calls, number, &mine, &in_slots);
    if (is_known && !is_alike(&mine, &theirs)) {
        send(from, WEFT_PKT_OTHER_CALL, comm->context, comm->origin, comm->rank, &mine,
             0);
        hear(comm, rank_of(&packet), &theirs);
        return;
    }
    if (is_known && in_slots != packet.in_slots) {
        send(from, WEFT_PKT_OTHER_CALL, comm->context, comm->origin, comm->rank, &mine,
             WEFT_GAVE_UP_DISAGREED);
        return;
    }
    if (!comm->calls->is_broken) {
        return;
    }
    mine = comm->calls->other.says;
    mine.what = weft_signature_renumber(mine.what, number);
    if (comm->calls->other.why == WEFT_GAVE_UP_NOT &&
        number == comm->blocking % WEFT_SIGNATURE_NUMBERS && !is_alike(&mine, &theirs)) {
        send(from, WEFT_PKT_OTHER_CALL, comm->context, comm->origin,
             comm->calls->other.rank, &mine, 0);
    } else {
        send(from, WEFT_PKT_OTHER_CALL, comm->context, comm->origin, comm->rank, &mine,
             why_broken(comm->calls));
    }
}

/* A member answers. It may be late: then the call that it speaks of is over. */
static void on_other_call(void *owner, struct weft_peer *from,
                          const struct weft_header *header, const void *data, size_t len)
{
    struct packet packet;
    const struct weft_comm *comm;
    struct weft_call_wait *wait;

    (void)owner;
    read_packet(header, data, len, from, &packet);
    comm = comm_of(&packet);
    wait = comm != NULL && comm->calls != NULL ? comm->calls->waiting : NULL;
    if (wait == NULL || wait->is_told ||
        weft_signature_number(packet.what) !=
            weft_signature_number(last_call(comm).what)) {
        return;
    }
    if (why_of(&packet) != WEFT_GAVE_UP_NOT && wait->is_last) {
        return;
    }
    if (why_of(&packet) != WEFT_GAVE_UP_NOT && !wait->is_warned) {
        /* A member that knows both calls has the time of one pause to say so. */
        wait->is_warned = true;
        wait->is_to_pause = true;
        weft_engine_timer_expire(&wait->timer);
        return;
    }
    wait->is_told = true;
    wait->told = (struct weft_other){
        .rank = rank_of(&packet),
        .says = {packet.what, packet.bytes},
        .why = why_of(&packet),
    };
    weft_engine_timer_expire(&wait->timer);
}

/* Members that make no more calls, as they have said: their messages are dropped outside
 * of the handler of packets. One of each communicator is kept. */
struct ending {
    struct packet packet;
    struct ending *next;
};
static struct ending *endings;

static bool is_ending(uint32_t context)
{
    for (const struct ending *ending = endings; ending != NULL; ending = ending->next) {
        if (ending->packet.context == context) {
            return true;
        }
    }
    return false;
}

static void on_calls_end(void *owner, struct weft_peer *from,
                         const struct weft_header *header, const void *data, size_t len)
{
    struct ending *ending;
    struct packet packet;

    (void)owner;
    read_packet(header, data, len, from, &packet);
    if ((comm_of_any(&packet) == NULL &&
         find_asked(packet.context, packet.origin) == NULL) ||
        is_ending(packet.context)) {
        return;
    }
    ending = weft_reserve_take(sizeof(*ending));
    if (ending == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_STORE);
    }
    *ending = (struct ending){packet, endings};
    endings = ending;
    weft_reason_add(WEFT_REASON_READY);
}

/* The member waits for messages to be dropped that it has announced to this process. They
 * may come later than the word of the end. The last members below in the tree (unmake.c)
 * have no communicator any more. */
static void end_left(const struct packet *packet)
{
    struct left *left = find_asked(packet->context, packet->origin);

    if (left != NULL) {
        left->is_over = true;
        weft_p2p_revoke_left(packet->context);
    }
}

/* The member that was told of a call of another kind knows more than the one that has
 * only heard of the end. */
static void end_calls(const struct packet *packet)
{
    struct weft_comm *comm = comm_of_any(packet);
    const struct weft_other other = {
        .rank = rank_of(packet),
        .says = {packet->what, packet->bytes},
        .why = why_of(packet),
    };

    if (comm == NULL) {
        end_left(packet);
    } else if (comm->references == 0) {
        weft_p2p_revoke(comm);
        end_left(packet);
    } else if ((comm->calls != NULL || weft_calls_make(comm) != NULL) &&
               !comm->calls->is_broken) {
        const struct weft_call_wait *wait = comm->calls->waiting;

        note(comm, wait != NULL && wait->is_told ? &wait->told : &other, true);
    }
}

/* The engine's hook. */
static void end_ready(void)
{
    while (endings != NULL) {
        struct ending *ending = endings;
        const struct packet packet = ending->packet;

        endings = ending->next;
        weft_reserve_give(ending);
        weft_reason_drop(WEFT_REASON_READY);
        end_calls(&packet);
    }
}

void weft_disagree_tell(const struct weft_comm *comm, int rank)
{
    const struct weft_signature mine = last_call(comm);
    struct weft_peer *peer = weft_peer_get(weft_comm_process(comm, rank));

    if (peer != NULL && !peer->is_self) {
        send(peer, WEFT_PKT_CALLS_END, comm->context, comm->origin, comm->rank, &mine,
             why_broken(comm->calls));
    }
}

void weft_disagree_starved_apart(struct weft_comm *comm)
{
    weft_disagree_starved(comm);
    weft_lock();
    for (int rank = 0; !weft_calls_are_whole(comm) && rank < comm->size; rank++) {
        if (rank != comm->rank) {
            weft_disagree_tell(comm, rank);
        }
    }
    weft_engine_leave();
    weft_unlock();
}

static void forget_endings(void)
{
    while (endings != NULL) {
        struct ending *ending = endings;

        endings = ending->next;
        weft_reserve_give(ending);
    }
}

void weft_disagree_open(void)
{
    static const struct weft_packet_kind call = {
        .handler = on_call, .least = sizeof(struct packet), .name = "CALL"};
    static const struct weft_packet_kind other = {
        .handler = on_other_call, .least = sizeof(struct packet), .name = "OTHER_CALL"};

    static const struct weft_packet_kind calls_end = {
        .handler = on_calls_end, .least = sizeof(struct packet), .name = "CALLS_END"};

    weft_engine_kind(WEFT_PKT_CALLS_END, &calls_end);
    forget_lefts();
    forget_endings();
    open_calls = NULL;
    weft_p2p_on_left(is_left);
    weft_engine_on_ready(end_ready);
    weft_engine_kind(WEFT_PKT_CALL, &call);
    weft_engine_kind(WEFT_PKT_OTHER_CALL, &other);
}

/* ---- the error ---- */

static uint32_t op_of(uint64_t what)
{
    return (uint32_t)what >> WEFT_SIGNATURE_OP_AT & WEFT_SIGNATURE_USER_OP;
}

static uint32_t root_of(uint64_t what)
{
    return ((uint32_t)what & WEFT_SIGNATURE_ROOT_LOW) |
           (uint32_t)(what >> 32 & WEFT_SIGNATURE_ROOT_HIGH) << WEFT_SIGNATURE_OP_AT;
}

/* As "MPI_Reduce of 40 bytes with root 1 by MPI_SUM". */
static void write_call(const struct weft_signature *says, char *text, size_t size)
{
    const enum weft_coll_kind kind = weft_signature_kind(says->what);
    char name[64];
    char bytes[40] = "";
    char root[32] = "";
    char op[40] = "";

    if (kind >= WEFT_COLL_KINDS) {
        snprintf(text, size, "%s",
                 kind == WEFT_SIGNATURE_FINALIZE ? "MPI_Finalize"
                 : kind == WEFT_SIGNATURE_FREE   ? "MPI_Comm_free"
                                                 : "?");
        return;
    }
    snprintf(name, sizeof(name), "MPI_%s", weft_coll_kind_name(kind));
    name[4] = (char)toupper((unsigned char)name[4]);
    if (says->bytes > 0) {
        snprintf(bytes, sizeof(bytes), WEFT_S_CALL_BYTES,
                 (unsigned long long)says->bytes);
    }
    if (weft_coll_facts(kind)->is_rooted) {
        snprintf(root, sizeof(root), WEFT_S_CALL_ROOT, root_of(says->what));
    }
    if (op_of(says->what) == WEFT_SIGNATURE_USER_OP) {
        snprintf(op, sizeof(op), "%s", WEFT_S_CALL_USER_OP);
    } else if (op_of(says->what) != 0) {
        const char *known =
            weft_reduce_name((MPI_Op)((uintptr_t)MPI_OP_NULL + op_of(says->what)));

        snprintf(op, sizeof(op), WEFT_S_CALL_OP, known != NULL ? known : "?");
    }
    snprintf(text, size, "%s%s%s%s", name, bytes, root, op);
}

static int class_of(const struct weft_signature *a, const struct weft_signature *b)
{
    if (weft_signature_kind(a->what) != weft_signature_kind(b->what)) {
        return MPI_ERR_OTHER;
    }
    if (root_of(a->what) != root_of(b->what)) {
        return MPI_ERR_ROOT;
    }
    return op_of(a->what) != op_of(b->what) ? MPI_ERR_OP : MPI_ERR_TRUNCATE;
}

int weft_disagree_describe(struct weft_comm *comm, char *text, size_t size)
{
    struct weft_calls *calls = comm->calls;
    struct weft_signature mine;
    char theirs_text[160];
    char mine_text[160];

    weft_assert_locked();
    if (calls != NULL && calls->other.why == WEFT_GAVE_UP_STARVED) {
        snprintf(text, size, WEFT_S_STARVED, calls->other.rank);
        return MPI_ERR_NO_MEM;
    }
    if (calls != NULL && calls->other.why == WEFT_GAVE_UP_DISAGREED) {
        snprintf(text, size, WEFT_S_BROKEN_BY, calls->other.rank);
        return MPI_ERR_OTHER;
    }
    if (calls == NULL || !calls->is_noted) {
        snprintf(text, size, "%s", WEFT_S_BROKEN);
        return MPI_ERR_OTHER;
    }
    calls->is_noted = false;
    mine = last_call(comm);
    write_call(&calls->other.says, theirs_text, sizeof(theirs_text));
    write_call(&mine, mine_text, sizeof(mine_text));
    snprintf(text, size, WEFT_S_DISAGREE, comm->rank, mine_text, calls->other.rank,
             theirs_text);
    return class_of(&mine, &calls->other.says);
}

bool weft_calls_tell(const struct weft_comm *comm, uint32_t *number, int *root,
                     uint64_t *bytes)
{
    struct weft_signature mine;

    weft_assert_locked();
    if (comm->calls == NULL || weft_comm_is_inter(comm)) {
        return false;
    }
    mine = last_call(comm);
    *number = comm->blocking;
    *root = weft_signature_kind(mine.what) < WEFT_COLL_KINDS &&
                    weft_coll_facts(weft_signature_kind(mine.what))->is_rooted
                ? (int)root_of(mine.what)
                : -1;
    *bytes = mine.bytes;
    return comm->blocking != 0;
}
