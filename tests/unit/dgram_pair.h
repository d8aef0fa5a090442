/*
 * dgram_pair.h - cores that talk by lists of datagrams, which a test moves, drops and
 * changes by hand.
 */
#ifndef WEFT_TEST_DGRAM_PAIR_H
#define WEFT_TEST_DGRAM_PAIR_H

#include "transport/dgram/look.h"
#include "transport/dgram/open.h"
#include "transport/dgram/receive.h"
#include "transport/dgram/send.h"

enum {
    PAIR_NODES = 64,
    PAIR_DATAGRAM = 512,
    PAIR_PART = PAIR_DATAGRAM - 48,
    PAIR_WIRE = 4096, /* datagrams at most */
    PAIR_TAKEN = 4096,
};

#define PAIR_MS UINT64_C(1000000)

struct pair_datagram {
    int from;
    int to;
    uint32_t train; /* which call of the port */
    size_t length;
    uint8_t bytes[PAIR_DATAGRAM];
};

/* A packet that was handed up. */
struct pair_packet {
    int from;
    bool is_control;
    uint32_t name; /* the first bytes of its header */
    size_t length;
};

struct pair_node {
    int index;
    struct weft_dgram_core core;
    struct weft_upcalls up;
    bool keeps;     /* takes no ordered packet */
    unsigned takes; /* datagrams that its port still takes */
    unsigned offered;
    unsigned lost;
    unsigned silent;
    unsigned nonsense;
    bool lost_had_left;
    char why_lost[192];
    struct pair_packet taken[PAIR_TAKEN];
    unsigned count;
};

struct pair {
    uint64_t now;
    struct pair_node node[PAIR_NODES];
    struct pair_datagram wire[PAIR_WIRE]; /* sent and not moved */
    unsigned count;
    uint32_t trains;
    size_t passes; /* no longer datagram reaches anybody; 0: all do */
};

extern struct pair pair;

/* `nodes` cores, whose buffers hold `room` datagrams. */
void pair_open(int nodes, uint32_t room);
void pair_close(void);

struct weft_dgram_peer *pair_peer(int from, int to);
enum weft_rc pair_send(int from, int to, uint32_t name, size_t length, unsigned flags);

/* A look of a node that reads nothing. */
void pair_look(int node);
/* Hands a datagram to its node, in a look of its own; it stays in the list. */
void pair_give(const struct pair_datagram *datagram);
/* Takes one out of the list, for good. */
void pair_drop(unsigned at);
/* Moves all, with looks, until nothing is sent any more; time stands still. */
void pair_move(void);
/* The same, and goes to deadlines within so many nanoseconds. */
void pair_run(uint64_t time);

struct weft_dgram_header pair_header(const struct pair_datagram *datagram);

#endif
