/*
 * core.h - the state of reliable datagrams: a pure machine, which docs/dgram.md explains.
 *
 * Bytes and time go in: weft_dgram_begin(), weft_dgram_receive() and weft_dgram_end()
 * (look.h, receive.h) make one look, weft_dgram_send() (send.h) takes a packet. Bytes
 * come out through `emit`, packets through the upcalls of transport.h, and the time of
 * the next look through weft_dgram_deadline(). No function here makes a system call,
 * reads a clock or has state outside of the core. All times are nanoseconds of one clock
 * that never goes back.
 *
 * Life. weft_dgram_open(); weft_dgram_connect() for whom this process speaks to first,
 * while others make themselves known by a HELLO; looks and sends; weft_dgram_leave() and
 * looks until weft_dgram_is_settled(); weft_dgram_close().
 *
 * Memory. The core owns all peers, which live until it is closed, and copies of packets;
 * of those that weft_dgram_send_zcopy() has borrowed it reads the caller's memory until
 * the look, or the end of the core, that calls their `done`.
 * A peer with nothing under way takes weft_dgram_peer_bytes() and its slot in the table;
 * what else it needs is in its `busy`.
 *
 * Threads. One at a time. Upcalls may send, and do not make looks.
 */
#ifndef WEFT_DGRAM_CORE_H
#define WEFT_DGRAM_CORE_H

#include "base/table.h"
#include "transport/dgram/seal.h"
#include "transport/dgram/wire.h"
#include "transport/transport.h"

enum {
    WEFT_DGRAM_WINDOW = 254,          /* most datagrams that a peer is granted */
    WEFT_DGRAM_MARKS = 256,           /* numbers above the expected one that are marked */
    WEFT_DGRAM_TRAIN_MAX = 64,        /* datagrams */
    WEFT_DGRAM_PLACE_MAX = 32,        /* bytes that a port keeps of a peer */
    WEFT_DGRAM_HELD_MAX = 128 << 10,  /* bytes in blocks of a peer that gets grants */
    WEFT_DGRAM_QUEUE_MAX = 512 << 10, /* bytes to a peer, not acknowledged */
    WEFT_DGRAM_CONTROL_MAX = 64,      /* control packets to a peer, the same */
    WEFT_DGRAM_QUIET_SHARE = 16,      /* grants of a peer that has shown no backlog */
    WEFT_DGRAM_BUSY_KEPT = 32,        /* states of busy peers that nobody needs */
    WEFT_DGRAM_ACK_EACH = 16,         /* datagrams for one acknowledgement at the most */
    WEFT_DGRAM_SACKS_LOST = 3,        /* above a hole that is a loss */
    WEFT_DGRAM_REPEATS_SHORT = 2,     /* of a hole, before the full time-out */
    WEFT_DGRAM_REPEATS_LOST = 8,      /* by time, before a peer is lost */
    WEFT_DGRAM_REPEATS_LEFT = 3,      /* before one that has left is not waited for */
    WEFT_DGRAM_REPEATS_VAIN = 8,      /* before a path is narrow */
};

#define WEFT_DGRAM_TIMEOUT_LEAST UINT64_C(1000000) /* ns, here and below */
#define WEFT_DGRAM_TIMEOUT_SHORT UINT64_C(100000)
#define WEFT_DGRAM_TIMEOUT_FIRST UINT64_C(10000000)
#define WEFT_DGRAM_TIMEOUT_MOST  UINT64_C(1000000000)
#define WEFT_DGRAM_ACK_DELAY     UINT64_C(250000)
#define WEFT_DGRAM_RETRY         UINT64_C(100000)   /* after the port has refused */
#define WEFT_DGRAM_LEASE_SENDER  UINT64_C(10000000) /* of a grant that is not used */
#define WEFT_DGRAM_LEASE         UINT64_C(20000000)
#define WEFT_DGRAM_LINGER        UINT64_C(1000000000) /* for those who have left, too */
#define WEFT_DGRAM_LINGER_MOST   UINT64_C(5000000000)
#define WEFT_DGRAM_NEVER         UINT64_MAX

/* The two kinds of packets, each with an order of its own. */
enum weft_dgram_class { WEFT_DGRAM_IN_ORDER, WEFT_DGRAM_AHEAD, WEFT_DGRAM_CLASSES };

/* Datagrams for one peer. All have `bytes` bytes but the last, which may have fewer. Each
 * is two pieces, the second of which may be empty. */
struct weft_dgram_train {
    const struct iovec *pieces;
    unsigned datagrams;
    uint32_t bytes;
};

struct weft_dgram_config {
    void *owner;             /* handed to the functions here */
    struct weft_upcalls *up; /* meet, arrived, may_take, control, lost */
    /* Sends the first of these datagrams, and returns how many. `place` is the peer's. */
    unsigned (*emit)(void *owner, void *place, const struct weft_dgram_train *train);
    /* Fills in `place` for an address that a peer has told; false: that is none, or not
     * one of the job. */
    bool (*accept)(void *owner, uint64_t process, const void *address, size_t length,
                   void *place);
    /* May `source`, which weft_dgram_receive() was given, be the peer's? */
    bool (*is_from)(void *owner, const void *source, const void *place);
    /* A peer, which knows the secret, has sent what no rank sends. May not return, but
     * if it does the datagram is dropped. */
    void (*nonsense)(void *owner, uint64_t process, const char *why);
    uint32_t place_bytes;  /* of a peer's `place`: a multiple of 4, at most PLACE_MAX */
    const uint8_t *secret; /* WEFT_DGRAM_SECRET_BYTES, the caller's */
    struct weft_dgram_end self;
    const void *address; /* our port's, copied */
    uint8_t address_length;
    bool has_crc;
    uint16_t datagram; /* longest one, header included: WEFT_DGRAM_LEAST or more */
    uint16_t train;    /* datagrams in a train, at most */
    uint32_t room;     /* full datagrams that the port's receive buffer holds */
    size_t receive_pool;
    size_t send_pool;
    uint64_t lost_after;
    uint64_t silent_after; /* of up->silent; 0: it is not called */
    uint64_t narrow_after; /* the same, of a peer that answers other datagrams */
};

struct weft_dgram_counts {
    uint64_t sent; /* datagrams with a number, repeats included */
    uint64_t acks_sent;
    uint64_t received; /* with a number, for the first time */
    uint64_t repeats_by_time;
    uint64_t repeats_by_ack;
    uint64_t spurious; /* repeats that the peer had already */
    uint64_t duplicates;
    uint64_t malformed;
    uint64_t unknown;
    uint64_t forged;
    uint64_t replayed;
    uint64_t corrupt;
    uint64_t no_room;     /* in the receive pool */
    uint64_t beyond;      /* numbers too far ahead */
    uint64_t narrow;      /* peers to whom some datagrams do not come through */
    uint64_t packets_out; /* ordered ones, here and below */
    uint64_t packets_in;
    uint64_t bytes_out;
    uint64_t bytes_in;
};

/* A packet that is queued, or sent and not wholly acknowledged. */
struct weft_dgram_out {
    struct weft_dgram_out *next;
    uint16_t packet; /* its number */
    uint8_t kind;
    uint8_t parts;
    uint8_t parts_sent;
    uint8_t parts_done; /* acknowledged */
    uint32_t length;
    uint32_t front;      /* bytes of it that lie here; all of them if `op` is NULL */
    const uint8_t *rest; /* the others, in the caller's memory until `op` is over */
    struct weft_op *op;
    uint8_t bytes[]; /* header and data */
};

/* A datagram on its way. */
struct weft_dgram_flight {
    struct weft_dgram_flight *next;
    struct weft_dgram_out *out;
    uint64_t number;
    uint64_t sent_at; /* the last time */
    uint8_t part;
    uint8_t times;  /* sent; 255: or more */
    bool is_beyond; /* was not granted */
};

/* A packet of which parts have come, or that was kept. */
struct weft_dgram_in {
    struct weft_dgram_in *next;
    uint16_t packet;
    uint8_t parts;
    uint8_t parts_come;
    uint32_t length;   /* known when the last part has come */
    uint32_t room;     /* bytes taken from the pool */
    bool is_in_port;   /* `bytes` has the addresses of its parts in the port's memory */
    uint64_t marks[4]; /* which parts */
    uint8_t bytes[];
};

struct weft_dgram_queue {
    struct weft_dgram_out *first;
    struct weft_dgram_out *last;
    struct weft_dgram_out *unsent; /* the first with parts that were never sent */
};

struct weft_dgram_arrivals {
    struct weft_dgram_in *first; /* in the order of their packets */
    struct weft_dgram_in *last;
};

struct weft_dgram_peer;

/* What a peer needs while something is under way. */
struct weft_dgram_busy {
    struct weft_dgram_peer *next_due;  /* list of core.due; also of those not in use */
    struct weft_dgram_peer *next_kept; /* list of core.kept */
    bool is_due;
    bool is_kept;

    /* Sending. */
    bool is_refused; /* the port has not taken all */
    bool has_hole;   /* the peer lacks the oldest, and has one above it */
    bool is_full;    /* so the peer has said with the newest datagram: it lacks room */
    bool is_silent;  /* up->silent was called, and nothing was heard since */
    bool is_narrow;  /* the same, and the oldest is still on its way */
    uint8_t doublings;
    uint8_t timeouts; /* since something was heard; 255: or more */
    uint32_t waiting; /* datagrams that were never sent */
    uint32_t beyond;  /* on their way without a grant */
    uint32_t queued;  /* bytes of ordered packets */
    uint32_t control; /* control packets */
    struct weft_dgram_flight *oldest;
    struct weft_dgram_flight *newest;
    struct weft_dgram_queue out[WEFT_DGRAM_CLASSES];
    uint64_t restart_at;   /* no time-out counts from before */
    uint64_t asked_at;     /* while timeouts > 0: since when nothing answers */
    uint64_t unanswered;   /* sum of those time-outs, as long as they should have been */
    uint64_t vain_time;    /* sum of the oldest's time-outs in which the peer was heard */
    uint64_t probed_at;    /* 0: never */
    uint64_t delivered_at; /* when the newest one of those that have arrived was sent */

    /* Receiving. */
    bool must_ack; /* now */
    bool has_repeated;
    bool was_full;      /* something was dropped for want of room */
    uint32_t unacked;   /* datagrams */
    uint32_t held;      /* bytes in blocks */
    uint32_t missing;   /* parts of packets that have begun */
    uint64_t ack_at;    /* 0: none is due */
    uint64_t new_at;    /* when the newest datagram came */
    uint64_t told_sent; /* limit that was sent last */
    uint64_t high;      /* one above the highest number that has come */
    uint64_t marks[WEFT_DGRAM_MARKS / 64]; /* by number, those above the expected one */
    struct weft_dgram_arrivals in[WEFT_DGRAM_CLASSES];

    uint32_t timer; /* place among the timers + 1; 0: none */
    uint64_t timer_at;
};

struct weft_dgram_peer {
    /* The owner's, but for `process`, the table's key, and `peer`, which upcalls name. */
    struct weft_path path;
    struct weft_dgram_busy *busy; /* NULL: idle */
    uint64_t nonce;
    uint8_t key_out[WEFT_DGRAM_KEY_BYTES];
    uint8_t key_in[WEFT_DGRAM_KEY_BYTES];

    /* Sending. */
    uint64_t next;    /* number of the next new datagram */
    uint64_t acked;   /* all below have arrived there */
    uint64_t granted; /* those below may be sent */
    uint64_t used_at; /* when something was on its way last */
    uint32_t srtt;    /* microseconds; 0: not known */
    uint32_t rttvar;

    /* Receiving. */
    uint64_t expected;
    uint64_t told; /* limit of what was granted */
    uint64_t heard_at;
    struct weft_dgram_peer *older; /* list of those that hold grants */
    struct weft_dgram_peer *newer;
    struct weft_dgram_peer *next_waiter;

    uint32_t away; /* microseconds that the peer was not running, lately */

    /* Numbers of packets, as the wire has them. */
    uint16_t packets_out[WEFT_DGRAM_CLASSES];
    uint16_t packets_in[WEFT_DGRAM_CLASSES]; /* the next one to be delivered */
    uint16_t taken;                          /* ordered ones that the peer has taken */

    uint16_t datagram; /* longest one to it and from it; 0: it was not met yet */
    uint16_t counted;  /* grants, as the budget knows */
    uint8_t backlog;   /* the peer's */
    bool is_waiting : 1;
    bool is_heard : 1;
    bool is_lost : 1;
    bool has_left : 1;   /* the peer */
    bool is_leaving : 1; /* we: it was told, and no packet came behind */
    bool is_closed : 1;  /* our packets were handed back: none is sent any more */
    bool is_asking : 1;  /* the owner's: for the address */
    uint32_t place[];    /* the port's */
};

_Static_assert(offsetof(struct weft_dgram_peer, place) == 212, "docs/dgram.md, Memory");

/* Memory for packets, bounded. */
struct weft_dgram_pool {
    size_t used;
    size_t limit;
};

struct weft_dgram_core {
    struct weft_dgram_config config;
    uint8_t address[WEFT_DGRAM_ADDRESS_MAX];
    struct weft_table peers;
    uint64_t now;
    uint64_t looked_at;
    uint32_t away;      /* microseconds, of this process, lately */
    uint8_t away_shown; /* of the last look, as headers say it */
    int most;           /* packets that this look may offer, */
    int handled;        /* and has offered */
    struct weft_dgram_pool send_pool;
    struct weft_dgram_pool receive_pool;
    struct weft_dgram_in *spare; /* a block for a packet of one datagram */
    struct weft_dgram_flight *free_flights;
    struct weft_dgram_busy *free_busy;
    uint32_t free_busy_count;
    uint32_t busy_count;           /* of peers that are busy */
    uint32_t met;                  /* peers of which more is known than that they exist */
    struct weft_dgram_peer *due;   /* have to be looked at when the look ends */
    struct weft_dgram_peer *kept;  /* have a packet that was not taken */
    struct weft_dgram_in *in_port; /* packet whose parts are in the port's memory */
    struct weft_dgram_peer *in_port_peer; /* its sender */
    bool in_batch; /* between weft_dgram_batch_begin() and weft_dgram_batch_end() */
    struct weft_op *over;   /* zero-copy sends whose end nobody was told of yet: */
    struct weft_op *failed; /* those that have arrived, and those that have not */

    /* Timers: a heap, the earliest first. */
    struct weft_dgram_peer **timers;
    uint32_t timer_count;
    uint32_t timer_room;

    /* Grants. */
    uint32_t budget; /* datagrams */
    uint32_t outstanding;
    uint32_t holders;
    uint32_t waiters;
    struct weft_dgram_peer *oldest_holder;
    struct weft_dgram_peer *newest_holder;
    struct weft_dgram_peer *first_waiter;
    struct weft_dgram_peer *last_waiter;

    struct weft_dgram_counts counts;
};

/* What a peer takes, without what it needs while it is busy. */
static inline size_t weft_dgram_peer_bytes(const struct weft_dgram_core *core)
{
    return offsetof(struct weft_dgram_peer, place) + core->config.place_bytes;
}

/* Are its keys and its address known? */
static inline bool weft_dgram_is_met(const struct weft_dgram_peer *peer)
{
    return peer->datagram != 0;
}

/* How far number `a` of a packet is behind `b`; they are near each other. */
static inline int16_t weft_dgram_packet_after(uint16_t a, uint16_t b)
{
    return (int16_t)(uint16_t)(a - b);
}

/* Bytes of a part, but for the last of a packet. */
static inline uint32_t weft_dgram_part_bytes(const struct weft_dgram_peer *peer)
{
    return peer->datagram - (uint32_t)sizeof(struct weft_dgram_header);
}

static inline enum weft_dgram_class weft_dgram_class_of(unsigned kind)
{
    return kind == WEFT_DGRAM_ORDERED ? WEFT_DGRAM_IN_ORDER : WEFT_DGRAM_AHEAD;
}

#endif
