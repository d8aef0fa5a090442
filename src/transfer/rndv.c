#include "transfer/rndv.h"

#include "transfer/rndv_net.h"
#include "transfer/rndv_node.h"
#include "transfer/stage.h"
#include "transfer/staged.h"
#include "transfer/sums.h"

#include <string.h>

enum { CACHE_LINE = 64 };

/* ---- the sender ---- */

/* Puts the checksums behind an announcement, unless they are to follow; their bytes. */
static size_t add_sums(struct weft_transfer *send, uint32_t sums[WEFT_SUM_BLOCKS])
{
    if (send->owes_sums && send->is_share_ours) {
        return 0;
    }
    if (send->owes_sums) {
        weft_sums_make(send);
        send->owes_sums = false;
    }
    memcpy(sums, send->sums, sizeof(send->sums));
    return sizeof(send->sums);
}

/* Where the receiver finds the message: a stage, an address, or 0: in no one place. */
static uint64_t address_of(const struct weft_data *data)
{
    if (data->stage != 0) {
        return data->stage;
    }
    return data->type == NULL ? (uint64_t)(uintptr_t)data->buffer : 0;
}

/* The announcement did not go out: the share is for the next try. */
static void take_back(struct weft_transfer *send)
{
    send->awaits_answer = false;
    if (send->is_share_ours) {
        weft_transfer_remove(send);
        weft_share_give(&weft_engine.node, send->share_number);
        send->is_share_ours = false;
    }
}

enum weft_rc weft_rndv_announce(struct weft_transfer *send)
{
    const bool is_on_net = weft_peer_is_on_net(send->peer);
    struct {
        struct weft_pkt_announce announce;
        uint32_t sums[WEFT_SUM_BLOCKS];
    } packet;
    size_t len = sizeof(packet.announce);
    enum weft_rc rc;

    packet.announce = (struct weft_pkt_announce){
        .length = send->data.bytes,
        .address = address_of(&send->data),
        .request = send->name,
        .share = is_on_net ? WEFT_NO_SHARE : weft_rndv_node_take_share(send),
    };
    if (weft_has_checksum()) {
        len += add_sums(send, packet.sums);
    }
    send->awaits_answer = true; /* before it can be answered, by ourselves too */
    if (send->is_share_ours) {
        weft_transfer_add(send);
    }
    if (is_on_net) {
        weft_rndv_net_register(send, &packet.announce);
        rc = weft_rndv_net_announce(send, &packet, len);
    } else {
        weft_rndv_node_use(send);
        rc = weft_engine_send(send->peer, &send->header, &packet, len, WEFT_SEND_URGENT);
    }
    if (rc != WEFT_OK) { /* else it may be over already, if it goes to ourselves */
        take_back(send);
    }
    return rc;
}

const char *weft_rndv_on_pull(struct weft_peer *from,
                              const union weft_pkt_control *packet)
{
    const struct weft_pkt_pull *pull = &packet->pull;
    struct weft_transfer *send;
    const char *fault = weft_transfer_find_announced(from, pull->request, &send);

    if (send == NULL || fault != NULL) {
        return fault;
    }
    if (!weft_is_part(pull->offset, pull->length, send->data.bytes)) {
        return "it asks for bytes outside the message";
    }
    if (!weft_transfer_is_first_pull(send, pull)) {
        return NULL;
    }
    weft_rndv_net_note_pull(send, pull->offset);
    weft_transfer_end_if_inaccessible(send, pull->offset, pull->length);
    weft_transfer_start_push(send, pull->offset, pull->length, pull->receiver);
    return NULL;
}

const char *weft_rndv_on_fetched(struct weft_peer *from,
                                 const union weft_pkt_control *packet)
{
    struct weft_transfer *send;
    const char *fault =
        weft_transfer_find_announced(from, packet->fetched.request, &send);

    if (send == NULL || fault != NULL) {
        return fault;
    }
    if (send->is_share_ours || send->work.state != WEFT_WORK_NONE ||
        weft_transfer_is_pushed(send)) {
        return "it has all of a message that is still being sent";
    }
    if (!weft_rndv_net_ends_later(send)) {
        weft_transfer_end(send, WEFT_OK);
    }
    return NULL;
}

/* ---- the receiver ---- */

/* The checksums that follow an announcement: its length says whether they are there. */
static void keep_sums(struct weft_transfer *recv, const struct weft_header *header,
                      const void *data)
{
    recv->awaits_sums = header->length == sizeof(struct weft_pkt_announce);
    if (!recv->awaits_sums) {
        memcpy(recv->sums, (const uint8_t *)data + sizeof(struct weft_pkt_announce),
               sizeof(recv->sums));
    }
}

/* Can both copy? A sender that does so must see where our data are to lie. */
static bool can_share(struct weft_transfer *recv,
                      const struct weft_pkt_announce *announce, uint64_t length)
{
    struct weft_stage list;
    struct weft_data data;

    if (announce->address == 0 || weft_remote_is_packed(announce->address) ||
        !weft_peer_can_reach(recv->peer)) {
        return false;
    }
    if (weft_likely(recv->data.type == NULL)) {
        return true;
    }
    if (recv->peer->is_self || announce->share == WEFT_NO_SHARE || length == 0) {
        return false;
    }
    data = weft_data_part(&recv->data, 0, length);
    list = weft_stage_list(&data);
    recv->node.list = list.at;
    recv->data.stage = list.name;
    return list.at != NULL;
}

const char *weft_rndv_find_fault(const struct weft_peer *peer,
                                 const struct weft_header *header, const void *data,
                                 size_t len)
{
    const bool is_on_net = weft_peer_is_on_net(peer);
    struct weft_pkt_announce announce;

    memcpy(&announce, data, sizeof(announce));
    if ((header->flags & WEFT_PKT_REGISTERED) != 0) {
        return is_on_net && peer->path->memory != NULL
                   ? NULL
                   : "it has registered memory that no network reaches";
    }
    if (len - header->length > (is_on_net ? announce.length : 0)) {
        return "more bytes came along than the message has";
    }
    if (weft_has_checksum() && header->length == sizeof(announce) &&
        announce.share == WEFT_NO_SHARE) {
        return "it has no checksums, and they cannot follow";
    }
    if (announce.share != WEFT_NO_SHARE &&
        (peer->area == NULL ||
         weft_share_of(peer->area, (uint32_t)announce.share) == NULL)) {
        return "it names a share that this rank does not see";
    }
    if (!is_on_net && !weft_remote_is_sound(peer, announce.address, announce.length)) {
        return "it names a stage that this rank does not see";
    }
    return NULL;
}

uint64_t weft_rndv_length(const void *data, uint64_t room)
{
    struct weft_pkt_announce announce;

    memcpy(&announce, data, sizeof(announce));
    return announce.length < room ? announce.length : room;
}

/* Over a network: by the memory that the sender has registered, or by ours. */
static void begin_on_net(struct weft_transfer *recv, struct weft_pkt_announce *announce,
                         uint64_t length, const void *along, size_t along_len)
{
    const struct weft_key key = {.address = announce->address, .key = announce->share};

    if ((recv->header.flags & WEFT_PKT_REGISTERED) != 0) {
        announce->share = WEFT_NO_SHARE;
        weft_rndv_node_open_share(recv, announce, 0);
        weft_rndv_net_get(recv, length, &key);
        return;
    }
    recv->is_sent_in_parts = announce->address == 0;
    weft_rndv_node_open_share(recv, announce, 0);
    weft_rndv_net_begin(recv, length, along, along_len);
}

static void begin_on_node(struct weft_transfer *recv,
                          const struct weft_pkt_announce *announce, uint64_t length)
{
    weft_rndv_node_use(recv);
    if (weft_likely(can_share(recv, announce, length))) {
        weft_rndv_node_open_share(recv, announce, weft_transfer_choose_chunk(length));
        weft_rndv_node_copy_now(recv, length);
        weft_transfer_add_work(recv);
    } else if (announce->address == 0 || weft_remote_is_packed(announce->address) ||
               (recv->data.type != NULL && weft_peer_can_reach(recv->peer))) {
        weft_rndv_node_open_share(recv, announce, 0);
        if (length > 0) {
            weft_staged_begin(recv, announce->address, length);
        }
    } else {
        weft_rndv_node_open_share(recv, announce, length);
        weft_rndv_node_pull_all(recv);
    }
}

void weft_rndv_begin(struct weft_transfer *recv, const struct weft_header *header,
                     const void *data, size_t len)
{
    const uint64_t length = weft_rndv_length(data, recv->data.bytes);
    struct weft_pkt_announce announce;

    memcpy(&announce, data, sizeof(announce));
    if (weft_has_checksum()) {
        keep_sums(recv, header, data);
    }
    recv->header = *header;
    recv->other = announce.request;
    recv->message_length = announce.length;
    weft_transfer_came(recv);
    weft_transfer_add(recv);
    if (weft_unlikely(weft_peer_is_on_net(recv->peer))) {
        begin_on_net(recv, &announce, length, (const uint8_t *)data + header->length,
                     len - header->length);
    } else {
        begin_on_node(recv, &announce, length);
    }
    if (weft_unlikely(length == 0)) { /* nobody will count a last chunk */
        weft_transfer_count(recv, 0);
    }
}

/* Is a chunk, of so many bytes, one of a receive that goes on? */
static bool is_sound(const struct weft_transfer *recv, const struct weft_pkt_data *chunk,
                     size_t length)
{
    return weft_is_part(chunk->offset, length, recv->data.bytes) &&
           weft_share_is_open(recv->share, recv->share_generation) &&
           length <= weft_share_left(recv->share);
}

const char *weft_rndv_on_data(struct weft_peer *from, const void *data, size_t len)
{
    struct weft_pkt_data chunk;
    const size_t length = len - sizeof(chunk);
    struct weft_transfer *recv;
    const char *fault;

    weft_transfers.chunks_received++;
    memcpy(&chunk, data, sizeof(chunk));
    fault = weft_transfer_find_incoming(from, chunk.request, &recv);
    if (recv == NULL || fault != NULL) {
        return fault;
    }
    if (!is_sound(recv, &chunk, length)) {
        return "it sends bytes outside the message";
    }
    weft_transfer_end_if_inaccessible(recv, chunk.offset, length);
    weft_data_scatter(&recv->data, chunk.offset, (const uint8_t *)data + sizeof(chunk),
                      length);
    weft_transfer_count(recv, length);
    return NULL;
}

/* A copy of a piece waits for each line of the buffer that it is to write. */
static void fetch_ahead(const uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CACHE_LINE) {
        __builtin_prefetch(at + i, 1, 3);
    }
}

bool weft_rndv_on_pieces(struct weft_peer *from, const struct iovec *pieces, size_t count,
                         size_t len)
{
    struct weft_pkt_data chunk;
    const size_t length = len - sizeof(chunk);
    struct weft_transfer *recv;
    uint8_t *to;

    if (pieces[0].iov_len < sizeof(chunk)) {
        return false;
    }
    memcpy(&chunk, pieces[0].iov_base, sizeof(chunk));
    if (weft_transfer_find_incoming(from, chunk.request, &recv) != NULL || recv == NULL ||
        !is_sound(recv, &chunk, length) || recv->data.type != NULL ||
        !weft_peer_is_on_net(from)) {
        return false;
    }
    to = weft_data_at(&recv->data, chunk.offset);
    for (size_t i = 0; i < count; i++) {
        const size_t before = i == 0 ? sizeof(chunk) : 0;
        const size_t n = pieces[i].iov_len - before;

        if (i + 1 < count) {
            fetch_ahead(to + n, pieces[i + 1].iov_len);
        }
        memcpy(to, (const uint8_t *)pieces[i].iov_base + before, n);
        to += n;
    }
    weft_transfers.chunks_received++;
    weft_transfer_count(recv, length);
    return true;
}
