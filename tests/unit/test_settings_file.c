/* test_settings_file.c - settings from files: their form, their order, and whose files
 * count. */
#include "unit.h"

#include "base/settings_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAID_BYTES = 8192, NOBODY = 65534 };

static char folder[] = "/tmp/weft-settings-XXXXXX";
static char path[64]; /* of the file of the case */

static void put_bytes(const char *text, size_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), bytes);
    close(fd);
}

static void put(const char *text)
{
    put_bytes(text, strlen(text));
}

/* What weft_settings_complain() prints. */
static const char *complaints(void)
{
    static char said[SAID_BYTES];
    const int before = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    size_t n;

    assert_non_null(file);
    fflush(stderr);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    weft_settings_complain("test");
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    n = fread(said, 1, sizeof(said) - 1, file);
    said[n] = '\0';
    fclose(file);
    return said;
}

static int count_lines(const char *text)
{
    int lines = 0;

    for (; *text != '\0'; text++) {
        lines += *text == '\n' ? 1 : 0;
    }
    return lines;
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/weft.conf", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* ---- lines ---- */

struct seen {
    char text[1024];
};

static void note(void *arg, int line, const char *name, const char *value)
{
    struct seen *seen = arg;
    const size_t used = strlen(seen->text);

    snprintf(seen->text + used, sizeof(seen->text) - used, "%d:%s=%s;", line,
             name != NULL ? name : "-", value != NULL ? value : "-");
}

static void lines_have_names_values_and_comments(void **state)
{
    static const struct {
        const char *text;
        const char *seen;
    } rows[] = {
        {"", ""},
        {"\n\n", ""},
        {"A = b", "1:A=b;"},
        {"A=b\nC=d\n", "1:A=b;2:C=d;"},
        {"  A\t=  b c \r\n", "1:A=b c;"},
        {"# A = b\n  # C = d\nE = f # g\n", "3:E=f;"},
        {"A = b#c\n", "1:A=b#c;"},
        {"A = #b\n", "1:A=;"},
        {"A =\n", "1:A=;"},
        {"A = b = c\n", "1:A=b = c;"},
        {"A\n", "1:-=-;"},
        {"= b\n", "1:-=-;"},
        {"A B = c\n", "1:-=-;"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct seen seen = {""};

        weft_settings_parse(rows[i].text, strlen(rows[i].text), note, &seen);
        assert_string_equal(seen.text, rows[i].seen);
    }
}

static void a_line_with_a_byte_0_is_none(void **state)
{
    static const char text[] = "A = b\0c\nD = e\n\0";
    struct seen seen = {""};

    (void)state;
    weft_settings_parse(text, sizeof(text) - 1, note, &seen);
    assert_string_equal(seen.text, "1:-=-;2:D=e;3:-=-;");
}

/* ---- files ---- */

static void
the_environment_goes_before_the_user_and_the_user_before_the_site(void **state)
{
    struct weft_setting_origin origin;

    (void)state;
    put("WEFT_WARM = 10\nWEFT_STREAMS = 2\nWEFT_PORTS = 1-2\n");
    weft_settings_read_file(path, WEFT_FROM_SITE, (uid_t)-1);
    put("# mine\nWEFT_WARM = 20\nWEFT_PORTS =\n");
    weft_settings_read_file(path, WEFT_FROM_USER, (uid_t)-1);
    assert_string_equal(complaints(), "");
    assert_int_equal(weft_setting(WEFT_SET_WARM), 20);
    origin = weft_setting_origin(WEFT_SET_WARM);
    assert_int_equal(origin.from, WEFT_FROM_USER);
    assert_int_equal(origin.line, 2);
    assert_string_equal(origin.path, path);
    assert_int_equal(weft_setting(WEFT_SET_STREAMS), 2);
    assert_int_equal(weft_setting_origin(WEFT_SET_STREAMS).from, WEFT_FROM_SITE);
    assert_string_equal(weft_setting_offered(WEFT_SET_STREAMS), "2");
    assert_string_equal(weft_setting_text(WEFT_SET_PORTS), "47000-47999");
    setenv("WEFT_WARM", "30", 1);
    assert_int_equal(weft_setting(WEFT_SET_WARM), 30);
    assert_int_equal(weft_setting_origin(WEFT_SET_WARM).from, WEFT_FROM_ENVIRONMENT);
    assert_null(weft_setting_offered(WEFT_SET_WARM));
    setenv("WEFT_WARM", "", 1); /* named: the default counts */
    assert_int_equal(weft_setting(WEFT_SET_WARM), 1000);
    setenv("WEFT_WARM", "soon", 1);
    assert_int_equal(weft_setting(WEFT_SET_WARM), 1000);
    assert_int_equal(weft_setting_origin(WEFT_SET_WARM).from, WEFT_FROM_DEFAULT);
    unsetenv("WEFT_WARM");
    assert_int_equal(weft_setting_origin(WEFT_SET_LOG).from, WEFT_FROM_DEFAULT);
}

static void what_has_no_effect_is_told_with_its_line(void **state)
{
    const char *said;

    (void)state;
    put("WEFT_NETT = eth1\nWEFT_LONG = loud\nWEFT_HEARTBEAT = soon\n");
    weft_settings_read_file(path, WEFT_FROM_USER, (uid_t)-1);
    said = complaints();
    assert_int_equal(count_lines(said), 3);
    assert_non_null(strstr(said, "conf:1: WEFT_NETT is not a setting and has no effect; "
                                 "did you mean WEFT_NET?\n"));
    assert_non_null(strstr(said, "conf:2: WEFT_LONG = loud: the value is not one of "
                                 "auto|push|fetch"));
    assert_non_null(strstr(said, "conf:3: WEFT_HEARTBEAT = soon: the value is not a "
                                 "number (seconds)"));
    assert_int_equal(weft_setting_origin(WEFT_SET_LONG).from, WEFT_FROM_DEFAULT);
    assert_string_equal(complaints(), ""); /* once */
}

static void the_launchers_own_variables_are_no_settings(void **state)
{
    const char *said;

    (void)state;
    put("WEFT_JOB = 1 2 3\nOWN\033[2J = 1\n");
    weft_settings_read_file(path, WEFT_FROM_USER, (uid_t)-1);
    said = complaints();
    assert_non_null(strstr(said, "conf:1: WEFT_JOB is not a setting"));
    assert_non_null(strstr(said, "conf:2: OWN?[2J is not a setting"));
}

static void a_file_of_another_kind_is_told_in_few_lines(void **state)
{
    char text[4096];
    const char *said;

    (void)state;
    memset(text, '\n', sizeof(text));
    for (size_t i = 0; i < sizeof(text); i += 2) {
        text[i] = 'x';
    }
    put_bytes(text, sizeof(text));
    weft_settings_read_file(path, WEFT_FROM_SITE, (uid_t)-1);
    weft_settings_read_file(path, WEFT_FROM_USER, (uid_t)-1);
    said = complaints();
    assert_int_equal(count_lines(said), 8);
    assert_non_null(strstr(said, "weft.conf: 2045 more lines have no effect\n"));
}

static void check_refused(const char *why)
{
    const char *said;

    weft_settings_read_file(path, WEFT_FROM_USER, (uid_t)-1);
    said = complaints();
    assert_int_equal(count_lines(said), 1);
    assert_non_null(strstr(said, path));
    assert_non_null(strstr(said, why));
    assert_int_equal(weft_setting_origin(WEFT_SET_CHECKSUM).from, WEFT_FROM_DEFAULT);
}

static void what_is_no_regular_file_is_refused_at_once(void **state)
{
    (void)state;
    unlink(path);
    assert_int_equal(mkfifo(path, 0644), 0);
    check_refused("no regular file");
    unlink(path);
    assert_int_equal(mkdir(path, 0755), 0);
    check_refused("no regular file");
    rmdir(path);
    assert_int_equal(symlink(path, path), 0);
    check_refused("cannot be read: ");
    unlink(path);
    weft_settings_read_file(path, WEFT_FROM_USER, (uid_t)-1); /* none is no fault */
    assert_string_equal(complaints(), "");
}

static void a_huge_file_is_refused(void **state)
{
    (void)state;
    put("WEFT_CHECKSUM = 1\n");
    assert_int_equal(truncate(path, WEFT_SETTINGS_BYTES + 1), 0);
    check_refused("more than 64 KiB");
}

static void a_file_that_everybody_may_write_is_refused(void **state)
{
    (void)state;
    put("WEFT_CHECKSUM = 1\n");
    assert_int_equal(chmod(path, 0646), 0);
    check_refused("everybody may write it");
    assert_int_equal(chmod(path, 0644), 0);
}

static void a_file_that_a_group_may_write_is_refused(void **state)
{
    (void)state;
    put("WEFT_CHECKSUM = 1\n");
    assert_int_equal(chmod(path, 0664), 0);
    if (geteuid() == 0) { /* only root gives files to any group */
        assert_int_equal(chown(path, 0, NOBODY), 0);
        check_refused("group 65534 may write it");
        assert_int_equal(chown(path, 0, 0), 0);
    }
    /* That of its owner alone. */
    put("# nothing is set\n");
    if (getegid() == geteuid()) {
        weft_settings_read_file(path, WEFT_FROM_USER, (uid_t)-1);
        assert_string_equal(complaints(), "");
    }
    assert_int_equal(chmod(path, 0644), 0);
}

static void a_file_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root gives files away */
    }
    put("WEFT_CHECKSUM = 1\n");
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    check_refused("belongs to user 65534, not to root or you");
    weft_settings_read_file(path, WEFT_FROM_SITE, NOBODY); /* Weft is theirs, too */
    assert_string_equal(complaints(), "");
    assert_int_equal(weft_setting_origin(WEFT_SET_CHECKSUM).from, WEFT_FROM_SITE);
    assert_int_equal(chown(path, 0, 0), 0);
}

static void an_unreadable_file_is_told(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        skip(); /* root reads all */
    }
    put("WEFT_CHECKSUM = 1\n");
    assert_int_equal(chmod(path, 0), 0);
    check_refused("cannot be read: Permission denied");
    assert_int_equal(chmod(path, 0644), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_names_values_and_comments),
        cmocka_unit_test(a_line_with_a_byte_0_is_none),
        cmocka_unit_test(
            the_environment_goes_before_the_user_and_the_user_before_the_site),
        cmocka_unit_test(what_has_no_effect_is_told_with_its_line),
        cmocka_unit_test(the_launchers_own_variables_are_no_settings),
        cmocka_unit_test(a_file_of_another_kind_is_told_in_few_lines),
        cmocka_unit_test(what_is_no_regular_file_is_refused_at_once),
        cmocka_unit_test(a_huge_file_is_refused),
        cmocka_unit_test(a_file_that_everybody_may_write_is_refused),
        cmocka_unit_test(an_unreadable_file_is_told),
        cmocka_unit_test(a_file_that_a_group_may_write_is_refused),
        cmocka_unit_test(a_file_of_another_user_is_refused),
    };

    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
