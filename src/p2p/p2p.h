/*
 * p2p.h - messages between two processes.
 *
 * The functions below trust their arguments: bindings/ have checked them. `bytes` is the
 * size of a contiguous buffer; what lies otherwise has functions of its own (_typed).
 * Those that say so take the lock themselves; nothing here returns WEFT_AGAIN. An
 * operation without space in its transport waits in its peer's backlog, in order, and
 * goes out when somebody polls.
 *
 *   send.c        the way of a small message out, the backlog
 *   recv.c        posting, arrivals, the way of a small message in
 *   probe.c       looking at messages that wait, taking them apart (probe.h)
 *   rendezvous.c  long messages: announced, then fetched by one side or copied by both,
 *                 or sent in pieces where the other's memory cannot be reached
 *   layout.c      data that are not contiguous: packed and unpacked piece by piece
 *   staged.c      long messages of such data
 *   persistent.c  operations that are started again and again
 *   partitioned.c messages that become ready and arrive in parts (partitioned.h)
 *   sendrecv.c    one request for a send and a receive
 *   offer.c       a posted receive tells its sender where its message goes
 *   buffered.c    sends in buffered mode, and the buffers attached for them (buffered.h)
 *   space.c       room in such a buffer (space.h)
 *   checksum.c    whether what arrived is what was sent
 *   wait.c        polling, spinning, yielding, sleeping
 *   accessible.c  buffers that cannot be read or written
 *   dead.c        processes that have ended: who waits for one gets an error
 *   attend.c      what happens while the program computes, and the helper
 *   far.c         long messages over a network
 *   network.c     the transport between nodes, and the thread that sleeps on it
 *   counts.c      what went through, for those who ask (counts.h)
 */
#ifndef WEFT_P2P_P2P_H
#define WEFT_P2P_P2P_H

#include "core/request.h"
#include "datatype/datatype.h"
#include "node/joint.h"
#include "match/match.h"
#include "p2p/peer.h"
#include "match/unexpected.h"

/* How a message is sent: a mode, and the plane of its context; one argument, so that all
 * of them stay in registers. */
enum weft_send_mode {
    WEFT_SEND_STANDARD = 0,
    WEFT_SEND_SYNCHRONOUS = WEFT_PLANES,
    WEFT_SEND_READY = 2 * WEFT_PLANES,
    WEFT_SEND_BUFFERED = 3 * WEFT_PLANES, /* of a persistent send; else see buffered.h */
};

/* Copying is done outside the lock: in the list of work, or by a thread right now. */
enum weft_work { WEFT_WORK_NONE, WEFT_WORK_WAITING, WEFT_WORK_RUNNING };

/*
 * What is packed, and then unpacked, at once of a message that is longer than a window:
 * two packets for each cost little beside it, and two of them stay in the cache.
 */
enum { WEFT_PIECE = 64 * 1024 };

struct weft_staging;

struct weft_p2p_request {
    struct weft_request base; /* first */
    struct weft_peer *peer;   /* send: to whom; receive: from whom, NULL if from anyone */
    void *buffer;             /* send: read only */
    uint64_t capacity;        /* bytes in it */
    struct weft_datatype *type; /* NULL: it is contiguous; else kept until it is over */
    uint64_t count;             /* elements of that type */
    uint64_t skip;              /* packed bytes of them that are not ours to move */
    struct weft_posted posted;
    struct weft_header header;     /* send: what goes, or waits to go, in front */
    struct weft_p2p_request *next; /* in a backlog, or in the list of work */
    enum weft_work work;
    bool is_announced;  /* send: it goes as an announcement */
    bool is_along;      /* send: and its first bytes with it, over a network */
    bool awaits_answer; /* send: the announcement went out: its receiver may answer */

    /* Long messages. */
    struct weft_p2p_request *next_transfer; /* in the list of transfers */
    struct weft_joint *joint;               /* ours, the peer's, or own_joint */
    struct weft_joint own_joint;            /* where there is none that both see */
    uint32_t joint_number;                  /* of one that we own */
    uint32_t joint_turn;
    bool is_joint_ours;           /* taken from our transport, to be given back */
    bool is_joint_shared;         /* the peer sees it too */
    bool is_pulled;               /* receive: bytes of it come as DATA */
    uint64_t other;               /* receive: the sender's request */
    uint64_t message_length;      /* receive: all of it, whatever fits */
    struct weft_peer *from;       /* receive: the sender, once it is known, or NULL */
    struct weft_staging *staging; /* of one that goes through windows, or NULL */
    void *packed;                 /* a copy or list to be given back with it, or NULL */
    uint64_t window;              /* what the peer is told in place of an address, or 0 */
    struct weft_buffer *lender;   /* of that copy; NULL: it was allocated, or a window */
    uint64_t lent_as;             /* its number there */
    struct weft_endpoint *way;    /* send: its stream over a network; NULL: none yet */
    uint32_t lent;                /* send: parts that the network still needs */
    void *exposed;                /* memory that a sender puts into, a receiver gets */
    struct weft_key key;          /* send: to that memory */
    bool is_told;                 /* receive: the sender needs no FETCHED */
    bool is_sent_in_parts;        /* receive: the sender's data are in no one place */

    /* Of a long message, where WEFT_CHECKSUM is set (checksum.h). */
    uint32_t sums[WEFT_SUM_BLOCKS];    /* as sent */
    uint32_t arrived[WEFT_SUM_BLOCKS]; /* receive: where it lies now */
    bool owes_sums;                    /* send: they are not made yet, or not sent */
    bool awaits_sums;                  /* receive: the sender owes them */
    bool is_summed;                    /* receive: `arrived` is set */
};

struct weft_p2p {
    struct weft_upcalls up;
    const struct weft_transport_ops *ops;
    struct weft_transport *transport;
    const struct weft_transport_ops *net_ops; /* NULL: no network is open */
    struct weft_transport *net;
    bool is_net_only;       /* inside the node too */
    bool is_net_due;        /* the next poll looks at the network */
    bool is_net_busy;       /* every poll does: what came last came from there */
    uint32_t polls_of_node; /* since the network was polled */
    struct weft_job *job;
    uint32_t me;
    bool is_open;
    bool has_checksum;
    struct weft_match match;
    struct weft_ranks peers;
    struct weft_unexpected_store unexpected;
    struct weft_probe *probes;       /* that wait for a message (probe.h) */
    struct weft_peer *waiting_peers; /* those with a backlog */
    struct weft_p2p_request *spare;  /* for blocking calls */
    struct weft_p2p_request *work;   /* to be done outside the lock, oldest first */
    struct weft_p2p_request *work_last;
    struct weft_p2p_request *transfers; /* long messages that are not over */
    uint32_t incoming;                  /* of them, receives */
    uint32_t awaits_data;               /* of those, what comes in pieces */
    uint32_t waiting_threads;           /* threads of the program that wait, and poll */
    bool has_progress;                  /* messages advance also outside MPI */
    bool is_helper_inside;              /* the helper has the lock */
    _Atomic bool is_attending;          /* the helper is responsible (attend.c) */
    uint64_t helper_wakeups;            /* written by the helper */
    uint64_t polls;                     /* how often somebody began to poll */
    const _Atomic uint32_t *deaths;     /* counted by the launcher */
    uint32_t deaths_seen;               /* of them */
    uint32_t dead_count;                /* peers that are dead */
    bool has_unburied;     /* a request of a dead peer is at work, outside the lock */
    bool is_in_barrier;    /* of all ranks of the node */
    uint32_t barrier_turn; /* which one */
    bool is_armed;         /* a thread sleeps on the doorbell */
    bool is_room_awaited;  /* and it sleeps until no peer has a backlog */
    bool has_new_backlog;  /* a peer has got one since somebody last armed for it */
    bool is_taken_over;    /* another thread polls in its place */
    uint64_t sleeps;       /* how often a thread did */
    uint64_t pieces_sent;  /* DATA packets: they are no messages */
    uint64_t pieces_received;
    uint64_t bytes_thrown_away; /* that came with announcements nobody waited for */
};

extern struct weft_p2p weft_p2p;

/*
 * Over the transport `ops` inside the node, and `net`, if it is not NULL, to other nodes
 * or, if it is to be the only one, to all ranks (transport/registry.c).
 */
WEFT_MUST_CHECK enum weft_rc weft_p2p_open(const struct weft_transport_ops *ops,
                                           const struct weft_transport_ops *net,
                                           bool is_net_only, struct weft_job *job);
void weft_p2p_close(void);

/* Tells in the log how often this process was woken; when the helper has ended. */
void weft_p2p_log_wakeups(void);

/* Each takes the lock. `how` is a mode | a plane. */
WEFT_MUST_CHECK enum weft_rc weft_send(const struct weft_comm *comm, int dest, int tag,
                                       const void *buffer, size_t bytes, unsigned how);
WEFT_MUST_CHECK enum weft_rc weft_isend(struct weft_comm *comm, int dest, int tag,
                                        const void *buffer, size_t bytes, unsigned how,
                                        struct weft_request **out);

/* What a blocking receive tells; as in a request. */
struct weft_received {
    int source;
    int tag;
    uint64_t bytes;
};

WEFT_MUST_CHECK enum weft_rc weft_recv(const struct weft_comm *comm,
                                       enum weft_plane plane, int source, int tag,
                                       void *buffer, size_t bytes,
                                       struct weft_received *received);
WEFT_MUST_CHECK enum weft_rc weft_irecv(struct weft_comm *comm, enum weft_plane plane,
                                        int source, int tag, void *buffer, size_t bytes,
                                        struct weft_request **out);

/* The same with the lock held, for schedules. */
WEFT_MUST_CHECK enum weft_rc weft_isend_locked(struct weft_comm *comm, int dest, int tag,
                                               const void *buffer, size_t bytes,
                                               unsigned how, struct weft_request **out);
WEFT_MUST_CHECK enum weft_rc weft_irecv_locked(struct weft_comm *comm,
                                               enum weft_plane plane, int source, int tag,
                                               void *buffer, size_t bytes,
                                               struct weft_request **out);

/*
 * The same for `count` elements of a type, with at least one byte, that do not lie in one
 * block (layout.c). The type is kept alive until the operation is over.
 */
WEFT_MUST_CHECK enum weft_rc weft_send_typed(const struct weft_comm *comm, int dest,
                                             int tag, const void *buffer, uint64_t count,
                                             struct weft_datatype *type, unsigned how);
WEFT_MUST_CHECK enum weft_rc weft_isend_typed(struct weft_comm *comm, int dest, int tag,
                                              const void *buffer, uint64_t count,
                                              struct weft_datatype *type, unsigned how,
                                              struct weft_request **out);
WEFT_MUST_CHECK enum weft_rc weft_recv_typed(const struct weft_comm *comm,
                                             enum weft_plane plane, int source, int tag,
                                             void *buffer, uint64_t count,
                                             struct weft_datatype *type,
                                             struct weft_received *received);
WEFT_MUST_CHECK enum weft_rc weft_irecv_typed(struct weft_comm *comm,
                                              enum weft_plane plane, int source, int tag,
                                              void *buffer, uint64_t count,
                                              struct weft_datatype *type,
                                              struct weft_request **out);

/* A receive from nobody: complete, and empty; `comm` may be NULL. */
WEFT_MUST_CHECK enum weft_rc weft_irecv_nothing(struct weft_comm *comm,
                                                struct weft_request **out);

/* What a message moves: a contiguous buffer, or elements of a type. */
struct weft_data {
    const void *buffer; /* of a receive: written to */
    size_t bytes;
    struct weft_datatype *type; /* NULL: contiguous */
    uint64_t count;
    uint64_t skip;   /* packed bytes of those elements that come before `bytes` */
    uint64_t window; /* the transport's that has these bytes, or their list; or 0 */
    void *memory;    /* what was taken for that, or for a packed copy; or NULL */
};

/* `bytes` bytes in `count` elements at `buffer`: in one block, if they are. */
static inline struct weft_data weft_data_of(const void *buffer, MPI_Count count,
                                            struct weft_datatype *type, size_t bytes)
{
    if (bytes == 0 || weft_datatype_is_dense(type, count)) {
        return (struct weft_data){
            .buffer = weft_datatype_data(type, buffer),
            .bytes = bytes,
        };
    }
    return (struct weft_data){
        .buffer = buffer,
        .bytes = bytes,
        .type = type,
        .count = (uint64_t)count,
    };
}

/*
 * An inactive request that sends or receives as often as it is started. The type is kept
 * until the request is freed; MPI_PROC_NULL is a peer too. Each takes the lock.
 */
WEFT_MUST_CHECK enum weft_rc weft_send_init(struct weft_comm *comm, int dest, int tag,
                                            const struct weft_data *data, unsigned how,
                                            struct weft_request **out);
WEFT_MUST_CHECK enum weft_rc weft_recv_init(struct weft_comm *comm, int source, int tag,
                                            const struct weft_data *data,
                                            struct weft_request **out);

/*
 * One request for a receive and a send: begun, then given both, which are its from then
 * on. It is complete when both are, with the status of the receive. `copy`, or NULL, is
 * memory that the send reads, freed with it. Or undone: `recv`, or NULL, is taken back,
 * and freed. Each takes the lock.
 */
WEFT_MUST_CHECK enum weft_rc weft_both_begin(struct weft_comm *comm,
                                             struct weft_request **out);
void weft_both_join(struct weft_request *request, struct weft_request *recv,
                    struct weft_request *send, void *copy);
void weft_both_undo(struct weft_request *request, struct weft_request *recv);

/*
 * With the lock: takes a posted receive back, so that no message will match it. False: it
 * is too late, or no receive. The caller completes or frees it.
 */
bool weft_p2p_cancel(struct weft_request *request);

/* What the user calls, for those who look at a job that hangs. */
struct weft_wait_reason {
    const char *call;
    const char *comm;
    int peer;
    int tag;
    uint64_t bytes;
};

/* Returns when the request is complete. Takes the lock; the caller frees the request. */
void weft_wait(struct weft_request *request, const struct weft_wait_reason *why);

/* The same with the lock held, at both ends. */
void weft_wait_locked(struct weft_request *request, const struct weft_wait_reason *why);

/*
 * The barrier of all ranks of the node, through the segment; serves peers meanwhile.
 * WEFT_ERR_DEAD: of all that are left.
 */
WEFT_MUST_CHECK enum weft_rc weft_p2p_barrier(void);

/*
 * With the lock. A rank of `comm` that has died, from `first` on, or MPI_UNDEFINED; the
 * others: because of whom a receive from `source`, which may be any, can never come to an
 * end, and why a process has died, for messages.
 */
int weft_p2p_dead_from(const struct weft_comm *comm, int first);
int weft_p2p_dead_source(const struct weft_comm *comm, enum weft_plane plane, int source);
const char *weft_p2p_why_dead(uint32_t process);
/* What is wrong with the buffer of the last WEFT_ERR_ADDRESS. */
const char *weft_p2p_describe_buffer(char *text, size_t size);
/* It may be alive, but the network does not lead there any more. The second: why, of a
 * member of `comm` to whom that has happened, or NULL. */
bool weft_p2p_is_lost(uint32_t process);
const char *weft_p2p_why_lost(const struct weft_comm *comm);

/*
 * This rank has given up its collectives on `comm`, whose tags are below `tags`, because
 * a member has died: what others have sent or will send for them is dropped, so that
 * nobody waits for it to be received. If a member was lost, others may not know, and
 * would wait for this rank: then the job ends. Takes the lock.
 */
void weft_p2p_give_up(struct weft_comm *comm, int tags);

/* Returns when what we owe our peers has gone out. With the lock, at both ends. */
void weft_p2p_drain(void);

/* This process has ended its last use of MPI: peers over a network are told, so that the
 * end of its connections is no failure for them. With the lock. */
void weft_p2p_say_goodbye(void);

/*
 * Returns when all sends are over that the user has let go of: those on `comm`, or, if it
 * is NULL, on any communicator. Takes the lock.
 */
void weft_p2p_settle(const struct weft_comm *comm, const char *call);

/* Polls a little, without waiting. Takes the lock. */
void weft_progress(void);

/* Returns when any of them is complete, or at once if none is given. */
void weft_wait_any(struct weft_request *const *requests, int count,
                   const struct weft_wait_reason *why);

/* ---- between the files of this room; all with the lock held ---- */

/* The peer with its endpoint, made on first use; or why not. */
enum weft_rc weft_p2p_reach(uint32_t process, struct weft_peer **out);

/* A packet, to ourselves too. */
void weft_p2p_arrived(void *owner, uint32_t from, const void *header, const void *data,
                      size_t len);

void weft_p2p_send_control(struct weft_peer *peer, enum weft_packet kind,
                           const struct weft_answer *answer);
/* The same, by a stream to the peer. */
void weft_p2p_send_control_by(struct weft_peer *peer, struct weft_endpoint *way,
                              enum weft_packet kind, const struct weft_answer *answer);
enum weft_rc weft_p2p_send_ordered(struct weft_peer *peer, struct weft_header *header,
                                   const void *data, size_t len, unsigned flags);
void weft_p2p_flush(void);
void weft_p2p_set_free(struct weft_peer *peer); /* after its backlog has changed */
void weft_p2p_wait_for_room(struct weft_peer *peer);

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
const char *weft_p2p_on_data(uint32_t from, const void *data, size_t len);
const char *weft_p2p_on_pull(uint32_t from, const struct weft_answer *answer);
const char *weft_p2p_on_pull_put(uint32_t from, const struct weft_answer *answer);
const char *weft_p2p_on_fetched(uint32_t from, const struct weft_answer *answer);
const char *weft_p2p_on_placed(uint32_t from, const struct weft_answer *answer);
const char *weft_p2p_on_offer(uint32_t from, const struct weft_answer *answer);
const char *weft_p2p_on_stage(uint32_t from, const struct weft_answer *answer);
const char *weft_p2p_on_staged(uint32_t from, const struct weft_answer *answer);

/*
 * The request that an answer of the rank `from` names: a send that was announced to that
 * rank, or a receive of a message that this rank announced. *out is NULL if there is
 * none, or it is over. Returns what is wrong, if it belongs to somebody else.
 */
const char *weft_p2p_find_announced(uint32_t from, uint64_t name,
                                    struct weft_p2p_request **out);
const char *weft_p2p_find_incoming(uint32_t from, uint64_t name,
                                   struct weft_p2p_request **out);

/*
 * Ends the job: the rank `from` has sent, or written into shared memory, what no rank
 * sends. `header` is the packet's, or NULL if it is none. With or without the lock.
 */
_Noreturn void weft_p2p_reject(uint32_t from, const struct weft_header *header,
                               size_t len, const char *what);

/* Over a network (far.c). A whole message, announced or not; WEFT_PENDING: the request is
 * complete when the network has it. What was lent comes back. */
enum weft_rc weft_p2p_lend_message(struct weft_p2p_request *send);
enum weft_rc weft_p2p_announce_far(struct weft_p2p_request *send, const void *head,
                                   size_t head_len);
/* Lets the receiver get the message, where that is how they go. */
void weft_p2p_expose_far(struct weft_p2p_request *send, struct weft_announce *announce);
void weft_p2p_done(void *owner, struct weft_op *op, enum weft_rc rc);
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
bool weft_p2p_push(struct weft_peer *peer);

/* Does one piece of the work that waits; drops and retakes the lock. False: none. */
bool weft_p2p_do_work(void);

/* Around what is done outside the lock; the first tells the second who had it. */
WEFT_MUST_CHECK bool weft_p2p_drop_lock(void);
void weft_p2p_retake_lock(bool is_helper);

void weft_p2p_add_transfer(struct weft_p2p_request *request);
void weft_p2p_add_work(struct weft_p2p_request *request);
void weft_p2p_remove_work(struct weft_p2p_request *request);

/* A transfer that is no longer in the list is over; `rc` is not WEFT_OK: it failed. */
void weft_p2p_end_transfer(struct weft_p2p_request *request, enum weft_rc rc);

/*
 * Is the buffer of a long message to or from this peer not accessible? The first of a
 * send, the second of a receive of so many bytes; asked only over a network. The third:
 * bytes of a request go by packets though the peer's memory can be reached, which happens
 * if they could not be moved; ends the job if our own memory is the cause.
 */
bool weft_p2p_is_unreadable(const struct weft_peer *peer, const struct weft_data *data);
bool weft_p2p_is_unwritable(const struct weft_p2p_request *recv,
                            const struct weft_peer *peer, uint64_t length);
void weft_p2p_end_if_inaccessible(const struct weft_p2p_request *request, uint64_t offset,
                                  uint64_t length);

/* The launcher has counted deaths, or the network has lost peers, that we have not looked
 * at yet: is it so? And then. */
static inline bool weft_p2p_has_deaths(void)
{
    return weft_unlikely(atomic_load_explicit(weft_p2p.deaths, memory_order_acquire) !=
                         weft_p2p.deaths_seen);
}
void weft_p2p_notice_deaths(void);
/* The upcall: the network has lost the way to a process, which is dead to us. */
void weft_p2p_lost(void *owner, uint32_t rank, bool has_left, const char *why);

/* A message that nobody will receive, because the collective was given up: is it so? */
bool weft_p2p_is_given_up(const struct weft_header *header);

/* All that its sender gets is an end. */
void weft_p2p_drop(uint32_t from, const struct weft_header *header, const void *data);

/* Is it for a collective that cannot come to an end? */
bool weft_p2p_is_in_vain(const struct weft_header *header);

/* Completes what waits for the dead and could not be completed before. */
void weft_p2p_bury(void);

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

/* Polls, and does the work that waits; drops and retakes the lock. */
void weft_p2p_work_and_poll(void);

/* The same for a thread that looks once; takes over from one that sleeps. */
void weft_p2p_poll_as_thread(void);
void weft_p2p_poll_once(void);

/* A thread begins to wait: it polls, and no helper is needed meanwhile. */
void weft_p2p_stay(void);
void weft_p2p_leave_slow(void);

/* Ends our threads, if there are any; without the lock. They take it in one form or the
 * other, so before that changes. The next who needs them starts them again. */
void weft_p2p_stop_threads(void);

/* Starts it, if it can be; false: nobody attends while the program computes. */
bool weft_p2p_start_helper(void);
/* From the thread that sleeps on a network: something is there. */
void weft_p2p_attend_network(void);
/* From any thread: the network needs somebody, also if nobody attends. */
void weft_p2p_call_helper(void);

/*
 * Connects with every rank that is reached by the network (WEFT_CONNECT=all); returns
 * when all have, without taking any packet.
 */
enum weft_rc weft_p2p_wire_all(void);
/* The network: opened and closed with the rest, the second without the lock. */
enum weft_rc weft_p2p_open_network(const struct weft_transport_ops *ops);
void weft_p2p_stop_sleeper(void);
/* Starts the threads that a network needs, if one is open; with the lock in the form that
 * it keeps. */
void weft_p2p_start_network(void);
void weft_p2p_close_network(void);
/* Lets the network wake whoever is armed. WEFT_AGAIN: something is there, poll. */
enum weft_rc weft_p2p_arm_network(void);
void weft_p2p_poll_network(int budget);

/* Does something wait for room of which nobody will tell? */
bool weft_p2p_needs_tick(void);

/*
 * A thread is about to leave MPI: what is outstanding is left to a thread that waits in
 * MPI, or to the helper.
 */
static inline void weft_p2p_leave(void)
{
    if (weft_unlikely(
            weft_outstanding > 0 &&
            (!atomic_load_explicit(&weft_p2p.is_attending, memory_order_relaxed) ||
             weft_schedules_ready != NULL || weft_p2p.work != NULL ||
             weft_p2p.waiting_peers != NULL || weft_p2p.awaits_data > 0 ||
             weft_schedule_steps > 0))) {
        weft_p2p_leave_slow();
    }
}

/*
 * Frees the messages that wait on this context and that nobody can receive any more;
 * those that were only announced stay, as their senders wait. With the lock.
 */
void weft_p2p_drop_waiting(uint32_t context);

/* Fills in what was received and completes. */
void weft_p2p_finish_recv(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length);

/* Bytes of a typed request from `offset` on, and a cursor at the first byte of data. */
struct weft_data weft_p2p_part(const struct weft_p2p_request *request, uint64_t offset,
                               uint64_t bytes);
struct weft_cursor;
void weft_p2p_start_cursor(struct weft_cursor *cursor, const struct weft_data *data);

/* All of it, in one block; without the lock if that takes long. */
void weft_p2p_pack(const struct weft_data *data, void *to);

/* A small message in standard mode, if it can go out at once; WEFT_AGAIN: it cannot. */
enum weft_rc weft_p2p_try_send(const struct weft_comm *comm, int dest, int tag,
                               const void *buffer, size_t bytes);

/* A request that was taken, with its type if it has one, receives a message that has
 * arrived and that nobody else gets. */
void weft_p2p_recv_message(struct weft_p2p_request *recv, void *buffer, size_t bytes,
                           uint32_t from, const struct weft_header *header,
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

/* The request moves elements of a type, which it keeps. One that was just taken has none,
 * so contiguous messages need not say so. */
void weft_p2p_set_type(struct weft_p2p_request *request, struct weft_datatype *type,
                       uint64_t count);

/* It is over: type, windows and copy, if it has any, are not needed any more. */
void weft_p2p_forget_type(struct weft_p2p_request *request);

/* Some packed bytes from `offset` on, out of and into the buffer of a typed request. */
void weft_p2p_gather(const struct weft_p2p_request *send, uint64_t offset, void *to,
                     size_t bytes);
void weft_p2p_scatter(const struct weft_p2p_request *recv, uint64_t offset,
                      const void *from, size_t bytes);
/* The same into a receive's buffer, contiguous or typed. */
void weft_p2p_place(const struct weft_p2p_request *recv, uint64_t offset,
                    const void *from, size_t bytes);

/* The checksum of some packed bytes of a typed request. */
uint32_t weft_p2p_packed_crc(const struct weft_p2p_request *request, uint64_t offset,
                             uint64_t bytes);

/* Memory for WEFT_WINDOW bytes, and what a peer is told: an address or a window. */
struct weft_window {
    void *at; /* NULL: there is none */
    uint64_t name;
};

struct weft_window weft_p2p_take_window(void);
struct weft_window weft_p2p_take_shared_window(void);
void weft_p2p_give_window(struct weft_window window);
void weft_p2p_free_windows(void);

/*
 * Data in long blocks, as a list that peers see; `at` is NULL if they are not, or there
 * is no window. The second moves bytes of a request that are in the place that `peer` has
 * named: an address, or a list. `flat`, if not NULL, stands for the request's own data
 * from `offset` on. Without the lock.
 */
struct weft_window weft_p2p_make_list(const struct weft_data *data);
enum weft_rc weft_p2p_move_vectors(const struct weft_p2p_request *request,
                                   const struct weft_peer *peer, uint64_t place,
                                   uint64_t offset, uint64_t length, void *flat);

static inline bool weft_p2p_is_list(uint64_t place)
{
    return (place & WEFT_IN_WINDOW) != 0 && (place & WEFT_IS_LIST) != 0;
}

static inline bool weft_p2p_is_packed(uint64_t place)
{
    return (place & WEFT_IN_WINDOW) != 0 && (place & WEFT_IS_LIST) == 0;
}

/* Can `length` bytes be where a peer says that they are: an address of its, or a window
 * that we see? */
bool weft_p2p_is_place(const struct weft_peer *peer, uint64_t place, uint64_t length);

/* Where we see bytes in a window of the peer's transport; NULL: they are not in one. */
const void *weft_p2p_see_window(const struct weft_peer *peer, uint64_t name);

/*
 * A receive, whose joint is open and has no pieces, has met an announcement of a message
 * that is not contiguous on one side or both. `source` is where it can be fetched from,
 * or 0: it is to be packed into windows.
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

        request->type = NULL;
        request->staging = NULL;
        request->packed = NULL;
        request->window = 0;
        request->lender = NULL;
    }
    return rc;
}

/* Does it share this node's memory, so that it sees our windows? */
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
