#include "transfer/offer.h"

#include "base/reserve.h"
#include "base/texts.h"
#include "transfer/rndv_node.h"
#include "transfer/late_sums.h"
#include "transfer/sums.h"

/* ---- the receiver ---- */

bool weft_offer_make(struct weft_transfer *recv)
{
    struct weft_path *path = recv->peer->path;
    struct weft_header header = {
        .kind = WEFT_PKT_OFFER,
        .length = sizeof(struct weft_pkt_offer),
    };
    struct weft_pkt_offer offer;

    recv->share = weft_share_take(&weft_engine.node, &recv->share_number);
    if (recv->share == NULL) {
        return false;
    }
    recv->share_generation = weft_share_offer(
        recv->share, (uint64_t)(uintptr_t)recv->data.buffer, recv->data.bytes);
    recv->is_share_ours = true;
    offer = (struct weft_pkt_offer){
        .request = recv->name,
        .share = (uint64_t)recv->share_generation << 32 | recv->share_number,
        .length = recv->data.bytes,
        .context = recv->header.context,
        .tag = recv->header.tag,
    };
    if (weft_has_checksum()) {
        weft_engine.hooks.seal(&header, &offer, sizeof(offer));
    }
    if (path->packets->send(path, &header, &offer, sizeof(offer),
                            WEFT_SEND_CONTROL | WEFT_SEND_QUIET) != WEFT_OK) {
        return false;
    }
    weft_rndv_node_use(recv);
    recv->is_share_common = true;
    recv->awaits_sums = weft_has_checksum();
    weft_transfer_add(recv);
    return true;
}

/* ---- the sender ---- */

/* Is this very offer there already, or a later one of its share? Then it has come a
 * second time: the first keeps its place, and the later one holds. */
static bool is_known(const struct weft_peer *peer, uint64_t share)
{
    const struct weft_offer *offer = peer->transfers->offers;

    while (offer != NULL && (uint32_t)offer->share != (uint32_t)share) {
        offer = offer->next;
    }
    return offer != NULL &&
           (int32_t)((uint32_t)(offer->share >> 32) - (uint32_t)(share >> 32)) >= 0;
}

/* The one that the peer took back before it used the share again, or a new one. */
static struct weft_offer *take_slot(struct weft_peer *peer, uint64_t share)
{
    for (struct weft_offer **at = &peer->transfers->offers; *at != NULL;
         at = &(*at)->next) {
        struct weft_offer *offer = *at;

        if ((uint32_t)offer->share == (uint32_t)share) {
            *at = offer->next;
            return offer;
        }
    }
    return weft_reserve_take(sizeof(struct weft_offer));
}

const char *weft_offer_on_offer(struct weft_peer *peer,
                                const union weft_pkt_control *packet)
{
    const struct weft_pkt_offer *came = &packet->offer;
    struct weft_offer *offer;
    struct weft_offer **end;

    if (peer->area == NULL || weft_share_of(peer->area, (uint32_t)came->share) == NULL) {
        return "it offers a share that this rank does not see";
    }
    if (is_known(peer, came->share)) {
        return NULL;
    }
    offer = take_slot(peer, came->share);
    if (offer == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_OFFER);
    }
    *offer = (struct weft_offer){
        .request = came->request,
        .share = came->share,
        .context = came->context,
        .tag = came->tag,
        .length = came->length,
    };
    for (end = &peer->transfers->offers; *end != NULL; end = &(*end)->next) {
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

/* May a message that fits the same receive be on its way? */
static bool may_be_queued(struct weft_path *path, const struct weft_header *header)
{
    return path->packets->may_be_queued == NULL ||
           path->packets->may_be_queued(path, is_same, header);
}

/* The oldest offer for such a message, taken from the list. */
static bool take_offer(struct weft_peer *peer, const struct weft_header *header,
                       struct weft_offer *out)
{
    for (struct weft_offer **at = &peer->transfers->offers; *at != NULL;
         at = &(*at)->next) {
        struct weft_offer *offer = *at;

        if (offer->context == header->context && offer->tag == header->tag) {
            *out = *offer;
            *at = offer->next;
            weft_reserve_give(offer);
            return true;
        }
    }
    return false;
}

bool weft_offer_use(struct weft_transfer *send, bool is_blocking)
{
    struct weft_peer *peer = send->peer;
    struct weft_path *path = peer->path;
    struct weft_offer offer;

    while (weft_unlikely(peer->transfers->offers != NULL) &&
           take_offer(peer, &send->header, &offer)) {
        struct weft_share_terms terms;

        /* A nonblocking send does not copy if the receiver is inside MPI: it announces
         * the message, and the receiver copies. */
        if (weft_peer_retries(peer, WEFT_RETRY_ORDERED) ||
            (!is_blocking && weft_node_is_inside(peer->area)) ||
            !weft_peer_can_reach(peer) || may_be_queued(path, &send->header)) {
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
        terms.chunk = weft_transfer_choose_chunk(terms.length);
        weft_rndv_node_use(send);
        send->other = offer.request;
        weft_transfer_add(send);
        weft_share_open(send->share, send->share_generation, &terms);
        if (terms.length == 0) { /* nobody will count a last chunk */
            weft_node_wake(peer->area, WEFT_WAKE_STEPS);
        }
        if (weft_has_checksum() && !send->owes_sums) {
            weft_sums_give(send, offer.request);
        }
        weft_transfer_add_work(send);
        return true;
    }
    return false;
}
