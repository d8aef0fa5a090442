/*
 * test_unexpected.c - the buffers of messages that nobody has asked for: made on need,
 * filled by space, retired, put back in line, and emptied of their last survivors. At the
 * end beside plain lists, through random steps.
 *
 * WEFT_TEST_STEPS sets the steps of the random run.
 */
#include "no_reserve.h"
#include "unit.h"

#include "match/unexpected.h"

#include <sys/mman.h>
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    BUFFERS = WEFT_UNEXPECTED_BUFFERS,
    BUFFER_BYTES = WEFT_UNEXPECTED_BYTES,
    LARGEST = WEFT_EAGER_MAX,
    FEW = BUFFER_BYTES / 16, /* survivors are copied out of a buffer with so many bytes */
    SLACK = 64,              /* a store may call itself full so many bytes early */
    CONTEXT = 4,
    STEPS = 200000,
};

/* ---- memory that fails: linked with --wrap=malloc and mmap64 ---- */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static size_t largest_malloc = SIZE_MAX;

void *__wrap_malloc(size_t size)
{
    return size <= largest_malloc ? __real_malloc(size) : NULL;
}

/* The buffers come from here; with 64-bit offsets this is its name. */
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd,
                    off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
                    off_t offset);

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd,
                    off_t offset)
{
    return size <= largest_malloc ? __real_mmap64(at, size, protection, flags, fd, offset)
                                  : MAP_FAILED;
}

/* ---- a store with its matcher ---- */

struct lab {
    struct weft_unexpected_store store;
    struct weft_match match;
};

static uint32_t record(size_t len)
{
    return (uint32_t)((sizeof(struct weft_unexpected) + len + 15) / 16 * 16);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

static void lab_open(struct lab *lab)
{
    memset(lab, 0, sizeof(*lab));
    weft_match_init(&lab->match);
    largest_malloc = SIZE_MAX;
}

static void lab_close(struct lab *lab)
{
    largest_malloc = SIZE_MAX;
    weft_unexpected_close(&lab->store, &lab->match);
    assert_int_equal(lab->match.waiting_count, 0);
    assert_int_equal(lab->store.beyond, 0);
    weft_match_fini(&lab->match);
}

/* The bytes of a message follow from its number, which its header carries. */
static void fill(uint8_t *data, size_t len, uint32_t number)
{
    const uint8_t first = (uint8_t)mix(number);

    for (size_t i = 0; i < len; i++) {
        data[i] = (uint8_t)(first + i);
    }
}

/* Nobody looks behind the pointer. */
static struct weft_peer *sender_of(uint32_t number)
{
    return (struct weft_peer *)((uintptr_t)number + 1000);
}

static struct weft_unexpected *keep(struct lab *lab, int source, int tag, size_t len,
                                    uint32_t number)
{
    static uint8_t data[LARGEST];
    const struct weft_header header = {
        .kind = WEFT_PKT_EAGER,
        .sequence = number,
        .context = CONTEXT,
        .source = (uint32_t)source,
        .tag = tag,
        .length = (uint32_t)len,
    };

    fill(data, len, number);
    return weft_unexpected_keep(&lab->store, &lab->match, sender_of(number), &header,
                                data, len);
}

static void assert_message(const struct weft_unexpected *m, uint32_t number, size_t len)
{
    static uint8_t data[LARGEST];

    assert_int_equal(m->header.sequence, number);
    assert_int_equal(m->header.length, len);
    assert_ptr_equal(m->from, sender_of(number));
    fill(data, len, number);
    assert_memory_equal(m->data, data, len);
}

static struct weft_unexpected *find(struct lab *lab, int source, int tag)
{
    return (struct weft_unexpected *)weft_match_find(&lab->match, CONTEXT, source, tag);
}

static void take(struct lab *lab, struct weft_unexpected *m)
{
    weft_match_take(&lab->match, &m->waiting);
    weft_unexpected_free(&lab->store, &lab->match, m);
}

static void take_number(struct lab *lab, int source, int tag, uint32_t number, size_t len)
{
    struct weft_unexpected *m = find(lab, source, tag);

    assert_non_null(m);
    assert_message(m, number, len);
    take(lab, m);
}

static int buffers_made(const struct lab *lab)
{
    int made = 0;

    for (int i = 0; i < BUFFERS; i++) {
        made += lab->store.buffers[i].memory != NULL ? 1 : 0;
    }
    return made;
}

/* Messages of the largest size that fit one buffer. */
static uint32_t largest_in_a_buffer(void)
{
    return BUFFER_BYTES / record(LARGEST);
}

/*
 * What the store says of itself is what can be counted: bytes per buffer and outside, and
 * whether it is full.
 */
static void assert_accounts(const struct lab *lab)
{
    const struct weft_unexpected_store *store = &lab->store;
    uint64_t live[BUFFERS] = {0};
    uint64_t outside = 0;
    bool has_few = false;
    uint32_t room;

    for (const struct weft_link *l = lab->match.all.next; l != &lab->match.all;
         l = l->next) {
        const struct weft_unexpected *m =
            (const struct weft_unexpected *)((const char *)l -
                                             offsetof(struct weft_waiting, all));

        if (m->buffer == WEFT_UNEXPECTED_OUTSIDE) {
            outside += m->bytes;
        } else {
            assert_true(m->buffer < BUFFERS);
            live[m->buffer] += m->bytes;
        }
    }
    assert_int_equal(store->beyond, outside);
    for (int i = 0; i < BUFFERS; i++) {
        assert_int_equal(store->buffers[i].live, live[i]);
        assert_true(store->buffers[i].used <= BUFFER_BYTES);
        assert_true(store->buffers[i].used >= live[i]);
        assert_true(live[i] > 0 || store->buffers[i].used == 0);
        has_few = has_few || live[i] <= FEW;
    }
    room = BUFFER_BYTES - store->buffers[store->current].used;
    if (has_few || room >= record(LARGEST) + SLACK) {
        assert_int_equal(store->is_full, outside >= BUFFER_BYTES);
    } else if (room < record(LARGEST)) {
        assert_true(store->is_full);
    }
}

/* ---- one by one ---- */

static void buffers_are_made_when_they_are_needed(void **state)
{
    struct lab lab;
    uint8_t last;
    int made = 1;

    (void)state;
    lab_open(&lab);
    assert_int_equal(buffers_made(&lab), 0);
    assert_false(lab.store.is_full);
    last = keep(&lab, 1, 1, 100, 0)->buffer;
    assert_int_equal(buffers_made(&lab), 1);
    for (uint32_t i = 1; i < BUFFERS * largest_in_a_buffer(); i++) {
        struct weft_unexpected *m = keep(&lab, 1, 1, LARGEST, i);

        assert_non_null(m);
        if (m->buffer != last) { /* none ahead of need */
            made++;
            last = m->buffer;
        }
        assert_int_equal(buffers_made(&lab), made);
    }
    assert_int_equal(buffers_made(&lab), BUFFERS);
    assert_accounts(&lab);
    lab_close(&lab);
}

static void an_empty_message_costs_its_record_only(void **state)
{
    const uint32_t fit = BUFFER_BYTES / record(0);
    struct lab lab;
    uint32_t first;

    (void)state;
    lab_open(&lab);
    for (uint32_t i = 0; i < fit; i++) {
        struct weft_unexpected *m = keep(&lab, 1, 1, 0, i);

        assert_non_null(m);
        first = i == 0 ? m->buffer : first;
        assert_int_equal(m->buffer, first);
        assert_int_equal(m->bytes, record(0));
        assert_int_equal(lab.store.buffers[first].used, (i + 1) * record(0));
    }
    assert_int_equal(buffers_made(&lab), 1);
    assert_int_not_equal(keep(&lab, 1, 1, 0, fit)->buffer, first);
    for (uint32_t i = 0; i <= fit; i++) {
        take_number(&lab, 1, 1, i, 0);
    }
    assert_accounts(&lab);
    lab_close(&lab);
}

/* One buffer after the other is filled and drained: always the same three. */
static void a_drained_buffer_goes_back_to_the_end_of_the_line(void **state)
{
    uint32_t line[BUFFERS]; /* in the order of first use */
    uint32_t sent = 0;
    uint32_t taken = 0;
    struct lab lab;

    (void)state;
    lab_open(&lab);
    for (int turn = 0; turn < 4 * BUFFERS; turn++) {
        for (uint32_t i = 0; i < largest_in_a_buffer(); i++) {
            struct weft_unexpected *m = keep(&lab, 1, 1, LARGEST, sent++);

            if (turn < BUFFERS && i == 0) {
                line[turn] = m->buffer;
                assert_int_equal(buffers_made(&lab), turn + 1);
            }
            assert_int_equal(m->buffer, line[turn % BUFFERS]);
        }
        if (turn > 0) { /* the one before it, while this one is full */
            for (uint32_t i = 0; i < largest_in_a_buffer(); i++) {
                take_number(&lab, 1, 1, taken++, LARGEST);
            }
            assert_false(lab.store.is_full);
        }
        assert_accounts(&lab);
    }
    assert_int_equal(lab.store.beyond, 0);
    lab_close(&lab);
}

static void the_store_is_full_when_the_largest_message_has_no_room(void **state)
{
    const uint32_t fit = BUFFERS * largest_in_a_buffer();
    uint32_t taken = 0;
    uint32_t oldest;
    struct lab lab;

    (void)state;
    lab_open(&lab);
    for (uint32_t i = 0; i < fit; i++) {
        assert_false(lab.store.is_full);
        assert_true(keep(&lab, 1, (int)i, LARGEST, i)->buffer < BUFFERS);
    }
    assert_true(lab.store.is_full);
    oldest = find(&lab, 1, 0)->buffer;

    /* What is granted beyond lives outside and is counted. */
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(keep(&lab, 1, (int)(fit + i), LARGEST, fit + i)->buffer,
                         WEFT_UNEXPECTED_OUTSIDE);
        assert_int_equal(lab.store.beyond, (i + 1) * record(LARGEST));
        assert_true(lab.store.is_full);
    }
    assert_accounts(&lab);

    /* From the oldest buffer, until what is left in it could be copied out. */
    while (lab.store.is_full) {
        assert_true(lab.store.buffers[oldest].live > FEW);
        take_number(&lab, 1, (int)taken, taken, LARGEST);
        taken++;
        assert_accounts(&lab);
    }
    assert_true(lab.store.buffers[oldest].live <= FEW);
    assert_true(lab.store.buffers[oldest].live > FEW - record(LARGEST));

    /* And then there is room inside again. */
    assert_int_equal(keep(&lab, 1, -9, LARGEST, 0)->buffer, oldest);
    for (uint32_t i = taken; i < fit + 10; i++) {
        take_number(&lab, 1, (int)i, i, LARGEST);
    }
    assert_int_equal(lab.store.beyond, 0);
    assert_false(lab.store.is_full);
    assert_accounts(&lab);
    lab_close(&lab);
}

/* Every twentieth message survives the first turn; two keys take turns. */
static void survivors_are_copied_out_and_stay_matchable_in_order(void **state)
{
    const uint32_t fit = largest_in_a_buffer();
    enum { EVERY = 20 };
    uint32_t number = 0;
    uint32_t survivors = 0;
    uint32_t oldest;
    struct lab lab;

    (void)state;
    lab_open(&lab);
    for (int b = 0; b < BUFFERS; b++) {
        for (uint32_t i = 0; i < fit; i++, number++) {
            const bool stays = number % EVERY == 0;
            const int tag = stays ? 5 + (int)(number / EVERY % 2) : 1;

            assert_non_null(keep(&lab, 1, tag, LARGEST, number));
        }
    }
    assert_non_null(find(&lab, WEFT_ANY_SOURCE, WEFT_ANY_TAG)); /* every class is used */
    assert_non_null(find(&lab, WEFT_ANY_SOURCE, 5));
    assert_non_null(find(&lab, 1, WEFT_ANY_TAG));
    for (uint32_t i = 0; i < number; i++) {
        if (i % EVERY == 0) {
            survivors++;
        } else {
            take_number(&lab, 1, 1, i, LARGEST);
        }
    }
    assert_int_equal(lab.store.beyond, 0);
    assert_accounts(&lab);

    /* The next message needs a buffer, and empties the oldest. */
    oldest = find(&lab, 1, 5)->buffer;
    assert_int_equal(keep(&lab, 1, 1, LARGEST, number++)->buffer, oldest);
    assert_true(lab.store.beyond > 0);
    assert_true(lab.store.beyond <= FEW);
    assert_int_equal(lab.store.buffers[oldest].live, record(LARGEST));
    assert_accounts(&lab);
    for (uint32_t i = 1; i < BUFFERS * fit; i++) { /* and then the others */
        assert_non_null(keep(&lab, 1, 1, LARGEST, number++));
    }
    assert_int_equal(lab.store.beyond, survivors * record(LARGEST));
    assert_accounts(&lab);

    /* By key, by source, by nothing: all in order of arrival. */
    for (uint32_t i = 0; i < survivors; i++) {
        const int tag = 5 + (int)(i % 2);

        take_number(&lab, i % 3 == 0 ? WEFT_ANY_SOURCE : 1,
                    i % 4 == 0 ? WEFT_ANY_TAG : tag, i * EVERY, LARGEST);
    }
    assert_int_equal(lab.store.beyond, 0);
    assert_accounts(&lab);
    for (uint32_t i = 0; i < BUFFERS * fit; i++) {
        take_number(&lab, WEFT_ANY_SOURCE, WEFT_ANY_TAG, BUFFERS * fit + i, LARGEST);
    }
    assert_null(find(&lab, WEFT_ANY_SOURCE, WEFT_ANY_TAG));
    assert_accounts(&lab);
    lab_close(&lab);
}

/* Survivors can be copied out again and again, but not without end. */
static void what_was_copied_out_is_bounded_too(void **state)
{
    const uint32_t fit = largest_in_a_buffer();
    const uint32_t stay = FEW / record(LARGEST);
    uint32_t number = 0;
    uint32_t survivors = 0;
    struct lab lab;

    (void)state;
    lab_open(&lab);
    while (!lab.store.is_full) {
        uint32_t first = number;

        assert_true(number < 100 * fit);
        for (uint32_t i = 0; i < fit && !lab.store.is_full; i++, number++) {
            assert_non_null(keep(&lab, 1, i < stay ? 5 : 1, LARGEST, number));
            survivors += i < stay ? 1 : 0;
        }
        for (uint32_t i = first + stay; i < number; i++) {
            take_number(&lab, 1, 1, i, LARGEST);
        }
    }
    assert_true(lab.store.beyond >= BUFFER_BYTES);
    assert_true(lab.store.beyond < BUFFER_BYTES + FEW + record(LARGEST));
    assert_accounts(&lab);
    take(&lab, find(&lab, 1, 5));
    survivors--;
    while (lab.store.is_full) {
        take(&lab, find(&lab, 1, 5));
        survivors--;
    }
    assert_accounts(&lab);
    for (; survivors > 0; survivors--) {
        take(&lab, find(&lab, 1, 5));
    }
    assert_int_equal(lab.store.beyond, 0);
    assert_null(find(&lab, 1, WEFT_ANY_TAG));
    lab_close(&lab);
}

/* ---- without memory ---- */

static void without_a_buffer_a_message_is_kept_by_itself(void **state)
{
    struct lab lab;

    (void)state;
    lab_open(&lab);
    largest_malloc = BUFFER_BYTES - 1;
    assert_int_equal(keep(&lab, 1, 1, 100, 0)->buffer, WEFT_UNEXPECTED_OUTSIDE);
    assert_int_equal(lab.store.beyond, record(100));
    largest_malloc = SIZE_MAX;
    assert_int_not_equal(keep(&lab, 1, 1, 100, 1)->buffer, WEFT_UNEXPECTED_OUTSIDE);
    take_number(&lab, 1, 1, 0, 100);
    take_number(&lab, 1, 1, 1, 100);
    assert_accounts(&lab);
    lab_close(&lab);
}

static void without_any_memory_a_message_is_refused_and_nothing_changes(void **state)
{
    struct lab lab;

    (void)state;
    lab_open(&lab);
    largest_malloc = 0;
    assert_null(keep(&lab, 1, 1, 100, 0));
    assert_int_equal(lab.match.waiting_count, 0);
    assert_int_equal(lab.store.beyond, 0);
    largest_malloc = BUFFER_BYTES - 1; /* the matcher has some, a new key has not */
    assert_non_null(keep(&lab, 1, 1, 100, 0));
    largest_malloc = 0;
    assert_null(keep(&lab, 1, 2, 100, 0));
    assert_int_equal(lab.match.waiting_count, 1);
    assert_int_equal(lab.store.beyond, record(100));
    assert_accounts(&lab);
    lab_close(&lab);
}

/* The matcher cannot note a new key: the room in the buffer is given back. */
static void a_message_that_cannot_be_matched_leaves_no_trace(void **state)
{
    struct lab lab;

    (void)state;
    lab_open(&lab);
    assert_non_null(keep(&lab, 1, 1, 100, 0));
    largest_malloc = 0;
    assert_null(keep(&lab, 1, 2, 100, 1));
    assert_accounts(&lab);
    assert_int_equal(lab.match.waiting_count, 1);
    largest_malloc = SIZE_MAX;
    assert_non_null(keep(&lab, 1, 2, 100, 2));
    take_number(&lab, 1, 1, 0, 100);
    take_number(&lab, 1, 2, 2, 100);
    assert_accounts(&lab);
    lab_close(&lab);
}

static void survivors_that_cannot_be_copied_stay_where_they_are(void **state)
{
    const uint32_t fit = largest_in_a_buffer();
    struct lab lab;

    (void)state;
    lab_open(&lab);
    for (uint32_t i = 0; i < BUFFERS * fit; i++) {
        assert_non_null(keep(&lab, 1, i % fit < 5 ? 5 : 1, LARGEST, i));
    }
    for (uint32_t i = 0; i < BUFFERS * fit; i++) {
        if (i % fit >= 5) {
            take_number(&lab, 1, 1, i, LARGEST);
        }
    }
    largest_malloc = record(0); /* a copy of these needs more */
    assert_null(keep(&lab, 1, 1, LARGEST, 0));
    assert_accounts(&lab);
    assert_int_equal(lab.store.beyond, 0);
    assert_non_null(keep(&lab, 1, 1, 0, 9999)); /* small enough to be kept outside */
    assert_accounts(&lab);
    largest_malloc = SIZE_MAX;
    take_number(&lab, 1, 1, 9999, 0);
    assert_non_null(keep(&lab, 1, 1, LARGEST, 9998));
    for (uint32_t i = 0; i < BUFFERS * fit; i++) {
        if (i % fit < 5) {
            take_number(&lab, 1, 5, i, LARGEST);
        }
    }
    assert_int_equal(lab.store.beyond, 0);
    assert_accounts(&lab);
    lab_close(&lab);
}

/* ---- beside plain lists ---- */

enum { SOURCES = 4, TAGS = 5, SELDOM = TAGS - 1 };

struct kept {
    struct kept *next;
    uint32_t number;
    uint32_t len;
};

/* One list a key, oldest first. */
struct model {
    struct kept *first[SOURCES][TAGS];
    struct kept *last[SOURCES][TAGS];
    uint32_t count;
};

static void model_add(struct model *model, int source, int tag, uint32_t number,
                      uint32_t len)
{
    struct kept *k = malloc(sizeof(*k));

    assert_non_null(k);
    *k = (struct kept){.next = NULL, .number = number, .len = len};
    if (model->first[source][tag] == NULL) {
        model->first[source][tag] = k;
    } else {
        model->last[source][tag]->next = k;
    }
    model->last[source][tag] = k;
    model->count++;
}

/* The list whose first message a receive takes, or NULL. */
static struct kept **oldest_match(struct model *model, int source, int tag)
{
    struct kept **best = NULL;

    for (int s = 0; s < SOURCES; s++) {
        for (int t = 0; t < TAGS; t++) {
            struct kept **list = &model->first[s][t];

            if (*list != NULL && (source == WEFT_ANY_SOURCE || source == s) &&
                (tag == WEFT_ANY_TAG || tag == t) &&
                (best == NULL || (*list)->number < (*best)->number)) {
                best = list;
            }
        }
    }
    return best;
}

static uint32_t random_length(uint64_t r)
{
    switch (r % 8) {
    case 0:
        return 0;
    case 1:
        return (uint32_t)(r >> 8) % 100;
    default:
        return (uint32_t)(r >> 8) % (LARGEST + 1);
    }
}

static void step_keep(struct lab *lab, struct model *model, uint64_t r, uint32_t number)
{
    const bool was_full = lab->store.is_full;
    const int source = (int)(mix(r) % SOURCES);
    const int tag = mix(r + 1) % 12 == 0 ? SELDOM : (int)(mix(r + 2) % SELDOM);
    const uint32_t len = random_length(mix(r + 3));
    struct weft_unexpected *m = keep(lab, source, tag, len, number);

    assert_non_null(m);
    assert_true(was_full || m->buffer != WEFT_UNEXPECTED_OUTSIDE);
    model_add(model, source, tag, number, len);
}

static void step_take(struct lab *lab, struct model *model, uint64_t r, bool is_last)
{
    const int source = r % 3 == 0 ? WEFT_ANY_SOURCE : (int)(mix(r) % SOURCES);
    int tag = mix(r + 1) % 3 == 0 ? WEFT_ANY_TAG : (int)(mix(r + 2) % SELDOM);
    struct kept **list;
    struct kept *k;
    struct weft_unexpected *m;

    if (is_last) {
        tag = WEFT_ANY_TAG;
    } else if (tag == WEFT_ANY_TAG && mix(r + 3) % 16 != 0) {
        tag = 0; /* an open receive would take what is to survive */
    }
    list = oldest_match(model, source, tag);
    m = find(lab, source, tag);
    if (list == NULL) {
        assert_null(m);
        return;
    }
    k = *list;
    assert_non_null(m);
    assert_message(m, k->number, k->len);
    take(lab, m);
    *list = k->next;
    model->count--;
    free(k);
}

static void store_and_lists_agree_through_random_steps(void **state)
{
    const char *text = getenv("WEFT_TEST_STEPS");
    const uint32_t steps = text != NULL   ? (uint32_t)atol(text)
                           : IS_SANITIZED ? STEPS / 10
                                          : STEPS;
    uint64_t full = 0;
    uint64_t outside = 0;
    uint32_t grows_for = 0;
    uint64_t grow = 50;
    struct model model = {.count = 0};
    struct lab lab;

    (void)state;
    lab_open(&lab);
    for (uint32_t i = 0; i < steps; i++) {
        const uint64_t r = mix(((uint64_t)i << 20) + 7);

        if (grows_for-- == 0) { /* it fills, it drains, it stays as it is */
            grow = (uint64_t[]){75, 25, 50}[r % 3];
            grows_for = (uint32_t)(r >> 9) % 8000;
        }
        /* Beyond its bound the store would not be given more. */
        if (r % 100 < grow && lab.store.beyond < 2 * BUFFER_BYTES) {
            step_keep(&lab, &model, r, i);
        } else {
            step_take(&lab, &model, r, false);
        }
        full += lab.store.is_full ? 1 : 0;
        outside += lab.store.beyond > 0 ? 1 : 0;
        if (i % 128 == 0) {
            assert_accounts(&lab);
        }
    }
    assert_true(full > 0 && full < steps); /* else too little was tried */
    assert_true(outside > 0 && outside < steps);
    for (uint32_t i = 0; model.count > 0; i++) {
        step_take(&lab, &model, i, true);
    }
    assert_int_equal(lab.match.waiting_count, 0);
    assert_int_equal(lab.store.beyond, 0);
    assert_false(lab.store.is_full);
    assert_accounts(&lab);
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_are_made_when_they_are_needed),
        cmocka_unit_test(an_empty_message_costs_its_record_only),
        cmocka_unit_test(a_drained_buffer_goes_back_to_the_end_of_the_line),
        cmocka_unit_test(the_store_is_full_when_the_largest_message_has_no_room),
        cmocka_unit_test(survivors_are_copied_out_and_stay_matchable_in_order),
        cmocka_unit_test(what_was_copied_out_is_bounded_too),
        cmocka_unit_test(without_a_buffer_a_message_is_kept_by_itself),
        cmocka_unit_test(without_any_memory_a_message_is_refused_and_nothing_changes),
        cmocka_unit_test(a_message_that_cannot_be_matched_leaves_no_trace),
        cmocka_unit_test(survivors_that_cannot_be_copied_stay_where_they_are),
        cmocka_unit_test(store_and_lists_agree_through_random_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
