/*
 * model.h - how long a collective takes, from what its algorithm costs (cost.h) and from
 * what messages and bytes take on this machine (constants.h).
 *
 * A message takes a latency until it is there, and its sender and its receiver a time of
 * their own. Short ones (WEFT_EAGER_MAX) are copied twice; longer ones are announced,
 * which takes longer, and are copied once. The longest chain takes the sum:
 *
 *     chain = rounds * latency + messages * message + bytes * byte
 *           + steps * step + reduced * reduced + copied * copied + flags * flag
 *
 * Where the ranks outnumber their processors, these do the work of all ranks, and a rank
 * that waits gives its processor to another one: the latency of ranks that share one has
 * that in it. A rank waits at most once in a round, and at most once for each message.
 * Others look in vain meanwhile: each rank yields once in a round, twice if messages are
 * announced, because their senders wait as well; and once for flags.
 *
 *     work = (min(rounds * n, messages) * latency + messages * message + bytes * byte
 *             + n * steps * step + reduced * reduced + n * copied * copied
 *             + n * yields * yield) / processors
 *
 * The chain is a part of the work. So the operation takes work + chain - chain /
 * processors (Brent: never more than the longest chain, and the rest of the work divided
 * by the processors). On several nodes, all bytes that leave a node share
 * its link: the operation takes at least that long.
 *
 * Times are whole nanoseconds, and the same on all members for the same cost: there is no
 * floating point, which two builds of the library might round in different ways. A time
 * is good for comparing algorithms, not for predicting one.
 */
#ifndef WEFT_COLL_MODEL_H
#define WEFT_COLL_MODEL_H

#include "coll/cost.h"

/* What a message takes, in nanoseconds, and each of its bytes, in picoseconds. */
struct weft_link {
    uint64_t latency_ns;
    uint64_t message_ns;
    uint64_t byte_ps;
    uint64_t long_latency_ns; /* of one that is announced */
    uint64_t long_message_ns;
    uint64_t long_byte_ps;
};

struct weft_constants {
    struct weft_link near;   /* inside a node, with a processor for each rank */
    struct weft_link shared; /* inside a node, between ranks on one processor */
    struct weft_link far;
    uint64_t step_ns; /* that copies or reduces, before its first byte */
    uint64_t reduced_ps;
    uint64_t copied_ps;
    uint64_t flag_ns;  /* a flag that another processor has written is read */
    uint64_t yield_ns; /* a rank that waits gives its processor to another, in vain */
};

/* How long the operation takes, in nanoseconds. */
uint64_t weft_model_time(const struct weft_shape *shape, const struct weft_cost *cost);

#endif
