/*
 * test_matching.c - messages that the strict provider matches: by tag and sender, looked
 * at, taken, cancelled; and what is demanded of who does so.
 */
#include "pair.h"

#include <rdma/fi_tagged.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MATCHING (FI_TAGGED | FI_DIRECTED_RECV)

enum { LIMIT = 128 * 1024, INJECTED = 16 };

static struct pair *open_matcher(void)
{
    return pair_open_face("matcher", MATCHING);
}

static void send_tagged(struct side *side, size_t offset, size_t length, uint64_t data,
                        uint64_t tag, void *context)
{
    ssize_t err;

    do {
        pair_move(side);
        err = fi_tsenddata(side->ep, side->memory + offset, length, side->desc, data,
                           side->peer, tag, context);
    } while (err == -FI_EAGAIN);
    pair_must("fi_tsenddata", err);
}

static void receive_tagged(struct side *side, size_t offset, uint64_t tag,
                           uint64_t ignore, void *context)
{
    ssize_t err;

    do {
        pair_move(side);
        err = fi_trecv(side->ep, side->memory + offset, 64, side->desc, side->peer, tag,
                       ignore, context);
    } while (err == -FI_EAGAIN);
    pair_must("fi_trecv", err);
}

/* Looks until what was sent is there, or as often as said. True: it is, and `done`
 * describes it. */
static bool peek(struct pair *pair, uint64_t tag, uint64_t flags, int tries,
                 struct fi_cq_tagged_entry *done, void *context)
{
    struct side *side = &pair->side[1];
    const struct fi_msg_tagged look = {
        .addr = side->peer, .tag = tag, .context = context};

    while (tries-- > 0) {
        struct fi_cq_err_entry error = {0};
        ssize_t count;

        while (fi_trecvmsg(side->ep, &look, FI_PEEK | flags) == -FI_EAGAIN) {
        }
        do {
            (void)fi_cq_read(pair->side[0].cq, NULL, 0);
            count = fi_cq_read(side->cq, done, 1);
        } while (count == -FI_EAGAIN);
        if (count == 1) {
            assert_ptr_equal(done->op_context, context);
            return true;
        }
        assert_int_equal(fi_cq_readerr(side->cq, &error, 0), 1);
        assert_int_equal(error.err, FI_ENOMSG);
        assert_ptr_equal(error.op_context, context);
    }
    return false;
}

static void receive_claimed(struct side *side, size_t offset, void *context)
{
    const struct iovec memory = {side->memory + offset, 64};
    const struct fi_msg_tagged message = {
        .msg_iov = &memory,
        .desc = &side->desc,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = context,
    };
    ssize_t err;

    do {
        pair_move(side);
        err = fi_trecvmsg(side->ep, &message, FI_CLAIM);
    } while (err == -FI_EAGAIN);
    pair_must("fi_trecvmsg", err);
}

enum { OFTEN = 1000 * 1000 };

/* ---- what it does ---- */

static void messages_find_their_receives_by_tag(void **state)
{
    struct pair *pair = open_matcher();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    bool is_here[2] = {false, false};

    (void)state;
    strcpy(from->memory, "two");
    strcpy(from->memory + 8, "one");
    receive_tagged(to, 100, 0x1001, 0, &to->context[0]);
    receive_tagged(to, 200, 0x2000, 0xff, &to->context[1]);
    send_tagged(from, 0, 4, UINT64_MAX, 0x2002, &from->context[0]);
    send_tagged(from, 8, 4, 1, 0x1001, &from->context[1]);
    for (int i = 0; i < 2; i++) {
        const struct fi_cq_tagged_entry done = pair_wait(pair, 1);
        const bool is_first = done.op_context == &to->context[0];

        assert_true(done.tag == (is_first ? 0x1001 : 0x2002) && done.len == 4);
        assert_true(done.data == (is_first ? 1 : UINT64_MAX));
        is_here[is_first ? 0 : 1] = true;
    }
    assert_true(is_here[0] && is_here[1]);
    assert_string_equal(to->memory + 100, "one");
    assert_string_equal(to->memory + 200, "two");
    pair_close(pair);
}

static void a_look_leaves_the_message_and_a_claim_takes_it(void **state)
{
    struct pair *pair = open_matcher();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    struct fi_cq_tagged_entry done;

    (void)state;
    assert_false(peek(pair, 5, 0, 2, &done, &to->context[0]));
    strcpy(from->memory, "six");
    send_tagged(from, 0, 4, 7, 5, &from->context[0]);
    assert_true(peek(pair, 5, 0, OFTEN, &done, &to->context[0]));
    assert_true(done.len == 4 && done.tag == 5 && done.data == 7);
    assert_true(peek(pair, 5, FI_CLAIM, 1, &done, &to->context[1]));
    assert_false(peek(pair, 5, 0, 2, &done, &to->context[0]));
    receive_claimed(to, 300, &to->context[1]);
    done = pair_wait(pair, 1);
    assert_ptr_equal(done.op_context, &to->context[1]);
    assert_true(done.len == 4 && done.tag == 5 && done.data == 7);
    assert_string_equal(to->memory + 300, "six");
    receive_tagged(to, 0, 5, 0, &to->context[1]); /* it is free again */
    pair_close(pair);
}

static void a_receive_that_is_cancelled_says_so(void **state)
{
    struct pair *pair = open_matcher();
    struct side *to = &pair->side[1];
    struct fi_cq_err_entry error;

    (void)state;
    receive_tagged(to, 0, 9, 0, &to->context[0]);
    assert_int_equal(fi_cancel(&to->ep->fid, to->context), 0);
    error = pair_wait_error(pair, 1);
    assert_int_equal(error.err, FI_ECANCELED);
    assert_ptr_equal(error.op_context, &to->context[0]);
    assert_int_equal(fi_cancel(&to->ep->fid, &to->context[1]), -FI_ENOENT);
    pair_close(pair);
}

static void every_fourth_post_is_refused_and_little_is_injected(void **state)
{
    struct pair *pair = open_matcher();
    struct side *from = &pair->side[0];
    int taken = 0;

    (void)state;
    assert_int_equal(
        fi_tinjectdata(from->ep, from->memory, INJECTED + 1, 0, from->peer, 1),
        -FI_EINVAL);
    for (int i = 0; i < 8; i++) {
        const ssize_t err = fi_trecv(from->ep, from->memory, 8, from->desc,
                                     FI_ADDR_UNSPEC, 1, 0, &from->context[taken]);

        assert_true(err == 0 || err == -FI_EAGAIN);
        taken += err == 0 ? 1 : 0;
    }
    assert_int_equal(taken, 6);
    pair_close(pair);
}

static void a_face_says_how_many_bits_it_compares(void **state)
{
    struct pair *pair = pair_open_face("cxi", MATCHING);

    (void)state;
    assert_true(pair->info->ep_attr->mem_tag_format >> 48 == 0);
    pair_close(pair);
    pair = open_matcher();
    assert_true(pair->info->ep_attr->mem_tag_format >> 61 != 0);
    assert_int_equal(pair->info->domain_attr->cq_data_size, 8);
    pair_close(pair);
}

/* ---- what it demands ---- */

static void claimed_without_a_claim(void)
{
    struct pair *pair = open_matcher();

    receive_claimed(&pair->side[1], 0, &pair->side[1].context[0]);
}

static void context_of_a_claim(void)
{
    struct pair *pair = open_matcher();
    struct side *to = &pair->side[1];
    struct fi_cq_tagged_entry done;

    send_tagged(&pair->side[0], 0, 4, 0, 5, &pair->side[0].context[0]);
    (void)peek(pair, 5, FI_CLAIM, OFTEN, &done, &to->context[0]);
    receive_tagged(to, 0, 6, 0, &to->context[0]);
}

static void no_descriptor(void)
{
    struct pair *pair = open_matcher();

    pair->side[0].desc = NULL;
    send_tagged(&pair->side[0], 0, 4, 0, 5, &pair->side[0].context[0]);
}

static void longer_than_a_message(void)
{
    struct pair *pair = pair_open_face("short", MATCHING);
    struct side *side = &pair->side[0];

    while (fi_trecv(side->ep, side->memory, LIMIT + 1, side->desc, side->peer, 1, 0,
                    &side->context[0]) == -FI_EAGAIN) {
    }
}

static void who_breaks_a_rule_is_told(void **state)
{
    (void)state;
    assert_true(pair_child_aborts(claimed_without_a_claim, "has claimed no message"));
    assert_true(pair_child_aborts(context_of_a_claim, "is in use"));
    assert_true(pair_child_aborts(no_descriptor, "fi_tsenddata"));
    assert_true(pair_child_aborts(longer_than_a_message, "131073 bytes, at most 131072"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_find_their_receives_by_tag),
        cmocka_unit_test(a_look_leaves_the_message_and_a_claim_takes_it),
        cmocka_unit_test(a_receive_that_is_cancelled_says_so),
        cmocka_unit_test(every_fourth_post_is_refused_and_little_is_injected),
        cmocka_unit_test(a_face_says_how_many_bits_it_compares),
        cmocka_unit_test(who_breaks_a_rule_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
