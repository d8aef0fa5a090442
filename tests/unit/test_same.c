/* test_same.c - settings that must be the same on all ranks of a job. */
#include "unit.h"

#include "wireup/same.h"

#include <stdlib.h>

enum { ROOM = 512, LOCALS = 3 };

static struct weft_segment make_segment(void)
{
    const struct weft_segment_plan plan = {
        .job = 1, .job_size = LOCALS, .node_count = 1, .local_size = LOCALS};
    struct weft_segment segment;

    assert_int_equal(weft_segment_create(&plan, &segment), WEFT_OK);
    for (uint32_t i = 0; i < LOCALS; i++) {
        weft_segment_plan_slot(&segment, i, 10 + i);
    }
    return segment;
}

/* What a rank with these settings finds. */
static enum weft_rc compare_in_node(const struct weft_segment *segment, uint32_t rank,
                                    const char *transport, const char *coll, char *why)
{
    setenv("WEFT_TRANSPORT", transport, 1);
    setenv("WEFT_COLL", coll, 1);
    why[0] = '\0';
    return weft_same_in_node(segment, rank, why, ROOM);
}

static void ranks_of_a_node_compare_with_the_first_to_come(void **state)
{
    struct weft_segment segment = make_segment();
    char why[ROOM];

    (void)state;
    assert_int_equal(compare_in_node(&segment, 1, "auto", "bcast=split", why), WEFT_OK);
    assert_int_equal(compare_in_node(&segment, 0, "auto", "bcast=split", why), WEFT_OK);
    assert_int_equal(compare_in_node(&segment, 2, "auto", "", why), WEFT_ERR_ARGUMENT);
    assert_string_equal(why, "WEFT_COLL is \"\" on rank 12 and \"bcast=split\" on rank "
                             "11: it must be the same on all ranks");
    assert_int_equal(compare_in_node(&segment, 2, "shm", "bcast=split", why),
                     WEFT_ERR_ARGUMENT);
    assert_string_equal(why, "WEFT_TRANSPORT is \"shm\" on rank 12 and \"auto\" on rank "
                             "11: it must be the same on all ranks");
    weft_segment_close(&segment);
}

static void no_value_is_the_default(void **state)
{
    struct weft_segment segment = make_segment();
    char why[ROOM];

    (void)state;
    assert_int_equal(compare_in_node(&segment, 0, "", "", why), WEFT_OK);
    assert_true(weft_same_is_default());
    assert_int_equal(compare_in_node(&segment, 1, "auto", "", why), WEFT_OK);
    assert_true(weft_same_is_default());
    assert_int_equal(compare_in_node(&segment, 1, "auto", "bcast=split", why),
                     WEFT_ERR_ARGUMENT);
    assert_false(weft_same_is_default());
    weft_segment_close(&segment);
}

/* It takes part in the choice of a network. */
static void when_ranks_connect_is_the_same(void **state)
{
    struct weft_segment segment = make_segment();
    char why[ROOM];

    (void)state;
    assert_int_equal(compare_in_node(&segment, 0, "auto", "", why), WEFT_OK);
    setenv("WEFT_CONNECT", "all", 1);
    assert_int_equal(compare_in_node(&segment, 1, "auto", "", why), WEFT_ERR_ARGUMENT);
    unsetenv("WEFT_CONNECT");
    assert_string_equal(why, "WEFT_CONNECT is \"all\" on rank 11 and \"lazy\" on rank "
                             "10: it must be the same on all ranks");
    weft_segment_close(&segment);
}

/* Only the beginning of it is shown. */
static void long_values_are_compared_to_their_end(void **state)
{
    struct weft_segment segment = make_segment();
    char one[ROOM];
    char why[ROOM];

    (void)state;
    memset(one, 'x', sizeof(one) - 1);
    one[sizeof(one) - 1] = '\0';
    assert_int_equal(compare_in_node(&segment, 0, "auto", one, why), WEFT_OK);
    assert_int_equal(compare_in_node(&segment, 1, "auto", one, why), WEFT_OK);
    one[sizeof(one) - 2] = 'y';
    assert_int_equal(compare_in_node(&segment, 1, "auto", one, why), WEFT_ERR_ARGUMENT);
    weft_segment_close(&segment);
}

static void a_word_for_the_launcher_says_the_same(void **state)
{
    struct weft_segment segment = make_segment();
    const struct weft_said *said = weft_segment_slice(&segment, 0)->said;
    char value[WEFT_KVS_VALUE_MAX + 1];
    char why[ROOM];

    (void)state;
    assert_int_equal(compare_in_node(&segment, 0, "msg", "a=b c|d", why), WEFT_OK);
    weft_same_write(said, value);
    assert_null(strpbrk(value, " =\n"));
    assert_int_equal(weft_same_compare(said, 3, value, 0, why, sizeof(why)), WEFT_OK);
    (void)compare_in_node(&segment, 0, "msg", "bcast=split", why);
    assert_int_equal(weft_same_compare(said, 3, value, 0, why, sizeof(why)),
                     WEFT_ERR_ARGUMENT);
    assert_string_equal(why, "WEFT_COLL is \"bcast=split\" on rank 3 and \"a=b_c|d\" on "
                             "rank 0: it must be the same on all ranks");
    weft_segment_close(&segment);
}

static void a_word_that_is_none_says_nothing(void **state)
{
    static const char *const words[] = {"", "1234", "xxxxxxxxauto|00000000",
                                        "00000000auto", "00000000auto|0000"};
    struct weft_segment segment = make_segment();
    char why[ROOM] = "";

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_int_equal(weft_same_compare(weft_segment_slice(&segment, 0)->said, 0,
                                           words[i], 1, why, sizeof(why)),
                         WEFT_OK);
    }
    weft_segment_close(&segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_node_compare_with_the_first_to_come),
        cmocka_unit_test(no_value_is_the_default),
        cmocka_unit_test(when_ranks_connect_is_the_same),
        cmocka_unit_test(long_values_are_compared_to_their_end),
        cmocka_unit_test(a_word_for_the_launcher_says_the_same),
        cmocka_unit_test(a_word_that_is_none_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
