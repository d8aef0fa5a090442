/*
 * test_sched.c - running graphs against the fake transport: what starts when, what
 * happens after an error, and what is left to other threads.
 */
#include "p2p_fixture.h"

#include "datatype/construct.h"
#include "engine/lock.h"
#include "sched/sched.h"
#include "sched/tree.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { A = 1, B = 2, TAG = 40, LARGE = 10000, LIMIT_SECONDS = 580 };

static struct weft_graph graph;
static struct weft_sched sched;
static uint8_t sent[LARGE];
static uint8_t got[LARGE];
static struct weft_data spaces[2];
static int ends;
static enum weft_rc ended_with;
static int restarts; /* that done() makes */

static void start(void)
{
    weft_lock();
    weft_sched_start(&sched);
    weft_unlock();
}

static void done(struct weft_sched *s, enum weft_rc rc)
{
    assert_ptr_equal(s, &sched);
    ends++;
    ended_with = rc;
    if (restarts > 0) {
        restarts--;
        weft_sched_start(s);
    }
}

static bool may_take_lock(void)
{
    if (!weft_lock_try()) {
        return false;
    }
    weft_unlock();
    return true;
}

static bool was_unlocked; /* at the last reduction */

/* Adds bytes. */
static void reduce(const struct weft_sched *s, const struct weft_data *from,
                   const struct weft_data *to)
{
    const uint8_t *in = from->buffer;
    uint8_t *inout = (uint8_t *)(uintptr_t)to->buffer;

    (void)s;
    was_unlocked = to->bytes > WEFT_SCHED_LOCKED_BYTES && may_take_lock();
    for (size_t i = 0; i < to->bytes; i++) {
        inout[i] = (uint8_t)(inout[i] + in[i]);
    }
}

static int called;
static enum weft_rc call_result;

static enum weft_rc call(struct weft_sched *s, const struct weft_step *step)
{
    (void)s;
    called += step->peer;
    assert_true(may_take_lock());
    return call_result;
}

static sem_t gate; /* work waits here, if the test says so */
static bool has_gate;

static enum weft_rc work(struct weft_sched *s, const struct weft_step *step)
{
    (void)s;
    if (has_gate) {
        sem_wait(&gate);
    }
    weft_lock(); /* hangs if this thread has it */
    called += step->peer;
    weft_unlock();
    return call_result;
}

static int word_value;

static enum weft_rc word(struct weft_sched *s, const struct weft_step *step)
{
    (void)s;
    if (word_value < 0) {
        return WEFT_ERR_PROC_FAILED;
    }
    return word_value >= step->peer ? WEFT_OK : WEFT_AGAIN;
}

static const struct weft_sched_ops ops = {
    .word = word,
    .done = done,
    .reduce = reduce,
    .call = call,
    .work = work,
};

static int open_sched(void **state)
{
    weft_graph_init(&graph);
    sched = (struct weft_sched){
        .graph = &graph,
        .ops = &ops,
        .comm = &fixture_comm,
        .plane = WEFT_PLANE_P2P,
        .tag = TAG,
        .spaces = {&spaces[0], &spaces[1]},
    };
    spaces[0] = (struct weft_data){.buffer = sent, .bytes = LARGE};
    spaces[1] = (struct weft_data){.buffer = got, .bytes = LARGE};
    ends = 0;
    restarts = 0;
    called = 0;
    call_result = WEFT_OK;
    word_value = 0;
    fill_pattern(sent, sizeof(sent), 1);
    memset(got, 0, sizeof(got));
    if (fixture_open(state) != 0) {
        return -1;
    }
    weft_sched_open();
    return 0;
}

static int close_sched(void **state)
{
    weft_sched_free(&sched);
    weft_graph_free(&graph);
    return fixture_close(state);
}

static void make(void)
{
    assert_int_equal(graph.rc, WEFT_OK);
    assert_null(
        weft_graph_check(&graph, FIXTURE_RANKS,
                         (const uint64_t[WEFT_SPACES]){LARGE, LARGE, graph.scratch}));
    assert_int_equal(weft_sched_make(&sched), WEFT_OK);
}

static void expect_end(int times, enum weft_rc rc)
{
    assert_int_equal(ends, times);
    assert_int_equal(ended_with, rc);
    assert_int_equal(weft_engine.count[WEFT_REASON_REQUESTS], 0);
    assert_int_equal(weft_engine.count[WEFT_REASON_STEPS], 0);
    assert_int_equal(fixture_comm.references, 1);
}

static struct weft_span in_recv(uint64_t offset, uint64_t bytes)
{
    return weft_span(WEFT_SPACE_RECV, offset, bytes);
}

static struct weft_span in_send(uint64_t offset, uint64_t bytes)
{
    return weft_span(WEFT_SPACE_SEND, offset, bytes);
}

/* ---- messages ---- */

/* From A, then on to B. */
static void make_relay(void)
{
    const uint32_t received = weft_graph_recv(&graph, A, in_recv(0, 4));

    weft_graph_after(&graph, weft_graph_send(&graph, B, in_recv(0, 4)), received);
    make();
}

static void a_step_starts_when_the_one_before_it_is_over(void **state)
{
    (void)state;
    make_relay();
    start();
    weft_progress();
    assert_int_equal(fake.sent_count, 0);
    assert_int_equal(weft_engine.count[WEFT_REASON_STEPS], 1);
    arrive_eager(A, TAG, "abc", 4);
    weft_progress();
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(fake.sent[0]->peer, B);
    assert_int_equal(fake.sent[0]->header.tag, TAG);
    assert_memory_equal(fake.sent[0]->data, "abc", 4);
    expect_end(1, WEFT_OK);
}

static void a_message_that_waits_already_ends_it_inside_start(void **state)
{
    (void)state;
    make_relay();
    arrive_eager(A, TAG, "abc", 4);
    weft_progress();
    start();
    assert_int_equal(fake.sent_count, 1);
    expect_end(1, WEFT_OK);
}

static void it_can_be_started_a_thousand_times(void **state)
{
    (void)state;
    make_relay();
    for (int i = 0; i < 1000; i++) {
        if (i % 2 == 0) {
            arrive_eager(A, TAG, &i, 4);
            weft_progress();
        }
        start();
        if (i % 2 != 0) {
            arrive_eager(A, TAG, &i, 4);
            weft_progress();
        }
        assert_memory_equal(fake.sent[fake.sent_count - 1]->data, &i, 4);
        expect_end(i + 1, WEFT_OK);
        fake_forget();
    }
}

static void its_end_can_start_it_again(void **state)
{
    (void)state;
    make_relay();
    restarts = 2;
    for (int i = 0; i < 3; i++) {
        arrive_eager(A, TAG, "abc", 4);
    }
    weft_progress();
    start();
    assert_int_equal(fake.sent_count, 3);
    expect_end(3, WEFT_OK);
}

static void its_request_is_complete_after_the_end(void **state)
{
    struct weft_request *request;

    (void)state;
    make_relay();
    weft_lock();
    assert_int_equal(weft_request_take(&request), WEFT_OK);
    request->kind = WEFT_REQUEST_SCHEDULE;
    weft_unlock();
    sched.request = request;
    start();
    assert_false(weft_request_is_complete(request));
    arrive_eager(A, TAG, "abc", 4);
    weft_progress();
    end_request(request, WEFT_OK);
    expect_end(1, WEFT_OK);
}

static void tags_of_steps_are_added(void **state)
{
    (void)state;
    weft_graph_add(
        &graph, &(struct weft_step){
                    .kind = WEFT_STEP_SEND, .peer = A, .tag = 5, .from = in_send(2, 3)});
    make();
    start();
    assert_int_equal(fake.sent[0]->header.tag, TAG + 5);
    assert_memory_equal(fake.sent[0]->data, sent + 2, 3);
    expect_end(1, WEFT_OK);
}

/* As the root of a tree with everyone below it. */
static void a_tree_runs_at_its_root(void **state)
{
    const struct weft_shape shape = {.n = FIXTURE_RANKS, .rank = 0, .bytes = 1};

    (void)state;
    assert_int_equal(weft_tree_fold(&shape, &graph), WEFT_OK);
    make();
    got[0] = 1;
    start();
    for (int rank = FIXTURE_RANKS - 1; rank > 0; rank--) {
        assert_int_equal(fake.sent_count, 0);
        arrive_eager((uint32_t)rank, TAG, &(uint8_t){(uint8_t)(10 * rank)}, 1);
        weft_progress();
    }
    assert_int_equal(fake.sent_count, FIXTURE_RANKS - 1);
    assert_int_equal(got[0], (uint8_t)(1 + 280));
    assert_int_equal(fake.sent[3]->data[0], got[0]);
    expect_end(1, WEFT_OK);
}

static void a_step_waits_for_those_outside_too(void **state)
{
    uint32_t step;

    (void)state;
    step = weft_graph_send(&graph, A, in_send(0, 4));
    graph.steps[step].needs += 2;
    make();
    for (int i = 0; i < 3; i++) {
        start();
        weft_lock();
        weft_sched_release(&sched, step);
        assert_false(weft_sched_is_over(&sched, step));
        assert_int_equal(ends, i);
        weft_sched_release(&sched, step);
        assert_true(weft_sched_is_over(&sched, step));
        weft_unlock();
        expect_end(i + 1, WEFT_OK);
    }
    assert_int_equal(fake.sent_count, 3);
}

/* ---- errors ---- */

/* A message that is too long from A, then one to B; another receive from B meanwhile. */
static void start_failing(bool goes_on)
{
    const uint32_t received = weft_graph_recv(&graph, A, in_recv(0, 2));

    weft_graph_after(&graph, weft_graph_send(&graph, B, in_recv(0, 2)), received);
    weft_graph_recv(&graph, B, in_recv(8, 4));
    make();
    sched.goes_on = goes_on;
    start();
    arrive_eager(A, TAG, "abc", 4);
    weft_progress();
}

static void an_error_ends_it_and_cancels_its_receives(void **state)
{
    char word_of_b[4];

    (void)state;
    start_failing(false);
    weft_progress();
    assert_int_equal(fake.sent_count, 0);
    expect_end(1, WEFT_ERR_TRUNCATE);
    /* What comes now is not its any more. */
    arrive_eager(B, TAG, "def", 4);
    weft_progress();
    end_recv(start_recv(B, TAG, word_of_b, 4), B, TAG, 4);
    assert_int_equal(got[8], 0);
}

static void it_goes_on_after_an_error_if_told_to(void **state)
{
    (void)state;
    start_failing(true);
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(ends, 0);
    arrive_eager(B, TAG, "def", 4);
    weft_progress();
    assert_memory_equal(got + 8, "def", 4);
    expect_end(1, WEFT_ERR_TRUNCATE);
}

static void it_is_over_only_when_what_runs_is(void **state)
{
    (void)state;
    fake.refuse_ordered = FAKE_ENDLESS;
    weft_graph_send(&graph, B, in_send(0, 4));
    weft_graph_recv(&graph, A, in_recv(0, 2));
    make();
    start();
    arrive_eager(A, TAG, "abc", 4);
    weft_progress();
    assert_int_equal(ends, 0); /* the send still waits for room */
    fake.refuse_ordered = 0;
    weft_progress();
    expect_end(1, WEFT_ERR_TRUNCATE);
}

static void a_send_that_cannot_start_is_an_error(void **state)
{
    (void)state;
    fake.send_error = WEFT_ERR_SYSTEM;
    weft_graph_recv(&graph, B, in_recv(0, 4));
    weft_graph_send(&graph, A, in_send(0, 4));
    make();
    start();
    weft_progress();
    fake.send_error = WEFT_OK;
    expect_end(1, WEFT_ERR_SYSTEM);
}

static void it_can_be_started_again_after_an_error(void **state)
{
    (void)state;
    start_failing(false);
    weft_progress();
    expect_end(1, WEFT_ERR_TRUNCATE);
    start();
    arrive_eager(A, TAG, "a", 2);
    arrive_eager(B, TAG, "def", 4);
    weft_progress();
    assert_int_equal(fake.sent_count, 1);
    expect_end(2, WEFT_OK);
}

/* ---- steps without messages ---- */

static void *run_start(void *argument)
{
    start();
    return argument;
}

/* A hundred thousand steps that are over at once, on a stack of 64 KiB. */
static void a_long_chain_does_not_grow_the_stack(void **state)
{
    uint32_t last = WEFT_NO_STEP;
    pthread_attr_t attributes;
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        const uint32_t step = weft_graph_copy(&graph, in_send(0, 4), in_recv(0, 4));

        weft_graph_after(&graph, step, last);
        last = step;
    }
    make();
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 64 * 1024), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_start, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    expect_end(1, WEFT_OK);
}

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

/* Every step adds up what those before it have, plus one, in its own place: so the sums
 * tell whether all of them were over. */
static void random_graphs_keep_to_their_order(void **state)
{
    enum { STEPS = 60 };

    (void)state;
    memset(sent, 1, sizeof(sent));
    for (int turn = 0; turn < 200; turn++) {
        uint8_t expected[STEPS];
        uint32_t last[STEPS]; /* that writes to each place */

        for (uint32_t i = 0; i < STEPS; i++) {
            uint32_t step = weft_graph_copy(&graph, in_send(i, 1), in_recv(i, 1));

            expected[i] = 1;
            for (uint32_t k = 0; k < 3 && i > 0; k++) {
                const uint32_t other = draw(i);
                const uint32_t add =
                    weft_graph_reduce(&graph, in_recv(other, 1), in_recv(i, 1));

                weft_graph_after(&graph, add, step);
                weft_graph_after(&graph, add, last[other]);
                expected[i] = (uint8_t)(expected[i] + expected[other]);
                step = add;
            }
            last[i] = step;
        }
        make();
        memset(got, 0xaa, sizeof(got));
        start();
        assert_int_equal(ends, turn + 1);
        assert_memory_equal(got, expected, STEPS);
        weft_sched_free(&sched);
        weft_graph_free(&graph);
    }
}

static void a_large_reduction_runs_without_the_lock(void **state)
{
    const uint32_t received = weft_graph_recv(&graph, A, in_recv(0, 4));
    const uint32_t copied = weft_graph_copy(&graph, in_send(0, LARGE), in_recv(0, LARGE));
    const uint32_t reduced =
        weft_graph_reduce(&graph, in_send(0, LARGE), in_recv(0, LARGE));

    (void)state;
    weft_graph_after(&graph, copied, received);
    weft_graph_after(&graph, reduced, copied);
    weft_graph_after(&graph, weft_graph_send(&graph, B, in_recv(0, 4)), reduced);
    make();
    start();
    arrive_eager(A, TAG, "abc", 4);
    weft_progress();
    for (int i = 0; i < LARGE; i++) {
        assert_int_equal(got[i], (uint8_t)(2 * sent[i]));
    }
    assert_true(was_unlocked);
    assert_int_equal(fake.sent_count, 1);
    expect_end(1, WEFT_OK);
}

static void a_thread_polls_between_the_pieces_of_a_copy(void **state)
{
    const size_t bytes = 2 * WEFT_SCHED_PIECE_BYTES + 5;
    uint8_t *from = malloc(bytes);
    uint8_t *to = calloc(bytes, 1);

    (void)state;
    assert_non_null(from);
    assert_non_null(to);
    memset(from, 7, bytes);
    spaces[0] = (struct weft_data){.buffer = from, .bytes = bytes};
    spaces[1] = (struct weft_data){.buffer = to, .bytes = bytes};
    (void)weft_graph_copy(&graph, in_send(0, bytes), in_recv(0, bytes));
    assert_int_equal(weft_sched_make(&sched), WEFT_OK);
    for (int turn = 0; turn < 2; turn++) { /* also when it is started again */
        memset(to, 0, bytes);
        start();
        weft_lock();
        for (size_t piece = 0; piece < 3; piece++) {
            const size_t at = piece * WEFT_SCHED_PIECE_BYTES;

            assert_int_equal(ends, turn);
            assert_int_equal(to[at], 0);
            assert_true(weft_work_do());
            assert_int_equal(to[at], 7);
        }
        assert_false(weft_work_do());
        weft_unlock();
        assert_memory_equal(from, to, bytes);
        expect_end(turn + 1, WEFT_OK);
    }
    free(from);
    free(to);
}

static void a_call_runs_on_a_thread_of_the_user_only(void **state)
{
    const uint32_t first =
        weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_CALL, .peer = 3});

    (void)state;
    weft_graph_after(&graph, weft_graph_send(&graph, A, in_send(0, 4)), first);
    make();
    start();
    assert_true(sched.needs_caller);
    assert_int_equal(called, 0);
    assert_int_equal(fake.sent_count, 0);
    weft_progress();
    assert_false(sched.needs_caller);
    assert_int_equal(called, 3);
    assert_int_equal(fake.sent_count, 1);
    expect_end(1, WEFT_OK);
}

/* When the threads of the library have ended, work is done. */
static void work_runs_on_a_thread_that_may_block(void **state)
{
    const uint32_t first =
        weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORK, .peer = 7});

    (void)state;
    weft_graph_after(&graph, weft_graph_send(&graph, A, in_send(0, 4)), first);
    make();
    start();
    assert_false(sched.needs_caller);
    weft_threads_stop();
    assert_int_equal(called, 7);
    assert_int_equal(fake.sent_count, 1);
    expect_end(1, WEFT_OK);
    call_result = WEFT_ERR_SYSTEM;
    start();
    weft_threads_stop();
    assert_int_equal(fake.sent_count, 1);
    expect_end(2, WEFT_ERR_SYSTEM);
}

static void let_work_end(void)
{
    sem_post(&gate);
    weft_threads_stop();
}

static void who_waits_for_work_sleeps_and_is_woken(void **state)
{
    static const struct weft_wait_reason why = {"a test", "", A, TAG, 1};
    _Atomic uint32_t *bell = &area_of(0)->doorbell;
    struct weft_request *request;
    uint32_t before;

    (void)state;
    weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORK, .peer = 7});
    make();
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    has_gate = true;
    weft_lock();
    assert_int_equal(weft_request_take(&request), WEFT_OK);
    request->kind = WEFT_REQUEST_SCHEDULE;
    weft_unlock();
    sched.request = request;
    start();
    before = atomic_load(bell);
    fake.sleeping = let_work_end;
    weft_wait(request, &why);
    fake.sleeping = NULL;
    has_gate = false;
    assert_int_equal(fake.sleeps, 1);
    assert_int_equal(atomic_load(bell), before + 1);
    end_request(request, WEFT_OK);
    sem_destroy(&gate);
}

static void a_word_is_waited_for(void **state)
{
    const uint32_t first =
        weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORD, .peer = 1});
    const uint32_t second =
        weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORD, .peer = 2});

    (void)state;
    weft_graph_after(&graph, second, first);
    weft_graph_after(&graph, weft_graph_send(&graph, A, in_send(0, 4)), second);
    make();
    start();
    weft_progress();
    assert_int_equal(weft_engine.watched, 1);
    assert_int_equal(weft_engine.count[WEFT_REASON_PACKETS], 1); /* it is to be woken */
    word_value = 1;
    weft_progress();
    assert_true(weft_sched_is_over(&sched, first));
    assert_int_equal(fake.sent_count, 0);
    assert_int_equal(weft_engine.watched, 1);
    word_value = 2;
    weft_progress();
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(weft_engine.watched, 0);
    expect_end(1, WEFT_OK);
    start(); /* now both have their values */
    expect_end(2, WEFT_OK);
}

static void a_word_that_will_never_come_is_an_error(void **state)
{
    (void)state;
    weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORD, .peer = 1});
    weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORD, .peer = 2});
    make();
    start();
    weft_progress();
    assert_int_equal(weft_engine.watched, 2);
    word_value = -1;
    weft_progress();
    assert_int_equal(weft_engine.watched, 0);
    expect_end(1, WEFT_ERR_PROC_FAILED);
}

static void what_nobody_has_begun_is_withdrawn_after_an_error(void **state)
{
    (void)state;
    weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORD, .peer = 1});
    weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORD, .peer = 2});
    weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_CALL, .peer = 1});
    weft_graph_copy(&graph, in_send(0, LARGE), in_recv(0, LARGE));
    weft_graph_add(&graph, &(struct weft_step){.kind = WEFT_STEP_WORK, .peer = 1});
    make();
    call_result = WEFT_ERR_SYSTEM;
    start();
    weft_threads_stop(); /* the work fails */
    expect_end(1, WEFT_ERR_SYSTEM);
    assert_false(sched.needs_caller);
    assert_int_equal(weft_engine.watched, 0);
    assert_int_equal(weft_engine.reasons, 0);
    weft_progress();
    assert_int_equal(called, 1); /* nor was the user's function */
    assert_int_equal(got[1], 0); /* called, nor anything copied */
}

/* ---- data of other layouts ---- */

/* Two bytes of every four, four times. */
static struct weft_datatype *make_strided(void)
{
    struct weft_datatype *type;

    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, 4, 2, 4,
                                      weft_datatype_from_handle(MPI_BYTE), &type),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    return type;
}

static void spaces_may_have_types(void **state)
{
    struct weft_datatype *type = make_strided();
    uint8_t flat[8];

    (void)state;
    spaces[WEFT_SPACE_SEND] =
        (struct weft_data){.buffer = sent, .bytes = 8, .type = type, .count = 1};
    weft_graph_copy(&graph, in_send(2, 4), in_recv(0, 4));
    weft_graph_send(&graph, A, in_send(2, 6));
    make();
    start();
    for (int i = 0; i < 8; i++) {
        flat[i] = sent[i / 2 * 4 + i % 2];
    }
    assert_memory_equal(got, flat + 2, 4);
    assert_memory_equal(fake.sent[0]->data, flat + 2, 6);
    expect_end(1, WEFT_OK);
    weft_datatype_free(type);
}

/* Data that are packed before they are sent, without the lock, by the thread that runs
 * schedules while the program computes. */
static void data_are_packed_on_the_progress_thread_too(void **state)
{
    struct weft_datatype *type;

    (void)state;
    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, LARGE / 2, 1, 2,
                                      weft_datatype_from_handle(MPI_BYTE), &type),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    spaces[WEFT_SPACE_SEND] =
        (struct weft_data){.buffer = sent, .bytes = LARGE / 2, .type = type, .count = 1};
    weft_graph_send(&graph, A, in_send(0, LARGE / 2));
    make();
    limit_shares(0);
    weft_lock_as_progress();
    weft_engine.is_progress_thread_inside = true;
    weft_sched_start(&sched);
    assert_true(weft_engine.is_progress_thread_inside);
    weft_engine.is_progress_thread_inside = false;
    weft_lock_leave_as_progress();
    assert_int_equal(fake_count(WEFT_PKT_ANNOUNCE), 1);
    assert_true(may_take_lock());
    arrive_answer(
        A, WEFT_PKT_FETCHED,
        (union weft_pkt_control){
            .fetched = {.request = announce_in(fake_nth(WEFT_PKT_ANNOUNCE, 0)).request}});
    weft_progress();
    expect_end(1, WEFT_OK);
    weft_datatype_free(type);
}

/* ---- a send that packs, and another thread ---- */

static sem_t packs;   /* the first send has begun to pack, without the lock */
static sem_t is_over; /* and the other thread has done what it can meanwhile */
static uint8_t *guarded;

/* The first access to the data comes here: nobody may pass it by. */
static void on_access(int number)
{
    (void)number;
    if (mprotect(guarded, LARGE, PROT_READ | PROT_WRITE) != 0) {
        abort();
    }
    sem_post(&packs);
    sem_wait(&is_over);
}

/* A message arrives, so this thread advances the schedule, too. */
static void *arrive_meanwhile(void *unused)
{
    (void)unused;
    sem_wait(&packs);
    arrive_eager(B, TAG, sent, 10);
    weft_progress();
    sem_post(&is_over);
    return NULL;
}

/* Messages of one tag to one peer match in the order of the steps. */
static void sends_keep_their_order_while_one_of_them_packs(void **state)
{
    struct sigaction before;
    const struct sigaction catch = {.sa_handler = on_access};
    struct weft_datatype *type;
    pthread_t thread;

    (void)state;
    guarded = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(guarded, MAP_FAILED);
    assert_int_equal(sem_init(&packs, 0, 0) | sem_init(&is_over, 0, 0), 0);
    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false, LARGE / 2, 1, 2,
                                      weft_datatype_from_handle(MPI_BYTE), &type),
                     WEFT_OK);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    spaces[WEFT_SPACE_SEND] = (struct weft_data){
        .buffer = guarded, .bytes = LARGE / 2, .type = type, .count = 1};
    weft_graph_recv(&graph, B, in_recv(0, 10));
    weft_graph_send(&graph, A, in_send(0, LARGE / 2));
    weft_graph_send(&graph, A, in_send(0, LARGE / 2 - 1));
    make();
    limit_shares(0);
    assert_int_equal(sigaction(SIGSEGV, &catch, &before), 0);
    assert_int_equal(pthread_create(&thread, NULL, arrive_meanwhile, NULL), 0);
    start();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(fake_count(WEFT_PKT_ANNOUNCE), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct weft_pkt_announce announce =
            announce_in(fake_nth(WEFT_PKT_ANNOUNCE, i));

        assert_int_equal(announce.length, LARGE / 2 - i);
        arrive_answer(A, WEFT_PKT_FETCHED,
                      (union weft_pkt_control){.fetched = {.request = announce.request}});
    }
    weft_progress();
    expect_end(1, WEFT_OK);
    weft_datatype_free(type);
    munmap(guarded, LARGE);
}

static void both_spaces_may_have_types(void **state)
{
    struct weft_datatype *type = make_strided();

    (void)state;
    spaces[WEFT_SPACE_SEND] =
        (struct weft_data){.buffer = sent, .bytes = 8, .type = type, .count = 1};
    spaces[WEFT_SPACE_RECV] =
        (struct weft_data){.buffer = got, .bytes = 8, .type = type, .count = 1};
    weft_graph_copy(&graph, in_send(0, 8), in_recv(0, 8));
    make();
    start();
    for (int i = 0; i < 14; i++) {
        assert_int_equal(got[i], i % 4 < 2 ? sent[i] : 0);
    }
    expect_end(1, WEFT_OK);
    weft_datatype_free(type);
}

static void a_graph_without_steps_is_over_at_once(void **state)
{
    (void)state;
    make();
    start();
    expect_end(1, WEFT_OK);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_sched, close_sched)
    const struct CMUnitTest tests[] = {
        CASE(a_step_starts_when_the_one_before_it_is_over),
        CASE(a_message_that_waits_already_ends_it_inside_start),
        CASE(it_can_be_started_a_thousand_times),
        CASE(its_end_can_start_it_again),
        CASE(its_request_is_complete_after_the_end),
        CASE(tags_of_steps_are_added),
        CASE(a_tree_runs_at_its_root),
        CASE(a_step_waits_for_those_outside_too),
        CASE(an_error_ends_it_and_cancels_its_receives),
        CASE(it_goes_on_after_an_error_if_told_to),
        CASE(it_is_over_only_when_what_runs_is),
        CASE(a_send_that_cannot_start_is_an_error),
        CASE(it_can_be_started_again_after_an_error),
        CASE(a_long_chain_does_not_grow_the_stack),
        CASE(random_graphs_keep_to_their_order),
        CASE(a_large_reduction_runs_without_the_lock),
        CASE(a_thread_polls_between_the_pieces_of_a_copy),
        CASE(a_call_runs_on_a_thread_of_the_user_only),
        CASE(work_runs_on_a_thread_that_may_block),
        CASE(who_waits_for_work_sleeps_and_is_woken),
        CASE(a_word_is_waited_for),
        CASE(a_word_that_will_never_come_is_an_error),
        CASE(what_nobody_has_begun_is_withdrawn_after_an_error),
        CASE(spaces_may_have_types),
        CASE(data_are_packed_on_the_progress_thread_too),
        CASE(sends_keep_their_order_while_one_of_them_packs),
        CASE(both_spaces_may_have_types),
        CASE(a_graph_without_steps_is_over_at_once),
    };

    alarm(LIMIT_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
