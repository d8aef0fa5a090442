/*
 * bits.h - says which of up to 32 items are taken, with one bit each. For this room
 * alone.
 */
#ifndef WEFT_NODE_BITS_H
#define WEFT_NODE_BITS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* Takes the first free item of `count`, and stores its number; false: none is free. */
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
