#include "transport/dgram/udp.h"

#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

enum { TRIES = 3 }; /* if the socket tells of an earlier datagram's end */

/* ---- the pool ---- */

enum weft_rc weft_udp_open_pool(struct weft_udp *udp, uint32_t bytes)
{
    const uint32_t wanted = bytes / WEFT_UDP_BLOCK;
    void *memory;

    udp->block_count = wanted < 1                     ? 1
                       : wanted > WEFT_UDP_BLOCKS_MAX ? WEFT_UDP_BLOCKS_MAX
                                                      : wanted;
    /* Pages are touched when they are used: a block costs what has come in it. */
    memory = mmap(NULL, (size_t)udp->block_count * WEFT_UDP_BLOCK, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return WEFT_ERR_NOMEM;
    }
    udp->pool = memory;
    for (uint32_t i = 0; i < udp->block_count; i++) {
        udp->blocks[i].memory =
            (struct iovec){udp->pool + (size_t)i * WEFT_UDP_BLOCK, WEFT_UDP_BLOCK};
    }
    udp->filled = udp->block_count; /* as if all had been read into, and given out */
    udp->current = udp->filled;
    return WEFT_OK;
}

void weft_udp_close_pool(struct weft_udp *udp)
{
    if (udp->pool != NULL) {
        munmap(udp->pool, (size_t)udp->block_count * WEFT_UDP_BLOCK);
    }
}

/* Makes the blocks that the last call has filled ready for the next one. */
static void prepare(struct weft_udp *udp)
{
    for (uint32_t i = 0; i < udp->filled; i++) {
        struct weft_udp_block *block = &udp->blocks[i];

        udp->messages[i].msg_hdr = (struct msghdr){
            .msg_name = &block->from,
            .msg_namelen = sizeof(block->from),
            .msg_iov = &block->memory,
            .msg_iovlen = 1,
            .msg_control = block->control,
            .msg_controllen = sizeof(block->control),
        };
    }
    udp->filled = 0;
    udp->current = 0;
    udp->offset = 0;
}

/* ---- what comes with a message ---- */

static void note_drops(struct weft_udp *udp, uint32_t drops)
{
    udp->port.counts.dropped += (uint32_t)(drops - udp->last_drops);
    udp->last_drops = drops;
}

/* Takes in the numbers that came with a block. A block that was cut is left out. */
static void read_control(struct weft_udp *udp, struct weft_udp_block *block,
                         struct mmsghdr *message)
{
    struct msghdr *header = &message->msg_hdr;

    block->length = message->msg_len;
    block->segment = message->msg_len;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL;
         c = CMSG_NXTHDR(header, c)) {
        uint32_t number;

        if (c->cmsg_len < CMSG_LEN(sizeof(number))) {
            continue;
        }
        memcpy(&number, CMSG_DATA(c), sizeof(number));
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO && number > 0) {
            block->segment = number;
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            note_drops(udp, number);
        }
    }
    if (block->length == 0 || (header->msg_flags & MSG_TRUNC) != 0) {
        udp->port.counts.rejected++;
        block->length = 0;
    }
}

/*
 * Reads messages that are there; false: none is. The first call after an empty one asks
 * for a single message, because to look for a second one takes 0.1 us, and an answer that
 * is waited for comes alone. Later calls ask for as many as have room.
 */
static bool refill(struct weft_udp *udp)
{
    const uint32_t most = udp->is_busy ? udp->block_count : 1;
    int count = -1;

    prepare(udp);
    for (int i = 0; count < 0 && i < TRIES; i++) {
        count = weft_udp_call_receive(udp->port.fd, udp->messages, most);
        if (count < 0 && errno == EAGAIN) {
            break;
        }
    }
    udp->is_busy = count > 0;
    udp->is_last = count < (int)most;
    if (count <= 0) {
        return false;
    }
    udp->port.counts.receives++;
    udp->filled = (uint32_t)count;
    for (uint32_t i = 0; i < udp->filled; i++) {
        read_control(udp, &udp->blocks[i], &udp->messages[i]);
    }
    return true;
}

/* The next datagram of those that were read; false: there is none. */
static bool give_next(struct weft_udp *udp, struct weft_datagram *out)
{
    while (udp->current < udp->filled) {
        const struct weft_udp_block *block = &udp->blocks[udp->current];
        const uint32_t left = block->length - udp->offset;
        const uint32_t length = left < block->segment ? left : block->segment;

        *out = (struct weft_datagram){
            .bytes = (const uint8_t *)block->memory.iov_base + udp->offset,
            .length = length,
            .slot = udp->current,
        };
        udp->offset += length;
        if (left == length) {
            udp->current++;
            udp->offset = 0;
        }
        if (length > 0 && length <= udp->port.datagram_max) {
            return true;
        }
        udp->port.counts.rejected += length > 0; /* else counted when it was read */
    }
    return false;
}

int weft_udp_receive(struct weft_port *port, struct weft_datagram *out, int most)
{
    struct weft_udp *udp = weft_udp_of(port);
    int count = 0;

    assert(most > 0);
    if (udp->current == udp->filled && !refill(udp)) {
        port->is_drained = true;
        return 0;
    }
    while (count < most && give_next(udp, &out[count])) {
        count++;
    }
    port->is_drained = udp->is_last && udp->current == udp->filled;
    port->counts.received += (uint64_t)count;
    return count;
}

bool weft_udp_may_be_from(const struct weft_port *port,
                          const struct weft_datagram *datagram,
                          const struct weft_port_peer *peer)
{
    const struct weft_udp *udp = (const struct weft_udp *)(const void *)port;
    const struct sockaddr_in6 *six = &udp->blocks[datagram->slot].from;

    if (peer->to.any.sa_family == AF_INET6) {
        return six->sin6_port == peer->to.six.sin6_port &&
               memcmp(&six->sin6_addr, &peer->to.six.sin6_addr, sizeof(six->sin6_addr)) ==
                   0;
    }
    return memcmp(six, &peer->to.four, offsetof(struct sockaddr_in, sin_zero)) == 0;
}

enum weft_rc weft_udp_arm(struct weft_port *port)
{
    const struct weft_udp *udp = weft_udp_of(port);
    struct pollfd look = {.fd = port->fd, .events = POLLIN};

    return udp->current < udp->filled || poll(&look, 1, 0) > 0 ? WEFT_AGAIN : WEFT_OK;
}
