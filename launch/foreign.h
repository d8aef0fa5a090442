/*
 * foreign.h - finds programs of another MPI before they are started.
 *
 * A program that is linked with Open MPI or MPICH does not use Weft, whatever starts it;
 * under our mpiexec it may run as many jobs of one rank, with exit code 0. Its file shows
 * it (info/linked.h). What scripts and wrappers start cannot be seen.
 */
#ifndef WEFT_LAUNCH_FOREIGN_H
#define WEFT_LAUNCH_FOREIGN_H

#include "plan.h"

#include <stddef.h>

/*
 * Is the program linked with an MPI library other than libmpi_abi.so? Then `why` says it,
 * with what to do. `environment` is what ranks see, NAME=VALUE. A program that is not
 * found, or that cannot be read, is none of another MPI: starting it will tell.
 */
bool foreign_find(const struct app *app, const struct list *environment, char *why,
                  size_t size);

#endif
