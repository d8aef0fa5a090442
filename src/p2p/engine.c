/*
 * engine.c - opening and closing, peers, and where a packet goes when it has arrived.
 */
#include "p2p/checksum.h"
#include "p2p/counts.h"
#include "p2p/partitioned.h"
#include "p2p/probe.h"

#include "base/copy.h"
#include "base/log.h"
#include "base/settings.h"
#include "core/grequest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct weft_p2p weft_p2p;

_Static_assert(sizeof(struct weft_grequest) <= sizeof(struct weft_p2p_request),
               "all requests are taken from one pool");
_Static_assert(WEFT_WIRE_VERSION == 5 && WEFT_SEGMENT_LAYOUT == 4,
               "ranks that share a segment exchange packets: where the wire version "
               "changes, the layout's does");

/* The grant rule: a full store takes a message only if a receive or a probe could be
 * waiting for it. */
static bool may_take(void *owner, uint32_t from)
{
    const struct weft_p2p *p = owner;
    const struct weft_match *m = &p->match;
    const struct weft_peer *peer;

    if (m->posted_count[WEFT_MATCH_ANY_SOURCE] + m->posted_count[WEFT_MATCH_ANY_BOTH] >
        0) {
        return true;
    }
    if (p->probes != NULL && weft_probe_wants(from)) {
        return true;
    }
    if (from == WEFT_ANYONE) {
        return m->posted_count[WEFT_MATCH_EXACT] + m->posted_count[WEFT_MATCH_ANY_TAG] >
                   0 ||
               p->incoming > 0;
    }
    peer = weft_peer_find(&p->peers, from);
    return peer != NULL && peer->posted + peer->incoming > 0;
}

enum weft_rc weft_p2p_open(const struct weft_transport_ops *ops,
                           const struct weft_transport_ops *net, bool is_net_only,
                           struct weft_job *job)
{
    struct weft_p2p *p = &weft_p2p;
    enum weft_rc rc;

    memset(p, 0, sizeof(*p));
    p->job = job;
    p->me = (uint32_t)job->who.rank;
    p->has_checksum = weft_setting(WEFT_SET_CHECKSUM) != 0;
    p->has_progress = weft_setting(WEFT_SET_PROGRESS) != 0;
    p->up = (struct weft_upcalls){
        .owner = p,
        .arrived = weft_p2p_arrived,
        .may_take = may_take,
        .done = weft_p2p_done,
        .lost = weft_p2p_lost,
        .packet_version = WEFT_WIRE_VERSION,
    };
    p->deaths = &job->segment.header->deaths;
    p->ops = ops;
    rc = p->ops->open(&p->up, job, &p->transport);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (net != NULL) {
        p->is_net_only = is_net_only;
        rc = weft_p2p_open_network(net);
        if (rc != WEFT_OK) {
            p->ops->close(p->transport);
            return rc;
        }
    }
    weft_match_init(&p->match);
    weft_request_open(sizeof(struct weft_p2p_request));
    weft_probe_open();
    weft_counts_open();
    p->is_open = true;
    if (net != NULL && weft_setting(WEFT_SET_CONNECT) != 0) {
        rc = weft_p2p_wire_all();
        if (rc != WEFT_OK) {
            weft_p2p_close();
        }
    }
    return rc;
}

void weft_p2p_close(void)
{
    struct weft_p2p *p = &weft_p2p;

    weft_p2p_stop_threads();
    weft_counts_close();
    p->is_open = false;
    weft_unexpected_close(&p->unexpected, &p->match);
    weft_match_fini(&p->match);
    weft_probe_close();
    weft_peers_close(&p->peers);
    weft_p2p_free_windows();
    weft_partitioned_close();
    weft_p2p_close_network();
    weft_p2p_free_ops();
    p->ops->close(p->transport);
    weft_request_close();
    p->spare = NULL;
}

/* By shared memory if that leads there, else by the network. */
static enum weft_rc connect_to(uint32_t process, struct weft_endpoint **ep)
{
    const struct weft_p2p *p = &weft_p2p;
    enum weft_rc rc = WEFT_ERR_UNSUPPORTED;

    if (!p->is_net_only) {
        rc = p->ops->connect(p->transport, process, ep);
    }
    if (rc == WEFT_ERR_UNSUPPORTED && p->net_ops != NULL) {
        rc = p->net_ops->connect(p->net, process, ep);
    }
    return rc;
}

enum weft_rc weft_p2p_reach(uint32_t process, struct weft_peer **out)
{
    struct weft_peer *peer = weft_peer_get(&weft_p2p.peers, process);
    enum weft_rc rc;

    if (weft_unlikely(peer == NULL)) {
        return WEFT_ERR_NOMEM;
    }
    if (weft_unlikely(peer->ep == NULL && !peer->is_self)) {
        if (process == weft_p2p.me) {
            peer->is_self = true;
        } else {
            rc = connect_to(process, &peer->ep);
            if (rc != WEFT_OK) {
                weft_log_error("no way leads to rank %u: it does not share this node's "
                               "memory, and no network is open",
                               process);
                return rc == WEFT_ERR_NOMEM ? rc : WEFT_ERR_UNREACHABLE;
            }
            weft_p2p_set_free(peer);
        }
    }
    *out = peer;
    return WEFT_OK;
}

struct weft_p2p_request *weft_p2p_take_spare(void)
{
    struct weft_p2p_request *request = weft_p2p.spare;
    struct weft_request *fresh;

    if (weft_likely(request != NULL)) {
        weft_p2p.spare = request->next;
        atomic_store_explicit(&request->base.is_complete, 0, memory_order_relaxed);
        return request;
    }
    return weft_p2p_take_request(&fresh) == WEFT_OK ? (struct weft_p2p_request *)fresh
                                                    : NULL;
}

void weft_p2p_give_spare(struct weft_p2p_request *request)
{
    request->next = weft_p2p.spare;
    weft_p2p.spare = request;
}

/* The request that an answer names; NULL if there is none, or it is over. */
struct weft_p2p_request *weft_p2p_find(uint64_t request, enum weft_request_kind kind)
{
    struct weft_p2p_request *found = weft_handle_find(WEFT_KIND_REQUEST, request);

    return found != NULL && found->base.kind == (uint8_t)kind &&
                   !weft_request_is_complete(&found->base)
               ? found
               : NULL;
}

static void on_matchable(uint32_t from, const struct weft_header *header,
                         const void *data, size_t len)
{
    struct weft_p2p *p = &weft_p2p;
    struct weft_posted *posted = weft_match_arrive(&p->match, header->context,
                                                   (int32_t)header->source, header->tag);
    struct weft_unexpected *kept;

    if (weft_likely(posted != NULL)) {
        struct weft_p2p_request *recv =
            (struct weft_p2p_request *)((char *)posted -
                                        offsetof(struct weft_p2p_request, posted));

        if (recv->peer != NULL) {
            recv->peer->posted--;
        }
        if (weft_unlikely(posted->offer != NULL)) {
            weft_p2p_withdraw(recv);
        }
        if (weft_likely(header->kind == WEFT_PKT_EAGER)) {
            size_t n = len < recv->capacity ? len : (size_t)recv->capacity;

            if (weft_likely(recv->type == NULL)) {
                weft_copy(recv->buffer, data, n);
            } else {
                weft_p2p_scatter(recv, 0, data, n);
            }
            weft_p2p_finish_recv(recv, header, len);
        } else {
            weft_p2p_start_transfer(recv, weft_peer_get(&p->peers, from), header, data,
                                    len);
        }
        return;
    }
    if (weft_unlikely(p->dead_count > 0) && weft_p2p_is_given_up(header)) {
        weft_p2p_drop(from, header, data);
        return;
    }
    if (weft_unlikely((header->flags & WEFT_PKT_READY) != 0)) {
        weft_log_error(
            "rank %u sent in ready mode with tag %d, but no receive was posted", from,
            header->tag);
    }
    if (weft_unlikely(p->has_checksum) && header->kind == WEFT_PKT_EAGER &&
        !weft_checksum_is_intact(header, data, len)) {
        weft_p2p_reject(from, header, len, "its checksum is wrong");
    }
    if (header->kind == WEFT_PKT_ANNOUNCE && len > header->length) {
        p->bytes_thrown_away += len - header->length;
        len = header->length;
    }
    kept = weft_unexpected_keep(&p->unexpected, &p->match, from, header, data, len);
    if (kept == NULL) {
        weft_wireup_abort(p->job, 1, "no memory for a message that nobody has asked for");
    }
    if (weft_unlikely(p->probes != NULL)) {
        weft_probe_tell(kept);
    }
    p->up.is_full = p->unexpected.is_full;
}

/* ---- the kinds of packets ---- */

/*
 * What a kind may be, and where it goes. A kind without a handler has no sender, so
 * nobody may send it. `ahead` is how many bytes the packet's own checksum covers: of what
 * carries pieces of a message only what precedes them (checksum.h); of an ANNOUNCE
 * header->length.
 */
struct kind {
    const char *name;
    const char *(*on_answer)(uint32_t from, const struct weft_answer *answer);
    uint32_t least; /* bytes behind the header, and how many more there may be */
    uint32_t span;
    uint32_t ahead;
};

enum { ANSWER = sizeof(struct weft_answer), ANNOUNCE = sizeof(struct weft_announce) };

static const struct kind kinds[WEFT_PKT_KINDS] = {
    [WEFT_PKT_EAGER] = {"EAGER", NULL, 0, WEFT_PACKET_MAX, 0},
    [WEFT_PKT_ANNOUNCE] = {"ANNOUNCE", NULL, ANNOUNCE, WEFT_PACKET_MAX - ANNOUNCE, 0},
    [WEFT_PKT_DATA] = {"DATA", NULL, ANSWER, WEFT_PACKET_MAX - ANSWER, ANSWER},
    [WEFT_PKT_PULL] = {"PULL", weft_p2p_on_pull, ANSWER, 0, ANSWER},
    [WEFT_PKT_FETCHED] = {"FETCHED", weft_p2p_on_fetched, ANSWER, 0, ANSWER},
    [WEFT_PKT_OFFER] = {"OFFER", weft_p2p_on_offer, ANSWER, 0, ANSWER},
    [WEFT_PKT_STAGE] = {"STAGE", weft_p2p_on_stage, ANSWER, 0, ANSWER},
    [WEFT_PKT_STAGED] = {"STAGED", weft_p2p_on_staged, ANSWER, 0, ANSWER},
    [WEFT_PKT_PULL_PUT] = {"PULL_PUT", weft_p2p_on_pull_put, ANSWER, 0, ANSWER},
    [WEFT_PKT_PLACED] = {"PLACED", weft_p2p_on_placed, ANSWER, 0, ANSWER},
    [WEFT_PKT_SUMS] = {"SUMS", weft_checksum_on_sums, ANSWER, 0, ANSWER},
};

static const char *name_of(uint8_t kind)
{
    return kind < WEFT_PKT_KINDS && kinds[kind].name != NULL ? kinds[kind].name : "none";
}

void weft_p2p_reject(uint32_t from, const struct weft_header *header, size_t len,
                     const char *what)
{
    struct weft_job *job = weft_p2p.job;
    char packet[128] = "";
    char cause[WEFT_CAUSE_BYTES];

    if (header != NULL) {
        snprintf(packet, sizeof(packet),
                 " (a packet of kind %u, %s, with %zu bytes, of wire version %u; ours is "
                 "%u)",
                 header->kind, name_of(header->kind), len, header->version,
                 (unsigned)WEFT_WIRE_VERSION);
    }
    snprintf(cause, sizeof(cause),
             "what came from rank %u on node %u makes no sense: %s%s; its memory is "
             "damaged, or it runs another version of Weft",
             from, weft_segment_map(&job->segment)[from].node, what, packet);
    weft_wireup_abort(job, 1, cause);
}

/* An ANNOUNCE may bring checksums, and bytes of its message behind them. */
static bool is_announce_sound(const struct weft_header *header, size_t len)
{
    const uint32_t sums = WEFT_SUM_BLOCKS * sizeof(uint32_t);

    return header->length <= len &&
           (header->length == ANNOUNCE ||
            (weft_p2p.has_checksum && header->length == ANNOUNCE + sums));
}

/* NULL, or what no packet of a rank of this job looks like. */
static const char *find_fault(const struct weft_header *header, const void *data,
                              size_t len)
{
    const struct kind *kind;

    if (header->version != WEFT_WIRE_VERSION) {
        return "its version is not ours";
    }
    if (header->kind >= WEFT_PKT_KINDS || kinds[header->kind].name == NULL) {
        return "there is no such kind";
    }
    kind = &kinds[header->kind];
    if (len < kind->least || len - kind->least > kind->span) {
        return "no such packet is as long";
    }
    if (header->kind == WEFT_PKT_ANNOUNCE ? !is_announce_sound(header, len)
                                          : header->length != len) {
        return "its header says another length";
    }
    if (weft_p2p.has_checksum && header->kind != WEFT_PKT_EAGER &&
        !weft_checksum_is_intact(
            header, data, kind->ahead > 0 ? kind->ahead : (size_t)header->length)) {
        return "its checksum is wrong";
    }
    return NULL;
}

/* Everything but a message in one packet. True: it was announced, and is to be matched.
 */
static __attribute__((noinline)) bool arrived_other(uint32_t from,
                                                    const struct weft_header *header,
                                                    const void *data, size_t len)
{
    const char *fault = find_fault(header, data, len);

    if (fault == NULL && header->kind == WEFT_PKT_ANNOUNCE) {
        return true;
    }
    if (fault == NULL && header->kind == WEFT_PKT_DATA) {
        fault = weft_p2p_on_data(from, data, len);
    } else if (fault == NULL) {
        struct weft_answer answer;

        memcpy(&answer, data, sizeof(answer));
        fault = kinds[header->kind].on_answer(from, &answer);
    }
    if (weft_unlikely(fault != NULL)) {
        weft_p2p_reject(from, header, len, fault);
    }
    return false;
}

/* Version and kind in one comparison: a whole message, with the length that it says. */
static inline bool is_eager(const struct weft_header *header, size_t len)
{
    const struct weft_header eager = {.version = WEFT_WIRE_VERSION,
                                      .kind = WEFT_PKT_EAGER};

    return memcmp(header, &eager, 2) == 0 && header->length == len;
}

void weft_p2p_arrived(void *owner, uint32_t from, const void *bytes, const void *data,
                      size_t len)
{
    const struct weft_header *header = bytes; /* cells keep it aligned to 4 */

    (void)owner;
    if (weft_likely(is_eager(header, len)) || arrived_other(from, header, data, len)) {
        on_matchable(from, header, data, len);
    }
}
