/* test_settings.c - the one table of settings. */
#include "unit.h"

#include "base/log.h"
#include "base/settings.h"

static void nothing_in_the_environment_means_the_default(void **state)
{
    int is_bad;

    (void)state;
    assert_int_equal(weft_setting_parse(WEFT_SET_LOG, NULL, &is_bad), WEFT_LOG_ERROR);
    assert_false(is_bad);
    assert_int_equal(weft_setting_parse(WEFT_SET_LOG, "", &is_bad), WEFT_LOG_ERROR);
    assert_false(is_bad);
}

static void an_accepted_word_is_its_position(void **state)
{
    int is_bad;

    (void)state;
    assert_int_equal(weft_setting_parse(WEFT_SET_LOG, "none", &is_bad), WEFT_LOG_NONE);
    assert_int_equal(weft_setting_parse(WEFT_SET_LOG, "debug", &is_bad), WEFT_LOG_DEBUG);
    assert_false(is_bad);
}

static void a_refused_word_is_reported_and_replaced_by_the_default(void **state)
{
    static const char *const words[] = {"deb", "debugger", "none|error", "3", "ERROR"};

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        int is_bad;

        assert_int_equal(weft_setting_parse(WEFT_SET_LOG, words[i], &is_bad),
                         WEFT_LOG_ERROR);
        assert_true(is_bad);
    }
}

static void every_row_is_complete_and_its_default_is_valid(void **state)
{
    (void)state;
    assert_true(WEFT_SET_COUNT < 40);
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        const struct weft_setting_row *row = weft_setting_row((enum weft_setting)i);
        int is_bad;

        assert_true(strncmp(row->name, "WEFT_", 5) == 0);
        assert_true(strlen(row->unit) > 0 && strlen(row->meaning) > 20);
        weft_setting_parse((enum weft_setting)i, row->fallback, &is_bad);
        assert_false(is_bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_the_environment_means_the_default),
        cmocka_unit_test(an_accepted_word_is_its_position),
        cmocka_unit_test(a_refused_word_is_reported_and_replaced_by_the_default),
        cmocka_unit_test(every_row_is_complete_and_its_default_is_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
