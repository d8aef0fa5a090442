/*
 * promote.c - which of two networks leads to a peer: see promote.h.
 *
 * Why ordered packets wait (WEFT_CHOICE_HELD): the receiver takes the packets of a
 * connection in their order, and those that nobody takes keep their credits. A packet
 * that is handed back and sent behind later ones would wait for them, and they for it
 * (tests/models/promote.pml).
 */
#include "engine/promote.h"

#include "base/log.h"
#include "base/reserve.h"
#include "base/texts.h"
#include "engine/engine.h"
#include "engine/held.h"
#include "engine/network_thread.h"
#include "engine/warm.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 768 };

/* A host from which no datagram has ever come, or that long ones do not reach. */
struct weft_deaf {
    struct weft_deaf *next;
    uint32_t node;
    const struct weft_path *witness; /* by which nothing came; NULL: for good */
};

static bool is_by(const struct weft_peer *peer, const struct weft_instance *network)
{
    return peer->path != NULL && peer->path->transport == network->tp;
}

static uint32_t node_of(const struct weft_peer *peer)
{
    const struct weft_segment *segment = &weft_engine.job->segment;

    return weft_segment_map(segment)[weft_engine_rank(peer->process)].node;
}

/* ---- hosts ---- */

/* Who has answered meanwhile was only late. */
static bool is_deaf(const struct weft_peer *peer)
{
    const struct weft_deaf *deaf = weft_engine.deaf;
    const uint32_t node = deaf != NULL ? node_of(peer) : 0;

    while (deaf != NULL && deaf->node != node) {
        deaf = deaf->next;
    }
    return deaf != NULL &&
           (deaf->witness == NULL || !deaf->witness->packets->is_heard(deaf->witness));
}

static void add_deaf(const struct weft_peer *peer, const struct weft_path *witness)
{
    struct weft_deaf *deaf = malloc(sizeof(*deaf));

    if (deaf != NULL) { /* else the next peer there finds out by itself */
        *deaf = (struct weft_deaf){weft_engine.deaf, node_of(peer), witness};
        weft_engine.deaf = deaf;
    }
}

static void note_deaf(const struct weft_peer *peer, const struct weft_path *witness)
{
    if (!witness->packets->is_heard(witness) && !is_deaf(peer)) {
        add_deaf(peer, witness);
        weft_log_info("no datagram comes from the host of rank %u: its ranks are "
                      "connected (WEFT_PORTS: TCP and UDP)",
                      weft_engine_rank(peer->process));
    }
}

static void note_narrow(const struct weft_peer *peer)
{
    if (!is_deaf(peer)) {
        add_deaf(peer, NULL);
        weft_log_info("long datagrams do not reach the host of rank %u: its ranks are "
                      "connected (MTU)",
                      weft_engine_rank(peer->process));
    }
}

void weft_promote_close(void)
{
    while (weft_engine.deaf != NULL) {
        struct weft_deaf *deaf = weft_engine.deaf;

        weft_engine.deaf = deaf->next;
        weft_reserve_give(deaf);
    }
}

/* ---- the rule ---- */

bool weft_promote_may_move(const struct weft_peer *peer)
{
    return weft_engine.connect != NULL && is_by(peer, weft_engine.start);
}

bool weft_promote_may_begin(const struct weft_peer *peer, const struct weft_instance *t)
{
    return t != weft_engine.start || (!peer->has_connection && !is_deaf(peer));
}

/* The longest packet that a connection takes over. */
static uint32_t handed_max(const struct weft_instance *network)
{
    return network->ops->handed_max != NULL ? network->ops->handed_max(network->tp)
                                            : WEFT_EAGER_MAX;
}

static uint32_t at_most(uint32_t bytes, uint32_t most)
{
    return bytes < most ? bytes : most;
}

void weft_promote_begin(struct weft_peer *peer)
{
    if (weft_engine.connect != NULL && is_by(peer, weft_engine.start)) {
        const uint32_t most = handed_max(weft_engine.connect);

        peer->choice = WEFT_CHOICE_TRIAL;
        weft_peer_rare(peer)->trial_end = peer->next_sequence + WEFT_PROMOTE_MESSAGES;
        /* The connection may have to take over packets, and parts of long messages. */
        peer->path->packet_max = at_most(peer->path->packet_max, most);
        peer->path->zcopy_max = at_most(peer->path->zcopy_max, most);
    }
}

static void list(struct weft_peer *peer)
{
    weft_peer_rare(peer)->next_promoted = weft_engine.promoted;
    weft_engine.promoted = peer;
}

/* It is told by the next look, which makes the path: this may be an upcall. */
static void promote(struct weft_peer *peer)
{
    weft_assert_locked();
    if (peer->choice == WEFT_CHOICE_TRIAL && !peer->is_failed) {
        peer->choice = WEFT_CHOICE_CONNECTING;
        weft_engine.promotions++;
        list(peer);
    }
}

static bool is_room(void)
{
    uint32_t made = 0;

    for (const struct weft_peer *p = weft_engine.promoted; p != NULL;
         p = p->rare->next_promoted) {
        made += p->choice == WEFT_CHOICE_CONNECTING && !p->has_connection ? 1 : 0;
    }
    return weft_engine.connections + made < WEFT_PROMOTE_CONNECTIONS;
}

void weft_promote_count(struct weft_peer *peer)
{
    if (peer->next_sequence <= peer->rare->trial_end) {
        return;
    }
    if (is_room()) {
        promote(peer);
    } else {
        peer->rare->trial_end = peer->next_sequence + WEFT_PROMOTE_MESSAGES;
    }
}

void weft_promote_long(struct weft_peer *peer, uint64_t bytes)
{
    if (peer->choice == WEFT_CHOICE_TRIAL && bytes > WEFT_PROMOTE_BYTES && is_room()) {
        promote(peer);
    }
}

/* ---- changing the path ---- */

static enum weft_rc find_connection(struct weft_peer *peer)
{
    struct weft_instance *network = weft_engine.connect;
    enum weft_rc rc = WEFT_OK;

    if (weft_peer_other(peer) == NULL) {
        rc = network->ops->connect(network->tp, peer, peer->process,
                                   &weft_peer_rare(peer)->other);
        weft_warm_end(); /* that has loaded what was missing */
        weft_descriptors_follow();
    }
    return rc;
}

static void use_connection(struct weft_peer *peer, enum weft_choice choice)
{
    struct weft_path *first = peer->path;

    peer->path = peer->rare->other;
    peer->rare->other = first;
    peer->choice = (uint8_t)choice;
    weft_engine_update_fast(peer);
}

/* ---- packets that come back ---- */

struct handed {
    struct weft_retry retry; /* first */
    struct weft_op op;       /* of a long one, which is read until it is sent */
    struct weft_peer *peer;
    size_t len;
    struct weft_header header;
    uint8_t data[];
};

struct back {
    struct weft_peer *peer;
    struct weft_retry *first; /* ordered ones */
    struct weft_retry **end;
    unsigned count;
};

static void has_sent(struct weft_op *op, enum weft_rc rc)
{
    (void)rc; /* whoever is told that the peer is lost ends what waits for this */
    weft_reserve_give((char *)op - offsetof(struct handed, op));
}

/* The first network's packets may be longer than what the second one copies. */
static enum weft_rc send_handed(struct weft_retry *retry)
{
    struct handed *h = (struct handed *)retry;
    struct weft_path *path = h->peer->path;
    enum weft_rc rc;

    if (h->len <= path->packet_max) {
        rc = path->packets->send(path, &h->header, h->data, h->len, 0);
    } else {
        assert(path->packets->send_zcopy != NULL);
        rc =
            path->packets->send_zcopy(path, &h->header, NULL, 0, h->data, h->len, &h->op);
    }
    if (rc == WEFT_OK) {
        weft_reserve_give(h);
    }
    /* Else AGAIN, or the peer is lost, and this with it. */
    return rc == WEFT_OK || rc == WEFT_PENDING ? WEFT_OK : WEFT_AGAIN;
}

static uint8_t kind_of(const void *header)
{
    return ((const struct weft_header *)header)->kind;
}

/* Packets that only ask are not kept: their senders ask again. */
static void take_back(void *argument, const void *header, const void *data, size_t len,
                      unsigned flags)
{
    struct back *back = argument;
    struct handed *h;

    back->count++;
    if ((flags & WEFT_SEND_CONTROL) != 0) {
        if (kind_of(header) != WEFT_PKT_ASK && kind_of(header) != WEFT_PKT_CALL) {
            weft_engine_keep_control(back->peer, header, data);
        }
        return;
    }
    h = weft_reserve_take(sizeof(*h) + len);
    if (h == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_SEND);
    }
    *h = (struct handed){
        .retry = {.again = send_handed, .failed = weft_retry_free},
        .op = {.done = has_sent},
        .peer = back->peer,
        .len = len,
    };
    memcpy(&h->header, header, sizeof(h->header));
    memcpy(h->data, data, len);
    *back->end = &h->retry;
    back->end = &h->retry.next;
}

/* The peer's path is the connection already: kept packets go by that. */
static unsigned hand_back(struct weft_peer *peer, struct weft_path *first)
{
    struct back back = {.peer = peer};

    back.end = &back.first;
    first->packets->hand_back(first, take_back, &back, WEFT_OK);
    if (back.first != NULL) {
        weft_engine_retry_before(peer, WEFT_RETRY_ORDERED, back.first);
    }
    if (back.count > 0) {
        weft_log_info("%u packets to rank %u were not acknowledged by %s: they take the "
                      "connection",
                      back.count, weft_engine_rank(peer->process), first->packets->name);
    }
    return back.count;
}

/* ---- what is under way ---- */

/* These return true when nothing is left to do for this peer. */
static bool go_on_held(struct weft_peer *peer)
{
    struct weft_path *first = peer->rare->other;
    const enum weft_delivery delivery = first->packets->delivery(first);

    if (delivery == WEFT_ON_THE_WAY) {
        return false;
    }
    peer->choice = WEFT_CHOICE_NONE;
    if (delivery != WEFT_ARRIVED) {
        if (delivery == WEFT_NARROW) {
            note_narrow(peer);
        } else {
            note_deaf(peer, first);
        }
        (void)hand_back(peer, first);
    }
    weft_engine_update_fast(peer);
    weft_log_info("rank %u: packets from number %u on take the connection",
                  weft_engine_rank(peer->process), (uint32_t)peer->next_sequence);
    return true;
}

static void note_connection(struct weft_peer *peer)
{
    weft_engine.connections += peer->has_connection ? 0 : 1;
    peer->has_connection = true;
}

/* While the network is loaded, packets go on by the first one. */
static bool go_on_connecting(struct weft_peer *peer)
{
    enum weft_rc rc;

    if (weft_peer_other(peer) == NULL && !weft_warm_is_over()) {
        return false;
    }
    rc = find_connection(peer);
    if (rc == WEFT_OK) {
        rc = peer->rare->other->packets->establish(peer->rare->other);
    }
    if (peer->choice != WEFT_CHOICE_CONNECTING) {
        return peer->choice != WEFT_CHOICE_HELD; /* an upcall has changed it */
    }
    if (rc == WEFT_OK) {
        note_connection(peer);
        use_connection(peer, WEFT_CHOICE_HELD);
        return go_on_held(peer);
    }
    if (rc != WEFT_AGAIN) {
        peer->choice = WEFT_CHOICE_NONE;
        weft_engine_update_fast(peer);
    }
    return rc != WEFT_AGAIN;
}

static bool go_on(struct weft_peer *peer)
{
    if (peer->is_failed) {
        peer->choice = WEFT_CHOICE_NONE;
    }
    switch (peer->choice) {
    case WEFT_CHOICE_CONNECTING:
        return go_on_connecting(peer);
    case WEFT_CHOICE_HELD:
        return go_on_held(peer);
    default:
        return true;
    }
}

void weft_promote_go_on(void)
{
    struct weft_peer **at = &weft_engine.promoted;

    weft_assert_locked();
    while (*at != NULL) {
        struct weft_peer *peer = *at;
        const bool is_over = go_on(peer);

        while (*at != peer) { /* upcalls have listed others before it */
            at = &(*at)->rare->next_promoted;
        }
        if (is_over) {
            *at = peer->rare->next_promoted;
        } else {
            at = &peer->rare->next_promoted;
        }
    }
}

bool weft_promote_needs_tick(void)
{
    bool is_needed = false;

    for (const struct weft_peer *peer = weft_engine.promoted; peer != NULL;
         peer = peer->rare->next_promoted) {
        const struct weft_path *path = weft_peer_other(peer);

        if (peer->choice == WEFT_CHOICE_CONNECTING &&
            (path == NULL || (path->packets->needs_retry != NULL &&
                              path->packets->needs_retry(path->transport)))) {
            is_needed = true;
        }
    }
    return is_needed;
}

struct weft_path *weft_promote_memory_path(struct weft_peer *peer)
{
    if (weft_engine.connect == NULL || !is_by(peer, weft_engine.start)) {
        return peer->path;
    }
    return find_connection(peer) == WEFT_OK ? weft_peer_other(peer) : peer->path;
}

/* ---- upcalls of the two networks ---- */

/* From now on the peer's memory is within reach, and it may use ours. So this path is
 * taken at once, whatever the peer was doing. */
static void on_opened(void *owner, struct weft_peer *peer)
{
    const bool is_listed = peer->choice == WEFT_CHOICE_CONNECTING;

    (void)owner;
    note_connection(peer);
    if (is_by(peer, weft_engine.start) && !peer->is_failed &&
        find_connection(peer) == WEFT_OK) {
        use_connection(peer, WEFT_CHOICE_HELD);
        if (!is_listed) {
            list(peer);
        }
    }
}

/* There may be another way, however many connections there are. */
static void on_silent(void *owner, struct weft_peer *peer)
{
    (void)owner;
    if (peer->choice == WEFT_CHOICE_TRIAL) {
        weft_log_info("rank %u %s: it is connected", weft_engine_rank(peer->process),
                      peer->path->packets->delivery(peer->path) == WEFT_NARROW
                          ? "answers, but a datagram does not reach it"
                          : "has not answered a datagram in time");
    }
    promote(peer);
}

struct loss {
    unsigned packets;   /* not acknowledged */
    unsigned unnoticed; /* of them, those for which nothing waits here */
};

/* Does something here wait for what follows from such a packet? It fails then. */
static bool is_waited_for(uint8_t kind)
{
    switch (kind) {
    case WEFT_PKT_ANNOUNCE:
    case WEFT_PKT_DATA:
    case WEFT_PKT_PULL:
    case WEFT_PKT_PULL_PUT:
    case WEFT_PKT_STAGE:
    case WEFT_PKT_OFFER:
    case WEFT_PKT_KEY_OFFER:
    case WEFT_PKT_RECALL:
    case WEFT_PKT_RMA:
    case WEFT_PKT_ASK:
    case WEFT_PKT_CALL:
        return true;
    default:
        return false;
    }
}

static void count_back(void *argument, const void *header, const void *data, size_t len,
                       unsigned flags)
{
    const bool has_op = (flags & WEFT_SEND_HAS_OP) != 0;
    struct loss *loss = argument;

    (void)data;
    (void)len;
    loss->packets++;
    loss->unnoticed += has_op || is_waited_for(kind_of(header)) ? 0 : 1;
}

/* Of a path by the first network, which can hand back. */
static struct loss count_loss(struct weft_path *path)
{
    struct loss loss = {0, 0};

    assert(path != NULL && path->packets->hand_back != NULL);
    path->packets->hand_back(path, count_back, &loss, WEFT_ERR_PROC_FAILED);
    return loss;
}

/* Nobody may fail of those who wait here, and the peer waits for ever. */
static void tell_undelivered(const struct loss *loss, bool has_left, const char *why)
{
    if (loss->unnoticed > 0 && !has_left && weft_engine.undelivered != NULL) {
        weft_engine.undelivered(why);
    }
}

/* What is said of a peer to whom nothing leads any more; `second` is NULL where there is
 * one network only. */
static void lose(const struct weft_peer *peer, bool has_left, const char *first,
                 const char *second)
{
    const struct loss loss = count_loss(peer->path);
    char also[WHY_BYTES / 2] = "";
    char why[WHY_BYTES];

    if (second != NULL) {
        snprintf(also, sizeof(also), "; %s: %s", weft_engine.connect->ops->name, second);
    }
    snprintf(why, sizeof(why),
             "no path to rank %u is left: %s: %s, %u packets not acknowledged%s",
             weft_engine_rank(peer->process), weft_engine.start->ops->name, first,
             loss.packets, also);
    tell_undelivered(&loss, has_left, why);
    weft_engine.up.lost(&weft_engine, peer->process, has_left, why);
}

/* The first network: what it could not deliver goes by the connection, if there is one or
 * may be one. */
static void on_start_lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    struct weft_peer *peer = weft_engine_meet(owner, process);
    struct weft_peer_rare *rare;

    if (peer->is_failed) {
        return; /* its sends have ended, and their memory may be gone */
    }
    if (peer->path == NULL || weft_engine.start->ops->hand_back == NULL) {
        weft_engine.up.lost(owner, process, has_left, why);
        return;
    }
    if (weft_engine.connect == NULL) {
        lose(peer, has_left, why, NULL);
        return;
    }
    if (!is_by(peer, weft_engine.start)) {
        if (weft_peer_other(peer) != NULL) {
            (void)hand_back(peer, peer->rare->other);
        }
        return;
    }
    rare = weft_peer_rare(peer);
    if (rare->no_connection != NULL || find_connection(peer) != WEFT_OK) {
        lose(peer, has_left, why,
             rare->no_connection != NULL ? rare->no_connection : "cannot be opened");
        return;
    }
    rare->has_left_first = has_left;
    use_connection(peer, WEFT_CHOICE_NONE);
    (void)hand_back(peer, rare->other);
}

/* Of what the first network could not deliver, and a connection that never stood was to
 * take. */
static struct loss count_kept(const struct weft_peer *peer)
{
    struct loss loss = {0, 0};

    for (const struct weft_retry *r = weft_peer_first_retry(peer, WEFT_RETRY_CONTROL);
         r != NULL; r = r->next) {
        const struct weft_header *kept = weft_engine_kept_control(r);

        if (kept != NULL) {
            count_back(&loss, kept, NULL, 0, WEFT_SEND_CONTROL);
        }
    }
    for (const struct weft_retry *r = weft_peer_first_retry(peer, WEFT_RETRY_ORDERED);
         r != NULL; r = r->next) {
        if (r->again == send_handed) {
            count_back(&loss, &((const struct handed *)r)->header, NULL, 0, 0);
        }
    }
    return loss;
}

/* Before the first network gave it up. */
static bool had_left(const struct weft_peer *peer)
{
    return peer->rare != NULL && peer->rare->has_left_first;
}

/* The second network. A connection that carried packets breaks at both ends, so the other
 * side knows of the loss, too. One that never stood says nothing there. */
static void on_connect_lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    struct weft_peer *peer = weft_engine_meet(owner, process);
    const bool had_connection = peer->has_connection;

    if (peer->has_connection) {
        peer->has_connection = false;
        weft_engine.connections--;
    }
    if (!is_by(peer, weft_engine.start)) {
        const struct loss loss = count_kept(peer);

        if (!had_connection && !peer->is_failed) {
            tell_undelivered(&loss, has_left || had_left(peer), why);
        }
        weft_engine.up.lost(owner, process, has_left, why);
        return;
    }
    weft_reserve_give(weft_peer_rare(peer)->no_connection);
    peer->rare->no_connection = strdup(why);
    if (peer->choice != WEFT_CHOICE_NONE) {
        peer->choice = WEFT_CHOICE_NONE; /* it stays where it is */
        weft_engine_update_fast(peer);
        weft_log_info("rank %u is not connected: %s", weft_process_rank(process), why);
    }
}

void weft_promote_add(struct weft_instance *network)
{
    struct weft_engine *e = &weft_engine;

    network->up = e->up;
    if (e->start == NULL) {
        e->start = network;
        network->up.lost = on_start_lost;
        network->up.silent = network->ops->hand_back != NULL ? on_silent : NULL;
    } else if (e->start->ops->hand_back != NULL && network->ops->establish != NULL) {
        e->connect = network;
        e->counted = weft_promote_count;
        e->go_on_promoting = weft_promote_go_on;
        network->up.lost = on_connect_lost;
        network->up.opened = on_opened;
    }
}
