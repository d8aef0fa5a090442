/*
 * fake_network.h - a network without peers: the test stands for all of them.
 *
 * It keeps what is sent, zero-copy sends too, for the test to look at, and hands over
 * what the test lets arrive when it is polled. Puts and gets move bytes when the test
 * finishes them: peers' memory is this process's own. What breaks the contract in
 * transport.h is noted in `fault`, the first time only, and is to be NULL at the end. It
 * has no lock of its own: where threads poll it, the test holds the library's.
 */
#ifndef WEFT_TEST_FAKE_NETWORK_H
#define WEFT_TEST_FAKE_NETWORK_H

#include "engine/wire.h"

enum {
    NET_PEERS = 8,
    NET_PATHS = 2, /* to each */
    NET_ZCOPY_MAX = 16 * 1024,
    NET_PACKETS = 256,
    NET_OPS = 64,
};

struct net_packet {
    uint32_t peer;
    uint32_t path;
    unsigned flags; /* WEFT_SEND_* */
    bool is_zcopy;
    size_t head_len; /* bytes of a zero-copy send before those of the message */
    size_t len;
    struct weft_header header;
    _Alignas(8) uint8_t data[NET_ZCOPY_MAX + WEFT_HEAD_MAX];
};

struct fake_net {
    /* Set by the test. */
    uint32_t packet_max; /* bytes of a packet that is copied, and of one that is not; */
    uint32_t zcopy_max;  /* before the first contact */
    int refuse_zcopy;    /* so many zero-copy sends find no room */
    int refuse_rma;      /* so many puts and gets */
    int refuse_send;     /* so many packets that are copied */
    bool refuse_mr;      /* no memory can be registered */
    bool keeps_coming;   /* who arms is told that something is there */
    bool has_events;     /* a descriptor is readable while something has come */
    bool prefers_get;    /* receivers get long messages; before the first contact */
    bool has_no_memory;  /* peers' memory is out of reach; before the first contact */
    bool has_told;       /* puts tell the peer something; before the first contact */
    bool is_held[NET_PATHS]; /* what comes by that path stays on its way */

    /* Read by the test. */
    struct net_packet sent[NET_PACKETS];
    int sent_count;
    int pending; /* operations that were not finished yet */
    int polls;
    int puts;
    int told;      /* of them, those that told the peer something, */
    uint64_t word; /* which was this */
    int gets;
    int registered; /* chunks of memory now */
    int answered;   /* connections that were asked for and made */
    const char *fault;
};

extern struct fake_net fake_net;
extern const struct weft_packet_ops fake_net_ops;

void fake_net_reset(void);

/* Finishes all operations that are under way, at the next poll. */
void fake_net_finish(enum weft_rc rc);

/* A packet of a peer's arrives at the next poll, by the first path or by another one.
 * Ordered packets are numbered as they are handed in; each path keeps the order of its
 * own, and control packets pass the others. */
void fake_net_arrive_by(uint32_t from, int path, const struct weft_header *header,
                        const void *data, size_t len);
void fake_net_arrive(uint32_t from, const struct weft_header *header, const void *data,
                     size_t len);

/* Something that a peer has put names itself. */
void fake_net_tell(uint64_t word);

/* The network loses its way to a peer, at once or at the next poll. */
void fake_net_lose(uint32_t rank);
void fake_net_lose_later(uint32_t rank);

/* A connection is asked for: the next poll makes it. */
void fake_net_ask(void);

/* From now on other descriptors say what has come: who arms is told so. */
void fake_net_change_descriptors(void);

/* The n-th packet of this kind that was sent, from 0 on; NULL: there are fewer. */
const struct net_packet *fake_net_nth(enum weft_packet kind, int n);
int fake_net_count(enum weft_packet kind);

#endif
