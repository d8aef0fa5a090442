/*
 * process.h - the identity of a process: the number of its job, which tells jobs apart,
 * and its rank in the job. These 64 bits are the same in memory, in groups, in the job
 * segment and on the wire.
 */
#ifndef WEFT_BASE_PROCESS_H
#define WEFT_BASE_PROCESS_H

#include <stdint.h>

static inline uint64_t weft_process(uint32_t job, uint32_t rank)
{
    return (uint64_t)job << 32 | rank;
}

static inline uint32_t weft_process_job(uint64_t process)
{
    return (uint32_t)(process >> 32);
}

/* The rank in its own job. */
static inline uint32_t weft_process_rank(uint64_t process)
{
    return (uint32_t)process;
}

#endif
