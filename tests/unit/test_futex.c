/* test_futex.c - sleeping on two words, where the kernel refuses it. */
#include "unit.h"

#include "base/futex.h"

#include <errno.h>
#include <stdarg.h>

enum { NR_FUTEX_WAITV = 449 };

static int asked;
static int slept;

/* The kernel of this test: it knows no futex_waitv, and every sleep is over at once. */
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    if (number == NR_FUTEX_WAITV) {
        asked++;
        errno = ENOSYS;
        return -1;
    }
    slept++;
    return 0;
}

/* Under valgrind and in old containers each further question would be a line, or a trap.
 */
static void a_kernel_without_the_call_is_asked_once(void **state)
{
    _Atomic uint32_t a = 0;
    _Atomic uint32_t b = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        weft_futex_wait_two(&a, 0, &b, 0, 1000);
    }
    assert_int_equal(asked, 1);
    assert_int_equal(slept, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_without_the_call_is_asked_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
