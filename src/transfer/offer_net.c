#include "transfer/offer_net.h"

#include "base/reserve.h"
#include "base/texts.h"
#include "transfer/accessible.h"
#include "transfer/rndv_net.h"
#include "transfer/sums.h"

#include <string.h>

enum {
    LOOKS = 48,    /* at the network, for an offer that is to come */
    PATIENCE = 32, /* messages before which we look in vain, until no longer */
};

/* ---- the receiver ---- */

/* The peer's ordinary packets that were taken. */
static uint32_t taken_from(const struct weft_peer *peer)
{
    return peer->in_sequence - peer->transfers->net.stored_here;
}

static void close_offer(struct weft_transfer *recv)
{
    weft_rndv_net_deregister(recv);
    recv->peer->transfers->net.open--;
    weft_transfers.net_offers--;
}

static const struct weft_transfer_ops offered = {.close = close_offer};

bool weft_offer_net_is_worth(const struct weft_peer *peer, uint64_t bytes)
{
    const struct weft_path *path = peer->path;
    struct weft_net_offers *net;

    if (path->memory == NULL || path->prefers_get || bytes <= path->zcopy_max) {
        return false;
    }
    net = peer->transfers != NULL ? &peer->transfers->net : NULL;
    if (net != NULL && net->paused > 0) {
        net->paused--;
        return false;
    }
    return (net == NULL || net->open < WEFT_NET_OFFERS_EACH) &&
           weft_transfers.net_offers < WEFT_NET_OFFERS_MOST &&
           !weft_peer_retries(peer, WEFT_RETRY_CONTROL);
}

/* One try: one that found no room would be late. */
static bool send_offer(const struct weft_transfer *recv, const struct weft_key *key)
{
    struct weft_peer *peer = recv->peer;
    struct weft_path *path = peer->path;
    struct weft_header header = {
        .kind = WEFT_PKT_KEY_OFFER,
        .length = sizeof(struct weft_pkt_key_offer),
    };
    const struct weft_pkt_key_offer offer = {
        .request = recv->name,
        .address = key->address,
        .key = key->key,
        .length = recv->data.bytes,
        .context = recv->header.context,
        .tag = recv->header.tag,
        .number = peer->transfers->net.made + 1,
        .seen = taken_from(peer),
    };

    if (weft_has_checksum()) {
        weft_engine.hooks.seal(&header, &offer, sizeof(offer));
    }
    return path->packets->send(path, &header, &offer, sizeof(offer), WEFT_SEND_CONTROL) ==
           WEFT_OK;
}

/* The share is one that nobody else sees: by it the receive is taken back, always. */
bool weft_offer_net_make(struct weft_transfer *recv)
{
    struct weft_net_offers *net = &recv->peer->transfers->net;
    struct weft_key key;

    if (weft_data_is_unwritable(&recv->data, recv->data.bytes) ||
        !weft_rndv_net_register_receive(recv, &key)) {
        return false;
    }
    recv->ops = &offered;
    net->open++;
    weft_transfers.net_offers++;
    if (!send_offer(recv, &key)) {
        return false;
    }
    net->made++;
    recv->share = &recv->own_share;
    recv->share_generation = weft_share_offer(
        recv->share, (uint64_t)(uintptr_t)recv->data.buffer, recv->data.bytes);
    return true;
}

/* Longer each time, until one is used. */
static void pause_offers(struct weft_net_offers *net)
{
    net->paused = net->next_pause;
    net->next_pause = net->next_pause == 0 ? 1
                      : net->next_pause < WEFT_NET_OFFERS_PAUSE / 2
                          ? 2 * net->next_pause
                          : WEFT_NET_OFFERS_PAUSE;
}

void weft_offer_net_gone(const struct weft_transfer *recv)
{
    const struct weft_pkt_gone gone = {
        .request = recv->name,
        .seen = taken_from(recv->peer),
    };

    pause_offers(&recv->peer->transfers->net);
    weft_engine_control(recv->peer, WEFT_PKT_GONE, &gone, sizeof(gone));
}

void weft_offer_net_recall(struct weft_transfer *recv)
{
    const struct weft_pkt_recall recall = {.request = recv->name};

    if (!recv->is_recalled) {
        recv->is_recalled = true;
        weft_engine_control(recv->peer, WEFT_PKT_RECALL, &recall, sizeof(recall));
    }
}

const char *weft_offer_net_on_returned(struct weft_peer *from,
                                       const union weft_pkt_control *packet)
{
    struct weft_transfer *recv;
    const char *fault = weft_transfer_find_incoming(from, packet->recall.request, &recv);

    if (recv == NULL || fault != NULL) {
        return fault;
    }
    if (recv->ops != &offered || !recv->is_recalled) {
        return "it returns an offer that was not recalled";
    }
    recv->events->returned(recv);
    return NULL;
}

const char *weft_offer_net_find(const struct weft_peer *from, const void *data,
                                struct weft_transfer **out)
{
    struct weft_pkt_stored stored;
    const char *fault;

    memcpy(&stored, data, sizeof(stored));
    fault = weft_transfer_find_incoming(from, stored.request, out);
    if (fault != NULL) {
        return fault;
    }
    return *out == NULL || (*out)->ops != &offered
               ? "it stored a message where none was offered"
               : NULL;
}

void weft_offer_net_stored(struct weft_transfer *recv, const struct weft_header *header,
                           const void *data)
{
    struct weft_pkt_stored stored;

    memcpy(&stored, data, sizeof(stored));
    recv->peer->transfers->net.stored_here++;
    recv->peer->transfers->net.next_pause = 0;
    recv->is_offered = false;
    recv->is_told = true;
    recv->header = *header;
    recv->message_length = stored.length;
    weft_transfer_came(recv);
    if (weft_has_checksum()) {
        memcpy(recv->sums, (const uint8_t *)data + sizeof(stored), sizeof(recv->sums));
        (void)weft_sums_are_there(recv);
    }
    weft_transfer_end(recv, WEFT_OK);
}

/* ---- the sender ---- */

/* Our ordinary packets to a peer that went out. */
static uint32_t sent_to(const struct weft_peer *peer)
{
    return (uint32_t)peer->next_sequence - peer->transfers->net.stored;
}

static bool is_doubtful(const struct weft_net_offers *net,
                        const struct weft_key_offer *offer)
{
    return (int32_t)(net->seen - offer->doubtful_to) < 0;
}

static bool is_for(const struct weft_key_offer *offer, const struct weft_header *header)
{
    return offer->context == header->context && offer->tag == header->tag;
}

static void note_all(struct weft_peer *peer, bool is_noted)
{
    peer->is_noted = is_noted;
    weft_engine_update_fast(peer);
}

/* Frees the one that a pointer in the list leads to. */
static void remove_at(struct weft_peer *peer, struct weft_key_offer **at)
{
    struct weft_key_offer *offer = *at;

    *at = offer->next;
    weft_reserve_give(offer);
    if (peer->transfers->net.first == NULL) {
        note_all(peer, false);
    }
}

/* False: it is not there. */
static bool remove_named(struct weft_peer *peer, uint64_t request)
{
    struct weft_key_offer **at = &peer->transfers->net.first;

    while (*at != NULL && (*at)->request != request) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        return false;
    }
    remove_at(peer, at);
    return true;
}

static const char not_on_net[] = "it offers memory that no network reaches";

/* Has a message just been announced that could have used it? */
static bool is_late(const struct weft_peer *from, const struct weft_key_offer *offer)
{
    const struct weft_transfer *last =
        weft_transfer_find(from->transfers->announced_last, true);

    return last != NULL && is_doubtful(&from->transfers->net, offer) &&
           is_for(offer, &last->header);
}

const char *weft_offer_net_on_offer(struct weft_peer *from,
                                    const union weft_pkt_control *packet)
{
    const struct weft_pkt_key_offer *came = &packet->key_offer;
    struct weft_net_offers *net = &from->transfers->net;
    struct weft_key_offer **end = &net->first;
    struct weft_key_offer *offer;

    if (!weft_peer_is_on_net(from) || from->path->memory == NULL) {
        return not_on_net;
    }
    if ((int32_t)(came->number - net->number) <= 0 || from->is_failed) {
        return NULL; /* a second time, or too late */
    }
    offer = weft_reserve_take(sizeof(*offer));
    if (offer == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_OFFER);
    }
    net->number = came->number;
    net->seen = came->seen;
    *offer = (struct weft_key_offer){
        .request = came->request,
        .key = {.address = came->address, .key = came->key},
        .length = came->length,
        .context = came->context,
        .tag = came->tag,
        .doubtful_to = sent_to(from),
    };
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = offer;
    if (is_late(from, offer)) {
        net->patience = PATIENCE;
    }
    note_all(from, true);
    return NULL;
}

static bool is_offered(const struct weft_net_offers *net,
                       const struct weft_header *header)
{
    const struct weft_key_offer *offer = net->first;

    while (offer != NULL && !is_for(offer, header)) {
        offer = offer->next;
    }
    return offer != NULL;
}

void weft_offer_net_await(struct weft_peer *peer, const struct weft_header *header)
{
    struct weft_net_offers *net = &peer->transfers->net;
    const bool has_heard = net->heard != peer->in_sequence;
    int looks = LOOKS;

    net->heard = peer->in_sequence;
    if (!has_heard || net->patience == 0 || is_offered(net, header)) {
        return;
    }
    while (looks-- > 0 && !is_offered(net, header)) {
        weft_engine_poll();
    }
    net->patience = is_offered(net, header) ? PATIENCE : net->patience - 1;
}

const char *weft_offer_net_on_gone(struct weft_peer *from,
                                   const union weft_pkt_control *packet)
{
    const struct weft_pkt_gone *gone = &packet->gone;

    if (from->transfers == NULL) {
        return not_on_net;
    }
    if (remove_named(from, gone->request)) {
        from->transfers->net.seen = gone->seen;
    }
    return NULL;
}

const char *weft_offer_net_on_recall(struct weft_peer *from,
                                     const union weft_pkt_control *packet)
{
    if (from->transfers == NULL) {
        return not_on_net;
    }
    if (remove_named(from, packet->recall.request)) {
        weft_engine_control(from, WEFT_PKT_RETURNED, &packet->recall,
                            sizeof(packet->recall));
    }
    return NULL;
}

void weft_offer_net_note(struct weft_peer *peer, const struct weft_header *header)
{
    for (struct weft_key_offer *offer = peer->transfers->net.first; offer != NULL;
         offer = offer->next) {
        if (is_for(offer, header)) {
            offer->doubtful_to = sent_to(peer);
        }
    }
}

bool weft_offer_net_use(struct weft_transfer *send)
{
    struct weft_peer *peer = send->peer;
    struct weft_net_offers *net = &peer->transfers->net;
    struct weft_key_offer **at = &net->first;
    struct weft_pkt_stored stored;

    while (*at != NULL && !is_for(*at, &send->header)) {
        at = &(*at)->next;
    }
    if (*at == NULL || is_doubtful(net, *at) ||
        weft_peer_retries(peer, WEFT_RETRY_ORDERED)) {
        return false;
    }
    stored = (struct weft_pkt_stored){
        .request = (*at)->request,
        .length = send->data.bytes,
    };
    if (!weft_rndv_net_store(send, &(*at)->key, (*at)->length, &stored)) {
        return false;
    }
    net->stored++;
    remove_at(peer, at);
    return true;
}
