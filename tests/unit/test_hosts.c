/* test_hosts.c - names of hosts, however many there are and however long a line is. */
#include "unit.h"

#include "hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 30000, PATIENCE_S = 100, LONG_LINE = 5000 };

const char *program_name = "mpiexec";

static bool read_text(struct hosts *hosts, const char *text)
{
    const int fd = memfd_create("hosts", 0);
    char path[64];
    bool is_good;

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    is_good = hosts_add_file(hosts, path);
    close(fd);
    return is_good;
}

static void a_long_line_is_one_host(void **state)
{
    static char text[LONG_LINE + 64];
    struct hosts hosts = {.at = NULL};

    (void)state;
    memset(text, ' ', LONG_LINE);
    memcpy(text, "node1", 5);
    strcpy(text + LONG_LINE, "slots=3\nnode2\n");
    assert_true(read_text(&hosts, text));
    assert_int_equal(hosts.count, 2);
    assert_int_equal(hosts.at[0].slots, 3);
    assert_string_equal(hosts.at[1].name, "node2");
    hosts_close(&hosts);
}

/* Where every name is compared with every other this takes minutes. */
static void many_hosts_are_read_at_once(void **state)
{
    char *text = malloc(MANY * 12);
    size_t at = 0;
    struct hosts hosts = {.at = NULL};
    const time_t begin = time(NULL);

    (void)state;
    for (int i = 0; i < 2 * MANY; i += 2) { /* the last of them is the first once more */
        at += (size_t)sprintf(text + at, "node%d\n", i % (2 * MANY - 2));
    }
    assert_true(read_text(&hosts, text));
    assert_true(time(NULL) - begin < PATIENCE_S);
    assert_int_equal(hosts.count, MANY - 1);
    assert_int_equal(hosts.at[0].slots, 2);
    hosts_close(&hosts);
    free(text);
}

static void this_machine_is_one_host_under_all_its_names(void **state)
{
    struct hosts hosts = {.at = NULL};

    (void)state;
    assert_true(hosts_add_list(&hosts, "localhost:2,node1,127.0.0.1:3,::1"));
    assert_int_equal(hosts.count, 2);
    assert_int_equal(hosts.at[0].slots, 6);
    hosts_close(&hosts);
}

/* From blocks of exactly that length, so that a sanitizer sees who reads past the end. */
static void unfinished_numbers_of_tasks_are_not_read_past_their_end(void **state)
{
    const char *const texts[] = {"4(", "4(x", "4", "", "(", "4(2)"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hosts hosts = {.at = NULL};
        char *tasks = strdup(texts[i]);

        assert_true(hosts_add_nodes(&hosts, "n[1-2],m", tasks));
        assert_int_equal(hosts.count, 3);
        hosts_close(&hosts);
        free(tasks);
    }
}

static void wrong_lists_of_nodes_are_refused(void **state)
{
    const char *const wrong[] = {"n[x]",
                                 "n[-3]",
                                 "n[3-1]",
                                 "n[1;2]",
                                 "n[1-99999999999999999999]",
                                 "n[99999999999999999999]",
                                 "a b",
                                 "-x"};
    char long_name[700];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct hosts hosts = {.at = NULL};

        if (hosts_add_nodes(&hosts, wrong[i], NULL)) {
            fail_msg("\"%s\" was taken", wrong[i]);
        }
        hosts_close(&hosts);
    }
    memset(long_name, 'n', sizeof(long_name));
    strcpy(long_name + sizeof(long_name) - 20, "[1-90000]");
    {
        struct hosts hosts = {.at = NULL};

        assert_false(hosts_add_nodes(&hosts, long_name, NULL));
        assert_int_equal(hosts.count, 0);
        hosts_close(&hosts);
    }
}

static void slots_have_an_upper_bound_also_in_sum(void **state)
{
    struct hosts hosts = {.at = NULL};

    (void)state;
    assert_false(hosts_add_list(&hosts, "a:1000000,a:1"));
    hosts_close(&hosts);
}

/* ---- dialects of hostfiles ---- */

/* "name:slots" of each host in turn, and "/most" where that is said. */
static void expect_hosts(const char *text, const char *expected)
{
    struct hosts hosts = {.at = NULL};
    char got[512] = "";

    assert_true(read_text(&hosts, text));
    for (int i = 0; i < hosts.count; i++) {
        const size_t n = strlen(got);
        const struct host *host = &hosts.at[i];

        snprintf(got + n, sizeof(got) - n, "%s%s:%d", i > 0 ? " " : "", host->name,
                 host->slots);
        if (host->most > 0) {
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "/%d", host->most);
        }
    }
    assert_string_equal(got, expected);
    hosts_close(&hosts);
}

static void open_mpis_hostfile_is_read(void **state)
{
    (void)state;
    expect_hosts("a slots=2\nb slots=4 max_slots=8 # two sockets\n\nc\n",
                 "a:2 b:4/8 c:0");
    expect_hosts("a slots = 2\tmax-slots= 3\r\nb cpu=2\nc count =3", "a:2/3 b:2 c:3");
    expect_hosts("a max_slots=3\nb slots_max=4 slots=1", "a:3/3 b:1/4");
    expect_hosts("a slots=2\nb slots=1\na slots=2", "a:4 b:1"); /* the slots of both */
    expect_hosts("a slots=2 max_slots=3\na slots=2 max_slots=5", "a:4/8");
    expect_hosts("user@a slots=2", "user@a:2");
}

static void hydras_hostfile_is_read(void **state)
{
    (void)state;
    expect_hosts("a:2\nb:3\nc\n#d\na:1", "a:3 b:3 c:0");
    expect_hosts("fe80::1\n[fe80::2]:3", "fe80::1:0 [fe80::2]:3");
}

static void the_files_of_batch_systems_are_read(void **state)
{
    (void)state;
    expect_hosts("a\na\nb\nb\nb\na\n", "a:3 b:3");
    expect_hosts("a 2 all.q@a UNDEFINED\nb 3 all.q@b <NULL>\n", "a:2 b:3");
    expect_hosts("n[1-2,07]\nm[1-2]:3\nk[8-9]-x slots=2 max_slots=4\n",
                 "n1:0 n2:0 n07:0 m1:3 m2:3 k8-x:2/4 k9-x:2/4");
}

static void ranges_may_stand_on_the_command_line(void **state)
{
    struct hosts hosts = {.at = NULL};

    (void)state;
    assert_true(hosts_add_list(&hosts, "n[1-2,4]:2,m,,k[3]"));
    assert_int_equal(hosts.count, 5);
    assert_string_equal(hosts.at[2].name, "n4");
    assert_int_equal(hosts.at[2].slots, 2);
    assert_string_equal(hosts.at[4].name, "k3");
    assert_true(hosts_has(&hosts, "m") && !hosts_has(&hosts, "n3"));
    hosts_close(&hosts);
    assert_false(hosts_has(&hosts, "m"));
}

static void lines_that_nobody_understands_are_refused(void **state)
{
    const char *const wrong[] = {
        "a slot=2",
        "a slots",
        "a slots=",
        "a slots=0",
        "a slots=2x",
        "a slots=2 binding",
        "a user=me",
        "a max_slots=",
        "a slots=5 max_slots=4",
        "a:x",
        "a 0",
        "a 2x",
        "a slots=1000001",
        "n[1-",
        "n[2-1]",
        "=4",
        "a:5 max_slots=4",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct hosts hosts = {.at = NULL};

        if (read_text(&hosts, wrong[i])) {
            fail_msg("\"%s\" was taken", wrong[i]);
        }
        hosts_close(&hosts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_line_is_one_host),
        cmocka_unit_test(many_hosts_are_read_at_once),
        cmocka_unit_test(this_machine_is_one_host_under_all_its_names),
        cmocka_unit_test(unfinished_numbers_of_tasks_are_not_read_past_their_end),
        cmocka_unit_test(wrong_lists_of_nodes_are_refused),
        cmocka_unit_test(slots_have_an_upper_bound_also_in_sum),
        cmocka_unit_test(open_mpis_hostfile_is_read),
        cmocka_unit_test(hydras_hostfile_is_read),
        cmocka_unit_test(the_files_of_batch_systems_are_read),
        cmocka_unit_test(ranges_may_stand_on_the_command_line),
        cmocka_unit_test(lines_that_nobody_understands_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
