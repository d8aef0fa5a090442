/*
 * test_faces.c - the habits of the strict provider's faces, which have no connections:
 * what a row of face.c does not promise does not happen, and what it demands is found
 * out.
 */
#include "pair.h"

#include <rdma/fi_atomic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PREFIX = 24, PACKETS = 12, PATTERN = 0x5a };

/* ---- packets ---- */

static void room_in_front_is_overwritten_and_counted(void **state)
{
    struct pair *pair = pair_open_face("efa", 0);
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];

    (void)state;
    assert_int_equal(pair->info->ep_attr->msg_prefix_size, PREFIX);
    strcpy(from->memory + PREFIX, "seven");
    pair_recv(to, 1000, 100, &to->context[0]);
    pair_send(from, 0, PREFIX + 6, &from->context[0]);
    assert_int_equal(from->memory[0], PATTERN);
    assert_int_equal(from->memory[PREFIX - 1], PATTERN);
    assert_int_equal(pair_wait(pair, 1).len, PREFIX + 6);
    assert_string_equal(to->memory + 1000 + PREFIX, "seven");
    pair_close(pair);
}

static void no_room_in_front(void)
{
    struct pair *pair = pair_open_face("efa", 0);

    pair_send(&pair->side[0], 0, PREFIX - 1, &pair->side[0].context[0]);
}

static void who_leaves_no_room_in_front_is_told(void **state)
{
    (void)state;
    assert_true(pair_child_aborts(no_room_in_front, "no room for 24 bytes in front"));
}

/* How many of PACKETS are handed out before one that was sent earlier. */
static int count_early(const char *face)
{
    struct pair *pair = pair_open_face(face, 0);
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    const size_t prefix = pair->info->ep_attr->msg_prefix_size;
    bool is_here[PACKETS] = {false};
    int early = 0;

    for (int i = 0; i < PACKETS; i++) {
        pair_recv(to, (size_t)i * 100, 64, &to->context[i]);
    }
    for (int i = 0; i < PACKETS; i++) {
        from->memory[(size_t)i * 100 + prefix] = (char)i;
        pair_send(from, (size_t)i * 100, prefix + 1, &from->context[i]);
    }
    for (int i = 0; i < PACKETS; i++) {
        struct fi_context2 *context = pair_wait(pair, 1).op_context;
        const size_t slot = (size_t)(context - to->context);
        const int number = to->memory[slot * 100 + prefix];

        assert_true(number >= 0 && number < PACKETS && !is_here[number]);
        is_here[number] = true;
        for (int before = 0; before < number; before++) {
            early += is_here[before] ? 0 : 1;
        }
    }
    pair_close(pair);
    return early;
}

static void packets_come_in_order_only_where_it_is_promised(void **state)
{
    (void)state;
    assert_true(count_early("efa") > 0);
    assert_true(count_early("poor") > 0);
    assert_int_equal(count_early("verbs"), 0);
    assert_int_equal(count_early("psm3"), 0);
}

static ssize_t inject(struct side *side, size_t length)
{
    ssize_t err;

    do {
        pair_move(side);
        err = fi_inject(side->ep, side->memory, length, side->peer);
    } while (err == -FI_EAGAIN);
    return err;
}

static void as_much_is_injected_as_a_face_says(void **state)
{
    struct pair *pair = pair_open_face("efa", 0);

    (void)state;
    pair_recv(&pair->side[1], 0, 200, &pair->side[1].context[0]);
    assert_int_equal(inject(&pair->side[0], PREFIX + 33), -FI_EINVAL);
    assert_int_equal(inject(&pair->side[0], PREFIX + 32), 0);
    assert_int_equal(pair_wait(pair, 1).len, PREFIX + 32);
    pair_close(pair);
    pair = pair_open_face("poor", 0);
    assert_int_equal(inject(&pair->side[0], 1), -FI_EINVAL);
    pair_close(pair);
}

static void longer_than_a_face_has(void)
{
    struct pair *pair = pair_open_face("poor", 0);

    pair_send(&pair->side[0], 0, 1025, &pair->side[0].context[0]);
}

static void who_sends_more_than_there_is_room_for_is_told(void **state)
{
    (void)state;
    assert_true(pair_child_aborts(longer_than_a_face_has, "1025 bytes, at most 1024"));
}

static void a_face_may_have_nothing_to_sleep_on(void **state)
{
    struct pair *pair = pair_open_face("psm3", 0);
    struct fi_cq_attr attr = {.wait_obj = FI_WAIT_FD};
    struct fid_cq *queue;
    int fd;

    (void)state;
    assert_int_equal(fi_cq_open(pair->domain, &attr, &queue, NULL), -FI_ENOSYS);
    assert_int_equal(fi_control(&pair->side[0].cq->fid, FI_GETWAIT, &fd), -FI_ENOSYS);
    pair_close(pair);
}

/* ---- memory ---- */

static void write_a_byte(struct pair *pair, uint64_t address)
{
    struct side *from = &pair->side[0];
    const uint64_t key = fi_mr_key(pair->side[1].mr);
    ssize_t err;

    from->memory[0] = 'x';
    do {
        pair_move(from);
        err = fi_write(from->ep, from->memory, 1, from->desc, from->peer, address, key,
                       &from->context[0]);
    } while (err == -FI_EAGAIN);
    assert_int_equal(err, 0);
}

static void a_write_may_be_complete_before_it_is_there(void **state)
{
    struct pair *pair = pair_open_face("psm3", 0);
    const volatile char *there = pair->side[1].memory;
    struct fi_cq_tagged_entry entry;

    (void)state;
    write_a_byte(pair, (uintptr_t)there);
    assert_int_equal(fi_cq_read(pair->side[0].cq, &entry, 1), 1);
    assert_ptr_equal(entry.op_context, &pair->side[0].context[0]);
    assert_int_equal(*there, 0);
    while (*there == 0) {
        (void)fi_cq_read(pair->side[0].cq, &entry, 1);
        (void)fi_cq_read(pair->side[1].cq, &entry, 1);
    }
    assert_int_equal(*there, 'x');
    pair_close(pair);
}

static void a_write_is_complete_when_it_is_there_where_that_is_promised(void **state)
{
    struct pair *pair = pair_open_face("efa", 0);
    struct fi_cq_tagged_entry entry;

    (void)state;
    write_a_byte(pair, (uintptr_t)pair->side[1].memory);
    assert_int_equal(fi_cq_read(pair->side[0].cq, &entry, 1), -FI_EAGAIN);
    (void)pair_wait(pair, 0);
    assert_int_equal(pair->side[1].memory[0], 'x');
    pair_close(pair);
}

static void memory_of_an_endpoint_has_its_key_when_it_is_enabled(void **state)
{
    struct pair *pair = pair_open_face("cxi", 0);
    struct side *side = &pair->side[1];
    struct fid_mr *mr;

    (void)state;
    assert_int_equal(
        fi_mr_reg(pair->domain, side->memory, 64, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL),
        0);
    assert_true(fi_mr_key(mr) == FI_KEY_NOTAVAIL);
    assert_int_equal(fi_mr_bind(mr, &side->ep->fid, 0), 0);
    assert_int_equal(fi_mr_enable(mr), 0);
    assert_true(fi_mr_key(mr) != FI_KEY_NOTAVAIL);
    assert_int_equal(fi_close(&mr->fid), 0);
    write_a_byte(pair, 3); /* peers name it by offsets */
    (void)pair_wait(pair, 0);
    assert_int_equal(side->memory[3], 'x');
    pair_close(pair);
}

static void unregistered(void)
{
    struct pair *pair = pair_open_face("psm3", 0);
    struct side *side = &pair->side[0];

    while (fi_send(side->ep, side->memory, 8, NULL, side->peer, &side->context[0]) ==
           -FI_EAGAIN) {
    }
}

static void own_buffers_are_registered_where_a_face_wants_it(void **state)
{
    struct pair *pair = pair_open_face("cxi", 0);

    (void)state;
    pair_recv(&pair->side[1], 0, 8, &pair->side[1].context[0]);
    pair->side[0].desc = NULL;
    pair_send(&pair->side[0], 0, 8, &pair->side[0].context[0]);
    assert_int_equal(pair_wait(pair, 1).len, 8);
    pair_close(pair);
    assert_true(pair_child_aborts(unregistered, "fi_send"));
}

static void a_face_has_all_atomics_or_two_or_none(void **state)
{
    struct pair *pair = pair_open_face("verbs", FI_ATOMIC);
    size_t count;
    struct fi_info *hints = pair_hints();
    struct fi_info *found = NULL;

    (void)state;
    assert_int_equal(fi_fetch_atomicvalid(pair->side[0].ep, FI_UINT64, FI_SUM, &count),
                     0);
    assert_int_not_equal(
        fi_fetch_atomicvalid(pair->side[0].ep, FI_UINT32, FI_SUM, &count), 0);
    assert_int_not_equal(
        fi_fetch_atomicvalid(pair->side[0].ep, FI_UINT64, FI_MAX, &count), 0);
    pair_close(pair);
    pair = pair_open_face("psm3", FI_ATOMIC);
    assert_int_equal(fi_fetch_atomicvalid(pair->side[0].ep, FI_UINT32, FI_SUM, &count),
                     0);
    pair_close(pair);
    pair = pair_open_face("efa", 0);
    hints->caps |= FI_ATOMIC;
    hints->mode |= FI_MSG_PREFIX;
    hints->ep_attr->type = FI_EP_RDM;
    assert_int_equal(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &found),
                     -FI_ENODATA);
    fi_freeinfo(hints);
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_in_front_is_overwritten_and_counted),
        cmocka_unit_test(who_leaves_no_room_in_front_is_told),
        cmocka_unit_test(packets_come_in_order_only_where_it_is_promised),
        cmocka_unit_test(as_much_is_injected_as_a_face_says),
        cmocka_unit_test(who_sends_more_than_there_is_room_for_is_told),
        cmocka_unit_test(a_face_may_have_nothing_to_sleep_on),
        cmocka_unit_test(a_write_may_be_complete_before_it_is_there),
        cmocka_unit_test(a_write_is_complete_when_it_is_there_where_that_is_promised),
        cmocka_unit_test(memory_of_an_endpoint_has_its_key_when_it_is_enabled),
        cmocka_unit_test(own_buffers_are_registered_where_a_face_wants_it),
        cmocka_unit_test(a_face_has_all_atomics_or_two_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
