/*
 * process.h - who a process is: the number of its job, which tells jobs apart, and its
 * rank in it.
 */
#ifndef WEFT_BASE_PROCESS_H
#define WEFT_BASE_PROCESS_H

#include <stdint.h>

static inline uint64_t weft_process(uint32_t job, uint32_t rank)
{
    return (uint64_t)job << 32 | rank;
}

#endif
