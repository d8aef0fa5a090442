/*
 * test_ring.c - the ring of many writers: threads stand for processes.
 *
 * What a packet holds follows from its writer and number, so that the reader knows it.
 */
#include "unit.h"

#include "sanitized.h"
#include "transport/shm/ring.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    WRITERS = 8,
    PREFIX = sizeof(struct weft_ring_head) + WEFT_HEADER_BYTES,
    CELL_DATA = WEFT_RING_CELL_BYTES - 8,
    LARGEST = WEFT_SHORT_MAX,
    BYTES = 64 * 1024,
    LIMIT_SECONDS = 580,
    NAME = WEFT_RING_INBOX,
    PAGE = 4096,
};

static uint8_t bytes[BYTES]; /* all packets are parts of this */
static struct weft_ring ring;
static struct weft_ring_cell cells[WEFT_INBOX_CELLS];
static struct weft_ring_claim claims[WRITERS];
static bool is_failed[WRITERS];

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

static int fill_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < BYTES; i++) {
        bytes[i] = (uint8_t)mix(i);
    }
    return 0;
}

static void ring_open(void)
{
    memset(&ring, 0, sizeof(ring));
    memset(cells, 0, sizeof(cells));
    memset(claims, 0, sizeof(claims));
    memset(is_failed, 0, sizeof(is_failed));
}

static uint32_t cells_for(uint32_t len)
{
    return (PREFIX + len + CELL_DATA - 1) / CELL_DATA;
}

struct packet {
    struct weft_ring_head head;
    const uint8_t *header;
    const uint8_t *data;
};

static struct packet packet_of(uint32_t writer, uint32_t number, uint32_t len)
{
    const uint64_t r = mix((uint64_t)writer << 32 | number);

    return (struct packet){
        .head = {.from = writer, .local = writer + 100, .len = len},
        .header = bytes + r % (BYTES - WEFT_HEADER_BYTES),
        .data = bytes + (r >> 20) % (BYTES - LARGEST),
    };
}

/* Mostly small ones. */
static uint32_t random_length(uint32_t writer, uint32_t number)
{
    const uint64_t r = mix((uint64_t)number << 8 | writer | 1u << 7);

    return (uint32_t)(r >> 8) % (r % 4 == 0 ? LARGEST + 1 : 300);
}

static _Thread_local bool is_followed; /* by another writer, the last push() */

static enum weft_rc push(uint32_t count, const struct packet *p)
{
    bool is_it = false;
    const enum weft_rc rc =
        weft_ring_push(&ring, cells, count, &claims[p->head.from % WRITERS], NAME,
                       &p->head, p->header, p->data, &is_it);

    is_followed = is_it;
    return rc;
}

static bool is_same(const struct weft_ring_packet *got, const struct packet *p)
{
    return memcmp(&got->head, &p->head, sizeof(p->head)) == 0 &&
           memcmp(got->header, p->header, WEFT_HEADER_BYTES) == 0 &&
           memcmp(got->data, p->data, p->head.len) == 0;
}

/* The packet that must be next. */
static void assert_next(uint32_t count, const struct packet *p)
{
    struct weft_ring_head head;
    struct weft_ring_packet got;

    assert_true(weft_ring_peek(&ring, cells, count, &head));
    assert_memory_equal(&head, &p->head, sizeof(head));
    weft_ring_read(&ring, cells, count, &head, &got);
    weft_ring_drop(&ring, &head);
    assert_true(is_same(&got, p));
}

static void assert_empty(uint32_t count)
{
    struct weft_ring_head head;

    assert_false(weft_ring_peek(&ring, cells, count, &head));
}

/* ---- one thread ---- */

static void a_zeroed_ring_is_empty(void **state)
{
    (void)state;
    ring_open();
    assert_empty(WEFT_INBOX_CELLS);
    assert_empty(WEFT_CONTROL_CELLS);
}

/* Lengths and numbers of cells that no sender writes, in a packet that was one. */
static void what_no_sender_writes_is_no_packet(void **state)
{
    const uint32_t lengths[] = {WEFT_SHORT_MAX + 1, 400, UINT32_MAX - PREFIX, UINT32_MAX};
    const uint32_t counts[] = {0, 2, WEFT_INBOX_CELLS + 1, UINT32_MAX};
    const struct packet p = packet_of(1, 0, 8);
    struct weft_ring_head head;

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        ring_open();
        assert_int_equal(push(WEFT_INBOX_CELLS, &p), WEFT_OK);
        memcpy(cells[0].data + offsetof(struct weft_ring_head, len), &lengths[i], 4);
        assert_true(weft_ring_peek(&ring, cells, WEFT_INBOX_CELLS, &head));
        assert_true(head.len == UINT32_MAX);
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        ring_open();
        for (uint32_t k = 0; k < WEFT_INBOX_CELLS; k++) {
            assert_int_equal(push(WEFT_INBOX_CELLS, &p), WEFT_OK);
        }
        cells[0].cells = counts[i];
        assert_true(weft_ring_peek(&ring, cells, WEFT_INBOX_CELLS, &head));
        assert_true(head.len == UINT32_MAX);
    }
}

static void packets_of_every_size_pass_an_empty_ring(void **state)
{
    const uint32_t counts[] = {WEFT_INBOX_CELLS, WEFT_CONTROL_CELLS};

    (void)state;
    for (int c = 0; c < 2; c++) {
        ring_open();
        for (uint32_t len = 0; len <= LARGEST; len++) {
            struct packet p = packet_of(1, len, len);

            assert_int_equal(push(counts[c], &p), WEFT_OK);
            assert_next(counts[c], &p);
            assert_empty(counts[c]);
        }
    }
}

static void packets_of_every_size_begin_at_every_cell(void **state)
{
    const uint32_t count = WEFT_CONTROL_CELLS;
    uint32_t number = 0;

    (void)state;
    ring_open();
    for (uint32_t at = 0; at < count; at++) {
        for (uint32_t n = 1; n <= cells_for(LARGEST); n++) {
            struct packet p;

            while (atomic_load(&ring.claimed) % count != at) {
                p = packet_of(2, number++, 0);
                assert_int_equal(push(count, &p), WEFT_OK);
                assert_next(count, &p);
            }
            p = packet_of(3, number++,
                          n * CELL_DATA - PREFIX < LARGEST ? n * CELL_DATA - PREFIX
                                                           : LARGEST);
            assert_int_equal(push(count, &p), WEFT_OK);
            assert_next(count, &p);
            assert_empty(count);
        }
    }
}

static void a_full_ring_says_so_and_takes_nothing(void **state)
{
    const uint32_t lengths[] = {0, CELL_DATA - PREFIX + 1, 1000, LARGEST};
    static struct weft_ring_cell before[WEFT_INBOX_CELLS];

    (void)state;
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        const uint32_t fit = WEFT_INBOX_CELLS / cells_for(lengths[l]);
        uint32_t sent = 0;
        uint32_t taken = 0;

        ring_open();
        for (int round = 0; round < 100; round++) {
            uint64_t claimed;
            struct packet p;

            for (;;) {
                p = packet_of(4, sent, lengths[l]);
                claimed = atomic_load(&ring.claimed);
                memcpy(before, cells, sizeof(cells));
                if (push(WEFT_INBOX_CELLS, &p) != WEFT_OK) {
                    break;
                }
                sent++;
                assert_true(sent - taken <= fit);
            }
            assert_int_equal(sent - taken, fit);
            assert_int_equal(push(WEFT_INBOX_CELLS, &p), WEFT_AGAIN);
            assert_int_equal(atomic_load(&ring.claimed), claimed);
            assert_memory_equal(before, cells, sizeof(cells));
            for (uint32_t i = 0; i <= (uint32_t)round % fit; i++) {
                p = packet_of(4, taken++, lengths[l]);
                assert_next(WEFT_INBOX_CELLS, &p);
            }
        }
        while (taken < sent) {
            struct packet p = packet_of(4, taken++, lengths[l]);

            assert_next(WEFT_INBOX_CELLS, &p);
        }
        assert_empty(WEFT_INBOX_CELLS);
    }
}

/*
 * A writer that stops between claiming and publishing: its cells are filled by hand, the
 * last one first, while another's packet is complete behind them.
 */
static void a_writer_that_stops_holds_up_those_behind_it_and_loses_none(void **state)
{
    const uint32_t count = WEFT_CONTROL_CELLS;
    struct packet slow = packet_of(5, 0, 3 * CELL_DATA - PREFIX);
    struct packet quick = packet_of(6, 0, 50);
    uint8_t stream[3 * CELL_DATA];

    (void)state;
    ring_open();
    memcpy(stream, &slow.head, sizeof(slow.head));
    memcpy(stream + sizeof(slow.head), slow.header, WEFT_HEADER_BYTES);
    memcpy(stream + PREFIX, slow.data, slow.head.len);

    atomic_fetch_add(&ring.claimed, 3);
    assert_int_equal(push(count, &quick), WEFT_OK);
    assert_empty(count);
    cells[0].cells = 3;
    for (int i = 2; i >= 0; i--) {
        assert_empty(count);
        memcpy(cells[i].data, stream + i * CELL_DATA, CELL_DATA);
        atomic_store(&cells[i].generation, 1);
    }
    assert_next(count, &slow);
    assert_next(count, &quick);
    assert_empty(count);
}

/*
 * A writer that copies its data out of a page that cannot be read yet stops there,
 * between claiming and publishing. Meanwhile another one pushes a whole packet.
 */
static uint8_t *page;
static struct packet pushed_meanwhile;
static bool is_meanwhile_followed;

static void push_meanwhile(int number)
{
    (void)number;
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    (void)push(WEFT_CONTROL_CELLS, &pushed_meanwhile);
    is_meanwhile_followed = is_followed;
}

static void a_writer_learns_that_another_one_has_come_behind_it(void **state)
{
    struct packet slow = packet_of(5, 0, 50);
    void (*before)(int);

    (void)state;
    ring_open();
    page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    slow.data = page;
    pushed_meanwhile = packet_of(6, 0, 60);
    before = signal(SIGSEGV, push_meanwhile);
    assert_int_equal(push(WEFT_CONTROL_CELLS, &slow), WEFT_OK);
    signal(SIGSEGV, before);
    assert_true(is_followed); /* whoever rang for that packet rang in vain */
    assert_false(is_meanwhile_followed);
    assert_next(WEFT_CONTROL_CELLS, &slow);
    assert_next(WEFT_CONTROL_CELLS, &pushed_meanwhile);
    assert_int_equal(push(WEFT_CONTROL_CELLS, &pushed_meanwhile), WEFT_OK);
    assert_false(is_followed);
    munmap(page, PAGE);
}

/* ---- many threads ---- */

struct writer {
    pthread_t thread;
    uint32_t name;
    uint32_t count;
};

static atomic_uint refused; /* by all of them */

static void *write_all(void *argument)
{
    struct writer *w = argument;

    for (uint32_t i = 0; i < w->count; i++) {
        struct packet p = packet_of(w->name, i, random_length(w->name, i));

        while (push(WEFT_INBOX_CELLS, &p) != WEFT_OK) {
            atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
            sched_yield();
        }
    }
    return NULL;
}

static bool read_one(uint32_t *next, uint32_t writers)
{
    struct weft_ring_head head;
    struct weft_ring_packet got;
    struct packet p;

    while (!weft_ring_peek(&ring, cells, WEFT_INBOX_CELLS, &head)) {
        sched_yield();
    }
    weft_ring_read(&ring, cells, WEFT_INBOX_CELLS, &head, &got);
    weft_ring_drop(&ring, &head);
    if (got.head.from >= writers) {
        return false;
    }
    p = packet_of(got.head.from, next[got.head.from],
                  random_length(got.head.from, next[got.head.from]));
    next[got.head.from]++;
    return is_same(&got, &p);
}

static void run_writers(uint32_t writers, uint32_t packets)
{
    struct writer w[WRITERS];
    uint32_t next[WRITERS] = {0};

    ring_open();
    atomic_store_explicit(&refused, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < writers; i++) {
        w[i] = (struct writer){.name = i, .count = packets / writers};
        assert_int_equal(pthread_create(&w[i].thread, NULL, write_all, &w[i]), 0);
    }
    while (atomic_load_explicit(&refused, memory_order_relaxed) == 0) {
        sched_yield(); /* they begin by filling it */
    }
    for (uint32_t i = 0; i < packets / writers * writers; i++) {
        assert_true(read_one(next, writers));
    }
    for (uint32_t i = 0; i < writers; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal(next[i], w[i].count);
    }
    assert_empty(WEFT_INBOX_CELLS);
}

static void packets_of_each_writer_arrive_whole_and_in_order(void **state)
{
    (void)state;
    for (uint32_t writers = 1; writers <= WRITERS; writers++) {
        run_writers(writers, IS_SANITIZED ? 10000 : 100000);
    }
}

/* ---- a writer that dies ---- */

static struct weft_ring_writer writer_of(const void *of, uint32_t n)
{
    (void)of;
    return (struct weft_ring_writer){.claim = &claims[n], .is_failed = is_failed[n]};
}

static void mend(void)
{
    weft_ring_mend(&ring, cells, WEFT_INBOX_CELLS, NAME, WRITERS, writer_of, NULL);
}

/* As a writer does that is stopped before it has published `published` cells. */
static void stop_in_push(uint32_t writer, uint32_t n, uint32_t published)
{
    const uint64_t first = atomic_load(&ring.claimed);

    atomic_store(&claims[writer].ring, NAME);
    atomic_store(&claims[writer].cells, n);
    atomic_store(&claims[writer].first, first);
    atomic_store(&ring.claimed, first + n);
    cells[first % WEFT_INBOX_CELLS].cells = n;
    for (uint32_t i = 0; i < published; i++) {
        atomic_store(&cells[(first + i) % WEFT_INBOX_CELLS].generation,
                     (uint32_t)((first + i) / WEFT_INBOX_CELLS) + 1);
    }
}

static void a_writer_that_dies_holds_up_nobody(void **state)
{
    (void)state;
    ring_open();
    for (uint32_t round = 0; round < 500; round++) {
        const uint32_t n = 1 + round % 5;
        struct packet before = packet_of(1, 2 * round, round % 600);
        struct packet behind = packet_of(2, 2 * round + 1, round % 900);

        is_failed[3] = false;
        assert_int_equal(push(WEFT_INBOX_CELLS, &before), WEFT_OK);
        stop_in_push(3, n, round / 5 % n);
        assert_int_equal(push(WEFT_INBOX_CELLS, &behind), WEFT_OK);
        mend(); /* it is not its turn */
        assert_next(WEFT_INBOX_CELLS, &before);
        mend(); /* it lives */
        assert_empty(WEFT_INBOX_CELLS);
        is_failed[3] = true;
        mend();
        assert_next(WEFT_INBOX_CELLS, &behind);
        assert_empty(WEFT_INBOX_CELLS);
        mend();
        assert_empty(WEFT_INBOX_CELLS);
    }
}

/* The dead one wanted the same cells and did not get them. */
static void what_a_living_writer_has_claimed_is_left_to_it(void **state)
{
    const uint64_t first = 0;

    (void)state;
    ring_open();
    stop_in_push(4, 1, 0);
    atomic_store(&claims[3].ring, NAME);
    atomic_store(&claims[3].cells, 2);
    is_failed[3] = true;
    mend();
    assert_int_equal(atomic_load(&ring.taken), first);
    atomic_store(&cells[0].generation, 1); /* published */
    atomic_store(&claims[4].first, 77);
    mend();
    assert_int_equal(atomic_load(&ring.taken), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_ring_is_empty),
        cmocka_unit_test(what_no_sender_writes_is_no_packet),
        cmocka_unit_test(packets_of_every_size_pass_an_empty_ring),
        cmocka_unit_test(packets_of_every_size_begin_at_every_cell),
        cmocka_unit_test(a_full_ring_says_so_and_takes_nothing),
        cmocka_unit_test(a_writer_that_stops_holds_up_those_behind_it_and_loses_none),
        cmocka_unit_test(a_writer_learns_that_another_one_has_come_behind_it),
        cmocka_unit_test(a_writer_that_dies_holds_up_nobody),
        cmocka_unit_test(what_a_living_writer_has_claimed_is_left_to_it),
        cmocka_unit_test(packets_of_each_writer_arrive_whole_and_in_order),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, fill_bytes, NULL);
}
