/*
 * fabric_port.h - the port on an endpoint of libfabric of type FI_EP_DGRAM.
 *
 * It is for hardware (verbs UD, efa), and for libfabric's udp, by which it is tested. One
 * call sends one datagram, which is copied to a buffer that the provider knows: by inject
 * where the provider takes so much, else from a slot that comes back with a completion.
 * Sends and receives have a completion queue each. The pool is as many receives as fit,
 * each one byte longer than a datagram, because providers cut what is too long without a
 * word.
 *
 * Where the provider's endpoint is a socket, its receive buffer is raised and measured as
 * that of udp. For others the room is the number of receives that are posted.
 *
 *   fabric_port.c  choosing a provider, opening, addresses, peers; the table
 *   fabric_move.c  datagrams out and in
 */
#ifndef WEFT_DGRAM_FABRIC_PORT_H
#define WEFT_DGRAM_FABRIC_PORT_H

#include "transport/dgram/port.h"
#include "transport/ofi/common/slots.h"

#include <string.h>

struct weft_fabric_port {
    struct weft_port port;
    struct weft_ofi ofi;
    struct fid_cq *sent; /* completions of sends; those of receives are ofi.cq */
    struct weft_ofi_slots slots;
    size_t prefix; /* bytes in front of each datagram that are the provider's */
    size_t inject_max;
    bool has_source;    /* the provider says who has sent a datagram */
    uint8_t *bounce;    /* a datagram that is injected */
    uint32_t under_way; /* slots that are sent from: at most a quarter of all */
    int socket;         /* the provider's, not ours to close; -1: none */
    uint64_t *sources;  /* of the datagram in each receive */
    uint32_t *given;    /* receives that the last call has given out */
    uint32_t given_count;
};

static inline struct weft_fabric_port *weft_fabric_port_of(struct weft_port *port)
{
    return (struct weft_fabric_port *)(void *)port; /* its first field */
}

/* Does libfabric offer datagrams that are not those of its udp? Loads it. */
bool weft_fabric_port_is_better(const struct weft_port_wishes *wishes);

/* Opens a port. Says why it could not. */
WEFT_MUST_CHECK enum weft_rc weft_port_open_fabric(const struct weft_port_wishes *wishes,
                                                   struct weft_port **out);

/* libfabric's name for a peer, which lies at a multiple of 4. */
static inline fi_addr_t weft_fabric_port_name(const struct weft_port_peer *peer)
{
    fi_addr_t name;

    memcpy(&name, peer->to.fabric, sizeof(name));
    return name;
}

enum weft_rc weft_fabric_port_send(struct weft_port *port, struct weft_port_peer *peer,
                                   const struct weft_train *train, uint32_t *taken);
int weft_fabric_port_receive(struct weft_port *port, struct weft_datagram *out, int most);
bool weft_fabric_port_may_be_from(const struct weft_port *port,
                                  const struct weft_datagram *datagram,
                                  const struct weft_port_peer *peer);
enum weft_rc weft_fabric_port_arm(struct weft_port *port);

#endif
