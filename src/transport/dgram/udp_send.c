#include "transport/dgram/udp.h"

#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

enum { TRIES = 3 }; /* if the socket tells of an earlier datagram's end */

/* What a failed call means for the datagrams that it was to send. NOT_NOW: this train
 * cannot be split; NEVER: no train can. */
enum outcome { SENT, NO_ROOM, LOST, UNREADABLE, NOT_NOW, NEVER };

static enum outcome judge(int cause, bool is_train)
{
    switch (cause) {
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
    case ENOMEM:
        return NO_ROOM;
    case EFAULT:
        return UNREADABLE;
    case EINVAL: /* packets of the interface are shorter now */
        return is_train ? NOT_NOW : LOST;
    case EIO: /* the network card computes no checksums */
    case EOPNOTSUPP:
        return is_train ? NEVER : LOST;
    default:
        return LOST;
    }
}

static socklen_t length_of(const struct weft_port_peer *peer)
{
    return peer->to.any.sa_family == AF_INET6 ? sizeof(peer->to.six)
                                              : sizeof(peer->to.four);
}

/* One system call, or two. With `segment` 0 the bytes are one datagram. */
static enum outcome send_message(struct weft_udp *udp, struct weft_port_peer *peer,
                                 const struct iovec *pieces, size_t count,
                                 uint16_t segment)
{
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(segment))] = {0};
    struct msghdr message = {
        .msg_name = &peer->to,
        .msg_namelen = length_of(peer),
        .msg_iov = (struct iovec *)(uintptr_t)pieces,
        .msg_iovlen = count,
    };
    int cause = 0;

    if (segment > 0) {
        struct cmsghdr *header = (struct cmsghdr *)(void *)control;

        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        header->cmsg_level = IPPROTO_UDP;
        header->cmsg_type = UDP_SEGMENT;
        header->cmsg_len = CMSG_LEN(sizeof(segment));
        memcpy(CMSG_DATA(header), &segment, sizeof(segment));
    }
    for (int i = 0; i < TRIES; i++) {
        udp->port.counts.sends++;
        if (weft_udp_call_send(udp->port.fd, &message) >= 0) {
            return SENT;
        }
        cause = errno;
        if (cause != ECONNREFUSED) {
            break;
        }
    }
    if (judge(cause, segment > 0) == LOST) {
        udp->port.counts.last_error = cause;
    }
    return judge(cause, segment > 0);
}

/* Takes note of what became of some datagrams; false: no more can be sent now. */
static bool note(struct weft_udp *udp, enum outcome outcome, uint32_t datagrams,
                 uint32_t *taken)
{
    if (outcome != SENT && outcome != LOST) {
        return false;
    }
    udp->port.counts.sent += datagrams;
    udp->port.counts.unsent += outcome == LOST ? datagrams : 0;
    *taken += datagrams;
    return true;
}

/* How many of the pieces are the datagram that the first one begins, with the empty ones
 * behind it. */
static size_t count_pieces(const struct iovec *pieces, size_t count, uint32_t bytes)
{
    size_t used = 0;

    for (size_t all = 0; used < count && (all < bytes || pieces[used].iov_len == 0);
         used++) {
        all += pieces[used].iov_len;
    }
    return used;
}

/* Each datagram with a call of its own. */
static enum outcome send_each(struct weft_udp *udp, struct weft_port_peer *peer,
                              const struct weft_train *train, uint32_t *taken)
{
    const struct iovec *pieces = train->pieces;
    size_t left = train->piece_count;
    enum outcome outcome = SENT;

    while (left > 0) {
        const size_t used = count_pieces(pieces, left, train->bytes);

        outcome = send_message(udp, peer, pieces, used, 0);
        if (!note(udp, outcome, 1, taken)) {
            break;
        }
        pieces += used;
        left -= used;
    }
    return outcome;
}

enum weft_rc weft_udp_send(struct weft_port *port, struct weft_port_peer *peer,
                           const struct weft_train *train, uint32_t *taken)
{
    struct weft_udp *udp = weft_udp_of(port);
    const bool is_one = train->datagrams == 1;
    enum outcome outcome = NOT_NOW;

    assert(train->datagrams > 0 && train->datagrams <= WEFT_PORT_TRAIN_MAX);
    assert(train->bytes <= peer->datagram_max);
    assert(train->piece_count <= WEFT_PORT_PIECES_MAX);
    *taken = 0;
    if (is_one || udp->can_segment) {
        outcome = send_message(udp, peer, train->pieces, train->piece_count,
                               is_one ? 0 : (uint16_t)train->bytes);
        (void)note(udp, outcome, train->datagrams, taken);
    }
    if (outcome == NEVER) {
        udp->can_segment = false;
        weft_log_info("udp: trains of datagrams are sent one by one, because the system "
                      "does not split them");
    }
    if (outcome == NEVER || outcome == NOT_NOW) {
        outcome = send_each(udp, peer, train, taken);
    }
    port->counts.refused += outcome == NO_ROOM;
    return outcome == NO_ROOM      ? WEFT_AGAIN
           : outcome == UNREADABLE ? WEFT_ERR_ADDRESS
                                   : WEFT_OK;
}
