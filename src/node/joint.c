#include "node/joint.h"

enum { UNIT = 4096, FIELD_BITS = 24, TURN_AT = 48 };

static const uint64_t FIELD = (UINT64_C(1) << FIELD_BITS) - 1;

static uint64_t state_of(uint32_t turn, enum weft_joint_state state)
{
    return (uint64_t)turn << 32 | (uint64_t)state;
}

static uint64_t range_of(uint32_t turn, uint64_t front, uint64_t back)
{
    return (uint64_t)(uint16_t)turn << TURN_AT | back << FIELD_BITS | front;
}

static uint64_t front_of(uint64_t range)
{
    return range & FIELD;
}

static uint64_t back_of(uint64_t range)
{
    return range >> FIELD_BITS & FIELD;
}

static uint64_t length_of(const struct weft_joint *joint)
{
    return atomic_load_explicit(&joint->length, memory_order_relaxed);
}

static void set(_Atomic uint64_t *field, uint64_t value)
{
    atomic_store_explicit(field, value, memory_order_relaxed);
}

/* A new turn, in which nothing can be claimed yet. */
static uint32_t begin(struct weft_joint *joint)
{
    const uint32_t turn =
        (uint32_t)(atomic_load_explicit(&joint->state, memory_order_relaxed) >> 32) + 1;

    atomic_store_explicit(&joint->range, range_of(turn, 0, 0), memory_order_relaxed);
    return turn;
}

uint32_t weft_joint_announce(struct weft_joint *joint, uint64_t source)
{
    const uint32_t turn = begin(joint);

    set(&joint->source, source);
    atomic_store_explicit(&joint->state, state_of(turn, WEFT_JOINT_ANNOUNCED),
                          memory_order_release);
    return turn;
}

uint32_t weft_joint_offer(struct weft_joint *joint, uint64_t target, uint64_t capacity)
{
    const uint32_t turn = begin(joint);

    set(&joint->target, target);
    set(&joint->length, capacity);
    atomic_store_explicit(&joint->state, state_of(turn, WEFT_JOINT_OFFERED),
                          memory_order_release);
    return turn;
}

static bool leave_offered(struct weft_joint *joint, uint32_t turn,
                          enum weft_joint_state next)
{
    uint64_t offered = state_of(turn, WEFT_JOINT_OFFERED);

    return atomic_compare_exchange_strong_explicit(
        &joint->state, &offered, state_of(turn, next), memory_order_acq_rel,
        memory_order_acquire);
}

bool weft_joint_claim(struct weft_joint *joint, uint32_t turn)
{
    return leave_offered(joint, turn, WEFT_JOINT_CLAIMED);
}

bool weft_joint_take_back(struct weft_joint *joint, uint32_t turn)
{
    return leave_offered(joint, turn, WEFT_JOINT_TAKEN);
}

void weft_joint_open(struct weft_joint *joint, uint32_t turn,
                     const struct weft_joint_terms *terms)
{
    uint64_t unit = UNIT;
    uint64_t units;

    while (terms->length / unit >= FIELD) {
        unit *= 2;
    }
    units = (terms->length + unit - 1) / unit;
    set(&joint->source, terms->source);
    set(&joint->target, terms->target);
    set(&joint->length, terms->length);
    set(&joint->note, terms->note);
    atomic_store_explicit(&joint->unit, (uint32_t)unit, memory_order_relaxed);
    atomic_store_explicit(&joint->piece, (uint32_t)((terms->piece + unit - 1) / unit),
                          memory_order_relaxed);
    atomic_store_explicit(&joint->copied, 0, memory_order_relaxed);
    atomic_store_explicit(&joint->range,
                          range_of(turn, terms->piece == 0 ? units : 0, units),
                          memory_order_relaxed);
    atomic_store_explicit(&joint->state, state_of(turn, WEFT_JOINT_OPEN),
                          memory_order_release);
}

bool weft_joint_claim_piece(struct weft_joint *joint, uint32_t turn,
                            enum weft_joint_side side, uint64_t *offset, uint64_t *length)
{
    uint64_t range;
    uint64_t wanted;
    uint64_t first;
    uint64_t last;
    uint64_t all;
    uint64_t unit;

    if (atomic_load_explicit(&joint->state, memory_order_acquire) !=
        state_of(turn, WEFT_JOINT_OPEN)) {
        return false;
    }
    range = atomic_load_explicit(&joint->range, memory_order_acquire);
    do {
        const uint64_t piece = atomic_load_explicit(&joint->piece, memory_order_relaxed);

        first = front_of(range);
        last = back_of(range);
        if ((uint16_t)(range >> TURN_AT) != (uint16_t)turn || first >= last) {
            return false;
        }
        if (last - first > piece) {
            first = side == WEFT_JOINT_RECEIVER ? first : last - piece;
            last = first + piece;
        }
        wanted = side == WEFT_JOINT_RECEIVER ? range_of(turn, last, back_of(range))
                                             : range_of(turn, front_of(range), first);
    } while (!atomic_compare_exchange_weak_explicit(
        &joint->range, &range, wanted, memory_order_acquire, memory_order_acquire));
    /* Until this piece is counted the turn cannot end, and the fields stay. */
    all = length_of(joint);
    unit = atomic_load_explicit(&joint->unit, memory_order_relaxed);
    *offset = first * unit;
    *length = last * unit < all ? (last - first) * unit : all - *offset;
    return true;
}

bool weft_joint_count(struct weft_joint *joint, uint64_t bytes)
{
    const uint64_t length = length_of(joint); /* before the turn can end */

    return atomic_fetch_add_explicit(&joint->copied, bytes, memory_order_seq_cst) +
               bytes ==
           length;
}

uint64_t weft_joint_left(const struct weft_joint *joint)
{
    return length_of(joint) - atomic_load_explicit(&joint->copied, memory_order_acquire);
}

bool weft_joint_is_over(const struct weft_joint *joint, uint32_t turn)
{
    bool is_over;

    if (weft_joint_state(joint, turn, &is_over) != WEFT_JOINT_OPEN || is_over) {
        return is_over;
    }
    return atomic_load_explicit(&joint->copied, memory_order_acquire) == length_of(joint);
}

bool weft_joint_has_pieces(const struct weft_joint *joint, uint32_t turn)
{
    bool is_over;
    uint64_t range;

    if (weft_joint_state(joint, turn, &is_over) != WEFT_JOINT_OPEN || is_over) {
        return false;
    }
    range = atomic_load_explicit(&joint->range, memory_order_relaxed);
    return front_of(range) < back_of(range);
}
