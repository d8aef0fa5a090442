/*
 * test_report_datagrams.c - the datagrams of mpiexec --report, from this host to itself.
 */
#include "report_datagrams.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ME = 3, DAEMONS = 5 };

static const struct weft_net_ports ports = {.first = 20000, .last = 60000};

/* Is a socket of UDP bound to this address and port, as /proc has it? */
static bool is_bound(const char *address, int port)
{
    FILE *file = fopen("/proc/net/udp", "re");
    char line[256];
    char wanted[32];
    bool is_found = false;

    assert_non_null(file);
    snprintf(wanted, sizeof(wanted), " %s:%04X ", address, (unsigned)port);
    while (fgets(line, sizeof(line), file) != NULL) {
        is_found |= strstr(line, wanted) != NULL;
    }
    fclose(file);
    return is_found;
}

/* The local net is all this test needs; 127.0.0.2 is an address of every Linux host. */
static void sockets_are_bound_to_the_chosen_addresses_only(void **state)
{
    const struct weft_net_address list[] = {{.text = "127.0.0.1"}, {.text = "127.0.0.2"}};
    uint8_t heard[DAEMONS] = {0};
    int port;

    (void)state;
    port = datagrams_open(list, 2, &ports);
    assert_in_range(port, ports.first, ports.last);
    assert_true(is_bound("0100007F", port) && is_bound("0200007F", port));
    assert_false(is_bound("00000000", port));
    datagrams_send(ME, "127.0.0.2", port);
    for (int i = 0; i < 1000 && heard[ME] != DATAGRAM_BOTH; i++) {
        poll(NULL, 0, 10); /* they are there at once, as a rule */
        datagrams_read(heard, DAEMONS);
    }
    assert_int_equal(heard[ME], DATAGRAM_BOTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_are_bound_to_the_chosen_addresses_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
