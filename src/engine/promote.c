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
#include "base/texts.h"
#include "engine/engine.h"
#include "engine/held.h"
#include "engine/network_thread.h"
#include "engine/warm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 768 };

/* A host from which no datagram has ever come. */
struct weft_deaf {
    struct weft_deaf *next;
    uint32_t node;
    const struct weft_path *witness; /* by which nothing came */
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
    return deaf != NULL && !deaf->witness->packets->is_heard(deaf->witness);
}

static void note_deaf(const struct weft_peer *peer, const struct weft_path *witness)
{
    struct weft_deaf *deaf;

    if (witness->packets->is_heard(witness) || is_deaf(peer)) {
        return;
    }
    deaf = malloc(sizeof(*deaf));
    if (deaf != NULL) { /* else the next peer there finds out by itself */
        *deaf = (struct weft_deaf){weft_engine.deaf, node_of(peer), witness};
        weft_engine.deaf = deaf;
    }
    weft_log_info("no datagram comes from the host of rank %u: its ranks are connected "
                  "(WEFT_PORTS: TCP and UDP)",
                  weft_engine_rank(peer->process));
}

void weft_promote_close(void)
{
    while (weft_engine.deaf != NULL) {
        struct weft_deaf *deaf = weft_engine.deaf;

        weft_engine.deaf = deaf->next;
        free(deaf);
    }
}

/* ---- the rule ---- */

bool weft_promote_may_begin(const struct weft_peer *peer, const struct weft_instance *t)
{
    return t != weft_engine.start || (!peer->has_connection && !is_deaf(peer));
}

void weft_promote_begin(struct weft_peer *peer)
{
    if (weft_engine.connect != NULL && is_by(peer, weft_engine.start)) {
        peer->choice = WEFT_CHOICE_TRIAL;
        peer->trial_end = peer->next_sequence + WEFT_PROMOTE_MESSAGES;
    }
}

static void list(struct weft_peer *peer)
{
    peer->next_promoted = weft_engine.promoted;
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
         p = p->next_promoted) {
        made += p->choice == WEFT_CHOICE_CONNECTING && !p->has_connection ? 1 : 0;
    }
    return weft_engine.connections + made < WEFT_PROMOTE_CONNECTIONS;
}

void weft_promote_count(struct weft_peer *peer)
{
    if (peer->next_sequence <= peer->trial_end) {
        return;
    }
    if (is_room()) {
        promote(peer);
    } else {
        peer->trial_end = peer->next_sequence + WEFT_PROMOTE_MESSAGES;
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

    if (peer->other == NULL) {
        rc = network->ops->connect(network->tp, peer, peer->process, &peer->other);
        weft_warm_end(); /* that has loaded what was missing */
        weft_descriptors_follow();
    }
    return rc;
}

static void use_connection(struct weft_peer *peer, enum weft_choice choice)
{
    struct weft_path *first = peer->path;

    peer->path = peer->other;
    peer->other = first;
    peer->choice = (uint8_t)choice;
    weft_engine_update_fast(peer);
}

/* ---- packets that come back ---- */

struct handed {
    struct weft_retry retry; /* first */
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

static enum weft_rc send_handed(struct weft_retry *retry)
{
    struct handed *h = (struct handed *)retry;
    struct weft_path *path = h->peer->path;

    if (path->packets->send(path, &h->header, h->data, h->len, 0) != WEFT_OK) {
        return WEFT_AGAIN; /* or the peer is lost, and this with it */
    }
    free(h);
    return WEFT_OK;
}

static void free_handed(struct weft_retry *retry)
{
    free(retry);
}

static void take_back(void *argument, const void *header, const void *data, size_t len,
                      unsigned flags)
{
    struct back *back = argument;
    struct handed *h;

    back->count++;
    if ((flags & WEFT_SEND_CONTROL) != 0) {
        weft_engine_keep_control(back->peer, header, data);
        return;
    }
    h = malloc(sizeof(*h) + len);
    if (h == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_SEND);
    }
    *h = (struct handed){
        .retry = {.again = send_handed, .failed = free_handed},
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
    first->packets->hand_back(first, take_back, &back);
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
    struct weft_path *first = peer->other;
    const enum weft_delivery delivery = first->packets->delivery(first);

    if (delivery == WEFT_ON_THE_WAY) {
        return false;
    }
    peer->choice = WEFT_CHOICE_NONE;
    if (delivery == WEFT_UNANSWERED) {
        note_deaf(peer, first);
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

    if (peer->other == NULL && !weft_warm_is_over()) {
        return false;
    }
    rc = find_connection(peer);
    if (rc == WEFT_OK) {
        rc = peer->other->packets->establish(peer->other);
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
            at = &(*at)->next_promoted;
        }
        if (is_over) {
            *at = peer->next_promoted;
        } else {
            at = &peer->next_promoted;
        }
    }
}

bool weft_promote_needs_tick(void)
{
    bool is_needed = false;

    for (const struct weft_peer *peer = weft_engine.promoted; peer != NULL;
         peer = peer->next_promoted) {
        const struct weft_path *path = peer->other;

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
    return find_connection(peer) == WEFT_OK ? peer->other : peer->path;
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
        weft_log_info("rank %u has not answered a datagram in time: it is connected",
                      weft_engine_rank(peer->process));
    }
    promote(peer);
}

/* What is said of a peer to whom nothing leads any more. */
static void lose(const struct weft_peer *peer, bool has_left, unsigned unacknowledged,
                 const char *first, const char *second)
{
    char why[WHY_BYTES];

    snprintf(why, sizeof(why),
             "no path to rank %u is left: %s: %s, %u packets not acknowledged; %s: %s",
             weft_engine_rank(peer->process), weft_engine.start->ops->name, first,
             unacknowledged, weft_engine.connect->ops->name, second);
    weft_engine.up.lost(&weft_engine, peer->process, has_left, why);
}

static void count_back(void *argument, const void *header, const void *data, size_t len,
                       unsigned flags)
{
    (void)header;
    (void)data;
    (void)len;
    (void)flags;
    ++*(unsigned *)argument;
}

/* The first network: what it could not deliver goes by the connection, if there is one or
 * may be one. */
static void on_start_lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    struct weft_peer *peer = weft_engine_meet(owner, process);
    unsigned count = 0;

    if (weft_engine.connect == NULL || peer->path == NULL) {
        weft_engine.up.lost(owner, process, has_left, why);
        return;
    }
    if (!is_by(peer, weft_engine.start)) {
        if (peer->other != NULL) {
            (void)hand_back(peer, peer->other);
        }
        return;
    }
    if (peer->no_connection != NULL || find_connection(peer) != WEFT_OK) {
        peer->path->packets->hand_back(peer->path, count_back, &count);
        lose(peer, has_left, count, why,
             peer->no_connection != NULL ? peer->no_connection : "cannot be opened");
        return;
    }
    use_connection(peer, WEFT_CHOICE_NONE);
    (void)hand_back(peer, peer->other);
}

/* The second one: a connection that carried packets, or one that was only wanted. */
static void on_connect_lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    struct weft_peer *peer = weft_engine_meet(owner, process);

    if (peer->has_connection) {
        peer->has_connection = false;
        weft_engine.connections--;
    }
    if (!is_by(peer, weft_engine.start)) {
        weft_engine.up.lost(owner, process, has_left, why);
        return;
    }
    free(peer->no_connection);
    peer->no_connection = strdup(why);
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
