/*
 * transports.c - the transports that are open, in the order in which a new peer tries
 * them, and first contact.
 */
#include "engine/engine.h"

#include "base/log.h"
#include "base/texts.h"
#include "engine/hot.h"
#include "engine/network_thread.h"
#include "engine/promote.h"
#include "engine/warm.h"

#include <time.h>

#define EACH_INSTANCE(t)                                                                 \
    (struct weft_instance *t = weft_engine.list;                                         \
     t < weft_engine.list + weft_engine.list_count; t++)

enum weft_rc weft_transport_add(const struct weft_packet_ops *ops)
{
    struct weft_engine *e = &weft_engine;
    struct weft_instance *t = &e->list[e->list_count];
    enum weft_rc rc;

    assert(e->list_count < WEFT_INSTANCES_MAX);
    *t = (struct weft_instance){.ops = ops};
    if (ops->is_node_local) {
        rc = ops->open(&e->up, &e->node, &t->tp);
    } else {
        weft_promote_add(t);
        rc = ops->open(&t->up, &e->node, &t->tp);
    }
    e->list_count += rc == WEFT_OK ? 1 : 0;
    return rc;
}

void weft_transports_close(void)
{
    struct weft_engine *e = &weft_engine;

    while (e->list_count > 0) {
        struct weft_instance *t = &e->list[--e->list_count];

        t->ops->close(t->tp);
    }
    e->busy = NULL;
    e->start = NULL;
    e->connect = NULL;
    weft_promote_close();
}

bool weft_transports_leave_node(void)
{
    for
        EACH_INSTANCE(t)
        {
            if (!t->ops->is_node_local) {
                return true;
            }
        }
    return false;
}

/* One that is not warm yet has nothing to say. */
static bool may_poll(const struct weft_instance *t)
{
    return weft_likely(t != weft_engine.connect) || weft_warm_may_poll();
}

/* A look at some costs a system call: they are polled less often, unless it pays. */
static bool is_turn(struct weft_instance *t)
{
    return (t->ops->poll_every <= 1 || t->is_due || t == weft_engine.busy ||
            weft_engine.list_count == 1 || ++t->skipped >= t->ops->poll_every) &&
           may_poll(t);
}

static void poll(struct weft_instance *t, int budget)
{
    t->skipped = 0;
    t->is_due = false;
    if (t->ops->poll(t->tp, budget) > 0) {
        weft_engine.busy = t;
    }
}

void weft_transports_poll(int budget)
{
    for
        EACH_INSTANCE(t)
        {
            if (is_turn(t)) {
                poll(t, budget);
            }
        }
}

/* Those at which a look is cheap until nothing comes; the others once. */
void weft_transports_poll_out(int budget, int turns)
{
    for
        EACH_INSTANCE(t)
        {
            int left = !may_poll(t) ? 0 : t->ops->poll_every <= 1 ? turns : 1;

            while (left-- > 0 && t->ops->poll(t->tp, budget) > 0) {
            }
        }
}

void weft_transports_are_due(void)
{
    for
        EACH_INSTANCE(t)
        {
            t->is_due = true;
        }
}

void weft_transports_say_goodbye(void)
{
    for
        EACH_INSTANCE(t)
        {
            if (t->ops->leave != NULL) {
                t->ops->leave(t->tp);
            }
        }
}

bool weft_transports_need_tick(void)
{
    bool is_needed = false;

    for (const struct weft_peer *peer = weft_engine.retrying; peer != NULL;
         peer = peer->retries->next) {
        const struct weft_path *path = peer->path;

        if (path != NULL && path->packets->needs_retry != NULL) {
            is_needed |= path->packets->needs_retry(path->transport);
        }
    }
    return is_needed || weft_promote_needs_tick();
}

/* ---- first contact ---- */

static enum weft_rc connect_to(struct weft_peer *peer)
{
    enum weft_rc rc = WEFT_ERR_UNSUPPORTED;

    for
        EACH_INSTANCE(t)
        {
            if (!weft_promote_may_begin(peer, t)) {
                continue;
            }
            rc = t->ops->connect(t->tp, peer, peer->process, &peer->path);
            if (t == weft_engine.connect) {
                weft_warm_end(); /* that has loaded what was missing */
            }
            if (rc != WEFT_ERR_UNSUPPORTED) {
                break;
            }
        }
    return rc;
}

enum weft_rc weft_engine_begin(struct weft_peer *peer)
{
    enum weft_rc rc;

    if (peer->process == weft_engine.me) {
        peer->is_self = true;
        return WEFT_OK;
    }
    rc = connect_to(peer);
    if (rc != WEFT_OK) {
        weft_log_error(WEFT_S_UNREACHABLE, weft_process_rank(peer->process));
        return rc == WEFT_ERR_NOMEM ? rc : WEFT_ERR_UNREACHABLE;
    }
    if (peer->path->packets->is_node_local) {
        peer->area = weft_node_find(&weft_engine.node, peer->process);
    } else {
        weft_descriptors_follow();
    }
    weft_promote_begin(peer);
    weft_engine_update_fast(peer);
    return WEFT_OK;
}

enum weft_rc weft_engine_reach(struct weft_peer *peer)
{
    return weft_likely(peer->path != NULL || peer->is_self) ? WEFT_OK
                                                            : weft_engine_begin(peer);
}

/* ---- all with all ---- */

static enum weft_rc wire(uint32_t rank)
{
    const struct timespec pause = {.tv_nsec = 20000};
    struct weft_peer *peer = weft_peer_get(weft_engine_process(rank));
    enum weft_rc rc = peer != NULL ? weft_engine_reach(peer) : WEFT_ERR_NOMEM;
    struct weft_path *path =
        rc == WEFT_OK && !peer->is_self ? weft_promote_memory_path(peer) : NULL;

    while (rc == WEFT_OK && path != NULL && path->packets->establish != NULL) {
        rc = path->packets->establish(path);
        if (rc != WEFT_AGAIN) {
            return rc;
        }
        rc = WEFT_OK;
        path->packets->poll(path->transport, 0);
        nanosleep(&pause, NULL);
    }
    return rc;
}

/*
 * In step k each rank asks the one k further, while the one k before asks it, so that
 * nobody is asked by two at a time. A connection serves both ways: half of the n - 1
 * steps make them all. Then we wait for those who are to ask us, or ask them.
 */
enum weft_rc weft_transports_wire_all(void)
{
    const uint32_t size = (uint32_t)weft_engine.job->who.size;
    const uint32_t me = weft_engine_rank(weft_engine.me);
    enum weft_rc rc = WEFT_OK;

    for (uint32_t k = 1; k <= size / 2 && rc == WEFT_OK; k++) {
        rc = wire((me + k) % size);
    }
    for (uint32_t k = 1; k <= size / 2 && rc == WEFT_OK; k++) {
        rc = wire((me + size - k) % size);
    }
    return rc;
}
