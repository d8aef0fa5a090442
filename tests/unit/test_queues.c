/*
 * test_queues.c - what a debugger reads of memory that is damaged: lists that lead
 * nowhere, or in circles.
 *
 * The process that is read is this one, and its structs are laid out as this test likes:
 * the table says how.
 */
#include "gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RECEIVES = 4, NODES = 3 };

struct link {
    uint64_t next;
    uint64_t previous;
};

static struct {
    uint64_t zero; /* that no address is 0 */
    struct {
        uint64_t name, group, remote;
        uint32_t context;
        int32_t rank;
    } world;
    struct {
        uint64_t table, first, stride;
        int32_t size;
    } group;
    struct {
        uint64_t buckets;
        uint32_t bucket_count, node_count;
        struct link all;
        uint8_t is_open;
    } p2p;
    uint64_t buckets[1];
    struct {
        struct link head;
        uint64_t next;
    } nodes[NODES];
    struct {
        struct link link;
        uint64_t number, length, buffer;
        uint32_t context;
        int32_t source, tag;
    } receives[RECEIVES];
    char name[8];
    struct weft_queue_table table;
} m;

static uint64_t at(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static int fetch(mqs_process *process, mqs_taddr_t from, int bytes, void *to)
{
    (void)process;
    if (from < at(&m) || from > at(&m) + sizeof(m) - (uint64_t)bytes) {
        return mqs_first_user_code;
    }
    memcpy(to, (const void *)(uintptr_t)from, (size_t)bytes);
    return mqs_ok;
}

#define AT(member, field)                                                                \
    (uint32_t)(offsetof(__typeof__(m), field) - offsetof(__typeof__(m), member))

static void lay_out(void)
{
    m.table = (struct weft_queue_table){
        .magic = WEFT_QUEUE_MAGIC,
        .version = WEFT_QUEUE_VERSION,
        .bytes = sizeof(m.table),
        .world = &m.world,
        .self = NULL,
        .p2p = &m.p2p,
        .p2p_is_open = AT(p2p, p2p.is_open),
        .p2p_posted = 0,
        .p2p_waiting_all = AT(p2p, p2p.all),
        .classes = 1,
        .index_buckets = AT(p2p, p2p.buckets),
        .index_bucket_count = AT(p2p, p2p.bucket_count),
        .index_node_count = AT(p2p, p2p.node_count),
        .node_next = AT(nodes[0], nodes[0].next),
        .comm_bytes = sizeof(m.world),
        .comm_rank = AT(world, world.rank),
        .comm_context = AT(world, world.context),
        .comm_name = AT(world, world.name),
        .comm_group = AT(world, world.group),
        .comm_remote = AT(world, world.remote),
        .group_bytes = sizeof(m.group),
        .group_size = AT(group, group.size),
        .group_table = AT(group, group.table),
        .group_first = AT(group, group.first),
        .group_stride = AT(group, group.stride),
        .planes = 8,
        .request_bytes = sizeof(m.receives[0]),
        .request_length = AT(receives[0], receives[0].length),
        .request_buffer = AT(receives[0], receives[0].buffer),
        .posted_number = AT(receives[0], receives[0].number),
        .posted_context = AT(receives[0], receives[0].context),
        .posted_source = AT(receives[0], receives[0].source),
        .posted_tag = AT(receives[0], receives[0].tag),
        .any_source = -1,
        .any_tag = -2,
    };
}

static void append(struct link *head, struct link *link)
{
    struct link *last = (struct link *)(uintptr_t)head->previous;

    link->next = at(head);
    link->previous = head->previous;
    last->next = at(link);
    head->previous = at(link);
}

/* Three keys in one bucket; all receives are in the list of the first, the youngest in
 * front. */
static int set_up(void **state)
{
    (void)state;
    memset(&m, 0, sizeof(m));
    lay_out();
    strcpy(m.name, "world");
    m.world.name = at(m.name);
    m.world.group = at(&m.group);
    m.group.size = 2;
    m.group.stride = 1;
    m.p2p.is_open = 1;
    m.p2p.all.next = m.p2p.all.previous = at(&m.p2p.all);
    m.p2p.buckets = at(m.buckets);
    m.p2p.bucket_count = 1;
    m.p2p.node_count = NODES;
    m.buckets[0] = at(&m.nodes[0]);
    for (int i = 0; i < NODES; i++) {
        m.nodes[i].head.next = m.nodes[i].head.previous = at(&m.nodes[i].head);
        m.nodes[i].next = i + 1 < NODES ? at(&m.nodes[i + 1]) : 0;
    }
    for (int i = 0; i < RECEIVES; i++) {
        m.receives[i].number = (uint64_t)(RECEIVES - i);
        m.receives[i].source = -1;
        m.receives[i].tag = i;
        append(&m.nodes[0].head, &m.receives[i].link);
    }
    return 0;
}

static struct queues gather(void)
{
    struct target target = {.process = NULL, .fetch = fetch};
    struct queues queues;

    assert_true(target_open(&target, at(&m.table)));
    assert_true(target_is_open(&target));
    queues_gather(&target, &queues);
    assert_int_equal(queues.comm_count, 1);
    assert_string_equal(queues.comms[0].name, "world");
    return queues;
}

static void receives_come_in_the_order_in_which_they_were_posted(void **state)
{
    struct queues queues = gather();

    (void)state;
    assert_int_equal(queues.operation_count, RECEIVES);
    for (int i = 0; i < RECEIVES; i++) {
        assert_int_equal(queues.operations[i].tag, RECEIVES - 1 - i);
        assert_int_equal(queues.operations[i].peer, -1);
    }
    queues_free(&queues);
}

static void a_list_that_leads_back_into_itself_ends(void **state)
{
    struct queues queues;

    (void)state;
    m.receives[2].link.next = at(&m.receives[1].link);
    queues = gather();
    assert_int_equal(queues.operation_count, 3);
    queues_free(&queues);
}

static void a_list_that_leads_out_of_memory_ends(void **state)
{
    struct queues queues;

    (void)state;
    m.receives[0].link.next = UINT64_MAX - 7;
    queues = gather();
    assert_int_equal(queues.operation_count, 1);
    queues_free(&queues);
}

static void keys_in_a_circle_end(void **state)
{
    struct queues queues;

    (void)state;
    m.nodes[2].next = at(&m.nodes[0]);
    m.p2p.node_count = UINT32_MAX;
    queues = gather();
    assert_in_range(queues.operation_count, RECEIVES, 3 * RECEIVES);
    queues_free(&queues);
}

static void a_table_that_cannot_be_right_is_refused(void **state)
{
    struct target target = {.process = NULL, .fetch = fetch};

    (void)state;
    m.table.comm_name = 1u << 20;
    assert_false(target_open(&target, at(&m.table)));
    m.table.comm_name = 0;
    m.table.version++;
    assert_false(target_open(&target, at(&m.table)));
    assert_false(target_open(&target, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(receives_come_in_the_order_in_which_they_were_posted,
                               set_up),
        cmocka_unit_test_setup(a_list_that_leads_back_into_itself_ends, set_up),
        cmocka_unit_test_setup(a_list_that_leads_out_of_memory_ends, set_up),
        cmocka_unit_test_setup(keys_in_a_circle_end, set_up),
        cmocka_unit_test_setup(a_table_that_cannot_be_right_is_refused, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
