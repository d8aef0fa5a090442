/*
 * environment.h - the values of the predefined attributes of communicators (MPI-5.0,
 * 9.1.2).
 *
 * The values are fixed in MPI_Init and the same on all ranks, but for the number of the
 * program in an MPMD job and the last error code in use. The addresses are valid for
 * ever; they are what users get.
 */
#ifndef WEFT_RUNTIME_ENVIRONMENT_H
#define WEFT_RUNTIME_ENVIRONMENT_H

#include "wireup/wireup.h"

#include <stdbool.h>

/* Called in MPI_Init. */
void weft_environment_open(const struct weft_job *job);

/* Is this the key of a predefined attribute? */
bool weft_environment_is_key(int keyval);

/* The value of a predefined key; NULL: it has none in this process. */
const int *weft_environment_value(int keyval);

#endif
