#include "topo/around.h"

#include "core/topology.h"
#include "topo/make.h"
#include "topo/neighbours.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Room for so many on each side; there is one entry at least. */
static enum weft_rc make_lists(int in, int out_of, int **sources, int **destinations)
{
    const size_t count = (size_t)in + (size_t)out_of + 1;

    *sources = reallocarray(NULL, count, sizeof(int));
    *destinations = *sources != NULL ? *sources + in : NULL;
    return *sources != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
}

static struct weft_neighbourhood lists_of(int in, int out_of, const int *sources,
                                          const int *destinations, bool is_grid)
{
    return (struct weft_neighbourhood){
        .in = in,
        .out = out_of,
        .sources = sources,
        .destinations = destinations,
        .is_grid = is_grid,
    };
}

/* Two for each dimension: the one before and the one behind. */
static enum weft_rc take_grid(const struct weft_comm *comm,
                              struct weft_neighbourhood *out)
{
    const struct weft_grid grid = weft_cart_grid(comm);
    const int count = 2 * grid.ndims;
    int *sources;
    int *destinations;
    const enum weft_rc rc = make_lists(count, count, &sources, &destinations);

    if (rc != WEFT_OK) {
        return rc;
    }
    for (int i = 0; i < count; i++) {
        sources[i] = weft_grid_shift(&grid, comm->rank, i / 2, i % 2 == 0 ? -1 : 1, -1);
        destinations[i] = sources[i];
    }
    *out = lists_of(count, count, sources, destinations, true);
    return WEFT_OK;
}

static enum weft_rc take_lists(const int *in, int in_count, const int *out_of,
                               int out_count, struct weft_neighbourhood *out)
{
    int *sources;
    int *destinations;
    const enum weft_rc rc = make_lists(in_count, out_count, &sources, &destinations);

    if (rc != WEFT_OK) {
        return rc;
    }
    if (in_count > 0) {
        memcpy(sources, in, (size_t)in_count * sizeof(int));
    }
    if (out_count > 0) {
        memcpy(destinations, out_of, (size_t)out_count * sizeof(int));
    }
    for (int i = 0; i < in_count + out_count; i++) {
        sources[i] = sources[i] == MPI_PROC_NULL ? -1 : sources[i];
    }
    *out = lists_of(in_count, out_count, sources, destinations, false);
    return WEFT_OK;
}

/* Vertices have edges to their neighbours, and these have edges back. */
static enum weft_rc take_graph(const struct weft_comm *comm,
                               struct weft_neighbourhood *out)
{
    const struct weft_topo_graph graph = weft_topo_graph_of(comm);
    const int first = comm->rank > 0 ? graph.index[comm->rank - 1] : 0;
    const int count = graph.index[comm->rank] - first;

    return take_lists(graph.edges + first, count, graph.edges + first, count, out);
}

enum weft_rc weft_around_take(const struct weft_comm *comm,
                              struct weft_neighbourhood *out)
{
    struct weft_neighbours in;
    struct weft_neighbours out_of;

    assert(comm->topology != NULL);
    switch (comm->topology->kind) {
    case MPI_CART:
        return take_grid(comm, out);
    case MPI_GRAPH:
        return take_graph(comm, out);
    default:
        in = weft_dist_graph_in(comm);
        out_of = weft_dist_graph_out(comm);
        return take_lists(in.ranks, in.count, out_of.ranks, out_of.count, out);
    }
}

void weft_around_give(struct weft_neighbourhood *around)
{
    free((void *)(uintptr_t)around->sources);
    *around = (struct weft_neighbourhood){0};
}
