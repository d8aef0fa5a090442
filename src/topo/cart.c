#include "topo/cart.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>

int weft_grid_size(const struct weft_grid *grid)
{
    long long size = 1;

    for (int i = 0; i < grid->ndims; i++) {
        size *= grid->dims[i];
        if (size > INT_MAX) {
            return -1;
        }
    }
    return (int)size;
}

/* `at` brought into 0..dim-1 by whole periods. */
static int wrap(long long at, int dim)
{
    const long long rest = at % dim;

    return (int)(rest < 0 ? rest + dim : rest);
}

int weft_grid_rank(const struct weft_grid *grid, const int coords[])
{
    int rank = 0;

    for (int i = 0; i < grid->ndims; i++) {
        int at = coords[i];

        if (at < 0 || at >= grid->dims[i]) {
            if (!grid->periods[i]) {
                return -1;
            }
            at = wrap(at, grid->dims[i]);
        }
        rank = rank * grid->dims[i] + at;
    }
    return rank;
}

void weft_grid_coords(const struct weft_grid *grid, int rank, int coords[])
{
    assert(rank >= 0 && rank < weft_grid_size(grid));
    for (int i = grid->ndims - 1; i >= 0; i--) {
        coords[i] = rank % grid->dims[i];
        rank /= grid->dims[i];
    }
}

/* How far apart two neighbours along a dimension are, in ranks. */
static int stride_of(const struct weft_grid *grid, int direction)
{
    int stride = 1;

    for (int i = direction + 1; i < grid->ndims; i++) {
        stride *= grid->dims[i];
    }
    return stride;
}

int weft_grid_shift(const struct weft_grid *grid, int rank, int direction,
                    long long steps, int none)
{
    const int stride = stride_of(grid, direction);
    const int dim = grid->dims[direction];
    const int from = rank / stride % dim;
    const long long to = from + steps;

    assert(direction >= 0 && direction < grid->ndims);
    if (!grid->periods[direction] && (to < 0 || to >= dim)) {
        return none;
    }
    return rank + (wrap(to, dim) - from) * stride;
}

int weft_grid_part(const struct weft_grid *grid, int rank, const int remain[],
                   int ranks[])
{
    int count = 1;
    int first = rank;

    for (int i = 0; i < grid->ndims; i++) {
        if (remain[i]) {
            const int stride = stride_of(grid, i);

            first -= rank / stride % grid->dims[i] * stride;
            count *= grid->dims[i];
        }
    }
    for (int n = 0; ranks != NULL && n < count; n++) {
        int left = n;

        ranks[n] = first;
        for (int i = grid->ndims - 1; i >= 0; i--) {
            if (remain[i]) {
                ranks[n] += left % grid->dims[i] * stride_of(grid, i);
                left /= grid->dims[i];
            }
        }
    }
    return count;
}
