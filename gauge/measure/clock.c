/*
 * clock.c - see clock.h.
 *
 * Reading the counter is ordered after the instructions before it, so that a receive
 * which has not finished is not timed as if it had.
 */
#include "gauge/measure/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CALIBRATION = 10 * 1000 * 1000, READS = 1000 };

uint64_t gauge_monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
static uint64_t read_counter(void)
{
    uint32_t low, high;

    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* The kernel lists what the processor promises. */
static const char *counter_fault(void)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[8192];
    const char *fault = "the processor does not promise a constant rate of its counter";

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "flags", 5) == 0) {
            if (strstr(line, " constant_tsc") != NULL &&
                strstr(line, " nonstop_tsc") != NULL) {
                fault = NULL;
            }
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return fault;
}
#elif defined(__aarch64__)
static uint64_t read_counter(void)
{
    uint64_t ticks;

    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}

static const char *counter_fault(void)
{
    return NULL; /* its rate is fixed by the architecture */
}
#else
static uint64_t read_counter(void)
{
    return gauge_monotonic();
}

static const char *counter_fault(void)
{
    return "no counter is known for this processor";
}
#endif

static double now_counter(void *state)
{
    const struct gauge_timer *timer = state;

    return (double)(read_counter() - timer->first_tick) * timer->period;
}

static double now_monotonic(void *state)
{
    const struct gauge_timer *timer = state;

    return (double)(gauge_monotonic() - timer->first_time);
}

static void pass(void *state, double nanoseconds)
{
    const struct gauge_timer *timer = state;
    double end = timer->clock.now(state) + nanoseconds;

    while (timer->clock.now(state) < end) {
    }
}

/* A chain of multiplications: each waits for the one before, nothing leaves the
 * processor, and the compiler cannot foresee the result. */
static void work(void *state, unsigned long loops)
{
    static volatile uint64_t sink;
    uint64_t x = sink;

    (void)state;
    for (unsigned long i = 0; i < loops; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
    }
    sink = x;
}

/* Both clocks as close together as can be had: the tightest of a few tries. */
static void read_both(uint64_t *ticks, uint64_t *time)
{
    uint64_t best = UINT64_MAX;

    *ticks = *time = 0;
    for (int i = 0; i < 10; i++) {
        uint64_t before = read_counter();
        uint64_t now = gauge_monotonic();
        uint64_t after = read_counter();

        if (after - before < best) {
            best = after - before;
            *ticks = before + best / 2;
            *time = now;
        }
    }
}

static double measure_period(void)
{
    uint64_t ticks_before, ticks_after, time_before, time_after;

    read_both(&ticks_before, &time_before);
    while (gauge_monotonic() - time_before < CALIBRATION) {
    }
    read_both(&ticks_after, &time_after);
    if (ticks_after == ticks_before) {
        return NAN;
    }
    return (double)(time_after - time_before) / (double)(ticks_after - ticks_before);
}

static void measure_cost(struct gauge_timer *timer)
{
    double before = timer->clock.now(timer);
    double last = before;
    double cheapest = INFINITY;

    timer->resolution = INFINITY;
    for (int try = 0; try < 5; try++) {
        double start = timer->clock.now(timer);

        for (int i = 0; i < READS; i++) {
            double now = timer->clock.now(timer);

            if (now > last && now - last < timer->resolution) {
                timer->resolution = now - last;
            }
            last = now;
        }
        cheapest = fmin(cheapest, (last - start) / READS);
    }
    timer->cost = cheapest;
}

void gauge_timer_open(struct gauge_timer *timer)
{
    double period = measure_period();
    double again = measure_period();

    *timer = (struct gauge_timer){.why = counter_fault(), .period = again};
    if (timer->why == NULL && !(fabs(again / period - 1) < GAUGE_CLOCK_TOLERANCE)) {
        timer->why = "the counter's rate was not constant while it was watched";
    }
    timer->clock = (struct gauge_clock){
        .name = timer->why == NULL ? "counter" : "clock_gettime",
        .state = timer,
        .now = timer->why == NULL ? now_counter : now_monotonic,
        .pass = pass,
        .work = work,
    };
    read_both(&timer->first_tick, &timer->first_time);
    measure_cost(timer);
}

double gauge_timer_drift(const struct gauge_timer *timer)
{
    uint64_t ticks, time;

    if (timer->why != NULL) {
        return 0;
    }
    read_both(&ticks, &time);
    if (time - timer->first_time < CALIBRATION) {
        return 0; /* too short to tell */
    }
    return (double)(ticks - timer->first_tick) * timer->period /
               (double)(time - timer->first_time) -
           1;
}
