/*
 * layout.c - messages whose data are not contiguous on one side or both.
 *
 * A small message is packed on the stack and goes the way of all small messages. Of one
 * in long blocks the receiver is told where they are (transfer/iov_list.h); of others,
 * one that fits into a stage is packed there and goes the way of long ones. Anything
 * longer is never packed whole: it is announced without an address, so that the receiver
 * asks for its bytes, which are packed stage by stage (transfer/staged.h) or, where it
 * cannot reach our memory, packet by packet (transfer/rndv_node.h). What arrives is
 * unpacked from the packet, or through a stage. A request knows its buffer, type and
 * count; a chunk is found by its offset alone, so chunks may move in any order and by any
 * thread.
 */
#include "p2p/internal.h"
#include "p2p/tagged.h"

#include "engine/lock.h"
#include "transfer/stage.h"

#include <stdlib.h>

/* Data that the peer, which can reach our memory, is told where to find. */
static bool list_blocks(const struct weft_comm *comm, int dest,
                        const struct weft_data *data, struct weft_data *listed)
{
    struct weft_peer *peer;
    struct weft_stage list;

    if (weft_p2p_reach(weft_comm_process(comm, dest), &peer) != WEFT_OK ||
        peer->is_self || !weft_peer_can_reach(peer)) {
        return false;
    }
    list = weft_stage_list(data);
    *listed = *data;
    listed->stage = list.name;
    listed->memory = list.at;
    return list.at != NULL;
}

/* Packs into a stage, if there is one. Drops the lock and retakes it. */
static bool pack(const struct weft_data *data, struct weft_stage stage,
                 struct weft_data *packed)
{
    bool is_progress_thread;

    if (stage.at == NULL) {
        return false;
    }
    is_progress_thread =
        weft_engine_drop_lock(); /* a schedule may send on the progress thread */
    weft_data_pack(data, stage.at);
    weft_engine_retake_lock(is_progress_thread);
    *packed = (struct weft_data){
        .buffer = stage.at,
        .bytes = data->bytes,
        .stage = stage.name,
        .memory = stage.at,
    };
    return true;
}

/* Data that fit into a stage but not into a packet. Drops the lock and retakes it. */
static bool pack_whole(const struct weft_comm *comm, int dest,
                       const struct weft_data *data, struct weft_data *packed)
{
    struct weft_stage stage = {0};
    struct weft_peer *peer;

    if (data->bytes > WEFT_STAGE_BYTES) {
        return false;
    }
    if (weft_p2p_reach(weft_comm_process(comm, dest), &peer) == WEFT_OK &&
        weft_peer_is_on_node(peer)) {
        stage = weft_stage_take_shared();
    }
    if (stage.at == NULL) {
        stage.at = malloc(data->bytes);
    }
    return pack(data, stage, packed);
}

/* How the data travel; what that takes is in `memory`, until weft_p2p_give_packed(). A
 * network that matches takes them packed, of any length. */
static struct weft_data prepare(const struct weft_comm *comm, int dest,
                                const struct weft_data *data, unsigned flags)
{
    struct weft_data prepared = *data;

    if (weft_p2p_is_tagged(flags & (WEFT_PLANES - 1))) {
        (void)pack(data, (struct weft_stage){.at = malloc(data->bytes)}, &prepared);
        return prepared;
    }
    if (data->bytes <= WEFT_EAGER_MAX || list_blocks(comm, dest, data, &prepared) ||
        pack_whole(comm, dest, data, &prepared)) {
        return prepared;
    }
    return *data;
}

/* What was taken goes with the request, or back if there is none that needs it. */
static void hand_over(struct weft_p2p_request *send, const struct weft_data *prepared)
{
    if (send == NULL || weft_request_is_complete(&send->base)) {
        weft_p2p_give_packed(prepared->memory, prepared->stage);
    } else {
        send->data.memory = prepared->memory;
    }
}

/* Packs a message that fits into one packet on the stack. */
static __attribute__((noinline)) enum weft_rc send_small(const struct weft_comm *comm,
                                                         int dest, int tag,
                                                         const struct weft_data *data,
                                                         unsigned flags)
{
    uint8_t small[WEFT_EAGER_MAX];

    weft_data_pack(data, small);
    return weft_send(comm, dest, tag, small, data->bytes, flags);
}

enum weft_rc weft_send_data(const struct weft_comm *comm, int dest, int tag,
                            const struct weft_data *data, unsigned flags)
{
    struct weft_data prepared;
    enum weft_rc rc;

    if (data->type == NULL) {
        return weft_send(comm, dest, tag, data->buffer, data->bytes, flags);
    }
    if (data->bytes <= WEFT_EAGER_MAX) {
        return send_small(comm, dest, tag, data, flags);
    }
    weft_lock();
    prepared = prepare(comm, dest, data, flags);
    rc = weft_p2p_send_and_wait(comm, dest, tag, &prepared, flags);
    weft_p2p_give_packed(prepared.memory, prepared.stage);
    weft_unlock();
    return rc;
}

enum weft_rc weft_isend_data_locked(struct weft_comm *comm, int dest, int tag,
                                    const struct weft_data *data, unsigned flags,
                                    struct weft_request **out)
{
    struct weft_data prepared;
    struct weft_p2p_request *send;
    enum weft_rc rc;

    if (weft_likely(data->type == NULL)) {
        return weft_isend_locked(comm, dest, tag, data->buffer, data->bytes, flags, out);
    }
    prepared = prepare(comm, dest, data, flags);
    rc = weft_p2p_send_slow(comm, dest, tag, &prepared, flags, false, &send);
    hand_over(send, &prepared);
    *out = &weft_request_sent;
    if (send != NULL) {
        weft_request_set_comm(&send->base, comm);
        weft_request_hand_out(&send->base);
        *out = &send->base;
    }
    return rc;
}

enum weft_rc weft_isend_data(struct weft_comm *comm, int dest, int tag,
                             const struct weft_data *data, unsigned flags,
                             struct weft_request **out)
{
    enum weft_rc rc;

    if (data->type == NULL) {
        return weft_isend(comm, dest, tag, data->buffer, data->bytes, flags, out);
    }
    weft_lock();
    rc = weft_isend_data_locked(comm, dest, tag, data, flags, out);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

enum weft_rc weft_p2p_send_data_with_request(struct weft_p2p_request *send,
                                             const struct weft_comm *comm, int dest,
                                             int tag, const struct weft_data *data,
                                             unsigned flags)
{
    const struct weft_data prepared = prepare(comm, dest, data, flags);
    const enum weft_rc rc =
        weft_p2p_send_with_request(send, comm, dest, tag, &prepared, flags);

    hand_over(rc == WEFT_OK ? send : NULL, &prepared);
    return rc;
}
