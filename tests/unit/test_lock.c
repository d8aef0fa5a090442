/* test_lock.c - the assertion that a thread holds the lock, in all forms of the lock. */
#include "unit.h"

#include "engine/lock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef NDEBUG
enum { IS_ASSERTED = 0 };
#else
enum { IS_ASSERTED = 1 };
#endif

/* Does weft_assert_locked() end a process that is as this one is now? */
static bool would_end_us(void)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO); /* the assertion speaks there */
        weft_lock_check();
        weft_assert_locked();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void *ask_in_a_thread(void *answer)
{
    *(bool *)answer = would_end_us();
    return NULL;
}

static bool would_end_another_thread(void)
{
    pthread_t thread;
    bool answer = false;

    assert_int_equal(pthread_create(&thread, NULL, ask_in_a_thread, &answer), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return answer;
}

static void who_has_not_got_the_lock_is_ended_in_debug_builds(void **state)
{
    (void)state;
    assert_int_equal(would_end_us(), IS_ASSERTED);
}

static void the_thread_with_the_lock_may_go_on_and_no_other(void **state)
{
    (void)state;
    weft_lock();
    assert_false(would_end_us());
    assert_int_equal(would_end_another_thread(), IS_ASSERTED);
    weft_unlock();
    assert_int_equal(would_end_us(), IS_ASSERTED);
}

static void a_poller_that_got_the_lock_may_go_on(void **state)
{
    (void)state;
    assert_true(weft_lock_try());
    assert_false(would_end_us());
    weft_unlock();
    assert_int_equal(would_end_us(), IS_ASSERTED);
}

static void a_visitor_may_go_on(void **state)
{
    (void)state;
    weft_lock_as_visitor();
    assert_false(would_end_us());
    weft_lock_leave_as_visitor();
    assert_int_equal(would_end_us(), IS_ASSERTED);
}

static void *fail_as_progress(void *answer)
{
    weft_progress_role_take();
    *(bool *)answer = !weft_lock_try_as_progress() && would_end_us() == IS_ASSERTED;
    weft_progress_role_give();
    return NULL;
}

static void a_try_that_failed_has_not_got_the_lock(void **state)
{
    pthread_t thread;
    bool answer = false;

    (void)state;
    weft_lock();
    assert_int_equal(pthread_create(&thread, NULL, fail_as_progress, &answer), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(answer);
    weft_unlock();
}

static int become_biased(void **state)
{
    (void)state;
    weft_lock_bias();
    return 0;
}

static void *bias_in_a_thread(void *is_done)
{
    weft_lock_bias();
    atomic_store((atomic_bool *)is_done, true);
    return NULL;
}

/* A visitor gives back the form that it has taken: if the form changed meanwhile, the
 * lock would stay held for ever. */
static void the_form_does_not_change_under_a_visitor(void **state)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    atomic_bool is_done = false;
    pthread_t thread;

    (void)state;
    weft_lock_as_visitor();
    assert_int_equal(pthread_create(&thread, NULL, bias_in_a_thread, &is_done), 0);
    for (int i = 0; i < 100 && !atomic_load(&is_done); i++) {
        nanosleep(&moment, NULL);
    }
    assert_false(atomic_load(&is_done));
    weft_lock_leave_as_visitor();
    assert_int_equal(pthread_join(thread, NULL), 0);
    weft_lock_share();
    assert_true(weft_lock_try());
    weft_unlock();
}

static void a_lock_that_is_shared_again_is_nobodys(void **state)
{
    (void)state;
    weft_lock_share();
    assert_int_equal(would_end_us(), IS_ASSERTED);
    the_thread_with_the_lock_may_go_on_and_no_other(state);
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* How much of its time did it run? */
static void *want_as_progress(void *share)
{
    const uint64_t begin = nanoseconds(CLOCK_MONOTONIC);
    const uint64_t begun = nanoseconds(CLOCK_THREAD_CPUTIME_ID);

    weft_progress_role_take();
    weft_lock_as_progress();
    *(double *)share = (double)(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begun) /
                       (double)(nanoseconds(CLOCK_MONOTONIC) - begin);
    weft_lock_leave_as_progress();
    weft_progress_role_give();
    return NULL;
}

static void who_waits_for_the_lock_sleeps(void **state)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    pthread_t thread;
    double share = 1;

    (void)state;
    weft_lock();
    assert_int_equal(pthread_create(&thread, NULL, want_as_progress, &share), 0);
    nanosleep(&pause, NULL);
    assert_true(weft_lock_is_wanted());
    weft_unlock();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(share < 0.5);
}

/* One that polls gives way without being asked again. */
static void who_gives_way_wakes_who_waits(void **state)
{
    pthread_t thread;
    double share;

    (void)state;
    weft_lock();
    assert_int_equal(pthread_create(&thread, NULL, want_as_progress, &share), 0);
    while (!weft_lock_is_wanted()) {
    }
    for (int i = 0; i < 3; i++) {
        weft_unlock();
        weft_lock();
    }
    weft_unlock();
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(who_has_not_got_the_lock_is_ended_in_debug_builds),
        cmocka_unit_test(the_thread_with_the_lock_may_go_on_and_no_other),
        cmocka_unit_test(a_poller_that_got_the_lock_may_go_on),
        cmocka_unit_test(a_visitor_may_go_on),
        cmocka_unit_test(a_try_that_failed_has_not_got_the_lock),
        cmocka_unit_test(the_form_does_not_change_under_a_visitor),
    };
    const struct CMUnitTest biased[] = {
        cmocka_unit_test(who_waits_for_the_lock_sleeps),
        cmocka_unit_test(who_gives_way_wakes_who_waits),
        cmocka_unit_test(the_thread_with_the_lock_may_go_on_and_no_other),
        cmocka_unit_test(a_poller_that_got_the_lock_may_go_on),
        cmocka_unit_test(a_visitor_may_go_on),
        cmocka_unit_test(a_try_that_failed_has_not_got_the_lock),
        cmocka_unit_test(a_lock_that_is_shared_again_is_nobodys),
    };

    return cmocka_run_group_tests(shared, NULL, NULL) +
           cmocka_run_group_tests(biased, become_biased, NULL);
}
