#include "p2p/tagged.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/texts.h"
#include "engine/lock.h"
#include "p2p/tag_bits.h"

#include <stdlib.h>

enum { PATIENCE = 64 /* polls for a receive that was cancelled */ };

enum kind { SEND, ACK_OUT, ACK_IN, RECV, PEEK, DROP };

/* One operation; which fields count depends on its kind. */
struct weft_tagged {
    struct weft_tagged_op base;    /* first */
    struct weft_tagged *next_made; /* of all there are */
    struct weft_tagged *next;      /* of those that are free, or wait */
    enum kind kind;
    bool is_waiting;                    /* RECV, SEND, ACK_IN: not posted yet */
    bool is_watched;                    /* SEND: a poll is to try again */
    bool is_done;                       /* PEEK */
    struct weft_p2p_request *request;   /* NULL: nobody waits for it any more */
    struct weft_tagged *partner;        /* of SEND and ACK_IN: what is under way, too */
    struct weft_tagged_pattern pattern; /* what is to be posted; ACK_OUT: where to */
    void *packed;                       /* RECV: where the message goes first, or NULL */
    int dead;                           /* RECV: because of whom it was given up */
    struct weft_tagged_end end;         /* PEEK */
};

struct queue {
    struct weft_tagged *first;
    struct weft_tagged *last;
};

static struct {
    struct weft_tagged *all;
    struct weft_tagged *unused;
    struct queue receives; /* to be posted, in order */
    struct queue acks;     /* to be sent */
    uint32_t watchers;     /* things that wait for a poll */
    uint32_t next_number;  /* of a synchronous send */
    void (*look)(void);
} state;

static struct weft_transport *transport(void)
{
    return weft_p2p.network->tp;
}

static const struct weft_tagged_ops *ops(void)
{
    return weft_p2p.network->ops->tagged();
}

/* ---- operations as such ---- */

static void done(struct weft_tagged_op *base, const struct weft_tagged_end *end);

static struct weft_tagged *take(enum kind kind, struct weft_p2p_request *request)
{
    struct weft_tagged *op = state.unused;

    if (op != NULL) {
        state.unused = op->next;
    } else {
        op = calloc(1, sizeof(*op));
        if (op == NULL) {
            return NULL;
        }
        op->next_made = state.all;
        state.all = op;
    }
    op->base.done = done;
    op->base.mr = NULL;
    op->kind = kind;
    op->is_waiting = false;
    op->is_watched = false;
    op->is_done = false;
    op->request = request;
    op->partner = NULL;
    op->packed = NULL;
    op->dead = MPI_UNDEFINED;
    return op;
}

static void give(struct weft_tagged *op)
{
    free(op->packed);
    op->packed = NULL;
    op->next = state.unused;
    state.unused = op;
}

static void append(struct queue *queue, struct weft_tagged *op)
{
    op->next = NULL;
    op->is_waiting = true;
    if (queue->first == NULL) {
        queue->first = op;
    } else {
        queue->last->next = op;
    }
    queue->last = op;
    weft_tagged_watch();
}

static void take_out(struct queue *queue, struct weft_tagged *op)
{
    struct weft_tagged *before = NULL;

    for (struct weft_tagged *o = queue->first; o != op; o = o->next) {
        before = o;
    }
    *(before != NULL ? &before->next : &queue->first) = op->next;
    queue->last = queue->last == op ? before : queue->last;
    op->is_waiting = false;
    weft_tagged_unwatch();
}

void weft_tagged_watch(void)
{
    if (state.watchers++ == 0) {
        weft_engine.watched++;
        ops()->tick(transport(), true);
    }
}

void weft_tagged_unwatch(void)
{
    if (--state.watchers == 0) {
        weft_engine.watched--;
        ops()->tick(transport(), false);
    }
}

/* The way to a process, to ourselves too. */
static enum weft_rc path_to(struct weft_peer *peer, struct weft_path **path)
{
    struct weft_instance *network = weft_p2p.network;

    return network->ops->connect(network->tp, peer, peer->process, path);
}

/* ---- acknowledgements ---- */

static enum weft_rc send_ack(const struct weft_tagged *op)
{
    return ops()->inject(op->pattern.from, op->pattern.bits, 0, NULL, 0);
}

/* Who has failed needs none. */
static void acknowledge(struct weft_peer *peer, uint64_t data)
{
    struct weft_tagged *op = take(ACK_OUT, NULL);

    if (op == NULL || path_to(peer, &op->pattern.from) != WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_STORE);
    }
    op->pattern.bits = weft_bits_ack(data);
    if (send_ack(op) == WEFT_AGAIN) {
        append(&state.acks, op);
    } else {
        give(op);
    }
}

/* Each on its own: one that cannot go holds up no other. */
static void send_acks(void)
{
    struct weft_tagged *op = state.acks.first;

    while (op != NULL) {
        struct weft_tagged *next = op->next;

        if (send_ack(op) != WEFT_AGAIN) {
            take_out(&state.acks, op);
            give(op);
        }
        op = next;
    }
}

/* ---- sends ---- */

enum weft_rc weft_tagged_inject(struct weft_peer *peer, const struct weft_header *header,
                                const void *buffer, size_t bytes)
{
    struct weft_path *path;
    enum weft_rc rc;

    if (bytes > ops()->copied(transport())) {
        return WEFT_AGAIN;
    }
    rc = path_to(peer, &path);
    return rc == WEFT_OK
               ? ops()->inject(path, weft_bits_of(header->context, header->tag),
                               weft_bits_data((int)header->source, 0), buffer, bytes)
               : rc;
}

/* The receiver could not put parts together that others come between. */
static bool is_too_long(const struct weft_p2p_request *send)
{
    const size_t longest = ops()->longest(transport());

    if (send->data.bytes <= longest) {
        return false;
    }
    weft_log_error(WEFT_S_TAGGED_TOO_LONG, (size_t)send->data.bytes, longest);
    return true;
}

enum weft_rc weft_tagged_take_send(struct weft_p2p_request *send, bool is_synchronous)
{
    struct weft_tagged *op;
    struct weft_tagged *ack;

    if (weft_unlikely(is_too_long(send))) {
        return WEFT_ERR_UNSUPPORTED;
    }
    op = take(SEND, send);
    ack = op != NULL && is_synchronous ? take(ACK_IN, send) : NULL;
    if (op == NULL || (is_synchronous && ack == NULL)) {
        if (op != NULL) {
            give(op);
        }
        return WEFT_ERR_NOMEM;
    }
    op->is_waiting = true;
    op->partner = ack;
    op->pattern.bits = weft_bits_of(send->header.context, send->header.tag);
    if (ack != NULL) {
        ack->is_waiting = true;
        ack->partner = op;
        ack->pattern =
            (struct weft_tagged_pattern){.bits = weft_bits_ack(state.next_number++)};
        op->pattern.bits |= WEFT_BIT_SYNC;
    }
    send->tagged = op;
    return WEFT_OK;
}

/* The receive for the acknowledgement goes first. */
static enum weft_rc post_ack(struct weft_tagged *ack, struct weft_path *path)
{
    enum weft_rc rc;

    ack->pattern.from = path;
    rc = ops()->recv(transport(), &ack->pattern, NULL, 0, &ack->base);
    ack->is_waiting = rc != WEFT_PENDING;
    return rc;
}

static enum weft_rc post_send(struct weft_tagged *op)
{
    const struct weft_p2p_request *send = op->request;
    struct weft_tagged *ack = op->partner;
    struct weft_path *path;
    enum weft_rc rc = path_to(send->peer, &path);

    if (rc == WEFT_OK && ack != NULL && ack->is_waiting) {
        rc = post_ack(ack, path);
        rc = rc == WEFT_PENDING ? WEFT_OK : rc;
    }
    if (rc == WEFT_OK) {
        const uint32_t number = ack != NULL ? (uint32_t)ack->pattern.bits : 0;

        rc = ops()->send(path, op->pattern.bits,
                         weft_bits_data((int)send->header.source, number),
                         send->data.buffer, (size_t)send->data.bytes, &op->base);
    }
    return rc;
}

static void watch_send(struct weft_tagged *op, bool is_watched)
{
    if (op->is_watched != is_watched) {
        op->is_watched = is_watched;
        if (is_watched) {
            weft_tagged_watch();
        } else {
            weft_tagged_unwatch();
        }
    }
}

enum weft_rc weft_tagged_try_send(struct weft_p2p_request *send)
{
    struct weft_tagged *op = send->tagged;
    const enum weft_rc rc = post_send(op);

    watch_send(op, rc == WEFT_AGAIN);
    if (rc == WEFT_PENDING) {
        op->is_waiting = false;
    } else if (rc != WEFT_AGAIN) {
        weft_tagged_end_send(send, rc);
    }
    return rc;
}

/* Nobody waits for it any more; done() gives it back if it is under way. */
static void let_go(struct weft_tagged *op)
{
    watch_send(op, false);
    if (op->is_waiting) {
        give(op);
        return;
    }
    op->request = NULL;
    op->partner = NULL;
    if (op->kind == ACK_IN) {
        ops()->cancel(transport(), &op->base);
    }
}

void weft_tagged_end_send(struct weft_p2p_request *send, enum weft_rc rc)
{
    struct weft_tagged *op = send->tagged;

    if (op->partner != NULL) {
        let_go(op->partner);
    }
    let_go(op);
    weft_p2p_end_send(send, rc);
}

/* A synchronous send is over when the second of its two operations is. */
static void send_is_done(struct weft_tagged *op, const struct weft_tagged_end *end)
{
    struct weft_p2p_request *send = op->request;
    struct weft_tagged *partner = op->partner;

    if (send == NULL) {
        give(op);
        return;
    }
    if (partner != NULL && end->rc == WEFT_OK) {
        partner->partner = NULL;
        send->tagged = partner;
        give(op);
        return;
    }
    if (partner != NULL) {
        let_go(partner);
    }
    give(op);
    weft_p2p_end_send(send, end->rc);
}

/* ---- receives ---- */

static enum weft_rc post_recv(struct weft_tagged *op)
{
    const struct weft_p2p_request *recv = op->request;
    void *buffer = op->packed != NULL ? op->packed : weft_data_at(&recv->data, 0);

    return ops()->recv(transport(), &op->pattern, buffer, (size_t)recv->data.bytes,
                       &op->base);
}

/* Data that are not contiguous are received packed. */
static enum weft_rc make_room(struct weft_tagged *op, const struct weft_data *data)
{
    if (data->type != NULL && data->bytes > 0) {
        op->packed = malloc(data->bytes);
        return op->packed != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
    }
    return WEFT_OK;
}

enum weft_rc weft_tagged_recv(struct weft_p2p_request *recv)
{
    struct weft_tagged *op = take(RECV, recv);
    enum weft_rc rc = op != NULL ? make_room(op, &recv->data) : WEFT_ERR_NOMEM;

    if (rc == WEFT_OK) {
        op->pattern = weft_bits_pattern(recv->posted.context, recv->posted.tag);
        rc = recv->peer != NULL ? path_to(recv->peer, &op->pattern.from) : WEFT_OK;
    }
    if (rc == WEFT_OK) {
        rc = state.receives.first == NULL ? post_recv(op) : WEFT_AGAIN;
    }
    if (rc == WEFT_AGAIN) {
        append(&state.receives, op);
    } else if (rc != WEFT_PENDING) {
        if (op != NULL) {
            give(op);
        }
        return rc;
    }
    recv->tagged = op;
    recv->posted.state = WEFT_POSTED_AWAY;
    recv->posted.offer = NULL;
    return WEFT_OK;
}

/* The receive ends, and its operation is given back. */
static void fail_recv(struct weft_tagged *op, int dead)
{
    struct weft_p2p_request *recv = op->request;

    give(op);
    recv->posted.state = WEFT_POSTED_FREE;
    weft_p2p_fail_recv(recv, dead);
}

/* Those behind it stay behind it. */
static void post_receives(void)
{
    while (state.receives.first != NULL) {
        struct weft_tagged *op = state.receives.first;
        const enum weft_rc rc = post_recv(op);

        if (rc == WEFT_AGAIN) {
            return;
        }
        take_out(&state.receives, op);
        if (rc != WEFT_PENDING) {
            fail_recv(op, op->request->posted.source);
        }
    }
}

/* The process that has sent the message of a receive. */
static struct weft_peer *sender_of(const struct weft_p2p_request *recv, int rank)
{
    const struct weft_comm *comm = recv->base.comm != NULL
                                       ? recv->base.comm
                                       : weft_comm_of_context(recv->posted.context);

    return recv->peer != NULL ? recv->peer
           : comm != NULL && rank >= 0 && rank < comm->peers
               ? weft_peer_get(weft_comm_process(comm, rank))
               : NULL;
}

static void received(struct weft_tagged *op, const struct weft_tagged_end *end)
{
    struct weft_p2p_request *recv = op->request;
    const size_t room = (size_t)recv->data.bytes;
    const struct weft_header header = {
        .kind = WEFT_PKT_EAGER,
        .context = recv->posted.context,
        .source = (uint32_t)weft_bits_rank(end->data),
        .tag = weft_bits_tag(end->bits),
    };

    if (op->packed != NULL) {
        weft_data_scatter(&recv->data, 0, op->packed,
                          end->length < room ? (size_t)end->length : room);
    }
    if ((end->bits & WEFT_BIT_SYNC) != 0) {
        struct weft_peer *peer = sender_of(recv, (int)header.source);

        if (peer != NULL) {
            acknowledge(peer, end->data);
        }
    }
    give(op);
    recv->posted.state = WEFT_POSTED_MATCHED;
    weft_p2p_finish_long(recv, &header, end->length, WEFT_OK);
}

static void recv_is_done(struct weft_tagged *op, const struct weft_tagged_end *end)
{
    struct weft_p2p_request *recv = op->request;

    if (recv == NULL) {
        give(op);
    } else if (op->dead != MPI_UNDEFINED && end->is_cancelled) {
        fail_recv(op, op->dead);
    } else if (end->is_cancelled) {
        give(op);
        recv->posted.state = WEFT_POSTED_CANCELLED;
        weft_p2p_release(recv);
        weft_p2p_complete_cancelled(recv);
    } else if (end->rc == WEFT_ERR_PROC_FAILED) {
        fail_recv(op, recv->posted.source);
    } else {
        received(op, end);
    }
}

bool weft_tagged_cancel(struct weft_p2p_request *recv)
{
    struct weft_tagged *op = recv->tagged;

    if (!op->is_waiting) {
        ops()->cancel(transport(), &op->base);
        return false;
    }
    take_out(&state.receives, op);
    give(op);
    recv->posted.state = WEFT_POSTED_CANCELLED;
    weft_p2p_release(recv);
    return true;
}

void weft_tagged_give_up(struct weft_p2p_request *recv, int dead)
{
    struct weft_instance *network = weft_p2p.network;
    struct weft_tagged *op = recv->tagged;

    if (op->is_waiting) {
        take_out(&state.receives, op);
        fail_recv(op, dead);
        return;
    }
    op->dead = dead;
    ops()->cancel(transport(), &op->base);
    for (int i = 0; i < PATIENCE && recv->posted.state == WEFT_POSTED_AWAY; i++) {
        network->ops->poll(network->tp, 0);
    }
    if (recv->posted.state == WEFT_POSTED_AWAY) { /* half of its message has come */
        op->request = NULL;
        recv->posted.state = WEFT_POSTED_FREE;
        weft_p2p_fail_recv(recv, dead);
    }
}

/* ---- probes ---- */

/* A look at what waits; the network answers at once, but by a completion. */
static struct weft_tagged *peek(const struct weft_tagged_pattern *pattern, bool takes)
{
    struct weft_instance *network = weft_p2p.network;
    struct weft_tagged *op = take(PEEK, NULL);

    if (op == NULL) {
        return NULL;
    }
    if (ops()->peek(network->tp, pattern, takes, &op->base) == WEFT_PENDING) {
        while (!op->is_done) {
            network->ops->poll(network->tp, 0);
        }
        if (op->end.is_found) {
            return op;
        }
    }
    give(op);
    return NULL;
}

bool weft_tagged_peek(const struct weft_comm *comm, int source, int tag,
                      struct weft_header *header, uint64_t *length,
                      struct weft_tagged **claim)
{
    const uint32_t context = comm->context | WEFT_PLANE_P2P;
    struct weft_tagged_pattern pattern = weft_bits_pattern(context, tag);
    struct weft_tagged *op;

    if (state.receives.first != NULL) { /* they come first */
        return false;
    }
    if (source != WEFT_ANY_SOURCE) {
        struct weft_peer *peer = weft_peer_get(weft_comm_process(comm, source));

        if (peer == NULL || path_to(peer, &pattern.from) != WEFT_OK) {
            return false;
        }
    }
    op = peek(&pattern, claim != NULL);
    if (op == NULL) {
        return false;
    }
    *header = (struct weft_header){
        .kind = WEFT_PKT_EAGER,
        .context = context,
        .source = (uint32_t)weft_bits_rank(op->end.data),
        .tag = weft_bits_tag(op->end.bits),
    };
    *length = op->end.length;
    if (claim != NULL) {
        *claim = op;
    } else {
        give(op);
    }
    return true;
}

bool weft_tagged_is_waiting(const struct weft_comm *comm, int source, int tag)
{
    struct weft_header header;
    uint64_t length;

    return weft_tagged_peek(comm, source, tag, &header, &length, NULL);
}

/* Until it can be posted; what has been taken out of matching holds up nobody. */
static enum weft_rc post_claimed(struct weft_tagged *op, void *buffer, size_t bytes)
{
    struct weft_instance *network = weft_p2p.network;
    enum weft_rc rc;

    while ((rc = ops()->recv_claimed(network->tp, buffer, bytes, &op->base)) ==
           WEFT_AGAIN) {
        network->ops->poll(network->tp, 0);
    }
    return rc;
}

enum weft_rc weft_tagged_recv_claimed(struct weft_p2p_request *recv,
                                      struct weft_tagged *claim)
{
    enum weft_rc rc = make_room(claim, &recv->data);

    if (rc == WEFT_OK) {
        claim->kind = RECV;
        claim->request = recv;
        recv->tagged = claim;
        recv->posted.state = WEFT_POSTED_AWAY;
        recv->posted.offer = NULL;
        rc = post_claimed(
            claim, claim->packed != NULL ? claim->packed : weft_data_at(&recv->data, 0),
            (size_t)recv->data.bytes);
    }
    return rc == WEFT_PENDING ? WEFT_OK : rc;
}

void weft_tagged_drop(uint32_t context)
{
    const struct weft_tagged_pattern pattern = weft_bits_pattern(context, WEFT_ANY_TAG);
    struct weft_tagged *op;

    while ((op = peek(&pattern, true)) != NULL) {
        op->kind = DROP;
        if (post_claimed(op, NULL, 0) != WEFT_PENDING) {
            give(op);
        }
    }
}

/* ---- completions, and polls ---- */

static void done(struct weft_tagged_op *base, const struct weft_tagged_end *end)
{
    struct weft_tagged *op = (struct weft_tagged *)base;

    switch (op->kind) {
    case SEND:
    case ACK_IN:
        send_is_done(op, end);
        break;
    case RECV:
        recv_is_done(op, end);
        break;
    case PEEK:
        op->end = *end;
        op->is_done = true;
        break;
    case ACK_OUT:
    case DROP:
        give(op);
        break;
    }
}

static void look(void)
{
    if (state.watchers > 0) {
        send_acks();
        post_receives();
        state.look();
    }
}

static bool has_news(void)
{
    return false; /* what waits is looked for by the clock */
}

void weft_tagged_on_look(void (*function)(void))
{
    state.look = function;
}

/* ---- opening and closing ---- */

enum weft_rc weft_tagged_open(void)
{
    for (int i = 0; i < weft_engine.list_count; i++) {
        if (weft_engine.list[i].ops->tagged != NULL) {
            weft_p2p.network = &weft_engine.list[i];
        }
    }
    if (weft_p2p.network == NULL) {
        return WEFT_OK;
    }
    if (weft_p2p.has_checksum) {
        weft_log_error(WEFT_S_TAGGED_CHECKSUM);
        return WEFT_ERR_UNSUPPORTED;
    }
    weft_engine.has_matching_network = true;
    weft_engine_on_look(look, has_news);
    return WEFT_OK;
}

void weft_tagged_close(void)
{
    while (state.all != NULL) {
        struct weft_tagged *op = state.all;

        state.all = op->next_made;
        free(op->packed);
        free(op);
    }
    state.unused = NULL;
    state.receives = (struct queue){NULL, NULL};
    state.acks = (struct queue){NULL, NULL};
    state.watchers = 0;
    weft_p2p.network = NULL;
}
