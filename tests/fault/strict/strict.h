/*
 * strict.h - a libfabric provider that demands what network hardware demands.
 *
 * "strict" is a layer over libfabric's tcp provider: connected endpoints (FI_EP_MSG) with
 * FI_MSG and FI_RMA. The bytes move as tcp moves them; the rules are those of verbs on an
 * InfiniBand card, and whoever breaks one hears of it. A violation is one line on stderr
 * that begins with "strict:" and names call, object and cause, then abort().
 *
 * STRICT_FACE, the name of a row of face.c, gives it endpoints without connections
 * (FI_EP_RDM) instead, over tcp;ofi_rxm, with the habits of a network that has only
 * those. A row says which: what must be registered and how, room in front of packets
 * (FI_MSG_PREFIX), how little may be injected, which order is kept, whether there is
 * something to sleep on, which atomic operations there are. What a row does not promise
 * does not happen: where packets need not come in order they do not, and where a write
 * need not arrive before what is sent after it, it arrives later. Where a face says
 * nothing else, the rules below hold.
 *
 * How to use it. libfabric loads every file named *-fi.so in a directory, so a job needs
 *
 *     FI_PROVIDER_PATH=BUILD/tests/fault/strict   where strict-fi.so lies
 *     FI_PROVIDER=strict                          or the name "strict" in the hints
 *     IPATH_NO_BACKTRACE=1                        before libfabric is loaded: otherwise
 *                                                 abort() ends in exit code 1
 *
 * FI_PROVIDER hides the other core providers from programs. Without it libfabric offers
 * strict last, after tcp, net and all else that Debian's build contains; it loads those
 * in any case, which is where its 0.2 s go. Both ends of a connection should be strict,
 * since each checks its own side.
 *
 * What it demands:
 *
 * - Hints grant mr_mode FI_MR_LOCAL, VIRT_ADDR, ALLOCATED and PROV_KEY, and mode
 *   FI_CONTEXT2 and FI_RX_CQ_DATA, and ask for no more than is offered. Otherwise
 *   fi_getinfo finds nothing (-FI_ENODATA).
 * - Every buffer that is not empty has the descriptor of a live registration of this
 *   domain that covers it and permits the use: FI_SEND, FI_RECV, FI_READ or FI_WRITE. A
 *   registration is not closed while an operation uses it.
 * - What is not mapped cannot be registered (-FI_EFAULT), and STRICT_REGISTRATIONS may
 *   live in a process at once, then -FI_ENOMEM.
 * - Peers use key and virtual address. Keys are the provider's and look random. A wrong
 *   key, range or right closes the connection, as does a message longer than its
 *   receive; FI_LOG_LEVEL=warn tells the cause on the side that closed it.
 * - Every operation has a struct fi_context2 of its own, aligned as such, that overlaps
 *   no other in flight. It is overwritten when the operation is posted, again before its
 *   completion is handed out, and must not change in between.
 * - Enable comes before posting receives, reading FI_CONNECTED before posting the rest.
 * - An endpoint with a shared receive context says so when it is opened (rx_ctx_cnt is
 *   FI_SHARED_CONTEXT), has one when it is enabled (else -FI_ENORX), and receives nothing
 *   itself. The shared context stays open while endpoints are bound to it (-FI_EBUSY).
 * - Every fourth post of a process is answered with -FI_EAGAIN, as is each that finds
 *   STRICT_QUEUE_SIZE operations on that side of the endpoint, or in the shared receive
 *   context. A refused post took nothing and left the context alone. A place is free
 * again when the completion was read.
 * - A completion queue holds STRICT_CQ_SIZE entries, whatever was asked; fi_cq_attr.size
 *   says so after opening. One more that nobody has read, and the queue has overrun: a
 *   line on stderr, and -FI_EOVERRUN from then on.
 * - Private data has at most STRICT_CM_DATA_SIZE bytes, else -FI_EINVAL.
 * - A closed endpoint takes its operations and unread completions with it, but for those
 *   of a shared receive context, which go with that.
 *
 * With a face, a completion queue does not overrun (FI_RM_ENABLED): what has no room
 * waits. Bytes in front of packets are overwritten when they are posted. Memory that is
 * to be bound to an endpoint (FI_MR_ENDPOINT) has no key before it was enabled.
 *
 * What it has not: inject (size 0), delivery-complete, selective completion, shared
 * transmit contexts, cancel, counters, fi_cq_sread; faces have the first two, and those
 * that match messages (FI_TAGGED, with FI_PEEK and FI_CLAIM) cancel receives. Remote CQ
 * data has 4 bytes, with faces that match 8, and comes with messages only. What the
 * fabric interface knows beyond that is NULL in the tables: a caller who did not look
 * crashes. Waiting works as with tcp: FI_WAIT_FD, FI_GETWAIT and fi_trywait.
 *
 * Ownership:  each object here owns the tcp object it stands for, whose `context` is the
 *             object's struct fid. Its own first member is that struct fid.
 * Threads:    any. One lock for the whole process guards all state; where data moves, tcp
 *             is called with it held, and never calls back.
 */
#ifndef WEFT_TEST_STRICT_H
#define WEFT_TEST_STRICT_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    STRICT_QUEUE_SIZE = 64, /* operations on each side of an endpoint */
    STRICT_CQ_SIZE = 64,
    STRICT_REGISTRATIONS = 1024,
    STRICT_CM_DATA_SIZE = 56,
    STRICT_IOV_LIMIT = 4,
    STRICT_EAGAIN_EVERY = 4, /* posts */
    STRICT_MESSAGE_MAX = 1 << 30,
};

/* Which atomic operations there are. */
enum strict_atomics {
    STRICT_NO_ATOMICS,
    STRICT_TWO_ATOMICS, /* fetch-and-add, compare-and-swap; 64 bits */
    STRICT_ALL_ATOMICS,
};

/* What the provider looks like. */
struct strict_face {
    const char *name;
    const char *below; /* the provider that moves the bytes */
    enum fi_ep_type type;
    uint64_t caps; /* beyond FI_MSG and FI_RMA */
    uint64_t mode;
    uint64_t mr_mode;
    uint64_t order;     /* that is kept */
    uint64_t flags;     /* of transmits: FI_DELIVERY_COMPLETE or 0 */
    uint32_t addresses; /* their format; 0: the internet's */
    size_t inject_size;
    size_t prefix;
    size_t message_max;
    size_t data_bytes;   /* that a message has for its receiver; 0: 4 */
    uint64_t tag_format; /* the highest bit that is compared; 0: all */
    bool has_wait;
    bool is_shuffled; /* packets are received in another order */
    bool is_late;     /* writes and reads overtake no packet that was sent after them */
    enum strict_atomics atomics;
};

struct strict_fabric {
    struct fid_fabric fid;
    struct fid_fabric *tcp;
};

struct strict_eq {
    struct fid_eq fid;
    struct fid_eq *tcp;
};

struct strict_domain {
    struct fid_domain fid;
    struct fid_domain *tcp;
};

struct strict_mr {
    struct fid_mr fid;
    struct fid_mr *tcp;
    struct strict_domain *domain;
    uint64_t key; /* as tcp knows it */
    bool is_bound;
    uintptr_t base;
    size_t length;
    uint64_t access;
    unsigned used; /* buffers of operations in flight */
};

struct strict_queue;
struct strict_late;

/* An operation from its post to the reading of its completion; tcp's op_context. */
struct strict_op {
    struct fi_context2 below;   /* first: the provider below may write to it */
    struct strict_op *previous; /* in flight */
    struct strict_op *next;
    struct strict_queue *queue;
    const char *call; /* NULL: not in flight */
    struct fi_context2 *context;
    uint64_t pattern; /* what the context is filled with */
    bool is_multiple; /* a receive of several packets; the next three are for it */
    const char *buffer;
    size_t received;          /* bytes */
    size_t whole;             /* bytes that it takes; 0: not known yet */
    size_t prefix;            /* of a receive: bytes that completions count too */
    bool is_claiming;         /* a peek that takes its message */
    bool is_claimed;          /* it has it; nothing is under way */
    struct strict_late *late; /* not NULL: nobody hears of its completion */
    struct strict_mr *memory[STRICT_IOV_LIMIT];
    size_t memory_count;
};

/* One side of an endpoint, or a shared receive context's. */
struct strict_queue {
    struct strict_domain *domain;
    bool is_closing;
    struct strict_op ops[STRICT_QUEUE_SIZE];
};

struct strict_completion {
    struct strict_op *op;
    unsigned held;                /* for so many reads */
    struct fi_cq_err_entry entry; /* `err` is 0 if it succeeded */
};

struct strict_cq {
    struct fid_cq fid;
    struct fid_cq *tcp;
    struct strict_cq *next; /* of those that are open */
    size_t entry_size;
    bool has_overrun;
    size_t count;
    struct strict_completion unread[STRICT_CQ_SIZE]; /* oldest first */
};

/* A shared receive context: an endpoint that only receives, for others. */
struct strict_srx {
    struct fid_ep fid;
    struct fid_ep *tcp;
    unsigned used; /* endpoints that are bound to it */
    struct strict_queue receives;
};

struct strict_av {
    struct fid_av fid;
    struct fid_av *tcp;
};

struct strict_ep {
    struct fid_ep fid;
    struct fid_ep *tcp;
    struct strict_srx *srx;
    struct strict_cq *cq; /* of what it transmits */
    bool is_shared;       /* it was opened for a shared receive context */
    bool is_enabled;
    bool is_connected;
    struct strict_queue transmits;
    struct strict_queue receives;
};

/* A post as the checks see it. `call` and the arrays live until the post returns. */
struct strict_post {
    const char *call;
    const struct iovec *iov;
    void *const *desc; /* NULL: none given */
    size_t count;
    uint64_t access; /* FI_SEND, FI_RECV, FI_READ or FI_WRITE */
    void *context;
};

/* violation.c */
__attribute__((format(printf, 2, 3), noreturn)) void
strict_violation(const char *call, const char *format, ...);
void strict_lock(void);
void strict_unlock(void);

/* face.c: the one that STRICT_FACE names, or the connected one. */
const struct strict_face *strict_face(void);
bool strict_face_has_atomic(enum fi_datatype type, enum fi_op op, uint64_t kind);

/* below.c: as fi_getinfo() and fi_fabric(), of the provider that moves the bytes. */
int strict_below_getinfo(uint32_t version, const char *node, const char *service,
                         uint64_t flags, const struct fi_info *hints,
                         struct fi_info **info);
int strict_below_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
                        void *context);

/* info.c: in place; what tcp gives becomes ours. Safe to repeat. */
int strict_info_from_tcp(struct fi_info *info);
/* A copy for tcp, to be freed with fi_freeinfo(); NULL: no memory. */
struct fi_info *strict_info_to_tcp(const struct fi_info *info);

/* fabric.c */
int strict_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
                       void *context);

/* eq.c */
int strict_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
                   void *context);

/* pep.c */
int strict_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
                    void *context);
/* FI_OPT_CM_DATA_SIZE, which both kinds of endpoint answer alike. */
int strict_getopt(fid_t fid, int level, int name, void *value, size_t *length);

/* domain.c */
int strict_domain_open(struct fid_fabric *fabric, struct fi_info *info,
                       struct fid_domain **domain, void *context);

/* memory.c: with the lock held, except `strict_mr_ops`, which takes it. */
extern struct fi_ops_mr strict_mr_ops;
/* The registration behind `desc`, which covers the buffer; or a violation. */
struct strict_mr *strict_mr_check(const struct strict_domain *domain, const char *call,
                                  const void *buffer, size_t length, const void *desc,
                                  uint64_t access);

/* Must the caller's own buffers be registered? */
static inline bool strict_is_local_checked(void)
{
    return (strict_face()->mr_mode & FI_MR_LOCAL) != 0;
}

/* flight.c: with the lock held. */
/*
 * Checks `post` and reserves one of the queue's operations for it; a violation ends the
 * process. -FI_EAGAIN: this was a fourth post, or the queue is full.
 */
int strict_op_reserve(struct strict_queue *queue, const struct strict_post *post,
                      struct strict_op **out);
/* Counts a post; false: it is a fourth. */
bool strict_post_is_taken(void);
void strict_op_launch(struct strict_op *op);  /* tcp has taken it */
void strict_op_give_up(struct strict_op *op); /* tcp has not */
/* Its completion is handed out: returns the context, overwritten, which is free again. */
void *strict_op_finish(struct strict_op *op);
/* The same, of a receive that takes further packets. */
void *strict_op_report(struct strict_op *op);
/* The same, of a peek that has taken a message: the context stays in use. */
void *strict_op_keep(struct strict_op *op);
/* Checks `post`, which receives that message, and finds the peek; as reserve. Then the
 * provider below has taken it. */
int strict_op_resume(struct strict_queue *queue, const struct strict_post *post,
                     struct strict_op **out);
void strict_op_relaunch(struct strict_op *op);
/* The one in flight with this context, or NULL. */
struct strict_op *strict_op_find(const struct strict_queue *queue, const void *context);
/* Those of a closed endpoint or shared context; their contexts may be gone. */
void strict_queue_discard(struct strict_queue *queue);

/* cq.c */
int strict_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                   void *context);
/* With the lock held: `entry` completes the operation that is its context. */
void strict_cq_add(struct strict_cq *cq, const struct fi_cq_err_entry *entry);
/* With the lock held: nothing of `queue`, which tcp has closed, is left in any. */
void strict_cq_forget(const struct strict_queue *queue);
/* With the lock held. */
bool strict_cq_is_quiet(const struct strict_cq *cq);

/* av.c */
int strict_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                   void *context);

/* late.c: with the lock held. Reads and writes that begin later than they were posted,
 * in their order. */
/* Takes `msg`, whose completion is `op`'s. */
ssize_t strict_late_add(struct strict_ep *ep, const struct fi_msg_rma *msg,
                        uint64_t flags, uint64_t access, struct strict_op *op);
/* Begins those whose time has come. */
void strict_late_begin(void);
bool strict_late_is_empty(void);
/* One of which nobody hears is complete. */
void strict_late_done(const struct strict_late *late);
/* Of a closed endpoint: the first forgets what has not begun, the second, when what the
 * provider below has completed was read, the rest. */
void strict_late_forget(const struct strict_ep *ep);
void strict_late_end(const struct strict_ep *ep);

/* srx.c */
int strict_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr,
                    struct fid_ep **srx, void *context);

/* ep.c, post.c */
int strict_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                   void *context);
extern struct fi_ops_msg strict_msg_ops; /* of a shared receive context too */
extern struct fi_ops_rma strict_rma_ops;
/* Where a post goes. */
struct strict_way {
    struct strict_queue *queue;
    struct fid_ep *tcp;
};
/* With the lock held. */
struct strict_way strict_way_in(struct fid_ep *fid, const char *call);
struct strict_way strict_way_out(struct fid_ep *fid, const char *call);
void strict_check_length(const char *call, const struct iovec *iov, size_t count);
uint64_t strict_transmit_flags(void);
/* With the lock held, which it gives back: what tcp said of `op`. */
ssize_t strict_post_end(struct strict_op *op, ssize_t err);

/* tagged.c */
extern struct fi_ops_tagged strict_tagged_ops;

/* atomic.c */
extern struct fi_ops_atomic strict_atomic_ops;

#endif
