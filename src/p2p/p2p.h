/*
 * p2p.h - messages between two processes: what the rooms above may use.
 *
 * The functions trust their arguments: bindings/ have checked them. Those that say so
 * take the lock themselves; none returns WEFT_AGAIN. An operation without space in its
 * transport waits in its peer's backlog, in order, and goes out when a thread polls.
 *
 * A contiguous message has calls with a buffer and its bytes, so that all arguments stay
 * in registers. The calls with `struct weft_data` take any message; a type in it is kept
 * alive until the operation is over.
 *
 * internal.h is for the files of this room, and names them.
 */
#ifndef WEFT_P2P_P2P_H
#define WEFT_P2P_P2P_H

#include "core/request.h"
#include "engine/engine.h"
#include "engine/wait.h"
#include "engine/work.h"
#include "transfer/data.h"
#include "transport/transport.h"
#include "wireup/trace.h"

/* How a message is sent: a mode, and the plane of its context; one argument, so that all
 * of them stay in registers. */
enum weft_send_mode {
    WEFT_SEND_STANDARD = 0,
    WEFT_SEND_SYNCHRONOUS = WEFT_PLANES,
    WEFT_SEND_READY = 2 * WEFT_PLANES,
    WEFT_SEND_BUFFERED = 3 * WEFT_PLANES, /* of a persistent send; else see buffered.h */
};

/*
 * With the lock, which is dropped if this fails. Over these transports, in the order in
 * which a new peer tries them; NULL ends them (transport/registry.c). The second without
 * the lock.
 */
WEFT_MUST_CHECK enum weft_rc
weft_p2p_open(const struct weft_packet_ops *const *transports, struct weft_job *job);
void weft_p2p_close(void);

/* With the lock: the peer with its way out, made on first use; or why not. */
WEFT_MUST_CHECK enum weft_rc weft_p2p_reach(uint64_t process, struct weft_peer **out);

/* Each takes the lock. `flags` is a mode | a plane. */
WEFT_MUST_CHECK enum weft_rc weft_send(const struct weft_comm *comm, int dest, int tag,
                                       const void *buffer, size_t bytes, unsigned flags);
WEFT_MUST_CHECK enum weft_rc weft_isend(struct weft_comm *comm, int dest, int tag,
                                        const void *buffer, size_t bytes, unsigned flags,
                                        struct weft_request **out);

/* With the lock: a message for which weft_send_small() has returned WEFT_AGAIN. The
 * second leaves *out alone if the message went out without a request. */
WEFT_MUST_CHECK enum weft_rc weft_send_block(const struct weft_comm *comm, int dest,
                                             int tag, const void *buffer, size_t bytes,
                                             unsigned flags);
WEFT_MUST_CHECK enum weft_rc weft_isend_block(struct weft_comm *comm, int dest, int tag,
                                              const void *buffer, size_t bytes,
                                              unsigned flags, struct weft_request **out);

/* The result of a blocking receive. */
struct weft_received {
    int source;
    int tag;
    uint64_t bytes;
};

WEFT_MUST_CHECK enum weft_rc weft_recv(const struct weft_comm *comm,
                                       enum weft_plane plane, int source, int tag,
                                       void *buffer, size_t bytes,
                                       struct weft_received *received);
/* weft_recv() for a call of the program, on the plane of messages, of less than 4 GiB. */
WEFT_MUST_CHECK enum weft_rc weft_recv_call(const struct weft_comm *comm,
                                            enum weft_call_number call, int source,
                                            int tag, void *buffer, size_t bytes,
                                            struct weft_received *received,
                                            const void *site);
WEFT_MUST_CHECK enum weft_rc weft_irecv(struct weft_comm *comm, enum weft_plane plane,
                                        int source, int tag, void *buffer, size_t bytes,
                                        struct weft_request **out);
/* With the lock: a receive on the plane of messages. */
WEFT_MUST_CHECK enum weft_rc weft_irecv_block(struct weft_comm *comm, int source, int tag,
                                              void *buffer, size_t bytes,
                                              struct weft_request **out);

/* The four calls for data of any layout. Each takes the lock. */
WEFT_MUST_CHECK enum weft_rc weft_send_data(const struct weft_comm *comm, int dest,
                                            int tag, const struct weft_data *data,
                                            unsigned flags);
WEFT_MUST_CHECK enum weft_rc weft_isend_data(struct weft_comm *comm, int dest, int tag,
                                             const struct weft_data *data, unsigned flags,
                                             struct weft_request **out);
WEFT_MUST_CHECK enum weft_rc weft_recv_data(const struct weft_comm *comm,
                                            enum weft_plane plane, int source, int tag,
                                            const struct weft_data *data,
                                            struct weft_received *received);
WEFT_MUST_CHECK enum weft_rc weft_irecv_data(struct weft_comm *comm,
                                             enum weft_plane plane, int source, int tag,
                                             const struct weft_data *data,
                                             struct weft_request **out);

/* Start a send or a receive of data of any layout with the lock held, for schedules. The
 * first may drop the lock for a while, to pack. On failure nothing has begun. */
WEFT_MUST_CHECK enum weft_rc weft_isend_data_locked(struct weft_comm *comm, int dest,
                                                    int tag, const struct weft_data *data,
                                                    unsigned flags,
                                                    struct weft_request **out);
WEFT_MUST_CHECK enum weft_rc weft_irecv_data_locked(struct weft_comm *comm,
                                                    enum weft_plane plane, int source,
                                                    int tag, const struct weft_data *data,
                                                    struct weft_request **out);

/* A receive from nobody: complete, and empty; `comm` may be NULL. */
WEFT_MUST_CHECK enum weft_rc weft_irecv_nothing(struct weft_comm *comm,
                                                struct weft_request **out);

/*
 * An inactive request that sends or receives as often as it is started. The type is kept
 * until the request is freed; MPI_PROC_NULL is a peer too. Each takes the lock.
 */
WEFT_MUST_CHECK enum weft_rc weft_send_init(struct weft_comm *comm, int dest, int tag,
                                            const struct weft_data *data, unsigned flags,
                                            struct weft_request **out);
WEFT_MUST_CHECK enum weft_rc weft_recv_init(struct weft_comm *comm, int source, int tag,
                                            const struct weft_data *data,
                                            struct weft_request **out);

/*
 * With the lock: takes a posted receive back, so that no message will match it; the
 * caller completes or frees it. False: it is too late, or no receive; or its sender, to
 * whom it was offered over a network, is asked, and the receive is complete, by its
 * message or as cancelled, when that has answered.
 */
bool weft_p2p_cancel(struct weft_request *request);

/* What a thread waits for that waits for this send or receive, in this MPI function. */
struct weft_wait_reason weft_p2p_wait_reason(const struct weft_request *request,
                                             const char *call);

/* Returns when the request is complete. Takes the lock; the caller frees the request. */
void weft_wait(struct weft_request *request, const struct weft_wait_reason *why);

/* Returns when the request is complete; the lock is held at both ends. */
void weft_wait_locked(struct weft_request *request, const struct weft_wait_reason *why);

/*
 * With the lock. The first finds a rank of `comm` that has failed, from `first` on. The
 * second finds the failed rank because of which a receive from `source`, which may be
 * any, can never complete. Both return MPI_UNDEFINED if there is none.
 */
int weft_p2p_failed_from(const struct weft_comm *comm, int first);
int weft_p2p_failed_source(const struct weft_comm *comm, enum weft_plane plane,
                           int source);
/* It may be alive, but the network does not lead there any more. The second: why, of a
 * member of `comm` to whom that has happened, or NULL. */
bool weft_p2p_is_lost(uint64_t process);
const char *weft_p2p_why_lost(const struct weft_comm *comm);

/*
 * This rank revokes its collectives on `comm`, those under way and all later ones,
 * because a member has died: what others have sent or will send for them is dropped, so
 * that nobody waits for it to be received. If a member was lost, others may not know, and
 * would wait for this rank: then the job ends. With the lock.
 */
void weft_p2p_revoke(struct weft_comm *comm);

/*
 * With the lock: the same for the context of a communicator that this process has no
 * longer, while members still announce messages of its collectives. `is_left` is asked
 * of such a context, without the bits of the plane, when a message comes later.
 */
void weft_p2p_revoke_left(uint32_t context);
void weft_p2p_on_left(bool (*is_left)(uint32_t context));

/*
 * With the lock: this process does not receive the next message of this source, context
 * and tag, which may have come. Its sender learns that it is over.
 */
void weft_p2p_drop_next(uint32_t context, int source, int tag);

/*
 * After a failure `refuses` is asked, with the lock, of messages that meet no receive and
 * of those that wait for one. If it returns true the message is dropped, as above. It
 * must not send anything that waits for an answer.
 */
void weft_p2p_on_refuse(bool (*refuses)(const struct weft_header *header));

/*
 * Waits until all sends are complete whose requests the user has freed: those on `comm`,
 * or, if it is NULL, on any communicator. Takes the lock.
 */
void weft_p2p_wait_detached(const struct weft_comm *comm, const char *call);
/* Returns when any of them is complete, or at once if none is given. */
void weft_wait_any(struct weft_request *const *requests, int count,
                   const struct weft_wait_reason *why);

/*
 * Frees the messages that wait on this context and that nobody can receive any more;
 * those that were only announced stay, as their senders wait. With the lock.
 */
void weft_p2p_drop_waiting(uint32_t context);

#endif
