/*
 * joint.h - the other side of a joint (transport.h), for tests that stand in for it.
 */
#ifndef WEFT_TEST_JOINT_H
#define WEFT_TEST_JOINT_H

#include "transport/transport.h"

enum { JOINT_TURN_SHIFT = 48 };

#define JOINT_OFFSETS ((UINT64_C(1) << JOINT_TURN_SHIFT) - 1)

static inline uint32_t joint_turn(const struct weft_joint *joint)
{
    return (uint32_t)(atomic_load_explicit(&joint->next, memory_order_acquire) >>
                      JOINT_TURN_SHIFT);
}

/* Opens the next turn of a joint and returns it. */
static inline uint32_t joint_fill(struct weft_joint *joint, const void *source,
                                  const void *target, uint64_t length, uint64_t piece)
{
    const uint64_t turn = (joint_turn(joint) + 1) & 0xffff;

    atomic_store_explicit(&joint->next, turn << JOINT_TURN_SHIFT | JOINT_OFFSETS,
                          memory_order_seq_cst);
    joint->source = (uint64_t)(uintptr_t)source;
    joint->target = (uint64_t)(uintptr_t)target;
    joint->length = length;
    joint->piece = piece;
    atomic_store_explicit(&joint->copied, 0, memory_order_relaxed);
    atomic_store_explicit(&joint->next, turn << JOINT_TURN_SHIFT, memory_order_release);
    return (uint32_t)turn;
}

/* False: nothing is left, or the turn is over. */
static inline bool joint_claim(struct weft_joint *joint, uint32_t turn, uint64_t *offset,
                               uint64_t *length)
{
    uint64_t next = atomic_load_explicit(&joint->next, memory_order_acquire);
    uint64_t at;
    uint64_t part;

    do {
        at = next & JOINT_OFFSETS;
        if ((uint32_t)(next >> JOINT_TURN_SHIFT) != turn || at >= joint->length) {
            return false;
        }
        part = joint->length - at < joint->piece ? joint->length - at : joint->piece;
    } while (!atomic_compare_exchange_weak_explicit(
        &joint->next, &next, next + part, memory_order_acquire, memory_order_acquire));
    *offset = at;
    *length = part;
    return true;
}

static inline void joint_count(struct weft_joint *joint, uint64_t bytes)
{
    atomic_fetch_add_explicit(&joint->copied, bytes, memory_order_release);
}

#endif
