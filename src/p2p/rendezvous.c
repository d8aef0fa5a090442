/*
 * rendezvous.c - long messages. The two halves of a transfer are two small state
 * machines, which meet in a share (copy_share.h).
 *
 *   sender                                     receiver
 *   ANNOUNCE length, address, request,    -->  matched, now or later
 *            share                             can the sender's memory be reached?
 *                                         yes: opens the share, claims piece after piece
 *   sees it open: claims pieces too,           and fetches each
 *   if it is inside MPI, and stores them
 *                                         one buffer is not contiguous: staged.c
 *                                          no: claims all and asks for the bytes
 *   PULL offset, length                   <--
 *   DATA piece, DATA piece, ...           -->  copies each to its place
 *   sees all counted                           sees all counted
 *
 * A sender without a share to give learns the end from FETCHED. Pieces are moved outside
 * the lock, by threads that wait in MPI (engine/work.h). A piece that cannot be moved
 * is asked for, or sent, as DATA: each transfer falls back by itself.
 */
#include "p2p/internal.h"

#include "p2p/checksum.h"
#include "engine/lock.h"
#include "transfer/accessible.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHARE_FROM = 32 * 1024, /* copying together pays from here on */
    LARGEST_PIECE = 128 * 1024,
    DATA_MAX = WEFT_EAGER_MAX - sizeof(struct weft_answer),
};

/* ---- transfers ---- */

void weft_p2p_add_transfer(struct weft_p2p_request *request)
{
    request->next_transfer = weft_p2p.transfers;
    weft_p2p.transfers = request;
    weft_engine.watched++;
}

bool weft_p2p_remove_transfer(const struct weft_p2p_request *request)
{
    for (struct weft_p2p_request **at = &weft_p2p.transfers; *at != NULL;
         at = &(*at)->next_transfer) {
        if (*at == request) {
            *at = request->next_transfer;
            weft_engine.watched--;
            return true;
        }
    }
    return false;
}

static bool is_send(const struct weft_p2p_request *request)
{
    return request->base.kind == WEFT_REQUEST_SEND;
}

static struct weft_peer *other_side(const struct weft_p2p_request *request)
{
    return is_send(request) ? request->peer : request->from;
}

/* Bytes go by packets though the peer's memory can be reached, which happens if they
 * could not be moved: ends the job if our own memory is the cause. */
static void end_if_inaccessible(const struct weft_p2p_request *request, uint64_t offset,
                                uint64_t length)
{
    const struct weft_peer *peer = other_side(request);

    if (weft_p2p_is_near(peer) && peer->ep->ops->can_reach(peer->ep)) {
        weft_data_end_if_inaccessible(weft_engine.job, &request->data, offset, length,
                                      is_send(request) ? "send" : "receive",
                                      request->header.tag);
    }
}

/* Counts a piece; who counts the last one tells a peer that sleeps until then. */
static void count_piece(struct weft_copy_share *share, const struct weft_peer *peer,
                        uint64_t bytes)
{
    if (weft_share_count(share, bytes) && peer->area != NULL) {
        weft_node_wake(peer->area, WEFT_WAKE_ANYTHING);
    }
}

void weft_p2p_count(struct weft_p2p_request *recv, uint64_t bytes)
{
    count_piece(recv->share, recv->from, bytes);
}

void weft_p2p_end_transfer(struct weft_p2p_request *request, enum weft_rc rc)
{
    if (request->work.state == WEFT_WORK_WAITING) {
        weft_work_remove(&request->work);
    }
    if (request->is_share_ours) {
        weft_share_give(&weft_engine.node, request->share_number);
    }
    if (is_send(request)) {
        weft_p2p_forget_type(request);
        weft_request_complete(&request->base, rc);
        return;
    }
    if (weft_unlikely(request->staging != NULL)) {
        weft_p2p_free_staging(request);
    }
    if (weft_unlikely(request->exposed != NULL)) {
        weft_p2p_conceal(request);
    }
    request->from->wanted--;
    weft_p2p.incoming--;
    if (request->is_pulled) {
        weft_reason_drop(WEFT_REASON_STEPS);
    }
    if (weft_unlikely(rc != WEFT_OK)) {
        weft_p2p_fail_recv(request, (int)request->header.source);
        return;
    }
    if (!request->is_share_common && !request->is_told) {
        const struct weft_answer answer = {.request = request->other};

        weft_engine_control(request->from, WEFT_PKT_FETCHED, &answer);
    }
    weft_p2p_finish_recv(request, &request->header, request->message_length);
}

/* Has a receive all bytes, and nothing to do until their checksums come? */
static bool waits_for_sums(const struct weft_p2p_request *request)
{
    return weft_unlikely(weft_p2p.has_checksum) && !is_send(request) &&
           request->is_summed && request->awaits_sums;
}

/* Does a transfer, all of whose bytes are there, lack no checksums? */
static bool is_summed(struct weft_p2p_request *request)
{
    if (weft_likely(!weft_p2p.has_checksum)) {
        return true;
    }
    return is_send(request) ? !request->owes_sums : weft_checksum_is_ready(request);
}

static bool owes_sums(const struct weft_p2p_request *request)
{
    return weft_unlikely(weft_p2p.has_checksum) && is_send(request) && request->owes_sums;
}

/* A sender that owes checksums is to make them, once it knows for which receive. */
static bool has_work(const struct weft_p2p_request *request)
{
    return weft_share_has_pieces(request->share, request->share_generation) ||
           (owes_sums(request) &&
            weft_share_is_open(request->share, request->share_generation));
}

void weft_p2p_look_at_transfers(void)
{
    struct weft_p2p_request **at = &weft_p2p.transfers;

    while (*at != NULL) {
        struct weft_p2p_request *request = *at;

        if (weft_unlikely(!is_send(request) && request->posted.offer != NULL)) {
            if (!weft_share_is_open(request->share, request->share_generation)) {
                at = &request->next_transfer;
                continue;
            }
            weft_p2p_offer_was_claimed(request);
        }
        if (request->work.state != WEFT_WORK_RUNNING &&
            weft_share_is_over(request->share, request->share_generation) &&
            is_summed(request)) {
            *at = request->next_transfer;
            weft_engine.watched--;
            weft_p2p_end_transfer(request, WEFT_OK);
            continue;
        }
        if (request->work.state == WEFT_WORK_NONE && has_work(request)) {
            weft_p2p_add_work(request);
        }
        at = &request->next_transfer;
    }
}

bool weft_p2p_transfers_have_news(void)
{
    for (struct weft_p2p_request *r = weft_p2p.transfers; r != NULL;
         r = r->next_transfer) {
        if (r->work.state != WEFT_WORK_RUNNING &&
            (has_work(r) ||
             (weft_share_is_over(r->share, r->share_generation) && !waits_for_sums(r)))) {
            return true;
        }
    }
    return false;
}

/* ---- the sender's half ---- */

/* A share for an announcement, where the two could copy for each other. */
static uint64_t take_share(struct weft_p2p_request *send)
{
    struct weft_endpoint *ep = send->peer->ep;

    send->is_share_ours = false;
    if (ep == NULL || send->data.bytes == 0 ||
        (send->data.type != NULL && send->data.stage == 0) || !ep->ops->can_reach(ep)) {
        return WEFT_NO_SHARE;
    }
    send->share = weft_share_take(&weft_engine.node, &send->share_number);
    if (send->share == NULL) {
        return WEFT_NO_SHARE;
    }
    send->is_share_ours = true;
    send->share_generation =
        weft_share_announce(send->share, (uint64_t)(uintptr_t)send->data.buffer);
    return (uint64_t)send->share_generation << 32 | send->share_number;
}

/* Puts the checksums behind an announcement, unless they are to follow; their bytes. */
static size_t add_sums(struct weft_p2p_request *send, uint32_t sums[WEFT_SUM_BLOCKS])
{
    if (send->owes_sums && send->is_share_ours) {
        return 0;
    }
    if (send->owes_sums) {
        weft_checksum_set(send);
        send->owes_sums = false;
    }
    memcpy(sums, send->sums, sizeof(send->sums));
    return sizeof(send->sums);
}

enum weft_rc weft_p2p_announce(struct weft_p2p_request *send)
{
    struct {
        struct weft_announce announce;
        uint32_t sums[WEFT_SUM_BLOCKS];
    } packet;
    size_t len = sizeof(packet.announce);
    enum weft_rc rc;

    packet.announce = (struct weft_announce){
        .length = send->data.bytes,
        .address = send->data.stage != 0     ? send->data.stage
                   : send->data.type == NULL ? (uint64_t)(uintptr_t)send->data.buffer
                                             : 0,
        .request = (uint64_t)(uintptr_t)send->base.handle,
        .share = take_share(send),
    };
    if (weft_unlikely(weft_p2p.has_checksum)) {
        len += add_sums(send, packet.sums);
    }
    send->awaits_answer = true; /* before it can be answered, by ourselves too */
    if (send->is_share_ours) {
        weft_p2p_add_transfer(send);
    }
    if (weft_p2p_is_far(send->peer)) {
        weft_p2p_expose_far(send, &packet.announce);
        rc = weft_p2p_announce_far(send, &packet, len);
        send->awaits_answer = rc == WEFT_OK;
        return rc;
    }
    rc = weft_engine_send(send->peer, &send->header, &packet, len, WEFT_SEND_URGENT);
    if (rc != WEFT_OK) {
        send->awaits_answer = false;
    }
    if (rc != WEFT_OK && send->is_share_ours) {
        weft_p2p_remove_transfer(send);
        weft_share_give(&weft_engine.node, send->share_number);
    }
    return rc;
}

/* Copies pieces into packets while there is room; true if none is left. */
static bool push_pieces(struct weft_peer *peer, struct weft_push *push)
{
    while (push->offset < push->end) {
        uint64_t n = push->end - push->offset;
        struct weft_header header = {.kind = WEFT_PKT_DATA};
        struct {
            struct weft_answer answer;
            uint8_t bytes[DATA_MAX];
        } packet;

        n = n > DATA_MAX ? DATA_MAX : n;
        packet.answer = (struct weft_answer){
            .request = push->request,
            .offset = push->offset,
            .length = n,
        };
        weft_data_gather(&push->send->data, push->offset, packet.bytes, (size_t)n);
        if (weft_engine_send(peer, &header, &packet, sizeof(packet.answer) + (size_t)n,
                             0) != WEFT_OK) {
            return false;
        }
        weft_p2p.pieces_sent++;
        push->offset += n;
    }
    return true;
}

/* Does a network move it, which needs no packets of ours for puts and gets? */
static bool is_far(const struct weft_peer *peer, const struct weft_push *push)
{
    return push->is_put || push->is_get || (peer->ep != NULL && peer->ep->zcopy_max > 0);
}

enum weft_rc weft_p2p_push_again(struct weft_retry *retry)
{
    struct weft_push *push = (struct weft_push *)retry;
    struct weft_peer *peer = push->peer;

    if (is_far(peer, push) ? !weft_p2p_push_far(peer, push) : !push_pieces(peer, push)) {
        return WEFT_AGAIN;
    }
    free(push);
    return WEFT_OK;
}

void weft_p2p_push_failed(struct weft_retry *retry)
{
    free(retry);
}

static struct weft_push *start_push(struct weft_peer *peer,
                                    const struct weft_p2p_request *send, uint64_t offset,
                                    uint64_t length, uint64_t request)
{
    struct weft_push *push;

    if (weft_unlikely(peer->is_failed)) {
        return NULL; /* and the request is about to be completed (failed.c) */
    }
    push = malloc(sizeof(*push));
    if (push == NULL) {
        weft_wireup_abort(weft_engine.job, 1,
                          "no memory to send a long message in pieces");
    }
    *push = (struct weft_push){
        .retry = {.again = weft_p2p_push_again, .failed = weft_p2p_push_failed},
        .peer = peer,
        .send = send,
        .offset = offset,
        .end = offset + length,
        .request = request,
        .way = send->way,
    };
    weft_engine_retry_later(peer, WEFT_RETRY_BULK, &push->retry);
    return push;
}

const char *weft_p2p_find_announced(struct weft_peer *from, uint64_t name,
                                    struct weft_p2p_request **out)
{
    const struct weft_p2p_request *send = *out = weft_p2p_find(name, WEFT_REQUEST_SEND);

    return send != NULL && (!send->awaits_answer || send->peer != from)
               ? "it answers a message that was not announced to it"
               : NULL;
}

static bool is_part(const struct weft_answer *part, uint64_t of)
{
    return part->offset <= of && part->length <= of - part->offset;
}

/*
 * A receiver asks for the bytes of a message from the front to the back and for none
 * twice. What lies before the end of what was asked for last is a packet that has come
 * twice.
 */
static bool is_first_pull(struct weft_p2p_request *send, const struct weft_answer *part)
{
    if (part->offset < send->pulled_to) {
        return false;
    }
    send->pulled_to = part->offset + part->length;
    return true;
}

const char *weft_p2p_on_pull(struct weft_peer *from, const struct weft_answer *answer)
{
    struct weft_p2p_request *send;
    const char *fault = weft_p2p_find_announced(from, answer->request, &send);

    if (send == NULL || fault != NULL) {
        return fault;
    }
    if (!is_part(answer, send->data.bytes)) {
        return "it asks for bytes outside the message";
    }
    if (!is_first_pull(send, answer)) {
        return NULL;
    }
    weft_p2p_note_pull(send->peer, send, answer);
    end_if_inaccessible(send, answer->offset, answer->length);
    start_push(send->peer, send, answer->offset, answer->length, answer->other);
    return NULL;
}

/* Is a part of it on its way to its receiver? */
static bool is_pushed(const struct weft_p2p_request *send)
{
    const struct weft_retry *retry = send->peer->retry[WEFT_RETRY_BULK].first;

    while (retry != NULL && (retry->again != weft_p2p_push_again ||
                             ((const struct weft_push *)retry)->send != send)) {
        retry = retry->next;
    }
    return retry != NULL || send->lent > 0;
}

const char *weft_p2p_on_pull_put(struct weft_peer *from, const struct weft_answer *answer)
{
    struct weft_p2p_request *send;
    const char *fault = weft_p2p_find_announced(from, answer->request, &send);
    struct weft_push *push;

    if (send == NULL || fault != NULL) {
        return fault;
    }
    if (send->data.type != NULL || !weft_p2p_is_far(send->peer)) {
        return "it has exposed memory for a message that goes another way";
    }
    if (!is_part(answer, send->data.bytes) || answer->length == 0) {
        return "it asks for bytes outside the message";
    }
    if (!is_first_pull(send, answer)) {
        return NULL;
    }
    if (is_pushed(send)) {
        return "it has exposed memory for a message that goes another way";
    }
    weft_p2p_note_pull(send->peer, send, answer);
    push = start_push(send->peer, send, answer->offset, answer->length, answer->other);
    if (push != NULL) {
        push->is_put = true;
        push->start = answer->offset;
        push->name = answer->request;
        push->key = (struct weft_key){.address = answer->address, .key = answer->key};
        send->lent = 1;
    }
    return NULL;
}

const char *weft_p2p_on_fetched(struct weft_peer *from, const struct weft_answer *answer)
{
    struct weft_p2p_request *send;
    const char *fault = weft_p2p_find_announced(from, answer->request, &send);

    if (send == NULL || fault != NULL) {
        return fault;
    }
    if (send->is_share_ours || send->work.state != WEFT_WORK_NONE || is_pushed(send)) {
        return "it has all of a message that is still being sent";
    }
    weft_p2p_forget_type(send);
    weft_request_complete(&send->base, WEFT_OK);
    return NULL;
}

/* ---- the receiver's half ---- */

void weft_p2p_pull(struct weft_p2p_request *recv, uint64_t offset, uint64_t length)
{
    const struct weft_answer answer = {
        .request = recv->other,
        .other = (uint64_t)(uintptr_t)recv->base.handle,
        .offset = offset,
        .length = length,
    };

    if (!recv->is_pulled) {
        recv->is_pulled = true;
        weft_reason_add(WEFT_REASON_STEPS);
    }
    weft_engine_control(recv->from, WEFT_PKT_PULL, &answer);
}

/* Asks for everything that the sender has not begun to store. */
static void pull_all(struct weft_p2p_request *recv)
{
    uint64_t offset;
    uint64_t length;

    while (weft_share_claim_piece(recv->share, recv->share_generation,
                                  WEFT_SHARE_RECEIVER, &offset, &length)) {
        weft_p2p_pull(recv, offset, length);
    }
}

/* In pieces, so that a peer that comes to wait can still help with the rest. */
uint64_t weft_p2p_choose_piece(uint64_t length)
{
    if (length < SHARE_FROM) {
        return length;
    }
    return length / 2 < LARGEST_PIECE ? (length + 1) / 2 : LARGEST_PIECE;
}

/* Opens the sender's share, or one that only we see. */
static void open_share(struct weft_p2p_request *recv,
                       const struct weft_announce *announce, uint64_t piece)
{
    const struct weft_share_terms terms = {
        .source = announce->address,
        .target = recv->data.stage != 0 ? recv->data.stage
                                        : (uint64_t)(uintptr_t)recv->data.buffer,
        .length =
            announce->length < recv->data.bytes ? announce->length : recv->data.bytes,
        .note = (uint64_t)(uintptr_t)recv->base.handle,
        .piece = piece,
    };

    recv->is_share_ours = false;
    recv->is_share_common = announce->share != WEFT_NO_SHARE;
    if (recv->is_share_common) {
        recv->share = weft_share_of(recv->from->area, (uint32_t)announce->share);
        recv->share_generation = (uint32_t)(announce->share >> 32);
    } else {
        recv->share = &recv->own_share;
        recv->share_generation = weft_share_announce(recv->share, announce->address);
    }
    weft_share_open(recv->share, recv->share_generation, &terms);
}

/* The checksums that follow an announcement: its length says whether they are there. */
static void keep_sums(struct weft_p2p_request *recv, const struct weft_header *header,
                      const void *data)
{
    recv->is_summed = false;
    recv->awaits_sums = header->length == sizeof(struct weft_announce);
    if (!recv->awaits_sums) {
        memcpy(recv->sums, (const uint8_t *)data + sizeof(struct weft_announce),
               sizeof(recv->sums));
    }
}

static bool can_reach(const struct weft_peer *peer)
{
    return peer->is_self || peer->ep->ops->can_reach(peer->ep);
}

/* Can both copy? A sender that does so must see where our data are to lie. */
static bool can_share(struct weft_p2p_request *recv, const struct weft_announce *announce,
                      uint64_t length)
{
    struct weft_stage list;
    struct weft_data data;

    if (announce->address == 0 || weft_p2p_is_packed(announce->address) ||
        !can_reach(recv->from)) {
        return false;
    }
    if (weft_likely(recv->data.type == NULL)) {
        return true;
    }
    if (recv->from->is_self || announce->share == WEFT_NO_SHARE || length == 0) {
        return false;
    }
    data = weft_data_part(&recv->data, 0, length);
    list = weft_p2p_make_list(&data);
    recv->data.memory = list.at;
    recv->data.stage = list.name;
    return list.at != NULL;
}

/* Is there a message of ours where a peer says that there is one? */
bool weft_p2p_is_place(const struct weft_peer *peer, uint64_t place, uint64_t length)
{
    if (peer->is_self || (place & WEFT_IN_STAGE) == 0) {
        return true; /* an address of the peer's: the kernel knows */
    }
    return peer->area != NULL &&
           weft_stage_of(peer->area, (uint32_t)(place & ~WEFT_IS_LIST)) != NULL &&
           ((place & WEFT_IS_LIST) != 0 || length <= WEFT_STAGE_BYTES);
}

/* NULL, or what is wrong with an announcement of this peer. */
static const char *find_fault(const struct weft_peer *peer,
                              const struct weft_header *header,
                              const struct weft_announce *announce, size_t len)
{
    const bool is_by_network = weft_p2p_is_far(peer);

    if ((header->flags & WEFT_PKT_EXPOSED) != 0) {
        return is_by_network ? NULL : "it has exposed memory that no network reaches";
    }
    if (len - header->length > (is_by_network ? announce->length : 0)) {
        return "more bytes came along than the message has";
    }
    if (weft_p2p.has_checksum && header->length == sizeof(*announce) &&
        announce->share == WEFT_NO_SHARE) {
        return "it brings no checksums, and cannot owe them";
    }
    if (announce->share != WEFT_NO_SHARE &&
        (peer->area == NULL ||
         weft_share_of(peer->area, (uint32_t)announce->share) == NULL)) {
        return "it names a share that we do not see";
    }
    if (!is_by_network && !weft_p2p_is_place(peer, announce->address, announce->length)) {
        return "it names a stage that we do not see";
    }
    return NULL;
}

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
    struct weft_announce announce;
    const char *fault;
    uint64_t length;

    memcpy(&announce, data, sizeof(announce));
    if (weft_unlikely(weft_p2p.has_checksum)) {
        keep_sums(recv, header, data);
    }
    length = announce.length < recv->data.bytes ? announce.length : recv->data.bytes;
    if (weft_p2p_reach_peer(peer) != WEFT_OK) {
        weft_wireup_abort(weft_engine.job, 1, "no memory to answer a peer");
    }
    if (weft_unlikely(peer->is_failed)) { /* it announced, and nobody can fetch it now */
        weft_p2p_fail_recv(recv, (int)header->source);
        return;
    }
    fault = find_fault(peer, header, &announce, len);
    if (weft_unlikely(fault != NULL)) {
        weft_engine_reject(peer, header, len, fault);
    }
    if (weft_unlikely(weft_p2p_is_far(peer) &&
                      weft_data_is_unwritable(&recv->data, length))) {
        fail_inaccessible(recv, peer, header, data);
        return;
    }
    peer->wanted++;
    weft_p2p.incoming++;
    recv->from = peer;
    recv->is_pulled = false;
    recv->is_told = false;
    recv->exposed = NULL;
    recv->header = *header;
    recv->other = announce.request;
    recv->message_length = announce.length;
    weft_p2p_add_transfer(recv);
    if (weft_unlikely((header->flags & WEFT_PKT_EXPOSED) != 0)) {
        const struct weft_key key = {.address = announce.address, .key = announce.share};

        announce.share = WEFT_NO_SHARE;
        open_share(recv, &announce, 0);
        weft_p2p_get_far(recv, length, &key);
    } else if (weft_unlikely(weft_p2p_is_far(peer))) {
        recv->is_sent_in_parts = announce.address == 0;
        open_share(recv, &announce, 0);
        weft_p2p_start_far(recv, length, (const uint8_t *)data + header->length,
                           len - header->length);
    } else if (weft_likely(can_share(recv, &announce, length))) {
        open_share(recv, &announce, weft_p2p_choose_piece(length));
        weft_p2p_add_work(recv);
    } else if (announce.address == 0 || weft_p2p_is_packed(announce.address) ||
               (recv->data.type != NULL && can_reach(peer))) {
        open_share(recv, &announce, 0);
        if (length > 0) {
            weft_p2p_start_staged(recv, announce.address, length);
        }
    } else {
        open_share(recv, &announce, length);
        pull_all(recv);
    }
    if (weft_unlikely(length == 0)) { /* nobody will count a last piece */
        count_piece(recv->share, peer, 0);
    }
}

const char *weft_p2p_find_incoming(struct weft_peer *from, uint64_t name,
                                   struct weft_p2p_request **out)
{
    const struct weft_p2p_request *recv = *out = weft_p2p_find(name, WEFT_REQUEST_RECV);

    return recv != NULL && recv->from != from
               ? "it sends bytes for a receive that waits for none of it"
               : NULL;
}

const char *weft_p2p_on_data(struct weft_peer *from, const void *data, size_t len)
{
    struct weft_answer answer;
    struct weft_p2p_request *recv;
    const char *fault;

    weft_p2p.pieces_received++;
    memcpy(&answer, data, sizeof(answer));
    fault = weft_p2p_find_incoming(from, answer.request, &recv);
    if (recv == NULL || fault != NULL) {
        return fault;
    }
    if (answer.length != len - sizeof(answer) || !is_part(&answer, recv->data.bytes) ||
        answer.length > weft_share_left(recv->share)) {
        return "it sends bytes outside the message";
    }
    end_if_inaccessible(recv, answer.offset, answer.length);
    weft_data_scatter(&recv->data, answer.offset, (const uint8_t *)data + sizeof(answer),
                      (size_t)answer.length);
    weft_p2p_count(recv, answer.length);
    return NULL;
}

/* ---- copying, by both ---- */

static enum weft_rc move_piece(const struct weft_p2p_request *request, uint64_t offset,
                               uint64_t length)
{
    struct weft_endpoint *ep = other_side(request)->ep;
    const struct weft_copy_share *share = request->share;
    const struct weft_key key = {.address = is_send(request)
                                                ? weft_share_field(&share->target)
                                                : weft_share_field(&share->source)};
    uint8_t *mine = weft_data_at(&request->data, offset);

    if (weft_unlikely(request->data.type != NULL || weft_p2p_is_list(key.address))) {
        const struct weft_remote_data theirs =
            weft_p2p_remote_data(other_side(request), key.address);

        return weft_iov_list_move(ep, is_send(request) ? WEFT_STORE : WEFT_FETCH,
                                  &request->data, offset, &theirs, offset, length);
    }
    if (ep == NULL) { /* a receive from ourselves */
        memcpy(mine, (const void *)(uintptr_t)(key.address + offset), (size_t)length);
        return WEFT_OK;
    }
    return is_send(request)
               ? ep->ops->store(ep, &key, offset, mine, (size_t)length, NULL)
               : ep->ops->fetch(ep, &key, offset, mine, (size_t)length, NULL);
}

/* The receive that a message goes to, whose share is open. */
static uint64_t receive_of(const struct weft_p2p_request *send)
{
    return send->is_share_ours ? weft_share_field(&send->share->note) : send->other;
}

/* This piece goes another way, and so does what nobody has claimed yet. */
static void give_up_copying(struct weft_p2p_request *request, uint64_t offset,
                            uint64_t length)
{
    if (is_send(request)) {
        start_push(request->peer, request, offset, length, receive_of(request));
    } else {
        weft_p2p_pull(request, offset, length);
        pull_all(request);
    }
}

/* Moves pieces until none is left; false: this one could not be moved. */
static bool move_pieces(struct weft_p2p_request *request, uint64_t *offset,
                        uint64_t *length)
{
    const enum weft_share_side side =
        is_send(request) ? WEFT_SHARE_SENDER : WEFT_SHARE_RECEIVER;
    const struct weft_peer *other = other_side(request);

    while (weft_share_claim_piece(request->share, request->share_generation, side, offset,
                                  length)) {
        if (weft_unlikely(*offset > request->data.bytes ||
                          *length > request->data.bytes - *offset)) {
            weft_engine_reject(other, NULL, 0,
                               "it claims bytes outside a message that both copy");
        }
        if (weft_unlikely(move_piece(request, *offset, *length) != WEFT_OK)) {
            return false;
        }
        count_piece(request->share, other, *length);
    }
    return true;
}

/* Drops the lock meanwhile; RUNNING keeps the request from ending under us. */
static void copy(struct weft_p2p_request *request)
{
    const bool is_progress_thread = weft_engine_drop_lock();
    uint64_t offset;
    uint64_t length;
    const bool is_moved = move_pieces(request, &offset, &length);

    if (weft_unlikely(owes_sums(request)) && is_moved) {
        weft_checksum_set(request);
    }
    weft_engine_retake_lock(is_progress_thread);
    if (weft_unlikely(!is_moved)) {
        end_if_inaccessible(request, offset, length);
        give_up_copying(request, offset, length);
    } else if (weft_unlikely(owes_sums(request))) {
        weft_checksum_give(request, receive_of(request));
    }
}

static void do_work(struct weft_work *work)
{
    struct weft_p2p_request *request =
        (struct weft_p2p_request *)((char *)work -
                                    offsetof(struct weft_p2p_request, work));

    if (weft_likely(request->staging == NULL)) {
        copy(request);
    } else {
        weft_p2p_do_staged(request);
    }
    request->work.state = WEFT_WORK_NONE;
    weft_p2p_look_at_transfers();
    if (weft_unlikely(weft_p2p.has_unfailed)) {
        weft_p2p_fail_requests();
    }
}

void weft_p2p_add_work(struct weft_p2p_request *request)
{
    weft_work_add(&request->work, do_work);
}
