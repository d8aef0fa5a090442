#include "comm/context.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 3, CONTEXT_BITS = 29, WORD_BITS = 64 };

static struct {
    uint32_t me;
    unsigned owner_bits;
    uint32_t limit;    /* how many are ours */
    uint64_t *is_used; /* a bit for each */
    uint32_t words;
    uint32_t lowest; /* no word before this one has a free bit */
} own;

void weft_context_open(uint32_t me, uint32_t size)
{
    memset(&own, 0, sizeof(own));
    own.me = me;
    own.owner_bits = size > 1 ? 32u - (unsigned)__builtin_clz(size - 1) : 0;
    own.limit = 1u << (CONTEXT_BITS - own.owner_bits);
}

void weft_context_close(void)
{
    free(own.is_used);
    memset(&own, 0, sizeof(own));
}

static bool make_room(void)
{
    const uint32_t words = own.words == 0 ? 2 : own.words * 2;
    uint64_t *is_used = realloc(own.is_used, words * sizeof(*is_used));

    if (is_used == NULL) {
        return false;
    }
    memset(is_used + own.words, 0, (words - own.words) * sizeof(*is_used));
    own.is_used = is_used;
    own.words = words;
    is_used[0] |= (1u << KEPT) - 1;
    return true;
}

uint32_t weft_context_take(void)
{
    uint32_t number;

    while (own.lowest < own.words && own.is_used[own.lowest] == UINT64_MAX) {
        own.lowest++;
    }
    number = own.lowest * WORD_BITS;
    if (number >= own.limit || (own.lowest == own.words && !make_room())) {
        return 0;
    }
    number += (uint32_t)__builtin_ctzll(~own.is_used[own.lowest]);
    if (number >= own.limit) {
        return 0;
    }
    own.is_used[own.lowest] |= UINT64_C(1) << number % WORD_BITS;
    return (number << own.owner_bits | own.me) * WEFT_PLANES;
}

void weft_context_give(uint32_t context)
{
    const uint32_t number = context / WEFT_PLANES >> own.owner_bits;
    const uint32_t word = number / WORD_BITS;

    if (context == 0) {
        return;
    }
    assert(weft_context_owner(context) == own.me);
    assert((own.is_used[word] >> number % WORD_BITS & 1) != 0);
    own.is_used[word] &= ~(UINT64_C(1) << number % WORD_BITS);
    own.lowest = word < own.lowest ? word : own.lowest;
}

uint32_t weft_context_owner(uint32_t context)
{
    return context / WEFT_PLANES & ((1u << own.owner_bits) - 1);
}
