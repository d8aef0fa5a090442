/* test_context.c - contexts: each owner's are its own, given once and given again. */
#include "unit.h"

#include "comm/context.h"

#define JOB UINT32_C(0x92345678)

enum { ROUND = 65536, MILLION = 1000000 };

static void no_two_processes_give_the_same(void **state)
{
    uint32_t given[5];

    (void)state;
    for (uint32_t me = 0; me < 5; me++) {
        weft_context_open(weft_process(JOB, me), 5);
        given[me] = weft_context_take();
        assert_true(given[me] > WEFT_CONTEXT_PARENTLESS);
        assert_int_equal(given[me] % WEFT_PLANES, 0);
        assert_true(weft_context_owner(given[me]) == weft_process(JOB, me));
        for (uint32_t i = 0; i < me; i++) {
            assert_int_not_equal(given[i], given[me]);
        }
        weft_context_close();
    }
}

static void one_that_came_back_is_given_again_after_all_others(void **state)
{
    static uint32_t given[ROUND - 3];
    uint32_t again;

    (void)state;
    weft_context_open(3, 8);
    for (int i = 0; i < ROUND - 3; i++) {
        given[i] = weft_context_take();
        assert_true(given[i] != 0 && (i == 0 || given[i] > given[i - 1]));
        if (i == 1234) {
            weft_context_give(given[1234]);
            weft_context_give(given[77]);
            weft_context_give(0);
        }
    }
    assert_int_equal(weft_context_take(), given[77]);
    assert_int_equal(weft_context_take(), given[1234]);
    again = weft_context_take(); /* all are used: there are more */
    assert_true(again > given[ROUND - 4]);
    weft_context_close();
}

static void one_at_a_time_goes_round(void **state)
{
    uint32_t first;

    (void)state;
    weft_context_open(0, 2);
    first = weft_context_take();
    weft_context_give(first);
    for (int i = 1; i < ROUND - 3; i++) {
        const uint32_t context = weft_context_take();

        assert_int_not_equal(context, first);
        weft_context_give(context);
    }
    assert_int_equal(weft_context_take(), first);
    weft_context_close();
}

/* Then another member decides. */
static void an_owner_may_have_none_left(void **state)
{
    uint32_t last = 0;
    int count = 0;

    (void)state;
    weft_context_open(weft_process(JOB, MILLION - 1), MILLION);
    for (uint32_t c = weft_context_take(); c != 0; c = weft_context_take()) {
        assert_true(c > last);
        assert_true(weft_context_owner(c) == weft_process(JOB, MILLION - 1));
        last = c;
        count++;
    }
    assert_int_equal(count, 256 - 3);
    weft_context_give(last);
    assert_int_equal(weft_context_take(), last);
    assert_int_equal(weft_context_take(), 0);
    weft_context_close();
    weft_context_open(0, 1u << 28); /* all are kept */
    assert_int_equal(weft_context_take(), 0);
    weft_context_close();
}

/* The largest number of the last rank is the largest context that there is. */
static void a_context_of_one_job_never_says_that_it_is_of_several(void **state)
{
    static const uint32_t sizes[] = {1u << 20, MILLION, 1u << 16, 65537, 1u << 13};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t last = 0;

        weft_context_open(weft_process(UINT32_MAX, sizes[i] - 1), sizes[i]);
        for (uint32_t c = weft_context_take(); c != 0; c = weft_context_take()) {
            assert_int_equal(c & WEFT_CONTEXT_SEVERAL_JOBS, 0);
            last = c > last ? c : last;
        }
        if ((sizes[i] & (sizes[i] - 1)) == 0) {
            assert_int_equal(last, WEFT_CONTEXT_SEVERAL_JOBS - WEFT_PLANES);
        }
        weft_context_close();
    }
}

static void a_job_of_one_has_them_all(void **state)
{
    (void)state;
    weft_context_open(0, 1);
    assert_int_equal(weft_context_take(), 3 * WEFT_PLANES);
    assert_int_equal(weft_context_owner(3 * WEFT_PLANES), 0);
    weft_context_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_processes_give_the_same),
        cmocka_unit_test(one_that_came_back_is_given_again_after_all_others),
        cmocka_unit_test(one_at_a_time_goes_round),
        cmocka_unit_test(an_owner_may_have_none_left),
        cmocka_unit_test(a_context_of_one_job_never_says_that_it_is_of_several),
        cmocka_unit_test(a_job_of_one_has_them_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
