/*
 * long.c - long messages: requests and their transfers (transfer/transfer.h).
 *
 * A request has a transfer from the moment its message is found to be long until that is
 * over. The transfer tells the request its end.
 */
#include "p2p/internal.h"

#include "base/texts.h"
#include "engine/promote.h"
#include "transfer/accessible.h"
#include "transfer/offer.h"
#include "transfer/offer_net.h"
#include "transfer/rndv.h"
#include "transfer/rndv_net.h"
#include "transfer/sums.h"

/* ---- sends ---- */

static void send_is_done(struct weft_transfer *transfer, enum weft_rc rc)
{
    struct weft_p2p_request *send = transfer->owner;

    send->transfer = NULL;
    weft_p2p_release(send);
    weft_request_complete(&send->base, rc);
}

static const struct weft_transfer_events send_events = {.done = send_is_done};

void weft_p2p_end_send(struct weft_p2p_request *send, enum weft_rc rc)
{
    if (send->transfer != NULL) {
        weft_transfer_end(send->transfer, rc);
        return;
    }
    weft_p2p_release(send);
    weft_request_complete(&send->base, rc);
}

bool weft_p2p_start_long(struct weft_p2p_request *send, bool is_blocking)
{
    struct weft_transfer *transfer =
        weft_transfer_take(send->peer, true, &send->data, &send_events, send);

    if (transfer == NULL) {
        weft_p2p_end_send(send, WEFT_ERR_NOMEM);
        return true;
    }
    send->transfer = transfer;
    transfer->header = send->header;
    weft_promote_long(send->peer, send->data.bytes);
    if (!send->is_announced) {
        return false;
    }
    if (weft_has_checksum()) {
        weft_sums_begin(transfer, is_blocking);
    }
    if (send->data.type != NULL) {
        return false;
    }
    return weft_peer_is_on_net(send->peer) ? weft_offer_net_use(transfer)
                                           : weft_offer_use(transfer, is_blocking);
}

enum weft_rc weft_p2p_try_long(struct weft_p2p_request *send)
{
    struct weft_peer *peer = send->peer;
    const struct weft_header header = send->header; /* it may be over, if to ourselves */
    const enum weft_rc rc = send->is_announced ? weft_rndv_announce(send->transfer)
                                               : weft_rndv_net_send(send->transfer);

    if (rc == WEFT_OK || rc == WEFT_PENDING) {
        weft_p2p_note_sent(peer, &header);
    } else if (rc != WEFT_AGAIN) {
        weft_transfer_end(send->transfer, rc);
    }
    return rc;
}

/* ---- receives ---- */

static void recv_is_done(struct weft_transfer *transfer, enum weft_rc rc)
{
    struct weft_p2p_request *recv = transfer->owner;

    recv->transfer = NULL;
    if (weft_unlikely(rc == WEFT_ERR_PROC_FAILED)) {
        weft_p2p_fail_recv(recv, (int)transfer->header.source);
    } else {
        weft_p2p_finish_long(recv, &transfer->header, transfer->message_length, rc);
    }
}

static void drop_offer(struct weft_p2p_request *recv)
{
    weft_transfer_drop(recv->transfer);
    recv->transfer = NULL;
    recv->posted.offer = NULL;
}

/* From now on it is a transfer like others: no message is matched to it any more. */
static void offer_is_claimed(struct weft_transfer *transfer)
{
    struct weft_p2p_request *recv = transfer->owner;

    weft_match_claimed(&weft_p2p.match, &recv->posted);
    recv->posted.offer = NULL;
    recv->peer->wanted--; /* as a posted receive; the transfer counts by itself */
}

static void end_returned(struct weft_p2p_request *recv)
{
    recv->peer->wanted--;
    drop_offer(recv);
    weft_p2p_complete_cancelled(recv);
}

/* It was recalled because it is cancelled, and no message has taken it. */
static void offer_is_returned(struct weft_transfer *transfer)
{
    struct weft_p2p_request *recv = transfer->owner;

    if (weft_match_cancel(&weft_p2p.match, &recv->posted)) {
        end_returned(recv);
    }
}

static const struct weft_transfer_events recv_events = {
    .done = recv_is_done,
    .claimed = offer_is_claimed,
    .returned = offer_is_returned,
};

/* Its sender, who is not to blame, is told that all was received. */
static void fail_inaccessible(struct weft_p2p_request *recv, struct weft_peer *peer,
                              const struct weft_header *header, const void *data)
{
    weft_p2p_drop(peer, header, data);
    recv->base.source = (int)header->source;
    recv->base.tag = header->tag;
    recv->base.bytes = 0;
    weft_request_complete(&recv->base, WEFT_ERR_ADDRESS);
}

void weft_p2p_start_transfer(struct weft_p2p_request *recv, struct weft_peer *peer,
                             const struct weft_header *header, const void *data,
                             size_t len)
{
    const char *fault;

    if (weft_engine_reach(peer) != WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_REPLY);
    }
    if (weft_unlikely(peer->is_failed)) { /* it announced, and nobody can fetch it now */
        weft_p2p_fail_recv(recv, (int)header->source);
        return;
    }
    fault = weft_rndv_find_fault(peer, header, data, len);
    if (weft_unlikely(fault != NULL)) {
        weft_engine_reject(peer, header, len, fault);
    }
    if (weft_unlikely(weft_peer_is_on_net(peer) &&
                      weft_data_is_unwritable(
                          &recv->data, weft_rndv_length(data, recv->data.bytes)))) {
        fail_inaccessible(recv, peer, header, data);
        return;
    }
    recv->transfer = weft_transfer_take(peer, false, &recv->data, &recv_events, recv);
    if (recv->transfer == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_RECEIVE);
    }
    weft_rndv_begin(recv->transfer, header, data, len);
}

/* A long one is received into no memory: so its sender learns that it is over. */
void weft_p2p_drop(struct weft_peer *from, const struct weft_header *header,
                   const void *data)
{
    struct weft_request *request;
    struct weft_p2p_request *recv;

    if (header->kind == WEFT_PKT_EAGER) {
        return;
    }
    if (weft_p2p_take_request(&request) != WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_DROP);
    }
    recv = (struct weft_p2p_request *)request;
    weft_p2p_fill_recv(recv, NULL, 0);
    recv->posted.source = (int32_t)header->source;
    recv->posted.tag = header->tag;
    weft_p2p_start_transfer(recv, from, header, data, header->length);
    weft_request_detach(request);
}

/* ---- offers ---- */

/* On a node, a blocking receive is there to copy by itself. Over a network, one that may
 * have to end before its sender answers is not offered. */
static bool is_worth_offering(const struct weft_p2p_request *recv, bool is_blocking)
{
    const struct weft_peer *peer = recv->peer;
    const unsigned plane = recv->posted.context & (WEFT_PLANES - 1);

    if (recv->data.bytes < WEFT_OFFER_FROM || !weft_engine.has_progress || peer == NULL ||
        peer->path == NULL || recv->posted.tag == WEFT_ANY_TAG) {
        return false;
    }
    return weft_peer_is_on_net(peer) ? !weft_p2p_is_on_all(plane, recv->posted.source) &&
                                           weft_offer_net_is_worth(peer, recv->data.bytes)
                                     : !is_blocking && weft_peer_can_reach(peer);
}

static bool make_offer(struct weft_transfer *recv)
{
    return weft_peer_is_on_net(recv->peer) ? weft_offer_net_make(recv)
                                           : weft_offer_make(recv);
}

void weft_p2p_offer(struct weft_p2p_request *recv, bool is_blocking)
{
    struct weft_transfer *transfer;

    if (!is_worth_offering(recv, is_blocking) ||
        !weft_match_may_offer(&weft_p2p.match, &recv->posted)) {
        return;
    }
    transfer = weft_transfer_take(recv->peer, false, &recv->data, &recv_events, recv);
    if (transfer == NULL) {
        return;
    }
    transfer->is_offered = true;
    transfer->header = (struct weft_header){
        .kind = WEFT_PKT_ANNOUNCE, /* in its place */
        .context = recv->posted.context,
        .source = (uint32_t)recv->posted.source,
        .tag = recv->posted.tag,
    };
    if (!make_offer(transfer)) {
        weft_transfer_drop(transfer);
        return;
    }
    recv->transfer = transfer;
    recv->posted.offer = transfer->share;
    recv->posted.offer_generation = transfer->share_generation;
}

bool weft_p2p_recall(struct weft_p2p_request *recv)
{
    if (recv->posted.offer == NULL || !weft_peer_is_on_net(recv->peer)) {
        return false;
    }
    weft_offer_net_recall(recv->transfer);
    return true;
}

bool weft_p2p_end_recalled(struct weft_p2p_request *recv)
{
    if (recv->posted.offer == NULL || !recv->transfer->is_recalled) {
        return false;
    }
    end_returned(recv);
    return true;
}

void weft_p2p_withdraw(struct weft_p2p_request *recv)
{
    if (weft_peer_is_on_net(recv->peer)) {
        weft_offer_net_gone(recv->transfer);
    }
    drop_offer(recv);
}
