/*
 * test_work.c - what is done outside the lock: which thread does it, what waits for it,
 * and what does not.
 */
#include "p2p_fixture.h"

#include "engine/engine.h"
#include "engine/lock.h"
#include "engine/thread.h"
#include "engine/work.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

enum { PIECES = 2 * WEFT_BLOCKING_THREADS, PATIENCE_S = 20, A = 3, TAG = 7 };

struct piece {
    struct weft_work work; /* first */
    pthread_t thread;      /* that ran it */
    bool was_unlocked;
    bool adds_another; /* when it is done */
    int order;         /* in which it was done, from 1; 0: it was not */
};

static struct {
    sem_t begun;             /* once by each blocking piece */
    sem_t go_on;             /* a blocking piece waits for this */
    sem_t is_done;           /* once by each piece */
    int done;                /* with the lock */
    bool is_refused;         /* no thread can be started */
    bool lets_go_at_the_end; /* when somebody joins the threads */
} lab;

static struct piece pieces[PIECES];

static void wait_for(sem_t *semaphore)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    assert_int_equal(sem_timedwait(semaphore, &until), 0);
}

/* ---- pieces ---- */

static void run(struct weft_work *work)
{
    struct piece *piece = (struct piece *)work;

    piece->thread = pthread_self();
    weft_lock(); /* hangs if this thread has it */
    piece->was_unlocked = true;
    weft_unlock();
}

static void run_blocking(struct weft_work *work)
{
    run(work);
    sem_post(&lab.begun);
    sem_wait(&lab.go_on);
}

static void done(struct weft_work *work)
{
    struct piece *piece = (struct piece *)work;

    piece->order = ++lab.done;
    if (piece->adds_another) {
        weft_work_add(&pieces[PIECES - 1].work, WEFT_WORK_BLOCKING, run_blocking, done);
    }
    sem_post(&lab.is_done);
}

static struct piece *add(int i, enum weft_work_class kind)
{
    weft_lock();
    weft_work_add(&pieces[i].work, kind, kind == WEFT_WORK_BLOCKING ? run_blocking : run,
                  done);
    weft_engine_leave();
    weft_unlock();
    return &pieces[i];
}

static void let_go(int count)
{
    for (int i = 0; i < count; i++) {
        sem_post(&lab.go_on);
    }
}

static void assert_done_here(const struct piece *piece)
{
    assert_true(piece->order > 0 && piece->was_unlocked);
    assert_true(pthread_equal(piece->thread, pthread_self()) != 0);
}

static void assert_done_elsewhere(const struct piece *piece)
{
    assert_true(piece->order > 0 && piece->was_unlocked);
    assert_true(pthread_equal(piece->thread, pthread_self()) == 0);
}

/* ---- fixture ---- */

static int open_fixture(void **state)
{
    memset(&lab, 0, sizeof(lab));
    memset(pieces, 0, sizeof(pieces));
    sem_init(&lab.begun, 0, 0);
    sem_init(&lab.go_on, 0, 0);
    sem_init(&lab.is_done, 0, 0);
    return fixture_open(state);
}

static int close_fixture(void **state)
{
    const int rc = fixture_close(state);

    sem_destroy(&lab.begun);
    sem_destroy(&lab.go_on);
    sem_destroy(&lab.is_done);
    return rc;
}

int __real_pthread_create(pthread_t *out, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument);
int __real_pthread_join(pthread_t thread, void **out);
int __wrap_pthread_join(pthread_t thread, void **out);

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument)
{
    return lab.is_refused ? EAGAIN
                          : __real_pthread_create(out, attributes, begin, argument);
}

int __wrap_pthread_join(pthread_t thread, void **out)
{
    if (lab.lets_go_at_the_end) {
        lab.lets_go_at_the_end = false;
        let_go(2);
    }
    return __real_pthread_join(thread, out);
}

/* ---- cases ---- */

static void short_work_is_done_by_who_polls_oldest_first(void **state)
{
    (void)state;
    add(0, WEFT_WORK_SHORT);
    add(1, WEFT_WORK_SHORT);
    assert_int_equal(weft_engine.count[WEFT_REASON_WORK], 2);
    assert_int_equal(lab.done, 0);
    weft_progress();
    assert_done_here(&pieces[0]);
    assert_done_here(&pieces[1]);
    assert_int_equal(pieces[0].order, 1);
    assert_int_equal(weft_engine.reasons, 0);
}

static void what_blocks_delays_neither_short_work_nor_messages(void **state)
{
    struct weft_request *request;
    char byte;

    (void)state;
    add(0, WEFT_WORK_BLOCKING);
    wait_for(&lab.begun);
    assert_int_equal(weft_engine.reasons, 0); /* nobody is to be woken for it */
    request = start_recv(A, TAG, &byte, 1);
    add(1, WEFT_WORK_SHORT);
    arrive_eager(A, TAG, "e", 1);
    weft_progress();
    assert_done_here(&pieces[1]);
    end_recv(request, A, TAG, 1);

    assert_int_equal(lab.done, 1);
    let_go(1);
    wait_for(&lab.is_done); /* of the short one */
    wait_for(&lab.is_done);
    assert_done_elsewhere(&pieces[0]);
}

static void a_few_pieces_block_at_a_time(void **state)
{
    (void)state;
    for (int i = 0; i < PIECES; i++) {
        add(i, WEFT_WORK_BLOCKING);
    }
    for (int i = 0; i < WEFT_BLOCKING_THREADS; i++) {
        wait_for(&lab.begun);
    }
    let_go(1);
    wait_for(&lab.is_done);
    wait_for(&lab.begun); /* the next one of those that wait */
    assert_int_equal(sem_trywait(&lab.begun), -1);
    let_go(PIECES - 1);
    for (int i = 1; i < PIECES; i++) {
        wait_for(&lab.is_done);
    }
    weft_work_threads_stop();
    for (int i = 0; i < PIECES; i++) {
        assert_done_elsewhere(&pieces[i]);
    }
}

static void a_thread_without_work_takes_the_next_piece(void **state)
{
    (void)state;
    add(0, WEFT_WORK_BLOCKING);
    wait_for(&lab.begun);
    lab.is_refused = true; /* no other thread is started */
    for (int i = 1; i < PIECES; i++) {
        let_go(1);
        wait_for(&lab.is_done);
        add(i, WEFT_WORK_BLOCKING);
        wait_for(&lab.begun);
    }
    let_go(1);
    weft_threads_stop();
    for (int i = 0; i < PIECES; i++) {
        assert_done_elsewhere(&pieces[i]);
        assert_int_equal(pieces[i].order, i + 1);
    }
}

static void threads_are_started_again_after_their_end(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        add(i, WEFT_WORK_BLOCKING);
        wait_for(&lab.begun);
        let_go(1);
        weft_threads_stop();
        assert_done_elsewhere(&pieces[i]);
    }
}

static void closing_waits_for_what_blocks_and_for_what_that_adds(void **state)
{
    (void)state;
    pieces[0].adds_another = true;
    add(0, WEFT_WORK_BLOCKING);
    wait_for(&lab.begun);
    lab.lets_go_at_the_end = true;
    weft_threads_stop();
    assert_done_elsewhere(&pieces[0]);
    assert_done_elsewhere(&pieces[PIECES - 1]);
    assert_int_equal(lab.done, 2);
}

static void what_nobody_has_begun_can_be_taken_back(void **state)
{
    (void)state;
    for (int i = 0; i < WEFT_BLOCKING_THREADS + 2; i++) {
        add(i, WEFT_WORK_BLOCKING);
    }
    for (int i = 0; i < WEFT_BLOCKING_THREADS; i++) {
        wait_for(&lab.begun);
    }
    weft_lock();
    weft_work_remove(&pieces[WEFT_BLOCKING_THREADS + 1].work); /* the last of two */
    weft_unlock();
    let_go(WEFT_BLOCKING_THREADS + 1);
    weft_threads_stop();
    assert_int_equal(lab.done, WEFT_BLOCKING_THREADS + 1);
    assert_int_equal(pieces[WEFT_BLOCKING_THREADS + 1].order, 0);
    assert_int_equal(pieces[WEFT_BLOCKING_THREADS + 1].work.state, WEFT_WORK_NONE);
}

static void a_call_is_made_by_a_thread_of_the_program_only(void **state)
{
    (void)state;
    add(0, WEFT_WORK_CALL);
    weft_progress_role_take();
    weft_lock_as_progress();
    weft_engine.is_progress_thread_inside = true;
    weft_engine_work_and_poll();
    weft_engine.is_progress_thread_inside = false;
    weft_lock_leave_as_progress();
    weft_progress_role_give();
    assert_int_equal(lab.done, 0);
    weft_progress();
    assert_done_here(&pieces[0]);
    assert_int_equal(weft_engine.reasons, 0);
}

/* As a thread of the program that sleeps in MPI would: another one brings a call. */
static void add_call_while_asleep(void)
{
    fake.rings = 0;
    add(0, WEFT_WORK_CALL);
    assert_int_equal(fake.rings, 1);
    arrive_eager(A, TAG, "e", 1);
}

static void a_thread_that_sleeps_in_mpi_is_woken_for_a_call(void **state)
{
    static const struct weft_wait_reason why = {"a test", "", A, TAG, 1};
    char byte;
    struct weft_request *request = start_recv(A, TAG, &byte, 1);

    (void)state;
    fake.sleeping = add_call_while_asleep;
    weft_wait(request, &why);
    fake.sleeping = NULL;
    assert_done_here(&pieces[0]);
    end_recv(request, A, TAG, 1);
}

static void without_threads_the_program_does_it(void **state)
{
    const char *said;

    (void)state;
    lab.is_refused = true;
    start_listening();
    add(0, WEFT_WORK_BLOCKING);
    add(1, WEFT_WORK_BLOCKING);
    said = stop_listening();
    assert_non_null(strstr(said, "no thread can be started for work that blocks"));
    assert_null(strstr(strstr(said, "no thread") + 1, "no thread")); /* said once */
    assert_int_equal(lab.done, 0);
    let_go(2);
    weft_progress();
    assert_done_here(&pieces[0]);
    assert_done_here(&pieces[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(short_work_is_done_by_who_polls_oldest_first),
        CASE(what_blocks_delays_neither_short_work_nor_messages),
        CASE(a_few_pieces_block_at_a_time),
        CASE(a_thread_without_work_takes_the_next_piece),
        CASE(threads_are_started_again_after_their_end),
        CASE(closing_waits_for_what_blocks_and_for_what_that_adds),
        CASE(what_nobody_has_begun_can_be_taken_back),
        CASE(a_call_is_made_by_a_thread_of_the_program_only),
        CASE(a_thread_that_sleeps_in_mpi_is_woken_for_a_call),
        CASE(without_threads_the_program_does_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
