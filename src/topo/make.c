#include "topo/make.h"

#include "comm/make.h"
#include "p2p/p2p.h"
#include "engine/hot.h"
#include "engine/lock.h"
#include "topo/order.h"

#include <assert.h>
#include <stdlib.h>

/* ---- places ---- */

/*
 * An order of the first `count` ranks: rank_at[p] = old rank, the caller's to free. NULL
 * where everyone keeps his rank_at, as it is when all share one node.
 */
typedef enum weft_rc find_order(const void *what, const uint32_t nodes[], int rank_at[]);

static enum weft_rc order_ranks(const struct weft_comm *comm, int count, find_order *find,
                                const void *what, int **out)
{
    const struct weft_segment *segment = &weft_engine.job->segment;
    uint32_t *nodes;
    int *rank_at;
    enum weft_rc rc;

    *out = NULL;
    if (segment->header->node_count == 1 || count < 2) {
        return WEFT_OK;
    }
    nodes = malloc((size_t)count * sizeof(*nodes));
    rank_at = malloc((size_t)count * sizeof(*rank_at));
    if (nodes == NULL || rank_at == NULL) {
        free(nodes);
        free(rank_at);
        return WEFT_ERR_NOMEM;
    }
    for (int r = 0; r < count; r++) {
        nodes[r] =
            weft_segment_map(segment)[weft_engine_rank(weft_comm_process(comm, r))].node;
    }
    rc = find(what, nodes, rank_at);
    free(nodes);
    if (rc == WEFT_OK) {
        *out = rank_at;
    } else {
        free(rank_at);
    }
    return rc;
}

/* Where `rank` is in an order of `count`, or MPI_UNDEFINED. */
static int position_of(int rank, int count, const int *order)
{
    if (rank >= count) {
        return MPI_UNDEFINED;
    }
    for (int p = 0; order != NULL && p < count; p++) {
        if (order[p] == rank) {
            return p;
        }
    }
    return rank;
}

static enum weft_rc draft_members(const struct weft_comm *comm, int count,
                                  const int *order, struct weft_group_draft *draft)
{
    int first_ranks[1][3] = {{0, count - 1, 1}};

    if (order != NULL) {
        return weft_group_incl(comm->group, count, order, draft);
    }
    return weft_group_range_incl(comm->group, count > 0 ? 1 : 0, first_ranks, draft);
}

/* A communicator of the ranks order[0], order[1], ..., or of the first ones. An error
 * `rc` of before goes to all members. */
static enum weft_rc make_ordered(const char *call, struct weft_comm *comm, int count,
                                 const int *order, enum weft_rc rc,
                                 struct weft_comm **out)
{
    struct weft_group_draft draft = {.size = 0};
    struct weft_group *group = NULL;

    if (rc == WEFT_OK) {
        rc = draft_members(comm, count, order, &draft);
    }
    if (rc == WEFT_OK) {
        weft_lock();
        rc = weft_group_make(&draft, &group);
        weft_unlock();
    }
    rc = weft_comm_create_all(call, comm, group, rc, out);
    if (group != NULL) {
        weft_lock();
        weft_group_release(group);
        weft_unlock();
    }
    return rc;
}

/* The communicator gets the topology, or the topology is released. */
static void attach(enum weft_rc rc, struct weft_topology *topology,
                   struct weft_comm *made)
{
    weft_assert_unlocked();
    weft_lock();
    if (rc == WEFT_OK && made != NULL) {
        made->topology = topology;
    } else {
        weft_topology_release(topology);
    }
    weft_unlock();
}

/* Makes a communicator with a topology, which is taken over or released; there is none
 * where `rc` is an error. */
static enum weft_rc make_with(const char *call, struct weft_comm *comm, int count,
                              const int *order, struct weft_topology *topology,
                              enum weft_rc rc, struct weft_comm **out)
{
    struct weft_comm *made = NULL;

    rc = make_ordered(call, comm, count, order, rc, &made);
    attach(rc, topology, made);
    if (rc == WEFT_OK) {
        *out = made;
    }
    return rc;
}

/* A communicator of a part of the members, which alone know that part. */
static enum weft_rc make_part(const char *call, struct weft_comm *comm, int count,
                              const int *ranks, struct weft_topology *topology,
                              struct weft_comm **out)
{
    struct weft_group_draft draft = {.size = 0};
    struct weft_comm *made = NULL;
    struct weft_group *group;
    enum weft_rc rc = draft_members(comm, count, ranks, &draft);

    if (rc == WEFT_OK) {
        weft_lock();
        rc = weft_group_make(&draft, &group);
        weft_unlock();
    }
    if (rc == WEFT_OK) {
        rc = weft_comm_create(call, comm, group, &made);
        weft_lock();
        weft_group_release(group);
        weft_unlock();
    }
    attach(rc, topology, made);
    if (rc == WEFT_OK) {
        *out = made;
    }
    return rc;
}

/* ---- grids ---- */

static enum weft_rc order_grid(const void *what, const uint32_t nodes[], int rank_at[])
{
    return weft_order_grid(what, nodes, rank_at);
}

static enum weft_rc keep_grid(const struct weft_grid *grid, struct weft_topology **out)
{
    const int lengths[WEFT_TOPOLOGY_LISTS] = {grid->ndims, grid->ndims};
    enum weft_rc rc = weft_topology_take(MPI_CART, lengths, out);

    if (rc == WEFT_OK) {
        weft_topology_fill(*out, 0, grid->dims);
        weft_topology_fill(*out, 1, grid->periods);
    }
    return rc;
}

struct weft_grid weft_cart_grid(const struct weft_comm *comm)
{
    assert(comm->topology->kind == MPI_CART);
    return (struct weft_grid){
        .ndims = comm->topology->lengths[0],
        .dims = weft_topology_see(comm->topology, 0),
        .periods = weft_topology_see(comm->topology, 1),
    };
}

enum weft_rc weft_cart_create(const char *call, struct weft_comm *comm,
                              const struct weft_grid *grid, bool is_reordered,
                              struct weft_comm **out)
{
    const int count = weft_grid_size(grid);
    struct weft_topology *topology = NULL;
    int *order = NULL;
    enum weft_rc rc = keep_grid(grid, &topology);

    if (rc == WEFT_OK && is_reordered) {
        rc = order_ranks(comm, count, order_grid, grid, &order);
    }
    rc = make_with(call, comm, count, order, topology, rc, out);
    free(order);
    return rc;
}

enum weft_rc weft_cart_map(const struct weft_comm *comm, const struct weft_grid *grid,
                           int *rank)
{
    const int count = weft_grid_size(grid);
    int *order;
    enum weft_rc rc = order_ranks(comm, count, order_grid, grid, &order);

    if (rc == WEFT_OK) {
        *rank = position_of(comm->rank, count, order);
        free(order);
    }
    return rc;
}

/* The dimensions that remain. */
static enum weft_rc keep_part(const struct weft_grid *grid, const int remain[],
                              struct weft_topology **out)
{
    int lengths[WEFT_TOPOLOGY_LISTS] = {0};
    enum weft_rc rc;

    for (int d = 0; d < grid->ndims; d++) {
        lengths[0] += remain[d] != 0;
    }
    lengths[1] = lengths[0];
    rc = weft_topology_take(MPI_CART, lengths, out);
    for (int d = 0, kept = 0; rc == WEFT_OK && d < grid->ndims; d++) {
        if (remain[d]) {
            weft_topology_list(*out, 0)[kept] = grid->dims[d];
            weft_topology_list(*out, 1)[kept] = grid->periods[d];
            kept++;
        }
    }
    return rc;
}

enum weft_rc weft_cart_sub(const char *call, struct weft_comm *comm, const int remain[],
                           struct weft_comm **out)
{
    const struct weft_grid grid = weft_cart_grid(comm);
    const int count = weft_grid_part(&grid, comm->rank, remain, NULL);
    int *ranks = malloc((size_t)count * sizeof(*ranks));
    struct weft_topology *topology;
    enum weft_rc rc;

    if (ranks == NULL) {
        return WEFT_ERR_NOMEM;
    }
    rc = keep_part(&grid, remain, &topology);
    if (rc == WEFT_OK) {
        weft_grid_part(&grid, comm->rank, remain, ranks);
        rc = make_part(call, comm, count, ranks, topology, out);
    }
    free(ranks);
    return rc;
}

/* ---- graphs ---- */

static enum weft_rc order_graph(const void *what, const uint32_t nodes[], int rank_at[])
{
    const struct weft_topo_graph *graph = what;

    return weft_order_graph(graph->count, graph->index, graph->edges, nodes, rank_at);
}

static int edge_count(const struct weft_topo_graph *graph)
{
    return graph->count > 0 ? graph->index[graph->count - 1] : 0;
}

struct weft_topo_graph weft_topo_graph_of(const struct weft_comm *comm)
{
    assert(comm->topology->kind == MPI_GRAPH);
    return (struct weft_topo_graph){
        .count = comm->topology->lengths[0],
        .index = weft_topology_see(comm->topology, 0),
        .edges = weft_topology_see(comm->topology, 1),
    };
}

enum weft_rc weft_topo_graph_create(const char *call, struct weft_comm *comm,
                                    const struct weft_topo_graph *graph,
                                    bool is_reordered, struct weft_comm **out)
{
    const int lengths[WEFT_TOPOLOGY_LISTS] = {graph->count, edge_count(graph)};
    struct weft_topology *topology = NULL;
    int *order = NULL;
    enum weft_rc rc = weft_topology_take(MPI_GRAPH, lengths, &topology);

    if (rc == WEFT_OK) {
        weft_topology_fill(topology, 0, graph->index);
        weft_topology_fill(topology, 1, graph->edges);
    }
    if (rc == WEFT_OK && is_reordered) {
        rc = order_ranks(comm, graph->count, order_graph, graph, &order);
    }
    rc = make_with(call, comm, graph->count, order, topology, rc, out);
    free(order);
    return rc;
}

enum weft_rc weft_topo_graph_map(const struct weft_comm *comm,
                                 const struct weft_topo_graph *graph, int *rank)
{
    int *order;
    enum weft_rc rc = order_ranks(comm, graph->count, order_graph, graph, &order);

    if (rc == WEFT_OK) {
        *rank = position_of(comm->rank, graph->count, order);
        free(order);
    }
    return rc;
}

/* ---- distributed graphs ---- */

enum weft_rc weft_dist_graph_create_adjacent(const char *call, struct weft_comm *comm,
                                             const struct weft_neighbours *in,
                                             const struct weft_neighbours *out_of,
                                             bool is_weighted, struct weft_comm **out)
{
    struct weft_topology *topology = NULL;
    const enum weft_rc rc = weft_neighbours_keep(in, out_of, is_weighted, &topology);

    return make_with(call, comm, comm->size, NULL, topology, rc, out);
}

enum weft_rc weft_dist_graph_create(const char *call, struct weft_comm *comm,
                                    const struct weft_edges *edges, bool is_weighted,
                                    struct weft_comm **out)
{
    struct weft_comm *made = NULL;
    enum weft_rc rc = make_ordered(call, comm, comm->size, NULL, WEFT_OK, &made);

    if (rc != WEFT_OK) {
        return rc;
    }
    rc = weft_neighbours_exchange(call, made, edges, is_weighted);
    if (rc != WEFT_OK) {
        weft_comm_free(made);
        return rc;
    }
    *out = made;
    return WEFT_OK;
}
