/*
 * alltoall_pairwise.c - in round r, ranks whose sum is r modulo n exchange their blocks;
 * a rank that is its own partner copies. At most ROUNDS_AT_ONCE rounds are under way at a
 * rank. Blocks may differ in size; two ranks that have nothing for each other send
 * nothing.
 *
 * For large data, where all messages at once would compete for memory and links; and for
 * block sizes that only two ranks know. In place it needs memory for ROUNDS_AT_ONCE
 * blocks.
 *
 * No rank waits for ever: a round waits only for earlier ones of the same rank, and both
 * partners have it at the same number.
 *
 * Cost: n rounds; a message of one block from each rank to each other one, unless it is
 * empty.
 */
#include "coll/algorithms.h"

enum { ROUNDS_AT_ONCE = 8 };

/* Rounds that are under way: a round waits for the last one in its slot. */
struct slot {
    uint32_t sent;
    uint32_t received;
    struct weft_span aside; /* in place: what is sent */
};

static void add_after(struct weft_graph *graph, uint32_t step, const struct slot *slot)
{
    weft_build_after_both(graph, step, slot->sent, slot->received);
}

/* Receives first, so that a partner's message rarely comes unexpected. */
static void exchange(const struct weft_shape *shape, struct weft_graph *graph, int peer,
                     struct slot *slot)
{
    const struct slot before = *slot;
    const struct weft_span in = weft_build_block_from(shape, peer);
    const struct weft_span out = weft_build_block_to(shape, peer);

    if (in.bytes > 0) {
        slot->received = weft_graph_recv(graph, peer, in);
        add_after(graph, slot->received, &before);
    }
    if (out.bytes > 0) {
        slot->sent = weft_graph_send(graph, peer, out);
        add_after(graph, slot->sent, &before);
    }
}

/* What is sent lies where the result goes, so it is moved out of the way first. */
static void replace(const struct weft_shape *shape, struct weft_graph *graph, int peer,
                    struct slot *slot)
{
    const struct weft_span block = weft_build_block_from(shape, peer);
    const struct weft_span aside = weft_span_part(slot->aside, 0, block.bytes);
    uint32_t moved;

    if (block.bytes == 0) {
        return;
    }
    moved = weft_graph_copy(graph, block, aside);
    add_after(graph, moved, slot);
    slot->received = weft_graph_recv(graph, peer, block);
    slot->sent = weft_graph_send(graph, peer, aside);
    weft_graph_after(graph, slot->received, moved);
    weft_graph_after(graph, slot->sent, moved);
}

static uint64_t largest_block(const struct weft_shape *shape)
{
    uint64_t most = 0;

    for (int peer = 0; peer < shape->n; peer++) {
        const uint64_t bytes = weft_build_block_from(shape, peer).bytes;

        if (peer != shape->rank && bytes > most) {
            most = bytes;
        }
    }
    return most;
}

static void open_slots(const struct weft_shape *shape, struct weft_graph *graph,
                       struct slot *slots)
{
    const uint64_t aside = shape->is_in_place ? largest_block(shape) : 0;

    for (int i = 0; i < ROUNDS_AT_ONCE; i++) {
        slots[i] = (struct slot){WEFT_NO_STEP, WEFT_NO_STEP, {0}};
        if (shape->is_in_place && i < shape->n) {
            slots[i].aside = weft_graph_scratch(graph, aside);
        }
    }
}

enum weft_rc weft_alltoall_pairwise(const struct weft_shape *shape,
                                    struct weft_graph *graph)
{
    struct slot slots[ROUNDS_AT_ONCE];

    open_slots(shape, graph, slots);
    for (int round = 0; round < shape->n; round++) {
        const int peer = (int)(((int64_t)round - shape->rank + shape->n) % shape->n);

        if (peer != shape->rank && shape->is_in_place) {
            replace(shape, graph, peer, &slots[round % ROUNDS_AT_ONCE]);
        } else if (peer != shape->rank) {
            exchange(shape, graph, peer, &slots[round % ROUNDS_AT_ONCE]);
        } else if (!shape->is_in_place) {
            weft_build_own(graph, weft_build_block_to(shape, peer),
                           weft_build_block_from(shape, peer));
        }
    }
    return graph->rc;
}

struct weft_cost weft_alltoall_pairwise_cost(const struct weft_shape *shape)
{
    const uint64_t others = shape->bytes > 0 ? (uint64_t)shape->n - 1 : 0;

    return (struct weft_cost){
        .messages = (uint64_t)shape->n * others,
        .bytes = (uint64_t)shape->n * others * shape->bytes,
        .chain = {.rounds = (others + ROUNDS_AT_ONCE - 1) / ROUNDS_AT_ONCE,
                  .messages = 2 * others,
                  .bytes = others * shape->bytes,
                  .steps = 1,
                  .copied = shape->bytes},
    };
}
