/* draw.h - random numbers that are the same on every machine, so that ranks draw alike.
 */
#ifndef WEFT_TEST_DRAW_H
#define WEFT_TEST_DRAW_H

#include <stdint.h>

/* xorshift; the state is never 0. */
static inline int draw(uint32_t *state, int below)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (int)(*state % (uint32_t)below);
}

#endif
