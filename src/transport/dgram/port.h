/*
 * port.h - what the transport dgram stands on: a place at which datagrams arrive, and
 * from which they are sent to any peer, without connections.
 *
 * A port promises little. A datagram that was taken may be lost, may come twice, and may
 * overtake others; one that comes has the bytes that somebody sent, and that may be any
 * process of any host. Repeats, order, and the check of who has sent it are the affair of
 * the layer above (docs/dgram.md).
 *
 * There are two, with the same contract: udp, a socket of our own, which sends many
 * datagrams with one system call (udp.h); and fabric, an endpoint of libfabric of type
 * FI_EP_DGRAM (fabric_port.h). docs/engine.md says which one is taken, and why.
 *
 * Life. A weft_port_open_...() binds one address of this host; `address` is published for
 * peers; accept_peer() makes a peer of what that peer has published; send(), receive()
 * and arm() do the rest, until close().
 *
 * Size. A datagram has at most `datagram_max` bytes: what fits one packet of the
 * interface without being split by IP, and no more than what jumbo frames of 9,000 bytes
 * carry. Loopback's packets of 65,536 bytes are not used. One system call moves at most
 * 65,507 bytes, whatever the size of the datagrams; larger ones save headers only, and
 * each one that is lost costs more. A peer may have another limit, so the one of
 * struct weft_port_peer counts for what is sent to it.
 *
 * Room. Datagrams that arrive wait in a buffer of the kernel, or in buffers that are
 * posted, which all peers share; those that find it full are lost. `room_datagrams` is
 * how many of the longest ones may wait at once without loss. What the peers together may
 * send unasked has to stay below it. The kernel counts more than the bytes of a datagram
 * (buffer.h), so short ones need nearly as much: room for n long ones is room for n of
 * any length.
 *
 * Ownership. The caller owns trains and their pieces, and may reuse them once send() has
 * taken them. What receive() gives out lies in the port's pool until the next receive()
 * or close().
 *
 * Sleep. Before the caller stops polling it calls arm(). WEFT_AGAIN: something is there.
 * Later datagrams make `fd` readable. Without a descriptor (-1) the port is polled by the
 * clock. Nothing tells that a train which was refused would be taken now: the caller
 * tries again in its next poll, or when a timer of its protocol ends.
 *
 * Threads. One at a time, with the library's lock held.
 */
#ifndef WEFT_DGRAM_PORT_H
#define WEFT_DGRAM_PORT_H

#include "base/rc.h"
#include "wireup/net.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    WEFT_PORT_ADDRESS_MAX = 64,
    WEFT_PORT_TRAIN_MAX = 64,    /* datagrams in a train, on any port */
    WEFT_PORT_PIECES_MAX = 256,  /* of a train */
    WEFT_PORT_BYTES_MAX = 65507, /* of a train, and of a datagram that anybody sends */
    WEFT_PORT_MTU_MAX = 9000,
    WEFT_PORT_LEAST = 512, /* no port has shorter datagrams */
    WEFT_PORT_POOL_BYTES = 1024 * 1024,
    WEFT_PORT_BUFFER_BYTES = 4 * 1024 * 1024,
};

/* Where a port is, for its peers: bytes that only a port of the same kind reads. */
struct weft_port_address {
    uint8_t length;
    uint8_t bytes[WEFT_PORT_ADDRESS_MAX];
};

/* Somebody to send to; the caller's memory, the port's fields. The caller has to keep the
 * first `peer_bytes` of the port, at a multiple of 4. */
struct weft_port_peer {
    uint16_t datagram_max; /* the lesser of both ports' */
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        uint32_t fabric[2]; /* libfabric's name for it */
    } to;
};

_Static_assert(sizeof(struct weft_port_peer) == 32, "counted for each peer");

/*
 * Datagrams that follow each other to one peer. All have `bytes` bytes but the last one,
 * which has 1 to `bytes`. The pieces, one behind the other, are their content; each
 * datagram begins with a new piece, and pieces may be empty.
 */
struct weft_train {
    const struct iovec *pieces;
    uint32_t piece_count;
    uint32_t datagrams;
    uint32_t bytes; /* at most the peer's datagram_max */
};

/* One that has come. */
struct weft_datagram {
    const uint8_t *bytes;
    uint32_t length; /* 1 to the port's datagram_max */
    uint32_t slot;   /* the port's */
};

struct weft_port_counts {
    uint64_t sent;     /* datagrams that were taken */
    uint64_t sends;    /* calls for them, of the system or of libfabric */
    uint64_t refused;  /* trains of which not all was taken: no room, try again */
    uint64_t unsent;   /* of `sent`, those that the system has not sent; see send() */
    uint64_t received; /* given out */
    uint64_t receives; /* calls that brought some */
    uint64_t rejected; /* empty or too long: none of a port of ours */
    uint64_t dropped;  /* by the kernel, as far as it has told: for lack of room, or as
                        * none of the job's */
    int last_error;    /* errno of the last one that was not sent; 0: none */
};

struct weft_port;

struct weft_port_ops {
    const char *name;
    void (*close)(struct weft_port *port);

    /*
     * Makes a peer of what it has published. WEFT_ERR_UNREACHABLE: its port is of another
     * kind, or has addresses of another family. WEFT_ERR_ARGUMENT: that is no address.
     */
    enum weft_rc (*accept_peer)(struct weft_port *port,
                                const struct weft_port_address *address,
                                struct weft_port_peer *peer);
    void (*drop_peer)(struct weft_port *port, struct weft_port_peer *peer);

    /*
     * Sends the first `*taken` datagrams of a train. WEFT_OK: these are all. WEFT_AGAIN:
     * there is no room for the others, in the socket (EAGAIN) or in the system's queues
     * (ENOBUFS, ENOMEM). WEFT_ERR_ADDRESS: their memory cannot be read.
     *
     * A network or peer that cannot be reached is no error: the datagrams are taken,
     * counted in `unsent` and lost, as they would be on their way (EHOSTUNREACH,
     * ENETUNREACH, ENETDOWN, EPERM of a firewall, EMSGSIZE of an interface that has
     * become narrower, and whatever else the system says). A peer that has closed its
     * port is not heard of (ECONNREFUSED); if a socket tells of an earlier one, the call
     * is repeated.
     */
    enum weft_rc (*send)(struct weft_port *port, struct weft_port_peer *peer,
                         const struct weft_train *train, uint32_t *taken);

    /* Gives out at most `most` datagrams, and returns how many. There may be more, also
     * if these are fewer, unless it sets `is_drained`. */
    int (*receive)(struct weft_port *port, struct weft_datagram *out, int most);

    /* Was it sent from the port of this peer? True also where the port cannot say: no
     * proof of anything, but a reason to drop what claims to be of that peer. */
    bool (*may_be_from)(const struct weft_port *port,
                        const struct weft_datagram *datagram,
                        const struct weft_port_peer *peer);

    enum weft_rc (*arm)(struct weft_port *port);
};

/* A port; each kind appends fields of its own. */
struct weft_port {
    const struct weft_port_ops *ops;
    struct weft_port_address address;
    uint16_t datagram_max;
    uint16_t peer_bytes; /* of struct weft_port_peer that its peers need */
    uint16_t train_max;  /* datagrams of that length that one call of send() takes best */
    uint32_t room_datagrams;
    uint32_t room_bytes; /* the same, as the kernel counts */
    int fd;              /* to sleep on; -1: none */
    bool is_reader;      /* send() reads the bytes itself, and not the system */
    bool is_drained;     /* the last receive() has given out the last that was there */
    struct weft_port_counts counts;
};

/* What a port is to be like; zeros stand for the defaults. */
struct weft_port_wishes {
    const struct weft_net_address *own; /* where, of weft_ofi_list_own() */
    struct weft_net_ports ports;        /* of which it takes a free one */
    uint32_t datagram_max;              /* less than the interface allows */
    uint32_t pool_bytes;                /* for what receive() gives out */
    uint32_t buffer_bytes;              /* of the kernel's receive buffer, if allowed */
    const char *provider;               /* libfabric's; NULL: the first that fits */
    uint32_t job; /* where the kernel can tell, only its datagrams come; 0: all do */
};

/* The ports of WEFT_PORTS, beginning with this process's. WEFT_ERR_ARGUMENT: the setting
 * is no range, which is said. */
WEFT_MUST_CHECK enum weft_rc weft_port_ports(int local_rank,
                                             struct weft_net_ports *ports);

/* Opens the kind of port that is best here. Says why it could not. */
WEFT_MUST_CHECK enum weft_rc weft_port_open(const struct weft_port_wishes *wishes,
                                            struct weft_port **out);

/* How many bytes a packet of an interface carries behind the headers of IP and UDP, but
 * no more than with WEFT_PORT_MTU_MAX. */
uint32_t weft_port_payload(const char *interface, bool is_sixth);

#endif
