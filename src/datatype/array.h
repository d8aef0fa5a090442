/*
 * array.h - makes datatypes for parts of arrays: a box inside an array
 * (MPI_Type_create_subarray), and the part of a distributed array that one process of a
 * grid has (MPI_Type_create_darray).
 *
 * The contract of construct.h holds. The caller has checked that there is at least one
 * dimension, that sizes are positive, that boxes lie inside the array, and that the rank
 * lies inside the grid. The new type has the lower bound 0 and the extent of the array.
 * All functions need the library's lock.
 */
#ifndef WEFT_DATATYPE_ARRAY_H
#define WEFT_DATATYPE_ARRAY_H

#include "datatype/construct.h"

WEFT_MUST_CHECK enum weft_rc
weft_type_subarray(bool is_large, int dimensions, struct weft_numbers sizes,
                   struct weft_numbers part_sizes, struct weft_numbers starts, int order,
                   struct weft_datatype *old, struct weft_datatype **out);

/* The arguments of MPI_Type_create_darray; each array has one entry per dimension. */
struct weft_grid {
    int processes;
    int rank;
    int dimensions;
    struct weft_numbers sizes;
    const int *distributions;
    const int *arguments;
    const int *process_counts;
    int order;
};

WEFT_MUST_CHECK enum weft_rc weft_type_darray(bool is_large, const struct weft_grid *grid,
                                              struct weft_datatype *old,
                                              struct weft_datatype **out);

/* Returns the number of elements in a block of dimension `i`, also where the user gave
 * MPI_DISTRIBUTE_DFLT_DARG. */
MPI_Count weft_grid_block(const struct weft_grid *grid, int i);

#endif
