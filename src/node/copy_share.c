#include "node/copy_share.h"

#include "node/bits.h"

enum { UNIT = 4096, FIELD_BITS = 24, GENERATION_AT = 48 };

static const uint64_t FIELD = (UINT64_C(1) << FIELD_BITS) - 1;

static uint64_t state_of(uint32_t generation, enum weft_share_state state)
{
    return (uint64_t)generation << 32 | (uint64_t)state;
}

static uint64_t range_of(uint32_t generation, uint64_t front, uint64_t back)
{
    return (uint64_t)(uint16_t)generation << GENERATION_AT | back << FIELD_BITS | front;
}

static uint64_t front_of(uint64_t range)
{
    return range & FIELD;
}

static uint64_t back_of(uint64_t range)
{
    return range >> FIELD_BITS & FIELD;
}

static uint64_t length_of(const struct weft_copy_share *share)
{
    return atomic_load_explicit(&share->length, memory_order_relaxed);
}

static void set(_Atomic uint64_t *field, uint64_t value)
{
    atomic_store_explicit(field, value, memory_order_relaxed);
}

struct weft_copy_share *weft_share_take(struct weft_node *node, uint32_t *number)
{
    return weft_bits_take(&node->shares_used, WEFT_SHARES, number)
               ? &node->area->shares[*number]
               : NULL;
}

void weft_share_give(struct weft_node *node, uint32_t number)
{
    weft_bits_give(&node->shares_used, number);
}

struct weft_copy_share *weft_share_of(struct weft_node_area *area, uint32_t number)
{
    return number < WEFT_SHARES ? &area->shares[number] : NULL;
}

/*
 * A new generation, in which nothing can be claimed yet. The state says so before any
 * field changes: a process that still looks at the generation before, and finds fields of
 * this one, finds this state as well (weft_share_is_over).
 */
static uint32_t begin(struct weft_copy_share *share)
{
    const uint32_t generation =
        (uint32_t)(atomic_load_explicit(&share->state, memory_order_relaxed) >> 32) + 1;

    atomic_store_explicit(&share->state, state_of(generation, WEFT_SHARE_FREE),
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&share->range, range_of(generation, 0, 0),
                          memory_order_relaxed);
    return generation;
}

uint32_t weft_share_announce(struct weft_copy_share *share, uint64_t source)
{
    const uint32_t generation = begin(share);

    set(&share->source, source);
    atomic_store_explicit(&share->state, state_of(generation, WEFT_SHARE_ANNOUNCED),
                          memory_order_release);
    return generation;
}

uint32_t weft_share_offer(struct weft_copy_share *share, uint64_t target,
                          uint64_t capacity)
{
    const uint32_t generation = begin(share);

    set(&share->target, target);
    set(&share->length, capacity);
    atomic_store_explicit(&share->state, state_of(generation, WEFT_SHARE_OFFERED),
                          memory_order_release);
    return generation;
}

static bool leave_offered(struct weft_copy_share *share, uint32_t generation,
                          enum weft_share_state next)
{
    uint64_t offered = state_of(generation, WEFT_SHARE_OFFERED);

    return atomic_compare_exchange_strong_explicit(
        &share->state, &offered, state_of(generation, next), memory_order_acq_rel,
        memory_order_acquire);
}

bool weft_share_claim(struct weft_copy_share *share, uint32_t generation)
{
    return leave_offered(share, generation, WEFT_SHARE_CLAIMED);
}

bool weft_share_take_back(struct weft_copy_share *share, uint32_t generation)
{
    return leave_offered(share, generation, WEFT_SHARE_TAKEN);
}

void weft_share_open(struct weft_copy_share *share, uint32_t generation,
                     const struct weft_share_terms *terms)
{
    uint64_t unit = UNIT;
    uint64_t units;

    while (terms->length / unit >= FIELD) {
        unit *= 2;
    }
    units = (terms->length + unit - 1) / unit;
    atomic_thread_fence(memory_order_release); /* as in begin(), which its owner called */
    set(&share->source, terms->source);
    set(&share->target, terms->target);
    set(&share->length, terms->length);
    set(&share->note, terms->note);
    atomic_store_explicit(&share->unit, (uint32_t)unit, memory_order_relaxed);
    atomic_store_explicit(&share->chunk, (uint32_t)((terms->chunk + unit - 1) / unit),
                          memory_order_relaxed);
    atomic_store_explicit(&share->copied, 0, memory_order_relaxed);
    atomic_store_explicit(&share->range,
                          range_of(generation, terms->chunk == 0 ? units : 0, units),
                          memory_order_relaxed);
    atomic_store_explicit(&share->state, state_of(generation, WEFT_SHARE_OPEN),
                          memory_order_release);
}

bool weft_share_claim_chunk(struct weft_copy_share *share, uint32_t generation,
                            enum weft_share_side side, uint64_t *offset, uint64_t *length)
{
    uint64_t range;
    uint64_t wanted;
    uint64_t first;
    uint64_t last;
    uint64_t all;
    uint64_t unit;

    if (atomic_load_explicit(&share->state, memory_order_acquire) !=
        state_of(generation, WEFT_SHARE_OPEN)) {
        return false;
    }
    range = atomic_load_explicit(&share->range, memory_order_acquire);
    do {
        const uint64_t chunk = atomic_load_explicit(&share->chunk, memory_order_relaxed);

        first = front_of(range);
        last = back_of(range);
        if ((uint16_t)(range >> GENERATION_AT) != (uint16_t)generation || first >= last) {
            return false;
        }
        if (last - first > chunk) {
            first = side == WEFT_SHARE_RECEIVER ? first : last - chunk;
            last = first + chunk;
        }
        wanted = side == WEFT_SHARE_RECEIVER
                     ? range_of(generation, last, back_of(range))
                     : range_of(generation, front_of(range), first);
    } while (!atomic_compare_exchange_weak_explicit(
        &share->range, &range, wanted, memory_order_acquire, memory_order_acquire));
    /* Until this chunk is counted the generation cannot end, and the fields stay. */
    all = length_of(share);
    unit = atomic_load_explicit(&share->unit, memory_order_relaxed);
    *offset = first * unit;
    *length = last * unit < all ? (last - first) * unit : all - *offset;
    return true;
}

bool weft_share_count(struct weft_copy_share *share, uint64_t bytes)
{
    const uint64_t length = length_of(share); /* before the generation can end */

    return atomic_fetch_add_explicit(&share->copied, bytes, memory_order_seq_cst) +
               bytes ==
           length;
}

uint64_t weft_share_left(const struct weft_copy_share *share)
{
    return length_of(share) - atomic_load_explicit(&share->copied, memory_order_acquire);
}

/*
 * The owner may give the share back, and begin and open another generation, while we
 * look: then what is counted is that one's. So who does not find all counted looks at the
 * state again. A process that goes to sleep because this says false is woken by the last
 * count of its own generation only.
 */
bool weft_share_is_over(const struct weft_copy_share *share, uint32_t generation)
{
    bool is_over;

    if (weft_share_state(share, generation, &is_over) != WEFT_SHARE_OPEN || is_over) {
        return is_over;
    }
    if (atomic_load_explicit(&share->copied, memory_order_acquire) == length_of(share)) {
        return true;
    }
    atomic_thread_fence(memory_order_acquire); /* pairs with begin() */
    (void)weft_share_state(share, generation, &is_over);
    return is_over;
}

bool weft_share_has_chunks(const struct weft_copy_share *share, uint32_t generation)
{
    bool is_over;
    uint64_t range;

    if (weft_share_state(share, generation, &is_over) != WEFT_SHARE_OPEN || is_over) {
        return false;
    }
    range = atomic_load_explicit(&share->range, memory_order_relaxed);
    return front_of(range) < back_of(range);
}
