/*
 * cart.h - the arithmetic of grids: rows last, as in C.
 *
 * Pure; needs no lock. Grids were checked: every dimension is positive, and the product
 * of all fits an int.
 */
#ifndef WEFT_TOPO_CART_H
#define WEFT_TOPO_CART_H

#include <stdbool.h>

struct weft_grid {
    int ndims;
    const int *dims;
    const int *periods; /* 0 or not, for each dimension */
};

/* How many positions; -1 if more than an int can say. Of no dimensions: one. */
int weft_grid_size(const struct weft_grid *grid);

/* The rank at a position, or -1 where it is outside a dimension without a period. */
int weft_grid_rank(const struct weft_grid *grid, const int coords[]);

void weft_grid_coords(const struct weft_grid *grid, int rank, int coords[]);

/* The rank `steps` away along a dimension, or `none` beyond the edge. */
int weft_grid_shift(const struct weft_grid *grid, int rank, int direction,
                    long long steps, int none);

/*
 * The part of a grid in which `rank` lies and only the dimensions that remain vary: how
 * many ranks it has, and, unless `ranks` is NULL, which, in their new order.
 */
int weft_grid_part(const struct weft_grid *grid, int rank, const int remain[],
                   int ranks[]);

#endif
