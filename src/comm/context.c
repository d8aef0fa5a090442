#include "comm/context.h"

#include "engine/lock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT = 3,
    ONE_JOB_BITS = 28, /* between the planes and WEFT_CONTEXT_SEVERAL_JOBS */
    WORD_BITS = 64,
    ROUND = 65536, /* that are given before one is given again, where there are as many */
};

_Static_assert(WEFT_CONTEXT_SEVERAL_JOBS == WEFT_PLANES * (UINT32_C(1) << ONE_JOB_BITS),
               "planes, contexts of one job and the bit above them fill 32 bits");

static struct {
    uint64_t me;
    unsigned owner_bits;
    uint32_t limit;    /* how many are ours */
    uint64_t *is_used; /* a bit for each */
    uint32_t words;
    uint32_t next; /* the one behind that which was given last */
} own;

void weft_context_open(uint64_t me, uint32_t size)
{
    weft_assert_locked();
    assert(weft_process_rank(me) < size);
    memset(&own, 0, sizeof(own));
    own.me = me;
    own.owner_bits = size > 1 ? 32u - (unsigned)__builtin_clz(size - 1) : 0;
    own.limit = 1u << (ONE_JOB_BITS - own.owner_bits);
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

/* How many there are bits for. */
static uint32_t made(void)
{
    const uint64_t bits = (uint64_t)own.words * WORD_BITS;

    return bits < own.limit ? (uint32_t)bits : own.limit;
}

/* The first free one from `from` on and before `to`; `to` if there is none. */
static uint32_t find_free(uint32_t from, uint32_t to)
{
    while (from < to) {
        const uint64_t behind = UINT64_MAX << from % WORD_BITS;
        const uint64_t is_free = ~own.is_used[from / WORD_BITS] & behind;

        if (is_free != 0) {
            from += (uint32_t)__builtin_ctzll(is_free) - from % WORD_BITS;
            return from < to ? from : to;
        }
        from += WORD_BITS - from % WORD_BITS;
    }
    return to;
}

/* The next free one behind the last that was given; `limit`: there is none. */
static uint32_t find_next(void)
{
    uint32_t number = find_free(own.next, made());

    if (number == made() && made() < ROUND && made() < own.limit && make_room()) {
        number = find_free(own.next, made());
    }
    if (number == made()) {
        const uint32_t before = own.next < made() ? own.next : made();

        number = find_free(0, before);
        number = number == before ? made() : number;
    }
    if (number == made() && made() < own.limit && make_room()) {
        number = find_free(number, made());
    }
    return number == made() ? own.limit : number;
}

uint32_t weft_context_take(void)
{
    const uint32_t number = find_next();

    weft_assert_locked();
    assert(own.limit > 0);
    if (number >= own.limit) {
        return 0;
    }
    own.is_used[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    own.next = number + 1;
    return (number << own.owner_bits | weft_process_rank(own.me)) * WEFT_PLANES;
}

void weft_context_give(uint32_t context)
{
    const uint32_t number = context / WEFT_PLANES >> own.owner_bits;
    const uint32_t word = number / WORD_BITS;

    weft_assert_locked();
    if (context == 0) {
        return;
    }
    assert(weft_context_owner(context) == own.me);
    assert((own.is_used[word] >> number % WORD_BITS & 1) != 0);
    own.is_used[word] &= ~(UINT64_C(1) << number % WORD_BITS);
}

uint64_t weft_context_owner(uint32_t context)
{
    return weft_process(weft_process_job(own.me),
                        context / WEFT_PLANES & ((1u << own.owner_bits) - 1));
}
