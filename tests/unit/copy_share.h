/*
 * copy_share.h - the other side of a share (node/copy_share.h), for tests that stand in
 * for it.
 */
#ifndef WEFT_TEST_COPY_SHARE_H
#define WEFT_TEST_COPY_SHARE_H

#include "node/copy_share.h"

/* The generation that a share is in, whoever began it. */
static inline uint32_t share_generation(const struct weft_copy_share *share)
{
    return (uint32_t)(atomic_load_explicit(&share->state, memory_order_acquire) >> 32);
}

static inline enum weft_share_state share_state(const struct weft_copy_share *share)
{
    bool is_over;

    return weft_share_state(share, share_generation(share), &is_over);
}

static inline uint64_t share_copied(const struct weft_copy_share *share)
{
    return atomic_load_explicit(&share->copied, memory_order_acquire);
}

/* Bytes that are claimed at once. */
static inline uint64_t share_chunk(const struct weft_copy_share *share)
{
    return (uint64_t)share->unit *
           atomic_load_explicit(&share->chunk, memory_order_relaxed);
}

/* The owner's next generation, in which the transfer is open from the start. */
static inline uint32_t share_fill(struct weft_copy_share *share,
                                  const struct weft_share_terms *terms)
{
    const uint32_t generation = weft_share_announce(share, terms->source);

    weft_share_open(share, generation, terms);
    return generation;
}

#endif
