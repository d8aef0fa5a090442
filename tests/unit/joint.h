/*
 * joint.h - the other side of a joint (node/joint.h), for tests that stand in for it.
 */
#ifndef WEFT_TEST_JOINT_H
#define WEFT_TEST_JOINT_H

#include "node/joint.h"

/* The turn that a joint is in, whoever began it. */
static inline uint32_t joint_turn(const struct weft_joint *joint)
{
    return (uint32_t)(atomic_load_explicit(&joint->state, memory_order_acquire) >> 32);
}

static inline enum weft_joint_state joint_state(const struct weft_joint *joint)
{
    bool is_over;

    return weft_joint_state(joint, joint_turn(joint), &is_over);
}

static inline uint64_t joint_copied(const struct weft_joint *joint)
{
    return atomic_load_explicit(&joint->copied, memory_order_acquire);
}

/* Bytes that are claimed at once. */
static inline uint64_t joint_piece(const struct weft_joint *joint)
{
    return (uint64_t)joint->unit *
           atomic_load_explicit(&joint->piece, memory_order_relaxed);
}

/* The owner's next turn, in which the transfer is open from the start. */
static inline uint32_t joint_fill(struct weft_joint *joint,
                                  const struct weft_joint_terms *terms)
{
    const uint32_t turn = weft_joint_announce(joint, terms->source);

    weft_joint_open(joint, turn, terms);
    return turn;
}

#endif
