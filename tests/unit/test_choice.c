/*
 * test_choice.c - which network is taken between nodes, by what libfabric offers: rows of
 * a list, best first, as it gives them.
 */
#include "unit.h"

#include "transport/ofi/choice.h"

enum { ROWS_MAX = 8 };

struct row {
    const char *name; /* NULL: there are no more */
    enum fi_ep_type type;
    uint32_t format;
};

#define CONNECTED(name)                                                                  \
    {                                                                                    \
        name, FI_EP_MSG, FI_SOCKADDR_IN                                                  \
    }
#define UNCONNECTED(name)                                                                \
    {                                                                                    \
        name, FI_EP_RDM, FI_SOCKADDR_IN                                                  \
    }
#define INSIDE_A_NODE(name)                                                              \
    {                                                                                    \
        name, FI_EP_RDM, FI_ADDR_STR                                                     \
    }
#define DATAGRAMS(name)                                                                  \
    {                                                                                    \
        name, FI_EP_DGRAM, FI_SOCKADDR_IN                                                \
    }

/* All that is connected shares receive buffers, or nothing does. */
static struct fi_info *make_list(const struct row *rows, size_t shared)
{
    static struct fi_info infos[ROWS_MAX];
    static struct fi_ep_attr ep[ROWS_MAX];
    static struct fi_domain_attr domain[ROWS_MAX];
    static struct fi_fabric_attr fabric[ROWS_MAX];
    struct fi_info *list = NULL;
    int count = 0;

    while (rows[count].name != NULL) {
        count++;
    }
    assert_true(count < ROWS_MAX);
    for (int i = count - 1; i >= 0; i--) {
        ep[i] = (struct fi_ep_attr){.type = rows[i].type};
        domain[i] = (struct fi_domain_attr){.max_ep_srx_ctx = shared};
        fabric[i].prov_name = (char *)(uintptr_t)rows[i].name;
        infos[i] = (struct fi_info){.next = list,
                                    .addr_format = rows[i].format,
                                    .ep_attr = &ep[i],
                                    .domain_attr = &domain[i],
                                    .fabric_attr = &fabric[i]};
        list = &infos[i];
    }
    return list;
}

static bool is_rdm(const struct row *rows, size_t shared)
{
    return weft_ofi_is_without_connections(make_list(rows, shared));
}

static void what_comes_first_decides(void **unused)
{
    const struct row card[] = {UNCONNECTED("efa"), CONNECTED("tcp"), {NULL, 0, 0}};
    const struct row both[] = {CONNECTED("verbs"), UNCONNECTED("psm3"), {NULL, 0, 0}};
    const struct row only[] = {UNCONNECTED("cxi"), {NULL, 0, 0}};
    const struct row none[] = {{NULL, 0, 0}};

    (void)unused;
    assert_true(is_rdm(card, 1));
    assert_false(is_rdm(both, 1));
    assert_true(is_rdm(only, 1));
    assert_false(is_rdm(none, 1));
}

/* As libfabric 1.17 lists them on a machine without a card. */
static void a_layer_counts_as_what_is_below_it(void **unused)
{
    const struct row sockets[] = {UNCONNECTED("tcp;ofi_rxm"), UNCONNECTED("udp;ofi_rxd"),
                                  INSIDE_A_NODE("shm"),       DATAGRAMS("udp"),
                                  CONNECTED("tcp"),           {NULL, 0, 0}};
    const struct row hidden[] = {UNCONNECTED("tcp;ofi_rxm"), {NULL, 0, 0}};
    const struct row longer[] = {UNCONNECTED("tcp2"), CONNECTED("tcp"), {NULL, 0, 0}};

    (void)unused;
    assert_false(is_rdm(sockets, 1));
    assert_true(is_rdm(hidden, 1));
    assert_true(is_rdm(longer, 1));
}

static void what_cannot_be_used_does_not_count(void **unused)
{
    const struct row inside[] = {INSIDE_A_NODE("shm"), CONNECTED("tcp"), {NULL, 0, 0}};
    const struct row avoided[] = {
        UNCONNECTED("net"), UNCONNECTED("sockets"), CONNECTED("tcp"), {NULL, 0, 0}};
    const struct row datagrams[] = {
        DATAGRAMS("udp"), UNCONNECTED("opx"), CONNECTED("tcp"), {NULL, 0, 0}};
    const struct row unshared[] = {CONNECTED("old"), UNCONNECTED("new"), {NULL, 0, 0}};

    (void)unused;
    assert_false(is_rdm(inside, 1));
    assert_false(is_rdm(avoided, 1));
    assert_true(is_rdm(datagrams, 1));
    assert_true(is_rdm(unshared, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_first_decides),
        cmocka_unit_test(a_layer_counts_as_what_is_below_it),
        cmocka_unit_test(what_cannot_be_used_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
