/*
 * arrive.c - what p2p/ does with packets: messages are matched or kept, answers go to the
 * file of the protocol that asked.
 *
 * A handler is given a packet whose kind and length can be right (engine/dispatch.c). It
 * compares what the header says of the length and, where WEFT_CHECKSUM is set, the
 * checksum: of what carries chunks of a message only what precedes them (engine/seal.h).
 */
#include "p2p/internal.h"

#include "base/log.h"
#include "base/texts.h"
#include "engine/seal.h"
#include "p2p/probe.h"
#include "transfer/late_sums.h"

#include <stdio.h>
#include "transfer/offer.h"
#include "transfer/rndv.h"
#include "transfer/rndv_net.h"
#include "transfer/staged.h"

#include <string.h>

/* What is rare about a message without a receive; false: nobody wants it any more. */
static __attribute__((noinline)) bool is_to_be_kept(struct weft_peer *from,
                                                    const struct weft_header *header,
                                                    const void *data, size_t len)
{
    if (weft_p2p.drops && weft_p2p_is_dropped(header)) {
        weft_p2p_drop(from, header, data);
        return false;
    }
    if ((header->flags & WEFT_PKT_READY) != 0) {
        weft_log_error(WEFT_S_READY, weft_process_rank(from->process), header->tag);
    }
    if (weft_p2p.has_checksum && header->kind == WEFT_PKT_EAGER &&
        !weft_seal_is_intact(header, data, len)) {
        weft_engine_reject(from, header, len, "its checksum is wrong");
    }
    weft_p2p.bytes_thrown_away += len - header->length;
    return true;
}

static _Noreturn void abort_without_memory(const struct weft_header *header)
{
    char text[128];

    snprintf(
        text, sizeof(text),
        "out of memory: cannot store an unexpected message of %u bytes from rank %u of "
        "its communicator, tag %d",
        header->length, header->source, header->tag);
    weft_wireup_abort(weft_engine.job, 1, text);
}

/* No receive is posted for it: it is kept until one is, without the bytes that came along
 * with an announcement. */
static void keep(struct weft_peer *from, const struct weft_header *header,
                 const void *data, size_t len)
{
    struct weft_p2p *p = &weft_p2p;
    struct weft_unexpected *kept;

    if (weft_unlikely(p->drops | p->has_checksum |
                      ((header->flags & WEFT_PKT_READY) != 0) |
                      (len != header->length)) &&
        !is_to_be_kept(from, header, data, len)) {
        return;
    }
    kept = weft_unexpected_keep(&p->unexpected, &p->match, from, header, data,
                                header->length);
    if (kept == NULL) {
        abort_without_memory(header);
    }
    if (weft_unlikely(p->probes != NULL)) {
        weft_probe_notify(kept);
    }
    weft_engine.order.is_full = p->unexpected.is_full;
}

/* ---- the kinds of packets ---- */

enum {
    DATA = sizeof(struct weft_pkt_data),
    ANNOUNCE = sizeof(struct weft_pkt_announce),
    STORED = sizeof(struct weft_pkt_stored),
    SUMS = WEFT_SUM_BLOCKS * sizeof(uint32_t),
};

static const char other_length[] = "its header says another length";

/* NULL, or that the first `len` bytes behind the header are not those that were sent. */
static const char *check(const struct weft_header *header, const void *data, size_t len)
{
    return weft_unlikely(weft_p2p.has_checksum) && !weft_seal_is_intact(header, data, len)
               ? "its checksum is wrong"
               : NULL;
}

/* An ANNOUNCE may bring checksums, and bytes of its message behind them. */
static const char *check_announce(const struct weft_header *header, const void *data,
                                  size_t len)
{
    return header->length <= len &&
                   (header->length == ANNOUNCE ||
                    (weft_p2p.has_checksum && header->length == ANNOUNCE + SUMS))
               ? check(header, data, header->length)
               : other_length;
}

static struct weft_p2p_request *request_of(struct weft_posted *posted)
{
    return (struct weft_p2p_request *)((char *)posted -
                                       offsetof(struct weft_p2p_request, posted));
}

/* A message, or an announcement of one: to its receive, or to those that have none. One
 * handler, so that the common case is one function. */
static void on_matchable(void *owner, struct weft_peer *from,
                         const struct weft_header *header, const void *data, size_t len)
{
    const char *fault = weft_likely(header->kind == WEFT_PKT_EAGER)
                            ? (header->length == len ? NULL : other_length)
                            : check_announce(header, data, len);
    struct weft_posted *posted;
    struct weft_p2p_request *recv;

    (void)owner;
    if (weft_unlikely(fault != NULL)) {
        weft_engine_reject(from, header, len, fault);
    }
    if (!weft_match_has_posted(&weft_p2p.match) ||
        (posted = weft_match_arrive(&weft_p2p.match, header->context,
                                    (int32_t)header->source, header->tag)) == NULL) {
        keep(from, header, data, len);
        return;
    }
    recv = request_of(posted);
    if (recv->peer != NULL) {
        recv->peer->wanted--;
    }
    if (weft_unlikely(posted->offer != NULL)) {
        weft_p2p_withdraw(recv);
    }
    weft_p2p_deliver(recv, from, header, data, len);
}

/* A STORED brings checksums where they are set. */
static const char *check_stored(const struct weft_header *header, const void *data,
                                size_t len)
{
    const size_t sums = weft_p2p.has_checksum ? SUMS : 0;

    return header->length == len && len == STORED + sums ? check(header, data, len)
                                                         : other_length;
}

/* Takes the receive that a STORED names; false: the message belongs to another one. Its
 * sender would have used an older one that was recalled, had it not returned it; those
 * are cancelled, as RETURNED, which takes another way, will say. */
static bool match_stored(struct weft_p2p_request *recv, const struct weft_header *header)
{
    struct weft_posted *posted;

    do {
        posted = weft_match_arrive(&weft_p2p.match, header->context,
                                   (int32_t)header->source, header->tag);
    } while (posted != NULL && posted != &recv->posted &&
             weft_p2p_end_recalled(request_of(posted)));
    return posted == &recv->posted;
}

/* A message is where its receive was offered, which is matched as for any other. */
static void on_stored(void *owner, struct weft_peer *from,
                      const struct weft_header *header, const void *data, size_t len)
{
    const char *fault = check_stored(header, data, len);
    struct weft_transfer *transfer = NULL;
    struct weft_p2p_request *recv;

    (void)owner;
    fault = fault != NULL ? fault : weft_offer_net_find(from, data, &transfer);
    if (fault != NULL) {
        weft_engine_reject(from, header, len, fault);
    }
    recv = transfer->owner;
    if (!match_stored(recv, header)) {
        weft_engine_reject(from, header, len,
                           "it stored a message where another one belongs");
    }
    recv->peer->wanted--;
    recv->posted.offer = NULL;
    weft_offer_net_stored(transfer, header, data);
}

static void on_data(void *owner, struct weft_peer *from, const struct weft_header *header,
                    const void *data, size_t len)
{
    const char *fault = header->length == len ? check(header, data, DATA) : other_length;

    (void)owner;
    fault = fault != NULL ? fault : weft_rndv_on_data(from, data, len);
    if (fault != NULL) {
        weft_engine_reject(from, header, len, fault);
    }
}

bool weft_p2p_scatter(struct weft_peer *from, const struct weft_header *header,
                      const struct iovec *pieces, size_t count, size_t len)
{
    return header->length == len && !weft_has_checksum() &&
           weft_rndv_on_pieces(from, pieces, count, len);
}

typedef const char *control_handler(struct weft_peer *from,
                                    const union weft_pkt_control *packet);

/* A peer that offers may be one that we have never sent to. */
static void reach_offering(struct weft_peer *from)
{
    if (weft_engine_reach(from) != WEFT_OK || weft_transfer_meet(from) != WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_OFFER);
    }
}

static const char *on_offer(struct weft_peer *from, const union weft_pkt_control *packet)
{
    reach_offering(from);
    return weft_offer_on_offer(from, packet);
}

static const char *on_key_offer(struct weft_peer *from,
                                const union weft_pkt_control *packet)
{
    reach_offering(from);
    return weft_offer_net_on_offer(from, packet);
}

static control_handler *const on_kind[WEFT_PKT_KINDS] = {
    [WEFT_PKT_PULL] = weft_rndv_on_pull,
    [WEFT_PKT_FETCHED] = weft_rndv_on_fetched,
    [WEFT_PKT_OFFER] = on_offer,
    [WEFT_PKT_STAGE] = weft_staged_on_stage,
    [WEFT_PKT_STAGED] = weft_staged_on_staged,
    [WEFT_PKT_PULL_PUT] = weft_rndv_net_on_pull_put,
    [WEFT_PKT_PLACED] = weft_rndv_net_on_placed,
    [WEFT_PKT_SUMS] = weft_sums_on_sums,
    [WEFT_PKT_KEY_OFFER] = on_key_offer,
    [WEFT_PKT_GONE] = weft_offer_net_on_gone,
    [WEFT_PKT_RECALL] = weft_offer_net_on_recall,
    [WEFT_PKT_RETURNED] = weft_offer_net_on_returned,
};

static void on_control(void *owner, struct weft_peer *from,
                       const struct weft_header *header, const void *data, size_t len)
{
    const char *fault = header->length == len ? check(header, data, len) : other_length;
    union weft_pkt_control packet;

    (void)owner;
    if (fault == NULL) {
        memcpy(&packet, data, len); /* as long as its kind */
        fault = on_kind[header->kind](from, &packet);
    }
    if (fault != NULL) {
        weft_engine_reject(from, header, len, fault);
    }
}

/* A control packet is exactly as long as its struct. */
#define CONTROL(type, name)                                                              \
    {                                                                                    \
        on_control, sizeof(struct type), 0, name, false                                  \
    }

/* A kind without an entry has no sender, so nobody may send it. */
static const struct weft_packet_kind kinds[WEFT_PKT_KINDS] = {
    [WEFT_PKT_EAGER] = {on_matchable, 0, WEFT_PACKET_MAX, "EAGER", true},
    [WEFT_PKT_ANNOUNCE] = {on_matchable, ANNOUNCE, WEFT_PACKET_MAX - ANNOUNCE, "ANNOUNCE",
                           true},
    [WEFT_PKT_DATA] = {on_data, DATA, WEFT_PACKET_MAX - DATA, "DATA", true},
    [WEFT_PKT_PULL] = CONTROL(weft_pkt_pull, "PULL"),
    [WEFT_PKT_FETCHED] = CONTROL(weft_pkt_fetched, "FETCHED"),
    [WEFT_PKT_OFFER] = CONTROL(weft_pkt_offer, "OFFER"),
    [WEFT_PKT_STAGE] = CONTROL(weft_pkt_stage, "STAGE"),
    [WEFT_PKT_STAGED] = CONTROL(weft_pkt_staged, "STAGED"),
    [WEFT_PKT_PULL_PUT] = CONTROL(weft_pkt_pull_put, "PULL_PUT"),
    [WEFT_PKT_PLACED] = CONTROL(weft_pkt_placed, "PLACED"),
    [WEFT_PKT_SUMS] = CONTROL(weft_pkt_sums, "SUMS"),
    [WEFT_PKT_KEY_OFFER] = CONTROL(weft_pkt_key_offer, "KEY_OFFER"),
    [WEFT_PKT_STORED] = {on_stored, STORED, SUMS, "STORED", true},
    [WEFT_PKT_GONE] = CONTROL(weft_pkt_gone, "GONE"),
    [WEFT_PKT_RECALL] = CONTROL(weft_pkt_recall, "RECALL"),
    [WEFT_PKT_RETURNED] = CONTROL(weft_pkt_recall, "RETURNED"),
};

void weft_p2p_register_kinds(void)
{
    for (uint8_t i = 0; i < WEFT_PKT_KINDS; i++) {
        if (kinds[i].handler != NULL) {
            weft_engine_kind(i, &kinds[i]);
        }
    }
}
