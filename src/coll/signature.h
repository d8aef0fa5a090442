/*
 * signature.h - what the members of a communicator have to say alike of a blocking
 * collective call: its kind, its operation, its root and the bytes of a block.
 *
 *     63    51 50      32 31    21 20  16 15       10 9         0
 *     [ number ][  root   ][ number ][ kind ][ operation ][  root  ]
 *       high       high      low                             low
 *
 * The low half is the word of a call, which is stored beside its data in shared memory
 * (slots.h). The number counts the blocking calls on the communicator. Bytes are those of
 * the type signature, so one vector and ten ints compare equal; they are 0 where members
 * give and get blocks of different sizes. Two operations of the user compare equal.
 */
#ifndef WEFT_COLL_SIGNATURE_H
#define WEFT_COLL_SIGNATURE_H

#include "coll/shape.h"

enum {
    WEFT_SIGNATURE_OP_AT = 10,
    WEFT_SIGNATURE_KIND_AT = 16,
    WEFT_SIGNATURE_NUMBER_AT = 21, /* its low bits; the high ones are from bit 51 on */
    WEFT_SIGNATURE_NUMBER_LOW = (1 << 11) - 1,
    WEFT_SIGNATURE_NUMBERS = 1 << 24,
    WEFT_SIGNATURE_ROOT_LOW = (1 << 10) - 1,
    WEFT_SIGNATURE_ROOT_HIGH = (1 << 19) - 1,
    WEFT_SIGNATURE_USER_OP = (1 << 6) - 1,
};

/* The kinds of the barrier in MPI_Finalize, and of MPI_Comm_free for members that ask
 * later: no kinds of struct weft_coll. */
#define WEFT_SIGNATURE_FINALIZE WEFT_COLL_KINDS
#define WEFT_SIGNATURE_FREE     (WEFT_COLL_KINDS + 1)
_Static_assert(WEFT_SIGNATURE_FREE < 32, "a kind has five bits");

struct weft_signature {
    uint64_t what; /* as above */
    uint64_t bytes;
};

/* Predefined operations are numbered by their handles, from 1 on. */
static inline uint32_t weft_signature_op(const struct weft_operation *op)
{
    if (op == NULL) {
        return 0;
    }
    return weft_operation_is_user(op)
               ? WEFT_SIGNATURE_USER_OP
               : (uint32_t)((uintptr_t)op->handle - (uintptr_t)MPI_OP_NULL);
}

/* The number takes the places that are free in a call's `what`. */
static inline uint64_t weft_signature_numbered(uint64_t what, uint32_t number)
{
    return what | (uint64_t)(number >> 11) << 51 |
           (number & WEFT_SIGNATURE_NUMBER_LOW) << WEFT_SIGNATURE_NUMBER_AT;
}

/* The whole word of a call inside one group. */
static inline uint64_t weft_signature_what(const struct weft_coll *coll, uint32_t number)
{
    const uint32_t root =
        weft_coll_facts(coll->kind)->is_rooted ? (uint32_t)coll->root : 0;
    const uint64_t root_high = root >> WEFT_SIGNATURE_OP_AT & WEFT_SIGNATURE_ROOT_HIGH;
    const uint32_t kind = coll->is_last ? WEFT_SIGNATURE_FINALIZE : (uint32_t)coll->kind;

    return weft_signature_numbered(root_high << 32 | kind << WEFT_SIGNATURE_KIND_AT |
                                       weft_signature_op(coll->op)
                                           << WEFT_SIGNATURE_OP_AT |
                                       (root & WEFT_SIGNATURE_ROOT_LOW),
                                   number);
}

static inline enum weft_coll_kind weft_signature_kind(uint64_t what)
{
    return (enum weft_coll_kind)(what >> WEFT_SIGNATURE_KIND_AT & 31);
}

static inline uint32_t weft_signature_number(uint64_t what)
{
    return (uint32_t)(what >> 51) << 11 |
           ((uint32_t)what >> WEFT_SIGNATURE_NUMBER_AT & WEFT_SIGNATURE_NUMBER_LOW);
}

static inline uint64_t weft_signature_renumber(uint64_t what, uint32_t number)
{
    return weft_signature_numbered(
        what & ~weft_signature_numbered(0, WEFT_SIGNATURE_NUMBERS - 1), number);
}

/* Are both words of calls of one number? */
static inline bool weft_signature_is_same_call(uint32_t word, uint32_t other)
{
    return (word ^ other) >> WEFT_SIGNATURE_NUMBER_AT == 0;
}

/* Do both name the same kind, operation and root? */
static inline bool weft_signature_is_alike(uint64_t what, uint64_t other)
{
    return ((what ^ other) & ~weft_signature_numbered(0, WEFT_SIGNATURE_NUMBERS - 1)) ==
           0;
}

#endif
