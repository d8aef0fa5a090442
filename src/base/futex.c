#include "base/futex.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void weft_futex_wait(_Atomic uint32_t *word, uint32_t old, uint64_t ns)
{
    const struct timespec limit = {
        .tv_sec = (time_t)(ns / 1000000000u),
        .tv_nsec = (long)(ns % 1000000000u),
    };

    syscall(SYS_futex, word, FUTEX_WAIT, old, ns == 0 ? NULL : &limit, NULL, 0);
}

/* From linux/futex.h of 5.16, which Debian 12's headers have but older systems' do not.
 */
struct wait_entry {
    uint64_t value;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
};

/* The kernel, valgrind or a filter of system calls has refused futex_waitv. */
static _Atomic bool is_refused;

enum { SIZE_32 = 2, NR_FUTEX_WAITV = 449, FALLBACK_NS = 1000000 };

void weft_futex_wait_two(_Atomic uint32_t *a, uint32_t old_a, _Atomic uint32_t *b,
                         uint32_t old_b, uint64_t ns)
{
    const struct wait_entry entries[2] = {
        {.value = old_a, .address = (uint64_t)(uintptr_t)a, .flags = SIZE_32},
        {.value = old_b, .address = (uint64_t)(uintptr_t)b, .flags = SIZE_32},
    };
    struct timespec until;

    if (b == NULL) {
        weft_futex_wait(a, old_a, ns);
        return;
    }
    if (atomic_load_explicit(&is_refused, memory_order_relaxed)) {
        weft_futex_wait(a, old_a, FALLBACK_NS);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until); /* this call wants a moment, not a span */
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec += (long)(ns % 1000000000u);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (syscall(NR_FUTEX_WAITV, entries, 2, 0, ns == 0 ? NULL : &until, CLOCK_MONOTONIC) <
            0 &&
        (errno == ENOSYS || errno == EPERM || errno == EINVAL)) {
        atomic_store_explicit(&is_refused, errno != EINVAL, memory_order_relaxed);
        weft_futex_wait(a, old_a, FALLBACK_NS);
    }
}

void weft_futex_wake(_Atomic uint32_t *word, int count)
{
    assert(count > 0);
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}
