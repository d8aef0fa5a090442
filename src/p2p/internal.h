/*
 * internal.h - what the files of this room share. All functions need the lock, unless
 * they say otherwise.
 *
 *   state.c       the room's state, first contact (state.h)
 *   request.c     requests as such (request.h)
 *   finish.c      the end of a receive
 *   send.c        the way of a small message out, the backlog
 *   recv.c        posting, the way of a small message in
 *   arrive.c      packets that have arrived
 *   probe.c       looking at messages that wait, taking them apart (probe.h)
 *   long.c        long messages, by transfers (transfer/transfer.h)
 *   layout.c      sends of data that are not contiguous
 *   persistent.c  operations that are started again and again
 *   buffered.c    sends in buffered mode, and the buffers attached for them (buffered.h)
 *   space.c       room in such a buffer (space.h)
 *   tagged.c      messages that the network matches (tagged.h, tag_bits.h)
 *   wait.c        waiting for requests
 *   failed.c      processes that have failed: what waits for one gets an error
 *   failed_members.c  which members of a communicator have failed
 *   counts.c      what went through, for those who ask (counts.h)
 */
#ifndef WEFT_P2P_INTERNAL_H
#define WEFT_P2P_INTERNAL_H

#include "engine/engine.h"
#include "node/doorbell.h"
#include "p2p/p2p.h"
#include "p2p/request.h"
#include "p2p/state.h"
#include "transfer/offer_net.h"

/* The engine hands our kinds of packets to arrive.c. */
void weft_p2p_register_kinds(void);

/* Takes a packet DATA whose bytes lie in pieces, or answers false. */
bool weft_p2p_scatter(struct weft_peer *from, const struct weft_header *header,
                      const struct iovec *pieces, size_t count, size_t len);

/* A message reaches the receive that it matches; `data` is what came after the header. */
void weft_p2p_deliver(struct weft_p2p_request *recv, struct weft_peer *from,
                      const struct weft_header *header, const void *data, size_t len);

/*
 * Long messages (long.c). A send request gets its transfer; true: it has begun, by an
 * offer of the receiver's, or could not. Else it is tried; WEFT_AGAIN: no room.
 */
bool weft_p2p_start_long(struct weft_p2p_request *send, bool is_blocking);
enum weft_rc weft_p2p_try_long(struct weft_p2p_request *send);

/* Ends a send that is not at work, with a transfer or without. */
void weft_p2p_end_send(struct weft_p2p_request *send, enum weft_rc rc);

/* A receive has met an announcement; `data` is what came after the header. */
void weft_p2p_start_transfer(struct weft_p2p_request *recv, struct weft_peer *peer,
                             const struct weft_header *header, const void *data,
                             size_t len);

/* While WEFT_CHECKSUM is set. */
void weft_p2p_set_checksum(bool has_checksum);

/* Does a receive from `source` in this plane depend on all ranks of its communicator? If
 * not, it depends only on `source`. */
bool weft_p2p_is_on_all(uint32_t plane, int source);

/* Does this message belong to a collective that was revoked, or is it one that
 * weft_p2p_drop_next() has named? No rank will receive it. */
bool weft_p2p_is_dropped(const struct weft_header *header);

/* weft_p2p_drop_next() of a message that has not come. */
void weft_p2p_note_unwanted(uint32_t context, int source, int tag);

/* Discards a message that no rank will receive, and completes its send at the sender. */
void weft_p2p_drop(struct weft_peer *from, const struct weft_header *header,
                   const void *data);

/* Does this message belong to a collective on a communicator with a failed member? Such
 * a collective cannot complete. */
bool weft_p2p_has_failed_member(const struct weft_header *header);

/* Completes, with an error, the requests that wait for failed processes. */
void weft_p2p_fail_requests(void);

/* Completes, with an error, a receive that waits for the failed rank `source` alone. */
void weft_p2p_fail_recv(struct weft_p2p_request *recv, int source);

/*
 * Offers. The first tells the sender of a posted receive where it goes, if that is worth
 * it. The second is called when the receive has been taken for another message. The third
 * asks for an offer back that the receiver cannot take back by itself; false: it can, or
 * there is none. The fourth ends a receive that has been matched, though its sender has
 * given its offer back; false: its offer was not recalled.
 */
void weft_p2p_offer(struct weft_p2p_request *recv, bool is_blocking);
void weft_p2p_withdraw(struct weft_p2p_request *recv);
bool weft_p2p_recall(struct weft_p2p_request *recv);
bool weft_p2p_end_recalled(struct weft_p2p_request *recv);

/* A receive that no message will match, and that is released, is complete. */
void weft_p2p_complete_cancelled(struct weft_p2p_request *recv);

/* A message has gone out, which may take a receive that its receiver has offered. */
static inline void weft_p2p_note_sent(struct weft_peer *peer,
                                      const struct weft_header *header)
{
    if (weft_unlikely(peer->is_noted)) {
        weft_offer_net_note(peer, header);
    }
}

/* Fill in what was received and complete: a whole message in one packet, whose checksum
 * is compared here, and a long one, which ended with `rc`. */
void weft_p2p_finish_recv(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length);
void weft_p2p_finish_long(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length, enum weft_rc rc);

/* A small message in standard mode, if it can go out at once; WEFT_AGAIN: it cannot. */
enum weft_rc weft_p2p_try_send(const struct weft_comm *comm, int dest, int tag,
                               const void *buffer, size_t bytes);

/* A request that was taken receives a message that has arrived and that nobody else
 * gets. */
void weft_p2p_recv_message(struct weft_p2p_request *recv, const struct weft_data *into,
                           struct weft_peer *from, const struct weft_header *header,
                           const void *data);

/* A send that could not, or is not to, go out at once (send.c). */
enum weft_rc weft_p2p_send_slow(const struct weft_comm *comm, int dest, int tag,
                                const struct weft_data *data, unsigned flags,
                                bool is_spare, struct weft_p2p_request **out);
enum weft_rc weft_p2p_send_and_wait(const struct weft_comm *comm, int dest, int tag,
                                    const struct weft_data *data, unsigned flags);

/* weft_isend() and weft_irecv() with the lock held. */
WEFT_MUST_CHECK enum weft_rc weft_isend_locked(struct weft_comm *comm, int dest, int tag,
                                               const void *buffer, size_t bytes,
                                               unsigned flags, struct weft_request **out);
WEFT_MUST_CHECK enum weft_rc weft_irecv_locked(struct weft_comm *comm,
                                               enum weft_plane plane, int source, int tag,
                                               void *buffer, size_t bytes,
                                               struct weft_request **out);

/*
 * Sends and receives by a request that is there, neither complete nor outstanding, and
 * hands it out; the second may drop the lock to pack. On failure nothing has begun.
 */
enum weft_rc weft_p2p_send_with_request(struct weft_p2p_request *send,
                                        const struct weft_comm *comm, int dest, int tag,
                                        const struct weft_data *data, unsigned flags);
enum weft_rc weft_p2p_send_data_with_request(struct weft_p2p_request *send,
                                             const struct weft_comm *comm, int dest,
                                             int tag, const struct weft_data *data,
                                             unsigned flags);
enum weft_rc weft_p2p_recv_with_request(struct weft_p2p_request *recv,
                                        const struct weft_comm *comm,
                                        enum weft_plane plane, int source, int tag,
                                        const struct weft_data *data);

/* The request moves elements of the type of `data`, which it keeps. A request that was
 * just taken has none, so contiguous messages need not say so. */
void weft_p2p_set_type(struct weft_p2p_request *request, const struct weft_data *data);

/* A packed copy, or a stage, is not needed any more. */
void weft_p2p_give_packed(void *packed, uint64_t stage);

/* It is over: type, stage and copy, if it has any, are not needed any more. */
void weft_p2p_release(struct weft_p2p_request *request);

/* A request that moves nothing yet; what it was before may not have been ours. */
static inline enum weft_rc weft_p2p_take_request(struct weft_request **out)
{
    const enum weft_rc rc = weft_request_take(out);

    if (weft_likely(rc == WEFT_OK)) {
        struct weft_p2p_request *request = (struct weft_p2p_request *)*out;

        request->data.type = NULL;
        request->transfer = NULL;
        request->data.memory = NULL;
        request->data.stage = 0;
        request->memory_owner = NULL;
    }
    return rc;
}

/* A receive of `bytes` bytes, from anybody so far. */
static inline void weft_p2p_fill_recv(struct weft_p2p_request *recv, void *buffer,
                                      size_t bytes)
{
    recv->base.kind = WEFT_REQUEST_RECV;
    recv->base.event.futex = NULL;
    recv->base.is_cancelled = false;
    recv->data.buffer = buffer;
    recv->data.bytes = bytes;
    recv->peer = NULL;
}

struct weft_p2p_request *weft_p2p_take_spare(void);
void weft_p2p_give_spare(struct weft_p2p_request *request);

#endif
