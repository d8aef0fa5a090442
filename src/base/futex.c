#include "base/futex.h"

#include <linux/futex.h>
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

void weft_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}
