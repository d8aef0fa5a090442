/*
 * test_strict.c - the strict provider lets correct use pass and finds out every other.
 *
 * Violations end the process, so they are tried in a child whose stderr is read.
 */
#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { QUEUE = 64, REGISTRATIONS = 1024, PRIVATE_DATA = 56 };

static void all_bytes_set(void *context, int value)
{
    memset(context, value, sizeof(struct fi_context2));
}

static void must_abort(void (*broken)(struct pair *pair), const char *cause)
{
    assert_true(pair_aborts(pair_open, broken, cause));
}

static void a_message_arrives_and_its_contexts_are_overwritten(void **state)
{
    struct pair *pair = pair_open();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    struct fi_context2 before;
    struct fi_context2 posted;
    struct fi_cq_tagged_entry done;

    (void)state;
    pair_connect(pair);
    strcpy(from->memory, "seven");
    all_bytes_set(&before, 7);
    all_bytes_set(&to->context[0], 7);
    all_bytes_set(&from->context[0], 7);
    pair_recv(to, 0, 64, &to->context[0]);
    posted = to->context[0];
    assert_memory_not_equal(&posted, &before, sizeof(before));
    pair_send(from, 0, 6, &from->context[0]);
    done = pair_wait(pair, 1);
    assert_ptr_equal(done.op_context, &to->context[0]);
    assert_int_equal(done.len, 6);
    assert_true((done.flags & FI_RECV) != 0);
    assert_string_equal(to->memory, "seven");
    assert_memory_not_equal(&to->context[0], &posted, sizeof(posted));
    done = pair_wait(pair, 0);
    assert_ptr_equal(done.op_context, &from->context[0]);
    pair_close(pair);
}

static void data_of_four_bytes_comes_with_a_message(void **state)
{
    struct pair *pair = pair_open();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    struct fi_cq_tagged_entry done;
    ssize_t err;

    (void)state;
    pair_connect(pair);
    pair_recv(to, 0, 64, &to->context[0]);
    do {
        err = fi_senddata(from->ep, NULL, 0, NULL, 0xfedcba98, 0, &from->context[0]);
    } while (err == -FI_EAGAIN);
    assert_int_equal(err, 0);
    done = pair_wait(pair, 1);
    assert_true((done.flags & FI_REMOTE_CQ_DATA) != 0);
    assert_int_equal(done.data, 0xfedcba98);
    pair_close(pair);
}

static ssize_t write_across(struct pair *pair, uint64_t address, uint64_t key)
{
    struct side *from = &pair->side[0];
    ssize_t err;

    do {
        err = fi_write(from->ep, from->memory, 1000, from->desc, 0, address, key,
                       &from->context[0]);
    } while (err == -FI_EAGAIN);
    return err;
}

static ssize_t read_across(struct pair *pair, uint64_t address, uint64_t key)
{
    struct side *from = &pair->side[0];
    ssize_t err;

    do {
        err = fi_read(from->ep, from->memory + 2000, 1000, from->desc, 0, address, key,
                      &from->context[1]);
    } while (err == -FI_EAGAIN);
    return err;
}

static void memory_is_written_and_read_by_key_and_virtual_address(void **state)
{
    struct pair *pair = pair_open();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    const uint64_t address = (uintptr_t)(to->memory + 5000);

    (void)state;
    pair_connect(pair);
    memset(from->memory, 3, 1000);
    assert_int_equal(write_across(pair, address, fi_mr_key(to->mr)), 0);
    assert_true((pair_wait(pair, 0).flags & FI_WRITE) != 0);
    assert_int_equal(read_across(pair, address, fi_mr_key(to->mr)), 0);
    assert_true((pair_wait(pair, 0).flags & FI_READ) != 0);
    assert_memory_equal(from->memory, to->memory + 5000, 1000);
    assert_memory_equal(from->memory, from->memory + 2000, 1000);
    assert_true(fi_mr_key(to->mr) != fi_mr_key(from->mr));
    pair_close(pair);
}

/* Reads 1000 bytes, `shift` behind a registration of as many; the connection must end. */
static void read_must_be_refused(uint64_t access, uint64_t shift, uint64_t key_change)
{
    struct pair *pair = pair_open();
    struct side *to = &pair->side[1];
    struct fid_mr *mr;

    pair_connect(pair);
    pair_must("fi_mr_reg",
              fi_mr_reg(pair->domain, to->memory, 1000, access, 0, 0, 0, &mr, NULL));
    assert_int_equal(
        read_across(pair, (uintptr_t)to->memory + shift, fi_mr_key(mr) ^ key_change), 0);
    assert_true(pair_wait_error(pair, 0).err != 0);
    pair_must("fi_close", fi_close(&mr->fid));
    pair_close(pair);
}

static void remote_memory_is_read_by_key_range_and_right_only(void **state)
{
    (void)state;
    read_must_be_refused(FI_REMOTE_WRITE, 0, 0);
    read_must_be_refused(FI_REMOTE_READ, 1, 0);
    read_must_be_refused(FI_REMOTE_READ, 0, 1);
}

/* A write is done when it is sent; that it was refused shows in what waits behind it. */
static void remote_memory_is_written_with_the_right_only(void **state)
{
    struct pair *pair = pair_open();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    struct fid_mr *mr;

    (void)state;
    pair_connect(pair);
    pair_must("fi_mr_reg", fi_mr_reg(pair->domain, to->memory, 1000, FI_REMOTE_READ, 0, 0,
                                     0, &mr, NULL));
    memset(from->memory, 3, 1000);
    pair_recv(from, 2000, 8, &from->context[1]);
    assert_int_equal(write_across(pair, (uintptr_t)to->memory, fi_mr_key(mr)), 0);
    assert_true((pair_wait(pair, 0).flags & FI_WRITE) != 0);
    assert_ptr_equal(pair_wait_error(pair, 0).op_context, &from->context[1]);
    assert_int_equal(to->memory[0], 0);
    pair_must("fi_close", fi_close(&mr->fid));
    pair_close(pair);
}

enum { MESSAGES = 2000, WINDOW = 16, LONGEST = PAIR_MEMORY / WINDOW };

static size_t length_of(int message)
{
    return (size_t)message * 7919 % LONGEST + 1;
}

static void post_next_receive(struct side *to, int message)
{
    const size_t slot = (size_t)message % WINDOW;

    pair_recv(to, slot * LONGEST, LONGEST, &to->context[slot]);
}

static void much_traffic_within_the_limits_passes(void **state)
{
    struct pair *pair = pair_open();
    struct side *from = &pair->side[0];
    struct side *to = &pair->side[1];
    int i;

    (void)state;
    pair_connect(pair);
    for (i = 0; i < WINDOW; i++) {
        post_next_receive(to, i);
    }
    for (i = 0; i < MESSAGES; i++) {
        const size_t slot = (size_t)i % WINDOW;
        const size_t length = length_of(i);

        memset(from->memory, i, length);
        pair_send(from, 0, length, &from->context[slot]);
        assert_ptr_equal(pair_wait(pair, 0).op_context, &from->context[slot]);
        if (i >= WINDOW / 2) { /* that many stay behind */
            const int oldest = i - WINDOW / 2;
            const size_t place = (size_t)oldest % WINDOW;
            const struct fi_cq_tagged_entry done = pair_wait(pair, 1);

            assert_ptr_equal(done.op_context, &to->context[place]);
            assert_int_equal(done.len, length_of(oldest));
            assert_int_equal(to->memory[place * LONGEST + done.len - 1], (char)oldest);
            post_next_receive(to, oldest);
        }
    }
    pair_close(pair);
}

static void what_is_not_offered_is_refused(void **state)
{
    struct pair *pair = pair_open();
    struct side *side = &pair->side[0];
    const struct iovec iov = {.iov_base = side->memory, .iov_len = 8};
    const struct fi_msg msg = {
        .msg_iov = &iov,
        .desc = &side->desc,
        .iov_count = 1,
        .context = &side->context[0],
    };
    struct fid_ep *other;

    (void)state;
    pair_connect(pair);
    assert_int_equal(fi_sendmsg(side->ep, &msg, FI_DELIVERY_COMPLETE), -FI_EBADFLAGS);
    assert_int_equal(fi_sendmsg(side->ep, &msg, FI_INJECT), -FI_EBADFLAGS);
    assert_int_equal(fi_recvmsg(side->ep, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
    assert_int_equal(fi_cancel(&side->ep->fid, &side->context[0]), -FI_ENOSYS);
    pair_must("fi_endpoint", fi_endpoint(pair->domain, pair->info, &other, NULL));
    assert_int_equal(
        fi_ep_bind(other, &side->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION),
        -FI_EBADFLAGS);
    pair_must("fi_close", fi_close(&other->fid));
    pair_close(pair);
}

static void a_receive_too_small_closes_the_connection(void **state)
{
    struct pair *pair = pair_open();
    struct fi_eq_cm_entry entry;

    (void)state;
    pair_connect(pair);
    pair_recv(&pair->side[1], 0, 10, &pair->side[1].context[0]);
    pair_recv(&pair->side[1], 10, 10, &pair->side[1].context[1]);
    pair_send(&pair->side[0], 0, 20, &pair->side[0].context[0]);
    (void)pair_wait(pair, 0);
    assert_true(pair_wait_error(pair, 1).err != 0);
    assert_ptr_equal(pair_wait_error(pair, 1).op_context, &pair->side[1].context[1]);
    pair_event(pair, FI_SHUTDOWN, &entry);
    assert_ptr_equal(entry.fid->context, &pair->side[1]);
    pair_close(pair);
}

static void a_sleeper_is_woken_by_an_arrival(void **state)
{
    struct pair *pair = pair_open();
    struct fid *fid = &pair->side[1].cq->fid;
    struct pollfd wait = {.events = POLLIN};

    (void)state;
    pair_connect(pair);
    pair_recv(&pair->side[1], 0, 10, &pair->side[1].context[0]);
    pair_must("FI_GETWAIT", fi_control(fid, FI_GETWAIT, &wait.fd));
    while (fi_trywait(pair->fabric, &fid, 1) != 0) {
        assert_int_equal(fi_cq_read(pair->side[1].cq, NULL, 0), -FI_EAGAIN);
    }
    assert_int_equal(poll(&wait, 1, 0), 0);
    pair_send(&pair->side[0], 0, 10, &pair->side[0].context[0]);
    assert_int_equal(poll(&wait, 1, 60000), 1);
    assert_int_equal(fi_cq_read(pair->side[1].cq, NULL, 0), 0);
    assert_int_equal(fi_trywait(pair->fabric, &fid, 1), -FI_EAGAIN);
    (void)pair_wait(pair, 1);
    pair_close(pair);
}

static void every_fourth_post_is_refused(void **state)
{
    struct pair *pair = pair_open();
    struct side *side = &pair->side[0];
    int refused = 0;
    int i;

    (void)state;
    for (i = 0; i < 40; i++) {
        const ssize_t err =
            fi_recv(side->ep, side->memory, 8, side->desc, 0, &side->context[i]);

        assert_true(err == 0 || err == -FI_EAGAIN);
        refused += err == -FI_EAGAIN;
    }
    assert_int_equal(refused, 10);
    pair_close(pair);
}

static void a_queue_has_room_for_64(void **state)
{
    struct pair *pair = pair_open();
    struct side *side = &pair->side[0];
    int i;

    (void)state;
    for (i = 0; i < QUEUE; i++) {
        pair_recv(side, 0, 8, &side->context[i]);
    }
    for (i = 0; i < 8; i++) {
        assert_int_equal(
            fi_recv(side->ep, side->memory, 8, side->desc, 0, &side->context[QUEUE]),
            -FI_EAGAIN);
    }
    pair_close(pair);
}

static void unread_completions_overrun_their_queue(void **state)
{
    struct pair *pair = pair_open();
    struct side *both = &pair->side[1];
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t count = 0;
    int i;

    (void)state;
    pair_connect(pair);
    for (i = 0; i < 40; i++) {
        pair_recv(&pair->side[0], 0, 8, &pair->side[0].context[i]);
        pair_recv(both, 0, 8, &both->context[i]);
        pair_send(both, 0, 8, &both->context[QUEUE + i]);
        pair_send(&pair->side[0], 0, 8, &pair->side[0].context[QUEUE + i]);
    }
    for (i = 0; i < 1000000 && count != -FI_EOVERRUN; i++) {
        count = fi_cq_read(both->cq, NULL, 0);
    }
    assert_int_equal(count, -FI_EOVERRUN);
    assert_int_equal(fi_cq_read(both->cq, &entry, 1), -FI_EOVERRUN);
    assert_int_equal(fi_cq_readerr(both->cq, &error, 0), 1);
    assert_int_equal(error.err, FI_EOVERRUN);
    pair_close(pair);
}

static void memory_is_registered_1024_times_and_only_where_it_is(void **state)
{
    struct pair *pair = pair_open();
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct fid_mr *mr[REGISTRATIONS - 2]; /* each side has one */
    struct fid_mr *more;
    char *hole;
    int i;

    (void)state;
    for (i = 0; i < REGISTRATIONS - 2; i++) {
        pair_must("fi_mr_reg", fi_mr_reg(pair->domain, pair->side[0].memory, 8, FI_SEND,
                                         0, 0, 0, &mr[i], NULL));
    }
    assert_int_equal(
        fi_mr_reg(pair->domain, pair->side[0].memory, 8, FI_SEND, 0, 0, 0, &more, NULL),
        -FI_ENOMEM);
    for (i = 0; i < REGISTRATIONS - 2; i++) {
        pair_must("fi_close", fi_close(&mr[i]->fid));
    }
    hole = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(hole != MAP_FAILED);
    munmap(hole + page, page);
    assert_int_equal(
        fi_mr_reg(pair->domain, hole, page + 1, FI_SEND, 0, 0, 0, &more, NULL),
        -FI_EFAULT);
    pair_must("fi_mr_reg",
              fi_mr_reg(pair->domain, hole, page, FI_SEND, 0, 0, 0, &more, NULL));
    pair_must("fi_close", fi_close(&more->fid));
    munmap(hole, page);
    pair_close(pair);
}

static void nothing_is_injected(void **state)
{
    struct pair *pair = pair_open();

    (void)state;
    pair_connect(pair);
    assert_int_equal(pair->info->tx_attr->inject_size, 0);
    assert_int_equal(fi_inject(pair->side[0].ep, "a", 1, 0), -FI_EINVAL);
    assert_int_equal(fi_inject_write(pair->side[0].ep, "a", 1, 0, 0, 0), -FI_EINVAL);
    pair_close(pair);
}

static void private_data_has_at_most_56_bytes(void **state)
{
    struct pair *pair = pair_open();
    const char data[PRIVATE_DATA + 1] = "private";
    char address[128];
    char buffer[sizeof(struct fi_eq_cm_entry) + sizeof(data)];
    struct fi_eq_cm_entry *entry = (struct fi_eq_cm_entry *)buffer;
    size_t most = 0;
    size_t length = sizeof(most);
    uint32_t event = 0;
    ssize_t got;

    (void)state;
    assert_int_equal(fi_getopt(&pair->side[0].ep->fid, FI_OPT_ENDPOINT,
                               FI_OPT_CM_DATA_SIZE, &most, &length),
                     0);
    assert_int_equal(most, PRIVATE_DATA);
    length = sizeof(address);
    pair_must("fi_getname", fi_getname(&pair->pep->fid, address, &length));
    assert_int_equal(fi_connect(pair->side[0].ep, address, data, PRIVATE_DATA + 1),
                     -FI_EINVAL);
    assert_int_equal(fi_connect(pair->side[0].ep, address, data, PRIVATE_DATA), 0);
    do {
        got = fi_eq_read(pair->eq, &event, entry, sizeof(buffer), 0);
    } while (got == -FI_EAGAIN);
    assert_int_equal(event, FI_CONNREQ);
    assert_memory_equal(entry->data, data, PRIVATE_DATA);
    assert_string_equal(entry->info->fabric_attr->prov_name, "strict");
    assert_int_equal(fi_reject(pair->pep, entry->info->handle, data, PRIVATE_DATA + 1),
                     -FI_EINVAL);
    assert_int_equal(fi_reject(pair->pep, entry->info->handle, data, PRIVATE_DATA), 0);
    fi_freeinfo(entry->info);
    pair_close(pair);
}

static void a_rejected_connect_names_its_endpoint(void **state)
{
    struct pair *pair = pair_open();
    struct fi_eq_cm_entry entry;
    struct fi_eq_err_entry error = {0};
    char address[128];
    size_t length = sizeof(address);
    uint32_t event;
    ssize_t got;

    (void)state;
    pair_must("fi_getname", fi_getname(&pair->pep->fid, address, &length));
    pair_must("fi_connect", fi_connect(pair->side[0].ep, address, NULL, 0));
    pair_event(pair, FI_CONNREQ, &entry);
    assert_ptr_equal(entry.fid, &pair->pep->fid);
    pair_must("fi_reject", fi_reject(pair->pep, entry.info->handle, "no", 2));
    fi_freeinfo(entry.info);
    do {
        got = fi_eq_read(pair->eq, &event, &entry, sizeof(entry), 0);
    } while (got == -FI_EAGAIN);
    assert_int_equal(got, -FI_EAVAIL);
    assert_true(fi_eq_readerr(pair->eq, &error, 0) > 0);
    assert_int_equal(error.err, FI_ECONNREFUSED);
    assert_ptr_equal(error.fid, &pair->side[0].ep->fid);
    assert_ptr_equal(error.context, &pair->side[0]);
    pair_close(pair);
}

static int ask(const struct fi_info *hints)
{
    struct fi_info *info = NULL;
    const int err =
        fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info);

    fi_freeinfo(info);
    return err;
}

static void hints_must_grant_every_demand(void **state)
{
    static const int bits[] = {FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED,
                               FI_MR_PROV_KEY};
    struct fi_info *hints = pair_hints();
    size_t i;

    (void)state;
    assert_int_equal(ask(hints), 0);
    for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        hints->domain_attr->mr_mode ^= bits[i];
        assert_int_equal(ask(hints), -FI_ENODATA);
        hints->domain_attr->mr_mode ^= bits[i];
    }
    hints->mode = FI_RX_CQ_DATA;
    assert_int_equal(ask(hints), -FI_ENODATA);
    hints->mode = FI_CONTEXT2;
    assert_int_equal(ask(hints), -FI_ENODATA);
    hints->mode = ~0ULL;
    assert_int_equal(ask(hints), 0);
    hints->tx_attr->inject_size = 1;
    assert_int_equal(ask(hints), -FI_ENODATA);
    hints->tx_attr->inject_size = 0;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    assert_int_equal(ask(hints), -FI_ENODATA);
    hints->tx_attr->op_flags = 0;
    hints->caps |= FI_TAGGED;
    assert_int_equal(ask(hints), -FI_ENODATA);
    fi_freeinfo(hints);
}

static void the_information_says_what_is_demanded(void **state)
{
    struct pair *pair = pair_open();
    const struct fi_info *info = pair->info;

    (void)state;
    assert_string_equal(info->fabric_attr->prov_name, "strict");
    assert_int_equal(info->domain_attr->mr_mode,
                     FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
    assert_true((info->mode & FI_CONTEXT2) != 0);
    assert_int_equal(info->tx_attr->size, QUEUE);
    assert_int_equal(info->rx_attr->size, QUEUE);
    assert_int_equal(info->domain_attr->mr_cnt, REGISTRATIONS);
    pair_close(pair);
}

static void no_descriptor(struct pair *pair)
{
    fi_send(pair->side[0].ep, pair->side[0].memory, 8, NULL, 0,
            &pair->side[0].context[0]);
}

static void foreign_descriptor(struct pair *pair)
{
    fi_recv(pair->side[0].ep, pair->side[0].memory, 8, pair, 0,
            &pair->side[0].context[0]);
}

static void closed_descriptor(struct pair *pair)
{
    struct side *side = &pair->side[0];
    struct fid_mr *mr;
    void *desc;

    fi_mr_reg(pair->domain, side->memory, 8, FI_SEND, 0, 0, 0, &mr, NULL);
    desc = fi_mr_desc(mr);
    fi_close(&mr->fid);
    fi_mr_reg(pair->domain, side->memory, 8, FI_SEND, 0, 0, 0, &mr, NULL);
    fi_send(side->ep, side->memory, 8, desc, 0, &side->context[0]);
}

static void descriptor_of_another_domain(struct pair *pair)
{
    struct side *side = &pair->side[0];
    struct fid_domain *other;
    struct fid_mr *mr;

    fi_domain(pair->fabric, pair->info, &other, NULL);
    fi_mr_reg(other, side->memory, 8, FI_SEND, 0, 0, 0, &mr, NULL);
    fi_send(side->ep, side->memory, 8, fi_mr_desc(mr), 0, &side->context[0]);
}

/* Posts with a registration of the first 16 bytes and one right. */
static void post_with(struct pair *pair, uint64_t access, uint64_t use, size_t offset)
{
    struct side *side = &pair->side[0];
    const uint64_t there = (uintptr_t)pair->side[1].memory;
    const uint64_t key = fi_mr_key(pair->side[1].mr);
    char *buffer = side->memory + offset;
    void *context = &side->context[0];
    struct fid_mr *mr;
    void *desc;

    fi_mr_reg(pair->domain, side->memory, 16, access, 0, 0, 0, &mr, NULL);
    desc = fi_mr_desc(mr);
    switch (use) {
    case FI_SEND:
        fi_send(side->ep, buffer, 8, desc, 0, context);
        break;
    case FI_RECV:
        fi_recv(side->ep, buffer, 8, desc, 0, context);
        break;
    case FI_READ:
        fi_read(side->ep, buffer, 8, desc, 0, there, key, context);
        break;
    default:
        fi_write(side->ep, buffer, 8, desc, 0, there, key, context);
    }
}

static void too_long_for_its_registration(struct pair *pair)
{
    post_with(pair, FI_SEND, FI_SEND, 9);
}

static void before_its_registration(struct pair *pair)
{
    struct side *side = &pair->side[0];
    struct fid_mr *mr;

    fi_mr_reg(pair->domain, side->memory + 8, 8, FI_SEND, 0, 0, 0, &mr, NULL);
    fi_send(side->ep, side->memory, 8, fi_mr_desc(mr), 0, &side->context[0]);
}

static void send_without_right(struct pair *pair)
{
    post_with(pair, FI_RECV | FI_READ | FI_WRITE, FI_SEND, 0);
}

static void receive_without_right(struct pair *pair)
{
    post_with(pair, FI_SEND | FI_READ | FI_WRITE, FI_RECV, 0);
}

static void read_without_right(struct pair *pair)
{
    post_with(pair, FI_SEND | FI_RECV | FI_WRITE, FI_READ, 0);
}

static void write_without_right(struct pair *pair)
{
    post_with(pair, FI_SEND | FI_RECV | FI_READ, FI_WRITE, 0);
}

static void buffers_need_a_live_registration_that_covers_and_permits(void **state)
{
    (void)state;
    must_abort(no_descriptor, "fi_send: buffer");
    must_abort(no_descriptor, "has no descriptor");
    must_abort(foreign_descriptor, "of no live registration");
    must_abort(closed_descriptor, "of no live registration");
    must_abort(descriptor_of_another_domain, "another domain");
    must_abort(too_long_for_its_registration, "leaves its registration");
    must_abort(before_its_registration, "leaves its registration");
    must_abort(send_without_right, "fi_send: buffer");
    must_abort(send_without_right, "registered for");
    must_abort(receive_without_right, "registered for");
    must_abort(read_without_right, "registered for");
    must_abort(write_without_right, "registered for");
}

static void registration_closed_in_use(struct pair *pair)
{
    pair_recv(&pair->side[0], 0, 8, &pair->side[0].context[0]);
    fi_close(&pair->side[0].mr->fid);
}

static void a_registration_in_use_stays_open(void **state)
{
    (void)state;
    must_abort(registration_closed_in_use, "in use by 1 posted");
}

static void no_context(struct pair *pair)
{
    pair_recv(&pair->side[0], 0, 8, NULL);
}

static void context_of_another(struct pair *pair)
{
    pair_recv(&pair->side[0], 0, 8, &pair->side[0].context[0]);
    pair_recv(&pair->side[1], 0, 8, &pair->side[0].context[0]);
}

static void context_overlapping(struct pair *pair)
{
    pair_recv(&pair->side[0], 0, 8, &pair->side[0].context[0]);
    pair_recv(&pair->side[0], 8, 8, &pair->side[0].context[0].internal[7]);
}

static void context_written_to(struct pair *pair)
{
    pair_recv(&pair->side[1], 0, 8, &pair->side[1].context[0]);
    pair->side[1].context[0].internal[7] = NULL;
    pair_send(&pair->side[0], 0, 8, &pair->side[0].context[0]);
    (void)pair_wait(pair, 1);
}

static void every_operation_has_a_context_of_its_own(void **state)
{
    (void)state;
    must_abort(no_context, "is no struct fi_context2");
    must_abort(context_of_another, "is in use by a fi_recv in flight");
    must_abort(context_overlapping, "is in use by a fi_recv in flight");
    must_abort(context_written_to, "written to while in flight");
}

static void unconnected_send(struct pair *pair)
{
    struct side *side = &pair->side[0];

    fi_close(&side->ep->fid);
    pair_must("fi_endpoint", fi_endpoint(pair->domain, pair->info, &side->ep, NULL));
    pair_must("fi_ep_bind", fi_ep_bind(side->ep, &pair->eq->fid, 0));
    pair_must("fi_ep_bind", fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
    pair_must("fi_enable", fi_enable(side->ep));
    pair_send(side, 0, 8, &side->context[0]);
}

static void disabled_receive(struct pair *pair)
{
    struct side *side = &pair->side[0];

    fi_close(&side->ep->fid);
    pair_must("fi_endpoint", fi_endpoint(pair->domain, pair->info, &side->ep, NULL));
    pair_recv(side, 0, 8, &side->context[0]);
}

static void endpoints_are_enabled_and_connected_first(void **state)
{
    (void)state;
    must_abort(unconnected_send, "no FI_CONNECTED was read");
    must_abort(disabled_receive, "is not enabled");
}

static void a_closed_endpoint_leaves_nothing_behind(void **state)
{
    struct pair *pair = pair_open();
    struct side *side = &pair->side[1];
    int i;

    (void)state;
    pair_connect(pair);
    for (i = 0; i < 40; i++) {
        pair_recv(side, 0, 8, &side->context[i]);
        pair_send(&pair->side[0], 0, 8, &pair->side[0].context[i]);
    }
    assert_ptr_equal(pair_wait(pair, 1).op_context, &side->context[0]);
    pair_must("fi_close", fi_close(&side->ep->fid));
    side->ep = NULL;
    assert_int_equal(fi_cq_read(side->cq, NULL, 0), -FI_EAGAIN);
    pair_must("fi_close", fi_close(&side->mr->fid));
    pair_must("fi_mr_reg", fi_mr_reg(pair->domain, side->memory, 8, FI_SEND, 0, 0, 0,
                                     &side->mr, NULL));
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_arrives_and_its_contexts_are_overwritten),
        cmocka_unit_test(data_of_four_bytes_comes_with_a_message),
        cmocka_unit_test(memory_is_written_and_read_by_key_and_virtual_address),
        cmocka_unit_test(remote_memory_is_read_by_key_range_and_right_only),
        cmocka_unit_test(remote_memory_is_written_with_the_right_only),
        cmocka_unit_test(much_traffic_within_the_limits_passes),
        cmocka_unit_test(what_is_not_offered_is_refused),
        cmocka_unit_test(a_receive_too_small_closes_the_connection),
        cmocka_unit_test(a_sleeper_is_woken_by_an_arrival),
        cmocka_unit_test(every_fourth_post_is_refused),
        cmocka_unit_test(a_queue_has_room_for_64),
        cmocka_unit_test(unread_completions_overrun_their_queue),
        cmocka_unit_test(memory_is_registered_1024_times_and_only_where_it_is),
        cmocka_unit_test(nothing_is_injected),
        cmocka_unit_test(private_data_has_at_most_56_bytes),
        cmocka_unit_test(a_rejected_connect_names_its_endpoint),
        cmocka_unit_test(hints_must_grant_every_demand),
        cmocka_unit_test(the_information_says_what_is_demanded),
        cmocka_unit_test(buffers_need_a_live_registration_that_covers_and_permits),
        cmocka_unit_test(a_registration_in_use_stays_open),
        cmocka_unit_test(every_operation_has_a_context_of_its_own),
        cmocka_unit_test(endpoints_are_enabled_and_connected_first),
        cmocka_unit_test(a_closed_endpoint_leaves_nothing_behind),
    };

    return cmocka_run_group_tests_name("strict", tests, NULL, NULL);
}
