/*
 * test_pair.c - two threads stand for two processes over the shared-memory transport.
 *
 * TSan does not see races between processes. Here each thread opens a transport of its
 * own on one segment, and TSan sees both sides of every word that two processes share.
 *
 * A schedule is a few packets each way, and in most a receive that one side offers in a
 * share, which the other may claim while its owner may take it back. What either side has
 * to do follows from the schedule's number, so they need not meet in between. Who finds
 * nothing to do sleeps, as a thread in MPI or as the progress thread, and without end: a
 * wake-up that is lost stops the test. Before and after each step of the protocol that is
 * a call (the linker puts ours in front of it) a thread may be held up for a while.
 */
#include "unit.h"

#include "base/futex.h"
#include "base/process.h"
#include "node/copy_share.h"
#include "transport/shm/shm.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SCHEDULES = 10000,
    LIMIT_SECONDS = 580,
    SIDES = 2,
    JOB = 4711,
    BUDGET = 8,
    MOST_PACKETS = 4,
    FLOOD_EVERY = 64,   /* schedules in which one side fills a lane */
    FLOOD_PACKETS = 40, /* of the largest size */
    LARGEST = WEFT_SHORT_MAX,
    SHARE_BYTES = 3 * 4096 + 100,
    SHARE_CHUNK = 4096,
};

enum kind { KIND_ORDERED, KIND_OFFER };

/* In the place of the header that a transport carries without reading it. */
struct head {
    uint32_t kind;
    uint32_t number; /* of ordered packets: counts from 0; of an offer: the share */
    uint32_t generation;
    uint32_t unused[4];
};
_Static_assert(sizeof(struct head) == WEFT_HEADER_BYTES, "");

enum share_step {
    SHARE_NONE,    /* this schedule has none, or it is done with */
    SHARE_TO_SEND, /* the owner has not told the other yet */
    SHARE_OFFERED, /* the owner has */
    SHARE_AWAITED, /* the other has not been told yet */
    SHARE_CLAIMED, /* by the other, or the owner found that */
};

struct side {
    uint32_t me;
    struct weft_job job;
    struct weft_node node;
    struct weft_upcalls up;
    struct weft_transport *tp;
    struct weft_path *path;
    uint32_t schedule;
    bool is_urgent; /* all that comes in this schedule is worth a wake-up */
    uint32_t sent;
    uint32_t to_send; /* how many there are to be in the end, and have to come */
    uint32_t arrived;
    uint32_t to_arrive;

    bool is_owner;
    bool may_take_back;
    enum share_step step;
    struct weft_copy_share *share;
    uint32_t share_number;
    uint32_t generation;
    bool has_offer; /* has come, perhaps early */
    uint32_t offer_number;
    uint32_t offer_generation;
    uint8_t buffer[SHARE_BYTES];
};

static struct side sides[SIDES];
static uint8_t pattern[1 << 16];
static _Thread_local uint64_t delays; /* 0: not one of our two threads */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 32);
}

/* In a thread that is not cmocka's. */
#define check(claim) ((claim) ? (void)0 : fail_now(__LINE__, #claim))

static _Noreturn void fail_now(int line, const char *claim)
{
    fprintf(stderr, "test_pair.c:%d: not so: %s\n", line, claim);
    abort();
}

/* ---- delays ---- */

static void hold_up(void)
{
    uint64_t r;

    if (delays == 0) {
        return;
    }
    delays = mix(delays + 1) | 1;
    r = delays >> 8;
    if (r % 16 == 0) {
        sched_yield();
    } else if (r % 16 < 4) {
        for (volatile uint64_t i = r >> 8 & 0x3ff; i > 0; i--) {
        }
    }
}

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
bool __real_weft_shm_has_work(struct weft_transport *tp);
bool __wrap_weft_shm_has_work(struct weft_transport *tp);
void __real_weft_node_ring_area(struct weft_node_area *area);
void __wrap_weft_node_ring_area(struct weft_node_area *area);

/* membarrier and futex. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result;

    hold_up();
    result = __real_syscall(number, a, b, c, d, e, f);
    hold_up();
    return result;
}

bool __wrap_weft_shm_has_work(struct weft_transport *tp)
{
    bool result;

    hold_up();
    result = __real_weft_shm_has_work(tp);
    hold_up();
    return result;
}

void __wrap_weft_node_ring_area(struct weft_node_area *area)
{
    hold_up();
    __real_weft_node_ring_area(area);
}

/* ---- what a schedule asks of a side ---- */

static uint64_t chance(uint32_t schedule, uint32_t what)
{
    return mix((uint64_t)schedule << 8 | what) >> 8;
}

static bool is_flood(uint32_t schedule, uint32_t side)
{
    return schedule % FLOOD_EVERY == 1 && schedule / FLOOD_EVERY % SIDES == side;
}

static uint32_t packets_of(uint32_t schedule, uint32_t side)
{
    return is_flood(schedule, side) ? FLOOD_PACKETS
                                    : (uint32_t)chance(schedule, side) % MOST_PACKETS + 1;
}

static size_t length_of(uint32_t schedule, uint32_t number)
{
    const uint64_t r = mix(number + 7);

    return is_flood(schedule, 0) || is_flood(schedule, 1)
               ? LARGEST
               : (size_t)(r >> 8) % (r % 4 == 0 ? 1000 : 40);
}

static uint8_t *data_of(uint32_t number)
{
    return pattern + mix(number) % (sizeof(pattern) - SHARE_BYTES);
}

static void begin_schedule(struct side *s, uint32_t schedule)
{
    const bool has_share = chance(schedule, 8) % 4 != 0;

    s->schedule = schedule;
    s->is_urgent = !has_share && chance(schedule, 9) % 2 == 0;
    s->to_send += packets_of(schedule, s->me);
    s->to_arrive += packets_of(schedule, 1 - s->me);
    s->is_owner = schedule % SIDES == s->me;
    s->may_take_back = chance(schedule, 10) % 2 == 0;
    s->step = !has_share ? SHARE_NONE : s->is_owner ? SHARE_TO_SEND : SHARE_AWAITED;
    if (has_share && s->is_owner) {
        s->share = weft_share_take(&s->node, &s->share_number);
        memset(s->buffer, 0, sizeof(s->buffer));
        s->generation =
            weft_share_offer(s->share, (uint64_t)(uintptr_t)s->buffer, sizeof(s->buffer));
    } else if (has_share) {
        memcpy(s->buffer, data_of(schedule), sizeof(s->buffer));
    }
}

static bool is_done(const struct side *s)
{
    return s->sent == s->to_send && s->arrived >= s->to_arrive && s->step == SHARE_NONE;
}

/* ---- packets ---- */

/* There is one peer: it stands for itself. */
static struct weft_peer *on_meet(void *owner, uint64_t process)
{
    struct side *s = owner;

    check(process == weft_process(JOB, 1 - s->me));
    return owner;
}

static void on_control(void *owner, struct weft_peer *from, const void *header,
                       const void *data, size_t len)
{
    struct side *s = owner;
    struct head head;

    (void)data;
    memcpy(&head, header, sizeof(head));
    check((void *)from == owner && len == 0);
    check(head.kind == KIND_OFFER && !s->has_offer);
    s->has_offer = true;
    s->offer_number = head.number;
    s->offer_generation = head.generation;
}

/* The first in the lane wait for those that went through the inbox. */
static bool may_take(void *owner, const struct weft_peer *from, const void *header,
                     unsigned flags)
{
    const struct side *s = owner;
    struct head head;

    memcpy(&head, header, sizeof(head));
    check((const void *)from == owner);
    check(head.kind == KIND_ORDERED && head.number >= s->arrived);
    check(head.number == s->arrived || flags == 0);
    return head.number == s->arrived;
}

static enum weft_taken on_arrived(void *owner, struct weft_peer *from, const void *header,
                                  const void *data, size_t len, unsigned flags)
{
    struct side *s = owner;

    if (!may_take(owner, from, header, flags)) {
        return WEFT_KEEP;
    }
    check(memcmp(data, data_of(s->arrived), len) == 0);
    s->arrived++;
    return WEFT_TAKEN;
}

/* Sends what there is room for; true if that was something. */
static bool send_all(struct side *s)
{
    bool has_sent = false;

    if (s->step == SHARE_TO_SEND) {
        const struct head offer = {
            .kind = KIND_OFFER,
            .number = s->share_number,
            .generation = s->generation,
        };

        hold_up();
        if (weft_shm_send(s->path, &offer, "", 0, WEFT_SEND_CONTROL) == WEFT_OK) {
            s->step = SHARE_OFFERED;
            has_sent = true;
        }
    }
    while (s->sent < s->to_send) {
        const struct head head = {.kind = KIND_ORDERED, .number = s->sent};
        const unsigned flags =
            s->is_urgent || chance(s->sent, 11) % 4 == 0 ? WEFT_SEND_URGENT : 0;

        hold_up();
        if (weft_shm_send(s->path, &head, data_of(s->sent),
                          length_of(s->schedule, s->sent), flags) != WEFT_OK) {
            break;
        }
        s->sent++;
        has_sent = true;
    }
    return has_sent;
}

/* ---- the share ---- */

static void copy_chunks(struct side *s)
{
    const enum weft_share_side side =
        s->is_owner ? WEFT_SHARE_RECEIVER : WEFT_SHARE_SENDER;
    uint64_t offset;
    uint64_t length;

    while (weft_share_claim_chunk(s->share, s->generation, side, &offset, &length)) {
        const uint64_t there = s->is_owner ? weft_share_field(&s->share->source)
                                           : weft_share_field(&s->share->target);
        uint8_t *other = (uint8_t *)(uintptr_t)there;

        hold_up();
        memcpy((s->is_owner ? s->buffer : other) + offset,
               (s->is_owner ? other : s->buffer) + offset, (size_t)length);
        hold_up();
        if (weft_share_count(s->share, length)) {
            hold_up();
            weft_node_wake(weft_node_find(&s->node, weft_process(JOB, 1 - s->me)),
                           WEFT_WAKE_ANYTHING);
        }
    }
}

static void end_share(struct side *s)
{
    s->step = SHARE_NONE;
    if (s->is_owner) {
        weft_share_give(&s->node, s->share_number);
    }
}

static void claim(struct side *s)
{
    const struct weft_share_terms terms = {
        .source = (uint64_t)(uintptr_t)s->buffer,
        .target = (uint64_t)(uintptr_t)sides[1 - s->me].buffer,
        .length = sizeof(s->buffer),
        .note = s->schedule,
        .chunk = SHARE_CHUNK,
    };

    s->has_offer = false;
    s->share = weft_share_of(weft_node_find(&s->node, weft_process(JOB, 1 - s->me)),
                             s->offer_number);
    s->generation = s->offer_generation;
    hold_up();
    if (!weft_share_claim(s->share, s->generation)) {
        s->step = SHARE_NONE; /* its owner has taken it back */
        return;
    }
    hold_up();
    check(weft_share_field(&s->share->target) == terms.target);
    weft_share_open(s->share, s->generation, &terms);
    s->step = SHARE_CLAIMED;
}

/* True if there was something to do. */
static bool work_on_share(struct side *s)
{
    if (s->step == SHARE_AWAITED && s->has_offer) {
        claim(s);
        return true;
    }
    if (s->step == SHARE_OFFERED && s->may_take_back) {
        s->may_take_back = false;
        if (weft_share_take_back(s->share, s->generation)) {
            end_share(s);
        }
        return true;
    }
    if (s->step == SHARE_OFFERED && weft_share_is_open(s->share, s->generation)) {
        check(weft_share_field(&s->share->note) == s->schedule);
        s->step = SHARE_CLAIMED;
    }
    if (s->step != SHARE_CLAIMED) {
        return false;
    }
    copy_chunks(s);
    if (!weft_share_is_over(s->share, s->generation)) {
        return false;
    }
    if (s->is_owner) {
        check(memcmp(s->buffer, data_of(s->schedule), sizeof(s->buffer)) == 0);
    } else {
        memset(s->buffer, 0xff, sizeof(s->buffer)); /* ours again */
    }
    end_share(s);
    return true;
}

static bool has_share_news(const struct side *s)
{
    return (s->step == SHARE_OFFERED && weft_share_is_open(s->share, s->generation)) ||
           (s->step == SHARE_CLAIMED && weft_share_is_over(s->share, s->generation));
}

/* ---- sleeping ---- */

/*
 * With what is published, true if nothing is left to be done: then it is worth sleeping.
 * A look at the queues is made by the transport, and here at what else we wait for.
 */
static bool has_published(struct side *s, enum weft_wake_level level, uint32_t *bell)
{
    do {
        if (level == WEFT_WAKE_ALL) {
            *bell = weft_node_publish(&s->node, level);
        } else {
            weft_node_publish_leaving(&s->node, level);
        }
        if (weft_shm_ops.arm(s->tp) != WEFT_OK || send_all(s) || is_done(s) ||
            has_share_news(s)) {
            weft_node_disarm(&s->node);
            return false;
        }
    } while (s->sent < s->to_send && s->node.has_asked_for_room);
    return true;
}

static void sleep_in_mpi(struct side *s)
{
    uint32_t bell;

    if (has_published(s, WEFT_WAKE_ALL, &bell)) {
        hold_up();
        weft_node_sleep(&s->node, bell, NULL, 0, 0);
        weft_node_disarm(&s->node);
    }
}

static void sleep_as_progress(struct side *s)
{
    const bool is_urgent = s->is_urgent && s->sent == s->to_send;
    const enum weft_wake_level level =
        is_urgent ? WEFT_WAKE_REQUESTS : WEFT_WAKE_ANYTHING;
    _Atomic uint32_t *bell = &s->node.area->progress_bell;
    const uint32_t rung = atomic_load_explicit(bell, memory_order_acquire);

    if (has_published(s, level, NULL)) {
        hold_up();
        weft_futex_wait(bell, rung, 0);
        weft_node_disarm(&s->node);
    }
}

static void run_schedule(struct side *s)
{
    while (!is_done(s)) {
        const bool has_sent = send_all(s);
        const bool has_taken = weft_shm_poll(s->tp, BUDGET) > 0;
        const bool has_worked = work_on_share(s);

        hold_up();
        if (has_sent || has_taken || has_worked || is_done(s)) {
            continue;
        }
        if (mix(delays) % 2 == 0) {
            sleep_in_mpi(s);
        } else {
            sleep_as_progress(s);
        }
    }
}

static void *run_side(void *argument)
{
    struct side *s = argument;

    for (uint32_t i = 0; i < SCHEDULES; i++) {
        delays = mix((uint64_t)i * SIDES + s->me + 1) | 1;
        begin_schedule(s, i);
        run_schedule(s);
    }
    delays = 0;
    return NULL;
}

/* ---- the pair ---- */

static struct weft_segment make_segment(void)
{
    const struct weft_segment_plan plan = {
        .job = JOB,
        .job_size = SIDES,
        .node_count = 1,
        .local_size = SIDES,
        .is_by_launcher = true,
    };
    struct weft_segment segment = {.fd = -1};

    assert_int_equal(weft_segment_create(&plan, &segment), WEFT_OK);
    for (uint32_t i = 0; i < SIDES; i++) {
        weft_segment_map(&segment)[i] =
            (struct weft_location){.node = 0, .local_rank = i};
        weft_segment_plan_slot(&segment, i, i);
    }
    return segment;
}

static void open_side(struct side *s, uint32_t me, const struct weft_segment *segment)
{
    s->me = me;
    s->job.segment = *segment;
    s->job.who.rank = (int)me;
    s->job.who.local_rank = (int)me;
    s->job.who.size = SIDES;
    s->job.is_by_mpiexec = true;
    s->up = (struct weft_upcalls){
        .owner = s,
        .meet = on_meet,
        .arrived = on_arrived,
        .may_take = may_take,
        .control = on_control,
    };
    weft_node_open(&s->job, &s->node);
    assert_int_equal(weft_shm_ops.open(&s->up, &s->node, &s->tp), WEFT_OK);
    assert_int_equal(
        weft_shm_ops.connect(s->tp, NULL, weft_process(JOB, 1 - me), &s->path), WEFT_OK);
}

static void no_schedule_hangs_or_mixes_anything_up(void **state)
{
    struct weft_segment segment = make_segment();
    pthread_t threads[SIDES];

    (void)state;
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = (uint8_t)mix(i);
    }
    for (uint32_t i = 0; i < SIDES; i++) {
        open_side(&sides[i], i, &segment);
    }
    alarm(LIMIT_SECONDS); /* a lost wake-up ends here */
    for (int i = 0; i < SIDES; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_side, &sides[i]), 0);
    }
    for (int i = 0; i < SIDES; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    alarm(0);
    print_message("%u and %u wake-ups\n", atomic_load(&sides[0].node.area->rings),
                  atomic_load(&sides[1].node.area->rings));
    for (int i = 0; i < SIDES; i++) {
        assert_int_equal(sides[i].arrived, sides[1 - i].sent);
        weft_shm_ops.disconnect(sides[i].path);
        weft_shm_ops.close(sides[i].tp);
    }
    weft_segment_close(&segment);
}

/* ---- one thread: what a sender sees of a packet ---- */

static struct {
    struct weft_path *path; /* the sender's */
    uint32_t number;        /* of the packet that was offered last */
    uint32_t next;
    bool keeps;
} seen;

static bool has_number(const void *header, const void *number)
{
    struct head head;

    memcpy(&head, header, sizeof(head));
    return head.number == *(const uint32_t *)number;
}

static bool is_queued(uint32_t number)
{
    return weft_shm_ops.may_be_queued(seen.path, has_number, &number);
}

static enum weft_taken on_offered(void *owner, struct weft_peer *from, const void *header,
                                  const void *data, size_t len, unsigned flags)
{
    struct head head;

    (void)owner;
    (void)from;
    (void)data;
    (void)len;
    (void)flags;
    memcpy(&head, header, sizeof(head));
    seen.number = head.number;
    assert_true(is_queued(head.number)); /* it is not matched yet */
    if (seen.keeps || head.number != seen.next) {
        return WEFT_KEEP;
    }
    seen.next++;
    return WEFT_TAKEN;
}

/* A sender that finds a packet taken relies on its having been matched. */
static void a_packet_looks_taken_only_after_it_was_handled(void **state)
{
    enum { PACKETS = 10 };
    struct weft_segment segment = make_segment();

    (void)state;
    memset(sides, 0, sizeof(sides));
    for (uint32_t i = 0; i < SIDES; i++) {
        open_side(&sides[i], i, &segment);
    }
    sides[1].up.arrived = on_offered;
    seen.path = sides[0].path;
    for (uint32_t i = 0; i < PACKETS; i++) { /* by the inbox, then by a lane */
        const struct head head = {.kind = KIND_ORDERED, .number = i};

        assert_int_equal(weft_shm_send(seen.path, &head, "", 0, 0), WEFT_OK);
    }
    seen.keeps = true;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(weft_shm_poll(sides[1].tp, BUDGET), 0);
        assert_true(is_queued(0));
        assert_true(is_queued(PACKETS - 1));
    }
    seen.keeps = false;
    assert_true(weft_shm_poll(sides[1].tp, 5) <= 5);
    while (weft_shm_poll(sides[1].tp, 1) > 0) {
        assert_true(seen.number == PACKETS - 1 || is_queued(seen.number + 1));
        assert_true(seen.number < 2 || !is_queued(seen.number)); /* the inbox tells not */
    }
    assert_int_equal(seen.next, PACKETS);
    assert_false(is_queued(PACKETS - 1));
    for (int i = 0; i < SIDES; i++) {
        weft_shm_ops.disconnect(sides[i].path);
        weft_shm_ops.close(sides[i].tp);
    }
    weft_segment_close(&segment);
}

/* ---- one thread: who is woken by a packet that another one waits behind ---- */

enum { PAGE = 4096 };

static uint8_t *page;                 /* cannot be read before somebody has tried to */
static struct weft_ring *interrupted; /* in which a writer claims a cell then */

static void claim_behind(int number)
{
    (void)number;
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    atomic_fetch_add(&interrupted->claimed, 1);
}

/* Side 0 asks for `level`; side 1 sends it a packet that is not worth a wake-up. If
 * `in` is not NULL, another writer claims cells behind it before it is published. Is side
 * 0 woken? */
static bool wakes(enum weft_wake_level level, unsigned flags, struct weft_ring *in)
{
    const struct head head = {.kind = KIND_ORDERED};
    struct weft_node_area *area = sides[0].node.area;
    const uint32_t rings = atomic_load(&area->rings);
    void (*before)(int);

    interrupted = in;
    mprotect(page, PAGE, in != NULL ? PROT_NONE : PROT_READ);
    weft_node_publish_leaving(&sides[0].node, level);
    before = signal(SIGSEGV, claim_behind);
    assert_int_equal(weft_shm_send(sides[1].path, &head, page, 8, flags), WEFT_OK);
    signal(SIGSEGV, before);
    weft_node_disarm(&sides[0].node);
    return atomic_load(&area->rings) != rings;
}

/* Nobody could take that one's packet before, although its writer has rung. */
static void a_quiet_packet_wakes_for_the_one_behind_it(void **state)
{
    const unsigned quiet = WEFT_SEND_CONTROL | WEFT_SEND_QUIET;
    struct weft_segment segment = make_segment();
    struct weft_shm_area *area;

    (void)state;
    memset(sides, 0, sizeof(sides));
    for (uint32_t i = 0; i < SIDES; i++) {
        open_side(&sides[i], i, &segment);
    }
    area = weft_shm_area_of(&segment, 0);
    page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    assert_false(wakes(WEFT_WAKE_ALL, quiet, NULL));
    assert_true(wakes(WEFT_WAKE_ALL, quiet, &area->control));
    assert_false(wakes(WEFT_WAKE_REQUESTS, 0, NULL)); /* by the inbox */
    assert_true(wakes(WEFT_WAKE_REQUESTS, 0, &area->inbox));
    munmap(page, PAGE);
    for (int i = 0; i < SIDES; i++) {
        weft_shm_ops.disconnect(sides[i].path);
        weft_shm_ops.close(sides[i].tp);
    }
    weft_segment_close(&segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_looks_taken_only_after_it_was_handled),
        cmocka_unit_test(a_quiet_packet_wakes_for_the_one_behind_it),
        cmocka_unit_test(no_schedule_hangs_or_mixes_anything_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
