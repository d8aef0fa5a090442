/*
 * net.h - a network in memory that loses, repeats, reorders, delays and corrupts
 * datagrams, all drawn from one seed.
 *
 * Datagrams that have arrived wait in the receive buffer of their node, which holds a
 * number of them; others are lost there.
 */
#ifndef WEFT_TESTS_DGRAM_NET_H
#define WEFT_TESTS_DGRAM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers between 0 and 1 << 20, in parts of it. */
enum { NET_ALL = 1 << 20 };

struct net_datagram {
    struct net_datagram *next;
    uint64_t at;  /* when it arrives */
    uint64_t key; /* equal times: in the order of sending */
    int from;     /* node that it comes from, as its source address says */
    int to;
    size_t length;
    bool was_harmed;
    uint8_t bytes[];
};

struct net_habits {
    uint32_t loss;    /* of NET_ALL, each */
    uint32_t repeat;  /* comes twice, or more often */
    uint32_t corrupt; /* has one byte that is wrong */
    uint32_t reorder; /* takes longer than others */
    uint32_t replay;  /* comes again from another address */
    uint64_t delay;   /* ns */
    uint64_t gap;     /* ns that the wire of a node is taken by 1,500 bytes; 0: none */
    uint64_t late;    /* ns more, for those that are reordered */
    uint32_t room;    /* datagrams in a receive buffer */
};

enum { NET_NODES = 1024 };

struct net {
    uint64_t random;
    struct net_habits habits;
    struct net_datagram **heap; /* those on their way */
    size_t count;
    size_t size;
    uint64_t sent;
    uint64_t lost;
    uint64_t overflowed;
    uint64_t harmed;
    uint64_t replayed;
    uint64_t free_at[NET_NODES]; /* wires */
};

/* A queue of those that have arrived at a node. */
struct net_buffer {
    struct net_datagram *first;
    struct net_datagram *last;
    uint32_t count;
    uint32_t thirds; /* of full datagrams, which a short one takes one of */
};

uint64_t net_random(struct net *net);
/* Below `limit`. */
uint64_t net_below(struct net *net, uint64_t limit);
bool net_chance(struct net *net, uint32_t of_all);

void net_send(struct net *net, uint64_t now, int from, int to, const void *front,
              size_t front_length, const void *data, size_t length);

/* When the next datagram arrives; UINT64_MAX: none is on its way. */
uint64_t net_next(const struct net *net);

/* Moves the next datagram into its buffer, or loses it there; returns its node. */
int net_arrive(struct net *net, struct net_buffer *buffers);

/* The first one of a buffer, which the caller frees; NULL: empty. */
struct net_datagram *net_take(struct net_buffer *buffer);

void net_close(struct net *net);

#endif
