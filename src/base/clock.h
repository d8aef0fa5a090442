/*
 * clock.h - monotonic time.
 */
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment of the past, the same for all processes of a node. */
uint64_t weft_clock_ns(void);

/* The clock's resolution in nanoseconds. */
uint64_t weft_clock_resolution_ns(void);

#endif
