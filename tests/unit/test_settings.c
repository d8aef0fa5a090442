/* test_settings.c - the one table of settings. */
#include "unit.h"

#include "base/log.h"
#include "base/settings.h"

#include <stdlib.h>

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

static void a_misspelt_name_finds_its_setting(void **state)
{
    static const struct {
        const char *name;
        const char *meant;
    } rows[] = {
        {"WEFT_NETT", "WEFT_NET"},
        {"WEFT_NTE", "WEFT_NET"},
        {"WEFT_ETN", NULL}, /* two letters of three: too far */
        {"WEFT_NETWORK", "WEFT_NET"},
        {"WEFT_STREAM", "WEFT_STREAMS"},
        {"WEFT_TRANPSORT", "WEFT_TRANSPORT"},
        {"WEFT_CHECK_SUM", "WEFT_CHECKSUM"},
        {"weft_ports", "WEFT_PORTS"},
        {"WEFT_RHS", "WEFT_RSH"},
        {"WEFT_RS", "WEFT_RSH"},
        {"WEFT_NET", NULL},
        {"WEFT_JOB", NULL},
        {"WEFT_KEPT", NULL},
        {"WEFT_BOUND", NULL},
        {"WEFT_INSIDE", NULL},
        {"WEFT_STDOUT", NULL},
        {"WEFT_", NULL},
        {"WEFT_CC", NULL},
        {"WEFTNET", NULL},
        {"PATH", NULL},
        {"", NULL},
        {"WEFT_A_NAME_THAT_IS_LONGER_THAN_ALL_SETTINGS", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *found = weft_setting_nearest(rows[i].name);

        if (rows[i].meant == NULL) {
            assert_null(found);
        } else {
            assert_non_null(found);
            assert_string_equal(found, rows[i].meant);
        }
    }
}

static void a_value_is_said_as_a_user_writes_it(void **state)
{
    char room[WEFT_SETTING_ROOM];

    (void)state;
    setenv("WEFT_TRANSPORT", "shm", 1);
    setenv("WEFT_WARM", "20", 1);
    setenv("WEFT_COLL", "bcast=split", 1);
    assert_string_equal(weft_setting_say(WEFT_SET_TRANSPORT, room), "shm");
    assert_string_equal(weft_setting_say(WEFT_SET_WARM, room), "20");
    assert_string_equal(weft_setting_say(WEFT_SET_COLL, room), "bcast=split");
    unsetenv("WEFT_TRANSPORT");
    unsetenv("WEFT_WARM");
    unsetenv("WEFT_COLL");
    assert_string_equal(weft_setting_say(WEFT_SET_TRANSPORT, room), "auto");
    assert_string_equal(weft_setting_say(WEFT_SET_COLL, room), "");
}

/* Last: they are kept for the life of the process. */
static void what_was_kept_does_not_change_with_the_environment(void **state)
{
    (void)state;
    unsetenv("WEFT_NET");
    setenv("WEFT_STREAMS", "2", 1);
    setenv("WEFT_PORTS", "5000-5001", 1);
    assert_int_equal(weft_setting(WEFT_SET_STREAMS), 2);
    setenv("WEFT_STREAMS", "3", 1);
    assert_int_equal(weft_setting(WEFT_SET_STREAMS), 3);
    weft_settings_keep();
    setenv("WEFT_STREAMS", "4", 1);
    unsetenv("WEFT_PORTS");
    setenv("WEFT_NET", "eth1", 1);
    weft_settings_keep();
    assert_int_equal(weft_setting(WEFT_SET_STREAMS), 3);
    assert_string_equal(weft_setting_text(WEFT_SET_PORTS), "5000-5001");
    assert_string_equal(weft_setting_text(WEFT_SET_NET), "");
    weft_setting_write(WEFT_SET_STREAMS, 5);
    assert_int_equal(weft_setting(WEFT_SET_STREAMS), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_the_environment_means_the_default),
        cmocka_unit_test(an_accepted_word_is_its_position),
        cmocka_unit_test(a_refused_word_is_reported_and_replaced_by_the_default),
        cmocka_unit_test(every_row_is_complete_and_its_default_is_valid),
        cmocka_unit_test(a_misspelt_name_finds_its_setting),
        cmocka_unit_test(a_value_is_said_as_a_user_writes_it),
        cmocka_unit_test(what_was_kept_does_not_change_with_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
