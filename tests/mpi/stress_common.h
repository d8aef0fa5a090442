/*
 * stress_common.h - what the parts of the stress share: who we are, numbers that everyone
 * knows, and checks that say which round failed.
 */
#ifndef WEFT_TEST_STRESS_COMMON_H
#define WEFT_TEST_STRESS_COMMON_H

#include "check.h"

#include <stdint.h>

static uint64_t seed;
static int seconds;
static int rank;
static int size;

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* What everyone knows: a number that follows from the seed and what it is for. */
static uint64_t common(uint64_t lane, uint64_t round, uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(mix(mix(mix(seed + lane) + round) + a) + b) + c);
}

/* One's own choice: below n, from a state that it moves on. */
static uint64_t choose_from(uint64_t *state, uint64_t n)
{
    *state = mix(*state);
    return (*state >> 11) % n;
}

/* Where this thread is. */
static _Thread_local int current_lane = -1;
static _Thread_local uint64_t current_round;

#define HOLDS(claim)                                                                     \
    do {                                                                                 \
        if (!(claim)) {                                                                  \
            say_where();                                                                 \
            CHECK(claim);                                                                \
        }                                                                                \
    } while (0)

#define WORKS(call) HOLDS((call) == MPI_SUCCESS)

static void say_where(void)
{
    fprintf(stderr, "stress %llu %d: rank %d of %d, lane %d, round %llu\n",
            (unsigned long long)seed, seconds, rank, size, current_lane,
            (unsigned long long)current_round);
}

static void *memory_for(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    HOLDS(memory != NULL);
    return memory;
}

#endif
