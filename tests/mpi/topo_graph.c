/* topo_graph.c - chapter 8: graphs, and distributed graphs. */
#include "check.h"

static int rank;
static int size;

/* Small numbers as addresses, which compilers that look into calls warn about. */
static int *volatile unweighted = MPI_UNWEIGHTED;
static int *volatile no_weights = MPI_WEIGHTS_EMPTY;

/* A ring of `count` vertices: each has the one before and the one behind. */
static void write_ring(int count, int *index, int *edges)
{
    for (int v = 0; v < count; v++) {
        index[v] = 2 * (v + 1);
        edges[2 * v] = (v + count - 1) % count;
        edges[2 * v + 1] = (v + 1) % count;
    }
}

static void what_a_graph_tells(MPI_Comm graph, int count, const int *index,
                               const int *edges)
{
    int *got = calloc((size_t)(3 * count), sizeof(int));
    int kind = -1;
    int nodes = -1;
    int links = -1;
    int neighbours[2] = {-1, -1};

    CHECK(got != NULL);
    CHECK(MPI_Topo_test(graph, &kind) == MPI_SUCCESS && kind == MPI_GRAPH);
    CHECK(MPI_Graphdims_get(graph, &nodes, &links) == MPI_SUCCESS);
    CHECK(nodes == count && links == 2 * count);
    CHECK(MPI_Graph_get(graph, count, 2 * count, got, got + count) == MPI_SUCCESS);
    CHECK(memcmp(got, index, (size_t)count * sizeof(int)) == 0);
    CHECK(memcmp(got + count, edges, (size_t)(2 * count) * sizeof(int)) == 0);
    for (int v = 0; v < count; v++) {
        CHECK(MPI_Graph_neighbors_count(graph, v, &nodes) == MPI_SUCCESS && nodes == 2);
        CHECK(MPI_Graph_neighbors(graph, v, 2, neighbours) == MPI_SUCCESS);
        CHECK(neighbours[0] == edges[2 * v] && neighbours[1] == edges[2 * v + 1]);
    }
    IS_ERROR(MPI_Graph_neighbors(graph, 0, 1, neighbours), MPI_ERR_ARG);
    IS_ERROR(MPI_Graph_neighbors(graph, count, 2, neighbours), MPI_ERR_RANK);
    IS_ERROR(MPI_Graph_neighbors_count(graph, -1, &nodes), MPI_ERR_RANK);
    IS_ERROR(MPI_Graph_neighbors_count(graph, 0, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Graph_get(graph, count - 1, 2 * count, got, got), MPI_ERR_ARG);
    IS_ERROR(MPI_Cartdim_get(graph, &nodes), MPI_ERR_TOPOLOGY);
    free(got);
}

static void graphs(int count, int reorder)
{
    int *index = calloc((size_t)(3 * count), sizeof(int));
    int *edges = index + count;
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    int place = -5;
    int me = -1;

    CHECK(index != NULL);
    write_ring(count, index, edges);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, count, index, edges, reorder, &graph) ==
          MPI_SUCCESS);
    CHECK(MPI_Graph_map(MPI_COMM_WORLD, count, index, edges, &place) == MPI_SUCCESS);
    CHECK((graph == MPI_COMM_NULL) == (place == MPI_UNDEFINED));
    if (graph != MPI_COMM_NULL) {
        CHECK(MPI_Comm_rank(graph, &me) == MPI_SUCCESS && (!reorder || me == place));
        CHECK(MPI_Comm_dup(graph, &copy) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&graph) == MPI_SUCCESS);
        what_a_graph_tells(copy, count, index, edges);
        CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    }
    free(index);
}

static void wrong_graphs(void)
{
    MPI_Comm graph = MPI_COMM_SELF;
    const int falling[2] = {1, 0};
    const int one = 1;
    const int far = size;
    const int many = size + 1;
    int place = 0;

    IS_ERROR(MPI_Graph_create(MPI_COMM_WORLD, many, &one, &one, 0, &graph), MPI_ERR_ARG);
    IS_ERROR(MPI_Graph_create(MPI_COMM_WORLD, -1, &one, &one, 0, &graph), MPI_ERR_ARG);
    IS_ERROR(MPI_Graph_create(MPI_COMM_WORLD, 1, &one, &far, 0, &graph), MPI_ERR_ARG);
    IS_ERROR(MPI_Graph_create(MPI_COMM_WORLD, 1, NULL, NULL, 0, &graph), MPI_ERR_ARG);
    IS_ERROR(MPI_Graph_create(MPI_COMM_WORLD, 1, &one, NULL, 0, &graph), MPI_ERR_ARG);
    IS_ERROR(MPI_Graph_map(MPI_COMM_WORLD, 1, &one, &far, &place), MPI_ERR_ARG);
    if (size > 1) {
        IS_ERROR(MPI_Graph_create(MPI_COMM_WORLD, 2, falling, &one, 0, &graph),
                 MPI_ERR_ARG);
    }
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph) == MPI_SUCCESS);
    CHECK(graph == MPI_COMM_NULL);
}

/* To every rank behind me up to the last, with a weight that tells the edge. */
static void adjacent(int is_weighted)
{
    int *lists = calloc((size_t)(4 * size), sizeof(int));
    int *sources = lists;
    int *in_weights = lists + size;
    int *dests = lists + 2 * size;
    int *out_weights = lists + 3 * size;
    const int in = rank;
    const int out = size - 1 - rank;
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    int counts[3] = {-1, -1, -1};
    int kind = -1;

    CHECK(lists != NULL);
    for (int i = 0; i < in; i++) {
        sources[i] = i;
        in_weights[i] = 100 * i + rank;
    }
    for (int i = 0; i < out; i++) {
        dests[i] = rank + 1 + i;
        out_weights[i] = 100 * rank + dests[i];
    }
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources,
                                         !is_weighted ? unweighted
                                         : in == 0    ? no_weights
                                                      : in_weights,
                                         out, dests,
                                         !is_weighted ? unweighted
                                         : out == 0   ? no_weights
                                                      : out_weights,
                                         MPI_INFO_NULL, 1, &graph) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(graph, &copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&graph) == MPI_SUCCESS);
    CHECK(MPI_Topo_test(copy, &kind) == MPI_SUCCESS && kind == MPI_DIST_GRAPH);
    CHECK(MPI_Dist_graph_neighbors_count(copy, &counts[0], &counts[1], &counts[2]) ==
          MPI_SUCCESS);
    CHECK(counts[0] == in && counts[1] == out && counts[2] == is_weighted);
    memset(lists, 0xff, (size_t)(4 * size) * sizeof(int));
    CHECK(MPI_Dist_graph_neighbors(copy, size, sources, in_weights, size, dests,
                                   out_weights) == MPI_SUCCESS);
    for (int i = 0; i < in; i++) {
        CHECK(sources[i] == i);
        CHECK(in_weights[i] == (is_weighted ? 100 * i + rank : -1));
    }
    for (int i = 0; i < out; i++) {
        CHECK(dests[i] == rank + 1 + i);
        CHECK(out_weights[i] == (is_weighted ? 100 * rank + dests[i] : -1));
    }
    IS_ERROR(MPI_Graphdims_get(copy, &kind, &kind), MPI_ERR_TOPOLOGY);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    free(lists);
}

/*
 * Every rank names two edges of its neighbour: from the next rank to the one behind it,
 * and to itself. So nobody names its own.
 */
static void named_by_others(int is_weighted)
{
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    const int sources[1] = {next};
    const int degrees[1] = {2};
    const int dests[2] = {(next + 1) % size, next};
    const int weights[2] = {10 + next, 20 + next};
    MPI_Comm graph = MPI_COMM_NULL;
    int in[3] = {-1, -1, -1};
    int in_weights[3] = {-1, -1, -1};
    int out[3] = {-1, -1, -1};
    int out_weights[3] = {-1, -1, -1};
    int counts[3] = {-1, -1, -1};
    int from_before = 0;
    int from_me = 0;

    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, dests,
                                is_weighted ? weights : unweighted, MPI_INFO_NULL, 0,
                                &graph) == MPI_SUCCESS);
    CHECK(MPI_Dist_graph_neighbors_count(graph, &counts[0], &counts[1], &counts[2]) ==
          MPI_SUCCESS);
    CHECK(counts[0] == 2 && counts[1] == 2 && counts[2] == is_weighted);
    CHECK(MPI_Dist_graph_neighbors(graph, 2, in, in_weights, 2, out, out_weights) ==
          MPI_SUCCESS);
    CHECK(out[0] == next && out[1] == rank); /* both named by the same process */
    for (int i = 0; i < 2; i++) {
        from_before += in[i] == before;
        from_me += in[i] == rank;
        if (!is_weighted) {
            CHECK(in_weights[i] == -1);
        } else if (size > 1) {
            CHECK(in_weights[i] == (in[i] == rank ? 20 + rank : 10 + before));
        }
    }
    CHECK(from_before == (size > 1 ? 1 : 2) && from_me == (size > 1 ? 1 : 2));
    CHECK(!is_weighted || (out_weights[0] == 10 + rank && out_weights[1] == 20 + rank));
    /* Of a shorter list, the first part. */
    in[0] = out[1] = -9;
    CHECK(MPI_Dist_graph_neighbors(graph, 0, NULL, unweighted, 1, out, unweighted) ==
          MPI_SUCCESS);
    CHECK(in[0] == -9 && out[0] == next && out[1] == -9);
    CHECK(MPI_Comm_free(&graph) == MPI_SUCCESS);
}

/* Rank 0 names all edges of a star, the others none; many edges, long messages. */
static void named_by_one(void)
{
    const int copies = 500;
    const int n = rank == 0 ? size : 0;
    int *sources = calloc((size_t)(2 * size), sizeof(int));
    int *dests = calloc((size_t)(size * copies), sizeof(int));
    int *got;
    MPI_Comm graph = MPI_COMM_NULL;
    int counts[3] = {-1, -1, -1};

    CHECK(sources != NULL && dests != NULL);
    for (int i = 0; i < size; i++) {
        sources[i] = i;
        sources[size + i] = copies; /* degrees */
    }
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, sources + size, dests,
                                rank == 0 ? dests : no_weights, MPI_INFO_NULL, 1,
                                &graph) == MPI_SUCCESS);
    CHECK(MPI_Dist_graph_neighbors_count(graph, &counts[0], &counts[1], &counts[2]) ==
          MPI_SUCCESS);
    CHECK(counts[0] == (rank == 0 ? size * copies : 0));
    CHECK(counts[1] == copies && counts[2] == 1);
    got = calloc((size_t)(size * copies), 4 * sizeof(int));
    CHECK(got != NULL);
    CHECK(MPI_Dist_graph_neighbors(graph, counts[0], got, got + size * copies, counts[1],
                                   got + 2 * size * copies,
                                   got + 3 * size * copies) == MPI_SUCCESS);
    for (int i = 0; i < counts[0]; i++) {
        CHECK(got[i] == i / copies); /* in the order in which they were named */
    }
    CHECK(MPI_Comm_free(&graph) == MPI_SUCCESS);
    free(got);
    free(dests);
    free(sources);
}

static void wrong_distributed_graphs(void)
{
    MPI_Comm graph = MPI_COMM_NULL;
    const int zero = 0;
    const int one = 1;
    const int negative = -1;
    int far = size;
    int count = 0;

    IS_ERROR(MPI_Dist_graph_create(MPI_COMM_WORLD, -1, &zero, &one, &zero, unweighted,
                                   MPI_INFO_NULL, 0, &graph),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &far, &one, &zero, unweighted,
                                   MPI_INFO_NULL, 0, &graph),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &one, &far, unweighted,
                                   MPI_INFO_NULL, 0, &graph),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &negative, &zero, unweighted,
                                   MPI_INFO_NULL, 0, &graph),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &one, &zero, &negative,
                                   MPI_INFO_NULL, 0, &graph),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, unweighted, 0, NULL,
                                            no_weights, MPI_INFO_NULL, 0, &graph),
             MPI_ERR_ARG);
    IS_ERROR(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &far, unweighted, 0, NULL,
                                            unweighted, MPI_INFO_NULL, 0, &graph),
             MPI_ERR_RANK);
    IS_ERROR(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &count, &count, &count),
             MPI_ERR_TOPOLOGY);
    IS_ERROR(MPI_Dist_graph_neighbors(MPI_COMM_WORLD, 0, NULL, NULL, 0, NULL, NULL),
             MPI_ERR_TOPOLOGY);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    graphs(size, 0);
    graphs(size, 1);
    graphs(size > 1 ? size - 1 : 1, 1);
    wrong_graphs();
    adjacent(0);
    adjacent(1);
    named_by_others(0);
    named_by_others(1);
    named_by_one();
    wrong_distributed_graphs();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
