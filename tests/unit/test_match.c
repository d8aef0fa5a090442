/*
 * test_match.c - which receive takes which message.
 *
 * First the rules of the Portals model (portals_model.h) one by one, with the protocols
 * that the paper builds from them; then the matcher by itself; then both side by side
 * through random steps, after each of which they must agree; and at last that the
 * matcher's cost does not grow with depth.
 *
 * WEFT_TEST_STEPS sets the steps of each random run, WEFT_TEST_SHOW prints costs.
 */
#include "unit.h"

#include "match/match.h"
#include "portals_model.h"
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- memory that fails: linked with --wrap=malloc and --wrap=calloc ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

/* Negative: no end. Volatile, as the compiler believes that malloc() cannot look at it.
 */
static volatile long allocations_left = -1;

static bool may_allocate(void)
{
    if (allocations_left == 0) {
        return false;
    }
    if (allocations_left > 0) {
        allocations_left--;
    }
    return true;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

/* ---- random numbers ---- */

static uint64_t random_next(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return *random * UINT64_C(0x2545f4914f6cdd1d);
}

static uint32_t random_below(uint64_t *random, uint32_t limit)
{
    return (uint32_t)(((random_next(random) >> 32) * limit) >> 32);
}

static void shuffle(uint64_t *random, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = random_below(random, i);
        uint32_t kept = order[i - 1];

        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* ==== the model: section 2 ==== */

enum { RING = 16, RECEIVE_PORTAL = 0, READ_PORTAL = 1, ACK_PORTAL = 2 };

/* A target and an initiator, each with its events. */
struct pair {
    struct portals here;
    struct portals there;
    struct portals_event ring_here[RING];
    struct portals_event ring_there[RING];
    struct portals_events events_here;
    struct portals_events events_there;
};

/* A match entry with its descriptor and memory. */
struct region {
    struct portals_entry entry;
    struct portals_descriptor descriptor;
    char bytes[32];
};

static void pair_init(struct pair *p)
{
    portals_init(&p->here, 1);
    portals_init(&p->there, 2);
    portals_events_init(&p->events_here, p->ring_here, RING);
    portals_events_init(&p->events_there, p->ring_there, RING);
}

static void region_init(struct region *r, size_t length, uint32_t threshold,
                        unsigned options, struct portals_events *events)
{
    memset(r, 0, sizeof(*r));
    r->descriptor.start = r->bytes;
    r->descriptor.length = length;
    r->descriptor.threshold = threshold;
    r->descriptor.options = options;
    r->descriptor.max_offset = PORTALS_NO_MARK;
    r->descriptor.events = events;
    r->entry.descriptor = &r->descriptor;
    r->entry.initiator = PORTALS_ANY_PROCESS;
}

/* A region of one's own to send from. */
static void outgoing_init(struct region *r, const char *text, uint32_t threshold,
                          struct portals_events *events)
{
    region_init(r, strlen(text), threshold, 0, events);
    memcpy(r->bytes, text, strlen(text));
}

static struct portals_address at(struct portals *target, uint32_t index, uint64_t bits)
{
    return (struct portals_address){.target = target, .index = index, .match_bits = bits};
}

/* Puts `text` from `there` to `here`, asking for no acknowledgement. */
static void put_text(struct pair *p, uint64_t bits, size_t offset, const char *text)
{
    struct portals_address to = at(&p->here, RECEIVE_PORTAL, bits);
    struct region out;

    to.offset = offset;
    outgoing_init(&out, text, 1, NULL);
    assert_true(portals_put(&p->there, &out.descriptor, false, &to, 0));
}

static struct portals_event next_event(struct portals_events *events)
{
    struct portals_event event = {.descriptor = NULL};

    assert_true(portals_event_take(events, &event));
    return event;
}

static void assert_event(struct portals_events *events, enum portals_event_type type,
                         size_t requested, size_t accepted)
{
    const struct portals_event event = next_event(events);

    assert_int_equal(event.type, type);
    assert_int_equal(event.requested_length, requested);
    assert_int_equal(event.accepted_length, accepted);
}

static void assert_no_event(const struct portals_events *events)
{
    assert_int_equal(events->count, 0);
}

static void model_entries_are_tried_in_the_order_of_their_list(void **state)
{
    struct pair p;
    struct region r[4];
    const int order[4] = {3, 0, 2, 1};

    (void)state;
    pair_init(&p);
    for (int i = 0; i < 4; i++) {
        region_init(&r[i], 8, 1, PORTALS_PUT, NULL);
    }
    portals_attach(&p.here, RECEIVE_PORTAL, &r[0].entry);
    portals_attach(&p.here, RECEIVE_PORTAL, &r[1].entry);
    portals_attach_after(&r[0].entry, &r[2].entry);
    portals_attach_before(&r[0].entry, &r[3].entry);
    for (int i = 0; i < 4; i++) {
        put_text(&p, 0, 0, "x");
        for (int j = 0; j < 4; j++) {
            assert_int_equal(r[order[j]].bytes[0], j <= i ? 'x' : 0);
        }
    }
    assert_int_equal(p.here.dropped, 0);
}

static void model_an_unlinked_entry_takes_nothing(void **state)
{
    struct pair p;
    struct region r[3];

    (void)state;
    for (int gone = 0; gone < 3; gone++) {
        pair_init(&p);
        for (int i = 0; i < 3; i++) {
            region_init(&r[i], 8, 1, PORTALS_PUT, NULL);
            portals_attach(&p.here, RECEIVE_PORTAL, &r[i].entry);
        }
        assert_true(portals_unlink(&r[gone].entry));
        assert_false(portals_unlink(&r[gone].entry));
        for (int i = 0; i < 3; i++) {
            put_text(&p, 0, 0, "x");
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(r[i].bytes[0], i == gone ? 0 : 'x');
        }
        assert_int_equal(p.here.dropped, 1);
    }
}

static void model_ignored_bits_need_not_agree_and_all_others_must(void **state)
{
    struct pair p;
    struct region r;

    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t mask = UINT64_C(1) << bit;

        pair_init(&p);
        region_init(&r, 8, PORTALS_ENDLESS, PORTALS_PUT | PORTALS_REMOTE_OFFSET, NULL);
        r.entry.match_bits = UINT64_C(0x0123456789abcdef);
        portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
        put_text(&p, r.entry.match_bits, 0, "x");
        assert_int_equal(p.here.dropped, 0);
        put_text(&p, r.entry.match_bits ^ mask, 0, "x");
        assert_int_equal(p.here.dropped, 1);
        r.entry.ignore_bits = mask;
        put_text(&p, r.entry.match_bits ^ mask, 0, "x");
        assert_int_equal(p.here.dropped, 1);
        put_text(&p, ~r.entry.match_bits, 0, "x");
        assert_int_equal(p.here.dropped, 2);
        r.entry.ignore_bits = UINT64_MAX;
        put_text(&p, ~r.entry.match_bits, 0, "x");
        assert_int_equal(p.here.dropped, 2);
    }
}

static void model_an_initiator_is_named_or_left_open(void **state)
{
    struct pair p;
    struct region r;

    (void)state;
    pair_init(&p);
    region_init(&r, 8, PORTALS_ENDLESS, PORTALS_PUT | PORTALS_REMOTE_OFFSET, NULL);
    portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
    r.entry.initiator = 3;
    put_text(&p, 0, 0, "x");
    assert_int_equal(p.here.dropped, 1);
    r.entry.initiator = p.there.process;
    put_text(&p, 0, 0, "x");
    r.entry.initiator = PORTALS_ANY_PROCESS;
    put_text(&p, 0, 0, "x");
    assert_int_equal(p.here.dropped, 1);
}

static void model_table_entries_keep_protocols_apart(void **state)
{
    struct pair p;
    struct region r;
    struct region out;

    (void)state;
    pair_init(&p);
    region_init(&r, 8, PORTALS_ENDLESS, PORTALS_PUT | PORTALS_REMOTE_OFFSET, NULL);
    portals_attach(&p.here, PORTALS_TABLE_SIZE - 1, &r.entry);
    outgoing_init(&out, "x", PORTALS_ENDLESS, NULL);
    for (uint32_t index = 0; index <= PORTALS_TABLE_SIZE; index++) {
        struct portals_address to = at(&p.here, index, 0);

        assert_true(portals_put(&p.there, &out.descriptor, true, &to, 0));
    }
    assert_int_equal(p.here.dropped, PORTALS_TABLE_SIZE); /* all but one */
    assert_int_equal(r.bytes[0], 'x');
}

static void model_a_descriptor_answers_only_what_it_is_open_to(void **state)
{
    struct pair p;
    struct region closed;
    struct region gets;
    struct region puts;
    struct region into;
    struct portals_address from;

    (void)state;
    pair_init(&p);
    region_init(&closed, 8, 9, 0, &p.events_here);
    region_init(&gets, 8, 9, PORTALS_GET, &p.events_here);
    region_init(&puts, 8, 9, PORTALS_PUT, &p.events_here);
    memcpy(gets.bytes, "gettable", 8);
    portals_attach(&p.here, RECEIVE_PORTAL, &closed.entry);
    portals_attach(&p.here, RECEIVE_PORTAL, &gets.entry);
    portals_attach(&p.here, RECEIVE_PORTAL, &puts.entry);
    put_text(&p, 0, 0, "x");
    assert_int_equal(puts.bytes[0], 'x');

    region_init(&into, 8, 9, 0, &p.events_there);
    from = at(&p.here, RECEIVE_PORTAL, 0);
    assert_true(portals_get(&p.there, &into.descriptor, &from));
    assert_memory_equal(into.bytes, "gettable", 8);
    assert_true(portals_unlink(&gets.entry));
    assert_true(portals_get(&p.there, &into.descriptor, &from));
    assert_int_equal(p.here.dropped, 1);
    assert_int_equal(closed.descriptor.threshold, 9);
}

static void model_a_used_up_threshold_makes_inactive_and_unlinks_if_asked(void **state)
{
    struct pair p;
    struct region stays;
    struct region leaves;

    (void)state;
    pair_init(&p);
    region_init(&stays, 8, 2, PORTALS_PUT, NULL);
    region_init(&leaves, 8, 1, PORTALS_PUT, NULL);
    leaves.entry.unlinks_when_consumed = true;
    portals_attach(&p.here, RECEIVE_PORTAL, &stays.entry);
    portals_attach(&p.here, RECEIVE_PORTAL, &leaves.entry);
    put_text(&p, 0, 0, "a");
    assert_true(portals_is_active(&stays.descriptor));
    put_text(&p, 0, 0, "b");
    assert_false(portals_is_active(&stays.descriptor));
    assert_non_null(stays.entry.list);
    put_text(&p, 0, 0, "c");
    assert_false(portals_is_active(&leaves.descriptor));
    assert_null(leaves.entry.list);
    put_text(&p, 0, 0, "d");
    assert_int_equal(p.here.dropped, 1);
    assert_string_equal(stays.bytes, "ab");
    assert_string_equal(leaves.bytes, "c");
    assert_ptr_equal(p.here.table[RECEIVE_PORTAL].first, &stays.entry);
    assert_ptr_equal(p.here.table[RECEIVE_PORTAL].last, &stays.entry);
}

static void model_an_entry_linked_inactive_stays_until_it_is_used(void **state)
{
    struct pair p;
    struct region r;

    (void)state;
    pair_init(&p);
    region_init(&r, 8, 0, PORTALS_PUT, NULL);
    r.entry.unlinks_when_consumed = true;
    portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
    put_text(&p, 0, 0, "x");
    assert_int_equal(p.here.dropped, 1);
    assert_non_null(r.entry.list);
    assert_true(portals_activate_if_empty(&r.descriptor, 1, &p.events_here));
    put_text(&p, 0, 0, "y");
    assert_string_equal(r.bytes, "y");
    assert_null(r.entry.list);
}

static void model_a_descriptor_is_activated_only_if_no_event_is_pending(void **state)
{
    struct pair p;
    struct region receive;
    struct region unexpected;

    (void)state;
    pair_init(&p);
    region_init(&receive, 8, 0, PORTALS_PUT, NULL);
    region_init(&unexpected, 8, PORTALS_ENDLESS, PORTALS_PUT, &p.events_here);
    portals_attach(&p.here, RECEIVE_PORTAL, &receive.entry);
    portals_attach(&p.here, RECEIVE_PORTAL, &unexpected.entry);
    put_text(&p, 0, 0, "x");
    assert_false(portals_activate_if_empty(&receive.descriptor, 1, &p.events_here));
    assert_false(portals_is_active(&receive.descriptor));
    assert_event(&p.events_here, PORTALS_EVENT_PUT, 1, 1);
    assert_true(portals_activate_if_empty(&receive.descriptor, 1, &p.events_here));
    assert_true(portals_is_active(&receive.descriptor));
}

static void model_a_managed_offset_lays_messages_one_after_the_other(void **state)
{
    struct pair p;
    struct region r;
    struct portals_event event;
    const size_t offset[4] = {0, 3, 3, 5};

    (void)state;
    pair_init(&p);
    region_init(&r, 8, PORTALS_ENDLESS, PORTALS_PUT, &p.events_here);
    portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
    put_text(&p, 0, 7, "abc"); /* where the initiator wants it makes no difference */
    put_text(&p, 0, 0, "");
    put_text(&p, 0, 1, "de");
    put_text(&p, 0, 2, "fgh");
    assert_memory_equal(r.bytes, "abcdefgh", 8);
    for (int i = 0; i < 4; i++) {
        event = next_event(&p.events_here);
        assert_int_equal(event.offset, offset[i]);
    }
    put_text(&p, 0, 0, "i");
    assert_int_equal(p.here.dropped, 1);
}

static void model_a_remote_offset_is_the_initiators(void **state)
{
    struct pair p;
    struct region r;

    (void)state;
    pair_init(&p);
    region_init(&r, 8, PORTALS_ENDLESS, PORTALS_PUT | PORTALS_REMOTE_OFFSET, NULL);
    portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
    put_text(&p, 0, 5, "abc");
    put_text(&p, 0, 0, "xy");
    put_text(&p, 0, 1, "z");
    assert_memory_equal(r.bytes, "xz\0\0\0abc", 8);
    assert_int_equal(r.descriptor.offset, 0);
    put_text(&p, 0, 6, "abc");
    put_text(&p, 0, SIZE_MAX, "a");
    assert_int_equal(p.here.dropped, 2);
}

static void model_a_longer_message_is_truncated_or_passed_on(void **state)
{
    struct pair p;
    struct region rejects;
    struct region truncates;
    struct region last;

    (void)state;
    pair_init(&p);
    region_init(&rejects, 4, PORTALS_ENDLESS, PORTALS_PUT, &p.events_here);
    region_init(&truncates, 6, PORTALS_ENDLESS, PORTALS_PUT | PORTALS_TRUNCATE,
                &p.events_here);
    region_init(&last, 8, PORTALS_ENDLESS, PORTALS_PUT, &p.events_here);
    portals_attach(&p.here, RECEIVE_PORTAL, &rejects.entry);
    portals_attach(&p.here, RECEIVE_PORTAL, &truncates.entry);
    portals_attach(&p.here, RECEIVE_PORTAL, &last.entry);
    put_text(&p, 0, 0, "abcde");
    assert_event(&p.events_here, PORTALS_EVENT_PUT, 5, 5);
    put_text(&p, 0, 0, "fghij");
    assert_event(&p.events_here, PORTALS_EVENT_PUT, 5, 1);
    put_text(&p, 0, 0, "klmno");
    assert_event(&p.events_here, PORTALS_EVENT_PUT, 5, 0);
    put_text(&p, 0, 0, "pq");
    assert_event(&p.events_here, PORTALS_EVENT_PUT, 2, 2);
    assert_memory_equal(truncates.bytes, "abcdef\0", 7);
    assert_memory_equal(rejects.bytes, "pq\0", 3);
    assert_true(portals_unlink(&truncates.entry));
    put_text(&p, 0, 0, "rstuv");
    assert_memory_equal(last.bytes, "rstuv\0", 6);
}

/* Section 5: buffers of which the next is begun when one's mark has been passed. */
static void model_a_buffer_past_its_mark_gives_way_to_the_next(void **state)
{
    struct pair p;
    struct region r[3];
    const char *const text[7] = {"abcd", "efgh", "i", "jklm", "nopqr", "stuvw", "x"};

    (void)state;
    pair_init(&p);
    for (int i = 0; i < 3; i++) {
        region_init(&r[i], 16, PORTALS_ENDLESS, PORTALS_PUT, NULL);
        r[i].descriptor.max_offset = 8;
        r[i].entry.unlinks_when_consumed = true;
        portals_attach(&p.here, RECEIVE_PORTAL, &r[i].entry);
    }
    for (int i = 0; i < 7; i++) {
        put_text(&p, 0, 0, text[i]);
    }
    assert_string_equal(r[0].bytes, "abcdefghi"); /* the mark was reached, then passed */
    assert_null(r[0].entry.list);
    assert_string_equal(r[1].bytes, "jklmnopqr");
    assert_null(r[1].entry.list);
    assert_string_equal(r[2].bytes, "stuvwx");
    assert_non_null(r[2].entry.list);

    r[0].descriptor.offset = 0; /* all copied out: back to the end of the line */
    portals_attach(&p.here, RECEIVE_PORTAL, &r[0].entry);
    put_text(&p, 0, 0, "yyy");
    assert_string_equal(r[2].bytes, "stuvwxyyy");
    put_text(&p, 0, 0, "z");
    assert_string_equal(r[0].bytes, "zbcdefghi");
    assert_int_equal(p.here.dropped, 0);
}

static void model_an_acknowledgement_needs_both_sides(void **state)
{
    struct pair p;
    struct region r;
    struct region out;
    struct portals_address to;

    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        for (int granted = 0; granted < 2; granted++) {
            pair_init(&p);
            region_init(&r, 2, 1,
                        PORTALS_PUT | PORTALS_TRUNCATE |
                            (granted != 0 ? 0u : (unsigned)PORTALS_NO_ACK),
                        &p.events_here);
            portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
            outgoing_init(&out, "abc", 9, &p.events_there);
            to = at(&p.here, RECEIVE_PORTAL, 0);
            assert_true(portals_put(&p.there, &out.descriptor, asked != 0, &to, 0));
            assert_event(&p.events_here, PORTALS_EVENT_PUT, 3, 2);
            assert_event(&p.events_there, PORTALS_EVENT_SENT, 3, 3);
            if (asked != 0 && granted != 0) {
                assert_event(&p.events_there, PORTALS_EVENT_ACK, 3, 2);
            }
            assert_no_event(&p.events_there);

            assert_true(portals_put(&p.there, &out.descriptor, asked != 0, &to, 0));
            assert_int_equal(p.here.dropped, 1); /* and nobody says so */
            assert_event(&p.events_there, PORTALS_EVENT_SENT, 3, 3);
            assert_no_event(&p.events_there);
        }
    }
}

static void
model_each_operation_leaves_its_event_with_the_state_of_that_moment(void **state)
{
    struct pair p;
    struct region r;
    struct region out;
    struct region into;
    struct portals_address address;
    struct portals_event event;

    (void)state;
    pair_init(&p);
    region_init(&r, 8, 9, PORTALS_PUT | PORTALS_GET | PORTALS_REMOTE_OFFSET,
                &p.events_here);
    portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
    r.entry.ignore_bits = 7;
    address = at(&p.here, RECEIVE_PORTAL, 5);
    address.offset = 4;

    outgoing_init(&out, "abc", 7, &p.events_there);
    assert_true(portals_put(&p.there, &out.descriptor, true, &address, 77));
    region_init(&into, 4, 5, 0, &p.events_there);
    assert_true(portals_get(&p.there, &into.descriptor, &address));
    assert_memory_equal(into.bytes, "abc\0", 4);

    for (int i = 0; i < 5; i++) {
        const struct {
            enum portals_event_type type;
            struct portals_events *events;
            struct portals_descriptor *descriptor;
            uint32_t threshold;
            size_t length;
            size_t offset;
        } expected[5] = {
            {PORTALS_EVENT_PUT, &p.events_here, &r.descriptor, 8, 3, 4},
            {PORTALS_EVENT_GET, &p.events_here, &r.descriptor, 7, 4, 4},
            {PORTALS_EVENT_SENT, &p.events_there, &out.descriptor, 6, 3, 0},
            {PORTALS_EVENT_ACK, &p.events_there, &out.descriptor, 5, 3, 4},
            {PORTALS_EVENT_REPLY, &p.events_there, &into.descriptor, 4, 4, 4},
        };

        event = next_event(expected[i].events);
        assert_int_equal(event.type, expected[i].type);
        assert_int_equal(event.initiator, p.there.process);
        assert_int_equal(event.match_bits, 5);
        assert_int_equal(event.requested_length, expected[i].length);
        assert_int_equal(event.accepted_length, expected[i].length);
        assert_int_equal(event.offset, expected[i].offset);
        assert_ptr_equal(event.descriptor, expected[i].descriptor);
        assert_int_equal(event.state.threshold, expected[i].threshold);
        if (i == 0) {
            assert_int_equal(event.header_data, 77);
        }
    }
    assert_no_event(&p.events_here);
    assert_no_event(&p.events_there);
}

static void model_an_inactive_descriptor_sends_nothing_and_hears_nothing(void **state)
{
    struct pair p;
    struct region r;
    struct region out;
    struct portals_address to;

    (void)state;
    pair_init(&p);
    region_init(&r, 8, 9, PORTALS_PUT, NULL);
    portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
    to = at(&p.here, RECEIVE_PORTAL, 0);
    outgoing_init(&out, "x", 1, &p.events_there); /* sent is its only operation */
    assert_true(portals_put(&p.there, &out.descriptor, true, &to, 0));
    assert_event(&p.events_there, PORTALS_EVENT_SENT, 1, 1);
    assert_no_event(&p.events_there);
    assert_int_equal(p.there.dropped, 1);
    assert_false(portals_put(&p.there, &out.descriptor, true, &to, 0));
    assert_false(portals_get(&p.there, &out.descriptor, &to));
    assert_int_equal(r.descriptor.threshold, 8);
}

static void model_a_full_event_queue_loses_and_counts(void **state)
{
    struct pair p;
    struct region r;
    struct portals_event event;

    (void)state;
    pair_init(&p);
    region_init(&r, 8, PORTALS_ENDLESS, PORTALS_PUT, &p.events_here);
    r.entry.ignore_bits = UINT64_MAX;
    portals_attach(&p.here, RECEIVE_PORTAL, &r.entry);
    for (int round = 0; round < 3;
         round++) { /* from another place in the ring each time */
        for (uint64_t i = 0; i < RING + 2; i++) {
            put_text(&p, i, 0, "");
        }
        assert_int_equal(p.events_here.lost, 2 * (round + 1));
        for (uint64_t i = 0; i < RING; i++) {
            event = next_event(&p.events_here);
            assert_int_equal(event.match_bits, i);
        }
        assert_false(portals_event_take(&p.events_here, &event));
        put_text(&p, 0, 0, "");
        event = next_event(&p.events_here);
    }
}

/* ==== the model: the protocols of section 3 ==== */

enum { SHORT_BITS = 1 << 8, LONG_BITS = 2 << 8, TAG = 7 };

/* Unexpected messages: short ones are kept whole, long ones only noted (4). */
struct unexpected {
    struct region shorts;
    struct region longs;
};

static void unexpected_init(struct unexpected *u, struct pair *p)
{
    region_init(&u->shorts, 32, PORTALS_ENDLESS, PORTALS_PUT | PORTALS_NO_ACK,
                &p->events_here);
    u->shorts.entry.match_bits = SHORT_BITS;
    u->shorts.entry.ignore_bits = ~(uint64_t)SHORT_BITS;
    region_init(&u->longs, 0, PORTALS_ENDLESS, PORTALS_PUT | PORTALS_TRUNCATE,
                &p->events_here);
    u->longs.entry.match_bits = LONG_BITS;
    u->longs.entry.ignore_bits = ~(uint64_t)LONG_BITS;
    portals_attach(&p->here, RECEIVE_PORTAL, &u->shorts.entry);
    portals_attach(&p->here, RECEIVE_PORTAL, &u->longs.entry);
}

static void receive_init(struct region *r, struct pair *p, struct unexpected *u)
{
    region_init(r, 32, 1, PORTALS_PUT | PORTALS_TRUNCATE, &p->events_here);
    r->entry.match_bits = TAG;
    r->entry.ignore_bits = SHORT_BITS | LONG_BITS;
    r->entry.unlinks_when_consumed = true;
    portals_attach_before(&u->shorts.entry, &r->entry);
}

static void model_a_short_send_is_complete_when_sent(void **state) /* figure 3 */
{
    struct pair p;
    struct unexpected u;
    struct region receive;
    struct region out;
    struct portals_address to;

    (void)state;
    pair_init(&p);
    unexpected_init(&u, &p);
    receive_init(&receive, &p, &u);
    to = at(&p.here, RECEIVE_PORTAL, SHORT_BITS | TAG);
    for (int i = 0; i < 2; i++) { /* expected, then not */
        outgoing_init(&out, "hello", 1, &p.events_there);
        assert_true(portals_put(&p.there, &out.descriptor, false, &to, 0));
        assert_event(&p.events_there, PORTALS_EVENT_SENT, 5, 5);
        assert_no_event(&p.events_there);
        assert_event(&p.events_here, PORTALS_EVENT_PUT, 5, 5);
    }
    assert_string_equal(receive.bytes, "hello");
    assert_string_equal(u.shorts.bytes, "hello");
}

/* Figures 4 and 5: the target answers by itself, or the receiver does so later. */
static void model_a_synchronous_send_waits_for_either_answer(void **state)
{
    struct pair p;
    struct unexpected u;
    struct region receive;
    struct region out;
    struct region empty;
    struct portals_address to;
    struct portals_address back;
    struct portals_event event;

    (void)state;
    for (int is_expected = 0; is_expected < 2; is_expected++) {
        pair_init(&p);
        unexpected_init(&u, &p);
        if (is_expected != 0) {
            receive_init(&receive, &p, &u);
        }
        outgoing_init(&out, "hello", 2, &p.events_there);
        out.descriptor.options = PORTALS_PUT | PORTALS_TRUNCATE;
        out.entry.match_bits = 99;
        out.entry.unlinks_when_consumed = true;
        portals_attach(&p.there, ACK_PORTAL, &out.entry);
        to = at(&p.here, RECEIVE_PORTAL, SHORT_BITS | TAG);
        assert_true(portals_put(&p.there, &out.descriptor, true, &to, 99));
        assert_event(&p.events_there, PORTALS_EVENT_SENT, 5, 5);
        event = next_event(&p.events_here);
        if (is_expected != 0) {
            assert_ptr_equal(event.descriptor, &receive.descriptor);
            assert_event(&p.events_there, PORTALS_EVENT_ACK, 5, 5);
        } else {
            assert_ptr_equal(event.descriptor, &u.shorts.descriptor);
            assert_no_event(&p.events_there);
            outgoing_init(&empty, "", 1, NULL);
            back = at(&p.there, ACK_PORTAL, event.header_data);
            assert_true(portals_put(&p.here, &empty.descriptor, false, &back, 0));
            assert_event(&p.events_there, PORTALS_EVENT_PUT, 0, 0);
        }
        assert_null(out.entry.list);
        assert_int_equal(p.here.dropped + p.there.dropped, 0);
    }
}

/* Figures 6 and 7: all bytes are acknowledged; or none, and the receiver gets them. */
static void model_a_long_send_is_taken_at_once_or_fetched_later(void **state)
{
    struct pair p;
    struct unexpected u;
    struct region receive;
    struct region out;
    struct portals_address to;
    struct portals_address back;
    struct portals_event event;

    (void)state;
    for (int is_expected = 0; is_expected < 2; is_expected++) {
        pair_init(&p);
        unexpected_init(&u, &p);
        if (is_expected != 0) {
            receive_init(&receive, &p, &u);
        }
        outgoing_init(&out, "a long message", 3, &p.events_there);
        out.descriptor.options = PORTALS_PUT | PORTALS_GET | PORTALS_TRUNCATE;
        out.entry.match_bits = 99;
        out.entry.unlinks_when_consumed = true;
        portals_attach(&p.there, READ_PORTAL, &out.entry);
        to = at(&p.here, RECEIVE_PORTAL, LONG_BITS | TAG);
        assert_true(portals_put(&p.there, &out.descriptor, true, &to, 99));
        assert_event(&p.events_there, PORTALS_EVENT_SENT, 14, 14);
        event = next_event(&p.events_here);
        if (is_expected != 0) {
            assert_event(&p.events_there, PORTALS_EVENT_ACK, 14, 14);
            assert_true(portals_unlink(&out.entry));
        } else {
            assert_ptr_equal(event.descriptor, &u.longs.descriptor);
            assert_event(&p.events_there, PORTALS_EVENT_ACK, 14, 0);
            region_init(&receive, event.requested_length, 1, 0, &p.events_here);
            back = at(&p.there, READ_PORTAL, event.header_data);
            assert_true(portals_get(&p.here, &receive.descriptor, &back));
            assert_event(&p.events_here, PORTALS_EVENT_REPLY, 14, 14);
            assert_event(&p.events_there, PORTALS_EVENT_GET, 14, 14);
            assert_null(out.entry.list);
        }
        assert_string_equal(receive.bytes, "a long message");
        assert_int_equal(p.here.dropped + p.there.dropped, 0);
    }
}

/* ==== the matcher by itself ==== */

enum { CLASSES = WEFT_MATCH_CLASSES, MANY = 100000 };

static int32_t source_in(int class, int32_t source)
{
    return (class & WEFT_MATCH_ANY_SOURCE) != 0 ? WEFT_ANY_SOURCE : source;
}

static int32_t tag_in(int class, int32_t tag)
{
    return (class & WEFT_MATCH_ANY_TAG) != 0 ? WEFT_ANY_TAG : tag;
}

/* A receive for this message that leaves open what its class does. */
static enum weft_rc try_post(struct weft_match *m, struct weft_posted *entry, int class,
                             uint32_t context, int32_t source, int32_t tag)
{
    entry->context = context;
    entry->source = source_in(class, source);
    entry->tag = tag_in(class, tag);
    return weft_match_post(m, entry);
}

static void post(struct weft_match *m, struct weft_posted *entry, int class,
                 uint32_t context, int32_t source, int32_t tag)
{
    assert_int_equal(try_post(m, entry, class, context, source, tag), WEFT_OK);
}

static enum weft_rc try_keep(struct weft_match *m, struct weft_waiting *entry,
                             uint32_t context, int32_t source, int32_t tag)
{
    entry->context = context;
    entry->source = source;
    entry->tag = tag;
    return weft_match_keep(m, entry);
}

static void keep(struct weft_match *m, struct weft_waiting *entry, uint32_t context,
                 int32_t source, int32_t tag)
{
    assert_int_equal(try_keep(m, entry, context, source, tag), WEFT_OK);
}

static struct weft_waiting *find(struct weft_match *m, int class, uint32_t context,
                                 int32_t source, int32_t tag)
{
    return weft_match_find(m, context, source_in(class, source), tag_in(class, tag));
}

static void *make(size_t count, size_t size)
{
    void *p;

    allocations_left = -1; /* a test that failed may have left it otherwise */
    p = calloc(count, size);
    assert_non_null(p);
    return p;
}

static void an_empty_matcher_knows_nothing(void **state)
{
    struct weft_match m;

    (void)state;
    weft_match_init(&m);
    assert_null(weft_match_arrive(&m, 0, 0, 0));
    for (int c = 0; c < CLASSES; c++) {
        assert_null(find(&m, c, 0, 0, 0));
    }
    weft_match_fini(&m);
}

static void a_receive_takes_what_agrees_in_all_that_it_names(void **state)
{
    struct weft_match m;
    struct weft_posted entry;

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        const bool names_source = (c & WEFT_MATCH_ANY_SOURCE) == 0;
        const bool names_tag = (c & WEFT_MATCH_ANY_TAG) == 0;

        post(&m, &entry, c, 1, 2, 3);
        assert_null(weft_match_arrive(&m, 2, 2, 3));
        if (names_source) {
            assert_null(weft_match_arrive(&m, 1, 3, 3));
            assert_null(weft_match_arrive(&m, 1, 0, 3));
        }
        if (names_tag) {
            assert_null(weft_match_arrive(&m, 1, 2, 2));
            assert_null(weft_match_arrive(&m, 1, 2, 0));
        }
        assert_ptr_equal(
            weft_match_arrive(&m, 1, names_source ? 2 : 99, names_tag ? 3 : INT32_MAX),
            &entry);
        assert_int_equal(entry.state, WEFT_POSTED_MATCHED);
        assert_null(weft_match_arrive(&m, 1, 2, 3));
    }
    weft_match_fini(&m);
}

static void a_receive_finds_what_agrees_in_all_that_it_names(void **state)
{
    struct weft_match m;
    struct weft_waiting message;

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        keep(&m, &message, 1, 2, 3);
        assert_null(find(&m, c, 2, 2, 3));
        if ((c & WEFT_MATCH_ANY_SOURCE) == 0) {
            assert_null(find(&m, c, 1, 3, 3));
        }
        if ((c & WEFT_MATCH_ANY_TAG) == 0) {
            assert_null(find(&m, c, 1, 2, 2));
        }
        assert_ptr_equal(find(&m, c, 1, 2, 3), &message);
        assert_ptr_equal(find(&m, c, 1, 2, 3), &message); /* a probe takes nothing */
        weft_match_take(&m, &message);
        assert_null(find(&m, c, 1, 2, 3));
        assert_int_equal(m.waiting_count, 0);
    }
    weft_match_fini(&m);
}

static void the_receive_posted_first_wins_in_every_pair_of_classes(void **state)
{
    struct weft_match m;
    struct weft_posted first;
    struct weft_posted second;

    (void)state;
    weft_match_init(&m);
    for (int a = 0; a < CLASSES; a++) {
        for (int b = 0; b < CLASSES; b++) {
            post(&m, &first, a, 1, 2, 3);
            post(&m, &second, b, 1, 2, 3);
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &first);
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &second);
            assert_null(weft_match_arrive(&m, 1, 2, 3));
        }
    }
    weft_match_fini(&m);
}

static void receives_of_all_classes_win_in_the_order_of_posting(void **state)
{
    enum { ORDERS = 256, REPEATS = 3 }; /* all words of four classes */
    struct weft_match m;
    struct weft_posted entry[4 * REPEATS];

    (void)state;
    weft_match_init(&m);
    for (int order = 0; order < ORDERS; order++) {
        for (int i = 0; i < 4 * REPEATS; i++) {
            post(&m, &entry[i], (order >> (2 * (i % 4))) & 3, 1, 2, 3);
        }
        for (int i = 0; i < 4 * REPEATS; i++) {
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[i]);
        }
        assert_null(weft_match_arrive(&m, 1, 2, 3));
    }
    weft_match_fini(&m);
}

static void receives_of_one_key_are_taken_in_order_among_those_of_others(void **state)
{
    enum { KEYS = 40, EACH = 50 };
    struct weft_match m;
    struct weft_posted entry[EACH][KEYS];

    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        weft_match_init(&m);
        for (int i = 0; i < EACH; i++) {
            for (int k = 0; k < KEYS; k++) {
                post(&m, &entry[i][k], c, (uint32_t)k, k, k);
            }
        }
        for (int k = 0; k < KEYS; k++) {
            for (int i = 0; i < EACH; i++) {
                assert_ptr_equal(weft_match_arrive(&m, (uint32_t)k, k, k), &entry[i][k]);
            }
            assert_null(weft_match_arrive(&m, (uint32_t)k, k, k));
        }
        assert_int_equal(m.posted_count[c], 0);
        weft_match_fini(&m);
    }
}

/* Whether waiting messages are found in order, asked for in one class only. */
enum { SOURCES = 3, TAGS = 3, ROUNDS = 20, WAITING = SOURCES * TAGS * ROUNDS };

static void keep_many(struct weft_match *m, struct weft_waiting *message, int count)
{
    for (int i = 0; i < count; i++) { /* sources and tags change at different paces */
        keep(m, &message[i], 1, i % SOURCES, (i / SOURCES) % TAGS);
    }
}

static bool fits(const struct weft_waiting *message, int class, int32_t source,
                 int32_t tag)
{
    return ((class & WEFT_MATCH_ANY_SOURCE) != 0 || message->source == source) &&
           ((class & WEFT_MATCH_ANY_TAG) != 0 || message->tag == tag);
}

static void take_all_in_order(struct weft_match *m, int class,
                              struct weft_waiting *message, int count, long allocations)
{
    bool is_taken[WAITING] = {false};
    int left = count;

    while (left > 0) {
        for (int key = SOURCES * TAGS - 1; key >= 0; key--) { /* not as they arrived */
            struct weft_waiting *expected = NULL;
            struct weft_waiting *found;

            for (int i = 0; i < count && expected == NULL; i++) {
                if (!is_taken[i] &&
                    fits(&message[i], class, key % SOURCES, key / SOURCES)) {
                    expected = &message[i];
                }
            }
            allocations_left = allocations;
            found = find(m, class, 1, key % SOURCES, key / SOURCES);
            allocations_left = -1;
            assert_ptr_equal(found, expected);
            if (expected != NULL) {
                weft_match_take(m, expected);
                is_taken[expected - message] = true;
                left--;
            }
        }
    }
}

static void waiting_messages_are_found_in_order_of_arrival(void **state)
{
    struct weft_match m;
    struct weft_waiting *message = make(WAITING, sizeof(*message));

    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        weft_match_init(&m);
        keep_many(&m, message, 1);
        assert_ptr_equal(find(&m, c, 1, 0, 0), message); /* the class is known early */
        weft_match_take(&m, message);
        keep_many(&m, message, WAITING);
        take_all_in_order(&m, c, message, WAITING, -1);
        assert_int_equal(m.waiting_count, 0);
        weft_match_fini(&m);
    }
    free(message);
}

static void a_class_first_asked_for_late_finds_what_is_already_waiting(void **state)
{
    struct weft_match m;
    struct weft_waiting *message = make(WAITING, sizeof(*message));

    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        for (int early = 0; early <= WAITING; early += WAITING / 4) {
            weft_match_init(&m);
            keep_many(&m, message, early);
            assert_ptr_equal(find(&m, c, 1, 0, 0), early > 0 ? message : NULL);
            for (int i = early; i < WAITING; i++) {
                keep(&m, &message[i], 1, i % SOURCES, (i / SOURCES) % TAGS);
            }
            take_all_in_order(&m, c, message, WAITING, -1);
            assert_int_equal(m.waiting_count, 0);
            weft_match_fini(&m);
        }
    }
    free(message);
}

static void a_class_asked_for_again_after_all_were_taken_starts_anew(void **state)
{
    struct weft_match m;
    struct weft_waiting *message = make(WAITING, sizeof(*message));

    (void)state;
    weft_match_init(&m);
    for (int round = 0; round < 3; round++) {
        for (int c = CLASSES - 1; c >= 0; c--) {
            keep_many(&m, message, WAITING);
            take_all_in_order(&m, c, message, WAITING, -1);
            assert_int_equal(m.waiting_count, 0);
        }
    }
    weft_match_fini(&m);
    free(message);
}

/* Every class must forget a message that was taken through another, or through none. */
static void waiting_messages_can_be_taken_in_any_order(void **state)
{
    uint64_t random = 5;
    struct weft_match m;
    struct weft_waiting *message = make(WAITING, sizeof(*message));
    uint32_t order[WAITING];
    bool is_taken[WAITING];

    (void)state;
    for (int asked = 0; asked < 1 << CLASSES; asked++) { /* which classes are in use */
        weft_match_init(&m);
        keep_many(&m, message, WAITING);
        memset(is_taken, 0, sizeof(is_taken));
        shuffle(&random, order, WAITING);
        for (uint32_t n = 0; n < WAITING; n++) {
            for (int c = 0; c < CLASSES; c++) {
                int key = (int)random_below(&random, SOURCES * TAGS);
                struct weft_waiting *expected = NULL;

                if ((asked & (1 << c)) == 0) {
                    continue;
                }
                for (int i = 0; i < WAITING && expected == NULL; i++) {
                    if (!is_taken[i] &&
                        fits(&message[i], c, key % SOURCES, key / SOURCES)) {
                        expected = &message[i];
                    }
                }
                assert_ptr_equal(find(&m, c, 1, key % SOURCES, key / SOURCES), expected);
            }
            weft_match_take(&m, &message[order[n]]);
            is_taken[order[n]] = true;
            assert_int_equal(m.waiting_count, WAITING - n - 1);
        }
        for (int c = 0; c < CLASSES; c++) {
            assert_null(find(&m, c, 1, 0, 0));
        }
        weft_match_fini(&m);
    }
    free(message);
}

/* Unexpected buffers are emptied by copying what is left in them elsewhere. */
static void a_waiting_message_keeps_its_place_when_it_is_moved(void **state)
{
    enum { LENGTH = 4 };
    struct weft_match m;
    struct weft_waiting message[LENGTH];
    struct weft_waiting copy;

    (void)state;
    for (int asked = 0; asked < 1 << CLASSES; asked++) {
        for (int length = 1; length <= LENGTH; length++) {
            for (int moved = 0; moved < length; moved++) { /* first, middle, last, only */
                weft_match_init(&m);
                for (int i = 0; i < length; i++) {
                    keep(&m, &message[i], 1, 2, 3);
                }
                for (int c = 0; c < CLASSES; c++) {
                    if ((asked & (1 << c)) != 0) {
                        assert_ptr_equal(find(&m, c, 1, 2, 3), &message[0]);
                    }
                }
                copy = message[moved];
                weft_match_move(&m, &message[moved], &copy);
                memset(&message[moved], 0xff, sizeof(message[moved]));
                assert_int_equal(m.waiting_count, length);
                for (int i = 0; i < length; i++) {
                    struct weft_waiting *expected = i == moved ? &copy : &message[i];

                    for (int c = 0; c < CLASSES; c++) {
                        assert_ptr_equal(find(&m, c, 1, 2, 3), expected);
                    }
                    weft_match_take(&m, expected);
                }
                assert_int_equal(m.waiting_count, 0);
                weft_match_fini(&m);
            }
        }
    }
}

static void a_cancelled_receive_leaves_the_others_in_order(void **state)
{
    enum { LENGTH = 5 };
    struct weft_match m;
    struct weft_posted entry[LENGTH];

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        for (int length = 1; length <= LENGTH; length++) {
            for (int gone = 0; gone < length; gone++) { /* first, middle, last, only */
                for (int i = 0; i < length; i++) {
                    post(&m, &entry[i], c, 1, 2, 3);
                }
                assert_true(weft_match_cancel(&m, &entry[gone]));
                assert_int_equal(entry[gone].state, WEFT_POSTED_CANCELLED);
                assert_int_equal(m.posted_count[c], length - 1);
                assert_false(weft_match_cancel(&m, &entry[gone]));
                for (int i = 0; i < length; i++) {
                    if (i != gone) {
                        assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[i]);
                    }
                }
                assert_null(weft_match_arrive(&m, 1, 2, 3));
            }
        }
    }
    weft_match_fini(&m);
}

static void a_cancelled_receive_posted_again_is_the_youngest(void **state)
{
    struct weft_match m;
    struct weft_posted entry[2];

    (void)state;
    weft_match_init(&m);
    for (int a = 0; a < CLASSES; a++) {
        for (int b = 0; b < CLASSES; b++) {
            post(&m, &entry[0], a, 1, 2, 3);
            post(&m, &entry[1], b, 1, 2, 3);
            assert_true(weft_match_cancel(&m, &entry[0]));
            post(&m, &entry[0], a, 1, 2, 3);
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[1]);
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[0]);
        }
    }
    weft_match_fini(&m);
}

/* Its sender is told of a posted receive. */
static void offer(struct weft_posted *entry, struct weft_copy_share *share)
{
    entry->offer = share;
    entry->offer_generation = weft_share_offer(share, 0, 0);
}

/* And takes it. */
static void offer_and_claim(struct weft_posted *entry, struct weft_copy_share *share)
{
    offer(entry, share);
    assert_true(weft_share_claim(share, entry->offer_generation));
}

static void a_receive_that_somebody_has_cannot_be_cancelled(void **state)
{
    struct weft_match m;
    struct weft_posted matched;
    struct weft_posted claimed;
    struct weft_posted unposted;
    struct weft_copy_share share = {.state = 0};

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        post(&m, &matched, c, 1, 2, 3);
        assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &matched);
        assert_false(weft_match_cancel(&m, &matched));
        assert_int_equal(matched.state, WEFT_POSTED_MATCHED);

        post(&m, &claimed, c, 1, 2, 3);
        offer_and_claim(&claimed, &share);
        for (int i = 0; i < 2; i++) { /* the first time it is taken out */
            assert_false(weft_match_cancel(&m, &claimed));
            assert_int_equal(claimed.state, WEFT_POSTED_CLAIMED);
            assert_int_equal(m.posted_count[c], 0);
        }
        assert_null(weft_match_arrive(&m, 1, 2, 3));
    }
    unposted.state = WEFT_POSTED_FREE;
    assert_false(weft_match_cancel(&m, &unposted));
    weft_match_fini(&m);
}

/* A receive that its sender has claimed is what a refusing descriptor is in Portals. */
static void an_arrival_passes_over_receives_that_a_sender_has_claimed(void **state)
{
    struct weft_match m;
    struct weft_posted entry[6];
    struct weft_copy_share share[6] = {{.state = 0}};

    (void)state;
    weft_match_init(&m);
    for (int a = 0; a < CLASSES; a++) {
        for (int b = 0; b < CLASSES; b++) {
            for (int i = 0; i < 6; i++) {
                post(&m, &entry[i], i % 2 == 0 ? a : b, 1, 2, 3);
            }
            offer_and_claim(&entry[0], &share[0]);
            offer_and_claim(&entry[1], &share[1]);
            offer_and_claim(&entry[3], &share[3]);
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[2]);
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[4]);
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[5]);
            assert_null(weft_match_arrive(&m, 1, 2, 3));
            assert_int_equal(entry[0].state, WEFT_POSTED_CLAIMED);
            assert_int_equal(m.posted_count[a] + m.posted_count[b], 0);
            assert_int_equal(m.posted_wild, 0);
        }
    }
    weft_match_fini(&m);
}

static void whoever_takes_an_offered_receive_takes_its_offer_back(void **state)
{
    struct weft_match m;
    struct weft_posted entry;
    struct weft_copy_share share = {.state = 0};

    (void)state;
    weft_match_init(&m);
    for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
        post(&m, &entry, 0, 1, 2, 3);
        offer(&entry, &share);
        if (is_cancelled) {
            assert_true(weft_match_cancel(&m, &entry));
            assert_int_equal(entry.state, WEFT_POSTED_CANCELLED);
        } else {
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry);
            assert_int_equal(entry.state, WEFT_POSTED_MATCHED);
        }
        assert_false(weft_share_claim(&share, entry.offer_generation));
    }
    post(&m, &entry, 0, 1, 2, 3); /* posted again it is not offered */
    assert_null(entry.offer);
    assert_true(weft_match_cancel(&m, &entry));
    weft_match_fini(&m);
}

static void a_claimed_receive_leaves_when_that_is_known(void **state)
{
    struct weft_match m;
    struct weft_posted entry[3];
    struct weft_copy_share share = {.state = 0};

    (void)state;
    weft_match_init(&m);
    for (int i = 0; i < 3; i++) {
        post(&m, &entry[i], 0, 1, 2, 3);
    }
    offer_and_claim(&entry[1], &share);
    weft_match_claimed(&m, &entry[1]);
    assert_int_equal(entry[1].state, WEFT_POSTED_CLAIMED);
    assert_int_equal(m.posted_count[0], 2);
    weft_match_claimed(&m, &entry[1]); /* known twice */
    assert_int_equal(m.posted_count[0], 2);
    assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[0]);
    assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[2]);

    /* An arrival has found out first. */
    post(&m, &entry[0], 0, 1, 2, 3);
    offer_and_claim(&entry[0], &share);
    assert_null(weft_match_arrive(&m, 1, 2, 3));
    weft_match_claimed(&m, &entry[0]);
    assert_int_equal(entry[0].state, WEFT_POSTED_CLAIMED);
    assert_int_equal(m.posted_count[0], 0);
    weft_match_fini(&m);
}

static void a_receive_behind_one_that_leaves_something_open_is_not_offered(void **state)
{
    struct weft_match m;
    struct weft_posted wild;
    struct weft_posted entry;

    (void)state;
    weft_match_init(&m);
    for (int c = WEFT_MATCH_EXACT + 1; c < CLASSES; c++) {
        /* Which would take its message; or differs in what it names. */
        for (int other = 0; other < 4; other++) {
            bool is_in_the_way = true;

            post(&m, &wild, c, other == 1 ? 9 : 1, other == 2 ? 9 : 2,
                 other == 3 ? 9 : 3);
            if (other == 1 || (other == 2 && c == WEFT_MATCH_ANY_TAG) ||
                (other == 3 && c == WEFT_MATCH_ANY_SOURCE)) {
                is_in_the_way = false;
            }
            post(&m, &entry, 0, 1, 2, 3);
            assert_int_equal(weft_match_may_offer(&m, &entry), !is_in_the_way);
            assert_true(weft_match_cancel(&m, &wild));
            assert_true(weft_match_may_offer(&m, &entry)); /* nothing is left of it */
            assert_true(weft_match_cancel(&m, &entry));
        }
    }
    weft_match_fini(&m);
}

static void a_receive_is_offered_only_behind_others_that_are(void **state)
{
    struct weft_match m;
    struct weft_posted entry[4];
    struct weft_copy_share share[4] = {{.state = 0}};

    (void)state;
    weft_match_init(&m);
    post(&m, &entry[0], 0, 1, 2, 3);
    assert_true(weft_match_may_offer(&m, &entry[0]));
    post(&m, &entry[1], 0, 1, 2, 3);
    assert_false(weft_match_may_offer(&m, &entry[1])); /* the first is not */
    offer(&entry[0], &share[0]);
    assert_true(weft_match_may_offer(&m, &entry[1]));
    offer(&entry[1], &share[1]);
    post(&m, &entry[2], 0, 1, 2, 4); /* another key is not concerned */
    assert_true(weft_match_may_offer(&m, &entry[2]));
    post(&m, &entry[3], 0, 1, 2, 3);
    assert_true(weft_match_may_offer(&m, &entry[3]));

    /* Those before it are claimed: known, not known, and the others gone. */
    assert_true(weft_share_claim(&share[0], entry[0].offer_generation));
    weft_match_claimed(&m, &entry[0]);
    assert_true(weft_match_may_offer(&m, &entry[3]));
    assert_true(weft_share_claim(&share[1], entry[1].offer_generation));
    assert_true(weft_match_may_offer(&m, &entry[3]));
    weft_match_claimed(&m, &entry[1]);
    assert_true(weft_match_may_offer(&m, &entry[3]));
    assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry[3]);
    assert_ptr_equal(weft_match_arrive(&m, 1, 2, 4), &entry[2]);
    weft_match_fini(&m);
}

static void tables_of_receives_grow_and_shrink_again(void **state)
{
    uint64_t random = 7;
    struct weft_match m;
    struct weft_posted *entry = make(MANY, sizeof(*entry));
    uint32_t *order = make(MANY, sizeof(*order));

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        struct weft_match_index *index = &m.posted[c];
        uint32_t widest;

        for (int i = 0; i < MANY; i++) {
            post(&m, &entry[i], c, (uint32_t)i, i, i);
        }
        assert_true(index->node_count == MANY && index->bucket_count >= MANY / 2);
        shuffle(&random, order, MANY);
        for (int i = 0; i < MANY; i++) {
            uint32_t k = order[i];

            assert_ptr_equal(weft_match_arrive(&m, k, (int32_t)k, (int32_t)k), &entry[k]);
        }
        widest = index->bucket_count;
        for (uint32_t i = 0; i < 2 * widest; i++) { /* ever new keys, one at a time */
            uint32_t k = MANY + i;

            post(&m, &entry[0], c, k, (int32_t)k, (int32_t)k);
            assert_ptr_equal(weft_match_arrive(&m, k, (int32_t)k, (int32_t)k), &entry[0]);
        }
        assert_true(index->bucket_count <= 64 && index->node_count <= 64);
    }
    weft_match_fini(&m);
    free(order);
    free(entry);
}

static void tables_of_waiting_messages_grow_and_shrink_again(void **state)
{
    uint64_t random = 8;
    struct weft_match m;
    struct weft_waiting *message = make(MANY, sizeof(*message));
    struct weft_waiting anchor = {.number = 0};
    uint32_t *order = make(MANY, sizeof(*order));
    uint32_t widest = 0;

    (void)state;
    weft_match_init(&m);
    keep(&m, &anchor, UINT32_MAX, 0, 0); /* keeps all classes in use */
    for (int c = 0; c < CLASSES; c++) {
        assert_ptr_equal(find(&m, c, UINT32_MAX, 0, 0), &anchor);
    }
    for (int i = 0; i < MANY; i++) {
        keep(&m, &message[i], (uint32_t)i, i, i);
    }
    shuffle(&random, order, MANY);
    for (int i = 0; i < MANY; i++) {
        uint32_t k = order[i];

        assert_ptr_equal(find(&m, i % CLASSES, k, (int32_t)k, (int32_t)k), &message[k]);
        weft_match_take(&m, &message[k]);
    }
    for (int c = 0; c < CLASSES; c++) {
        assert_true(m.waiting[c].bucket_count >= MANY / 2);
        widest = m.waiting[c].bucket_count > widest ? m.waiting[c].bucket_count : widest;
    }
    for (uint32_t i = 0; i < 2 * widest; i++) {
        uint32_t k = MANY + i;

        keep(&m, &message[0], k, (int32_t)k, (int32_t)k);
        weft_match_take(&m, &message[0]);
    }
    for (int c = 0; c < CLASSES; c++) {
        assert_true(m.waiting[c].bucket_count <= 64 && m.waiting[c].node_count <= 64);
        assert_ptr_equal(find(&m, c, UINT32_MAX, 0, 0), &anchor);
    }
    weft_match_fini(&m);
    free(order);
    free(message);
}

/* ---- out of memory ---- */

static void a_receive_that_cannot_be_posted_changes_nothing(void **state)
{
    enum { KEYS = 200 };
    struct weft_match m;
    struct weft_posted entry[KEYS];

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        int failed = 0;

        for (int i = 0; i < KEYS; i++) {
            enum weft_rc rc = WEFT_ERR_NOMEM;

            for (long allowed = 0; rc != WEFT_OK; allowed++) {
                assert_true(allowed < 10);
                allocations_left = allowed;
                rc = try_post(&m, &entry[i], c, (uint32_t)i, i, i);
                allocations_left = -1;
                if (rc != WEFT_OK) {
                    assert_int_equal(rc, WEFT_ERR_NOMEM);
                    assert_int_equal(m.posted_count[c], i);
                    assert_null(weft_match_arrive(&m, (uint32_t)i, i, i));
                    failed++;
                }
            }
        }
        assert_true(failed >= KEYS); /* a new key needs memory */
        for (int i = 0; i < KEYS; i++) {
            assert_ptr_equal(weft_match_arrive(&m, (uint32_t)i, i, i), &entry[i]);
        }
    }
    weft_match_fini(&m);
}

static void a_known_key_needs_no_memory(void **state)
{
    struct weft_match m;
    struct weft_posted entry;
    struct weft_waiting message[2];

    (void)state;
    weft_match_init(&m);
    for (int c = 0; c < CLASSES; c++) {
        post(&m, &entry, c, 1, 2, 3);
        assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry);
        keep(&m, &message[0], 1, 2, 3);
        assert_ptr_equal(find(&m, c, 1, 2, 3), &message[0]);
        allocations_left = 0;
        for (int i = 0; i < 100; i++) {
            post(&m, &entry, c, 1, 2, 3);
            assert_ptr_equal(weft_match_arrive(&m, 1, 2, 3), &entry);
            keep(&m, &message[1], 1, 2, 3);
            weft_match_take(&m, &message[1]);
        }
        allocations_left = -1;
        weft_match_take(&m, &message[0]);
    }
    weft_match_fini(&m);
}

static void a_message_that_cannot_be_kept_changes_nothing(void **state)
{
    enum { KEYS = 100 };
    struct weft_match m;
    struct weft_waiting message[KEYS];

    (void)state;
    for (int asked = 0; asked < 1 << CLASSES; asked++) {
        int failed = 0;

        weft_match_init(&m);
        for (int i = 0; i < KEYS; i++) {
            enum weft_rc rc = WEFT_ERR_NOMEM;

            for (long allowed = 0; rc != WEFT_OK; allowed++) {
                assert_true(allowed < 20);
                allocations_left = allowed;
                rc = try_keep(&m, &message[i], (uint32_t)i, i, i);
                allocations_left = -1;
                for (int c = 0; c < CLASSES; c++) {
                    if (i > 0 && (asked & (1 << c)) != 0) {
                        assert_ptr_equal(find(&m, c, (uint32_t)i, i, i),
                                         rc == WEFT_OK ? &message[i] : NULL);
                        assert_ptr_equal(find(&m, c, 0, 0, 0), &message[0]);
                    }
                }
                failed += rc != WEFT_OK;
            }
            assert_int_equal(m.waiting_count, i + 1);
        }
        assert_true(failed >= KEYS);
        for (int i = 0; i < KEYS; i++) {
            assert_ptr_equal(find(&m, i % CLASSES, (uint32_t)i, i, i), &message[i]);
            weft_match_take(&m, &message[i]);
        }
        weft_match_fini(&m);
    }
}

/* A receive that overlooked its message would be posted, and a later message overtake. */
static void a_waiting_message_is_found_also_without_memory(void **state)
{
    enum { STRANGERS = 20 };
    struct weft_match m;
    struct weft_waiting *message = make(WAITING, sizeof(*message));
    struct weft_waiting stranger[STRANGERS];

    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        for (long allocations = 0; allocations < 2 * STRANGERS; allocations++) {
            weft_match_init(&m);
            for (int i = 0; i < STRANGERS; i++) { /* keys that an index would need */
                keep(&m, &stranger[i], 2 + (uint32_t)i, i % SOURCES, i % TAGS);
            }
            keep_many(&m, message, WAITING / 4);
            for (int i = 0; i < STRANGERS; i++) {
                allocations_left = allocations;
                assert_null(find(&m, c, 2 + STRANGERS, i % SOURCES, i % TAGS));
                assert_ptr_equal(find(&m, c, 2 + (uint32_t)i, i % SOURCES, i % TAGS),
                                 &stranger[i]);
                allocations_left = -1;
            }
            take_all_in_order(&m, c, message, WAITING / 4, allocations);
            assert_int_equal(m.waiting_count, STRANGERS);
            weft_match_fini(&m);
        }
    }
    free(message);
}

/* ==== both side by side ==== */

enum { SLOTS = 512, FULL = 384, MAX_CLAIMS = 100 };

struct receive {
    struct weft_posted weft;
    struct portals_entry entry;
    struct portals_descriptor descriptor;
    struct weft_copy_share share; /* in which it is offered */
    uint64_t got;                 /* the model's memory: the number of the message */
    enum { IDLE, POSTED, CLAIMED } is;
};

struct message {
    struct weft_waiting weft;
    uint64_t number; /* 0: the slot is free */
};

struct key {
    uint32_t context;
    int32_t source;
    int32_t tag;
};

/* MPI on Portals as in 3.4, the matcher, and what has been given to both. */
struct world {
    uint64_t seed;
    uint64_t random;
    uint32_t step;
    bool memory_fails;
    bool borrows_keys; /* takes most keys from what is there: else too few would meet */
    uint32_t contexts;
    uint32_t sources;
    uint32_t tags;

    struct weft_match match;

    struct portals here;
    struct portals there;
    struct portals_entry mark; /* posted receives before it, unexpected messages behind */
    struct portals_descriptor mark_descriptor;
    struct portals_entry unexpected;
    struct portals_descriptor unexpected_descriptor;
    struct portals_event received_ring[4];
    struct portals_event unexpected_ring[SLOTS];
    struct portals_events received_events;
    struct portals_events unexpected_events;
    struct portals_event held[SLOTS]; /* events taken from the ring and not wanted yet */
    uint32_t held_count;

    struct receive receives[SLOTS];
    struct message messages[SLOTS];
    uint32_t posted;
    uint32_t claimed; /* and nobody knows it yet */
    uint64_t last_number;
    uint64_t matched_posted; /* what a run has seen */
    uint64_t matched_waiting;
    uint64_t cancelled;
    uint64_t offered;
    uint64_t claims;
};

static void agree(const struct world *w, bool is_so, const char *what)
{
    if (!is_so) {
        fail_msg("seed %llu, step %u: %s", (unsigned long long)w->seed, w->step, what);
    }
}

/* Match bits as in figure 2: the communicator above, 32 bits of tag below. */
static uint64_t bits_of(const struct key *key)
{
    return (uint64_t)key->context << 32 |
           (key->tag == WEFT_ANY_TAG ? 0 : (uint64_t)(uint32_t)key->tag);
}

static uint64_t ignored_by(const struct key *key)
{
    return key->tag == WEFT_ANY_TAG ? UINT32_MAX : 0;
}

static uint32_t initiator_of(const struct key *key)
{
    return key->source == WEFT_ANY_SOURCE ? PORTALS_ANY_PROCESS : (uint32_t)key->source;
}

/* ---- MPI on the model ---- */

static void model_open(struct world *w, size_t most_messages)
{
    portals_init(&w->here, 0);
    portals_init(&w->there, 0);
    portals_events_init(&w->received_events, w->received_ring, 4);
    portals_events_init(&w->unexpected_events, w->unexpected_ring, SLOTS);
    w->mark.initiator = PORTALS_ANY_PROCESS;
    w->mark.ignore_bits = UINT64_MAX;
    w->mark.descriptor = &w->mark_descriptor; /* threshold zero: it refuses everything */
    portals_attach(&w->here, RECEIVE_PORTAL, &w->mark);
    w->unexpected.initiator = PORTALS_ANY_PROCESS;
    w->unexpected.ignore_bits = UINT64_MAX;
    w->unexpected.descriptor = &w->unexpected_descriptor;
    w->unexpected_descriptor = (struct portals_descriptor){
        .start = make(most_messages, sizeof(uint64_t)),
        .length = most_messages * sizeof(uint64_t),
        .threshold = PORTALS_ENDLESS,
        .options = PORTALS_PUT | PORTALS_NO_ACK,
        .max_offset = PORTALS_NO_MARK,
        .events = &w->unexpected_events,
    };
    portals_attach(&w->here, RECEIVE_PORTAL, &w->unexpected);
}

static void model_close(struct world *w)
{
    free(w->unexpected_descriptor.start);
}

/* The receive that an arrival went to, or NULL if it was not expected. */
static struct receive *model_arrive(struct world *w, const struct key *key,
                                    uint64_t number)
{
    struct portals_address to = at(&w->here, RECEIVE_PORTAL, bits_of(key));
    struct portals_descriptor out = {
        .start = (char *)&number,
        .length = sizeof(number),
        .threshold = 1,
        .max_offset = PORTALS_NO_MARK,
    };
    struct portals_event event;
    struct receive *receive;

    w->there.process = (uint32_t)key->source;
    agree(w, portals_put(&w->there, &out, false, &to, 0), "the model sent nothing");
    agree(w, w->here.dropped == 0, "the model dropped a message");
    if (!portals_event_take(&w->received_events, &event)) {
        return NULL;
    }
    receive = (struct receive *)((char *)event.descriptor -
                                 offsetof(struct receive, descriptor));
    agree(w, receive->got == number, "the model stored another message");
    return receive;
}

/* The first unexpected message that fits, as its place among the events held; or -1. */
static int model_find(struct world *w, const struct key *key)
{
    const uint64_t bits = bits_of(key);
    const uint64_t ignored = ignored_by(key);
    const uint32_t initiator = initiator_of(key);

    while (portals_event_take(&w->unexpected_events, &w->held[w->held_count])) {
        w->held_count++;
    }
    for (uint32_t i = 0; i < w->held_count; i++) {
        if ((initiator == PORTALS_ANY_PROCESS || initiator == w->held[i].initiator) &&
            ((w->held[i].match_bits ^ bits) & ~ignored) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* The number of a message, from where it lies in the unexpected buffer; 0 for none. */
static uint64_t model_number(const struct world *w, int place)
{
    uint64_t number = 0;

    if (place >= 0) {
        memcpy(&number, w->unexpected_descriptor.start + w->held[place].offset,
               sizeof(number));
    }
    return number;
}

static void model_take(struct world *w, int place)
{
    w->held_count--;
    memmove(&w->held[place], &w->held[place + 1],
            (w->held_count - (uint32_t)place) * sizeof(w->held[0]));
}

/* Posts a receive, or takes the message that was waiting for it and tells its number. */
static uint64_t model_post(struct world *w, struct receive *receive,
                           const struct key *key)
{
    uint64_t number;
    int place;

    receive->got = 0;
    receive->descriptor = (struct portals_descriptor){
        .start = (char *)&receive->got,
        .length = sizeof(receive->got),
        .threshold = 0,
        .options = PORTALS_PUT | PORTALS_TRUNCATE,
        .max_offset = PORTALS_NO_MARK,
        .events = &w->received_events,
    };
    receive->entry = (struct portals_entry){
        .initiator = initiator_of(key),
        .match_bits = bits_of(key),
        .ignore_bits = ignored_by(key),
        .unlinks_when_consumed = true,
        .descriptor = &receive->descriptor,
    };
    portals_attach_before(&w->mark, &receive->entry);
    do {
        place = model_find(w, key);
    } while (place < 0 &&
             !portals_activate_if_empty(&receive->descriptor, 1, &w->unexpected_events));
    if (place < 0) {
        return 0;
    }
    number = model_number(w, place);
    model_take(w, place);
    portals_unlink(&receive->entry);
    return number;
}

/* ---- the matcher, with memory that may fail ---- */

static void maybe_lose_memory(struct world *w)
{
    if (w->memory_fails && random_below(&w->random, 4) == 0) {
        allocations_left = (long)random_below(&w->random, 6);
    }
}

static void regain_memory(void)
{
    allocations_left = -1;
}

static struct message *weft_found(struct world *w, const struct key *key)
{
    struct weft_waiting *found;

    maybe_lose_memory(w);
    found = weft_match_find(&w->match, key->context, key->source, key->tag);
    regain_memory();
    return (struct message *)found; /* its first member */
}

_Static_assert(offsetof(struct message, weft) == 0 && offsetof(struct receive, weft) == 0,
               "the matcher's entries come first");

static void weft_posts(struct world *w, struct receive *receive, const struct key *key)
{
    enum weft_rc rc;

    maybe_lose_memory(w);
    rc = try_post(&w->match, &receive->weft, 0, key->context, key->source, key->tag);
    regain_memory();
    if (rc != WEFT_OK) {
        agree(w, w->memory_fails, "no memory, which was there");
        rc = weft_match_post(&w->match, &receive->weft);
    }
    agree(w, rc == WEFT_OK, "a receive could not be posted");
}

static void weft_keeps(struct world *w, struct message *message, const struct key *key)
{
    enum weft_rc rc;

    maybe_lose_memory(w);
    rc = try_keep(&w->match, &message->weft, key->context, key->source, key->tag);
    regain_memory();
    if (rc != WEFT_OK) {
        agree(w, w->memory_fails, "no memory, which was there");
        rc = weft_match_keep(&w->match, &message->weft);
    }
    agree(w, rc == WEFT_OK, "a message could not be kept");
}

/* ---- what to do next ---- */

static struct receive *some_receive(struct world *w, bool is_posted)
{
    uint32_t start = random_below(&w->random, SLOTS);

    for (uint32_t i = 0; i < SLOTS; i++) {
        struct receive *receive = &w->receives[(start + i) % SLOTS];

        if (is_posted ? receive->is == POSTED : receive->is == IDLE) {
            return receive;
        }
    }
    return NULL;
}

static struct message *some_message(struct world *w, bool is_waiting)
{
    uint32_t start = random_below(&w->random, SLOTS);

    for (uint32_t i = 0; i < SLOTS; i++) {
        struct message *message = &w->messages[(start + i) % SLOTS];

        if ((message->number != 0) == is_waiting) {
            return message;
        }
    }
    return NULL;
}

static struct key some_key(struct world *w)
{
    return (struct key){
        .context = random_below(&w->random, w->contexts),
        .source = (int32_t)random_below(&w->random, w->sources),
        .tag = (int32_t)random_below(&w->random, w->tags),
    };
}

/* What a message carries; often such that some receive wants it. */
static struct key arriving_key(struct world *w)
{
    struct key key = some_key(w);

    if (w->borrows_keys && random_below(&w->random, 4) != 0) {
        const struct receive *receive = some_receive(w, true);

        if (receive != NULL) {
            key.context = receive->weft.context;
            key.source = receive->weft.source == WEFT_ANY_SOURCE ? key.source
                                                                 : receive->weft.source;
            key.tag = receive->weft.tag == WEFT_ANY_TAG ? key.tag : receive->weft.tag;
        }
    }
    return key;
}

/* What a receive asks for; often such that it fits a message or resembles a receive. */
static struct key wanted_key(struct world *w)
{
    struct key key = some_key(w);

    if (w->borrows_keys && random_below(&w->random, 4) != 0) {
        const struct message *message = some_message(w, true);
        const struct receive *receive = some_receive(w, true);

        if (message != NULL) {
            key = (struct key){message->weft.context, message->weft.source,
                               message->weft.tag};
        } else if (receive != NULL) {
            key = (struct key){receive->weft.context, receive->weft.source,
                               receive->weft.tag};
        }
    }
    if (random_below(&w->random, 4) == 0) {
        key.source = WEFT_ANY_SOURCE;
    }
    if (random_below(&w->random, 4) == 0) {
        key.tag = WEFT_ANY_TAG;
    }
    return key;
}

static void step_fetch(struct world *w, const struct key *key, bool takes)
{
    struct message *message = weft_found(w, key);
    int place = model_find(w, key);

    agree(w, (message != NULL ? message->number : 0) == model_number(w, place),
          "another message was found");
    if (takes && message != NULL) {
        weft_match_take(&w->match, &message->weft);
        message->number = 0;
        model_take(w, place);
        w->matched_waiting++;
    }
}

static void step_cancel(struct world *w, struct receive *receive)
{
    bool was_posted = receive->is == POSTED;
    bool is_cancelled = weft_match_cancel(&w->match, &receive->weft);

    if (receive->is == CLAIMED) { /* the model keeps it, inactive, as the matcher may */
        agree(w, !is_cancelled, "a claimed receive was cancelled");
        return;
    }
    agree(w, is_cancelled == was_posted, "cancelling went otherwise than was known");
    agree(w, is_cancelled == portals_unlink(&receive->entry),
          "cancelling went otherwise than in the model");
    if (is_cancelled) {
        receive->is = IDLE;
        w->posted--;
        w->cancelled++;
    }
}

static bool could_take(const struct weft_posted *receive, const struct key *key)
{
    return receive->context == key->context &&
           (receive->source == WEFT_ANY_SOURCE || receive->source == key->source) &&
           (receive->tag == WEFT_ANY_TAG || receive->tag == key->tag);
}

/* May the receive that was just posted be offered? By looking at all the others. */
static bool may_offer_by_looking(const struct world *w, const struct receive *receive,
                                 const struct key *key)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        const struct receive *other = &w->receives[i];

        if (other != receive && other->is != IDLE && other->weft.state == WEFT_POSTED &&
            could_take(&other->weft, key) && other->weft.offer == NULL) {
            return false;
        }
    }
    return true;
}

static void step_offer(struct world *w, struct receive *receive, const struct key *key)
{
    const bool may_offer = weft_match_may_offer(&w->match, &receive->weft);

    if (random_below(&w->random, 8) == 0) { /* it is slow */
        agree(w, may_offer == may_offer_by_looking(w, receive, key),
              "a receive may be offered, or may not");
    }
    if (may_offer && random_below(&w->random, 4) != 0) {
        offer(&receive->weft, &receive->share);
        w->offered++;
    }
}

/* A sender takes an offered receive for itself; in the model, the descriptor refuses. */
static void claim_offered(struct world *w, struct receive *receive)
{
    agree(w, weft_share_claim(&receive->share, receive->weft.offer_generation),
          "an offered receive could not be claimed");
    receive->descriptor.threshold = 0;
    receive->is = CLAIMED;
    w->posted--;
    w->claimed++;
    w->claims++;
}

static void step_claim(struct world *w)
{
    uint32_t place = random_below(&w->random, SLOTS);

    for (uint32_t i = 0; i < SLOTS; i++, place = (place + 1) % SLOTS) {
        struct receive *receive = &w->receives[place];

        if (receive->is == POSTED && receive->weft.offer != NULL) {
            claim_offered(w, receive);
            return;
        }
    }
}

static void step_post(struct world *w)
{
    struct receive *receive = some_receive(w, false);
    const struct key key = wanted_key(w);
    struct message *message;
    uint64_t number;

    message = weft_found(w, &key);
    number = message != NULL ? message->number : 0;
    if (message != NULL) {
        weft_match_take(&w->match, &message->weft);
        message->number = 0;
        w->matched_waiting++;
    } else {
        weft_posts(w, receive, &key);
        receive->is = POSTED;
        w->posted++;
        if (key.source != WEFT_ANY_SOURCE && key.tag != WEFT_ANY_TAG) {
            step_offer(w, receive, &key);
        }
    }
    agree(w, model_post(w, receive, &key) == number, "a receive took another message");
    if (receive->is == POSTED && receive->weft.offer != NULL && w->claimed < MAX_CLAIMS &&
        random_below(&w->random, 4) == 0) {
        claim_offered(w, receive); /* the sender was quick */
    }
}

static void step_arrive(struct world *w)
{
    const struct key key = arriving_key(w);
    const uint64_t number = ++w->last_number;
    struct receive *receive =
        (struct receive *)weft_match_arrive(&w->match, key.context, key.source, key.tag);

    agree(w, receive == model_arrive(w, &key, number),
          "a message went to another receive");
    if (receive != NULL) {
        agree(w, receive->is == POSTED,
              "a message went to a receive that was not posted");
        receive->is = IDLE;
        w->posted--;
        w->matched_posted++;
    } else {
        struct message *message = some_message(w, false);

        message->number = number;
        weft_keeps(w, message, &key);
    }
}

/* That becomes known, before an arrival or a cancellation finds out or after it. */
static void step_claim_is_known(struct world *w)
{
    uint32_t place = random_below(&w->random, SLOTS);

    while (w->receives[place].is != CLAIMED) {
        place = (place + 1) % SLOTS;
    }
    weft_match_claimed(&w->match, &w->receives[place].weft);
    agree(w, w->receives[place].weft.state == WEFT_POSTED_CLAIMED,
          "a claimed receive is in another state");
    portals_unlink(&w->receives[place].entry);
    w->receives[place].is = IDLE;
    w->claimed--;
}

/* A waiting message changes its place in memory, which the model cannot notice. */
static void step_move(struct world *w)
{
    struct message *from = some_message(w, true);
    struct message *to = some_message(w, false);

    *to = *from;
    weft_match_move(&w->match, &from->weft, &to->weft);
    memset(from, 0xff, sizeof(*from));
    from->number = 0;
}

static void compare_counts(struct world *w)
{
    uint32_t posted = 0;

    for (int c = 0; c < CLASSES; c++) {
        posted += w->match.posted_count[c];
    }
    agree(w, posted >= w->posted && posted <= w->posted + w->claimed,
          "the number of receives differs");
    agree(w, w->match.waiting_count == w->held_count + w->unexpected_events.count,
          "the number of waiting messages differs");
}

static void take_step(struct world *w)
{
    /* Now receives wait for messages, now messages for receives, now both or neither. */
    static const uint32_t posts[4] = {40, 60, 15, 33};
    static const uint32_t arrivals[4] = {40, 15, 60, 33};
    const uint32_t mood = w->step / 1500 % 4;
    uint32_t dice = random_below(&w->random, 100);

    if (dice < posts[mood]) {
        if (w->posted >= FULL) {
            step_cancel(w, some_receive(w, true));
        } else {
            step_post(w);
        }
        return;
    }
    dice -= posts[mood];
    if (dice < arrivals[mood]) {
        if (w->match.waiting_count >= FULL) {
            const struct message *message = some_message(w, true);
            const struct key key = {message->weft.context, WEFT_ANY_SOURCE, WEFT_ANY_TAG};

            step_fetch(w, &key, true);
        } else {
            step_arrive(w);
        }
        return;
    }
    dice = random_below(&w->random, 1000);
    if (dice < 100) { /* any slot: matched, cancelled, claimed, never used */
        step_cancel(w, &w->receives[random_below(&w->random, SLOTS)]);
    } else if (dice < 250 && w->posted > 0) {
        step_cancel(w, some_receive(w, true));
    } else if (dice < 270 && w->posted > 0 && w->claimed < MAX_CLAIMS) {
        step_claim(w);
    } else if (dice < 280 && w->claimed > 0) {
        step_claim_is_known(w);
    } else if (dice < 320 && w->match.waiting_count > 0) {
        step_move(w);
    } else {
        const struct key key = wanted_key(w);

        step_fetch(w, &key, random_below(&w->random, 2) != 0);
    }
}

/* Empties both: what is left must be the same, in the same order. */
static void take_the_rest(struct world *w)
{
    while (w->match.waiting_count > 0) {
        const struct key everything = {0, WEFT_ANY_SOURCE, WEFT_ANY_TAG};
        struct key oldest;

        model_find(w, &everything); /* brings in the events */
        oldest = (struct key){(uint32_t)(w->held[0].match_bits >> 32), WEFT_ANY_SOURCE,
                              WEFT_ANY_TAG};
        step_fetch(w, &oldest, true);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        step_cancel(w, &w->receives[i]);
    }
    agree(w, w->posted == 0, "receives were left over");
    compare_counts(w);
}

static uint32_t steps_of_a_run(uint32_t wanted)
{
    const char *text = getenv("WEFT_TEST_STEPS");

    if (text != NULL) {
        return (uint32_t)strtoul(text, NULL, 10);
    }
    return IS_SANITIZED != 0 ? wanted / 5 : wanted;
}

static void run(uint64_t seed, uint32_t steps, const struct world *like)
{
    struct world *w = make(1, sizeof(*w));

    *w = *like;
    w->seed = seed;
    w->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    weft_match_init(&w->match);
    model_open(w, steps);
    for (w->step = 0; w->step < steps; w->step++) {
        take_step(w);
        compare_counts(w);
    }
    take_the_rest(w);
    if (steps >= 10000) { /* a run that never met a case proves nothing about it */
        agree(w, w->matched_posted > steps / 20, "few receives were matched");
        agree(w, w->matched_waiting > steps / 20, "few waiting messages were taken");
        agree(w, w->cancelled > steps / 100, "few receives were cancelled");
        agree(w, w->offered > 0, "no receive was offered");
        agree(w, w->claims > 0, "no receive was claimed");
    }
    weft_match_fini(&w->match);
    model_close(w);
    free(w);
}

static void matcher_and_model_agree_where_keys_collide(void **state)
{
    static const struct world few[5] = {
        {.contexts = 1, .sources = 1, .tags = 1},
        {.contexts = 1, .sources = 3, .tags = 3},
        {.contexts = 2, .sources = 4, .tags = 4},
        {.contexts = 3, .sources = 8, .tags = 2},
        {.contexts = 2, .sources = 2, .tags = 20},
    };

    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        run(seed, steps_of_a_run(100000), &few[seed % 5]);
    }
}

static void matcher_and_model_agree_where_keys_are_many(void **state)
{
    static const struct world many = {
        .borrows_keys = true,
        .contexts = UINT32_MAX,
        .sources = INT32_MAX,
        .tags = INT32_MAX,
    };
    static const struct world some = {
        .borrows_keys = true,
        .contexts = 10,
        .sources = 1000,
        .tags = 1000,
    };

    (void)state;
    run(11, steps_of_a_run(100000), &many);
    run(12, steps_of_a_run(100000), &some);
}

static void matcher_and_model_agree_while_memory_fails(void **state)
{
    static const struct world few = {
        .memory_fails = true,
        .contexts = 2,
        .sources = 5,
        .tags = 5,
    };
    static const struct world many = {
        .memory_fails = true,
        .borrows_keys = true,
        .contexts = 1000,
        .sources = 1000,
        .tags = INT32_MAX,
    };

    (void)state;
    run(21, steps_of_a_run(50000), &few);
    run(22, steps_of_a_run(50000), &many);
}

/* ==== cost ==== */

enum { SHALLOW = 10, DEEP = 100000, HOT = 10, SAMPLES = 5, OPERATIONS = 20000 };

/* How much slower is the same, and what a coarse clock may miss. */
enum { LIMIT = 8, TICK_NS = 10000000 };

/* `depth` receives in every class, or as many messages, each with a key of its own. */
struct crowd {
    struct weft_match match;
    struct weft_posted *posted;
    struct weft_waiting *waiting;
    int depth;
    int class; /* what the operation below is about */
    int wrong; /* results that were not as expected */
};

/* Performs one operation, at one of HOT places that lie evenly in the crowd. */
typedef void operation_fn(struct crowd *crowd, int place);

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t median_ns(struct crowd *crowd, operation_fn *operation)
{
    int64_t sample[SAMPLES];

    for (int s = 0; s < SAMPLES; s++) {
        int64_t start = cpu_ns();
        int i = s;

        for (int n = 0; n < OPERATIONS; n++) {
            operation(crowd, (n % HOT) * (crowd->depth / HOT));
        }
        sample[s] = cpu_ns() - start;
        for (; i > 0 && sample[i - 1] > sample[i]; i--) {
            int64_t kept = sample[i];

            sample[i] = sample[i - 1];
            sample[i - 1] = kept;
        }
    }
    assert_int_equal(crowd->wrong, 0);
    return sample[SAMPLES / 2];
}

static void assert_flat(struct crowd *shallow, struct crowd *deep,
                        operation_fn *operation, int class, const char *name)
{
    int64_t few;
    int64_t many;

    shallow->class = deep->class = class;
    few = median_ns(shallow, operation);
    many = median_ns(deep, operation);
    if (many > LIMIT * few + TICK_NS) { /* a list walked to its end takes seconds */
        fail_msg("%s %d: %.0f ns at depth %d and %.0f ns at depth %d", name, class,
                 (double)few / OPERATIONS, SHALLOW, (double)many / OPERATIONS, DEEP);
    }
    if (getenv("WEFT_TEST_SHOW") != NULL) {
        printf("%-28s %d: %5.0f ns at depth %d, %5.0f ns at depth %d\n", name, class,
               (double)few / OPERATIONS, SHALLOW, (double)many / OPERATIONS, DEEP);
    }
}

static void crowd_close(struct crowd *crowd)
{
    weft_match_fini(&crowd->match);
    free(crowd->posted);
    free(crowd->waiting);
}

/* Receive i of class c, and the message it waits for. */
static uint32_t own_context(const struct crowd *crowd, int place)
{
    return (uint32_t)(place * CLASSES + crowd->class);
}

static void receives_with_own_keys(struct crowd *crowd, int depth)
{
    *crowd = (struct crowd){.depth = depth};
    weft_match_init(&crowd->match);
    crowd->posted = make((size_t)(depth * CLASSES), sizeof(struct weft_posted));
    for (int i = 0; i < depth; i++) {
        for (int c = 0; c < CLASSES; c++) {
            post(&crowd->match, &crowd->posted[i * CLASSES + c], c,
                 (uint32_t)(i * CLASSES + c), i, i);
        }
    }
}

static void arrive_and_repost(struct crowd *crowd, int place)
{
    struct weft_posted *entry =
        weft_match_arrive(&crowd->match, own_context(crowd, place), place, place);

    if (entry != &crowd->posted[place * CLASSES + crowd->class] ||
        weft_match_post(&crowd->match, entry) != WEFT_OK) {
        crowd->wrong++;
    }
}

static void arrive_in_vain(struct crowd *crowd, int place)
{
    if (weft_match_arrive(&crowd->match, UINT32_MAX, place, place) != NULL) {
        crowd->wrong++;
    }
}

static void cancel_and_repost(struct crowd *crowd, int place)
{
    struct weft_posted *entry = &crowd->posted[place * CLASSES + crowd->class];

    if (!weft_match_cancel(&crowd->match, entry) ||
        weft_match_post(&crowd->match, entry) != WEFT_OK) {
        crowd->wrong++;
    }
}

static void an_arrival_costs_the_same_however_many_keys_are_posted(void **state)
{
    struct crowd shallow;
    struct crowd deep;

    (void)state;
    receives_with_own_keys(&shallow, SHALLOW);
    receives_with_own_keys(&deep, DEEP);
    for (int c = 0; c < CLASSES; c++) {
        assert_flat(&shallow, &deep, arrive_and_repost, c, "arrive and post, class");
        assert_flat(&shallow, &deep, cancel_and_repost, c, "cancel and post, class");
    }
    assert_flat(&shallow, &deep, arrive_in_vain, 0, "arrive in vain, class");
    crowd_close(&shallow);
    crowd_close(&deep);
}

/* All receives of one class and key: the list itself is deep. */
static void receives_with_one_key(struct crowd *crowd, int depth, int class)
{
    *crowd = (struct crowd){.depth = depth};
    weft_match_init(&crowd->match);
    crowd->posted = make((size_t)(depth * CLASSES), sizeof(struct weft_posted));
    for (int i = 0; i < depth; i++) {
        post(&crowd->match, &crowd->posted[i * CLASSES + class], class, 1, 2, 3);
    }
}

static void arrive_at_the_front(struct crowd *crowd, int place)
{
    struct weft_posted *entry = weft_match_arrive(&crowd->match, 1, 2, 3);

    (void)place;
    if (entry == NULL || weft_match_post(&crowd->match, entry) != WEFT_OK) {
        crowd->wrong++;
    }
}

static void an_arrival_costs_the_same_however_many_receives_share_a_key(void **state)
{
    struct crowd shallow;
    struct crowd deep;

    (void)state;
    for (int c = 0; c < CLASSES; c++) {
        receives_with_one_key(&shallow, SHALLOW, c);
        receives_with_one_key(&deep, DEEP, c);
        assert_flat(&shallow, &deep, arrive_at_the_front, c,
                    "arrive at the front, class");
        assert_flat(&shallow, &deep, cancel_and_repost, c, "cancel in the middle, class");
        crowd_close(&shallow);
        crowd_close(&deep);
    }
}

/* Keys as programs make them, in which only one part changes, in small or large steps. */
enum { PATTERNS = 6 };

static struct key patterned(int pattern, int place)
{
    switch (pattern) {
    case 0:
        return (struct key){(uint32_t)place, 2, 3};
    case 1:
        return (struct key){1, place, 3};
    case 2:
        return (struct key){1, 2, place};
    case 3:
        return (struct key){(uint32_t)place << 15, 2, 3};
    case 4:
        return (struct key){1, place << 12, 3};
    default:
        return (struct key){1, 2, place << 12};
    }
}

static void arrive_in_a_pattern(struct crowd *crowd, int place)
{
    const struct key key = patterned(crowd->class, place);
    struct weft_posted *entry =
        weft_match_arrive(&crowd->match, key.context, key.source, key.tag);

    if (entry != &crowd->posted[place] ||
        weft_match_post(&crowd->match, entry) != WEFT_OK) {
        crowd->wrong++;
    }
}

static void receives_in_a_pattern(struct crowd *crowd, int depth, int pattern)
{
    *crowd = (struct crowd){.depth = depth};
    weft_match_init(&crowd->match);
    crowd->posted = make((size_t)depth, sizeof(struct weft_posted));
    for (int i = 0; i < depth; i++) {
        const struct key key = patterned(pattern, i);

        post(&crowd->match, &crowd->posted[i], 0, key.context, key.source, key.tag);
    }
}

static void an_arrival_costs_the_same_whichever_part_of_the_key_changes(void **state)
{
    struct crowd shallow;
    struct crowd deep;

    (void)state;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        receives_in_a_pattern(&shallow, SHALLOW, pattern);
        receives_in_a_pattern(&deep, DEEP, pattern);
        assert_flat(&shallow, &deep, arrive_in_a_pattern, pattern, "arrive, key pattern");
        crowd_close(&shallow);
        crowd_close(&deep);
    }
}

/* All classes are asked for, so that all have to be served. */
static void messages(struct crowd *crowd, int depth, bool have_own_keys)
{
    *crowd = (struct crowd){.depth = depth};
    weft_match_init(&crowd->match);
    crowd->waiting = make((size_t)depth, sizeof(struct weft_waiting));
    for (int i = 0; i < depth; i++) {
        int k = have_own_keys ? i : 1;

        keep(&crowd->match, &crowd->waiting[i], (uint32_t)k, k, k);
    }
    for (int c = 0; c < CLASSES; c++) {
        assert_non_null(find(&crowd->match, c, 1, 1, 1));
    }
}

static void find_take_and_keep(struct crowd *crowd, int place)
{
    struct weft_waiting *found =
        find(&crowd->match, crowd->class, (uint32_t)place, place, place);

    if (found != &crowd->waiting[place]) {
        crowd->wrong++;
        return;
    }
    weft_match_take(&crowd->match, found);
    if (weft_match_keep(&crowd->match, found) != WEFT_OK) {
        crowd->wrong++;
    }
}

static void find_first_take_and_keep(struct crowd *crowd, int place)
{
    struct weft_waiting *found = find(&crowd->match, crowd->class, 1, 1, 1);

    (void)place;
    if (found == NULL) {
        crowd->wrong++;
        return;
    }
    weft_match_take(&crowd->match, found);
    if (weft_match_keep(&crowd->match, found) != WEFT_OK) {
        crowd->wrong++;
    }
}

static void find_in_vain(struct crowd *crowd, int place)
{
    if (find(&crowd->match, crowd->class, UINT32_MAX, place, place) != NULL) {
        crowd->wrong++;
    }
}

static void finding_costs_the_same_however_many_messages_wait(void **state)
{
    struct crowd shallow;
    struct crowd deep;

    (void)state;
    messages(&shallow, SHALLOW, true);
    messages(&deep, DEEP, true);
    for (int c = 0; c < CLASSES; c++) {
        assert_flat(&shallow, &deep, find_take_and_keep, c, "find, take, keep, class");
        assert_flat(&shallow, &deep, find_in_vain, c, "find in vain, class");
    }
    crowd_close(&shallow);
    crowd_close(&deep);

    messages(&shallow, SHALLOW, false);
    messages(&deep, DEEP, false);
    for (int c = 0; c < CLASSES; c++) {
        assert_flat(&shallow, &deep, find_first_take_and_keep, c,
                    "find the first of a key, class");
    }
    crowd_close(&shallow);
    crowd_close(&deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_entries_are_tried_in_the_order_of_their_list),
        cmocka_unit_test(model_an_unlinked_entry_takes_nothing),
        cmocka_unit_test(model_ignored_bits_need_not_agree_and_all_others_must),
        cmocka_unit_test(model_an_initiator_is_named_or_left_open),
        cmocka_unit_test(model_table_entries_keep_protocols_apart),
        cmocka_unit_test(model_a_descriptor_answers_only_what_it_is_open_to),
        cmocka_unit_test(model_a_used_up_threshold_makes_inactive_and_unlinks_if_asked),
        cmocka_unit_test(model_an_entry_linked_inactive_stays_until_it_is_used),
        cmocka_unit_test(model_a_descriptor_is_activated_only_if_no_event_is_pending),
        cmocka_unit_test(model_a_managed_offset_lays_messages_one_after_the_other),
        cmocka_unit_test(model_a_remote_offset_is_the_initiators),
        cmocka_unit_test(model_a_longer_message_is_truncated_or_passed_on),
        cmocka_unit_test(model_a_buffer_past_its_mark_gives_way_to_the_next),
        cmocka_unit_test(model_an_acknowledgement_needs_both_sides),
        cmocka_unit_test(
            model_each_operation_leaves_its_event_with_the_state_of_that_moment),
        cmocka_unit_test(model_an_inactive_descriptor_sends_nothing_and_hears_nothing),
        cmocka_unit_test(model_a_full_event_queue_loses_and_counts),
        cmocka_unit_test(model_a_short_send_is_complete_when_sent),
        cmocka_unit_test(model_a_synchronous_send_waits_for_either_answer),
        cmocka_unit_test(model_a_long_send_is_taken_at_once_or_fetched_later),

        cmocka_unit_test(an_empty_matcher_knows_nothing),
        cmocka_unit_test(a_receive_takes_what_agrees_in_all_that_it_names),
        cmocka_unit_test(a_receive_finds_what_agrees_in_all_that_it_names),
        cmocka_unit_test(the_receive_posted_first_wins_in_every_pair_of_classes),
        cmocka_unit_test(receives_of_all_classes_win_in_the_order_of_posting),
        cmocka_unit_test(receives_of_one_key_are_taken_in_order_among_those_of_others),
        cmocka_unit_test(waiting_messages_are_found_in_order_of_arrival),
        cmocka_unit_test(a_class_first_asked_for_late_finds_what_is_already_waiting),
        cmocka_unit_test(a_class_asked_for_again_after_all_were_taken_starts_anew),
        cmocka_unit_test(waiting_messages_can_be_taken_in_any_order),
        cmocka_unit_test(a_waiting_message_keeps_its_place_when_it_is_moved),
        cmocka_unit_test(a_cancelled_receive_leaves_the_others_in_order),
        cmocka_unit_test(a_cancelled_receive_posted_again_is_the_youngest),
        cmocka_unit_test(a_receive_that_somebody_has_cannot_be_cancelled),
        cmocka_unit_test(an_arrival_passes_over_receives_that_a_sender_has_claimed),
        cmocka_unit_test(whoever_takes_an_offered_receive_takes_its_offer_back),
        cmocka_unit_test(a_claimed_receive_leaves_when_that_is_known),
        cmocka_unit_test(a_receive_behind_one_that_leaves_something_open_is_not_offered),
        cmocka_unit_test(a_receive_is_offered_only_behind_others_that_are),
        cmocka_unit_test(tables_of_receives_grow_and_shrink_again),
        cmocka_unit_test(tables_of_waiting_messages_grow_and_shrink_again),
        cmocka_unit_test(a_receive_that_cannot_be_posted_changes_nothing),
        cmocka_unit_test(a_known_key_needs_no_memory),
        cmocka_unit_test(a_message_that_cannot_be_kept_changes_nothing),
        cmocka_unit_test(a_waiting_message_is_found_also_without_memory),

        cmocka_unit_test(matcher_and_model_agree_where_keys_collide),
        cmocka_unit_test(matcher_and_model_agree_where_keys_are_many),
        cmocka_unit_test(matcher_and_model_agree_while_memory_fails),

        cmocka_unit_test(an_arrival_costs_the_same_however_many_keys_are_posted),
        cmocka_unit_test(an_arrival_costs_the_same_however_many_receives_share_a_key),
        cmocka_unit_test(an_arrival_costs_the_same_whichever_part_of_the_key_changes),
        cmocka_unit_test(finding_costs_the_same_however_many_messages_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
