#include "coll/model.h"

#include "coll/constants.h"
#include "engine/wire.h"

/* Of bytes, with the time of one in picoseconds; for any number of bytes. */
static uint64_t time_of(uint64_t bytes, uint64_t each_ps)
{
    const uint64_t many = UINT64_C(1) << 44;

    return bytes < many ? bytes * each_ps / 1000 : bytes / 1000 * each_ps;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- messages ---- */

/* Are they announced, on average? Pieces that are moved by single copy are not. */
static bool are_announced(const struct weft_cost *cost)
{
    return !cost->is_single_copy && cost->messages > 0 &&
           cost->bytes / cost->messages > WEFT_EAGER_MAX;
}

struct prices {
    uint64_t latency_ns;
    uint64_t message_ns;
    uint64_t byte_ps;
};

/* Of a long message are two short ones: the first announces it, the other says that it is
 * there. A single copy has neither. */
static struct prices prices_of(const struct weft_link *link, const struct weft_cost *cost)
{
    if (cost->is_single_copy) {
        return (struct prices){.message_ns = link->long_message_ns - 2 * link->message_ns,
                               .byte_ps = link->long_byte_ps};
    }
    if (are_announced(cost)) {
        return (struct prices){link->long_latency_ns, link->long_message_ns,
                               link->long_byte_ps};
    }
    return (struct prices){link->latency_ns, link->message_ns, link->byte_ps};
}

static uint64_t time_of_chain(const struct weft_chain *chain, struct prices prices)
{
    return chain->rounds * prices.latency_ns + chain->messages * prices.message_ns +
           time_of(chain->bytes, prices.byte_ps) + chain->steps * weft_constants.step_ns +
           chain->flags * weft_constants.flag_ns +
           time_of(chain->reduced, weft_constants.reduced_ps) +
           time_of(chain->copied, weft_constants.copied_ps);
}

/* ---- what ranks share ---- */

/* How often each rank yields. A long message has its sender wait, too. */
static uint64_t yields_of(const struct weft_cost *cost)
{
    if (cost->chain.rounds == 0) {
        return cost->chain.flags > 0 ? 1 : 0;
    }
    return (are_announced(cost) ? 2 : 1) * cost->chain.rounds;
}

/* The work of all ranks, done by fewer processors. */
static uint64_t time_of_work(const struct weft_shape *shape, const struct weft_cost *cost)
{
    const uint64_t n = (uint64_t)shape->n;
    const struct weft_chain all = {
        .rounds = smaller(cost->chain.rounds * n, cost->messages),
        .messages = cost->messages,
        .bytes = cost->bytes,
        .steps = n * cost->chain.steps,
        .reduced = cost->reduced,
        .copied = n * cost->chain.copied,
    };
    const struct weft_link *link =
        shape->nodes <= 1 ? &weft_constants.shared : &weft_constants.far;

    return (time_of_chain(&all, prices_of(link, cost)) +
            n * yields_of(cost) * weft_constants.yield_ns) /
           (uint64_t)shape->processors;
}

/* All that leaves one of several nodes, if it goes anywhere. */
static uint64_t time_of_link(const struct weft_shape *shape, const struct weft_cost *cost)
{
    const uint64_t nodes = (uint64_t)shape->nodes;
    const uint64_t leaving = cost->bytes / nodes / nodes * (nodes - 1);

    return time_of(leaving, prices_of(&weft_constants.far, cost).byte_ps);
}

uint64_t weft_model_time(const struct weft_shape *shape, const struct weft_cost *cost)
{
    const bool is_one_node = shape->nodes <= 1;
    const struct prices near = prices_of(&weft_constants.near, cost);
    const struct prices far = prices_of(&weft_constants.far, cost);
    uint64_t chain = time_of_chain(&cost->chain, is_one_node ? near : far) +
                     time_of_chain(&cost->inside, near);

    if (!is_one_node && cost->inside.messages == 0) { /* else the chain has them */
        chain = larger(chain, time_of_link(shape, cost));
    }
    if (shape->processors > 0 && shape->processors < shape->n) {
        chain = chain - chain / (uint64_t)shape->processors + time_of_work(shape, cost);
    }
    return chain;
}
