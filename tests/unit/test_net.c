/*
 * test_net - addresses, networks and ranges of ports, as text.
 */
#include "wireup/net.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>
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

static void listeners_share_a_range(void **state)
{
    int ports[2];
    int fds[3];

    (void)state;
    fds[0] = weft_net_listen(47990, 47991, &ports[0]);
    fds[1] = weft_net_listen(47990, 47991, &ports[1]);
    assert_true(fds[0] >= 0 && fds[1] >= 0);
    assert_int_not_equal(ports[0], ports[1]);
    fds[2] = weft_net_listen(47990, 47991, &ports[1]);
    assert_int_equal(fds[2], -1);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_in_its_network),
        cmocka_unit_test(words_want_interfaces_addresses_and_networks),
        cmocka_unit_test(a_range_of_ports_is_read),
        cmocka_unit_test(a_wanted_interface_is_the_one_rule),
        cmocka_unit_test(listeners_share_a_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
