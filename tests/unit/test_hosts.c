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

static void drop(struct hosts *hosts)
{
    for (int i = 0; i < hosts->count; i++) {
        free(hosts->at[i].name);
    }
    free(hosts->at);
    free(hosts->index);
}

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
    drop(&hosts);
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
    drop(&hosts);
    free(text);
}

static void this_machine_is_one_host_under_all_its_names(void **state)
{
    struct hosts hosts = {.at = NULL};

    (void)state;
    assert_true(hosts_add_list(&hosts, "localhost:2,node1,127.0.0.1:3,::1"));
    assert_int_equal(hosts.count, 2);
    assert_int_equal(hosts.at[0].slots, 6);
    drop(&hosts);
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
        drop(&hosts);
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
        drop(&hosts);
    }
    memset(long_name, 'n', sizeof(long_name));
    strcpy(long_name + sizeof(long_name) - 20, "[1-90000]");
    {
        struct hosts hosts = {.at = NULL};

        assert_false(hosts_add_nodes(&hosts, long_name, NULL));
        assert_int_equal(hosts.count, 0);
        drop(&hosts);
    }
}

static void slots_have_an_upper_bound_also_in_sum(void **state)
{
    struct hosts hosts = {.at = NULL};

    (void)state;
    assert_false(hosts_add_list(&hosts, "a:1000000,a:1"));
    drop(&hosts);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
