/*
 * udp.h - the port on kernel UDP: one socket for all peers.
 *
 * A train is one system call (UDP_SEGMENT), and stays in one piece until the network
 * card, or as far as the receiver inside a host. Datagrams of one sender that arrive
 * together come with one call, as one block of bytes and their length (UDP_GRO); and one
 * call fetches several such blocks (recvmmsg). The pool has a buffer of 64 KiB for each
 * block. Where the kernel or the network card cannot split trains, the port sends their
 * datagrams one by one.
 *
 * The socket is not connected, so it does not hear of peers that have closed their port.
 * It ignores what routers say about the width of the path (IP_PMTUDISC_INTERFACE), which
 * anybody could forge: a router may split datagrams that are too long for it.
 *
 *   udp.c          opening, addresses, peers; the table
 *   udp_send.c     trains out
 *   udp_receive.c  what comes, out of the pool
 *   udp_calls.c    calls of the system for messages
 *   udp_filter.c   what the kernel lets through
 */
#ifndef WEFT_DGRAM_UDP_H
#define WEFT_DGRAM_UDP_H

#include "transport/dgram/port.h"

#include <sys/socket.h>

enum {
    WEFT_UDP_BLOCK = 65536, /* of the pool: what one message of the kernel may have */
    WEFT_UDP_BLOCKS_MAX = 64,
    WEFT_UDP_CONTROL = 64, /* for two numbers that come with a message */
};

/* What was read, and is given out datagram by datagram. */
struct weft_udp_block {
    struct sockaddr_in6 from; /* or sockaddr_in */
    struct iovec memory;
    _Alignas(8) uint8_t control[WEFT_UDP_CONTROL];
    uint32_t length;  /* of all its datagrams */
    uint32_t segment; /* of each but the last */
};

struct weft_udp {
    struct weft_port port;
    sa_family_t family;
    bool can_segment;
    uint8_t *pool;
    uint32_t block_count;
    bool is_busy;        /* the last call has brought something, */
    bool is_last;        /* and there was no more */
    uint32_t filled;     /* blocks that the last call has filled */
    uint32_t current;    /* the one that is given out next */
    uint32_t offset;     /* in that */
    uint32_t last_drops; /* as the kernel counts, with 32 bits */
    struct weft_udp_block blocks[WEFT_UDP_BLOCKS_MAX];
    struct mmsghdr messages[WEFT_UDP_BLOCKS_MAX];
};

static inline struct weft_udp *weft_udp_of(struct weft_port *port)
{
    return (struct weft_udp *)(void *)port; /* its first field */
}

/* Opens a port. Says why it could not. */
WEFT_MUST_CHECK enum weft_rc weft_port_open_udp(const struct weft_port_wishes *wishes,
                                                struct weft_port **out);

enum weft_rc weft_udp_send(struct weft_port *port, struct weft_port_peer *peer,
                           const struct weft_train *train, uint32_t *taken);

/*
 * From now on the kernel drops what does not begin as a datagram of this job and of our
 * version (wire.h): it wakes nobody and takes no room. Datagrams that come as one block
 * are of one sender, and the first one counts. False, and errno: the kernel takes no
 * filter; what is from outside has a wrong tag, which is checked in any case.
 */
bool weft_udp_filter(int fd, uint32_t job);

/* Maps the pool. */
WEFT_MUST_CHECK enum weft_rc weft_udp_open_pool(struct weft_udp *udp, uint32_t bytes);
void weft_udp_close_pool(struct weft_udp *udp);
int weft_udp_receive(struct weft_port *port, struct weft_datagram *out, int most);
bool weft_udp_may_be_from(const struct weft_port *port,
                          const struct weft_datagram *datagram,
                          const struct weft_port_peer *peer);
enum weft_rc weft_udp_arm(struct weft_port *port);

/*
 * Calls of the system, without libc's wrappers: these make each call a point at which its
 * thread may be cancelled, which costs two exchanges, and a thread that ended there would
 * keep the library's lock for ever. None waits or raises SIGPIPE. What is negative is an
 * error, and errno has it.
 */

/* Sends a message. */
long weft_udp_call_send(int fd, const struct msghdr *message);

/* Receives up to `most` messages, and returns their number. */
int weft_udp_call_receive(int fd, struct mmsghdr *list, unsigned most);

#endif
