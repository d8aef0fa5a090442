/*
 * offer.c - a posted receive tells its sender where the message is to go.
 *
 *   receiver                                    sender
 *   Irecv, 32 KiB or more: posted, and
 *   OFFER share, context, tag, length      -->  kept with the peer
 *   computes                                    Send: claims the share, opens it, stores
 *   Wait: sees all counted                      sees all counted
 *
 * Such a message takes no part in the queues. That it does not overtake another is seen
 * to on both sides: a receive is offered only if no older one could take its message, or
 * they were offered to the same sender (weft_match_may_offer); and a sender uses an offer
 * only if nothing that it has queued to this peer and that may not have been taken yet
 * has the same context and tag. What was taken since has been matched, and if that took
 * the offered receive, the share cannot be claimed any more.
 *
 * A receiver that finds the queue full offers nothing, nor what comes after this receive
 * and may match the same. A sender never forgets an offer that holds, or it would take a
 * younger one for its message: of a share it keeps the last generation only, so that it
 * has at most one offer for each of the peer's shares.
 */
#include "p2p/internal.h"

#include "p2p/checksum.h"

#include <stdlib.h>

enum { OFFER_FROM = 32 * 1024 };

/* ---- the receiver ---- */

static bool is_worth_it(const struct weft_p2p_request *recv)
{
    const struct weft_peer *peer = recv->peer;

    return recv->data.bytes >= OFFER_FROM && weft_engine.has_progress && peer != NULL &&
           peer->ep != NULL && recv->posted.tag != WEFT_ANY_TAG &&
           peer->ep->ops->can_reach(peer->ep);
}

void weft_p2p_offer(struct weft_p2p_request *recv)
{
    struct weft_p2p *p = &weft_p2p;
    struct weft_header header = {
        .kind = WEFT_PKT_OFFER,
        .length = sizeof(struct weft_answer),
    };
    struct weft_answer offer;
    struct weft_endpoint *ep;

    if (!is_worth_it(recv) || !weft_match_may_offer(&p->match, &recv->posted)) {
        return;
    }
    ep = recv->peer->ep;
    recv->share = weft_share_take(&weft_engine.node, &recv->share_number);
    if (recv->share == NULL) {
        return;
    }
    recv->share_generation = weft_share_offer(
        recv->share, (uint64_t)(uintptr_t)recv->data.buffer, recv->data.bytes);
    offer = (struct weft_answer){
        .request = (uint64_t)(uintptr_t)recv->base.handle,
        .other = (uint64_t)recv->share_generation << 32 | recv->share_number,
        .offset = (uint64_t)recv->posted.context << 32 | (uint32_t)recv->posted.tag,
        .length = recv->data.bytes,
    };
    if (weft_unlikely(p->has_checksum)) {
        weft_checksum_seal(&header, &offer, sizeof(offer));
    }
    if (ep->ops->send(ep, &header, &offer, sizeof(offer),
                      WEFT_SEND_CONTROL | WEFT_SEND_QUIET) != WEFT_OK) {
        weft_share_give(&weft_engine.node, recv->share_number);
        return;
    }
    recv->from = recv->peer; /* its DATA may come before we see that it claimed */
    recv->is_share_ours = true;
    recv->is_share_common = true;
    recv->awaits_sums = p->has_checksum;
    recv->is_summed = false;
    recv->posted.offer = recv->share;
    recv->posted.offer_generation = recv->share_generation;
    weft_p2p_add_transfer(recv);
}

/* Something else took the receive, or it was cancelled: the share is ours again. */
void weft_p2p_withdraw(struct weft_p2p_request *recv)
{
    weft_p2p_remove_transfer(recv);
    weft_share_give(&weft_engine.node, recv->share_number);
    recv->posted.offer = NULL;
}

/* A sender has claimed it: from now on it is a transfer like others. */
void weft_p2p_offer_was_claimed(struct weft_p2p_request *recv)
{
    weft_match_claimed(&weft_p2p.match, &recv->posted);
    recv->posted.offer = NULL;
    weft_p2p.incoming++;
    recv->is_pulled = false;
    recv->message_length = weft_share_field(&recv->share->note);
    recv->header = (struct weft_header){
        .kind = WEFT_PKT_ANNOUNCE, /* in its place */
        .source = (uint32_t)recv->posted.source,
        .tag = recv->posted.tag,
        .context = recv->posted.context,
    };
}

/* ---- the sender ---- */

/* Is this very offer there already? Then it has come twice, and keeps its place. */
static bool is_known(const struct weft_peer *peer, uint64_t share)
{
    const struct weft_offer *offer = peer->p2p->offers;

    while (offer != NULL && offer->share != share) {
        offer = offer->next;
    }
    return offer != NULL;
}

/* The one that the peer took back before it used the share again, or a new one. */
static struct weft_offer *take_place(struct weft_peer *peer, uint64_t share)
{
    for (struct weft_offer **at = &peer->p2p->offers; *at != NULL; at = &(*at)->next) {
        struct weft_offer *offer = *at;

        if ((uint32_t)offer->share == (uint32_t)share) {
            *at = offer->next;
            return offer;
        }
    }
    return malloc(sizeof(struct weft_offer));
}

const char *weft_p2p_on_offer(struct weft_peer *peer, const struct weft_answer *answer)
{
    struct weft_offer *offer;
    struct weft_offer **end;

    if (weft_p2p_reach_peer(peer) != WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, "no memory for what a peer offers");
    }
    if (peer->area == NULL ||
        weft_share_of(peer->area, (uint32_t)answer->other) == NULL) {
        return "it offers a place that we do not see";
    }
    if (is_known(peer, answer->other)) {
        return NULL;
    }
    offer = take_place(peer, answer->other);
    if (offer == NULL) {
        weft_wireup_abort(weft_engine.job, 1, "no memory for what a peer offers");
    }
    *offer = (struct weft_offer){
        .request = answer->request,
        .share = answer->other,
        .context = (uint32_t)(answer->offset >> 32),
        .tag = (int32_t)(uint32_t)answer->offset,
        .length = answer->length,
    };
    for (end = &peer->p2p->offers; *end != NULL; end = &(*end)->next) {
    }
    *end = offer;
    return NULL;
}

static bool is_same(const void *bytes, const void *argument)
{
    const struct weft_header *queued = bytes;
    const struct weft_header *wanted = argument;

    return queued->context == wanted->context && queued->tag == wanted->tag &&
           (queued->kind == WEFT_PKT_EAGER || queued->kind == WEFT_PKT_ANNOUNCE);
}

/* The oldest offer for such a message, taken from the list. */
static bool take_offer(struct weft_peer *peer, const struct weft_header *header,
                       struct weft_offer *out)
{
    for (struct weft_offer **at = &peer->p2p->offers; *at != NULL; at = &(*at)->next) {
        struct weft_offer *offer = *at;

        if (offer->context == header->context && offer->tag == header->tag) {
            *out = *offer;
            *at = offer->next;
            free(offer);
            return true;
        }
    }
    return false;
}

bool weft_p2p_send_by_offer(struct weft_p2p_request *send, bool is_blocking)
{
    struct weft_peer *peer = send->peer;
    struct weft_endpoint *ep = peer->ep;
    struct weft_offer offer;

    while (weft_unlikely(peer->p2p->offers != NULL) &&
           take_offer(peer, &send->header, &offer)) {
        struct weft_share_terms terms;

        /* Who goes on at once lets a receiver that is there copy: it is told as usual. */
        if (weft_peer_retries(peer, WEFT_RETRY_ORDERED) ||
            (!is_blocking && weft_node_is_inside(peer->area)) ||
            !ep->ops->can_reach(ep) ||
            ep->ops->may_be_queued(ep, is_same, &send->header)) {
            return false;
        }
        send->share = weft_share_of(peer->area, (uint32_t)offer.share);
        send->share_generation = (uint32_t)(offer.share >> 32);
        if (!weft_share_claim(send->share, send->share_generation)) {
            continue; /* another message took it, or it was cancelled */
        }
        terms = (struct weft_share_terms){
            .source = (uint64_t)(uintptr_t)send->data.buffer,
            .target = weft_share_field(&send->share->target),
            .length = send->data.bytes < offer.length ? send->data.bytes : offer.length,
            .note = send->data.bytes,
        };
        terms.piece = weft_p2p_choose_piece(terms.length);
        send->is_share_ours = false;
        send->other = offer.request;
        weft_p2p_add_transfer(send);
        weft_share_open(send->share, send->share_generation, &terms);
        if (terms.length == 0) { /* nobody will count a last piece */
            weft_node_wake(peer->area, WEFT_WAKE_ANYTHING);
        }
        if (weft_unlikely(weft_p2p.has_checksum) && !send->owes_sums) {
            weft_checksum_give(send, offer.request);
        }
        weft_p2p_add_work(send);
        return true;
    }
    return false;
}
