/*
 * fake_transport.h - a transport without peers: the test stands for all of them.
 *
 * It keeps what is sent for the test to look at, and hands over what the test lets arrive
 * when it is polled, as the contract in transport.h says: control packets first, then
 * ordered ones, which it numbers; one that is not taken stays, and holds up those of the
 * same peer. Peers' memory is this process's own, so an address of the test's is
 * one of a peer's. On request it refuses, fails, holds packets back, and, for tests of
 * what must then not happen, drops and repeats control packets.
 *
 * The node is the real one (node/node.h), but for what would leave the test: sleeping,
 * ringing our own doorbell and waking a peer are noted here (the linker puts these in
 * front of weft_node_sleep(), weft_node_ring() and weft_node_wake()).
 *
 * It also watches its caller: what breaks the contract is noted in `fault`, the first
 * time only, and is to be NULL at the end.
 */
#ifndef WEFT_TEST_FAKE_TRANSPORT_H
#define WEFT_TEST_FAKE_TRANSPORT_H

#include "engine/wire.h"
#include "node/doorbell.h"

enum {
    FAKE_PEERS = 16,
    FAKE_SHORT_MAX = 4096,
    FAKE_LONGEST = 16384,
    FAKE_ENDLESS = -1, /* as a number of times */
};

struct fake_packet {
    uint32_t peer;  /* to whom, or from whom */
    unsigned flags; /* WEFT_SEND_* */
    struct weft_header header;
    size_t len;
    struct fake_packet *next; /* of those that arrive */
    _Alignas(8) uint8_t data[FAKE_LONGEST];
};

/* A put or get, in the order they were asked for. */
struct fake_move {
    uint64_t address; /* the peer's */
    uint64_t length;
    bool is_put;
    bool is_done; /* or it failed */
};

struct fake {
    /* Set by the test. A number of times can be FAKE_ENDLESS. */
    uint32_t packet_max; /* bytes of a packet, at most FAKE_LONGEST; at first contact */
    int refuse_ordered;  /* so many ordered packets find the queue full */
    int refuse_control;
    enum weft_rc send_error; /* if not WEFT_OK: what every send returns */
    bool may_be_queued;      /* what it answers about packets on their way */
    int gets;                /* so many succeed, then they fail */
    int puts;
    bool is_dry;              /* puts and gets copy nothing */
    bool is_held[FAKE_PEERS]; /* what that peer sends stays on its way */
    int drop_control;         /* so many control packets do not arrive */
    int repeat_control;       /* so many arrive twice */
    void (*getting)(uint64_t address, uint64_t length);
    void (*putting)(uint64_t address, uint64_t length);
    void (*arming)(void); /* after the last look at what has come */
    void (*polling)(void);
    void (*sleeping)(void); /* in place of a sleep; without it a sleep is a fault */
    void (*ringing)(void);  /* in place of ringing our own doorbell */

    /* Read by the test. */
    struct fake_packet **sent;
    size_t sent_count;
    struct fake_move *moves;
    size_t move_count;
    int paths; /* connected now */
    int polls;
    int sleeps;
    int rings; /* of our own doorbell */
    int wakes; /* of peers, and the last of them */
    const struct weft_node_area *woken;
    enum weft_wake_level wake_level;
    bool is_open;
    struct weft_node *node; /* that it was opened with */
    const char *fault;
};

extern struct fake fake;
extern const struct weft_packet_ops fake_ops;

/* Forgets everything; reachable, nothing refused. */
void fake_reset(void);

/* Peers' memory can be reached, or not any more; before, it can. */
void fake_reach(bool can_be);

/* Lets a packet arrive at the next poll; header.length is set to `len`, and the sequence
 * of an ordered packet to the next number of that peer, which fake_number() tells. */
uint32_t fake_number(uint32_t from);
void fake_arrive(uint32_t from, struct weft_header header, const void *data, size_t len,
                 unsigned flags);

/* Arrivals that nobody has taken yet. */
size_t fake_pending(void);

/* How many packets of this kind were sent; the nth of them, or NULL. */
size_t fake_count(enum weft_packet kind);
const struct fake_packet *fake_nth(enum weft_packet kind, size_t n);

/* Is a wake level published? */
bool fake_is_armed(void);

/* What was sent and moved so far is of no interest. */
void fake_forget(void);

#endif
