/*
 * topology_graph.c - MPI-5.0 chapter 8: graphs, whole and distributed.
 */
#include "binding.h"

#include "check/rc.h"
#include "check/topology.h"

#include <string.h>

static int give_comm(const char *function, struct weft_comm *old, enum weft_rc rc,
                     const struct weft_comm *made, MPI_Comm *out)
{
    if (rc == WEFT_OK) {
        *out = made != NULL ? made->handle : MPI_COMM_NULL;
    }
    return weft_raise_rc(old, rc, function);
}

/* An old communicator and the place of a new handle. */
static int check_old(const char *function, MPI_Comm comm, const void *result,
                     const char *name, struct weft_comm **out)
{
    int err = weft_check_intra(function, comm, out);

    return err == MPI_SUCCESS ? weft_check_out(function, *out, result, name) : err;
}

/* ---- graphs that every process knows ---- */

int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[],
                      int reorder, MPI_Comm *comm_graph)
{
    WEFT_RECORD(Graph_create, comm_old, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                0);
    static const char function[] = "MPI_Graph_create";
    const struct weft_topo_graph graph = {nnodes, indx, edges};
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = check_old(function, comm_old, comm_graph, "comm_graph", &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_graph(function, c, &graph);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_topo_graph_create(function, c, &graph, reorder != 0, &made);
    return give_comm(function, c, rc, made, comm_graph);
}
WEFT_WEAK_ALIAS(MPI_Graph_create, PMPI_Graph_create);

int PMPI_Graph_map(MPI_Comm comm, int nnodes, const int indx[], const int edges[],
                   int *newrank)
{
    static const char function[] = "MPI_Graph_map";
    const struct weft_topo_graph graph = {nnodes, indx, edges};
    struct weft_comm *c;
    int err = check_old(function, comm, newrank, "newrank", &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_graph(function, c, &graph);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    return weft_raise_rc(c, weft_topo_graph_map(c, &graph, newrank), function);
}
WEFT_WEAK_ALIAS(MPI_Graph_map, PMPI_Graph_map);

static int edge_count(const struct weft_topo_graph *graph)
{
    return graph->count > 0 ? graph->index[graph->count - 1] : 0;
}

int PMPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    static const char function[] = "MPI_Graphdims_get";
    struct weft_comm *c;
    struct weft_topo_graph graph;
    int err = weft_check_topology(function, comm, MPI_GRAPH, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, nnodes, "nnodes");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, nedges, "nedges");
    }
    if (err == MPI_SUCCESS) {
        graph = weft_topo_graph_of(c);
        *nnodes = graph.count;
        *nedges = edge_count(&graph);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Graphdims_get, PMPI_Graphdims_get);

/* An array of the user's that `count` numbers go to. */
static int give_list(const char *function, struct weft_comm *comm, int room, int to[],
                     const char *name, int count, const int from[])
{
    int err;

    if (room < count) {
        return weft_raise_comm(comm, function, WEFT_E_TOPO_GRAPH_ROOM, name, room, count);
    }
    err = weft_check_list(function, comm, count, to, name);
    if (err == MPI_SUCCESS && count > 0) {
        memcpy(to, from, (size_t)count * sizeof(int));
    }
    return err;
}

int PMPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[])
{
    static const char function[] = "MPI_Graph_get";
    struct weft_comm *c;
    struct weft_topo_graph graph;
    int err = weft_check_topology(function, comm, MPI_GRAPH, &c);

    if (err != MPI_SUCCESS) {
        return err;
    }
    graph = weft_topo_graph_of(c);
    err = give_list(function, c, maxindex, indx, "indx", graph.count, graph.index);
    if (err == MPI_SUCCESS) {
        err = give_list(function, c, maxedges, edges, "edges", edge_count(&graph),
                        graph.edges);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Graph_get, PMPI_Graph_get);

/* The neighbours of a rank. */
static int find_neighbours(const char *function, MPI_Comm comm, int rank,
                           struct weft_comm **c, const int **first, int *count)
{
    struct weft_topo_graph graph;
    int start;
    int err = weft_check_topology(function, comm, MPI_GRAPH, c);

    if (err != MPI_SUCCESS) {
        return err;
    }
    graph = weft_topo_graph_of(*c);
    if (rank < 0 || rank >= graph.count) {
        return weft_raise_comm(*c, function, WEFT_E_TOPO_RANK, rank, graph.count - 1);
    }
    start = rank > 0 ? graph.index[rank - 1] : 0;
    *first = graph.edges + start;
    *count = graph.index[rank] - start;
    return MPI_SUCCESS;
}

int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
    static const char function[] = "MPI_Graph_neighbors_count";
    struct weft_comm *c;
    const int *first = NULL;
    int count = 0;
    int err = find_neighbours(function, comm, rank, &c, &first, &count);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, nneighbors, "nneighbors");
    }
    if (err == MPI_SUCCESS) {
        *nneighbors = count;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Graph_neighbors_count, PMPI_Graph_neighbors_count);

int PMPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[])
{
    static const char function[] = "MPI_Graph_neighbors";
    struct weft_comm *c;
    const int *first = NULL;
    int count = 0;
    int err = find_neighbours(function, comm, rank, &c, &first, &count);

    if (err == MPI_SUCCESS) {
        err = give_list(function, c, maxneighbors, neighbors, "neighbors", count, first);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Graph_neighbors, PMPI_Graph_neighbors);

/* ---- graphs of which each process knows a part ---- */

int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                    const int sourceweights[], int outdegree,
                                    const int destinations[], const int destweights[],
                                    MPI_Info info, int reorder, MPI_Comm *comm_dist_graph)
{
    WEFT_RECORD(Dist_graph_create_adjacent, comm_old, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);
    static const char function[] = "MPI_Dist_graph_create_adjacent";
    const bool is_weighted = sourceweights != MPI_UNWEIGHTED;
    const struct weft_neighbours in = {indegree, sources, sourceweights};
    const struct weft_neighbours out_of = {outdegree, destinations, destweights};
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = check_old(function, comm_old, comm_dist_graph, "comm_dist_graph", &c);

    (void)info;
    (void)reorder; /* a permission */
    if (err == MPI_SUCCESS && is_weighted != (destweights != MPI_UNWEIGHTED)) {
        err = weft_raise_comm(c, function, WEFT_E_TOPO_UNWEIGHTED);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_neighbours(function, c, &in, is_weighted);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_neighbours(function, c, &out_of, is_weighted);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_dist_graph_create_adjacent(function, c, &in, &out_of, is_weighted, &made);
    return give_comm(function, c, rc, made, comm_dist_graph);
}
WEFT_WEAK_ALIAS(MPI_Dist_graph_create_adjacent, PMPI_Dist_graph_create_adjacent);

int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[],
                           const int degrees[], const int destinations[],
                           const int weights[], MPI_Info info, int reorder,
                           MPI_Comm *comm_dist_graph)
{
    WEFT_RECORD(Dist_graph_create, comm_old, WEFT_PLANE_COLL, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);
    static const char function[] = "MPI_Dist_graph_create";
    const bool is_weighted = weights != MPI_UNWEIGHTED;
    const struct weft_edges edges = {n, sources, degrees, destinations,
                                     is_weighted ? weights : NULL};
    struct weft_comm *c;
    struct weft_comm *made = NULL;
    enum weft_rc rc;
    int err = check_old(function, comm_old, comm_dist_graph, "comm_dist_graph", &c);

    (void)info;
    (void)reorder; /* a permission */
    if (err == MPI_SUCCESS) {
        err = weft_check_edges(function, c, &edges, is_weighted);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = weft_dist_graph_create(function, c, &edges, is_weighted, &made);
    return give_comm(function, c, rc, made, comm_dist_graph);
}
WEFT_WEAK_ALIAS(MPI_Dist_graph_create, PMPI_Dist_graph_create);

int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree,
                                    int *weighted)
{
    static const char function[] = "MPI_Dist_graph_neighbors_count";
    struct weft_comm *c;
    int err = weft_check_topology(function, comm, MPI_DIST_GRAPH, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, indegree, "indegree");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, outdegree, "outdegree");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, weighted, "weighted");
    }
    if (err == MPI_SUCCESS) {
        *indegree = weft_dist_graph_in(c).count;
        *outdegree = weft_dist_graph_out(c).count;
        *weighted = c->topology->is_weighted;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Dist_graph_neighbors_count, PMPI_Dist_graph_neighbors_count);

/* As many as there is room for; weights only where there are some, and are wanted. */
static int give_side(const char *function, struct weft_comm *comm, int room, int ranks[],
                     int weights[], const struct weft_neighbours *side)
{
    const int count = room < side->count ? room : side->count;
    int err =
        weft_check_list(function, comm, room < 0 ? room : count, ranks, "neighbours");

    if (err == MPI_SUCCESS && count > 0) {
        memcpy(ranks, side->ranks, (size_t)count * sizeof(int));
        if (side->weights != NULL && weights != MPI_UNWEIGHTED && weights != NULL) {
            memcpy(weights, side->weights, (size_t)count * sizeof(int));
        }
    }
    return err;
}

int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[],
                              int sourceweights[], int maxoutdegree, int destinations[],
                              int destweights[])
{
    static const char function[] = "MPI_Dist_graph_neighbors";
    struct weft_comm *c;
    struct weft_neighbours side;
    int err = weft_check_topology(function, comm, MPI_DIST_GRAPH, &c);

    if (err != MPI_SUCCESS) {
        return err;
    }
    side = weft_dist_graph_in(c);
    err = give_side(function, c, maxindegree, sources, sourceweights, &side);
    if (err == MPI_SUCCESS) {
        side = weft_dist_graph_out(c);
        err = give_side(function, c, maxoutdegree, destinations, destweights, &side);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Dist_graph_neighbors, PMPI_Dist_graph_neighbors);
