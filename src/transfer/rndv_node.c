#include "transfer/rndv_node.h"

#include "engine/engine.h"
#include "engine/held.h"
#include "transfer/stage.h"
#include "transfer/late_sums.h"
#include "transfer/sums.h"

#include <string.h>

enum { AT_ONCE = 4096 }; /* bytes that are copied with the lock */

/* ---- shares ---- */

uint64_t weft_rndv_node_take_share(struct weft_transfer *send)
{
    send->is_share_ours = false;
    if (send->peer->path == NULL || send->data.bytes == 0 ||
        (send->data.type != NULL && send->data.stage == 0) ||
        !weft_peer_can_reach(send->peer)) {
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

void weft_rndv_node_open_share(struct weft_transfer *recv,
                               const struct weft_pkt_announce *announce, uint64_t chunk)
{
    const struct weft_share_terms terms = {
        .source = announce->address,
        .target = recv->data.stage != 0 ? recv->data.stage
                                        : (uint64_t)(uintptr_t)recv->data.buffer,
        .length =
            announce->length < recv->data.bytes ? announce->length : recv->data.bytes,
        .note = recv->name,
        .chunk = chunk,
    };

    recv->is_share_common = announce->share != WEFT_NO_SHARE;
    if (recv->is_share_common) {
        recv->share = weft_share_of(recv->peer->area, (uint32_t)announce->share);
        recv->share_generation = (uint32_t)(announce->share >> 32);
    } else {
        recv->share = &recv->own_share;
        recv->share_generation = weft_share_announce(recv->share, announce->address);
    }
    weft_share_open(recv->share, recv->share_generation, &terms);
}

void weft_rndv_node_pull_all(struct weft_transfer *recv)
{
    uint64_t offset;
    uint64_t length;

    while (weft_share_claim_chunk(recv->share, recv->share_generation,
                                  WEFT_SHARE_RECEIVER, &offset, &length)) {
        weft_transfer_pull(recv, offset, length);
    }
}

/* ---- copying, by both ---- */

/* Without the lock. */
static enum weft_rc move_chunk(const struct weft_transfer *t, uint64_t offset,
                               uint64_t length)
{
    struct weft_path *path = t->peer->path;
    const struct weft_key key = {
        .address = weft_share_field(t->is_send ? &t->share->target : &t->share->source)};
    void *mine = weft_data_at(&t->data, offset);

    if (weft_unlikely(t->data.type != NULL || weft_remote_is_list(key.address))) {
        const struct weft_remote_data theirs = weft_remote_open(t->peer, key.address);

        return weft_iov_list_move(path, t->is_send ? WEFT_STORE : WEFT_FETCH, &t->data,
                                  offset, &theirs, offset, length);
    }
    if (path == NULL) { /* a receive from ourselves */
        memcpy(mine, (const void *)(uintptr_t)(key.address + offset), (size_t)length);
        return WEFT_OK;
    }
    return t->is_send ? weft_path_put(path, &key, offset, mine, (size_t)length, NULL)
                      : weft_path_get(path, &key, offset, mine, (size_t)length, NULL);
}

/* Moves chunks until none is left; false: this one could not be moved. Without the lock.
 */
static bool move_chunks(const struct weft_transfer *t, uint64_t *offset, uint64_t *length)
{
    const enum weft_share_side side =
        t->is_send ? WEFT_SHARE_SENDER : WEFT_SHARE_RECEIVER;

    while (weft_share_claim_chunk(t->share, t->share_generation, side, offset, length)) {
        if (weft_unlikely(*offset > t->data.bytes || *length > t->data.bytes - *offset)) {
            weft_engine_reject(t->peer, NULL, 0,
                               "it claims bytes outside a message that both copy");
        }
        if (weft_unlikely(move_chunk(t, *offset, *length) != WEFT_OK)) {
            return false;
        }
        weft_transfer_count(t, *length);
    }
    return true;
}

/* The receive that a message goes to, whose share is open. */
static uint64_t receive_of(const struct weft_transfer *send)
{
    return send->is_share_ours ? weft_share_field(&send->share->note) : send->other;
}

/* This chunk goes another way, and so does what nobody has claimed yet. */
static void give_up_copying(struct weft_transfer *t, uint64_t offset, uint64_t length)
{
    if (t->is_send) {
        weft_transfer_start_push(t, offset, length, receive_of(t));
    } else {
        weft_transfer_pull(t, offset, length);
        weft_rndv_node_pull_all(t);
    }
}

static void copy(struct weft_transfer *t)
{
    uint64_t offset;
    uint64_t length;
    const bool is_progress_thread = weft_engine_drop_lock();
    const bool is_moved = move_chunks(t, &offset, &length);

    if (weft_sums_are_owed(t) && is_moved) {
        weft_sums_make(t);
    }
    weft_engine_retake_lock(is_progress_thread);
    if (weft_unlikely(!is_moved)) {
        weft_transfer_end_if_inaccessible(t, offset, length);
        give_up_copying(t, offset, length);
    } else if (weft_sums_are_owed(t)) {
        weft_sums_give(t, receive_of(t));
    }
}

void weft_rndv_node_copy_now(const struct weft_transfer *recv, uint64_t length)
{
    uint64_t offset;

    weft_assert_locked();
    if (recv->peer->is_self && length <= AT_ONCE && !weft_has_checksum()) {
        (void)move_chunks(recv, &offset, &length);
    }
}

static void give_list(struct weft_transfer *t)
{
    if (weft_unlikely(t->node.list != NULL)) {
        weft_stage_return((struct weft_stage){t->node.list, t->data.stage});
    }
}

void weft_rndv_node_use(struct weft_transfer *t)
{
    static const struct weft_transfer_ops ops = {.work = copy, .close = give_list};

    t->ops = &ops;
}
