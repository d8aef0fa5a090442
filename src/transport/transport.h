/*
 * transport.h - what every transport offers, and what it may ask in return.
 *
 * Life. open() with the upcalls and the node, which knows the job; address() bytes are
 * published through wire-up where peers need them; connect() on first contact makes an
 * endpoint; poll() moves everything; disconnect() and close() end it.
 *
 * Messages. A packet is a header of WEFT_HEADER_BYTES and up to `short_max` bytes. Of the
 * header a transport may read the number of an ordered packet, 4 bytes at
 * WEFT_HEADER_SEQUENCE_AT: 0 for the first one to a peer, one more for each that was
 * accepted. Ordered packets of one sender arrive in the order sent. Control packets
 * (WEFT_SEND_CONTROL) may overtake them: they travel where data that nobody takes cannot
 * hold them up.
 *
 * Ownership. The caller owns every buffer it passes in, and may reuse it once the call
 * has returned WEFT_OK. WEFT_PENDING, which only fetch, store, send_zcopy, put and get
 * return, leaves the buffer and `op` with the transport until poll() hands `op` to
 * `done`.
 *
 * Streams. A network may have several ways to a peer. next_stream() chooses one for a
 * long message: an endpoint of that peer, whose `stream` is its number, for send,
 * send_zcopy and put, which lives as long as the peer's own, the stream 0. Ordered
 * packets arrive in the order sent by whichever streams; a control packet arrives later
 * than what was put before it by the same one.
 *
 * Full queue. WEFT_AGAIN means nothing was taken; poll, then try again.
 *
 * Direction. A transport never names a layer above it. Arrivals and completions go to the
 * upcalls it was handed in open(). What an upcall is given is valid only during the call.
 *
 * Taking. While upcalls->is_full is set, an ordered packet is taken only if may_take()
 * says so for its sender; it waits in the transport, and further ones with its sender.
 * Control packets are always taken.
 *
 * Threads. One at a time, with the library's lock held. fetch and store, and the same
 * with vectors, may take long: they are called without the lock, from any thread, and
 * touch nothing but what they are given.
 *
 * Sleep. Before the caller stops polling it calls arm(), a last look: WEFT_AGAIN means
 * that something is there, and that the caller polls instead of sleeping. Inside a node
 * the caller has published before that what it wants to be woken for (node/doorbell.h),
 * and a send wakes a peer whose wake level asks for it. A network has descriptors
 * instead, of which one becomes readable when something comes after arm().
 *
 * Two kinds. WEFT_CAP_SAME_NODE: all of the table. A network: what is not said to be the
 * node's alone.
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
    WEFT_HEADER_SEQUENCE_AT = 4, /* where an ordered packet has its number */
    WEFT_CAP_SAME_NODE = 1 << 0,
    WEFT_CAP_ORDERED = 1 << 1,
    WEFT_CAP_FETCH = 1 << 2, /* fetch and store reach a peer's memory, if it allows it */
    WEFT_VECTORS_MAX = 256,  /* blocks of memory that one call moves */
    WEFT_HEAD_MAX = 128,     /* bytes before those of a zero-copy send */
    WEFT_STREAMS_MAX = 8,    /* to a peer */
    WEFT_MR_PUT = 1 << 0,
    WEFT_MR_GET = 1 << 1,
    WEFT_SEND_CONTROL = 1 << 0,
    WEFT_SEND_URGENT = 1 << 1, /* ordered, but worth waking a peer for */
    WEFT_SEND_QUIET = 1 << 2,  /* control, but not worth it */
};

struct weft_transport;
struct weft_peer; /* the owner's: what it knows of a process */

/*
 * An operation that goes on after its call has returned WEFT_PENDING. Whoever starts it
 * embeds this in its own struct. done() is called once, with the lock, from within
 * poll(): the buffer is the caller's again. WEFT_ERR_PROC_FAILED: it did not reach the
 * peer; `lost` says the rest, before or after. WEFT_ERR_ADDRESS: the buffer cannot be
 * read or written.
 */
struct weft_op {
    void (*done)(struct weft_op *op, enum weft_rc rc);
    struct weft_op *next; /* for whoever has it */
};

struct weft_upcalls {
    void *owner;
    /* What the owner calls a process that the transport hears of for the first time.
     * Never NULL, and valid until the transport is closed: lanes and connections keep it.
     */
    struct weft_peer *(*meet)(void *owner, uint32_t process);
    void (*arrived)(void *owner, struct weft_peer *from, const void *header,
                    const void *data, size_t len);
    /* NULL: the packet is in a queue that many senders share. */
    bool (*may_take)(void *owner, const struct weft_peer *from);
    /*
     * A network's alone: the process `rank` cannot be reached, now and for ever. Called
     * once for each; `why` is a sentence for the user. It may come from within any call
     * of the transport, so the owner takes note and does the rest later. From then on
     * whatever goes there fails with WEFT_ERR_PROC_FAILED; a moment before, with
     * WEFT_AGAIN. `has_left`: the process had ended its use of MPI before (leave()).
     */
    void (*lost)(void *owner, uint32_t rank, bool has_left, const char *why);
    bool is_full;    /* written by the owner, as are the next two */
    bool has_failed; /* a peer has died: what it was about to write will not come */
    uint8_t packet_version; /* of headers and data: peers of another are refused */
};

struct weft_transport_ops;

/* The way to one peer; transports put their own behind it. */
struct weft_endpoint {
    const struct weft_transport_ops *ops;
    struct weft_transport *transport;
    uint32_t rank;      /* of the peer in the job */
    uint32_t short_max; /* bytes that a packet can carry */
    uint32_t zcopy_max; /* bytes of a zero-copy send; 0: there is none */
    uint32_t stream;
    bool is_fetched; /* long messages: their receivers get them; else their senders put */
};

/* A piece of memory of a process, as it travels in a message. */
struct weft_key {
    uint64_t address;
    uint64_t key; /* of a network; else 0 */
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
};

struct weft_transport_ops {
    const char *name; /* as the user writes it */
    unsigned caps;    /* WEFT_CAP_* bits, only what is true */
    /* How often it is polled while others bring something: at every nth look. 0 and 1: at
     * each, because a look costs a few loads. */
    uint8_t poll_every;

    enum weft_rc (*open)(struct weft_upcalls *up, struct weft_node *node,
                         struct weft_transport **out);
    void (*close)(struct weft_transport *tp);

    /* WEFT_ERR_UNSUPPORTED: this transport does not reach that rank. */
    enum weft_rc (*connect)(struct weft_transport *tp, uint32_t rank,
                            struct weft_endpoint **out);
    void (*disconnect)(struct weft_endpoint *ep);

    /* Header and data are copied. */
    enum weft_rc (*send)(struct weft_endpoint *ep, const void *header, const void *data,
                         size_t len, unsigned flags);

    /* A network's alone up to mr_deregister(). The stream of the next long message; `ep`
     * itself while no other stands. */
    struct weft_endpoint *(*next_stream)(struct weft_endpoint *ep);
    /* One that the peer has named; `ep` itself if it does not stand. */
    struct weft_endpoint *(*find_stream)(struct weft_endpoint *ep, uint32_t number);
    /*
     * An ordered send that copies only the header and `head`, of at most WEFT_HEAD_MAX
     * bytes. `data`, of at most zcopy_max bytes together with `head`, is read until
     * `done`. WEFT_PENDING, WEFT_AGAIN, or a failure.
     */
    enum weft_rc (*send_zcopy)(struct weft_endpoint *ep, const void *header,
                               const void *head, size_t head_len, const void *data,
                               size_t len, struct weft_op *op);
    /* Writes into memory that the peer has registered. `from` is read until `done`. What
     * is sent later by send() and the same endpoint arrives later. */
    enum weft_rc (*put)(struct weft_endpoint *ep, const struct weft_key *key,
                        uint64_t offset, const void *from, size_t len,
                        struct weft_op *op);
    /* Reads memory that the peer has registered; `to` is written until `done`. */
    enum weft_rc (*get)(struct weft_endpoint *ep, const struct weft_key *key,
                        uint64_t offset, void *to, size_t len, struct weft_op *op);
    /* Registers memory so that peers can put into it or get from it (WEFT_MR_*). *mr goes
     * back by mr_deregister(). WEFT_AGAIN: not now. */
    enum weft_rc (*mr_register)(struct weft_transport *tp, void *memory, size_t bytes,
                                unsigned how, struct weft_key *key, void **mr);
    void (*mr_deregister)(struct weft_transport *tp, void *mr);

    /* From here to can_reach() the node's alone.
     * Bytes of the peer's memory at `key` + offset, to or from ours; no lock needed. */
    enum weft_rc (*fetch)(struct weft_endpoint *ep, const struct weft_key *key,
                          uint64_t offset, void *to, size_t len, struct weft_op *op);
    enum weft_rc (*store)(struct weft_endpoint *ep, const struct weft_key *key,
                          uint64_t offset, const void *from, size_t len,
                          struct weft_op *op);
    /* The same for at most WEFT_VECTORS_MAX blocks on each side, as many bytes here as
     * there; done when it returns. */
    enum weft_rc (*fetch_vectors)(struct weft_endpoint *ep, const struct iovec *theirs,
                                  size_t their_count, const struct iovec *ours,
                                  size_t our_count);
    enum weft_rc (*store_vectors)(struct weft_endpoint *ep, const struct iovec *theirs,
                                  size_t their_count, const struct iovec *ours,
                                  size_t our_count);
    /* Can this peer's memory be reached? Tries it the first time. */
    bool (*can_reach)(struct weft_endpoint *ep);

    /* May an ordered packet for which `is_it` is true be on its way to the peer, not
     * taken yet? Yes, if in doubt. */
    bool (*may_be_queued)(struct weft_endpoint *ep,
                          bool (*is_it)(const void *header, const void *argument),
                          const void *argument);

    /* Handles at most `budget` packets and returns how many it handled. */
    int (*poll)(struct weft_transport *tp, int budget);

    /* A network's alone: what takes long at the first contact, done before it. From any
     * thread, without the lock. */
    void (*warm_up)(struct weft_transport *tp);

    /* A network's alone: connects before there is anything to send. WEFT_AGAIN: it is
     * under way, and goes on in poll(), be it with a budget of 0. */
    enum weft_rc (*wire)(struct weft_endpoint *ep);

    /* The last look before sleeping. WEFT_AGAIN: something is there, poll instead. From a
     * network alone, and once: WEFT_PENDING, its descriptors are others than before,
     * which are closed; ask for them again. There are two, the first for packets, the
     * second for connections; -1 stands for none. */
    enum weft_rc (*arm)(struct weft_transport *tp);
    /* A network's alone: when somebody is to poll at the latest, though no descriptor
     * becomes readable; in weft_clock_ns(), 0: never. */
    uint64_t (*due_ns)(const struct weft_transport *tp);
    bool (*descriptors)(struct weft_transport *tp, int out[2]);
    /* A network's alone: tells peers that this process has ended its last use of MPI, so
     * that the end of its connections is no failure. Whatever it sends later takes that
     * back. */
    void (*leave)(struct weft_transport *tp);

    /* A network's alone: has a send been refused, since this was last asked, of whose end
     * nobody will tell? Then who wants to send tries again now and then. */
    bool (*needs_retry)(struct weft_transport *tp);

    /* Each adds what it knows: of one endpoint what was sent, and all the rest. */
    void (*count_sent)(const struct weft_endpoint *ep, struct weft_traffic *traffic);
    void (*count)(const struct weft_transport *tp, struct weft_traffic *traffic);
};

extern const struct weft_transport_ops weft_shm_ops;
extern const struct weft_transport_ops weft_msg_ops;

/* All that were built, in the order in which a new peer tries them; NULL ends them. */
extern const struct weft_transport_ops *const weft_transports[];

/* By the name that the user writes, or NULL. */
const struct weft_transport_ops *weft_transport_find(const char *name);

#endif
