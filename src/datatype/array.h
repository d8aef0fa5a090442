/*
 * array.h - datatypes for parts of arrays: a box of one (MPI_Type_create_subarray), and
 * what one process of a grid has of it (MPI_Type_create_darray).
 *
 * The contracts are those of construct.h. Dimensions have at least one entry, sizes are
 * positive, parts lie inside, ranks and grids fit: bindings/ have checked it. The result
 * has the lower bound 0 and the extent of the whole array.
 */
#ifndef WEFT_DATATYPE_ARRAY_H
#define WEFT_DATATYPE_ARRAY_H

#include "datatype/construct.h"

WEFT_MUST_CHECK enum weft_rc
weft_type_subarray(bool is_large, int dimensions, struct weft_numbers sizes,
                   struct weft_numbers part_sizes, struct weft_numbers starts, int order,
                   struct weft_datatype *old, struct weft_datatype **out);

/* The user's arrays, one entry a dimension. */
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

/* Elements in a block of dimension `i`, whatever MPI_DISTRIBUTE_DFLT_DARG stands for. */
MPI_Count weft_grid_block(const struct weft_grid *grid, int i);

#endif
