/* test_segment.c - the job segment: what is in it, what is refused, its barrier. */
#include "unit.h"

#include "base/wait.h"
#include "wireup/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 5, LOCALS = 3, ROUNDS = 1000, SLOW_ROUNDS = 200, MOST = 8 };

static struct weft_segment create(uint32_t job_size, uint32_t local_size)
{
    const struct weft_segment_plan plan = {
        .job = 4711,
        .job_size = job_size,
        .node_count = 2,
        .node = 1,
        .local_size = local_size,
        .is_by_launcher = true,
    };
    struct weft_segment segment = {.fd = -1};

    assert_int_equal(weft_segment_create(&plan, &segment), WEFT_OK);
    return segment;
}

static bool is_close_on_exec(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

/* ---- making and finding it ---- */

static void who_attaches_sees_what_the_maker_wrote(void **state)
{
    struct weft_segment made = create(RANKS, LOCALS);
    struct weft_segment seen;
    int fd = dup(made.fd); /* not close-on-exec */
    const struct weft_segment_header *h;

    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        weft_segment_map(&made)[r] =
            (struct weft_location){.node = r, .local_rank = 10 + r};
    }
    for (uint32_t l = 0; l < LOCALS; l++) {
        weft_segment_plan_slot(&made, l, 100 + l);
    }
    assert_true(is_close_on_exec(made.fd));
    assert_false(is_close_on_exec(fd));
    assert_int_equal(weft_segment_attach(fd, &seen), WEFT_OK);
    assert_int_equal(seen.fd, fd);
    assert_true(is_close_on_exec(fd));
    assert_ptr_not_equal(seen.header, made.header);

    h = seen.header;
    assert_true(h->magic == WEFT_SEGMENT_MAGIC && h->layout == WEFT_SEGMENT_LAYOUT);
    assert_int_equal(h->job, 4711);
    assert_int_equal(h->job_size, RANKS);
    assert_int_equal(h->local_size, LOCALS);
    assert_int_equal(h->node_count, 2);
    assert_int_equal(h->node, 1);
    assert_true(h->cpu_count >= 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(weft_segment_map(&seen)[r].node, r);
        assert_int_equal(weft_segment_map(&seen)[r].local_rank, 10 + r);
    }
    for (uint32_t l = 0; l < LOCALS; l++) {
        assert_int_equal(weft_segment_rank(&seen, l), 100 + l);
    }

    weft_segment_slice(&made, 2)->code = 77; /* the memory is one */
    weft_segment_close(&made);
    assert_null(made.header);
    assert_int_equal(weft_segment_slice(&seen, 2)->code, 77); /* and outlives its maker */
    weft_segment_close(&seen);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    weft_segment_close(&seen); /* once more does nothing */
}

static void two_segments_have_different_secrets(void **state)
{
    struct weft_segment one = create(1, 1);
    struct weft_segment two = create(1, 1);

    (void)state;
    assert_memory_not_equal(one.header->secret, two.header->secret,
                            WEFT_SEGMENT_SECRET_BYTES);
    weft_segment_close(&one);
    weft_segment_close(&two);
}

static void parts_do_not_overlap(void **state)
{
    struct weft_segment s = create(1000, MOST);
    const char *base = (const char *)s.header;
    const char *end = (const char *)(&weft_segment_failed_count(&s)[1 + 1000]);

    (void)state;
    assert_true((const char *)weft_segment_map(&s) >= base + sizeof(*s.header));
    assert_true((const char *)weft_segment_slot(&s, 0) >=
                (const char *)(weft_segment_map(&s) + 1000));
    for (uint32_t l = 0; l < MOST; l++) {
        const char *slice = (const char *)weft_segment_slice(&s, l);

        assert_true(slice >= end);
        assert_int_equal((slice - base) % 4096, 0);
        end = slice + s.header->slice_bytes;
    }
    assert_true(s.header->slice_bytes >= sizeof(struct weft_slice));
    assert_true(end <= base + s.mapped);
    weft_segment_close(&s);
}

static void a_new_slice_is_zero_and_that_means_empty(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);

    (void)state;
    assert_int_equal(WEFT_SLICE_EMPTY, 0);
    for (uint32_t l = 0; l < LOCALS; l++) {
        const char *slice = (const char *)weft_segment_slice(&s, l);

        assert_int_equal(slice[0], 0);
        assert_memory_equal(slice, slice + 1, s.header->slice_bytes - 1);
    }
    weft_segment_close(&s);
}

static void ranks_are_counted_as_they_join(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);

    (void)state;
    assert_int_equal(weft_segment_join(&s, 2), 1);
    assert_int_equal(weft_segment_join(&s, 0), 2);
    assert_true(weft_segment_is_attached(&s, 0));
    assert_false(weft_segment_is_attached(&s, 1));
    assert_true(weft_segment_is_attached(&s, 2));
    assert_int_equal(s.header->attached, 2);
    weft_segment_close(&s);
}

static void a_segment_for_1024_ranks_costs_next_to_nothing(void **state)
{
    struct weft_segment s = create(1024, 1024);
    struct stat st;

    (void)state;
    assert_int_equal(fstat(s.fd, &st), 0);
    assert_true(st.st_size >= 1024 * (off_t)WEFT_SEGMENT_SLICE_BYTES);
    assert_in_range(st.st_blocks * 512, 1, 64 * 1024 - 1);
    weft_segment_close(&s);
}

/* ---- what is refused ---- */

/* The descriptor stays the caller's: it is open, and then closed. */
static void expect_refused(int fd, enum weft_rc rc)
{
    struct weft_segment s = {.fd = -5};

    assert_int_equal(weft_segment_attach(fd, &s), rc);
    assert_null(s.header);
    assert_int_equal(s.fd, -5);
    assert_int_equal(close(fd), 0);
}

static void what_is_no_segment_is_refused(void **state)
{
    struct weft_segment s = {.fd = -5};
    static const char zeros[8192];
    int ends[2];
    int fd = memfd_create("empty", 0);

    (void)state;
    assert_int_equal(weft_segment_attach(-1, &s), WEFT_ERR_ARGUMENT);
    assert_int_equal(weft_segment_attach(999, &s), WEFT_ERR_ARGUMENT);
    assert_int_equal(pipe(ends), 0);
    expect_refused(ends[0], WEFT_ERR_ARGUMENT);
    expect_refused(ends[1], WEFT_ERR_ARGUMENT);
    expect_refused(open("/dev/zero", O_RDWR), WEFT_ERR_ARGUMENT);
    expect_refused(open("/", O_RDONLY), WEFT_ERR_ARGUMENT);
    expect_refused(fd, WEFT_ERR_ARGUMENT);
    fd = memfd_create("zeros", 0);
    assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
    expect_refused(fd, WEFT_ERR_ARGUMENT);
}

/* A file of the right size with this header. */
static int file_with(const struct weft_segment_header *h, uint64_t bytes)
{
    int fd = memfd_create("lie", 0);

    assert_int_equal(pwrite(fd, h, sizeof(*h), 0), sizeof(*h));
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    return fd;
}

struct field {
    const char *name;
    size_t at;
    size_t size;
};

#define FIELD(name)                                                                      \
    {                                                                                    \
#name, offsetof(struct weft_segment_header, name),                               \
            sizeof(((struct weft_segment_header *)NULL)->name)                           \
    }

static void a_header_that_lies_is_refused(void **state)
{
    static const struct field fields[] = {
        FIELD(header_bytes), FIELD(bytes),       FIELD(job_size),  FIELD(local_size),
        FIELD(map_at),       FIELD(slots_at),    FIELD(failed_at), FIELD(slot_count),
        FIELD(slices_at),    FIELD(slice_bytes), FIELD(heap_at),   FIELD(heap_bytes),
    };
    struct weft_segment s = create(RANKS, LOCALS);
    struct weft_segment_header good;

    (void)state;
    memcpy(&good, s.header, sizeof(good));
    weft_segment_close(&s);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        char *at = (char *)&good + fields[i].at;
        uint64_t old = 0;

        memcpy(&old, at, fields[i].size); /* the machine is little-endian, as all ours */
        const uint64_t lies[] = {old + 1,  old - 1, old + 4096, old - 4096, old + 262144,
                                 old * 2,  old / 2, 0,          1,          UINT64_MAX,
                                 1u << 31, ~old};
        for (size_t k = 0; k < sizeof(lies) / sizeof(lies[0]); k++) {
            struct weft_segment seen = {.header = NULL};
            int fd;

            memcpy(at, &lies[k], fields[i].size);
            if (memcmp(at, &old, fields[i].size) == 0) {
                continue; /* no lie: 0 heap bytes, say */
            }
            fd = file_with(&good, good.bytes == old ? old : 64 << 20);
            if (weft_segment_attach(fd, &seen) != WEFT_ERR_ARGUMENT) {
                fail_msg("%s was %llu and is %llu: not refused", fields[i].name,
                         (unsigned long long)old, (unsigned long long)lies[k]);
            }
            close(fd);
        }
        memcpy(at, &old, fields[i].size);
    }
    good.heap_bytes = (uint64_t)-4096; /* two lies whose sum is right */
    good.bytes = good.heap_at - 4096;
    expect_refused(file_with(&good, good.bytes), WEFT_ERR_ARGUMENT);
}

static void numbers_of_ranks_that_make_no_sense_are_refused(void **state)
{
    struct weft_segment nobody = create(RANKS, 0);
    struct weft_segment more = create(RANKS, RANKS + 1);

    (void)state;
    expect_refused(dup(nobody.fd), WEFT_ERR_ARGUMENT);
    expect_refused(dup(more.fd), WEFT_ERR_ARGUMENT);
    weft_segment_close(&nobody);
    weft_segment_close(&more);
}

static void a_file_shorter_than_its_header_says_is_refused(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);
    struct weft_segment_header h;

    (void)state;
    memcpy(&h, s.header, sizeof(h));
    weft_segment_close(&s);
    expect_refused(file_with(&h, h.bytes - 1), WEFT_ERR_ARGUMENT);
    expect_refused(file_with(&h, sizeof(h)), WEFT_ERR_ARGUMENT);
    expect_refused(file_with(&h, sizeof(h) - 1), WEFT_ERR_ARGUMENT);
}

static void another_magic_is_no_segment_another_layout_is_not_ours(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);
    struct weft_segment_header h;

    (void)state;
    memcpy(&h, s.header, sizeof(h));
    weft_segment_close(&s);
    h.layout++;
    expect_refused(file_with(&h, h.bytes), WEFT_ERR_UNSUPPORTED);
    h.slice_bytes = 3; /* of which nothing else is known */
    expect_refused(file_with(&h, 4096), WEFT_ERR_UNSUPPORTED);
    h.magic ^= 1;
    expect_refused(file_with(&h, h.bytes), WEFT_ERR_ARGUMENT);
}

/* ---- the barrier ---- */

struct team {
    struct weft_segment segment;
    _Atomic long arrivals; /* of all ranks in all rounds */
    _Atomic int early;     /* barriers passed before all had come */
    _Atomic int late;      /* barriers after which someone was two rounds ahead */
    int size;
    int rounds;
    bool is_slow; /* some come so late that the others sleep */
};

static void pass_barrier(const struct weft_segment *segment, int me)
{
    struct weft_segment_header *h = segment->header;
    uint32_t generation;

    if (!weft_segment_arrive(segment, (uint32_t)me, &generation)) {
        weft_wait_change(&h->generation, generation, &h->sleepers);
    }
}

static void play(struct team *team, int me)
{
    for (int round = 0; round < team->rounds; round++) {
        long all = (long)team->size * (round + 1);
        long seen;

        if (team->is_slow && round % team->size == me) {
            usleep(WEFT_YIELD_NS / 1000 * 3);
        }
        atomic_fetch_add(&team->arrivals, 1);
        pass_barrier(&team->segment, me);
        seen = atomic_load(&team->arrivals);
        if (seen < all) {
            atomic_fetch_add(&team->early, 1);
        }
        if (seen >= all + team->size) {
            atomic_fetch_add(&team->late, 1);
        }
    }
}

struct player {
    struct team *team;
    int me;
};

static void *play_in_thread(void *arg)
{
    const struct player *player = arg;

    play(player->team, player->me);
    return NULL;
}

static void expect_fair(const struct team *team)
{
    assert_int_equal(team->arrivals, (long)team->size * team->rounds);
    assert_int_equal(team->early, 0);
    assert_int_equal(team->late, 0);
    assert_int_equal(team->segment.header->arrived, 0);
    assert_int_equal(team->segment.header->sleepers, 0);
    assert_int_equal(team->segment.header->generation, team->rounds);
}

static void play_with_threads(int size, int rounds, bool is_slow)
{
    struct team team = {.size = size, .rounds = rounds, .is_slow = is_slow};
    struct player players[MOST];
    pthread_t threads[MOST];

    team.segment = create((uint32_t)size, (uint32_t)size);
    for (int i = 0; i < size; i++) {
        players[i] = (struct player){.team = &team, .me = i};
        assert_int_equal(pthread_create(&threads[i], NULL, play_in_thread, &players[i]),
                         0);
    }
    for (int i = 0; i < size; i++) {
        pthread_join(threads[i], NULL);
    }
    expect_fair(&team);
    weft_segment_close(&team.segment);
}

static void nobody_passes_the_barrier_before_all_have_come(void **state)
{
    (void)state;
    for (int size = 2; size <= MOST; size++) {
        weft_wait_set_crowded(size > 2);
        play_with_threads(size, ROUNDS, false);
    }
    weft_wait_set_crowded(true);
}

static void the_barrier_wakes_whoever_sleeps(void **state)
{
    (void)state;
    play_with_threads(2, SLOW_ROUNDS, true);
    play_with_threads(MOST, SLOW_ROUNDS, true);
}

static void the_barrier_holds_between_processes(void **state)
{
    const int size = 3;
    struct team *team = mmap(NULL, sizeof(*team), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(team, MAP_FAILED);
    *team = (struct team){.size = size, .rounds = SLOW_ROUNDS, .is_slow = true};
    team->segment = create((uint32_t)size, (uint32_t)size);
    for (int i = 0; i < size; i++) {
        if (fork() == 0) {
            alarm(20); /* a lost wake-up would last for ever */
            play(team, i);
            _exit(0);
        }
    }
    for (int i = 0; i < size; i++) {
        int status;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    expect_fair(team);
    weft_segment_close(&team->segment);
    munmap(team, sizeof(*team));
}

/* ---- abort ---- */

/* A process aborts once, so each case has one of its own. */
static void in_child(void (*act)(struct weft_segment *), struct weft_segment *segment)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        act(segment);
        _exit(0);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

static void abort_twice(struct weft_segment *s)
{
    weft_slice_abort(weft_segment_slice(s, 1), 7, "rank 4: MPI_Abort");
    weft_slice_abort(weft_segment_slice(s, 1), 8, "too late");
}

static void abort_at_length(struct weft_segment *s)
{
    static char text[4 * WEFT_CAUSE_BYTES];

    memset(text, 'x', sizeof(text) - 1);
    weft_slice_abort(weft_segment_slice(s, 1), 300, text);
}

static void what_a_rank_says_of_its_end_is_read_as_one_line(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);
    struct weft_slice *slice = weft_segment_slice(&s, 1);
    struct weft_slice_end end;

    (void)state;
    assert_true(weft_slice_read_end(slice, &end));
    assert_int_equal(end.state, WEFT_SLICE_EMPTY);
    slice->state = WEFT_SLICE_ABORTED;
    slice->code = 7;
    memcpy(slice->cause, "two\nlines\033[1m", sizeof("two\nlines\033[1m"));
    assert_true(weft_slice_read_end(slice, &end));
    assert_int_equal(end.state, WEFT_SLICE_ABORTED);
    assert_int_equal(end.code, 7);
    assert_string_equal(end.cause, "two lines [1m");
    weft_segment_close(&s);
}

static void a_slice_that_was_overwritten_is_not_believed(void **state)
{
    static const int codes[] = {0, -1, 256, 0x41414141};
    struct weft_segment s = create(RANKS, LOCALS);
    struct weft_slice *slice = weft_segment_slice(&s, 1);
    struct weft_slice_end end;

    (void)state;
    slice->state = WEFT_SLICE_ABORTED;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        slice->code = codes[i]; /* no failure has these */
        assert_false(weft_slice_read_end(slice, &end));
    }
    slice->code = 7;
    memset(slice->cause, 'A', sizeof(slice->cause)); /* and no end */
    assert_false(weft_slice_read_end(slice, &end));
    slice->state = WEFT_SLICE_LOST; /* which only the launcher writes, later */
    assert_false(weft_slice_read_end(slice, &end));
    slice->state = 0xffffffff;
    assert_false(weft_slice_read_end(slice, &end));
    weft_segment_close(&s);
}

static void an_overwritten_header_does_not_move_what_is_found_by_it(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);
    const struct weft_slice *slice = weft_segment_slice(&s, 2);
    const struct weft_location *map = weft_segment_map(&s);

    (void)state;
    weft_segment_slice(&s, 0)->bell_at = 0xfffffff1;
    weft_segment_slice(&s, 1)->bell_at = 3; /* neither is a place of a bell */
    memset(s.header, 0xff, sizeof(*s.header));
    assert_ptr_equal(weft_segment_slice(&s, 2), slice);
    assert_ptr_equal(weft_segment_map(&s), map);
    weft_segment_lose(&s, 2, "killed");
    assert_string_equal(weft_segment_why_lost(&s, 2), "killed");
    assert_int_equal(weft_segment_slice(&s, 0)->state, WEFT_SLICE_EMPTY);
    weft_segment_close(&s);
}

static void nobody_can_change_the_size_of_a_segment(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);
    struct stat st;

    (void)state;
    assert_int_equal(fstat(s.fd, &st), 0);
    assert_int_equal(ftruncate(s.fd, 4096), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(s.fd, st.st_size + 4096), -1);
    assert_int_equal(ftruncate(s.fd, st.st_size), 0);
    weft_segment_close(&s);
}

/* Lowers the limit of file sizes; in a child, because it cannot be raised again. */
static void create_below(rlim_t soft, rlim_t hard, enum weft_rc expected)
{
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    const struct weft_segment_plan plan = {
        .job_size = 1, .node_count = 1, .local_size = 1};
    struct weft_segment segment;
    struct rlimit after;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
            weft_segment_create(&plan, &segment) != expected ||
            getrlimit(RLIMIT_FSIZE, &after) != 0) {
            _exit(1);
        }
        _exit(after.rlim_cur == soft ? 0 : 2);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

static void the_limit_of_file_sizes_is_raised_or_told(void **state)
{
    (void)state;
    create_below(64 * 1024, RLIM_INFINITY, WEFT_OK);
    create_below(64 * 1024, 64 * 1024, WEFT_ERR_SYSTEM);
}

static void the_first_abort_leaves_its_code_and_cause(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);
    const struct weft_slice *slice = weft_segment_slice(&s, 1);

    (void)state;
    in_child(abort_twice, &s);
    assert_int_equal(slice->state, WEFT_SLICE_ABORTED);
    assert_int_equal(slice->code, 7);
    assert_string_equal(slice->cause, "rank 4: MPI_Abort");
    assert_int_equal(weft_segment_slice(&s, 0)->state, WEFT_SLICE_EMPTY);
    assert_int_equal(weft_segment_slice(&s, 2)->state, WEFT_SLICE_EMPTY);
    weft_segment_close(&s);
}

static void a_long_cause_is_cut_within_its_place(void **state)
{
    struct weft_segment s = create(RANKS, LOCALS);
    const struct weft_slice *slice = weft_segment_slice(&s, 1);

    (void)state;
    in_child(abort_at_length, &s);
    assert_int_equal(slice->code, 300);
    assert_int_equal(strnlen(slice->cause, WEFT_CAUSE_BYTES), WEFT_CAUSE_BYTES - 1);
    assert_int_equal(((const char *)slice)[sizeof(*slice)], 0); /* nothing behind it */
    weft_segment_close(&s);
}

/* Rank 1 of 3 is lost before it comes to the barrier, and in it. */
static void a_barrier_does_not_wait_for_a_rank_that_was_lost(void **state)
{
    (void)state;
    for (int has_come = 0; has_come < 2; has_come++) {
        struct weft_segment segment = create(3, 3);
        _Atomic uint32_t *generation = &segment.header->generation;
        uint32_t old;
        uint32_t other;

        assert_false(weft_segment_arrive(&segment, 0, &old));
        if (has_come) {
            assert_false(weft_segment_arrive(&segment, 1, &other));
        }
        assert_null(weft_segment_why_lost(&segment, 1));
        weft_segment_lose(&segment, 1, "by a test");
        assert_string_equal(weft_segment_why_lost(&segment, 1), "by a test");
        assert_false(weft_segment_release(&segment, old));
        assert_int_equal(atomic_load(generation), old);
        assert_true(weft_segment_arrive(&segment, 2, &other));
        assert_int_equal(other, old);
        assert_int_equal(atomic_load(generation), old + 1);
        assert_int_equal(weft_segment_all_came(&segment, old), has_come);
        assert_true(weft_segment_release(&segment, old)); /* once more changes nothing */
        assert_int_equal(atomic_load(generation), old + 1);
        /* And the next one, in the other order. */
        assert_false(weft_segment_arrive(&segment, 2, &old));
        assert_true(weft_segment_arrive(&segment, 0, &old));
        assert_int_equal(atomic_load(generation), old + 1);
        weft_segment_close(&segment);
    }
}

/* All others have come when it is lost: who waits finds that out. */
static void a_barrier_ends_when_the_last_to_come_is_lost(void **state)
{
    struct weft_segment segment = create(3, 3);
    struct weft_slice *slice = weft_segment_slice(&segment, 0);
    _Atomic uint32_t *bell = (_Atomic uint32_t *)(void *)((char *)slice + 2048);
    uint32_t old;

    (void)state;
    atomic_store(&slice->bell_at, 2048);
    assert_false(weft_segment_arrive(&segment, 0, &old));
    assert_false(weft_segment_arrive(&segment, 2, &old));
    weft_segment_lose(&segment, 1, "by a test");
    assert_int_equal(atomic_load(bell), 1);
    assert_int_equal(atomic_load(weft_segment_failed_count(&segment)), 1);
    assert_true(weft_segment_release(&segment, old));
    assert_int_equal(atomic_load(&segment.header->generation), old + 1);
    weft_segment_close(&segment);
}

/* Of any node; a count that a stray write has left is not believed. */
static void failed_ranks_are_listed_in_order(void **state)
{
    struct weft_segment segment = create(RANKS, LOCALS);
    _Atomic uint32_t *count =
        (_Atomic uint32_t *)(uintptr_t)weft_segment_failed_count(&segment);

    (void)state;
    for (uint32_t l = 0; l < LOCALS; l++) {
        weft_segment_plan_slot(&segment, l, l + 1);
    }
    weft_segment_fail(&segment, 4);
    weft_segment_lose(&segment, 0, "by a test");
    assert_int_equal(atomic_load(count), 2);
    assert_int_equal(weft_segment_failed(&segment, 0), 4);
    assert_int_equal(weft_segment_failed(&segment, 1), 1);
    assert_true(weft_segment_has_failed(&segment, 1));
    assert_false(weft_segment_has_failed(&segment, 2));
    atomic_store(count, UINT32_MAX - 1);
    weft_segment_fail(&segment, 3);
    assert_int_equal(atomic_load(count), UINT32_MAX - 1);
    weft_segment_close(&segment);
}

static void a_slot_says_whose_it_is_and_spare_ones_are_free(void **state)
{
    struct weft_segment segment = create(RANKS, LOCALS);
    const uint32_t count = segment.header->slot_count;

    (void)state;
    assert_int_equal(count, LOCALS + WEFT_SEGMENT_SPARE_SLOTS);
    weft_segment_plan_slot(&segment, 1, 3);
    assert_int_equal(atomic_load(&weft_segment_slot(&segment, 1)->process),
                     UINT64_C(4711) << 32 | 3);
    assert_int_equal(atomic_load(&weft_segment_slot(&segment, 1)->state),
                     WEFT_SLOT_PLANNED);
    for (uint32_t l = LOCALS; l < count; l++) {
        assert_int_equal(atomic_load(&weft_segment_slot(&segment, l)->process), 0);
        assert_int_equal(atomic_load(&weft_segment_slot(&segment, l)->state),
                         WEFT_SLOT_FREE);
    }
    assert_true((char *)weft_segment_slice(&segment, count - 1) +
                    WEFT_SEGMENT_SLICE_BYTES <=
                (char *)segment.header + segment.mapped);
    weft_segment_close(&segment);
}

/* What another user owns, can open or has linked is not taken. */
static void only_a_file_of_this_user_alone_is_private(void **state)
{
    char path[] = "/tmp/weft-test-XXXXXX";
    char second[sizeof(path) + 1];
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_true(weft_segment_is_private(fd));
    for (mode_t other = S_IXOTH; other <= S_IRGRP; other <<= 1) {
        assert_int_equal(fchmod(fd, S_IRUSR | S_IWUSR | other), 0);
        assert_false(weft_segment_is_private(fd));
    }
    assert_int_equal(fchmod(fd, S_IRUSR | S_IWUSR), 0);
    snprintf(second, sizeof(second), "%s2", path);
    assert_int_equal(link(path, second), 0);
    assert_false(weft_segment_is_private(fd));
    assert_int_equal(unlink(second), 0);
    assert_true(weft_segment_is_private(fd));
    if (fchown(fd, 65534, (gid_t)-1) == 0) { /* as root */
        assert_false(weft_segment_is_private(fd));
    }
    assert_int_equal(unlink(path), 0);
    close(fd);
    assert_false(weft_segment_is_private(-1));
}

static void a_slice_is_taken_once(void **state)
{
    struct weft_segment segment = create(RANKS, LOCALS);

    (void)state;
    assert_true(weft_segment_claim(&segment, 1));
    assert_false(weft_segment_claim(&segment, 1));
    assert_true(weft_segment_claim(&segment, 2));
    weft_segment_close(&segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_attaches_sees_what_the_maker_wrote),
        cmocka_unit_test(two_segments_have_different_secrets),
        cmocka_unit_test(parts_do_not_overlap),
        cmocka_unit_test(a_new_slice_is_zero_and_that_means_empty),
        cmocka_unit_test(ranks_are_counted_as_they_join),
        cmocka_unit_test(a_barrier_does_not_wait_for_a_rank_that_was_lost),
        cmocka_unit_test(a_barrier_ends_when_the_last_to_come_is_lost),
        cmocka_unit_test(failed_ranks_are_listed_in_order),
        cmocka_unit_test(a_slot_says_whose_it_is_and_spare_ones_are_free),
        cmocka_unit_test(a_segment_for_1024_ranks_costs_next_to_nothing),
        cmocka_unit_test(what_is_no_segment_is_refused),
        cmocka_unit_test(a_header_that_lies_is_refused),
        cmocka_unit_test(numbers_of_ranks_that_make_no_sense_are_refused),
        cmocka_unit_test(a_file_shorter_than_its_header_says_is_refused),
        cmocka_unit_test(another_magic_is_no_segment_another_layout_is_not_ours),
        cmocka_unit_test(nobody_passes_the_barrier_before_all_have_come),
        cmocka_unit_test(the_barrier_wakes_whoever_sleeps),
        cmocka_unit_test(the_barrier_holds_between_processes),
        cmocka_unit_test(what_a_rank_says_of_its_end_is_read_as_one_line),
        cmocka_unit_test(a_slice_that_was_overwritten_is_not_believed),
        cmocka_unit_test(an_overwritten_header_does_not_move_what_is_found_by_it),
        cmocka_unit_test(nobody_can_change_the_size_of_a_segment),
        cmocka_unit_test(the_limit_of_file_sizes_is_raised_or_told),
        cmocka_unit_test(only_a_file_of_this_user_alone_is_private),
        cmocka_unit_test(a_slice_is_taken_once),
        cmocka_unit_test(the_first_abort_leaves_its_code_and_cause),
        cmocka_unit_test(a_long_cause_is_cut_within_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
