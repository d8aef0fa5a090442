/*
 * transport.h - what every transport offers, and what it may ask in return.
 *
 * Tables. A path leads to one peer. Its table of packets moves packets and makes
 * progress. Its table of memory reads and writes the peer's memory; the path has none
 * where that cannot be done, which may differ from peer to peer. The slots of a table
 * that are said to be optional may be NULL, and whoever calls one asks first.
 *
 * Life. open() with the upcalls and the node, which knows the job; what peers need to
 * find this process is published through wire-up; connect() on first contact makes a
 * path; poll() moves everything; disconnect() and close() end it.
 *
 * Messages. A packet is a header of WEFT_HEADER_BYTES, which no transport reads, and up
 * to `packet_max` bytes. Ordered packets of one sender are offered in the order in which
 * they were sent by one path; the owner of the upcalls restores the order among paths.
 * Control packets (WEFT_SEND_CONTROL) may overtake them: they travel where data that
 * nobody takes cannot hold them up.
 *
 * Ownership. The caller owns every buffer it passes in, and may reuse it once the call
 * has returned WEFT_OK. WEFT_PENDING, which only send_zcopy and a table of memory return,
 * leaves the buffer and `op` with the transport until poll() hands `op` to `done`.
 *
 * Several paths. A transport may have more than one path to a peer. next_path() chooses
 * one for a long message, and `number` names it. All of them live as long as the one that
 * connect() made, which has the number 0. A control packet arrives later than what was
 * put before it by the same path.
 *
 * Full queue. WEFT_AGAIN means nothing was taken; poll, then try again.
 *
 * Direction. A transport never names a layer above it. Arrivals and completions go to the
 * upcalls it was handed in open(). What an upcall is given is valid only during the call.
 *
 * Taking. An ordered packet is offered to arrived(). WEFT_KEEP: it is not its turn, or
 * there is no room for what nobody waits for. The packet stays where it is, further ones
 * of its sender and path wait behind it, and each poll offers it again. It may hold up
 * other senders only in a queue that they share (WEFT_SHARED_QUEUE), which a sender never
 * uses again once it has used another queue. WEFT_TAKEN comes after the packet was
 * matched, and only then may a sender see that it was taken (may_be_queued). Control
 * packets go to control(), which takes them always.
 *
 * Threads. One at a time, with the library's lock held. A table of memory with
 * `is_unlocked` is the exception: its put and get may take long, are called without the
 * lock, from any thread, and touch nothing but what they are given.
 *
 * Sleep. Before the caller stops polling it calls arm(), a last look: WEFT_AGAIN means
 * that something is there, and that the caller polls instead of sleeping. What comes
 * later wakes the caller in one of three ways. A transport inside the node
 * (`is_node_local`): the caller has published before what it wants to be woken for
 * (node/doorbell.h), and a send wakes a peer whose wake level asks for it. A transport
 * with descriptors: one of them becomes readable. A transport with neither is polled by
 * the clock, every millisecond.
 */
#ifndef WEFT_TRANSPORT_TRANSPORT_H
#define WEFT_TRANSPORT_TRANSPORT_H

#include "base/rc.h"
#include "node/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    WEFT_HEADER_BYTES = 28,
    WEFT_HEADER_ALIGN = 4, /* of a header that is handed up */
    WEFT_IOV_MAX = 256,    /* blocks of memory that one call moves */
    WEFT_HEAD_MAX = 128,   /* bytes before those of a zero-copy send */
    WEFT_STREAMS_MAX = 8,  /* paths to a peer */
    WEFT_DESCRIPTORS = 2,  /* of a transport */
    WEFT_MR_PUT = 1 << 0,
    WEFT_MR_GET = 1 << 1,
    WEFT_SEND_CONTROL = 1 << 0,
    WEFT_SEND_URGENT = 1 << 1,  /* ordered, but worth waking a peer for */
    WEFT_SEND_QUIET = 1 << 2,   /* control, but not worth it */
    WEFT_SEND_HAS_OP = 1 << 3,  /* handed back: its send waits for an operation's end */
    WEFT_SHARED_QUEUE = 1 << 0, /* the packet is in a queue that many senders share */
};

/* The answer to an ordered packet that was offered. */
enum weft_taken { WEFT_TAKEN, WEFT_KEEP };

struct weft_transport;
struct weft_peer; /* the owner's: what it knows of a process */

/*
 * An operation that goes on after its call has returned WEFT_PENDING. Whoever starts it
 * embeds this in its own struct. done() is called once, with the lock, from within
 * poll() or close(): the buffer is the caller's again. WEFT_ERR_PROC_FAILED: it did not
 * reach the peer; `lost` says the rest, before or after. WEFT_ERR_ADDRESS: the buffer
 * cannot be read or written.
 */
struct weft_op {
    void (*done)(struct weft_op *op, enum weft_rc rc);
    struct weft_op *next; /* for whoever has it */
};

struct weft_upcalls {
    void *owner;
    /* Returns the owner's peer for a process that the transport hears of for the first
     * time. It is never NULL, and valid until the transport is closed: lanes and
     * connections keep it. */
    struct weft_peer *(*meet)(void *owner, uint64_t process);
    /* An ordered packet is offered; `flags`: WEFT_SHARED_QUEUE or 0. */
    enum weft_taken (*arrived)(void *owner, struct weft_peer *from, const void *header,
                               const void *data, size_t len, unsigned flags);
    /* Optional: the same, of a packet whose `len` bytes of data lie in several pieces. If
     * the answer is WEFT_KEEP it is offered to arrived(), in one piece. */
    enum weft_taken (*arrived_in_pieces)(void *owner, struct weft_peer *from,
                                         const void *header, const struct iovec *pieces,
                                         size_t count, size_t len);
    /* Would this packet be taken now? For arm(), which offers nothing. */
    bool (*may_take)(void *owner, const struct weft_peer *from, const void *header,
                     unsigned flags);
    void (*control)(void *owner, struct weft_peer *from, const void *header,
                    const void *data, size_t len);
    /*
     * The process cannot be reached by this transport, now and for ever. Called once for
     * each; `why` is a sentence for the user. It may come from within any call
     * of the transport, so the owner takes note and does the rest later. From then on
     * sends to that process fail with WEFT_ERR_PROC_FAILED; shortly before, with
     * WEFT_AGAIN. `has_left`: the process had ended its use of MPI before (leave()).
     */
    void (*lost)(void *owner, uint64_t process, bool has_left, const char *why);
    /* The transport has to be polled at this time, in weft_clock_ns(), at the latest: a
     * send has set a time of which no arm() has told, and its thread may leave MPI with
     * nothing outstanding, or leave it to one that sleeps. NULL: nobody keeps times. */
    void (*wake_at)(void *owner, uint64_t time);
    /* Optional. Called from within poll() about once a second, also while nothing comes,
     * by a transport that cannot notice that a peer is gone to whom it sends nothing. The
     * owner may send. */
    void (*each_second)(void *owner);
    /* The word of a put_tell() of a peer, whose bytes are in our memory. The network does
     * not say which peer it was. */
    void (*told)(void *owner, uint64_t word);
    /* Set by the owner: a peer has failed, and packets that it was writing may be
     * incomplete. */
    bool has_failed;
    uint8_t packet_version; /* set by the owner: peers with another version are refused */
    /* Optional, both, and called from within any call of the transport: a connection to
     * this peer stands, whichever side has asked for it. */
    void (*opened)(void *owner, struct weft_peer *peer);
    /* What was sent to this peer has had no answer for a time in which one was to be
     * expected; it may still come. Called once until something comes. Also called where
     * the peer answers, but not what was sent first (WEFT_NARROW). */
    void (*silent)(void *owner, struct weft_peer *peer);
};

/* What is known of packets that were sent by a path. */
enum weft_delivery {
    WEFT_ARRIVED,    /* all of them have arrived there */
    WEFT_ON_THE_WAY, /* some have not, as far as is known */
    WEFT_UNANSWERED, /* the same, and up->silent was called; nothing came since */
    WEFT_NARROW,     /* the same, but others come through, and the peer answers */
};

/* One packet that goes back to its sender; `flags`: WEFT_SEND_CONTROL, WEFT_SEND_HAS_OP
 * or 0. */
typedef void weft_take_back(void *argument, const void *header, const void *data,
                            size_t len, unsigned flags);

struct weft_packet_ops;
struct weft_memory_ops;
struct weft_tagged_ops; /* transport/tagged.h */

/* A connection of one transport to one peer; transports append fields of their own. */
struct weft_path {
    uint64_t process; /* first: the peer's (base/process.h) */
    const struct weft_packet_ops *packets;
    const struct weft_memory_ops *memory; /* NULL: none; see weft_path_memory() */
    struct weft_transport *transport;
    struct weft_peer *peer;
    uint32_t packet_max; /* bytes that a packet can carry: 512 or more */
    uint32_t zcopy_max;  /* bytes of a zero-copy send; 0: there is none */
    uint8_t number;      /* among the paths to this peer */
    bool prefers_get;    /* long messages: their receivers get them; else senders put */
};

/* Names memory of a process in a message. */
struct weft_key {
    uint64_t address;
    uint64_t key; /* of registered memory; else 0 */
};

/* A copy between the peer's memory and ours: two lists of blocks with equally many bytes.
 */
struct weft_move {
    uint64_t key;               /* of the peer's registered memory; else 0 */
    const struct iovec *theirs; /* at its addresses */
    size_t their_count;
    const struct iovec *ours;
    size_t our_count;
};

/* Atomic operations, which return what was there before. */
enum weft_atomic_op {
    WEFT_ATOMIC_SUM,
    WEFT_ATOMIC_MIN,
    WEFT_ATOMIC_MAX,
    WEFT_ATOMIC_BAND,
    WEFT_ATOMIC_BOR,
    WEFT_ATOMIC_BXOR,
    WEFT_ATOMIC_REPLACE,
    WEFT_ATOMIC_READ,  /* without an operand */
    WEFT_ATOMIC_CSWAP, /* replaces what equals `compare` */
    WEFT_ATOMIC_OPS,
};

enum weft_atomic_type {
    WEFT_ATOMIC_INT32,
    WEFT_ATOMIC_UINT32,
    WEFT_ATOMIC_INT64,
    WEFT_ATOMIC_UINT64,
    WEFT_ATOMIC_FLOAT,
    WEFT_ATOMIC_DOUBLE,
    WEFT_ATOMIC_TYPES,
};

/* One of them, on one element, which is aligned as its type. */
struct weft_atomic {
    enum weft_atomic_op op;
    enum weft_atomic_type type;
    uint64_t key;        /* of the peer's registered memory */
    uint64_t theirs;     /* at its address */
    const void *operand; /* these two are copied */
    const void *compare; /* of CSWAP */
    void *result;        /* written before `done` */
};

/* What went through since opening. Bytes: those in queues, headers and padding too. */
struct weft_traffic {
    uint64_t packets_sent; /* ordered ones, here and below */
    uint64_t packets_received;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t bytes_fetched; /* straight from a peer's memory */
    uint64_t bytes_stored;  /* straight into it */
    uint64_t wakeups;       /* how often a peer rang our doorbell: the node's */
    uint64_t lanes;         /* queues or connections that peers have for themselves */
    uint64_t rejected;      /* connections refused: not of the job */
    uint64_t registered;    /* how often memory of the program was registered */
    uint64_t reused;        /* operations that found it registered */
};

struct weft_packet_ops {
    const char *name;   /* as the user writes it */
    bool is_node_local; /* its peers share this node's segment, and it wakes them there */
    /* How often it is polled while others bring something: at every nth look. 0 and 1: at
     * each, because a look costs a few loads. */
    uint8_t poll_every;

    enum weft_rc (*open)(struct weft_upcalls *up, struct weft_node *node,
                         struct weft_transport **out);
    void (*close)(struct weft_transport *tp);

    /* Makes a path to a process, which upcalls call `peer`. It sends nothing yet.
     * WEFT_ERR_UNSUPPORTED: this transport does not reach that process. */
    enum weft_rc (*connect)(struct weft_transport *tp, struct weft_peer *peer,
                            uint64_t process, struct weft_path **out);

    /* Header and data are copied. */
    enum weft_rc (*send)(struct weft_path *path, const void *header, const void *data,
                         size_t len, unsigned flags);

    /* Handles at most `budget` packets and returns how many it handled. */
    int (*poll)(struct weft_transport *tp, int budget);

    /* The last look before sleeping. WEFT_AGAIN: something is there, poll instead.
     * WEFT_PENDING, at most once: its descriptors are others than before, which are
     * closed; ask for them again. */
    enum weft_rc (*arm)(struct weft_transport *tp);

    /* Adds this transport's counts to *traffic. */
    void (*count)(const struct weft_transport *tp, struct weft_traffic *traffic);

    /* All slots below are optional. */

    void (*disconnect)(struct weft_path *path);

    /*
     * Where paths have a zcopy_max. An ordered send that copies only the header and
     * `head`, of at most WEFT_HEAD_MAX bytes. `data`, of at most zcopy_max bytes together
     * with `head`, is read until `done`. WEFT_PENDING, WEFT_AGAIN, or a failure. Packets
     * that were handed back may be as long as handed_max() says, if that is more.
     */
    enum weft_rc (*send_zcopy)(struct weft_path *path, const void *header,
                               const void *head, size_t head_len, const void *data,
                               size_t len, struct weft_op *op);

    /* Where there are several paths to a peer; both or none. The path of the next long
     * message; `path` itself while no other is open. */
    struct weft_path *(*next_path)(struct weft_path *path);
    /* The path with the number that the peer has named; `path` itself if that is not
     * open. */
    struct weft_path *(*find_path)(struct weft_path *path, uint32_t number);

    /* Tries whether the peer's memory can be reached, and sets path->memory if it can.
     * For transports where the peer may not be ready for this trial at the first contact.
     */
    void (*try_memory)(struct weft_path *path);

    /* May there be an ordered packet to the peer that is not taken yet and for which
     * `is_it` is true? True if in doubt; a transport without this slot counts as true. */
    bool (*may_be_queued)(struct weft_path *path,
                          bool (*is_it)(const void *header, const void *argument),
                          const void *argument);

    /*
     * Of a transport that keeps packets until they are acknowledged; both or none. The
     * second may be called from within `lost`. It hands over, from the first packet on
     * that is not known to have arrived, all that follow, control packets first, each
     * kind in the order in which it was sent. The path forgets them, though the peer may
     * have them, and is not sent by again. Operations of theirs end with `rc`: WEFT_OK
     * if their packets are copied, and sent by another path.
     */
    enum weft_delivery (*delivery)(const struct weft_path *path);
    void (*hand_back)(struct weft_path *path, weft_take_back *take, void *argument,
                      enum weft_rc rc);
    /* Has anything ever come from the peer by this path? With delivery(). */
    bool (*is_heard)(const struct weft_path *path);
    /* Has the peer said that it leaves, and nothing since? With delivery(). */
    bool (*has_left)(const struct weft_path *path);

    /* Of a transport that may take such packets: their longest, in bytes behind the
     * header, known before the first contact. */
    uint32_t (*handed_max)(const struct weft_transport *tp);

    /* Does, before the first contact, the part of it that takes long. Called from any
     * thread, without the lock. */
    void (*warm_up)(struct weft_transport *tp);

    /* Connects before there is anything to send. WEFT_AGAIN: it is under way, and poll()
     * continues it, even with a budget of 0. */
    enum weft_rc (*establish)(struct weft_path *path);

    /* The descriptors that become readable when something comes after arm(): the first
     * for packets, the second for connections, which are made also while no thread is in
     * MPI. -1 means none at present. Returns how many there are; 0: none ever. */
    int (*descriptors)(struct weft_transport *tp, int out[WEFT_DESCRIPTORS]);

    /* The time, in weft_clock_ns(), at which this transport has to be polled although no
     * descriptor becomes readable; 0: none. */
    uint64_t (*deadline)(const struct weft_transport *tp);

    /* Returns true if a send failed with WEFT_AGAIN since the last call and no event will
     * announce the free space. Then the caller tries to send again now and then. */
    bool (*needs_retry)(struct weft_transport *tp);

    /* Tells peers that this process has ended its last use of MPI, so that the end of its
     * connections is no failure. A later send takes this back. */
    void (*leave)(struct weft_transport *tp);

    /* The network matches messages to receives; connect() leads to this process, too. */
    const struct weft_tagged_ops *(*tagged)(void);
};

struct weft_memory_ops {
    /* put and get are done when they return, and need neither the lock nor `op`. Peers'
     * memory need not be registered. */
    bool is_unlocked;
    uint16_t iov_max; /* blocks on each side of a move */

    /* Writes `ours` into the peer's memory. What is sent later by send() and the same
     * path arrives later. */
    enum weft_rc (*put)(struct weft_path *path, const struct weft_move *move,
                        struct weft_op *op);
    /* Reads the peer's memory into `ours`. */
    enum weft_rc (*get)(struct weft_path *path, const struct weft_move *move,
                        struct weft_op *op);

    /* Unless is_unlocked: registers memory so that peers can put into it or get from it
     * (WEFT_MR_*). *mr goes back by mr_deregister(). WEFT_AGAIN: not now. */
    enum weft_rc (*mr_register)(struct weft_transport *tp, void *memory, size_t bytes,
                                unsigned rights, struct weft_key *key, void **mr);
    void (*mr_deregister)(struct weft_transport *tp, void *mr);

    /* All slots below are optional. */

    /* Puts, and hands `word` to told() of the peer when these bytes, and all that was put
     * by this path before, are in its memory. */
    enum weft_rc (*put_tell)(struct weft_path *path, const struct weft_move *move,
                             uint64_t word, struct weft_op *op);

    /* Done when all that was put by this path before is in the peer's memory; WEFT_OK: it
     * is. A byte at `where`, registered for WEFT_MR_GET, may be read to find out.
     * WEFT_ERR_UNSUPPORTED: only a packet that was sent later tells. */
    enum weft_rc (*flush)(struct weft_path *path, const struct weft_key *where,
                          struct weft_op *op);

    /* Atomic only among operations of this slot. Both or none; can_atomic() gives the
     * same answer for the whole life of the path, and without it the other one is
     * WEFT_ERR_UNSUPPORTED. The memory is registered for WEFT_MR_PUT and WEFT_MR_GET. */
    bool (*can_atomic)(const struct weft_path *path, enum weft_atomic_op op,
                       enum weft_atomic_type type);
    enum weft_rc (*atomic)(struct weft_path *path, const struct weft_atomic *atomic,
                           struct weft_op *op);
};

/* How the peer's memory is reached, or NULL: it is not. With the lock. */
static inline const struct weft_memory_ops *weft_path_memory(struct weft_path *path)
{
    if (path->memory == NULL && path->packets->try_memory != NULL) {
        path->packets->try_memory(path);
    }
    return path->memory;
}

/* One block: `len` bytes at `key` + offset, to or from ours. */
static inline enum weft_rc weft_path_put(struct weft_path *path,
                                         const struct weft_key *key, uint64_t offset,
                                         const void *from, size_t len, struct weft_op *op)
{
    const struct iovec theirs = {(void *)(uintptr_t)(key->address + offset), len};
    const struct iovec ours = {(void *)(uintptr_t)from, len};
    const struct weft_move move = {key->key, &theirs, 1, &ours, 1};

    return path->memory->put(path, &move, op);
}

static inline enum weft_rc weft_path_put_tell(struct weft_path *path,
                                              const struct weft_key *key, uint64_t offset,
                                              const void *from, size_t len, uint64_t word,
                                              struct weft_op *op)
{
    const struct iovec theirs = {(void *)(uintptr_t)(key->address + offset), len};
    const struct iovec ours = {(void *)(uintptr_t)from, len};
    const struct weft_move move = {key->key, &theirs, 1, &ours, 1};

    return path->memory->put_tell(path, &move, word, op);
}

static inline enum weft_rc weft_path_get(struct weft_path *path,
                                         const struct weft_key *key, uint64_t offset,
                                         void *to, size_t len, struct weft_op *op)
{
    const struct iovec theirs = {(void *)(uintptr_t)(key->address + offset), len};
    const struct iovec ours = {to, len};
    const struct weft_move move = {key->key, &theirs, 1, &ours, 1};

    return path->memory->get(path, &move, op);
}

extern const struct weft_packet_ops weft_shm_ops;
extern const struct weft_packet_ops weft_msg_ops;
extern const struct weft_packet_ops weft_rdm_ops;
extern const struct weft_packet_ops weft_dgram_ops;

/* All that were built, in the order in which a new peer tries them; NULL ends them. */
extern const struct weft_packet_ops *const weft_transports[];

/* The network that is taken between nodes if the user names none (docs/design.md, 9). It
 * may load libfabric, and says why it cannot. */
WEFT_MUST_CHECK enum weft_rc
weft_transport_choose_network(const struct weft_job *job,
                              const struct weft_packet_ops **out);

/* By the name that the user writes, or NULL. */
const struct weft_packet_ops *weft_transport_find(const char *name);

#endif
