/*
 * hot.h - the engine's state, for the few files on the way of a message that read it.
 *
 * Everybody else has it by engine.h. All fields need the lock. A peer is a process that
 * this one has spoken to, has heard of, or waits for by name. Peers are made on first
 * use, found by process (base/process.h) through an open hash, and live until
 * weft_peers_close(): a process never spoken to costs nothing, and pointers to peers stay
 * valid.
 */
#ifndef WEFT_ENGINE_HOT_H
#define WEFT_ENGINE_HOT_H

#include "base/process.h"
#include "base/table.h"
#include "engine/wire.h"
#include "engine/work.h"
#include "node/doorbell.h"

#include <assert.h>

enum { WEFT_KINDS = 64 };

struct weft_peer;
struct weft_wait;

/*
 * The handler of a kind of packet, and the lengths that it may have. A packet with less
 * than `least` bytes behind its header, or more than `span` beyond them, never reaches
 * the handler. The handler calls weft_engine_reject() if something else is wrong with the
 * packet. It may send, start operations and complete requests; it may not wait. Its
 * arguments are those of the upcalls.
 */
typedef void weft_handler(void *owner, struct weft_peer *from,
                          const struct weft_header *header, const void *data, size_t len);

struct weft_packet_kind {
    weft_handler *handler;
    uint32_t least;
    uint32_t span;
    const char *name;
    bool is_ordered;
};

/*
 * A packet or operation that found a queue full; it is tried again by threads that poll.
 * Its owner embeds this struct. again() returns WEFT_AGAIN while there is no room;
 * otherwise it is finished, and its memory may be gone. If the peer has failed, failed()
 * is called instead.
 */
struct weft_retry {
    struct weft_retry *next;
    enum weft_rc (*again)(struct weft_retry *retry);
    void (*failed)(struct weft_retry *retry);
};

/* Tried in this order. Control packets pass messages, and messages pass bulk data, but
 * nothing passes another of its own class. */
enum weft_retry_class {
    WEFT_RETRY_CONTROL,
    WEFT_RETRY_ORDERED,
    WEFT_RETRY_BULK,
    WEFT_RETRY_CLASSES
};

struct weft_retry_queue {
    struct weft_retry *first;
    struct weft_retry *last;
};

/* The queues of a peer, from the first thing that is tried again until none is left. */
struct weft_retries {
    struct weft_retry_queue queue[WEFT_RETRY_CLASSES];
    struct weft_peer *next; /* of those that have queues: weft_engine.retrying */
};

struct weft_peer_transfers;

/* Where two networks lead to a peer (promote.c). */
enum weft_choice {
    WEFT_CHOICE_NONE,       /* one path, or the choice is made */
    WEFT_CHOICE_TRIAL,      /* by the first network; how much goes there is counted */
    WEFT_CHOICE_CONNECTING, /* the same, and a connection is being made */
    WEFT_CHOICE_HELD,       /* by the connection; ordered packets wait until those that
                             * went by the first network have arrived */
};

/* What most peers never need: weft_peer_rare() makes it. */
struct weft_peer_rare {
    char *why_lost;                 /* why it cannot be reached any more; NULL: it can */
    struct weft_node_area *awaited; /* where it was told that we wait, or NULL: await.c */
    struct weft_peer *next_awaited;
    /* If two networks lead to it. */
    uint64_t trial_end;              /* TRIAL: the number of the packet that ends it */
    struct weft_path *other;         /* by the network that `path` is not of, or NULL */
    struct weft_peer *next_promoted; /* of those that are CONNECTING or HELD */
    char *no_connection; /* why there is none by the second network, or NULL */
    bool has_left_first; /* the first network gave it up, after it had left */
};

struct weft_peer {
    uint64_t process; /* first: the key */
    bool is_self;
    bool is_failed;         /* nothing goes to it, nothing comes any more */
    bool has_left;          /* failed, but in good order: only what names it fails */
    bool is_noted;          /* each message to it is noted: none takes the fast path */
    bool is_early;          /* a packet of it was kept because another one comes first */
    bool has_connection;    /* of the second network */
    uint8_t choice;         /* enum weft_choice */
    uint32_t wanted;        /* receives and transfers that wait for it: the grant rule */
    uint32_t in_sequence;   /* of its next ordered packet that may be taken */
    uint64_t next_sequence; /* of our ordered packets to it; its lower half travels */
    struct weft_path *path; /* NULL: never sent to, or ourselves */
    struct weft_path *fast; /* path, while a small message may go at once */
    size_t fast_below;      /* one of fewer bytes, that is; 0: none may */
    struct weft_node_area *area;           /* NULL: none, or a network leads to it */
    struct weft_retries *retries;          /* NULL: nothing is tried again */
    struct weft_peer_transfers *transfers; /* what transfer/ knows of it, or NULL */
    struct weft_peer_rare *rare;           /* NULL: all zero */
};
_Static_assert(sizeof(struct weft_peer) == 88, "docs/dgram.md, Memory");

/* Reasons for which this process may have to be woken, though no thread of it waits. Each
 * is counted, and has a bit in `reasons` while the count is not 0. */
enum weft_reason {
    WEFT_REASON_REQUESTS, /* the user holds a request that is not complete */
    WEFT_REASON_STEPS,    /* a schedule waits for a message */
    WEFT_REASON_PACKETS,  /* ordinary packets count: chunks of data, or a word's change */
    WEFT_REASON_RETRY,    /* a peer has something to be tried again */
    WEFT_REASON_WORK,     /* something short is to be done outside the lock */
    WEFT_REASON_CALLS,    /* a function of the user is to be called */
    WEFT_REASON_SERVED,   /* peers may need this process at any time */
    WEFT_REASON_READY,    /* a schedule can go on */
    WEFT_REASON_AGAIN,    /* a packet that was kept may have its turn: poll again */
    WEFT_REASONS
};

/* A transport that is open. */
struct weft_instance {
    const struct weft_packet_ops *ops;
    struct weft_transport *tp;
    struct weft_upcalls up; /* a network's: it tells of losses of its own */
    uint32_t skipped;       /* polls since it was polled */
    bool is_due;            /* the next poll looks at it */
};

enum { WEFT_INSTANCES_MAX = 4, WEFT_HOOKS_MAX = 6 };

/* What rooms above want to be called for, with the lock, in the order in which they have
 * registered (weft_engine_on_*). Behind the last one is NULL, or the end. */
struct weft_hooks {
    /* Puts a checksum into the header of a packet that is complete, or NULL. While it is
     * set, no message takes the fast path. */
    void (*seal)(struct weft_header *header, const void *data, size_t len);
    /* The grant rule, while order.is_full is set: may somebody wait for a message of this
     * peer; or, NULL, for one of anybody? */
    bool (*wants)(const struct weft_peer *from);
    void (*look[WEFT_HOOKS_MAX])(void);
    bool (*has_news[WEFT_HOOKS_MAX])(void);
    void (*run_ready[WEFT_HOOKS_MAX])(void);
    void (*failed[WEFT_HOOKS_MAX])(void);
};

struct weft_engine {
    union {
        struct {
            bool is_full;   /* ordered packets are taken by the grant rule only */
            bool has_early; /* `early_peers` is not 0 */
        };
        uint16_t is_any; /* not 0: one of the two is set */
    } order;
    uint32_t early_peers; /* whose packets were kept because others come first */
    uint32_t reasons;     /* a bit each */
    uint32_t published; /* of them, those that the wake level that is out there covers */
    struct weft_table peers;
    struct weft_upcalls up;
    struct weft_instance list[WEFT_INSTANCES_MAX];
    int list_count;
    struct weft_instance *busy;    /* what came last came from there: polled every time */
    struct weft_instance *start;   /* where two networks lead to peers: the one by which
                                    * they begin, */
    struct weft_instance *connect; /* and the one for which some are promoted; or NULL */
    void (*counted)(struct weft_peer *peer); /* a peer on trial has got a packet */
    void (*go_on_promoting)(void);           /* while there are */
    struct weft_peer *promoted;              /* those that are on their way there */
    struct weft_deaf *deaf;                  /* hosts that the first one does not reach */
    uint32_t connections;                    /* of the second one, that stand */
    uint32_t promotions;                     /* that this process has begun */
    struct weft_hooks hooks;
    bool has_matching_network; /* it takes messages: none has a fast path */
    uint32_t watched;          /* things in shared memory that somebody looks at */
    struct weft_peer *retrying;
    struct weft_work_queue work[WEFT_WORK_CLASSES];
    uint32_t count[WEFT_REASONS];
    struct weft_packet_kind kinds[WEFT_KINDS];
    struct weft_job *job;
    struct weft_node node;
    uint64_t me; /* this process */

    bool has_progress;              /* messages advance also outside MPI */
    bool is_progress_thread_inside; /* it has the lock */
    _Atomic bool is_delegated;      /* it is responsible (progress_thread.c) */
    uint32_t waiting_threads;       /* of the program, in MPI: they poll */
    bool is_armed;                  /* one of them sleeps on the doorbell */
    bool is_room_awaited;           /* and it sleeps until nothing is tried again */
    bool has_new_retry;             /* something found no room since a thread armed */

    const _Atomic uint32_t *failures; /* how many the launcher has listed */
    uint32_t failures_seen;           /* of them */
    uint32_t failed_count;            /* peers that have failed */
    bool is_in_barrier;               /* of all ranks of the node */
    uint32_t barrier_generation;      /* which one */

    uint64_t repeats;     /* ordered packets that came once more, and were dropped */
    uint64_t polls;       /* how often a thread of the program began to poll */
    uint64_t polls_armed; /* `polls` when transports were last armed for a sleeper */
    uint64_t sleeps;      /* how often one slept */
    uint64_t moved; /* control packets that came, and pieces of work that were done */
    uint32_t spins; /* how often one polled without waiting, since the last long wait */
    bool has_noted; /* the slice says what we wait for */
    /* Completes what is noted of a wait, which is NULL if it is for no events; or NULL.
     * It is no member of `hooks`: where `kinds` lies decides how many instructions an
     * arrival takes. */
    void (*describe)(const struct weft_wait *wait, struct weft_doing *doing);
    void (*told)(uint64_t word); /* a peer has put something, and names it */
    /* Takes a packet DATA whose bytes lie in pieces; false, or NULL: not so. */
    bool (*scatter)(struct weft_peer *from, const struct weft_header *header,
                    const struct iovec *pieces, size_t count, size_t len);
    uint64_t progress_thread_wakeups;
    uint64_t early_sleeps; /* of `sleeps`: without yields, because one had taken long */
    struct weft_peer *awaited;    /* those for whose steps we wait, and who were told */
    void (*await)(void);          /* tells them (weft_engine_on_await), or NULL */
    struct weft_standby *standby; /* threads that wait, and sleep beside an armed one */
    uint32_t standby_count;
    struct weft_timer *timers; /* of waits that may last long (wait.h) */
    uint32_t bell_seen;        /* the progress bell's count, by the last look */
    uint32_t long_waits;       /* threads of the program that have waited for a while */
    uint64_t long_since;       /* while there are any: since when */
    uint64_t waited_ns;        /* how long there were any, before that */
    uint32_t seconds;          /* calls of weft_engine_ask() */
    uint32_t asked_to;         /* where in `peers` its round goes on; 0: it is over */
    /* No path to a live peer is left, and packets to it are lost for which nothing waits
     * here: sends that were over, or answers. Or NULL. It may end the job. */
    void (*undelivered)(const char *why);
};

extern WEFT_OURS struct weft_engine weft_engine;

/* The process with this rank in our own job. */
static inline uint64_t weft_engine_process(uint32_t rank)
{
    return weft_process(weft_process_job(weft_engine.me), rank);
}

/* The rank of a process of our own job, by which the job segment lists it. */
static inline uint32_t weft_engine_rank(uint64_t process)
{
    assert(weft_process_job(process) == weft_process_job(weft_engine.me));
    return weft_process_rank(process);
}

/* The peer, or NULL if this process has not been heard of. */
static inline struct weft_peer *weft_peer_find(uint64_t process)
{
    return weft_table_find(&weft_engine.peers, process);
}

/* Makes a peer for a process that has none; NULL: no memory. */
struct weft_peer *weft_peer_make(uint64_t process);

/* The peer, made if it is new; NULL: no memory. */
static inline struct weft_peer *weft_peer_get(uint64_t process)
{
    struct weft_peer *peer = weft_peer_find(process);

    return weft_likely(peer != NULL) ? peer : weft_peer_make(process);
}

/* What most peers never need, made now if it is new. Without memory the job ends. */
struct weft_peer_rare *weft_peer_rare(struct weft_peer *peer);

/* The path by the network that `path` is not of, or NULL. */
static inline struct weft_path *weft_peer_other(const struct weft_peer *peer)
{
    return peer->rare != NULL ? peer->rare->other : NULL;
}

/* Why it cannot be reached any more; NULL: it can. */
static inline const char *weft_peer_why_lost(const struct weft_peer *peer)
{
    return peer->rare != NULL ? peer->rare->why_lost : NULL;
}

/* The longest message that goes to it whole in one packet that is copied. */
static inline size_t weft_peer_eager_max(const struct weft_peer *peer)
{
    const struct weft_path *path = peer->path;

    return path != NULL && path->packet_max < WEFT_EAGER_MAX ? path->packet_max
                                                             : WEFT_EAGER_MAX;
}

/* Counts a reason, and counts it off. */
static inline void weft_reason_add(enum weft_reason reason)
{
    struct weft_engine *e = &weft_engine;

    if (e->count[reason]++ == 0) {
        e->reasons |= 1u << reason;
    }
}

static inline void weft_reason_drop(enum weft_reason reason)
{
    struct weft_engine *e = &weft_engine;

    assert(e->count[reason] > 0);
    if (--e->count[reason] == 0) {
        e->reasons &= ~(1u << reason);
    }
}

/* The reasons for which nobody sleeps: there is something to do now. */
enum { WEFT_REASONS_NOW = 1u << WEFT_REASON_READY | 1u << WEFT_REASON_AGAIN };

static inline bool weft_engine_may_sleep(void)
{
    return (weft_engine.reasons & WEFT_REASONS_NOW) == 0;
}

/* The first thing of this class that waits for this peer to have room, or NULL. */
static inline struct weft_retry *weft_peer_first_retry(const struct weft_peer *peer,
                                                       enum weft_retry_class which)
{
    return weft_likely(peer->retries == NULL) ? NULL : peer->retries->queue[which].first;
}

/* Does something of this class wait for this peer to have room? */
static inline bool weft_peer_retries(const struct weft_peer *peer,
                                     enum weft_retry_class which)
{
    return weft_peer_first_retry(peer, which) != NULL;
}

/* Its ordered packets wait (promote.c): a send is tried again. */
static inline bool weft_peer_is_held(const struct weft_peer *peer)
{
    return weft_unlikely(peer->choice == WEFT_CHOICE_HELD);
}

/* The path that was chosen for a message; or, as another network has taken its peer
 * meanwhile, the path by that. */
static inline struct weft_path *weft_peer_path_now(const struct weft_peer *peer,
                                                   struct weft_path *chosen)
{
    return chosen == NULL || peer->path == NULL ||
                   chosen->transport == peer->path->transport
               ? chosen
               : peer->path;
}

/* The slow part of weft_engine_leave(). */
void weft_engine_publish(void);

/*
 * A thread is about to leave MPI: what is outstanding is left to a thread that waits in
 * MPI, or to the progress thread.
 */
static inline void weft_engine_leave(void)
{
    if (weft_unlikely((weft_engine.reasons & ~weft_engine.published) != 0)) {
        weft_engine_publish();
    }
}

/* Have processes failed that nobody has looked at yet? */
static inline bool weft_engine_has_failures(void)
{
    return weft_unlikely(
        atomic_load_explicit(weft_engine.failures, memory_order_acquire) !=
        weft_engine.failures_seen);
}

#endif
