/* peer.c - peers, idle and busy: see peer.h. */
#include "transport/dgram/peer.h"

#include "transport/dgram/estimate.h"
#include "transport/dgram/pool.h"
#include "transport/dgram/timers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void set_up(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                   const struct weft_dgram_end *end, uint32_t datagram)
{
    const struct weft_dgram_config *config = &core->config;

    peer->nonce = end->nonce;
    peer->datagram = datagram < config->datagram ? (uint16_t)datagram : config->datagram;
    weft_dgram_key(config->secret, &config->self, end, peer->key_out);
    weft_dgram_key(config->secret, end, &config->self, peer->key_in);
    peer->heard_at = core->now;
}

struct weft_dgram_peer *weft_dgram_peer_reserve(struct weft_dgram_core *core,
                                                uint64_t process)
{
    struct weft_dgram_peer *peer = weft_table_find(&core->peers, process);

    return peer != NULL
               ? peer
               : weft_table_add(&core->peers, process, weft_dgram_peer_bytes(core));
}

struct weft_dgram_peer *weft_dgram_peer_make(struct weft_dgram_core *core,
                                             const struct weft_dgram_end *end,
                                             uint32_t datagram)
{
    struct weft_dgram_peer *peer = weft_dgram_peer_reserve(core, end->process);

    if (peer != NULL) {
        assert(!weft_dgram_is_met(peer));
        set_up(core, peer, end, datagram);
        core->met++;
    }
    return peer;
}

void weft_dgram_peer_renew(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                           const struct weft_dgram_end *end, uint32_t datagram)
{
    assert(peer->busy == NULL && peer->counted == 0 && !peer->is_waiting);
    peer->next = peer->acked = peer->granted = peer->expected = peer->told = 0;
    memset(peer->packets_out, 0, sizeof(peer->packets_out));
    memset(peer->packets_in, 0, sizeof(peer->packets_in));
    peer->taken = 0;
    peer->srtt = peer->rttvar = 0;
    peer->has_left = peer->is_lost = peer->is_closed = false;
    set_up(core, peer, end, datagram);
}

struct weft_dgram_busy *weft_dgram_peer_wake(struct weft_dgram_core *core,
                                             struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = core->free_busy;

    if (peer->busy != NULL) {
        return peer->busy;
    }
    if (!weft_dgram_timers_grow(core)) {
        return NULL;
    }
    if (busy != NULL) {
        core->free_busy = (struct weft_dgram_busy *)(void *)busy->next_due;
        core->free_busy_count--;
    } else {
        busy = malloc(sizeof(*busy));
        if (busy == NULL) {
            return NULL;
        }
    }
    memset(busy, 0, sizeof(*busy));
    busy->high = peer->expected;
    busy->told_sent = peer->told;
    peer->busy = busy;
    core->busy_count++;
    return busy;
}

static bool is_idle(const struct weft_dgram_peer *peer)
{
    const struct weft_dgram_busy *busy = peer->busy;

    return busy->oldest == NULL && busy->out[0].first == NULL &&
           busy->out[1].first == NULL && busy->in[0].first == NULL &&
           busy->in[1].first == NULL && busy->high <= peer->expected &&
           busy->ack_at == 0 && !busy->is_due && !busy->is_kept;
}

/* Few are kept: where many peers were busy at once, others come to need the memory. */
static void give_back(struct weft_dgram_core *core, struct weft_dgram_busy *busy)
{
    if (core->free_busy_count == WEFT_DGRAM_BUSY_KEPT) {
        free(busy);
        return;
    }
    busy->next_due = (struct weft_dgram_peer *)(void *)core->free_busy;
    core->free_busy = busy;
    core->free_busy_count++;
}

void weft_dgram_peer_rest(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;

    if (busy == NULL) {
        return;
    }
    weft_dgram_timer_set(
        core, peer, is_idle(peer) ? WEFT_DGRAM_NEVER : weft_dgram_timer_due(core, peer));
    if (is_idle(peer)) {
        peer->busy = NULL;
        core->busy_count--;
        give_back(core, busy);
    }
}

void weft_dgram_peer_due(struct weft_dgram_core *core, struct weft_dgram_peer *peer)
{
    struct weft_dgram_busy *busy = peer->busy;

    if (!busy->is_due) {
        busy->is_due = true;
        busy->next_due = core->due;
        core->due = peer;
    }
}

void weft_dgram_out_free(struct weft_dgram_core *core, struct weft_dgram_out *out,
                         enum weft_rc rc)
{
    struct weft_op **list = rc == WEFT_OK ? &core->over : &core->failed;

    if (out->op != NULL) {
        out->op->next = *list;
        *list = out->op;
    }
    weft_dgram_pool_give(&core->send_pool, out, sizeof(*out) + out->front);
}

static void tell(struct weft_op **list, enum weft_rc rc)
{
    while (*list != NULL) {
        struct weft_op *op = *list;

        *list = op->next;
        op->done(op, rc);
    }
}

void weft_dgram_tell_over(struct weft_dgram_core *core)
{
    tell(&core->over, WEFT_OK);
    tell(&core->failed, WEFT_ERR_PROC_FAILED);
}

static void empty_out(struct weft_dgram_core *core, struct weft_dgram_queue *queue,
                      enum weft_rc rc)
{
    while (queue->first != NULL) {
        struct weft_dgram_out *out = queue->first;

        queue->first = out->next;
        weft_dgram_out_free(core, out, rc);
    }
    queue->last = queue->unsent = NULL;
}

static void empty_in(struct weft_dgram_core *core, struct weft_dgram_arrivals *arrivals)
{
    while (arrivals->first != NULL) {
        struct weft_dgram_in *in = arrivals->first;

        arrivals->first = in->next;
        core->in_port = core->in_port == in ? NULL : core->in_port;
        weft_dgram_pool_give(&core->receive_pool, in, in->room);
    }
    arrivals->last = NULL;
}

void weft_dgram_peer_empty_out(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                               enum weft_rc rc)
{
    struct weft_dgram_busy *busy = peer->busy;

    while (busy->oldest != NULL) {
        struct weft_dgram_flight *flight = busy->oldest;

        busy->oldest = flight->next;
        flight->next = core->free_flights;
        core->free_flights = flight;
    }
    busy->newest = NULL;
    for (int class = 0; class < WEFT_DGRAM_CLASSES; class ++) {
        empty_out(core, &busy->out[class], rc);
    }
    busy->waiting = busy->beyond = busy->queued = busy->control = 0;
    busy->is_refused = false;
}

void weft_dgram_peer_empty(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                           enum weft_rc rc)
{
    struct weft_dgram_busy *busy = peer->busy;

    if (busy == NULL) {
        return;
    }
    weft_dgram_peer_empty_out(core, peer, rc);
    for (int class = 0; class < WEFT_DGRAM_CLASSES; class ++) {
        empty_in(core, &busy->in[class]);
    }
    busy->held = busy->missing = 0;
    busy->must_ack = false;
    busy->high = peer->expected;
    busy->ack_at = 0;
    memset(busy->marks, 0, sizeof(busy->marks));
}
