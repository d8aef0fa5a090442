/*
 * internal.h - what the files of this room share. All functions need the lock, unless
 * they say otherwise.
 *
 *   send.c        the way of a small message out, the backlog
 *   recv.c        posting, the way of a small message in
 *   arrive.c      packets that have arrived
 *   request.c     requests as such (request.h)
 *   probe.c       looking at messages that wait, taking them apart (probe.h)
 *   rendezvous.c  long messages: announced, then fetched by one side or copied by both,
 *                 or sent in pieces where the other's memory cannot be reached
 *   layout.c      data that are not contiguous: packed and unpacked piece by piece
 *   staged.c      long messages of such data
 *   persistent.c  operations that are started again and again
 *   offer.c       a posted receive tells its sender where its message goes
 *   buffered.c    sends in buffered mode, and the buffers attached for them (buffered.h)
 *   space.c       room in such a buffer (space.h)
 *   checksum.c    whether what arrived is what was sent
 *   wait.c        polling, spinning, yielding, sleeping
 *   dead.c        processes that have ended: who waits for one gets an error
 *   attend.c      what happens while the program computes, and the helper
 *   far.c         long messages over a network
 *   network.c     the transport between nodes, and the thread that sleeps on it
 *   counts.c      what went through, for those who ask (counts.h)
 */
#ifndef WEFT_P2P_INTERNAL_H
#define WEFT_P2P_INTERNAL_H

#include "engine/engine.h"
#include "node/copy_share.h"
#include "node/doorbell.h"
#include "node/stage.h"
#include "p2p/p2p.h"
#include "p2p/request.h"
#include "p2p/state.h"
#include "transfer/iov_list.h"

/* The peer with its endpoint, made on first use; or why not. */
enum weft_rc weft_p2p_reach(uint32_t process, struct weft_peer **out);
enum weft_rc weft_p2p_reach_peer(struct weft_peer *peer);

/* The engine hands our kinds of packets to arrive.c. */
void weft_p2p_register_kinds(void);

/* A message reaches the receive that it matches; `data` is what came after the header. */
void weft_p2p_deliver(struct weft_p2p_request *recv, struct weft_peer *from,
                      const struct weft_header *header, const void *data, size_t len);

/* Announces the message of a send request. WEFT_AGAIN: no room. */
enum weft_rc weft_p2p_announce(struct weft_p2p_request *send);

/* A receive has met an announcement; `data` is what came after the header. */
void weft_p2p_start_transfer(struct weft_p2p_request *recv, struct weft_peer *peer,
                             const struct weft_header *header, const void *data,
                             size_t len);

/*
 * One for each kind of packet that answers. Each returns NULL, or in a few words what is
 * wrong with the packet, and has then done nothing. An answer to a request that is over
 * is not wrong: it is ignored.
 */
const char *weft_p2p_on_data(struct weft_peer *from, const void *data, size_t len);
const char *weft_p2p_on_pull(struct weft_peer *from, const struct weft_answer *answer);
const char *weft_p2p_on_pull_put(struct weft_peer *from,
                                 const struct weft_answer *answer);
const char *weft_p2p_on_fetched(struct weft_peer *from, const struct weft_answer *answer);
const char *weft_p2p_on_placed(struct weft_peer *from, const struct weft_answer *answer);
const char *weft_p2p_on_offer(struct weft_peer *from, const struct weft_answer *answer);
const char *weft_p2p_on_stage(struct weft_peer *from, const struct weft_answer *answer);
const char *weft_p2p_on_staged(struct weft_peer *from, const struct weft_answer *answer);

/*
 * The request that an answer of the peer `from` names: a send that was announced to it,
 * or a receive of a message that it announced. *out is NULL if there is none, or it is
 * over. Returns what is wrong, if it belongs to somebody else.
 */
const char *weft_p2p_find_announced(struct weft_peer *from, uint64_t name,
                                    struct weft_p2p_request **out);
const char *weft_p2p_find_incoming(struct weft_peer *from, uint64_t name,
                                   struct weft_p2p_request **out);

/* Over a network (far.c). A whole message, announced or not; WEFT_PENDING: the request is
 * complete when the network has it. What was lent comes back. */
enum weft_rc weft_p2p_lend_message(struct weft_p2p_request *send);
enum weft_rc weft_p2p_announce_far(struct weft_p2p_request *send, const void *head,
                                   size_t head_len);
/* Lets the receiver get the message, where that is how they go. */
void weft_p2p_expose_far(struct weft_p2p_request *send, struct weft_announce *announce);
void weft_p2p_free_ops(void);
/* Notes whether the peer has thrown away what came along. */
void weft_p2p_note_pull(struct weft_peer *peer, const struct weft_p2p_request *send,
                        const struct weft_answer *answer);
/* Sends what a PULL or PULL_PUT has asked for; false: no room now. */
bool weft_p2p_push_far(struct weft_peer *peer, struct weft_push *push);
/* A receive has met an announcement, with so many bytes along. */
void weft_p2p_start_far(struct weft_p2p_request *recv, uint64_t length, const void *along,
                        size_t along_len);
/* The same with one that can be got by `key`. */
void weft_p2p_get_far(struct weft_p2p_request *recv, uint64_t length,
                      const struct weft_key *key);
void weft_p2p_conceal(struct weft_p2p_request *request);
void weft_p2p_look_at_transfers(void);
bool weft_p2p_transfers_have_news(void);

/* A push is tried again; its peer has failed. */
enum weft_rc weft_p2p_push_again(struct weft_retry *retry);
void weft_p2p_push_failed(struct weft_retry *retry);

/* While WEFT_CHECKSUM is set. */
void weft_p2p_set_checksum(bool has_checksum);

void weft_p2p_add_transfer(struct weft_p2p_request *request);
bool weft_p2p_remove_transfer(const struct weft_p2p_request *request); /* was it one? */
void weft_p2p_add_work(struct weft_p2p_request *request);

/* A transfer that is no longer in the list is over; `rc` is not WEFT_OK: it failed. */
void weft_p2p_end_transfer(struct weft_p2p_request *request, enum weft_rc rc);

/* A message that nobody will receive, because the collective was given up: is it so? */
bool weft_p2p_is_given_up(const struct weft_header *header);

/* All that its sender gets is an end. */
void weft_p2p_drop(struct weft_peer *from, const struct weft_header *header,
                   const void *data);

/* Is it for a collective that cannot come to an end? */
bool weft_p2p_is_in_vain(const struct weft_header *header);

/* Completes what waits for the dead and could not be completed before. */
void weft_p2p_fail_requests(void);

/* A receive that waits for nobody but this rank, which has died. */
void weft_p2p_fail_recv(struct weft_p2p_request *recv, int source);
uint64_t weft_p2p_choose_piece(uint64_t length);

/* Asks the sender for bytes as DATA. */
void weft_p2p_pull(struct weft_p2p_request *recv, uint64_t offset, uint64_t length);

/* Counts bytes of a receive that are in their place. */
void weft_p2p_count(struct weft_p2p_request *recv, uint64_t bytes);

/* Tells the sender of a posted receive where it goes, if that is worth it. */
void weft_p2p_offer(struct weft_p2p_request *recv);
void weft_p2p_withdraw(struct weft_p2p_request *recv);
void weft_p2p_offer_was_claimed(struct weft_p2p_request *recv);

/* Stores the message of a send request where it is wanted; false: it is to be announced.
 */
bool weft_p2p_send_by_offer(struct weft_p2p_request *send, bool is_blocking);

/* Fills in what was received and completes. */
void weft_p2p_finish_recv(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length);

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
                                const struct weft_data *data, unsigned how, bool is_spare,
                                struct weft_p2p_request **out);
enum weft_rc weft_p2p_send_and_wait(const struct weft_comm *comm, int dest, int tag,
                                    const struct weft_data *data, unsigned how);

/*
 * Sends and receives by a request that is there, neither complete nor outstanding, and
 * hands it out; the second may drop the lock to pack. On failure nothing has begun.
 */
enum weft_rc weft_p2p_send_by(struct weft_p2p_request *send, const struct weft_comm *comm,
                              int dest, int tag, const struct weft_data *data,
                              unsigned how);
enum weft_rc weft_p2p_send_typed_by(struct weft_p2p_request *send,
                                    const struct weft_comm *comm, int dest, int tag,
                                    const struct weft_data *data, unsigned how);
enum weft_rc weft_p2p_recv_by(struct weft_p2p_request *recv, const struct weft_comm *comm,
                              enum weft_plane plane, int source, int tag,
                              const struct weft_data *data);

/* The request moves elements of the type of `data`, which it keeps. A request that was
 * just taken has none, so contiguous messages need not say so. */
void weft_p2p_set_type(struct weft_p2p_request *request, const struct weft_data *data);

/* It is over: type, stages and copy, if it has any, are not needed any more. */
void weft_p2p_forget_type(struct weft_p2p_request *request);

/* A send from an attached buffer is over: its copy is not needed any more (buffered.c).
 */
void weft_buffer_give_back(struct weft_p2p_request *send);

/* Memory for WEFT_STAGE_BYTES bytes, and what a peer is told: an address or a stage. */
struct weft_stage {
    void *at; /* NULL: there is none */
    uint64_t name;
};

struct weft_stage weft_p2p_take_stage(void);
struct weft_stage weft_p2p_take_shared_stage(void);
void weft_p2p_give_stage(struct weft_stage stage);
void weft_p2p_free_stages(void);

/* The list of data in long blocks, in a stage that peers see; `at` is NULL if the blocks
 * are short, or there is no stage. */
struct weft_stage weft_p2p_make_list(const struct weft_data *data);

/* What is in the place that a peer has named: an address, or a list in a stage. */
struct weft_remote_data weft_p2p_remote_data(const struct weft_peer *peer,
                                             uint64_t place);

static inline bool weft_p2p_is_list(uint64_t place)
{
    return (place & WEFT_IN_STAGE) != 0 && (place & WEFT_IS_LIST) != 0;
}

static inline bool weft_p2p_is_packed(uint64_t place)
{
    return (place & WEFT_IN_STAGE) != 0 && (place & WEFT_IS_LIST) == 0;
}

/* Can `length` bytes be where a peer says that they are: an address of its, or a stage
 * that we see? */
bool weft_p2p_is_place(const struct weft_peer *peer, uint64_t place, uint64_t length);

/* Where we see bytes in a stage of the peer's transport; NULL: they are not in one. */
const void *weft_p2p_see_stage(const struct weft_peer *peer, uint64_t name);

/*
 * A receive, whose share is open and has no pieces, has met an announcement of a message
 * that is not contiguous on one side or both. `source` is where it can be fetched from,
 * or 0: it is to be packed into stages.
 */
void weft_p2p_start_staged(struct weft_p2p_request *recv, uint64_t source,
                           uint64_t length);
void weft_p2p_do_staged(struct weft_p2p_request *request);
void weft_p2p_free_staging(struct weft_p2p_request *request);

/* A request that moves nothing yet; what it was before may not have been ours. */
static inline enum weft_rc weft_p2p_take_request(struct weft_request **out)
{
    const enum weft_rc rc = weft_request_take(out);

    if (weft_likely(rc == WEFT_OK)) {
        struct weft_p2p_request *request = (struct weft_p2p_request *)*out;

        request->data.type = NULL;
        request->staging = NULL;
        request->data.memory = NULL;
        request->data.stage = 0;
        request->lender = NULL;
    }
    return rc;
}

/* Does it share this node's memory, so that it sees our stages? */
static inline bool weft_p2p_is_near(const struct weft_peer *peer)
{
    return peer->ep != NULL && (peer->ep->ops->caps & WEFT_CAP_SAME_NODE) != 0;
}

/* Is it reached by a network? */
static inline bool weft_p2p_is_far(const struct weft_peer *peer)
{
    return peer->ep != NULL && (peer->ep->ops->caps & WEFT_CAP_SAME_NODE) == 0;
}

struct weft_p2p_request *weft_p2p_take_spare(void);
void weft_p2p_give_spare(struct weft_p2p_request *request);
struct weft_p2p_request *weft_p2p_find(uint64_t request, enum weft_request_kind kind);

#endif
