#include "base/clock.h"

#include <time.h>

static uint64_t to_ns(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t weft_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return to_ns(now);
}

uint64_t weft_clock_resolution_ns(void)
{
    struct timespec step;

    clock_getres(CLOCK_MONOTONIC, &step);
    return to_ns(step);
}
