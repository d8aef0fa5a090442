/*
 * flags_cost.c - which blocking calls can be made through slots (flags.h), and what they
 * cost.
 *
 * A member copies what it gives to its line. Members that want it look at its flag and
 * copy it from there, or combine it. Where members meet, the last one to come combines
 * for all. Nothing is a message.
 */
#include "coll/algorithms.h"

#include "coll/slot_sizes.h"

/* ---- which ---- */

/* Does a member give no more than there is room for, and than pays? Where every rank has
 * a processor, messages of more than a page are as fast and are copied less often. */
static bool is_small(const struct weft_shape *shape, uint64_t blocks)
{
    const uint64_t most = shape->has_meetings ? WEFT_SLOT_BYTES : WEFT_SLOT_BYTES / 4;

    return shape->has_slots && shape->bytes <= most / blocks;
}

bool weft_flags_fit_one(const struct weft_shape *shape)
{
    return is_small(shape, 1);
}

bool weft_flags_fit_all(const struct weft_shape *shape)
{
    return is_small(shape, (uint64_t)shape->n);
}

bool weft_flags_fit_reduction(const struct weft_shape *shape)
{
    return shape->is_plain && is_small(shape, 1);
}

bool weft_flags_fit_parts(const struct weft_shape *shape)
{
    return shape->is_plain && is_small(shape, (uint64_t)shape->n);
}

/* ---- what they cost ---- */

struct weft_cost weft_flags_from_root_cost(const struct weft_shape *shape)
{
    return (struct weft_cost){.chain = {.flags = 1, .copied = 2 * shape->bytes}};
}

struct weft_cost weft_flags_to_root_cost(const struct weft_shape *shape)
{
    const uint64_t n = (uint64_t)shape->n;

    return (struct weft_cost){.chain = {.flags = n - 1, .copied = n * shape->bytes}};
}

/* Members that meet come one after the other, if they run at once. */
static uint64_t flags_of_all(const struct weft_shape *shape)
{
    const bool is_crowded = shape->processors > 0 && shape->processors < shape->n;

    return shape->has_meetings && is_crowded ? 1 : (uint64_t)shape->n - 1;
}

/* An alltoall gives n blocks and takes as many. */
struct weft_cost weft_flags_all_cost(const struct weft_shape *shape)
{
    const uint64_t n = (uint64_t)shape->n;

    return (struct weft_cost){
        .chain = {.flags = flags_of_all(shape), .copied = 2 * n * shape->bytes}};
}

/* A scan combines less. */
struct weft_cost weft_flags_reduce_cost(const struct weft_shape *shape)
{
    const uint64_t n = (uint64_t)shape->n;
    const uint64_t reduced = (n - 1) * shape->bytes;

    return (struct weft_cost){.reduced = shape->has_meetings ? reduced : n * reduced,
                              .chain = {.flags = flags_of_all(shape),
                                        .steps = n - 1,
                                        .reduced = reduced,
                                        .copied = 2 * shape->bytes}};
}
