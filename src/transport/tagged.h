/*
 * tagged.h - matching that a network does itself: the optional table of a transport whose
 * endpoints match messages to receives (weft_packet_ops.tagged).
 *
 * A message has WEFT_TAGGED_BITS bits to match by and 64 bits of data, which its receiver
 * reads when it has the message. A receive names a sender, or nobody, and bits, of which
 * it may ignore some; the oldest message that fits, in the order in which its sender sent
 * it, and the oldest receive that fits meet. Messages and packets (transport.h) of one
 * pair have no order between them.
 *
 * Operations. Whoever starts one embeds a struct weft_tagged_op. A call that returns
 * WEFT_PENDING leaves op and buffer with the transport until poll() calls done(), once.
 * WEFT_AGAIN means that nothing was begun: poll, then try again; no event may announce
 * when that helps, so the caller has asked for ticks (tick). Any other code is a failure.
 *
 * Claims. A peek that takes its message leaves it with the op, which is for
 * recv_claimed() and nothing else from then on.
 *
 * Trust. Who may send at all is up to the network: the bytes of a message are in the
 * user's buffer before anybody can look at them. This process sends to peers that have
 * proved that they belong to the job.
 *
 * All calls need the library's lock.
 */
#ifndef WEFT_TRANSPORT_TAGGED_H
#define WEFT_TRANSPORT_TAGGED_H

#include "transport/transport.h"

enum {
    WEFT_TAGGED_BITS = 61,       /* that messages are matched by; more are 0 */
    WEFT_TAGGED_CONTEXT = 8 * 8, /* bytes of an op that are the network's */
};

/* How an operation has ended. What was received or found: whose bits and data, and how
 * long the message is, which may be longer than the buffer (WEFT_ERR_TRUNCATE). */
struct weft_tagged_end {
    enum weft_rc rc;
    bool is_cancelled; /* nothing was received */
    bool is_found;     /* by a peek */
    uint64_t bits;
    uint64_t data;
    uint64_t length;
};

struct weft_tagged_op {
    _Alignas(16) uint8_t context[WEFT_TAGGED_CONTEXT]; /* first; the network's */
    void (*done)(struct weft_tagged_op *op, const struct weft_tagged_end *end);
    struct weft_path *path; /* of a send; else NULL */
    size_t room;            /* of a receive: bytes of its buffer */
    void *mr;               /* of the buffer, while it is registered */
};

/* What is matched: `from` is the sender's path, or NULL for anybody. */
struct weft_tagged_pattern {
    struct weft_path *from;
    uint64_t bits;
    uint64_t ignore;
};

struct weft_tagged_ops {
    /* Bytes of the longest message that is copied. */
    size_t (*copied)(const struct weft_transport *tp);

    /* Bytes of the longest message that there is. A receive may have room for more. */
    size_t (*longest)(const struct weft_transport *tp);

    /* Sends; the first copies at most copied() bytes, and returns WEFT_OK. */
    enum weft_rc (*inject)(struct weft_path *to, uint64_t bits, uint64_t data,
                           const void *buffer, size_t len);
    enum weft_rc (*send)(struct weft_path *to, uint64_t bits, uint64_t data,
                         const void *buffer, size_t len, struct weft_tagged_op *op);

    enum weft_rc (*recv)(struct weft_transport *tp,
                         const struct weft_tagged_pattern *pattern, void *buffer,
                         size_t len, struct weft_tagged_op *op);

    /* Looks for a message that waits, and takes it out of matching if `takes`. done() is
     * called within a few polls, whether there is one or not. */
    enum weft_rc (*peek)(struct weft_transport *tp,
                         const struct weft_tagged_pattern *pattern, bool takes,
                         struct weft_tagged_op *op);
    /* Receives what a peek has taken, by its op. */
    enum weft_rc (*recv_claimed)(struct weft_transport *tp, void *buffer, size_t len,
                                 struct weft_tagged_op *op);

    /* Asks for a receive back: done() says whether it was still to be had. */
    void (*cancel)(struct weft_transport *tp, struct weft_tagged_op *op);

    /* While `is_needed`, the transport wants to be polled by the clock, too. */
    void (*tick)(struct weft_transport *tp, bool is_needed);
};

#endif
