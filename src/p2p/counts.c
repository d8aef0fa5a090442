#include "p2p/counts.h"

#include "p2p/internal.h"

static struct weft_counts past; /* of engines that were closed */
static struct weft_watch *watches;

static uint64_t unexpected_bytes(const struct weft_unexpected_store *store)
{
    uint64_t bytes = store->beyond;

    for (int i = 0; i < WEFT_UNEXPECTED_BUFFERS; i++) {
        bytes += store->buffers[i].live;
    }
    return bytes;
}

static void add_peer(struct weft_counts *counts, const struct weft_peer *peer)
{
    counts->messages_sent += peer->next_sequence;
    if (peer->is_self) {
        counts->messages_to_self += peer->next_sequence;
        counts->messages_received += peer->next_sequence;
    }
}

/* Those kept for blocking receives are nobody's. */
static uint64_t requests(const struct weft_p2p *p)
{
    uint64_t count = weft_request_count();

    for (const struct weft_p2p_request *r = p->spare; r != NULL; r = r->next) {
        count--;
    }
    return count;
}

void weft_counts_read(struct weft_counts *counts)
{
    const struct weft_p2p *p = &weft_p2p;
    const struct weft_peer *peer;
    uint32_t at = 0;
    uint64_t received_before;

    *counts = past;
    if (!p->is_open) {
        return;
    }
    while ((peer = weft_table_next(&weft_engine.peers, &at)) != NULL) {
        add_peer(counts, peer);
    }
    received_before = counts->shm.packets_received + counts->net.packets_received;
    for (int i = 0; i < weft_engine.list_count; i++) {
        const struct weft_instance *t = &weft_engine.list[i];
        const uint64_t connections = counts->net.lanes;

        t->ops->count(t->tp, t->ops->is_node_local ? &counts->shm : &counts->net);
        if (t->ops == &weft_dgram_ops) {
            counts->net.lanes = connections; /* its lanes are none */
            weft_datagrams_count(t->tp, &counts->datagrams);
        }
    }
    counts->shm.wakeups += weft_node_wakeups(&weft_engine.node);
    counts->messages_received +=
        counts->shm.packets_received + counts->net.packets_received - received_before;
    counts->messages_sent -= weft_transfers.chunks_sent;
    counts->messages_received -= weft_transfers.chunks_received;
    counts->polls += weft_engine.polls;
    counts->sleeps += weft_engine.sleeps;
    counts->promotions += weft_engine.promotions;
    counts->unexpected_messages = p->match.waiting_count;
    counts->unexpected_bytes = unexpected_bytes(&p->unexpected);
    counts->requests = requests(p);
}

static void look(struct weft_watch *watch)
{
    const uint64_t messages = weft_p2p.match.waiting_count;
    const uint64_t bytes = unexpected_bytes(&weft_p2p.unexpected);

    watch->messages = messages > watch->messages ? messages : watch->messages;
    watch->bytes = bytes > watch->bytes ? bytes : watch->bytes;
}

static enum weft_taken arrived_while_watched(void *owner, struct weft_peer *from,
                                             const void *header, const void *data,
                                             size_t len, unsigned flags)
{
    const enum weft_taken taken =
        weft_engine_arrived(owner, from, header, data, len, flags);

    for (struct weft_watch *w = watches; w != NULL; w = w->next) {
        look(w);
    }
    return taken;
}

static void choose_upcall(void)
{
    weft_engine.up.arrived =
        watches != NULL ? arrived_while_watched : weft_engine_arrived;
}

void weft_counts_watch(struct weft_watch *watch)
{
    *watch = (struct weft_watch){.next = watches};
    look(watch);
    watches = watch;
    choose_upcall();
}

void weft_counts_unwatch(struct weft_watch *watch)
{
    struct weft_watch **at = &watches;

    while (*at != watch) {
        at = &(*at)->next;
    }
    *at = watch->next;
    choose_upcall();
}

void weft_counts_open(void)
{
    choose_upcall();
}

/* With is_open still set. */
void weft_counts_close(void)
{
    struct weft_counts now;

    weft_counts_read(&now);
    now.unexpected_messages = 0;
    now.unexpected_bytes = 0;
    now.requests = 0;
    now.shm.lanes = 0;
    now.net.lanes = 0;
    now.datagrams.peers = 0;
    past = now;
}
