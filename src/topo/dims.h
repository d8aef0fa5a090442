/*
 * dims.h - a number of processes as a product of balanced dimensions.
 *
 * Pure arithmetic; needs no lock.
 */
#ifndef WEFT_TOPO_DIMS_H
#define WEFT_TOPO_DIMS_H

#include <stdbool.h>

/*
 * Sets the entries of `dims` that are 0, so that the product of all is `nodes`, in an
 * order that does not increase: the largest and the smallest of them are as close as can
 * be, and where there are several ways to do that, the smallest is as large as can be,
 * then the second smallest, and so on.
 * Other entries are positive and are kept. False: their product does not
 * divide `nodes`, or is not `nodes` and there is none to set; then nothing was written.
 */
bool weft_dims_create(int nodes, int ndims, int dims[]);

#endif
