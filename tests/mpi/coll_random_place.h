/*
 * coll_random_place.h - the communicators of coll_random.c, and who is whose neighbour
 * there.
 *
 * Every process makes the same list of places. Some have all processes, some a part of
 * them, so ranks and sizes may differ from one process to another.
 */
#ifndef WEFT_TEST_COLL_RANDOM_PLACE_H
#define WEFT_TEST_COLL_RANDOM_PLACE_H

#include "check.h"

#include <stdbool.h>

enum { NEIGHBOURS_MOST = 4, PLACES_MOST = 16 };

enum around { NO_NEIGHBOURS, GRID, DIST_GRAPH, GRAPH };

struct place {
    const char *name;
    MPI_Comm comm;
    bool is_inter;
    int side;     /* our group of an intercommunicator; else 0 */
    int ranks[2]; /* in each group */
    int rank;     /* in our own */
    enum around around;
    int dims[2]; /* of a grid, whose last dimension is the fastest */
    int periods[2];
};

static struct place places[PLACES_MOST];
static int place_count;

static inline struct place *add_place(const char *name, MPI_Comm comm)
{
    struct place *place = &places[place_count++];

    CHECK(place_count <= PLACES_MOST);
    place->name = name;
    place->comm = comm;
    MPI_Comm_rank(comm, &place->rank);
    MPI_Comm_size(comm, &place->ranks[0]);
    return place;
}

static inline void add_inter(const char *name, int side, int first, int other_first)
{
    MPI_Comm half;
    MPI_Comm inter;
    struct place *place;

    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side == 0 ? other_first : first, 7,
                         &inter);
    MPI_Comm_free(&half);
    place = add_place(name, inter);
    place->is_inter = true;
    place->side = side;
    MPI_Comm_size(inter, &place->ranks[side]);
    MPI_Comm_remote_size(inter, &place->ranks[1 - side]);
}

static inline void add_grid(const char *name, int rows, int columns, int row_period,
                            int column_period)
{
    const int dims[2] = {rows, columns};
    const int periods[2] = {row_period, column_period};
    MPI_Comm comm;
    struct place *place;

    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    place = add_place(name, comm);
    place->around = GRID;
    memcpy(place->dims, dims, sizeof(dims));
    memcpy(place->periods, periods, sizeof(periods));
}

/* ---- neighbours ---- */

static inline int grid_neighbour(const struct place *place, int of, int i)
{
    const int dimension = i / 2;
    int at[2] = {of / place->dims[1], of % place->dims[1]};
    const int length = place->dims[dimension];

    at[dimension] += i % 2 == 0 ? -1 : 1;
    if (at[dimension] < 0 || at[dimension] >= length) {
        if (!place->periods[dimension]) {
            return -1;
        }
        at[dimension] = (at[dimension] + length) % length;
    }
    return at[0] * place->dims[1] + at[1];
}

/* Of any rank; -1 is nobody. In the distributed graph each sends to the next two, to the
 * second of them twice, and to itself; in the other one to both sides. */
static inline int neighbours(const struct place *place, int of, bool is_in,
                             int list[NEIGHBOURS_MOST])
{
    static const int away[NEIGHBOURS_MOST] = {1, 2, 2, 0};
    const int n = place->ranks[0];

    switch (place->around) {
    case GRID:
        for (int i = 0; i < NEIGHBOURS_MOST; i++) {
            list[i] = grid_neighbour(place, of, i);
        }
        return NEIGHBOURS_MOST;
    case DIST_GRAPH:
        for (int i = 0; i < NEIGHBOURS_MOST; i++) {
            list[i] = (of + (is_in ? 2 * n - away[i] : away[i])) % n;
        }
        return NEIGHBOURS_MOST;
    default:
        list[0] = (of + n - 1) % n;
        list[1] = (of + 1) % n;
        return 2;
    }
}

/* Which edge the sender calls edge i of this rank: the opposite one of a grid; else
 * messages between the same two go by the order of their edges. */
static inline int edge_at_sender(const struct place *place, int i)
{
    int in[NEIGHBOURS_MOST];
    int out[NEIGHBOURS_MOST];
    int before = 0;
    int count;

    if (place->around == GRID) {
        return i ^ 1;
    }
    neighbours(place, place->rank, true, in);
    for (int k = 0; k < i; k++) {
        before += in[k] == in[i] ? 1 : 0;
    }
    count = neighbours(place, in[i], false, out);
    for (int k = 0; k < count; k++) {
        if (out[k] == place->rank && before-- == 0) {
            return k;
        }
    }
    fail(__FILE__, __LINE__, "each edge has two ends");
    return -1;
}

/* ---- opening ---- */

static inline void add_graphs(int rank, int size)
{
    static const int weights[NEIGHBOURS_MOST] = {1, 1, 1, 1};
    struct place dist = {.around = DIST_GRAPH, .ranks = {size}};
    int in[NEIGHBOURS_MOST];
    int out[NEIGHBOURS_MOST];
    int *index = malloc((size_t)size * sizeof(int));
    int *edges = malloc((size_t)size * 2 * sizeof(int));
    MPI_Comm comm;

    CHECK(index != NULL && edges != NULL);
    neighbours(&dist, rank, true, in);
    neighbours(&dist, rank, false, out);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, NEIGHBOURS_MOST, in, weights,
                                   NEIGHBOURS_MOST, out, weights, MPI_INFO_NULL, 0,
                                   &comm);
    add_place("a distributed graph", comm)->around = DIST_GRAPH;
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
    add_place("a graph", comm)->around = GRAPH;
    free(index);
    free(edges);
}

static inline void open_places(void)
{
    MPI_Comm comm;
    int dims[2] = {0, 0};
    int rank;
    int size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    add_place("all", comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    add_place("all, backwards", comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
    add_place("the odd or the even ones", comm);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    add_place("one", comm);
    if (size > 1) {
        add_inter("one and the others", rank > 0, 0, 1);
        add_inter("two halves", rank >= (size + 1) / 2, 0, (size + 1) / 2);
        add_inter("odd and even", 1 - rank % 2, 1, 0);
    }
    MPI_Dims_create(size, 2, dims);
    add_grid("a ring", 1, size, 1, 1);
    add_grid("a column", size, 1, 0, 1);
    add_grid("a grid", dims[0], dims[1], 0, 1);
    add_graphs(rank, size);
}

static inline void close_places(void)
{
    for (int i = 0; i < place_count; i++) {
        MPI_Comm_free(&places[i].comm);
    }
}

#endif
