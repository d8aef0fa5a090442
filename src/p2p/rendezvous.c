/*
 * rendezvous.c - long messages. The two halves of a transfer are two small state
 * machines.
 *
 *   sender                                  receiver
 *   ANNOUNCE length, address, request  -->  matched, now or later
 *                                           can the sender's memory be reached?
 *                                      yes: claims piece after piece of the joint and
 *   HELP joint                         <--  fetches each
 *   claims pieces too and stores them
 *                                       yes, but they are not contiguous: staged.c
 *                                       no: asks for the bytes
 *   PULL offset, length                <--
 *   DATA piece, DATA piece, ...        -->  copies each to its place
 *   FETCHED                            <--  when all bytes are counted
 *
 * Pieces are moved outside the lock, by threads that wait in MPI (weft_p2p_do_work). A
 * piece that cannot be moved is asked for, or sent, as DATA: each transfer falls back by
 * itself.
 */
#include "p2p/p2p.h"

#include "progress/lock.h"

#include <stdlib.h>
#include <string.h>

enum {
    TURN_SHIFT = 48,
    SHARE_FROM = 32 * 1024, /* copying together pays from here on */
    LARGEST_PIECE = 128 * 1024,
    DATA_MAX = WEFT_EAGER_MAX - sizeof(struct weft_answer),
};

static const uint64_t OFFSET_MASK = (UINT64_C(1) << TURN_SHIFT) - 1;

/* ---- joints ---- */

static void fill_joint(struct weft_joint *joint, uint64_t source, uint64_t target,
                       uint64_t length, uint64_t piece)
{
    uint64_t turn =
        (atomic_load_explicit(&joint->next, memory_order_relaxed) >> TURN_SHIFT) + 1;

    /* First nobody can claim, then the fields change, then the new turn opens. */
    atomic_store_explicit(&joint->next, turn << TURN_SHIFT | OFFSET_MASK,
                          memory_order_seq_cst);
    joint->source = source;
    joint->target = target;
    joint->length = length;
    joint->piece = piece;
    atomic_store_explicit(&joint->copied, 0, memory_order_relaxed);
    atomic_store_explicit(&joint->next, turn << TURN_SHIFT, memory_order_release);
}

static uint32_t turn_of(const struct weft_joint *joint)
{
    return (uint32_t)(atomic_load_explicit(&joint->next, memory_order_relaxed) >>
                      TURN_SHIFT);
}

/* The next piece of a joint, if it is still in this turn; all the rest with `is_all`. */
static bool claim_piece(struct weft_joint *joint, uint32_t turn, bool is_all,
                        uint64_t *offset, uint64_t *length)
{
    uint64_t next = atomic_load_explicit(&joint->next, memory_order_acquire);
    uint64_t at;
    uint64_t part;

    do {
        at = next & OFFSET_MASK;
        if ((uint32_t)(next >> TURN_SHIFT) != turn || at >= joint->length) {
            return false; /* and the results stay as they were */
        }
        part = joint->length - at;
        part = is_all || part < joint->piece ? part : joint->piece;
    } while (!atomic_compare_exchange_weak_explicit(
        &joint->next, &next, next + part, memory_order_acquire, memory_order_acquire));
    *offset = at;
    *length = part;
    return true;
}

/* Release: pairs with the acquire of who finds everything counted. */
void weft_p2p_count_copied(struct weft_joint *joint, uint64_t bytes)
{
    atomic_fetch_add_explicit(&joint->copied, bytes, memory_order_release);
}

/* ---- the list of work ---- */

void weft_p2p_add_work(struct weft_p2p_request *request, enum weft_work work)
{
    struct weft_p2p *p = &weft_p2p;

    request->work = work;
    request->next = NULL;
    if (p->work == NULL) {
        p->work = request;
    } else {
        p->work_last->next = request;
    }
    p->work_last = request;
}

static void remove_work(struct weft_p2p_request *request)
{
    struct weft_p2p *p = &weft_p2p;
    struct weft_p2p_request *before = NULL;

    for (struct weft_p2p_request *r = p->work; r != NULL; before = r, r = r->next) {
        if (r == request) {
            if (before == NULL) {
                p->work = r->next;
            } else {
                before->next = r->next;
            }
            if (p->work_last == r) {
                p->work_last = before;
            }
            break;
        }
    }
    request->work = WEFT_WORK_NONE;
}

/* ---- the sender's half ---- */

enum weft_rc weft_p2p_announce(struct weft_p2p_request *send)
{
    const struct weft_announce announce = {
        .length = send->capacity,
        /* 0: it is in no one place where it could be fetched */
        .address = send->type == NULL ? (uint64_t)(uintptr_t)send->buffer : 0,
        .request = (uint64_t)(uintptr_t)send->base.handle,
    };

    return weft_p2p_send_ordered(send->peer, &send->header, &announce, sizeof(announce),
                                 WEFT_SEND_URGENT);
}

static void start_push(struct weft_peer *peer, const struct weft_p2p_request *send,
                       uint64_t offset, uint64_t length, uint64_t request)
{
    struct weft_push *push = malloc(sizeof(*push));

    if (push == NULL) {
        weft_wireup_abort(weft_p2p.job, 1, "no memory to send a long message in pieces");
    }
    *push = (struct weft_push){
        .next = peer->pushes,
        .send = send,
        .offset = offset,
        .end = offset + length,
        .request = request,
    };
    peer->pushes = push;
    weft_p2p_wait_for_room(peer);
}

/* Sends pieces while there is room; true if none is left. */
bool weft_p2p_push(struct weft_peer *peer)
{
    while (peer->pushes != NULL) {
        struct weft_push *push = peer->pushes;
        uint64_t n = push->end - push->offset;
        struct weft_header header = {.version = WEFT_WIRE_VERSION, .kind = WEFT_PKT_DATA};
        struct {
            struct weft_answer answer;
            uint8_t bytes[DATA_MAX];
        } packet;

        n = n > DATA_MAX ? DATA_MAX : n;
        packet.answer = (struct weft_answer){
            .request = push->request,
            .offset = push->offset,
            .length = n,
        };
        if (weft_likely(push->send->type == NULL)) {
            memcpy(packet.bytes, (const uint8_t *)push->send->buffer + push->offset,
                   (size_t)n);
        } else {
            weft_p2p_gather(push->send, push->offset, packet.bytes, (size_t)n);
        }
        if (weft_p2p_send_ordered(peer, &header, &packet,
                                  sizeof(packet.answer) + (size_t)n, 0) != WEFT_OK) {
            return false;
        }
        push->offset += n;
        if (push->offset == push->end) {
            peer->pushes = push->next;
            free(push);
        }
    }
    return true;
}

void weft_p2p_on_pull(uint32_t from, const struct weft_answer *answer)
{
    struct weft_p2p_request *send = weft_p2p_find(answer->request, WEFT_REQUEST_SEND);

    (void)from;
    if (send != NULL && answer->offset <= send->capacity &&
        answer->length <= send->capacity - answer->offset) {
        start_push(send->peer, send, answer->offset, answer->length, answer->other);
    }
}

void weft_p2p_on_help(uint32_t from, const struct weft_answer *answer)
{
    struct weft_p2p_request *send = weft_p2p_find(answer->request, WEFT_REQUEST_SEND);
    const struct weft_endpoint *ep;

    (void)from;
    if (send == NULL || send->work != WEFT_WORK_NONE) {
        return; /* it is over, or helped already */
    }
    ep = send->peer->ep;
    send->joint = ep->ops->joint_of(send->peer->ep, (uint32_t)answer->other);
    send->joint_turn = (uint32_t)(answer->other >> 32);
    send->other = answer->offset;
    if (ep->ops->can_reach(send->peer->ep)) {
        weft_p2p_add_work(send, WEFT_WORK_HELP);
    }
}

void weft_p2p_on_fetched(const struct weft_answer *answer)
{
    struct weft_p2p_request *send = weft_p2p_find(answer->request, WEFT_REQUEST_SEND);

    if (send != NULL) {
        if (send->work != WEFT_WORK_NONE) {
            remove_work(send);
        }
        weft_p2p_forget_type(send);
        weft_request_complete(&send->base, WEFT_OK);
    }
}

/* Stores pieces into the receiver's buffer until none is left. Drops the lock. */
static void help(struct weft_p2p_request *send)
{
    /* The receiver may finish, and the request end, as soon as our last piece is counted.
     */
    struct weft_endpoint *ep = send->peer->ep;
    struct weft_joint *joint = send->joint;
    const uint32_t turn = send->joint_turn;
    const uint8_t *data = send->buffer;
    const struct weft_key key = {.address = joint->target};
    uint64_t offset;
    uint64_t length;

    weft_unlock();
    while (claim_piece(joint, turn, false, &offset, &length)) {
        if (ep->ops->store(ep, &key, offset, data + offset, (size_t)length, NULL) !=
            WEFT_OK) {
            weft_lock(); /* the request lives: this piece is not counted yet */
            start_push(send->peer, send, offset, length, send->other);
            return;
        }
        weft_p2p_count_copied(joint, length);
    }
    weft_lock();
}

/* ---- the receiver's half ---- */

void weft_p2p_pull(struct weft_p2p_request *recv, uint64_t offset, uint64_t length)
{
    const struct weft_answer answer = {
        .request = recv->other,
        .other = (uint64_t)(uintptr_t)recv->base.handle,
        .offset = offset,
        .length = length,
    };

    weft_p2p_send_control(recv->from, WEFT_PKT_PULL, &answer);
}

/* Pieces may come as DATA from now on: asked for, or because a helper's store failed. */
void weft_p2p_add_finishing(struct weft_p2p_request *recv)
{
    recv->from->incoming++;
    recv->work = WEFT_WORK_NONE;
    recv->next = weft_p2p.finishing;
    weft_p2p.finishing = recv;
}

static void complete_transfer(struct weft_p2p_request *recv)
{
    const struct weft_answer answer = {.request = recv->other};

    if (recv->is_joint) {
        weft_p2p.ops->joint_give(weft_p2p.transport, recv->joint_number);
    }
    recv->from->incoming--;
    weft_p2p_send_control(recv->from, WEFT_PKT_FETCHED, &answer);
    weft_p2p_finish_recv(recv, &recv->header, recv->message_length);
}

void weft_p2p_look_at_finishing(void)
{
    struct weft_p2p_request **at = &weft_p2p.finishing;

    while (*at != NULL) {
        struct weft_p2p_request *recv = *at;

        /* Acquire: pairs with weft_p2p_count_copied(), also of the other process. */
        if (atomic_load_explicit(&recv->joint->copied, memory_order_acquire) ==
            recv->joint->length) {
            *at = recv->next;
            complete_transfer(recv);
        } else {
            at = &recv->next;
        }
    }
}

static uint64_t choose_piece(uint64_t length)
{
    uint64_t half = (length - length / 2 + 4095) / 4096 * 4096; /* of 1 byte: not 0 */

    return half < LARGEST_PIECE ? half : LARGEST_PIECE;
}

/* Both copy, if the sender is there to help; else the joint is our own. */
static void open_joint(struct weft_p2p_request *recv,
                       const struct weft_announce *announce, uint64_t length)
{
    struct weft_endpoint *ep = recv->from->ep;
    const uint64_t target = (uint64_t)(uintptr_t)recv->buffer;
    struct weft_answer answer;

    recv->is_joint = false;
    recv->joint = &recv->own_joint;
    if (ep != NULL && length >= SHARE_FROM && recv->type == NULL &&
        ep->ops->is_inside(ep)) {
        struct weft_joint *shared =
            ep->ops->joint_take(weft_p2p.transport, &recv->joint_number);

        if (shared != NULL) {
            recv->joint = shared;
            recv->is_joint = true;
        }
    }
    fill_joint(recv->joint, announce->address, target, length, choose_piece(length));
    recv->joint_turn = turn_of(recv->joint);
    if (recv->is_joint) {
        answer = (struct weft_answer){
            .request = announce->request,
            .other = (uint64_t)recv->joint_turn << 32 | recv->joint_number,
            .offset = (uint64_t)(uintptr_t)recv->base.handle,
        };
        weft_p2p_send_control(recv->from, WEFT_PKT_HELP, &answer);
    }
}

void weft_p2p_start_transfer(struct weft_p2p_request *recv, struct weft_peer *peer,
                             const struct weft_header *header,
                             const struct weft_announce *announce)
{
    uint64_t length =
        announce->length < recv->capacity ? announce->length : recv->capacity;

    if (peer == NULL || weft_p2p_reach(peer->rank, &peer) != WEFT_OK) {
        weft_wireup_abort(weft_p2p.job, 1, "no memory to answer a peer");
    }
    recv->from = peer;
    recv->header = *header;
    recv->other = announce->request;
    recv->message_length = announce->length;
    if ((announce->address != 0 || length == 0) &&
        (peer->is_self || peer->ep->ops->can_reach(peer->ep))) {
        open_joint(recv, announce, length);
        weft_p2p_add_work(recv, WEFT_WORK_COPY);
        return;
    }
    recv->is_joint = false;
    recv->joint = &recv->own_joint;
    fill_joint(recv->joint, 0, 0, length, length);
    if (length > 0 && announce->address == 0 && !peer->is_self &&
        peer->ep->ops->can_reach(peer->ep)) {
        weft_p2p_start_staged(recv, length);
        return;
    }
    if (length > 0) {
        weft_p2p_pull(recv, 0, length);
    }
    weft_p2p_add_finishing(recv);
}

void weft_p2p_on_data(const void *data, size_t len)
{
    struct weft_answer answer;
    struct weft_p2p_request *recv;

    memcpy(&answer, data, sizeof(answer));
    recv = weft_p2p_find(answer.request, WEFT_REQUEST_RECV);
    if (recv != NULL && answer.length == len - sizeof(answer) &&
        answer.offset + answer.length <= recv->capacity) {
        const uint8_t *bytes = (const uint8_t *)data + sizeof(answer);

        if (weft_likely(recv->type == NULL)) {
            memcpy((uint8_t *)recv->buffer + answer.offset, bytes, (size_t)answer.length);
        } else {
            weft_p2p_scatter(recv, answer.offset, bytes, (size_t)answer.length);
        }
        weft_p2p_count_copied(recv->joint, answer.length);
    }
}

/* From the sender's memory, or our own, to its place. Without the lock. */
static enum weft_rc fetch_piece(const struct weft_p2p_request *recv,
                                struct weft_endpoint *ep, const struct weft_key *key,
                                uint64_t offset, uint64_t length)
{
    uint8_t *to = (uint8_t *)recv->buffer + offset;

    if (recv->type != NULL) {
        return weft_p2p_fetch_typed(recv, ep, key, offset, length);
    }
    if (ep == NULL) {
        memcpy(to, (const void *)(uintptr_t)(key->address + offset), (size_t)length);
        return WEFT_OK;
    }
    return ep->ops->fetch(ep, key, offset, to, (size_t)length, NULL);
}

/* Fetches pieces until none is left. Drops the lock; the request stays incomplete. */
static void copy(struct weft_p2p_request *recv)
{
    struct weft_endpoint *ep = recv->from->ep;
    struct weft_joint *joint = recv->joint;
    const struct weft_key key = {.address = joint->source};
    uint64_t offset;
    uint64_t length;

    weft_unlock();
    while (claim_piece(joint, recv->joint_turn, false, &offset, &length)) {
        if (fetch_piece(recv, ep, &key, offset, length) != WEFT_OK) {
            uint64_t rest_at;
            uint64_t rest = 0;

            /* What the sender has not claimed follows this piece. */
            if (claim_piece(joint, recv->joint_turn, true, &rest_at, &rest) &&
                rest_at != offset + length) {
                weft_lock();
                weft_p2p_pull(recv, rest_at, rest);
                weft_unlock();
                rest = 0;
            }
            weft_lock();
            weft_p2p_pull(recv, offset, length + rest);
            weft_p2p_add_finishing(recv);
            return;
        }
        weft_p2p_count_copied(joint, length);
    }
    weft_lock();
    weft_p2p_add_finishing(recv);
}

bool weft_p2p_do_work(void)
{
    struct weft_p2p *p = &weft_p2p;
    struct weft_p2p_request *request = p->work;
    enum weft_work work;

    if (request == NULL) {
        return false;
    }
    p->work = request->next;
    work = request->work;
    request->work = WEFT_WORK_NONE;
    if (work == WEFT_WORK_COPY) {
        copy(request);
        weft_p2p_look_at_finishing();
    } else if (work == WEFT_WORK_HELP) {
        help(request);
    } else if (work == WEFT_WORK_PACK) {
        weft_p2p_pack_pieces(request);
    } else {
        weft_p2p_take_pieces(request);
        weft_p2p_look_at_finishing();
    }
    return true;
}
