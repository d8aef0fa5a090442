/*
 * environment.h - adds variables to the environment while other threads read it.
 *
 * setenv() of the C library gives back the list that another thread's getenv() walks,
 * which then ends the program with a segmentation fault. A program may have threads
 * before it calls MPI_Init, and libfabric takes some of its parameters from the
 * environment only. So the library adds variables with the functions here: they never
 * change nor give back a list, they put a new one in its place.
 */
#ifndef WEFT_BASE_ENVIRONMENT_H
#define WEFT_BASE_ENVIRONMENT_H

#include <stdbool.h>

/*
 * Gives the variable this value. False: no memory. Threads may read the environment
 * meanwhile and find either state; a thread that changes it meanwhile may lose its
 * change. A list costs a few hundred bytes until the process ends, so nothing happens
 * where the variable has this value already.
 */
bool weft_environment_set(const char *name, const char *value);

/* Gives a variable that is not there this value. False: no memory. */
bool weft_environment_offer(const char *name, const char *value);

#endif
