/*
 * test_tagged.c - matching by the provider: which providers are refused, what the
 * endpoint is asked for, what its completions mean, and how bits are laid out.
 */
#include "unit.h"

#include "failed_job.h"

#include "p2p/tag_bits.h"
#include "transport/ofi/quirks/matching.h"
#include "transport/ofi/tagged/tagged.h"

#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>

/* ---- a provider ---- */

static struct fi_tx_attr tx;
static struct fi_rx_attr rx;
static struct fi_ep_attr ep;
static struct fi_domain_attr domain;
static struct fi_fabric_attr fabric;
static struct fi_info info = {.tx_attr = &tx,
                              .rx_attr = &rx,
                              .ep_attr = &ep,
                              .domain_attr = &domain,
                              .fabric_attr = &fabric};

/* One that has all it takes. */
static void make_info(void)
{
    tx = (struct fi_tx_attr){.msg_order = FI_ORDER_SAS, .inject_size = 64};
    rx = (struct fi_rx_attr){.msg_order = FI_ORDER_SAS};
    ep = (struct fi_ep_attr){.mem_tag_format = UINT64_MAX, .max_msg_size = SIZE_MAX};
    domain = (struct fi_domain_attr){.cq_data_size = 8};
    fabric.prov_name = (char *)(uintptr_t) "tcp;ofi_rxm";
}

static void providers_are_refused_for_what_they_lack(void **unused)
{
    (void)unused;
    make_info();
    assert_null(weft_tagged_refusal(&info));
    ep.mem_tag_format = UINT64_MAX >> 3;
    assert_null(weft_tagged_refusal(&info));
    ep.mem_tag_format = UINT64_MAX >> 4;
    assert_non_null(strstr(weft_tagged_refusal(&info), "61 bits"));
    ep.mem_tag_format = 0;
    assert_non_null(strstr(weft_tagged_refusal(&info), "61 bits"));
    make_info();
    rx.msg_order = FI_ORDER_SAW;
    assert_non_null(strstr(weft_tagged_refusal(&info), "FI_ORDER_SAS"));
    make_info();
    domain.cq_data_size = 4;
    assert_non_null(strstr(weft_tagged_refusal(&info), "8 bytes"));
    make_info();
    ep.max_msg_size = 4096;
    assert_null(weft_tagged_refusal(&info));
    make_info();
    fabric.prov_name = (char *)(uintptr_t) "udp;ofi_rxd";
    assert_non_null(strstr(weft_tagged_refusal(&info), "longer than"));
    make_info();
    ep.msg_prefix_size = 40;
    assert_non_null(strstr(weft_tagged_refusal(&info), "prefix"));
}

/* ---- an endpoint that says what it was asked for ---- */

static struct asked {
    int calls;
    uint64_t tag;
    uint64_t ignore;
    uint64_t data;
    uint64_t flags;
    fi_addr_t address;
    size_t length;
    void *context;
} asked;
static ssize_t answer;

static ssize_t fake_inject(struct fid_ep *at, const void *buffer, size_t length,
                           uint64_t data, fi_addr_t to, uint64_t tag)
{
    (void)at;
    (void)buffer;
    asked =
        (struct asked){.calls = asked.calls + 1, .tag = tag, .data = data, .address = to};
    asked.length = length;
    return answer;
}

static ssize_t fake_send(struct fid_ep *at, const void *buffer, size_t length,
                         void *descriptor, uint64_t data, fi_addr_t to, uint64_t tag,
                         void *context)
{
    (void)descriptor;
    (void)fake_inject(at, buffer, length, data, to, tag);
    asked.context = context;
    return answer;
}

static ssize_t fake_recv(struct fid_ep *at, void *buffer, size_t length, void *descriptor,
                         fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    (void)descriptor;
    (void)fake_inject(at, buffer, length, 0, from, tag);
    asked.ignore = ignore;
    asked.context = context;
    return answer;
}

static ssize_t fake_recvmsg(struct fid_ep *at, const struct fi_msg_tagged *message,
                            uint64_t flags)
{
    (void)fake_recv(at, NULL, 0, NULL, message->addr, message->tag, message->ignore,
                    message->context);
    asked.flags = flags;
    return answer;
}

static ssize_t fake_cancel(struct fid *fid, void *context)
{
    (void)fid;
    asked.calls++;
    asked.context = context;
    return 0;
}

static struct fi_ops_tagged messages = {
    .injectdata = fake_inject,
    .senddata = fake_send,
    .recv = fake_recv,
    .recvmsg = fake_recvmsg,
};
static struct fi_ops_ep endpoint_ops = {.cancel = fake_cancel};
static struct fid_ep endpoint = {.tagged = &messages, .ops = &endpoint_ops};
static struct weft_transport tp;
static struct weft_rdm_peer peer;

static void make_endpoint(void)
{
    make_info();
    asked = (struct asked){0};
    answer = 0;
    tp = (struct weft_transport){
        .job = &failed_job,
        .ofi = {.info = &info, .endpoint = &endpoint},
        .slots = {.cache = {.ofi = &tp.ofi}},
    };
    peer = (struct weft_rdm_peer){
        .base = {.transport = &tp},
        .process = 3,
        .has_address = true,
        .address = 77,
        .state = WEFT_RDM_OPEN,
    };
}

/* ---- the end of an operation ---- */

static struct weft_tagged_end told;
static int told_count;

static void done(struct weft_tagged_op *op, const struct weft_tagged_end *end)
{
    (void)op;
    told = *end;
    told_count++;
}

static void sends_go_where_the_peer_is(void **unused)
{
    struct weft_tagged_op op = {.done = done};
    char byte = 1;

    (void)unused;
    make_endpoint();
    assert_int_equal(weft_tagged_table()->inject(&peer.base, 5, 6, &byte, 1), WEFT_OK);
    assert_true(asked.tag == 5 && asked.data == 6 && asked.address == 77);
    assert_int_equal(weft_tagged_table()->send(&peer.base, 7, 8, &byte, 1, &op),
                     WEFT_PENDING);
    assert_true(asked.tag == 7 && asked.data == 8 && asked.context == op.context);
    assert_int_equal(peer.packets_sent, 2);
    answer = -FI_EAGAIN;
    assert_int_equal(weft_tagged_table()->send(&peer.base, 7, 8, &byte, 1, &op),
                     WEFT_AGAIN);
    assert_int_equal(weft_tagged_table()->inject(&peer.base, 5, 6, &byte, 1), WEFT_AGAIN);
    assert_int_equal(peer.packets_sent, 2);
}

static void nothing_goes_to_who_has_proved_nothing(void **unused)
{
    struct weft_tagged_op op = {.done = done};

    (void)unused;
    make_endpoint();
    peer.state = WEFT_RDM_ASKING;
    assert_int_equal(weft_tagged_table()->send(&peer.base, 7, 8, NULL, 0, &op),
                     WEFT_AGAIN);
    peer.state = WEFT_RDM_LOST;
    peer.is_reported_lost = true;
    assert_int_equal(weft_tagged_table()->inject(&peer.base, 7, 8, NULL, 0),
                     WEFT_ERR_PROC_FAILED);
    assert_int_equal(asked.calls, 0);
}

static void receives_name_a_sender_or_nobody(void **unused)
{
    struct weft_tagged_pattern pattern = {&peer.base, 9, 10};
    struct weft_tagged_op op = {.done = done};
    char room[4];

    (void)unused;
    make_endpoint();
    assert_int_equal(weft_tagged_table()->recv(&tp, &pattern, room, 4, &op),
                     WEFT_PENDING);
    assert_true(asked.address == 77 && asked.tag == 9 && asked.ignore == 10);
    pattern.from = NULL;
    assert_int_equal(weft_tagged_table()->recv(&tp, &pattern, room, 4, &op),
                     WEFT_PENDING);
    assert_true(asked.address == FI_ADDR_UNSPEC && asked.length == 4);
    assert_int_equal(weft_tagged_table()->peek(&tp, &pattern, false, &op), WEFT_PENDING);
    assert_true(asked.flags == FI_PEEK);
    assert_int_equal(weft_tagged_table()->peek(&tp, &pattern, true, &op), WEFT_PENDING);
    assert_true(asked.flags == (FI_PEEK | FI_CLAIM));
    assert_int_equal(weft_tagged_table()->recv_claimed(&tp, room, 4, &op), WEFT_PENDING);
    assert_true((asked.flags & FI_CLAIM) != 0 && asked.context == op.context);
    weft_tagged_table()->cancel(&tp, &op);
    assert_true(asked.context == op.context);
    answer = -FI_EAGAIN;
    assert_int_equal(weft_tagged_table()->recv(&tp, &pattern, room, 4, &op), WEFT_AGAIN);
    answer = -FI_EINVAL;
    assert_int_equal(weft_tagged_table()->recv(&tp, &pattern, room, 4, &op),
                     WEFT_ERR_SYSTEM);
}

static void completions_say_what_has_come(void **unused)
{
    const struct fi_cq_tagged_entry entry = {.len = 3, .data = 4, .tag = 5};
    struct fi_cq_err_entry error = {.len = 2, .olen = 6, .tag = 5, .data = 4};
    struct weft_tagged_op op = {.done = done, .room = 2};

    (void)unused;
    make_endpoint();
    weft_tagged_complete(&tp, &op, &entry);
    assert_true(told.rc == WEFT_OK && told.is_found && !told.is_cancelled);
    assert_true(told.length == 3 && told.data == 4 && told.bits == 5);
    error.err = FI_ETRUNC;
    weft_tagged_fail(&tp, &op, &error);
    assert_true(told.rc == WEFT_ERR_TRUNCATE && told.length == 8 && told.bits == 5);
    error.olen = 0;
    weft_tagged_fail(&tp, &op, &error);
    assert_true(told.rc == WEFT_ERR_TRUNCATE && told.length == 3);
    error.err = FI_ECANCELED;
    weft_tagged_fail(&tp, &op, &error);
    assert_true(told.rc == WEFT_OK && told.is_cancelled && !told.is_found);
    error.err = FI_ENOMSG;
    weft_tagged_fail(&tp, &op, &error);
    assert_true(told.rc == WEFT_OK && !told.is_found);
    error.err = FI_EIO;
    weft_tagged_fail(&tp, &op, &error);
    assert_int_equal(told.rc, WEFT_ERR_PROC_FAILED);
    assert_int_equal(told_count, 6);
}

/* ---- bits ---- */

static bool fits(const struct weft_tagged_pattern *pattern, uint64_t bits)
{
    return ((pattern->bits ^ bits) & ~pattern->ignore) == 0;
}

static void bits_keep_contexts_tags_and_answers_apart(void **unused)
{
    const uint32_t last = ((UINT32_C(1) << WEFT_BITS_CONTEXT) - 1) * WEFT_PLANES;
    const struct weft_tagged_pattern one = weft_bits_pattern(last, WEFT_TAG_UB);
    const struct weft_tagged_pattern any = weft_bits_pattern(last, WEFT_ANY_TAG);
    const uint64_t bits = weft_bits_of(last, WEFT_TAG_UB);

    (void)unused;
    assert_int_equal(weft_bits_tag(bits | WEFT_BIT_SYNC), WEFT_TAG_UB);
    assert_true(fits(&one, bits) && fits(&one, bits | WEFT_BIT_SYNC));
    assert_true(fits(&any, bits) && fits(&any, weft_bits_of(last, 0) | WEFT_BIT_SYNC));
    assert_false(fits(&one, weft_bits_of(last, 0)));
    assert_false(fits(&any, weft_bits_of(last - WEFT_PLANES, 0)));
    assert_false(fits(&any, bits | WEFT_BIT_ACK));
    assert_true((bits | WEFT_BIT_SYNC | WEFT_BIT_ACK) >> WEFT_TAGGED_BITS == 0);
    assert_int_equal(weft_bits_rank(weft_bits_data(70000, 9)), 70000);
    assert_true(weft_bits_ack(weft_bits_data(70000, 9)) == (WEFT_BIT_ACK | 9));
}

static void what_the_user_has_set_stays(void **unused)
{
    (void)unused;
    unsetenv("FI_OFI_RXM_SAR_LIMIT");
    setenv("FI_OFI_RXM_ENABLE_DYN_RBUF", "1", 1);
    weft_matching_prepare();
    assert_string_equal(getenv("FI_OFI_RXM_ENABLE_DYN_RBUF"), "1");
    assert_string_equal(getenv("FI_OFI_RXM_SAR_LIMIT"), "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(providers_are_refused_for_what_they_lack),
        cmocka_unit_test(sends_go_where_the_peer_is),
        cmocka_unit_test(nothing_goes_to_who_has_proved_nothing),
        cmocka_unit_test(receives_name_a_sender_or_nobody),
        cmocka_unit_test(completions_say_what_has_come),
        cmocka_unit_test(bits_keep_contexts_tags_and_answers_apart),
        cmocka_unit_test(what_the_user_has_set_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
