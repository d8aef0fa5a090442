/*
 * test_shared.c - receives that several endpoints share, over the strict provider: as
 * many demands on them as on an endpoint's own.
 *
 * Both sides of a pair share one receive context; a message completes in the queue of the
 * side to which it was sent.
 */
#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { QUEUE = 64 };

static void must_abort(void (*broken)(struct pair *pair), const char *cause)
{
    assert_true(pair_aborts(pair_open_shared, broken, cause));
}

static void messages_to_both_endpoints_come_in_shared_receives(void **state)
{
    struct pair *pair = pair_open_shared();
    struct side *a = &pair->side[0];
    struct side *b = &pair->side[1];
    struct fi_context2 posted;
    struct fi_cq_tagged_entry done;

    (void)state;
    pair_connect(pair);
    strcpy(a->memory, "from a");
    strcpy(b->memory, "from b");
    pair_recv_shared(pair, b, 100, 64, &b->context[0]);
    pair_recv_shared(pair, b, 200, 64, &b->context[1]);
    posted = b->context[0];
    pair_send(a, 0, 7, &a->context[0]);
    done = pair_wait(pair, 1);
    assert_ptr_equal(done.op_context, &b->context[0]);
    assert_int_equal(done.len, 7);
    assert_true((done.flags & FI_RECV) != 0);
    assert_string_equal(b->memory + 100, "from a");
    assert_memory_not_equal(&b->context[0], &posted, sizeof(posted));
    assert_ptr_equal(pair_wait(pair, 0).op_context, &a->context[0]);
    pair_send(b, 0, 7, &b->context[2]);
    assert_ptr_equal(pair_wait(pair, 1).op_context, &b->context[2]);
    assert_ptr_equal(pair_wait(pair, 0).op_context, &b->context[1]);
    assert_string_equal(b->memory + 200, "from b");
    pair_close(pair);
}

static void there_is_room_for_64_and_every_fourth_post_is_refused(void **state)
{
    struct pair *pair = pair_open_shared();
    struct side *side = &pair->side[0];
    struct fi_rx_attr attr = *pair->info->rx_attr;
    struct fid_ep *other;
    int taken = 0;
    int i;

    (void)state;
    pair_connect(pair);
    for (i = 0; i < 80; i++) {
        const ssize_t err =
            fi_recv(pair->srx, side->memory, 8, side->desc, 0, &side->context[taken]);

        assert_true(err == 0 || err == -FI_EAGAIN);
        taken += err == 0 ? 1 : 0;
    }
    assert_int_equal(taken, 60);
    for (; i < 90; i++) {
        taken +=
            fi_recv(pair->srx, side->memory, 8, side->desc, 0, &side->context[taken]) == 0
                ? 1
                : 0;
    }
    assert_int_equal(taken, QUEUE);
    attr.size = QUEUE + 1;
    assert_int_equal(fi_srx_context(pair->domain, &attr, &other, NULL), -FI_EINVAL);
    pair_close(pair);
}

/* 64 receives that nobody has read, and one send. */
static void unread_receives_and_sends_overrun_one_queue(void **state)
{
    struct pair *pair = pair_open_shared();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    struct fi_cq_tagged_entry entry;
    ssize_t err;
    int i;

    (void)state;
    pair_connect(pair);
    for (i = 0; i < QUEUE; i++) {
        pair_recv_shared(pair, to, 0, 8, &to->context[i]);
        pair_send(from, 0, 8, &from->context[0]);
        (void)pair_wait(pair, 0);
    }
    assert_int_equal(fi_cq_read(to->cq, &entry, 0), 0);
    pair_send(to, 0, 8, &to->context[QUEUE]);
    for (i = 0; i < 100000; i++) {
        err = fi_cq_read(to->cq, &entry, 0);
        if (err == -FI_EOVERRUN) {
            break;
        }
        assert_int_equal(err, 0);
    }
    assert_int_equal(err, -FI_EOVERRUN);
    pair_close(pair);
}

static void no_descriptor(struct pair *pair)
{
    fi_recv(pair->srx, pair->side[0].memory, 8, NULL, 0, &pair->side[0].context[0]);
}

static void without_right(struct pair *pair)
{
    struct side *side = &pair->side[0];
    struct fid_mr *mr;

    fi_mr_reg(pair->domain, side->memory, 16, FI_SEND, 0, 0, 0, &mr, NULL);
    fi_recv(pair->srx, side->memory, 8, fi_mr_desc(mr), 0, &side->context[0]);
}

static void context_of_another(struct pair *pair)
{
    pair_recv_shared(pair, &pair->side[0], 0, 8, &pair->side[0].context[0]);
    pair_recv_shared(pair, &pair->side[0], 8, 8, &pair->side[0].context[0]);
}

static void context_written_to(struct pair *pair)
{
    pair_recv_shared(pair, &pair->side[1], 0, 8, &pair->side[1].context[0]);
    pair->side[1].context[0].internal[0] = NULL;
    pair_send(&pair->side[0], 0, 8, &pair->side[0].context[0]);
    (void)pair_wait(pair, 1);
}

static void receive_at_the_endpoint(struct pair *pair)
{
    pair_recv(&pair->side[0], 0, 8, &pair->side[0].context[0]);
}

static void send_from_the_shared(struct pair *pair)
{
    struct side *side = &pair->side[0];

    fi_send(pair->srx, side->memory, 8, side->desc, 0, &side->context[0]);
}

static void registration_closed_in_use(struct pair *pair)
{
    pair_recv_shared(pair, &pair->side[0], 0, 8, &pair->side[0].context[0]);
    fi_close(&pair->side[0].ep->fid);
    fi_close(&pair->side[1].ep->fid);
    fi_close(&pair->side[0].mr->fid);
}

static void shared_receives_are_held_to_the_same_rules(void **state)
{
    (void)state;
    must_abort(no_descriptor, "fi_recv: buffer");
    must_abort(without_right, "registered for");
    must_abort(context_of_another, "is in use by a fi_recv in flight");
    must_abort(context_written_to, "written to while in flight");
    must_abort(receive_at_the_endpoint, "its receives are shared ones");
    must_abort(send_from_the_shared, "only receives");
    must_abort(registration_closed_in_use, "in use by 1 posted");
}

static void an_endpoint_says_that_it_shares_and_does(void **state)
{
    struct pair *pair = pair_open_shared();
    struct side *side = &pair->side[0];
    struct fid_ep *other;

    (void)state;
    pair->info->ep_attr->rx_ctx_cnt = 1;
    pair_must("fi_endpoint", fi_endpoint(pair->domain, pair->info, &other, NULL));
    assert_int_equal(fi_ep_bind(other, &pair->srx->fid, 0), -FI_EINVAL);
    pair_must("fi_close", fi_close(&other->fid));
    pair->info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    pair_must("fi_endpoint", fi_endpoint(pair->domain, pair->info, &other, NULL));
    pair_must("fi_ep_bind", fi_ep_bind(other, &pair->eq->fid, 0));
    pair_must("fi_ep_bind", fi_ep_bind(other, &side->cq->fid, FI_TRANSMIT | FI_RECV));
    assert_int_equal(fi_enable(other), -FI_ENORX);
    pair_must("fi_close", fi_close(&other->fid));
    assert_true(pair->info->domain_attr->max_ep_srx_ctx > 0);
    pair_close(pair);
}

/* What was posted outlives an endpoint, and ends with the shared context. */
static void shared_receives_end_with_their_context(void **state)
{
    struct pair *pair = pair_open_shared();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    int i;

    (void)state;
    pair_connect(pair);
    for (i = 0; i < 40; i++) {
        pair_recv_shared(pair, to, 0, 8, &to->context[i]);
    }
    for (i = 0; i < 20; i++) {
        pair_send(from, 0, 8, &from->context[i]);
    }
    assert_ptr_equal(pair_wait(pair, 1).op_context, &to->context[0]);
    assert_int_equal(fi_close(&pair->srx->fid), -FI_EBUSY);
    pair_must("fi_close", fi_close(&to->ep->fid));
    to->ep = NULL;
    assert_ptr_equal(pair_wait(pair, 1).op_context, &to->context[1]);
    pair_must("fi_close", fi_close(&from->ep->fid));
    from->ep = NULL;
    pair_must("fi_close", fi_close(&pair->srx->fid));
    pair->srx = NULL;
    assert_int_equal(fi_cq_read(to->cq, NULL, 0), -FI_EAGAIN);
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_to_both_endpoints_come_in_shared_receives),
        cmocka_unit_test(there_is_room_for_64_and_every_fourth_post_is_refused),
        cmocka_unit_test(unread_receives_and_sends_overrun_one_queue),
        cmocka_unit_test(shared_receives_are_held_to_the_same_rules),
        cmocka_unit_test(an_endpoint_says_that_it_shares_and_does),
        cmocka_unit_test(shared_receives_end_with_their_context),
    };

    return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
