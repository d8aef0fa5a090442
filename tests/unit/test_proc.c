/*
 * test_proc.c - what is said of a process that sleeps in the kernel.
 */
#include "proc.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 60000 }; /* of a millisecond */

/* A process that waits until its child calls exec() or ends, as vfork() does: it is in
 * uninterruptible sleep, but for SIGKILL. Both end with this process. */
static pid_t start_sleeper(void)
{
    const pid_t child = fork();

    if (child == 0) {
        const pid_t self = getpid();

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (getppid() == self) { /* it may have been killed before we asked */
                pause();
            }
        }
        _exit(0);
    }
    return child;
}

static void a_sleeper_is_described(void **state)
{
    const pid_t pid = start_sleeper();
    char text[160] = "?";
    char wanted[64];

    (void)state;
    assert_true(pid > 0);
    for (int i = 0; i < ROUNDS && proc_stat(pid).state != 'D'; i++) {
        usleep(1000);
    }
    assert_int_equal(proc_stat(pid).state, 'D');
    proc_describe_sleep(pid, text, sizeof(text));
    snprintf(wanted, sizeof(wanted), "system call %d)", (int)SYS_clone);
    /* Systems may keep both from us: then there is nothing. */
    assert_true(text[0] == '\0' || strncmp(text, " (in ", 5) == 0 ||
                strncmp(text, " (system call ", 14) == 0);
    assert_true(strstr(text, "system call") == NULL || strstr(text, wanted) != NULL);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    proc_describe_sleep(pid, text, sizeof(text)); /* it is gone */
    assert_string_equal(text, "");
}

static void a_short_text_is_cut(void **state)
{
    char text[4] = "abc";

    (void)state;
    proc_describe_sleep(getpid(), text, sizeof(text));
    assert_true(strlen(text) < sizeof(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleeper_is_described),
        cmocka_unit_test(a_short_text_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
