/*
 * bits.h - up to 32 things of which some are taken: a bit each. For this room alone.
 */
#ifndef WEFT_NODE_BITS_H
#define WEFT_NODE_BITS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* The first of `count` that is free is taken, and *number says which; false: none is. */
static inline bool weft_bits_take(uint32_t *used, uint32_t count, uint32_t *number)
{
    if (~*used == 0 || (uint32_t)__builtin_ctz(~*used) >= count) {
        return false;
    }
    *number = (uint32_t)__builtin_ctz(~*used);
    *used |= 1u << *number;
    return true;
}

static inline void weft_bits_give(uint32_t *used, uint32_t number)
{
    assert(number < 32 && (*used & 1u << number) != 0);
    *used &= ~(1u << number);
}

#endif
