/*
 * test_net - addresses, networks and ranges of ports, as text, and near interfaces.
 */
#include "wireup/near.h"
#include "wireup/net.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void an_address_is_in_its_network(void **state)
{
    (void)state;
    assert_true(weft_net_is_in("10.78.3.4", "10.78.0.0", 16));
    assert_false(weft_net_is_in("10.79.3.4", "10.78.0.0", 16));
    assert_true(weft_net_is_in("10.79.3.4", "10.78.0.0", 15));
    assert_true(weft_net_is_in("1.2.3.4", "1.2.3.4", 32));
    assert_true(weft_net_is_in("2001:db8::1", "2001:db8::", 32));
    assert_false(weft_net_is_in("2001:db9::1", "2001:db8::", 32));
    assert_false(weft_net_is_in("10.0.0.1", "2001:db8::", 0));
    assert_false(weft_net_is_in("eth0", "10.0.0.0", 8));
    assert_false(weft_net_is_in("10.0.0.1", "10.0.0.0", 33));
}

static void words_want_interfaces_addresses_and_networks(void **state)
{
    (void)state;
    assert_true(weft_net_is_wanted("eth1", "10.78.3.4", "ib0,eth1"));
    assert_true(weft_net_is_wanted("", "10.78.3.4", "eth1,10.78.0.0/16"));
    assert_true(weft_net_is_wanted("", "10.78.3.4", "10.78.3.4"));
    assert_false(weft_net_is_wanted("eth1", "10.78.3.4", "eth10,10.79.0.0/16"));
    assert_false(weft_net_is_wanted("", "10.78.3.4", ""));
}

static void a_range_of_ports_is_read(void **state)
{
    static const char *const wrong[] = {"",        "47000", "2-1", "0-5",
                                        "1-65536", "1-2x",  "a-b"};
    int first;
    int last;

    (void)state;
    assert_true(weft_net_read_ports("47000-47999", &first, &last));
    assert_int_equal(first, 47000);
    assert_int_equal(last, 47999);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(weft_net_read_ports(wrong[i], &first, &last));
    }
}

static void a_wanted_interface_is_the_one_rule(void **state)
{
    struct weft_net_address list[WEFT_NET_MOST];
    int count = weft_net_list(list, "127.0.0.0/8");

    (void)state;
    assert_true(count >= 1);
    assert_null(list[0].left_out);
    assert_string_equal(list[0].interface, "lo");
    count = weft_net_list(list, "");
    for (int i = 0; i < count; i++) {
        assert_true(strcmp(list[i].interface, "lo") != 0 || list[i].left_out != NULL);
    }
}

static void an_address_tells_its_network(void **state)
{
    static const struct {
        struct weft_net_address address;
        const char *network;
    } cases[] = {
        {{.text = "10.78.3.4", .prefix = 16}, "10.78.0.0/16"},
        {{.text = "10.78.3.77", .prefix = 29}, "10.78.3.72/29"},
        {{.text = "1.2.3.4", .prefix = 32}, "1.2.3.4/32"},
        {{.text = "255.255.255.255", .prefix = 0}, "0.0.0.0/0"},
        {{.text = "2001:db8::ff:1", .prefix = 64}, "2001:db8::/64"},
        {{.text = "2001:db8::ff:1", .prefix = 121}, "2001:db8::ff:0/121"},
    };
    char text[WEFT_NET_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_net_network_of(&cases[i].address, text);
        assert_string_equal(text, cases[i].network);
        assert_true(weft_net_is_wanted("", cases[i].address.text, text));
    }
}

static void shared_networks_are_kept_or_all(void **state)
{
    struct weft_net_address list[] = {{.text = "203.0.113.5"},
                                      {.text = "10.78.3.4"},
                                      {.text = "10.77.3.4"},
                                      {.text = "10.79.3.4"}};

    (void)state;
    assert_int_equal(weft_net_keep(list, 4, NULL), 4);
    assert_int_equal(weft_net_keep(list, 4, "10.1.0.0/16"), 4);
    assert_string_equal(list[0].text, "203.0.113.5");
    assert_int_equal(weft_net_keep(list, 3, "10.77.0.0/16,10.78.0.0/16,10.79.0.0/16"), 2);
    assert_string_equal(list[0].text, "10.78.3.4");
    assert_string_equal(list[1].text, "10.77.3.4");
}

static bool can_connect(const char *text, int port)
{
    struct sockaddr_storage to;
    socklen_t bytes;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool can;

    assert_true(weft_net_address_of(text, port, &to, &bytes));
    can = connect(fd, (const struct sockaddr *)&to, bytes) == 0;
    close(fd);
    return can;
}

/* An address of this process's own, so that a second run of this test does not disturb
 * it: 127.0.0.0/8 is all loopback. */
static struct weft_net_address own_address(int which)
{
    const unsigned pid = (unsigned)getpid();
    struct weft_net_address own = {.prefix = 8};

    snprintf(own.text, sizeof(own.text), "127.%u.%u.%d", pid >> 8 & 255, pid & 255,
             which);
    return own;
}

static void listeners_share_a_range(void **state)
{
    const struct weft_net_address here = own_address(1);
    const struct weft_net_ports range = {.first = 29990, .last = 29991, .begin = 5};
    int ports[3];
    int fds[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        ports[i] = weft_net_listen(&here, 1, &range, NULL, NULL, &fds[i]);
    }
    assert_int_equal(ports[0], 29991);
    assert_int_equal(ports[1], 29990);
    assert_int_equal(ports[2], -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_not_equal(fcntl(fds[0], F_GETFD) & FD_CLOEXEC, 0);
    close(fds[0]);
    close(fds[1]);
}

static void one_port_serves_all_addresses_and_no_others(void **state)
{
    const struct weft_net_address ours[] = {own_address(2), own_address(3),
                                            own_address(4)};
    const struct weft_net_address taken = ours[1];
    const struct weft_net_ports first = {.first = 29995, .last = 29995};
    const struct weft_net_ports both = {.first = 29995, .last = 29996};
    int other;
    int fds[3];

    (void)state;
    assert_int_equal(weft_net_listen(&taken, 1, &first, NULL, NULL, &other), 29995);
    assert_int_equal(weft_net_listen(ours, 3, &both, NULL, NULL, fds), 29996);
    for (int i = 0; i < 3; i++) {
        assert_true(can_connect(ours[i].text, 29996));
        close(fds[i]);
    }
    assert_int_equal(weft_net_listen(ours, 2, &both, NULL, NULL, fds), 29996);
    assert_false(can_connect(own_address(1).text, 29996));
    assert_false(can_connect(ours[2].text, 29996));
    assert_false(can_connect(ours[0].text, 29995)); /* what was tried is given back */
    close(fds[0]);
    close(fds[1]);
    close(other);
}

/* A file of a sysfs that is made up. */
static void write_entry(const char *root, const char *entry, const char *text)
{
    char path[512];
    FILE *file;

    for (const char *slash = strchr(entry, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof(path), "%s/%.*s", root, (int)(slash - entry), entry);
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    }
    snprintf(path, sizeof(path), "%s/%s", root, entry);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* The order in which a process on some processors takes interfaces. */
static void hold_order(const char *root, const int *processors, const char *expected)
{
    struct weft_net_address list[] = {
        {.interface = "fast", .megabits = 1000}, {.interface = "ib0", .megabits = 100},
        {.interface = "ib1", .megabits = 100},   {.interface = "virt", .megabits = 100},
        {.interface = "ib2", .megabits = 100},
    };
    char got[128] = "";
    cpu_set_t set;

    CPU_ZERO(&set);
    while (*processors >= 0) {
        CPU_SET((size_t)*processors++, &set);
    }
    weft_net_put_near_first(list, 5, root, &set);
    for (int i = 0; i < 5; i++) {
        strcat(got, list[i].interface);
        strcat(got, i < 4 ? " " : "");
    }
    assert_string_equal(got, expected);
}

static void of_equally_fast_interfaces_the_near_ones_are_first(void **state)
{
    char root[] = "/tmp/weft-sysfs-XXXXXX";
    char command[128];

    (void)state;
    assert_non_null(mkdtemp(root));
    write_entry(root, "class/net/fast/device/numa_node", "1\n");
    write_entry(root, "class/net/ib0/device/numa_node", "0\n");
    write_entry(root, "class/net/ib1/device/numa_node", "1\n");
    write_entry(root, "class/net/ib2/device/numa_node", "-1\n");
    write_entry(root, "devices/system/node/node0/cpulist", "0-3,8-11\n");
    write_entry(root, "devices/system/node/node1/cpulist", "4-7,12-15\n");
    hold_order(root, (const int[]){9, -1}, "fast ib0 virt ib2 ib1");
    hold_order(root, (const int[]){4, 12, -1}, "fast ib1 virt ib2 ib0");
    hold_order(root, (const int[]){3, 4, -1}, "fast ib0 ib1 virt ib2");
    hold_order("/nonexistent", (const int[]){3, -1}, "fast ib0 ib1 virt ib2");
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_in_its_network),
        cmocka_unit_test(words_want_interfaces_addresses_and_networks),
        cmocka_unit_test(a_range_of_ports_is_read),
        cmocka_unit_test(a_wanted_interface_is_the_one_rule),
        cmocka_unit_test(an_address_tells_its_network),
        cmocka_unit_test(shared_networks_are_kept_or_all),
        cmocka_unit_test(of_equally_fast_interfaces_the_near_ones_are_first),
        cmocka_unit_test(listeners_share_a_range),
        cmocka_unit_test(one_port_serves_all_addresses_and_no_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
