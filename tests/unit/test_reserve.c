/* test_reserve.c - memory that is there when malloc() and calloc() refuse it. */
#include "unit.h"

#include "base/reserve.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    LONGEST = WEFT_RESERVE_MOST * WEFT_RESERVE_CELL,
    LONG_ONES = WEFT_RESERVE_CELLS / WEFT_RESERVE_MOST,
};

static bool is_refused;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return is_refused ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_refused ? NULL : __real_calloc(count, bytes);
}

static void refused_memory_comes_from_the_reserve(void **state)
{
    char *memory;

    (void)state;
    is_refused = true;
    memory = weft_reserve_take(LONGEST);
    assert_non_null(memory);
    memset(memory, 1, LONGEST);
    weft_reserve_give(memory);
    memory = weft_reserve_take_zeroed(LONGEST);
    assert_non_null(memory);
    for (int i = 0; i < LONGEST; i++) {
        assert_int_equal(memory[i], 0);
    }
    is_refused = false;
    weft_reserve_give(memory);
}

static void the_reserve_ends_and_can_be_used_again(void **state)
{
    void *all[LONG_ONES];

    (void)state;
    is_refused = true;
    assert_null(weft_reserve_take(LONGEST + 1));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < LONG_ONES; i++) {
            all[i] = weft_reserve_take(LONGEST);
            assert_non_null(all[i]);
        }
        assert_null(weft_reserve_take(1));
        for (int i = 0; i < LONG_ONES; i++) {
            weft_reserve_give(all[i]);
        }
    }
    is_refused = false;
    weft_reserve_give(NULL);
    weft_reserve_give(weft_reserve_take(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_memory_comes_from_the_reserve),
        cmocka_unit_test(the_reserve_ends_and_can_be_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
