#include "topo/order.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIMS = 31 }; /* that are larger than 1, of a grid that fits an int */

/* ---- what an order is worth ---- */

long long weft_order_grid_cut(const struct weft_grid *grid, const uint32_t nodes[],
                              const int rank_at[])
{
    const int size = weft_grid_size(grid);
    long long cut = 0;

    for (int p = 0; p < size; p++) {
        for (int d = 0; d < grid->ndims; d++) {
            const int next = weft_grid_shift(grid, p, d, 1, p);

            cut += nodes[rank_at[p]] != nodes[rank_at[next]];
        }
    }
    return cut;
}

long long weft_order_graph_cut(int count, const int index[], const int edges[],
                               const uint32_t nodes[], const int rank_at[])
{
    long long cut = 0;
    int e = 0;

    for (int v = 0; v < count; v++) {
        for (; e < index[v]; e++) {
            cut += nodes[rank_at[v]] != nodes[rank_at[edges[e]]];
        }
    }
    return cut;
}

/* ---- ranks by node ---- */

struct by_node {
    uint32_t node;
    int rank;
};

static int compare(const void *a, const void *b)
{
    const struct by_node *x = a;
    const struct by_node *y = b;

    if (x->node != y->node) {
        return x->node < y->node ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Those of a node one behind the other; the caller frees them. */
static struct by_node *sort_by_node(int count, const uint32_t nodes[])
{
    struct by_node *sorted = malloc((size_t)(count + 1) * sizeof(*sorted));

    for (int r = 0; sorted != NULL && r < count; r++) {
        sorted[r] = (struct by_node){nodes[r], r};
    }
    if (sorted != NULL) {
        qsort(sorted, (size_t)count, sizeof(*sorted), compare);
    }
    return sorted;
}

/* How many ranks each node has, if all have equally many; otherwise 0. */
static int ranks_per_node(int count, const struct by_node *sorted)
{
    int each = 0;
    int start = 0;

    for (int i = 1; i <= count; i++) {
        if (i == count || sorted[i].node != sorted[start].node) {
            if (each != 0 && i - start != each) {
                return 0;
            }
            each = i - start;
            start = i;
        }
    }
    return each;
}

static void keep_ranks(int count, int rank_at[])
{
    for (int p = 0; p < count; p++) {
        rank_at[p] = p;
    }
}

/* ---- blocks ---- */

struct shape {
    int now[MOST_DIMS];
    int best[MOST_DIMS];
    long long best_surface; /* -1: none found */
};

/* Neighbours of a block of `volume` positions outside of it, in one direction each. */
static long long surface_of(const struct weft_grid *grid, const int block[], int volume)
{
    long long surface = 0;

    for (int d = 0; d < grid->ndims; d++) {
        surface += block[d] < grid->dims[d] ? volume / block[d] : 0;
    }
    return surface;
}

/* Tries all shapes of `left` positions in the dimensions from `d` on. */
static void try_shapes(const struct weft_grid *grid, int d, int left, int volume,
                       struct shape *shape)
{
    if (d == grid->ndims) {
        const long long surface = surface_of(grid, shape->now, volume);

        if (left == 1 && (shape->best_surface < 0 || surface < shape->best_surface)) {
            shape->best_surface = surface;
            memcpy(shape->best, shape->now, sizeof(shape->best));
        }
        return;
    }
    for (int b = 1; b <= grid->dims[d] && b <= left; b++) {
        if (grid->dims[d] % b == 0 && left % b == 0) {
            shape->now[d] = b;
            try_shapes(grid, d + 1, left / b, volume, shape);
        }
    }
}

/* Block after block, each position of the grid: where it stands in the sorted list. */
static void fill_blocks(const struct weft_grid *grid, const int block[], int volume,
                        const struct by_node *sorted, int rank_at[])
{
    const int size = weft_grid_size(grid);
    int coords[MOST_DIMS];

    for (int p = 0; p < size; p++) {
        int which = 0;
        int inside = 0;

        weft_grid_coords(grid, p, coords);
        for (int d = 0; d < grid->ndims; d++) {
            which = which * (grid->dims[d] / block[d]) + coords[d] / block[d];
            inside = inside * block[d] + coords[d] % block[d];
        }
        rank_at[p] = sorted[which * volume + inside].rank;
    }
}

/* ---- both kinds ---- */

enum weft_rc weft_order_grid(const struct weft_grid *grid, const uint32_t nodes[],
                             int rank_at[])
{
    const int size = weft_grid_size(grid);
    struct shape shape = {.best_surface = -1};
    struct by_node *sorted;
    long long kept;
    int each;

    keep_ranks(size, rank_at);
    kept = weft_order_grid_cut(grid, nodes, rank_at);
    if (kept == 0 || grid->ndims > MOST_DIMS) {
        return WEFT_OK;
    }
    sorted = sort_by_node(size, nodes);
    if (sorted == NULL) {
        return WEFT_ERR_NOMEM;
    }
    each = ranks_per_node(size, sorted);
    if (each > 0) {
        try_shapes(grid, 0, each, each, &shape);
    }
    if (shape.best_surface >= 0) {
        fill_blocks(grid, shape.best, each, sorted, rank_at);
    } else {
        for (int p = 0; p < size; p++) {
            rank_at[p] = sorted[p].rank;
        }
    }
    if (weft_order_grid_cut(grid, nodes, rank_at) >= kept) {
        keep_ranks(size, rank_at);
    }
    free(sorted);
    return WEFT_OK;
}

/* All vertices, each behind one that leads to it where there is such a one. */
static void walk(int count, const int index[], const int edges[], bool *is_seen,
                 int *queue)
{
    int end = 0;
    int start = 0;

    for (int v = 0; v < count; v++) {
        if (!is_seen[v]) {
            is_seen[v] = true;
            queue[end++] = v;
        }
        for (; start < end; start++) {
            const int from = queue[start];

            for (int e = from > 0 ? index[from - 1] : 0; e < index[from]; e++) {
                if (!is_seen[edges[e]]) {
                    is_seen[edges[e]] = true;
                    queue[end++] = edges[e];
                }
            }
        }
    }
}

enum weft_rc weft_order_graph(int count, const int index[], const int edges[],
                              const uint32_t nodes[], int rank_at[])
{
    struct by_node *sorted;
    bool *is_seen;
    int *queue;
    long long kept;
    enum weft_rc rc = WEFT_ERR_NOMEM;

    keep_ranks(count, rank_at);
    kept = weft_order_graph_cut(count, index, edges, nodes, rank_at);
    if (kept == 0) {
        return WEFT_OK;
    }
    sorted = sort_by_node(count, nodes);
    is_seen = calloc((size_t)count, sizeof(*is_seen));
    queue = malloc((size_t)count * sizeof(*queue));
    if (sorted != NULL && is_seen != NULL && queue != NULL) {
        walk(count, index, edges, is_seen, queue);
        for (int i = 0; i < count; i++) {
            rank_at[queue[i]] = sorted[i].rank;
        }
        if (weft_order_graph_cut(count, index, edges, nodes, rank_at) >= kept) {
            keep_ranks(count, rank_at);
        }
        rc = WEFT_OK;
    }
    free(sorted);
    free(is_seen);
    free(queue);
    return rc;
}
