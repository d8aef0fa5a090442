/*
 * profiled.h - between a profiling library, calls of every function, and their judge.
 *
 * make.py writes the first two from the table, profiled.c is the third.
 */
#ifndef WEFT_TEST_PROFILED_H
#define WEFT_TEST_PROFILED_H

#include "mpi.h"

#include <stddef.h>

/* How often the profiling library saw this function; -1 for a name it does not know. */
int profile_calls(const char *name);

/* Every function of the ABI; NULL ends it. */
extern const char *const every_name[];

/* The one that call_every() is in. */
extern const char *volatile every_now;

/* Calls each once, with zeros, but for MPI_Init, MPI_Finalize and MPI_Abort. */
void call_every(void);

#endif
