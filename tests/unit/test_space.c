/*
 * test_space.c - room in an attached buffer, beside two naive models: a map of which
 * bytes are in use, and the ring that MPI describes, which is freed from its oldest end
 * only.
 */
#include "unit.h"

#include "p2p/space.h"

#include "mpi.h"

#include <stdbool.h>
#include <stdlib.h>

enum { SIZE = 6000, MOST = 200, ROUNDS = 400, TURNS = 500, ALIGNMENT = 16 };

struct taken {
    char *at;
    size_t bytes;
    unsigned char mark;
};

static _Alignas(64) char memory[SIZE + 64];
static struct weft_space space;
static char *base;
static size_t size;
static struct taken taken[MOST];
static int count;
static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % n);
}

/* ---- the ring: messages in the order in which they were taken ---- */

struct entry {
    const char *at; /* what the user gets */
    size_t begin;   /* with all that is known of it */
    size_t end;
    bool is_gone;
};

static struct entry queue[TURNS + 1];
static int oldest;
static int newest;
static bool is_followed; /* every block so far is where the ring has it */
static size_t header;    /* what stands in front of a block */

static void ring_open(void)
{
    oldest = 0;
    newest = 0;
    is_followed = true;
}

/* Where the ring puts so many bytes; false: nowhere. */
static bool ring_place(size_t bytes, size_t *begin)
{
    if (oldest == newest) {
        *begin = 0;
        return bytes <= size;
    }
    *begin = queue[newest - 1].end;
    if (*begin > queue[oldest].begin || newest == oldest + 1) { /* up to the end */
        if (*begin + bytes <= size) {
            return true;
        }
        *begin = 0;
    }
    return *begin + bytes <= queue[oldest].begin;
}

/* With what is known of it. */
static size_t rounded(size_t bytes)
{
    return (bytes + header + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void ring_took(const char *at, size_t bytes)
{
    size_t begin = 0;
    const bool has_room = is_followed && ring_place(rounded(bytes), &begin);

    if (has_room) {
        assert_non_null(at);
        assert_ptr_equal(at, base + begin + header);
    }
    if (at == NULL) {
        return;
    }
    is_followed = is_followed && has_room;
    queue[newest++] = (struct entry){at, begin, begin + rounded(bytes), false};
}

static void ring_gave(const char *at)
{
    for (int i = oldest; i < newest; i++) {
        if (queue[i].at == at && !queue[i].is_gone) {
            queue[i].is_gone = true;
            break;
        }
    }
    while (oldest < newest && queue[oldest].is_gone) {
        oldest++;
    }
    if (count == 0) {
        ring_open();
    }
}

/* ---- the map ---- */

static bool is_used(const char *at)
{
    for (int i = 0; i < count; i++) {
        if (at >= taken[i].at - WEFT_SPACE_OVERHEAD / 2 &&
            at < taken[i].at + taken[i].bytes) {
            return true;
        }
    }
    return false;
}

static size_t longest_gap(void)
{
    size_t longest = 0;
    size_t here = 0;

    for (const char *at = base; at < base + size; at++) {
        here = is_used(at) ? 0 : here + 1;
        longest = here > longest ? here : longest;
    }
    return longest;
}

static void check_all(void)
{
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < taken[i].bytes; k++) {
            assert_int_equal((unsigned char)taken[i].at[k], taken[i].mark);
        }
    }
}

static void take(size_t bytes)
{
    char *at = weft_space_take(&space, bytes);

    ring_took(at, bytes);
    if (at == NULL) {
        assert_true(longest_gap() < bytes + WEFT_SPACE_OVERHEAD);
        return;
    }
    assert_true(at >= base && at + bytes <= base + size);
    assert_int_equal((uintptr_t)at % ALIGNMENT, 0);
    taken[count].at = at;
    taken[count].bytes = bytes;
    taken[count].mark = (unsigned char)random_below(256);
    memset(at, taken[count].mark, bytes);
    count++;
}

static void give(int i)
{
    char *at = taken[i].at;

    weft_space_give(&space, at);
    taken[i] = taken[--count];
    ring_gave(at);
}

static void open_space(size_t offset, size_t bytes)
{
    base = memory + offset;
    size = bytes;
    count = 0;
    weft_space_init(&space, base, size);
}

static void random_order(void **state)
{
    (void)state;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        const uint32_t largest = round % 3 == 0 ? 2000 : 200;

        seed = round * UINT64_C(0x9e3779b97f4a7c15);
        open_space(0, SIZE / ALIGNMENT * ALIGNMENT);
        ring_open();
        for (int turn = 0; turn < TURNS; turn++) {
            if (count < MOST && random_below(100) < 55) {
                take(random_below(largest));
            } else if (count > 0) {
                /* mostly the oldest, so that it goes round */
                give((int)random_below(round % 2 == 0 ? (uint32_t)count
                                                      : (uint32_t)(count + 3) / 4));
            }
        }
        check_all();
        while (count > 0) {
            give(0);
        }
        assert_null(space.first);
        assert_non_null(weft_space_take(&space, size - WEFT_SPACE_OVERHEAD));
    }
}

/* What fits into the ring, given back in order, follows it round and round. */
static void in_order_it_is_a_ring(void **state)
{
    int rounds = 0;

    (void)state;
    seed = 77;
    open_space(0, SIZE / ALIGNMENT * ALIGNMENT);
    ring_open();
    for (int turn = 0; turn < TURNS; turn++) {
        const size_t bytes = random_below(900);
        size_t begin;

        if (ring_place(rounded(bytes), &begin)) {
            rounds += begin == 0;
            take(bytes);
        } else {
            const struct taken first = taken[0];

            weft_space_give(&space, first.at);
            memmove(taken, taken + 1, (size_t)(--count) * sizeof(taken[0]));
            ring_gave(first.at);
        }
        assert_true(is_followed);
    }
    assert_true(rounds > 10);
    check_all();
}

/* What the user was told to add for each message is enough, wherever memory begins. */
static void as_many_as_promised(void **state)
{
    (void)state;
    for (size_t offset = 0; offset < 33; offset++) {
        const size_t sizes[] = {0, 1, 15, 16, 17, 100, 1000, 0};
        size_t all = 0;

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            all += sizes[i] + MPI_BSEND_OVERHEAD;
        }
        open_space(offset, all);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            assert_non_null(weft_space_take(&space, sizes[i]));
        }
    }
}

static void too_little(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < WEFT_SPACE_OVERHEAD; bytes++) {
        open_space(bytes % 20, bytes);
        assert_null(weft_space_take(&space, WEFT_SPACE_OVERHEAD));
        assert_null(weft_space_take(&space, SIZE_MAX));
        assert_null(weft_space_take(&space, SIZE_MAX - WEFT_SPACE_OVERHEAD));
    }
    open_space(0, 0);
    assert_null(weft_space_take(&space, 0));
    weft_space_init(&space, NULL, 0);
    assert_null(weft_space_take(&space, 0));
}

/* How far into its memory the first block of an empty space is. */
static int learn_header(void **state)
{
    (void)state;
    open_space(0, SIZE);
    header = (size_t)((char *)weft_space_take(&space, 1) - base);
    return header <= WEFT_SPACE_OVERHEAD / 2 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_order),
        cmocka_unit_test(in_order_it_is_a_ring),
        cmocka_unit_test(as_many_as_promised),
        cmocka_unit_test(too_little),
    };

    return cmocka_run_group_tests(tests, learn_header, NULL);
}
