#include "suite.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/wait.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARK = 0x77657374,
    PATTERN_BYTES = 1 << 16,
    LINGER_NS = 500 * 1000,
};

/* In the place of the header, which a transport does not read. */
struct head {
    uint32_t mark;
    uint32_t number; /* of an ordered packet of this sender to this receiver */
    uint32_t from;
    uint32_t len;
    uint32_t flags;
    uint32_t word[2];
};
_Static_assert(sizeof(struct head) == WEFT_HEADER_BYTES, "");

enum { IS_LAST = 1 << 8, HAS_WORD = 1 << 9 }; /* beside WEFT_SEND_* */

struct suite suite;

static uint8_t pattern[PATTERN_BYTES];

_Noreturn void suite_fail(const char *file, int line, const char *claim)
{
    char cause[WEFT_CAUSE_BYTES];

    snprintf(cause, sizeof(cause), "%s:%d: rank %u, case %s: not true: %s", file, line,
             suite.me, suite.running != NULL ? suite.running : "none", claim);
    weft_wireup_abort(&suite.job, 1, cause);
}

uint64_t suite_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* ---- packets ---- */

static const uint8_t *data_of(uint32_t from, uint32_t number, size_t len)
{
    uint64_t state = (uint64_t)from << 32 | (number + 1);

    return pattern + suite_random(&state) % (PATTERN_BYTES - len + 1);
}

static uint64_t process_of(uint32_t rank)
{
    return weft_process(suite.job.segment.job, rank);
}

/* To the transport, a peer is what has come from it. */
static struct weft_peer *on_meet(void *owner, uint64_t process)
{
    const uint32_t rank = weft_process_rank(process);

    check(owner == &suite);
    check(weft_process_job(process) == suite.job.segment.job);
    check(rank < suite.size && rank != suite.me);
    return (struct weft_peer *)&suite.from[rank];
}

static uint32_t rank_of(const struct weft_peer *peer)
{
    return (uint32_t)((const struct suite_from *)peer - suite.from);
}

/* What every packet is. */
static struct head check_packet(void *owner, const struct weft_peer *peer,
                                const void *header, const void *data, size_t len)
{
    const uint32_t from = rank_of(peer);
    struct head head;

    check(owner == &suite);
    check(from < suite.size && from != suite.me);
    memcpy(&head, header, sizeof(head));
    check(head.mark == MARK);
    check(head.from == from);
    check(head.len == len);
    check(memcmp(data, data_of(from, head.number, len), len) == 0);
    return head;
}

static void note(const struct head *head)
{
    struct suite_from *f = &suite.from[head->from];

    suite.arrived++;
    suite_moved();
    if ((head->flags & HAS_WORD) != 0) {
        check(f->words_in - f->words_out < SUITE_WORDS);
        f->words[f->words_in++ % SUITE_WORDS] =
            (uint64_t)head->word[1] << 32 | head->word[0];
    }
    suite.endings += (head->flags & IS_LAST) != 0 ? 1 : 0;
}

static void on_control(void *owner, struct weft_peer *peer, const void *header,
                       const void *data, size_t len)
{
    const struct head head = check_packet(owner, peer, header, data, len);

    check((head.flags & WEFT_SEND_CONTROL) != 0);
    suite.from[head.from].control++;
    note(&head);
}

static void on_told(void *owner, uint64_t word)
{
    check(owner == &suite);
    suite.told = word;
    suite.told_count++;
    suite_moved();
}

/* By the order among all ways, then by the grant rule. */
static bool on_may_take(void *owner, const struct weft_peer *peer, const void *header,
                        unsigned flags)
{
    const uint32_t from = rank_of(peer);
    struct head head;

    check(owner == &suite);
    check(from < suite.size && from != suite.me);
    memcpy(&head, header, sizeof(head));
    check(head.mark == MARK);
    check((int32_t)(head.number - suite.from[from].ordered) >= 0); /* nothing repeats */
    if (head.number != suite.from[from].ordered) {
        check((flags & WEFT_SHARED_QUEUE) == 0); /* it would hold up other senders */
        return false;
    }
    return !suite.is_full || suite.granted == from ||
           ((flags & WEFT_SHARED_QUEUE) != 0 && suite.is_granting_anyone);
}

/* What is kept is offered again, and until then nothing that came behind it by the same
 * way. */
static enum weft_taken on_arrived(void *owner, struct weft_peer *peer, const void *header,
                                  const void *data, size_t len, unsigned flags)
{
    const struct head head = check_packet(owner, peer, header, data, len);
    struct suite_from *f = &suite.from[head.from];

    check((head.flags & WEFT_SEND_CONTROL) == 0);
    f->offers++;
    /* Those whose turn it is are counted: else the ways could be offered in step with it,
     * so that it is always the same one's turn to be kept. */
    if (!on_may_take(owner, peer, header, flags) ||
        (f->keep_each != 0 && ++f->since_kept % f->keep_each == 0)) {
        f->kept++;
        return WEFT_KEEP;
    }
    f->ordered++;
    note(&head);
    return WEFT_TAKEN;
}

void suite_on_done(struct weft_op *op, enum weft_rc rc)
{
    check(rc == WEFT_OK);
    suite.done = op;
    suite.done_count++;
    suite_moved();
}

static void on_lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    (void)owner;
    (void)has_left;
    if (!suite.may_lose) {
        fprintf(stderr, "rank %u is lost: %s\n", weft_process_rank(process), why);
    }
    check(suite.may_lose);
    suite.lost++;
}

/* Ordered packets of any length take all paths in turn, so that many of them
 * come before their turn. */
static struct weft_path *way_to(uint32_t to, const struct head *head)
{
    struct weft_path *first = suite.path[to];

    return suite.ops->next_path != NULL && (head->flags & WEFT_SEND_CONTROL) == 0
               ? suite.ops->next_path(first)
               : first;
}

static enum weft_rc send_head(struct weft_path *way, struct head *head)
{
    return suite.ops->send(way, head, data_of(suite.me, head->number, head->len),
                           head->len,
                           head->flags & (WEFT_SEND_CONTROL | WEFT_SEND_URGENT));
}

static struct head next_head(uint32_t to, size_t len, unsigned flags)
{
    return (struct head){
        .mark = MARK,
        .from = suite.me,
        .number = suite.sent[to],
        .len = (uint32_t)len,
        .flags = flags,
    };
}

static enum weft_rc try_head(uint32_t to, struct weft_path *way, struct head *head)
{
    enum weft_rc rc = send_head(way, head);

    check(rc == WEFT_OK || rc == WEFT_AGAIN);
    if (rc == WEFT_OK) {
        (*((head->flags & WEFT_SEND_CONTROL) != 0 ? &suite.sent_control[to]
                                                  : &suite.sent[to]))++;
        suite_moved();
    }
    return rc;
}

/* Progress, while this is what it is waited for. */
static void wait_for(const char *what, uint32_t rank)
{
    suite.wait = (struct suite_wait){.what = what, .rank = rank};
    suite_progress();
    suite.wait.what = NULL;
}

static void wait_for_room(uint32_t to)
{
    wait_for("finds no room for a packet to", to);
}

enum weft_rc suite_try(uint32_t to, size_t len, unsigned flags)
{
    struct head head = next_head(to, len, flags);

    return try_head(to, way_to(to, &head), &head);
}

void suite_send(uint32_t to, size_t len, unsigned flags, bool is_last)
{
    struct head head = next_head(to, len, flags | (is_last ? IS_LAST : 0));

    while (try_head(to, way_to(to, &head), &head) == WEFT_AGAIN) {
        wait_for_room(to);
    }
}

void suite_send_zcopy(uint32_t to, struct weft_path *way, size_t len, struct weft_op *op)
{
    struct head head = next_head(to, len, 0);
    enum weft_rc rc;

    while ((rc = suite.ops->send_zcopy(way, &head, NULL, 0,
                                       data_of(suite.me, head.number, len), len, op)) ==
           WEFT_AGAIN) {
        wait_for_room(to);
    }
    check(rc == WEFT_PENDING);
    suite.sent[to]++;
    suite_moved();
}

void suite_send_word(uint32_t to, uint64_t word)
{
    suite_send_word_by(to, suite.path[to], word);
}

void suite_send_word_by(uint32_t to, struct weft_path *way, uint64_t word)
{
    struct head head = next_head(to, 0, WEFT_SEND_CONTROL | HAS_WORD);

    head.word[0] = (uint32_t)word;
    head.word[1] = (uint32_t)(word >> 32);
    while (try_head(to, way, &head) == WEFT_AGAIN) {
        wait_for_room(to);
    }
}

uint64_t suite_await_word(uint32_t from)
{
    struct suite_from *f = &suite.from[from];

    while (f->words_in == f->words_out) {
        wait_for("awaits a word of", from);
    }
    return f->words[f->words_out++ % SUITE_WORDS];
}

void suite_progress(void)
{
    if (suite.ops->poll(suite.tp, SUITE_BUDGET) == 0) {
        sched_yield();
    }
}

uint32_t suite_packets_from(uint32_t rank)
{
    return suite.from[rank].ordered + suite.from[rank].control;
}

void suite_begin_sleep(uint32_t from, uint32_t expected)
{
    suite.wait = (struct suite_wait){
        .what = "sleeps until packets come from",
        .rank = from,
        .expected = expected,
    };
}

bool suite_has_come(void)
{
    struct suite_wait *wait = &suite.wait;
    uint32_t count;

    suite.ops->poll(suite.tp, SUITE_BUDGET);
    wait->looks++;
    count = suite_packets_from(wait->rank);
    check(count <= wait->expected);
    wait->what = count == wait->expected ? NULL : wait->what;
    return count == wait->expected;
}

/* A network also handles packets of its own, which nobody here sees. */
void suite_poll_within(int budget)
{
    const uint32_t before = suite.arrived;
    const int done = suite.ops->poll(suite.tp, budget);

    check(done >= 0 && done <= budget);
    check(suite_is_network() ? suite.arrived - before <= (uint32_t)done
                             : suite.arrived - before == (uint32_t)done);
}

void suite_expect_nothing(void)
{
    const uint32_t before = suite.arrived;
    const int done = suite.ops->poll(suite.tp, SUITE_BUDGET);

    check(suite.arrived == before);
    check(done == 0 || suite_is_network());
}

bool suite_is_network(void)
{
    return !suite.ops->is_node_local;
}

uint32_t suite_next(void)
{
    return (suite.me + 1) % suite.size;
}

uint32_t suite_previous(void)
{
    return (suite.me + suite.size - 1) % suite.size;
}

/* ---- meeting ---- */

/*
 * A rank that has waited may leave late, and has then taken packets of ranks that have
 * gone on. A machine with too few cores does that now and then; this does it often, so
 * that a case which cannot stand it fails when it is written.
 */
static void linger(void)
{
    static uint64_t random;
    uint64_t until = weft_clock_ns();

    random = random == 0 ? until | 1 : random;
    until += suite_random(&random) % LINGER_NS;
    while (weft_clock_ns() < until) {
        suite_progress();
    }
}

void suite_meet(void)
{
    _Atomic uint32_t *generation = &suite.job.segment.header->generation;
    uint32_t old;

    check(suite.job.is_one_node); /* also over a network: by its loopback */
    suite_set_meeting(true);
    if (!weft_segment_arrive(&suite.job.segment, (uint32_t)suite.job.who.local_rank,
                             &old)) {
        while (atomic_load_explicit(generation, memory_order_acquire) == old) {
            suite_progress();
        }
        linger();
    }
    suite_set_meeting(false);
}

void suite_meet_quietly(void)
{
    struct weft_segment_header *h = suite.job.segment.header;
    uint32_t old;

    check(suite.job.is_one_node);
    suite_set_meeting(true);
    if (!weft_segment_arrive(&suite.job.segment, (uint32_t)suite.job.who.local_rank,
                             &old)) {
        weft_wait_change(&h->generation, old, &h->sleepers);
    }
    suite_set_meeting(false);
}

/* ---- opening and closing ---- */

static void *make(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    check(memory != NULL);
    return memory;
}

static void fill_pattern(void)
{
    uint64_t state = 1;

    for (size_t i = 0; i < PATTERN_BYTES; i++) {
        pattern[i] = (uint8_t)(suite_random(&state) >> 32);
    }
}

void suite_open_job(void)
{
    if (weft_wireup_open(&suite.job) != WEFT_OK) {
        fprintf(stderr, "no job: start this with mpiexec\n");
        exit(1);
    }
    suite.me = (uint32_t)suite.job.who.rank;
    suite.size = (uint32_t)suite.job.who.size;
    check(suite.size >= 2);
    weft_wait_set_crowded(suite.size > suite.job.segment.header->cpu_count);
    fill_pattern();
}

struct weft_node_area *suite_area(uint32_t rank)
{
    struct weft_node_area *area = weft_node_find(&suite.node, process_of(rank));

    check(area != NULL);
    return area;
}

void suite_open(const char *name)
{
    suite.ops = weft_transport_find(name);
    check(suite.ops != NULL);
    check(strcmp(suite.ops->name, name) == 0);
    suite.from = make(suite.size, sizeof(*suite.from));
    suite.sent = make(suite.size, sizeof(*suite.sent));
    suite.sent_control = make(suite.size, sizeof(*suite.sent_control));
    suite.path = make(suite.size, sizeof(*suite.path));
    suite.granted = UINT32_MAX;
    suite.up = (struct weft_upcalls){
        .owner = &suite,
        .meet = on_meet,
        .arrived = on_arrived,
        .may_take = on_may_take,
        .control = on_control,
        .lost = on_lost,
        .told = on_told,
    };
    weft_node_open(&suite.job, &suite.node);
    check(suite.ops->open(&suite.up, &suite.node, &suite.tp) == WEFT_OK);
    for (uint32_t r = 0; r < suite.size; r++) {
        if (r != suite.me) {
            check(suite.ops->connect(suite.tp, on_meet(&suite, process_of(r)),
                                     process_of(r), &suite.path[r]) == WEFT_OK);
            check(suite.path[r]->packets == suite.ops);
            check(suite.path[r]->peer == on_meet(&suite, process_of(r)));
            check(suite.path[r]->number == 0);
            check(suite.path[r]->packet_max >= 512);
            check(suite.path[r]->packet_max <= PATTERN_BYTES);
        }
    }
}

void suite_close(void)
{
    for (uint32_t r = 0; r < suite.size; r++) {
        if (r != suite.me && suite.ops->disconnect != NULL) {
            suite.ops->disconnect(suite.path[r]);
        }
    }
    suite.ops->close(suite.tp);
    suite.tp = NULL;
    weft_node_close(&suite.node);
    free(suite.path);
    free(suite.sent_control);
    free(suite.sent);
    free(suite.from);
}
