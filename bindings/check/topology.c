#include "check/topology.h"

#include <limits.h>

static const char *name_of(int kind)
{
    switch (kind) {
    case MPI_CART:
        return "Cartesian topology";
    case MPI_GRAPH:
        return "graph topology";
    default:
        return "distributed graph topology";
    }
}

int weft_check_topology(const char *function, MPI_Comm handle, int kind,
                        struct weft_comm **out)
{
    int err = weft_check_comm(function, handle, out);

    if (err == MPI_SUCCESS &&
        ((*out)->topology == NULL || (*out)->topology->kind != kind)) {
        err = weft_raise_comm(*out, function, WEFT_E_TOPO_OTHER, name_of(kind));
    }
    return err;
}

int weft_check_list(const char *function, struct weft_comm *comm, int length,
                    const void *list, const char *name)
{
    if (length < 0) {
        return weft_raise_comm(comm, function, WEFT_E_LENGTH_NAMED, name, length);
    }
    return length == 0 ? MPI_SUCCESS : weft_check_out(function, comm, list, name);
}

int weft_check_grid(const char *function, struct weft_comm *comm,
                    const struct weft_grid *grid)
{
    int size;
    int err;

    if (grid->ndims < 0) {
        return weft_raise_comm(comm, function, WEFT_E_TOPO_NDIMS, grid->ndims);
    }
    err = weft_check_list(function, comm, grid->ndims, grid->dims, "dims");
    if (err == MPI_SUCCESS) {
        err = weft_check_list(function, comm, grid->ndims, grid->periods, "periods");
    }
    for (int d = 0; err == MPI_SUCCESS && d < grid->ndims; d++) {
        if (grid->dims[d] <= 0) {
            err = weft_raise_comm(comm, function, WEFT_E_TOPO_DIM, d, grid->dims[d]);
        }
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    size = weft_grid_size(grid);
    if (size < 0 || size > comm->size) {
        return weft_raise_comm(comm, function, WEFT_E_TOPO_LARGE, comm->size);
    }
    return MPI_SUCCESS;
}

int weft_check_graph(const char *function, struct weft_comm *comm,
                     const struct weft_topo_graph *graph)
{
    int before = 0;
    int err;

    if (graph->count < 0 || graph->count > comm->size) {
        return weft_raise_comm(comm, function, WEFT_E_TOPO_NODES, graph->count,
                               comm->size);
    }
    err = weft_check_list(function, comm, graph->count, graph->index, "index");
    for (int v = 0; err == MPI_SUCCESS && v < graph->count; v++) {
        if (graph->index[v] < before) {
            err = weft_raise_comm(comm, function, WEFT_E_TOPO_INDEX, v, graph->index[v],
                                  before);
        }
        before = graph->index[v];
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_list(function, comm, before, graph->edges, "edges");
    }
    for (int e = 0; err == MPI_SUCCESS && e < before; e++) {
        if (graph->edges[e] < 0 || graph->edges[e] >= graph->count) {
            err = weft_raise_comm(comm, function, WEFT_E_TOPO_EDGE, e, graph->edges[e],
                                  graph->count - 1);
        }
    }
    return err;
}

static int check_ranks(const char *function, struct weft_comm *comm, int count,
                       const int *ranks, const char *name)
{
    int err = weft_check_list(function, comm, count, ranks, name);

    for (int i = 0; err == MPI_SUCCESS && i < count; i++) {
        if (ranks[i] < 0 || ranks[i] >= comm->size) {
            err = weft_raise_comm(comm, function, WEFT_E_TOPO_NEIGHBOUR, name, i,
                                  ranks[i], comm->size - 1);
        }
    }
    return err;
}

static int check_weights(const char *function, struct weft_comm *comm, int count,
                         const int *weights)
{
    int err = weft_check_list(function, comm, count, weights, "weights");

    for (int i = 0; err == MPI_SUCCESS && i < count; i++) {
        if (weights[i] < 0) {
            err = weft_raise_comm(comm, function, WEFT_E_TOPO_WEIGHT, i, weights[i]);
        }
    }
    return err;
}

int weft_check_neighbours(const char *function, struct weft_comm *comm,
                          const struct weft_neighbours *neighbours, bool is_weighted)
{
    int err =
        check_ranks(function, comm, neighbours->count, neighbours->ranks, "neighbours");

    if (err == MPI_SUCCESS && is_weighted) {
        err = check_weights(function, comm, neighbours->count, neighbours->weights);
    }
    return err;
}

int weft_check_edges(const char *function, struct weft_comm *comm,
                     const struct weft_edges *edges, bool is_weighted)
{
    long long count = 0;
    int err = check_ranks(function, comm, edges->count, edges->sources, "sources");

    if (err == MPI_SUCCESS) {
        err = weft_check_list(function, comm, edges->count, edges->degrees, "degrees");
    }
    for (int i = 0; err == MPI_SUCCESS && i < edges->count; i++) {
        if (edges->degrees[i] < 0) {
            err =
                weft_raise_comm(comm, function, WEFT_E_TOPO_DEGREE, i, edges->degrees[i]);
        }
        count += edges->degrees[i];
    }
    if (err == MPI_SUCCESS && count > INT_MAX / 2) {
        err = weft_raise_comm(comm, function, WEFT_E_TOPO_EDGES_HUGE, count);
    }
    if (err == MPI_SUCCESS) {
        err =
            check_ranks(function, comm, (int)count, edges->destinations, "destinations");
    }
    if (err == MPI_SUCCESS && is_weighted) {
        err = check_weights(function, comm, (int)count, edges->weights);
    }
    return err;
}
