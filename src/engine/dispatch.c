/*
 * dispatch.c - where a packet goes when it has arrived: one comparison for its kind, one
 * for its length, one for its turn, then its handler. Every entry of the table has a
 * handler; that of a kind that nobody has registered refuses the packet.
 *
 * Order. The ordered packets of a peer are numbered, whichever path and transport each
 * takes. One that is early is not put aside here: it stays with its transport, which
 * offers it again. So what a transport reports as taken has been matched, and a path may
 * change between two packets. When the packet before it has come, all transports are
 * polled once more before anybody sleeps (WEFT_REASON_AGAIN).
 */
#include "engine/engine.h"

#include "engine/held.h"
#include "engine/hot.h"
#include "engine/network_thread.h"

#include <assert.h>
#include <stdio.h>

/* Ordered packets of one peer that can be under way at the same time. */
enum { APART_MOST = 1 << 20 };

static void on_unknown(void *owner, struct weft_peer *from,
                       const struct weft_header *header, const void *data, size_t len)
{
    (void)owner;
    (void)data;
    weft_engine_reject(from, header, len, "there is no such kind");
}

static const struct weft_packet_kind unknown = {
    .handler = on_unknown,
    .span = UINT32_MAX,
    .name = "none",
};

/* It has done its work when it has arrived. */
static void on_ask(void *owner, struct weft_peer *from, const struct weft_header *header,
                   const void *data, size_t len)
{
    (void)owner;
    (void)from;
    (void)header;
    (void)data;
    (void)len;
}

static const struct weft_packet_kind ask = {.handler = on_ask, .name = "ask"};

void weft_engine_open(struct weft_job *job)
{
    struct weft_engine *e = &weft_engine;

    *e = (struct weft_engine){
        .up =
            {
                .owner = e,
                .meet = weft_engine_meet,
                .arrived = weft_engine_arrived,
                .arrived_in_pieces = weft_engine_arrived_in_pieces,
                .may_take = weft_engine_may_take,
                .control = weft_engine_control_arrived,
                .lost = weft_engine_lost,
                .wake_at = weft_network_wake_at,
                .told = weft_engine_told,
                .each_second = weft_engine_ask,
                .packet_version = WEFT_WIRE_VERSION,
            },
        .job = job,
        .me = weft_process(job->segment.job, (uint32_t)job->who.rank),
        .failures = weft_segment_failed_count(&job->segment),
    };
    weft_table_open(&e->peers);
    for (int i = 0; i < WEFT_KINDS; i++) {
        e->kinds[i] = unknown;
    }
    weft_engine_kind(WEFT_PKT_ASK, &ask);
}

void weft_engine_kind(uint8_t number, const struct weft_packet_kind *kind)
{
    assert(number < WEFT_KINDS && kind->handler != NULL && kind->name != NULL);
    assert(weft_engine.kinds[number].handler == on_unknown);
    weft_engine.kinds[number] = *kind;
}

static const char *name_of(uint8_t kind)
{
    return kind < WEFT_KINDS ? weft_engine.kinds[kind].name : unknown.name;
}

void weft_engine_reject(const struct weft_peer *from, const struct weft_header *header,
                        size_t len, const char *what)
{
    struct weft_job *job = weft_engine.job;
    const uint32_t rank = weft_engine_rank(from->process);
    char packet[128] = "";
    char cause[WEFT_CAUSE_BYTES];

    if (header != NULL) {
        snprintf(packet, sizeof(packet), " (a packet of kind %u, %s, with %zu bytes)",
                 header->kind, name_of(header->kind), len);
    }
    snprintf(cause, sizeof(cause),
             "what came from rank %u on node %u makes no sense: %s%s; its memory is "
             "damaged, or it runs another version of Weft",
             rank, weft_segment_map(&job->segment)[rank].node, what, packet);
    weft_wireup_abort(job, 1, cause);
}

static inline const struct weft_packet_kind *kind_of(const struct weft_header *header)
{
    return &weft_engine.kinds[header->kind];
}

/* Is there such a kind, and is it as long? */
static inline bool is_like_its_kind(const struct weft_header *header, size_t len)
{
    return (header->kind | header->channel << 8) < WEFT_KINDS &&
           (uint32_t)len - kind_of(header)->least <= kind_of(header)->span;
}

/* What arrived() calls if something is rare has its arguments in its registers; `used`
 * keeps the compiler from dropping those that are not read. */
static _Noreturn __attribute__((noinline, used)) void
reject_unlike(void *owner, const struct weft_peer *from, const struct weft_header *header,
              const void *data, size_t len)
{
    (void)owner;
    (void)data;
    weft_engine_reject(from, header, len,
                       header->channel != 0 ? "there is no such channel"
                       : header->kind >= WEFT_KINDS
                           ? "there is no such kind"
                           : "no packet of its kind has this length");
}

/* ---- order and room ---- */

/*
 * Behind: it has come before, by another path. Ahead: packets that go before it are still
 * on their way by another path, and it is offered again when they have come. No peer has
 * as many packets under way as a number that is neither would need.
 */
static __attribute__((noinline, used)) enum weft_taken
out_of_turn(void *owner, struct weft_peer *from, const struct weft_header *header,
            const void *data, size_t len)
{
    struct weft_engine *e = &weft_engine;
    const uint32_t ahead = header->sequence - from->in_sequence;

    (void)owner;
    (void)data;
    if (0 - ahead <= APART_MOST) {
        e->repeats++;
        return WEFT_TAKEN;
    }
    if (ahead > APART_MOST) {
        weft_engine_reject(from, header, len, "its sequence number is not the next one");
    }
    if (!from->is_early) {
        from->is_early = true;
        e->early_peers++;
        e->order.has_early = true;
    }
    return WEFT_KEEP;
}

/* A packet of an early peer is taken: one that was kept may have its turn. If it has not,
 * offering it sets the mark again. */
static void note_gap(struct weft_peer *from)
{
    struct weft_engine *e = &weft_engine;

    assert(e->early_peers > 0);
    from->is_early = false;
    e->order.has_early = --e->early_peers > 0;
    if (e->count[WEFT_REASON_AGAIN] == 0) {
        weft_reason_add(WEFT_REASON_AGAIN);
    }
}

/* The grant rule. In a queue that many share others may wait behind the packet; what goes
 * to ourselves has no queue. */
static bool is_granted(const struct weft_peer *from, unsigned flags)
{
    return !weft_engine.order.is_full || from->is_self ||
           weft_engine.hooks.wants((flags & WEFT_SHARED_QUEUE) != 0 ? NULL : from);
}

/* The number moves on first: the handler may send to ourselves. */
static inline enum weft_taken take(void *owner, struct weft_peer *from,
                                   const struct weft_header *header, const void *data,
                                   size_t len)
{
    const uint32_t next = from->in_sequence + 1;

    from->in_sequence = next;
    kind_of(header)->handler(owner, from, header, data, len);
    assert(from->is_self || from->in_sequence == next);
    return WEFT_TAKEN;
}

static __attribute__((noinline)) enum weft_taken
take_by_rule(void *owner, struct weft_peer *from, const struct weft_header *header,
             const void *data, size_t len, unsigned flags)
{
    if (!is_granted(from, flags)) {
        return WEFT_KEEP;
    }
    if (from->is_early) {
        note_gap(from);
    }
    return take(owner, from, header, data, len);
}

/* What is rare is called last, so that the common case saves no registers for it. */
enum weft_taken weft_engine_arrived(void *owner, struct weft_peer *from,
                                    const void *bytes, const void *data, size_t len,
                                    unsigned flags)
{
    const struct weft_header *header = bytes; /* cells keep it aligned to 4 */

    weft_assert_locked();
    if (weft_unlikely(!is_like_its_kind(header, len))) {
        reject_unlike(owner, from, header, data, len);
    }
    if (weft_unlikely(header->sequence != from->in_sequence)) {
        return out_of_turn(owner, from, header, data, len);
    }
    if (weft_unlikely(weft_engine.order.is_any != 0)) {
        return take_by_rule(owner, from, header, data, len, flags);
    }
    return take(owner, from, header, data, len);
}

/* Only what comes often and is long: all others are offered once more, and get there what
 * they need. */
enum weft_taken weft_engine_arrived_in_pieces(void *owner, struct weft_peer *from,
                                              const void *bytes,
                                              const struct iovec *pieces, size_t count,
                                              size_t len)
{
    struct weft_engine *e = &weft_engine;
    const struct weft_header *header = bytes;

    (void)owner;
    weft_assert_locked();
    if (header->kind != WEFT_PKT_DATA || !is_like_its_kind(header, len) ||
        header->sequence != from->in_sequence || e->order.is_any != 0 ||
        e->scatter == NULL) {
        return WEFT_KEEP;
    }
    from->in_sequence++;
    if (e->scatter(from, header, pieces, count, len)) {
        return WEFT_TAKEN;
    }
    from->in_sequence--;
    return WEFT_KEEP;
}

bool weft_engine_may_take(void *owner, const struct weft_peer *from, const void *bytes,
                          unsigned flags)
{
    const struct weft_header *header = bytes;

    (void)owner;
    return header->sequence == from->in_sequence && is_granted(from, flags);
}

void weft_engine_control_arrived(void *owner, struct weft_peer *from, const void *bytes,
                                 const void *data, size_t len)
{
    const struct weft_header *header = bytes;

    if (weft_unlikely(!is_like_its_kind(header, len))) {
        reject_unlike(owner, from, header, data, len);
    }
    if (weft_unlikely(kind_of(header)->is_ordered)) {
        weft_engine_reject(from, header, len,
                           "it came before packets that were sent earlier");
    }
    /* Ranks that hang go on asking. */
    weft_engine.moved += header->kind != WEFT_PKT_ASK && header->kind != WEFT_PKT_CALL;
    kind_of(header)->handler(owner, from, header, data, len);
}

void weft_engine_told(void *owner, uint64_t word)
{
    (void)owner;
    weft_engine.moved++;
    weft_engine.told(word);
}
