/*
 * no_reserve.h - in place of base/reserve.c, for tests of what happens when there is no
 * memory at all: what malloc() refuses is refused.
 */
#ifndef WEFT_TEST_NO_RESERVE_H
#define WEFT_TEST_NO_RESERVE_H

#include "base/reserve.h"

#include <stdlib.h>

void *weft_reserve_take(size_t bytes)
{
    return malloc(bytes);
}

void *weft_reserve_take_zeroed(size_t bytes)
{
    return calloc(1, bytes);
}

void weft_reserve_give(void *memory)
{
    free(memory);
}

#endif
