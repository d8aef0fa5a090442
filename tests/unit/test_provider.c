/* test_provider.c - the table of libfabric's providers. */
#include "unit.h"

#include "transport/ofi/quirks/provider.h"

static void tcp_is_over_sockets(void **state)
{
    const struct weft_provider *tcp = weft_provider_find("tcp");

    (void)state;
    assert_string_equal(tcp->name, "tcp");
    assert_int_equal(tcp->sockets, WEFT_SOCKETS_ALWAYS);
    assert_false(tcp->is_avoided);
    assert_false(tcp->has_reads);
}

static void verbs_has_no_sockets_and_reads_by_itself(void **state)
{
    const struct weft_provider *verbs = weft_provider_find("verbs;ofi_rxm");

    (void)state;
    assert_string_equal(verbs->name, "verbs");
    assert_int_equal(verbs->sockets, WEFT_SOCKETS_NEVER);
    assert_true(verbs->has_reads);
    assert_ptr_equal(verbs, weft_provider_find("verbs"));
}

static void some_are_avoided(void **state)
{
    (void)state;
    assert_true(weft_provider_find("net")->is_avoided);
    assert_true(weft_provider_find("sockets")->is_avoided);
}

static void of_others_nothing_is_known(void **state)
{
    (void)state;
    assert_int_equal(weft_provider_find("strict")->sockets, WEFT_SOCKETS_UNKNOWN);
    assert_int_equal(weft_provider_find("tcp2")->sockets, WEFT_SOCKETS_UNKNOWN);
    assert_int_equal(weft_provider_find("tc")->sockets, WEFT_SOCKETS_UNKNOWN);
    assert_false(weft_provider_find("")->is_avoided);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tcp_is_over_sockets),
        cmocka_unit_test(verbs_has_no_sockets_and_reads_by_itself),
        cmocka_unit_test(some_are_avoided),
        cmocka_unit_test(of_others_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
