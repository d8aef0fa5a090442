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
 *   rendezvous.c  long messages: announced, then fetched by one side or copied by both,
 *                 or sent in pieces where the other's memory cannot be reached
 *   layout.c      data that are not contiguous: packed and unpacked piece by piece
 *   staged.c      long messages of such data
 *   wait.c        polling, spinning, yielding, sleeping
 */
#ifndef WEFT_P2P_P2P_H
#define WEFT_P2P_P2P_H

#include "core/request.h"
#include "datatype/datatype.h"
#include "p2p/match.h"
#include "p2p/peer.h"
#include "p2p/unexpected.h"

enum weft_send_mode { WEFT_SEND_STANDARD, WEFT_SEND_SYNCHRONOUS, WEFT_SEND_READY };

/* What a request is used for outside the lock, while it waits in the list of work. */
enum weft_work {
    WEFT_WORK_NONE,
    WEFT_WORK_COPY,
    WEFT_WORK_HELP,
    WEFT_WORK_PACK,
    WEFT_WORK_TAKE,
};

/* A piece of a message that is packed for the receiver to fetch. */
enum { WEFT_WINDOW = 256 * 1024 };

struct weft_staging;

struct weft_p2p_request {
    struct weft_request base; /* first */
    struct weft_peer *peer;   /* send: to whom; receive: from whom, NULL if from anyone */
    void *buffer;             /* send: read only */
    uint64_t capacity;        /* bytes in it */
    struct weft_datatype *type; /* NULL: it is contiguous; else kept while it is needed */
    uint64_t count;             /* elements of that type */
    struct weft_staging *staging; /* staged.c; NULL: none */
    struct weft_posted posted;
    struct weft_header header;     /* send: what goes, or waits to go, in front */
    struct weft_p2p_request *next; /* in a backlog, or in the list of work */
    enum weft_work work;
    bool is_announced; /* send: it goes as an announcement */
    bool is_joint;     /* receive: the joint is one that the sender sees */

    /* Long messages. */
    struct weft_joint *joint;    /* receive: ours; send: the receiver's */
    struct weft_joint own_joint; /* where no shared one was free */
    uint32_t joint_number;
    uint32_t joint_turn;
    uint64_t other;          /* the other side's request */
    uint64_t message_length; /* receive: all of it, whatever fits */
    struct weft_peer *from;  /* receive: the sender */
};

struct weft_p2p {
    struct weft_upcalls up;
    const struct weft_transport_ops *ops;
    struct weft_transport *transport;
    struct weft_job *job;
    uint32_t me;
    bool is_open;
    bool has_checksum;
    struct weft_match match;
    struct weft_peers peers;
    struct weft_unexpected_store unexpected;
    struct weft_peer *waiting_peers; /* those with a backlog */
    struct weft_p2p_request *spare;  /* for blocking calls */
    struct weft_p2p_request *work;   /* to be done outside the lock, oldest first */
    struct weft_p2p_request *work_last;
    struct weft_p2p_request *finishing; /* receives that wait for the other's pieces */
    uint64_t polls;                     /* how often somebody began to poll */
    bool is_armed;                      /* a thread sleeps on the doorbell */
    bool is_taken_over;                 /* another thread polls in its place */
};

extern struct weft_p2p weft_p2p;

/* Over the transport `ops` (transport/registry.c). */
WEFT_MUST_CHECK enum weft_rc weft_p2p_open(const struct weft_transport_ops *ops,
                                           struct weft_job *job);
void weft_p2p_close(void);

/* Each takes the lock. `plane` is that of the context. */
WEFT_MUST_CHECK enum weft_rc weft_send(const struct weft_comm *comm,
                                       enum weft_plane plane, int dest, int tag,
                                       const void *buffer, size_t bytes,
                                       enum weft_send_mode mode);
WEFT_MUST_CHECK enum weft_rc weft_isend(struct weft_comm *comm, enum weft_plane plane,
                                        int dest, int tag, const void *buffer,
                                        size_t bytes, enum weft_send_mode mode,
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

/*
 * The same for `count` elements of a type, with at least one byte, that do not lie in one
 * block (layout.c). The type is kept alive until the operation is over.
 */
WEFT_MUST_CHECK enum weft_rc weft_send_typed(const struct weft_comm *comm,
                                             enum weft_plane plane, int dest, int tag,
                                             const void *buffer, uint64_t count,
                                             struct weft_datatype *type,
                                             enum weft_send_mode mode);
WEFT_MUST_CHECK enum weft_rc
weft_isend_typed(struct weft_comm *comm, enum weft_plane plane, int dest, int tag,
                 const void *buffer, uint64_t count, struct weft_datatype *type,
                 enum weft_send_mode mode, struct weft_request **out);
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

/* A receive from nobody: complete, and empty. */
WEFT_MUST_CHECK enum weft_rc weft_irecv_nothing(struct weft_comm *comm,
                                                struct weft_request **out);

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

/* The barrier of all ranks of the node, through the segment; serves peers meanwhile. */
void weft_p2p_barrier(void);

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
enum weft_rc weft_p2p_send_ordered(struct weft_peer *peer, struct weft_header *header,
                                   const void *data, size_t len, unsigned flags);
void weft_p2p_flush(void);
void weft_p2p_wait_for_room(struct weft_peer *peer);

/* Announces the message of a send request. WEFT_AGAIN: no room. */
enum weft_rc weft_p2p_announce(struct weft_p2p_request *send);

/* A receive has met an announcement. */
void weft_p2p_start_transfer(struct weft_p2p_request *recv, struct weft_peer *peer,
                             const struct weft_header *header,
                             const struct weft_announce *announce);
void weft_p2p_on_data(const void *data, size_t len);
void weft_p2p_on_pull(uint32_t from, const struct weft_answer *answer);
void weft_p2p_on_help(uint32_t from, const struct weft_answer *answer);
void weft_p2p_on_fetched(const struct weft_answer *answer);
void weft_p2p_look_at_finishing(void);
bool weft_p2p_push(struct weft_peer *peer);

/* Does one piece of the work that waits; drops and retakes the lock. False: none. */
bool weft_p2p_do_work(void);

/* Fills in what was received and completes. */
void weft_p2p_finish_recv(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length);

/* Says what a request moves: a contiguous buffer, or elements of a type, which it keeps.
 */
void weft_p2p_set_data(struct weft_p2p_request *request, const void *buffer, size_t bytes,
                       struct weft_datatype *type, uint64_t count);

/* The request is over: type and staging, if it has any, are not needed any more. */
void weft_p2p_forget_type(struct weft_p2p_request *request);

/* Some packed bytes from `offset` on, out of and into the buffer of a typed request. */
void weft_p2p_gather(const struct weft_p2p_request *send, uint64_t offset, void *to,
                     size_t bytes);
void weft_p2p_scatter(const struct weft_p2p_request *recv, uint64_t offset,
                      const void *from, size_t bytes);

/* The checksum of the first `bytes` packed ones. */
uint32_t weft_p2p_packed_crc(const struct weft_p2p_request *request, uint64_t bytes);

/* Fetches a piece of a message and puts it where it belongs. Without the lock. */
enum weft_rc weft_p2p_fetch_typed(const struct weft_p2p_request *recv,
                                  struct weft_endpoint *ep, const struct weft_key *key,
                                  uint64_t offset, uint64_t length);

/* A send that could not, or is not to, go out at once; with the lock (send.c). */
enum weft_rc weft_p2p_send_slow(const struct weft_comm *comm, enum weft_plane plane,
                                int dest, int tag, const void *buffer, size_t bytes,
                                struct weft_datatype *type, uint64_t count,
                                enum weft_send_mode mode, bool is_spare,
                                struct weft_p2p_request **out);
enum weft_rc weft_p2p_send_and_wait(const struct weft_comm *comm, enum weft_plane plane,
                                    int dest, int tag, const void *buffer, size_t bytes,
                                    struct weft_datatype *type, uint64_t count,
                                    enum weft_send_mode mode);

/* Memory for WEFT_WINDOW bytes, or NULL; a few are kept until the end. */
void *weft_p2p_take_window(void);
void weft_p2p_give_window(void *window);
void weft_p2p_free_windows(void);

/* The sender gives a packed copy, from malloc, to its request to be freed with it. */
void weft_p2p_hang_copy(struct weft_p2p_request *send, void *copy);
void weft_p2p_free_staging(struct weft_p2p_request *request);

/* A receive has met an announcement without an address. */
void weft_p2p_start_staged(struct weft_p2p_request *recv, uint64_t length);
void weft_p2p_on_stage(const struct weft_answer *answer);
void weft_p2p_on_staged(const struct weft_answer *answer);
void weft_p2p_pack_pieces(struct weft_p2p_request *send);
void weft_p2p_take_pieces(struct weft_p2p_request *recv);

/* Of rendezvous.c: work to be done outside the lock; bytes asked for as DATA; the count
 * that ends a transfer, of one that only waits for it. */
void weft_p2p_add_work(struct weft_p2p_request *request, enum weft_work work);
void weft_p2p_pull(struct weft_p2p_request *recv, uint64_t offset, uint64_t length);
void weft_p2p_count_copied(struct weft_joint *joint, uint64_t bytes);
void weft_p2p_add_finishing(struct weft_p2p_request *recv);

struct weft_p2p_request *weft_p2p_take_spare(void);
void weft_p2p_give_spare(struct weft_p2p_request *request);
struct weft_p2p_request *weft_p2p_find(uint64_t request, enum weft_request_kind kind);

#endif
