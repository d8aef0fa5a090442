/*
 * coll_semantics.c - what the standard says of collectives beyond their results: who is a
 * neighbour twice or not at all, what may be freed and when, blocks of nothing, in place,
 * roots of intercommunicators, persistent ones in any order, what is refused, statuses,
 * threads, and counts that do not match.
 *
 * With the argument "named", and WEFT_LOG=info: what an error says.
 */
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define OK(call) CHECK((call) == MPI_SUCCESS)

enum { MOST = 64, LONG = 5000, UNTOUCHED = -77 };

static int rank;
static int size;

/* ---- neighbours ---- */

static MPI_Comm make_grid(MPI_Comm of, int ndims, const int *dims, int periodic)
{
    const int periods[] = {periodic, periodic};
    MPI_Comm grid;

    OK(MPI_Cart_create(of, ndims, dims, periods, 0, &grid));
    return grid;
}

/* What goes to the one side arrives from the other, also where both are one process. */
static void check_ring(MPI_Comm ring, int dimension)
{
    const int at = 2 * dimension;
    int given[4];
    int got[4] = {0};
    int before;
    int behind;
    int me;

    OK(MPI_Comm_rank(ring, &me));
    OK(MPI_Cart_shift(ring, dimension, 1, &before, &behind));
    for (int i = 0; i < 4; i++) {
        given[i] = 10 * me + i;
    }
    OK(MPI_Neighbor_alltoall(given, 1, MPI_INT, got, 1, MPI_INT, ring));
    CHECK(got[at] == 10 * before + at + 1 && got[at + 1] == 10 * behind + at);
    OK(MPI_Neighbor_allgather(&me, 1, MPI_INT, got, 1, MPI_INT, ring));
    CHECK(got[at] == before && got[at + 1] == behind);
}

/* Rings of one and of two. */
static void narrow_rings(void)
{
    MPI_Comm pair;
    MPI_Comm grid;
    int both[2] = {1, 1};

    OK(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair));
    OK(MPI_Comm_size(pair, &both[0]));
    grid = make_grid(pair, 1, both, 1);
    check_ring(grid, 0);
    OK(MPI_Comm_free(&grid));
    grid = make_grid(pair, 2, both, 1);
    check_ring(grid, 0);
    check_ring(grid, 1);
    OK(MPI_Comm_free(&grid));
    OK(MPI_Comm_free(&pair));
}

/* At the ends of a line nothing is received, by a persistent operation neither. */
static void ends_of_a_line(void)
{
    const int given[2] = {10 * rank, 10 * rank + 1};
    MPI_Comm line = make_grid(MPI_COMM_WORLD, 1, &size, 0);
    MPI_Request request;

    for (int way = 0; way < 3; way++) {
        int got[2] = {UNTOUCHED, UNTOUCHED};

        if (way == 0) {
            OK(MPI_Neighbor_alltoall(given, 1, MPI_INT, got, 1, MPI_INT, line));
        } else if (way == 1) {
            OK(MPI_Ineighbor_alltoall(given, 1, MPI_INT, got, 1, MPI_INT, line,
                                      &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Neighbor_alltoall_init(given, 1, MPI_INT, got, 1, MPI_INT, line,
                                          MPI_INFO_NULL, &request));
            OK(MPI_Start(&request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            OK(MPI_Request_free(&request));
        }
        CHECK(got[0] == (rank == 0 ? UNTOUCHED : 10 * (rank - 1) + 1));
        CHECK(got[1] == (rank == size - 1 ? UNTOUCHED : 10 * (rank + 1)));
    }
    OK(MPI_Comm_free(&line));
}

/* Counts, types and displacements of its own for each; those of nobody are not read. */
static void typed_neighbours(void)
{
    MPI_Comm line = make_grid(MPI_COMM_WORLD, 1, &size, 0);
    const int given[2] = {10 * rank, 10 * rank + 1};
    int got[2] = {UNTOUCHED, UNTOUCHED};
    const int counts[2] = {rank > 0, rank < size - 1};
    const MPI_Aint places[2] = {rank > 0 ? 0 : PTRDIFF_MAX,
                                rank < size - 1 ? (MPI_Aint)sizeof(int) : PTRDIFF_MIN};
    MPI_Datatype types[2];
    MPI_Request request;

    for (int i = 0; i < 2; i++) {
        OK(MPI_Type_dup(MPI_INT, &types[i]));
        OK(MPI_Type_commit(&types[i]));
    }
    OK(MPI_Ineighbor_alltoallw(given, counts, places, types, got, counts, places, types,
                               line, &request));
    OK(MPI_Type_free(&types[0]));
    OK(MPI_Type_free(&types[1]));
    OK(MPI_Comm_free(&line));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(got[0] == (rank == 0 ? UNTOUCHED : 10 * (rank - 1) + 1));
    CHECK(got[1] == (rank == size - 1 ? UNTOUCHED : 10 * (rank + 1)));
}

/* ---- freed before it is over ---- */

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((int *)inout)[i] += ((const int *)in)[i];
    }
}

/* A persistent operation keeps what it was made with until it is freed itself. */
static void freed_while_kept(void)
{
    static int in[LONG];
    static int out[LONG];
    MPI_Request request;
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Op op;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Type_dup(MPI_INT, &type));
    OK(MPI_Op_create(add, 1, &op));
    OK(MPI_Allreduce_init(in, out, LONG, type, op, comm, MPI_INFO_NULL, &request));
    OK(MPI_Type_free(&type));
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_free(&comm));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < LONG; i++) {
            in[i] = rank + i + round;
        }
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < LONG; i++) {
            CHECK(out[i] == size * (size - 1) / 2 + size * (i + round));
        }
    }
    OK(MPI_Request_free(&request));
}

static void freed_while_used(void)
{
    static int out[MOST * 100];
    static int in[MOST * 100];
    MPI_Request request;
    MPI_Datatype type;
    MPI_Comm comm;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Type_contiguous(100, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    for (int i = 0; i < 100 * size; i++) {
        in[i] = 1000 * rank + i / 100;
    }
    OK(MPI_Ialltoall(in, 1, type, out, 1, type, comm, &request));
    OK(MPI_Type_free(&type));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 100 * size; i++) {
        CHECK(out[i] == 1000 * (i / 100) + rank);
    }
}

/* ---- blocks of nothing ---- */

static void fill_ints(int *to, int value)
{
    for (int i = 0; i < MOST; i++) {
        to[i] = value;
    }
}

static void nothing_at_all(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype types[MOST];
    int none[MOST];
    int wild[MOST];

    fill_ints(none, 0);
    fill_ints(wild, INT_MAX);
    for (int i = 0; i < MOST; i++) {
        types[i] = i % 2 == 0 ? MPI_DOUBLE : MPI_2INT;
    }
    OK(MPI_Bcast(NULL, 0, MPI_INT, 0, w));
    OK(MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, w));
    OK(MPI_Gatherv(NULL, 0, MPI_INT, NULL, none, wild, MPI_INT, 0, w));
    OK(MPI_Scatterv(NULL, none, wild, MPI_INT, NULL, 0, MPI_INT, 0, w));
    OK(MPI_Allgatherv(NULL, 0, MPI_INT, NULL, none, wild, MPI_INT, w));
    OK(MPI_Alltoallv(NULL, none, wild, MPI_INT, NULL, none, wild, MPI_INT, w));
    OK(MPI_Alltoallw(NULL, none, wild, types, NULL, none, wild, types, w));
    OK(MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, w));
    OK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, w));
    OK(MPI_Reduce_scatter(NULL, NULL, none, MPI_INT, MPI_SUM, w));
    OK(MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, w));
    OK(MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, w));
    OK(MPI_Exscan(NULL, NULL, 0, MPI_INT, MPI_SUM, w));
}

/* Odd ranks have nothing; their displacements point nowhere. */
static void nothing_for_some(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int counts[MOST];
    int places[MOST];
    int got[MOST];
    int given[MOST];
    const int mine = rank % 2 == 0;

    for (int i = 0; i < MOST; i++) {
        counts[i] = i % 2 == 0;
        places[i] = i % 2 == 0 ? i : INT_MIN;
        given[i] = 100 + i;
    }
    fill_ints(got, UNTOUCHED);
    OK(MPI_Allgatherv(&rank, mine, MPI_INT, got, counts, places, MPI_INT, w));
    for (int i = 0; i < size; i++) {
        CHECK(got[i] == (i % 2 == 0 ? i : UNTOUCHED));
    }
    fill_ints(got, UNTOUCHED);
    OK(MPI_Scatterv(given, counts, places, MPI_INT, mine ? got : NULL, mine, MPI_INT, 0,
                    w));
    CHECK(got[0] == (mine ? 100 + rank : UNTOUCHED));
    fill_ints(got, UNTOUCHED);
    OK(MPI_Gatherv(mine ? &rank : NULL, mine, MPI_INT, got, counts, places, MPI_INT, 0,
                   w));
    for (int i = 0; i < size; i++) {
        CHECK(got[i] == (rank == 0 && i % 2 == 0 ? i : UNTOUCHED));
    }
}

/* ---- in place ---- */

static void in_place_moves(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    const int root = size - 1;
    const bool is_root = rank == root;
    int all[MOST];
    int one = 100 + rank;

    all[rank] = one;
    OK(MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, w));
    for (int i = 0; i < size; i++) {
        CHECK(all[i] == 100 + i);
        all[i] = i == rank ? one : UNTOUCHED;
    }
    OK(MPI_Gather(is_root ? MPI_IN_PLACE : &one, 1, MPI_INT, all, 1, MPI_INT, root, w));
    for (int i = 0; i < size && is_root; i++) {
        CHECK(all[i] == 100 + i);
    }
    one = UNTOUCHED;
    OK(MPI_Scatter(all, 1, MPI_INT, is_root ? MPI_IN_PLACE : &one, 1, MPI_INT, root, w));
    CHECK(one == (is_root ? UNTOUCHED : 100 + rank));
    for (int i = 0; i < size; i++) {
        all[i] = 100 * rank + i;
    }
    OK(MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, w));
    for (int i = 0; i < size; i++) {
        CHECK(all[i] == 100 * i + rank);
    }
}

static void in_place_sizes(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype types[MOST];
    int counts[MOST];
    int places[MOST];
    int all[MOST];

    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
        all[i] = 100 * rank + i;
    }
    OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, all, counts, places, types, w));
    for (int i = 0; i < size; i++) {
        CHECK(all[i] == 100 * i + rank);
        places[i] = i;
    }
    OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, counts, places,
                     MPI_INT, w));
    for (int i = 0; i < size; i++) {
        CHECK(all[i] == 100 * rank + i);
    }
    OK(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT,
                      w));
    for (int i = 0; i < size; i++) {
        CHECK(all[i] == 101 * i);
    }
}

static void in_place_reductions(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    const int sum = size * (size + 1) / 2;
    int counts[MOST];
    int all[MOST];
    int one = rank + 1;

    OK(MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, w));
    CHECK(one == sum);
    one = rank + 1;
    OK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &one, &one, 1, MPI_INT, MPI_SUM, 0, w));
    CHECK(one == (rank == 0 ? sum : rank + 1));
    one = rank + 1;
    OK(MPI_Scan(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, w));
    CHECK(one == (rank + 1) * (rank + 2) / 2);
    one = rank + 1;
    OK(MPI_Exscan(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, w));
    CHECK(one == (rank == 0 ? 1 : rank * (rank + 1) / 2)); /* rank 0's stays */
    fill_ints(counts, 1);
    for (int i = 0; i < size; i++) {
        all[i] = rank + 1 + i;
    }
    OK(MPI_Reduce_scatter(MPI_IN_PLACE, all, counts, MPI_INT, MPI_SUM, w));
    CHECK(all[0] == sum + size * rank);
    for (int i = 0; i < size; i++) {
        all[i] = rank + 1 + i;
    }
    OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, all, 1, MPI_INT, MPI_SUM, w));
    CHECK(all[0] == sum + size * rank);
}

/* Rank 0 of an exclusive scan gets nothing: its receive buffer is not significant. */
static void exscan_without_result(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int mine = rank + 1;
    int before = 0;
    void *const insignificant[] = {NULL, &mine, (void *)64};

    for (int i = 0; i < 3; i++) {
        void *result = rank == 0 ? insignificant[i] : &before;
        MPI_Request request;

        OK(MPI_Exscan(&mine, result, 1, MPI_INT, MPI_SUM, w));
        CHECK(before == rank * (rank + 1) / 2);
        before = 0;
        OK(MPI_Iexscan(&mine, result, 1, MPI_INT, MPI_SUM, w, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(before == rank * (rank + 1) / 2 && mine == rank + 1);
        before = 0;
    }
}

/* Every rank is refused, so nobody waits for anybody. */
static void in_place_refused(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    const bool is_root = rank == 0;
    void *here = MPI_IN_PLACE;
    int all[MOST] = {0};
    int mine[MOST] = {0};

    IS_ERROR(MPI_Bcast(here, 1, MPI_INT, 0, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Gather(is_root ? mine : here, 1, MPI_INT, is_root ? here : all, 1,
                        MPI_INT, 0, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Scatter(is_root ? here : mine, 1, MPI_INT, is_root ? all : here, 1,
                         MPI_INT, 0, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgather(mine, 1, MPI_INT, here, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Alltoall(mine, 1, MPI_INT, here, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Reduce(is_root ? mine : here, is_root ? here : all, 1, MPI_INT, MPI_SUM,
                        0, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allreduce(mine, here, 1, MPI_INT, MPI_SUM, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Scan(mine, here, 1, MPI_INT, MPI_SUM, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Exscan(mine, here, 1, MPI_INT, MPI_SUM, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Reduce_scatter_block(mine, here, 1, MPI_INT, MPI_SUM, w),
             MPI_ERR_BUFFER);
}

/* The same for blocks that have sizes of their own, and types. */
static void in_place_refused_sizes(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    const bool is_root = rank == 0;
    void *here = MPI_IN_PLACE;
    MPI_Datatype types[MOST];
    MPI_Request request;
    int counts[MOST];
    int places[MOST];
    int all[MOST] = {0};
    int mine[MOST] = {0};

    fill_ints(counts, 1);
    fill_ints(places, 0);
    for (int i = 0; i < MOST; i++) {
        types[i] = MPI_INT;
    }
    IS_ERROR(MPI_Gatherv(is_root ? mine : here, 1, MPI_INT, is_root ? here : all, counts,
                         places, MPI_INT, 0, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Scatterv(is_root ? here : mine, counts, places, MPI_INT,
                          is_root ? all : here, 1, MPI_INT, 0, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgatherv(mine, 1, MPI_INT, here, counts, places, MPI_INT, w),
             MPI_ERR_BUFFER);
    IS_ERROR(
        MPI_Alltoallv(mine, counts, places, MPI_INT, here, counts, places, MPI_INT, w),
        MPI_ERR_BUFFER);
    IS_ERROR(MPI_Alltoallw(mine, counts, places, types, here, counts, places, types, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Reduce_scatter(mine, here, counts, MPI_INT, MPI_SUM, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Ialltoallw(mine, counts, places, types, here, counts, places, types, w,
                            &request),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgatherv_init(mine, 1, MPI_INT, here, counts, places, MPI_INT, w,
                                 MPI_INFO_NULL, &request),
             MPI_ERR_BUFFER);
}

/* Of neighbours there is nothing in place, on either side. */
static void in_place_refused_around(void)
{
    MPI_Comm line = make_grid(MPI_COMM_WORLD, 1, &size, 0);
    const int counts[2] = {1, 1};
    const int places[2] = {0, 1};
    const MPI_Aint addresses[2] = {0, sizeof(int)};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    void *here = MPI_IN_PLACE;
    int got[2] = {0};
    int mine[2] = {0};

    OK(MPI_Comm_set_errhandler(line, MPI_ERRORS_RETURN));
    for (int is_send = 0; is_send < 2; is_send++) {
        const void *out = is_send ? here : mine;
        void *in = is_send ? got : here;

        IS_ERROR(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, line),
                 MPI_ERR_BUFFER);
        IS_ERROR(
            MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, counts, places, MPI_INT, line),
            MPI_ERR_BUFFER);
        IS_ERROR(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, line),
                 MPI_ERR_BUFFER);
        IS_ERROR(MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places,
                                        MPI_INT, line),
                 MPI_ERR_BUFFER);
        IS_ERROR(MPI_Neighbor_alltoallw(out, counts, addresses, types, in, counts,
                                        addresses, types, line),
                 MPI_ERR_BUFFER);
    }
    OK(MPI_Comm_free(&line));
}

/* Nor of two groups; the calls of one root are in `roots`. */
static void in_place_refused_between(MPI_Comm inter, int peers)
{
    void *here = MPI_IN_PLACE;
    int counts[MOST];
    int all[MOST] = {0};

    fill_ints(counts, 1);
    IS_ERROR(MPI_Allreduce(here, all, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgather(here, 1, MPI_INT, all, 1, MPI_INT, inter), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgatherv(here, 1, MPI_INT, all, counts, counts, MPI_INT, inter),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Alltoall(here, 1, MPI_INT, all, 1, MPI_INT, inter), MPI_ERR_BUFFER);
    IS_ERROR(
        MPI_Alltoallv(here, counts, counts, MPI_INT, all, counts, counts, MPI_INT, inter),
        MPI_ERR_BUFFER);
    IS_ERROR(MPI_Reduce_scatter_block(here, all, peers, MPI_INT, MPI_SUM, inter),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Reduce_scatter(here, all, counts, MPI_INT, MPI_SUM, inter),
             MPI_ERR_BUFFER);
}

/* ---- roots ---- */

/* Of the first group rank 0 is the root; its other ranks pass what nobody looks at. */
static void roots(void)
{
    const bool is_first = rank < size / 2;
    MPI_Comm half;
    MPI_Comm inter;
    int root = is_first ? MPI_PROC_NULL : 0;
    int value = rank == 0 ? 7 : UNTOUCHED;

    IS_ERROR(MPI_Bcast(&value, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD), MPI_ERR_ROOT);
    IS_ERROR(MPI_Bcast(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_COMM_WORLD), MPI_ERR_ROOT);
    if (size == 1) {
        return;
    }
    root = rank == 0 ? MPI_ROOT : root;
    OK(MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_first ? size / 2 : 0, 5, &inter));
    if (root == MPI_PROC_NULL) {
        OK(MPI_Bcast(NULL, -1, MPI_DATATYPE_NULL, root, inter));
        OK(MPI_Reduce(NULL, NULL, -1, MPI_DATATYPE_NULL, MPI_OP_NULL, root, inter));
    } else {
        int sum = UNTOUCHED;

        OK(MPI_Bcast(&value, 1, MPI_INT, root, inter));
        CHECK(value == 7);
        OK(MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, root, inter));
        CHECK(sum == (rank == 0 ? 7 * (size - size / 2) : UNTOUCHED));
    }
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    in_place_refused_between(inter, is_first ? size - size / 2 : size / 2);
    if (rank == 0) {
        IS_ERROR(MPI_Gather(NULL, 0, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, root, inter),
                 MPI_ERR_BUFFER);
        IS_ERROR(MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, NULL, 0, MPI_INT, root, inter),
                 MPI_ERR_BUFFER);
    } else if (!is_first) {
        IS_ERROR(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, NULL, 0, MPI_INT, root, inter),
                 MPI_ERR_BUFFER);
        IS_ERROR(MPI_Reduce(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, root, inter),
                 MPI_ERR_BUFFER);
    }
    IS_ERROR(MPI_Scan(&rank, &value, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

/* ---- persistent and nonblocking ---- */

enum { SEVERAL = 4 };

/* Each rank begins with another one; one is never started. */
static void any_order(void)
{
    MPI_Request request[SEVERAL + 1];
    int value[SEVERAL];
    int sum[SEVERAL];

    for (int i = 0; i <= SEVERAL; i++) {
        const int at = i % SEVERAL;

        OK(MPI_Allreduce_init(&value[at], &sum[at], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &request[i]));
    }
    OK(MPI_Request_free(&request[SEVERAL]));
    CHECK(request[SEVERAL] == MPI_REQUEST_NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SEVERAL; i++) {
            value[i] = 100 * i + round;
            sum[i] = UNTOUCHED;
        }
        for (int i = 0; i < SEVERAL; i++) {
            OK(MPI_Start(&request[(i + rank) % SEVERAL]));
        }
        OK(MPI_Waitall(SEVERAL, request, MPI_STATUSES_IGNORE));
        for (int i = 0; i < SEVERAL; i++) {
            CHECK(sum[i] == size * (100 * i + round) && request[i] != MPI_REQUEST_NULL);
        }
    }
    for (int i = 0; i < SEVERAL; i++) {
        OK(MPI_Request_free(&request[i]));
    }
}

/* Programs change counts and places after the initialization. */
static void arrays_changed(void)
{
    const MPI_Count one = 1;
    MPI_Request request;
    MPI_Count counts[MOST];
    MPI_Aint places[MOST];
    int small_counts[MOST];
    int got[MOST];
    int sum = -1;

    for (int i = 0; i < size; i++) {
        counts[i] = one;
        places[i] = i;
        small_counts[i] = 1;
        got[i] = -1;
    }
    OK(MPI_Allgatherv_init_c(&rank, one, MPI_INT, got, counts, places, MPI_INT,
                             MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    memset(counts, 0x5a, sizeof(counts));
    memset(places, 0x5a, sizeof(places));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    for (int i = 0; i < size; i++) {
        CHECK(got[i] == i);
    }
    OK(MPI_Reduce_scatter_init(got, &sum, small_counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &request));
    memset(small_counts, 0x5a, sizeof(small_counts));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    CHECK(sum == size * rank);
}

/* Blocks whose places are addresses. */
static void places_from_bottom(void)
{
    const int periods[] = {1};
    const int counts[] = {1, 1};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    int given[] = {2 * rank, 2 * rank + 1};
    int got[] = {-1, -1};
    MPI_Aint from[2];
    MPI_Aint to[2];
    MPI_Comm ring;

    for (int i = 0; i < 2; i++) {
        OK(MPI_Get_address(&given[i], &from[i]));
        OK(MPI_Get_address(&got[i], &to[i]));
    }
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &ring));
    OK(MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to,
                              types, ring));
    CHECK(got[0] == 2 * ((rank + size - 1) % size) + 1);
    CHECK(got[1] == 2 * ((rank + 1) % size));
    OK(MPI_Comm_free(&ring));
}

/* A collective under way is neither cancelled nor freed; it stays as it was. */
static void cancel_refused(void)
{
    MPI_Request request;
    MPI_Comm made;
    int value = rank == 0 ? 5 : 0;

    OK(MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &request));
    IS_ERROR(MPI_Cancel(&request), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Request_free(&request), MPI_ERR_REQUEST);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(value == 5 && request == MPI_REQUEST_NULL);
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
    IS_ERROR(MPI_Cancel(&request), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Request_free(&request), MPI_ERR_REQUEST);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Barrier_init(made, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    IS_ERROR(MPI_Cancel(&request), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Request_free(&request), MPI_ERR_REQUEST);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    OK(MPI_Comm_free(&made));
}

/* The status is empty; that of an inactive request says so in MPI_ERROR, too, which is
 * not written where an operation is completed. */
static void check_status(MPI_Request *request, int error)
{
    MPI_Status status;
    int count = -1;
    int is_cancelled = 1;

    memset(&status, 0x5a, sizeof(status));
    status.MPI_ERROR = UNTOUCHED;
    OK(MPI_Wait(request, &status));
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    CHECK(status.MPI_ERROR == error);
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    OK(MPI_Test_cancelled(&status, &is_cancelled));
    CHECK(count == 0 && !is_cancelled);
}

static void statuses(void)
{
    const int next = (rank + 1) % size;
    static char in[1000];
    static char out[1000];
    MPI_Request request;
    MPI_Request pair[2];
    MPI_Comm made;
    int sum;

    /* Requests that have been used for other things. */
    OK(MPI_Irecv(in, 1000, MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &pair[0]));
    OK(MPI_Isend(out, 1000, MPI_BYTE, next, 3, MPI_COMM_WORLD, &pair[1]));
    OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
    check_status(&request, UNTOUCHED);
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made, &request));
    check_status(&request, UNTOUCHED);
    OK(MPI_Barrier_init(made, MPI_INFO_NULL, &request));
    check_status(&request, MPI_SUCCESS);
    OK(MPI_Start(&request));
    check_status(&request, UNTOUCHED);
    OK(MPI_Request_free(&request));
    OK(MPI_Comm_free(&made));
}

/* The last rank enters when messages have passed the others by. */
static void barrier_overtaken(void)
{
    const int last = size - 1;
    MPI_Request request;
    int is_over = 1;
    int word = 0;

    if (rank == last) {
        for (int i = 0; i < last; i++) {
            OK(MPI_Recv(&word, 1, MPI_INT, i, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Send(&word, 1, MPI_INT, i, 4, MPI_COMM_WORLD));
            OK(MPI_Recv(&word, 1, MPI_INT, i, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    } else {
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        OK(MPI_Send(&rank, 1, MPI_INT, last, 4, MPI_COMM_WORLD));
        OK(MPI_Recv(&word, 1, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Test(&request, &is_over, MPI_STATUS_IGNORE));
        CHECK(word == rank && !is_over);
        OK(MPI_Send(&rank, 1, MPI_INT, last, 5, MPI_COMM_WORLD));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* ---- threads ---- */

static void *reduce_often(void *arg)
{
    const MPI_Comm comm = *(const MPI_Comm *)arg;

    for (int i = 0; i < 200; i++) {
        MPI_Request request;
        int in[100];
        int out[100];
        int from = i;

        for (int k = 0; k < 100; k++) {
            in[k] = rank + k + i;
        }
        OK(MPI_Iallreduce(in, out, 100, MPI_INT, MPI_SUM, comm, &request));
        OK(MPI_Bcast(&from, 1, MPI_INT, i % size, comm));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int k = 0; k < 100; k++) {
            CHECK(out[k] == size * (size - 1) / 2 + size * (k + i));
        }
        CHECK(from == i);
    }
    return NULL;
}

static void two_threads(void)
{
    MPI_Comm comms[2];
    pthread_t thread;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    CHECK(pthread_create(&thread, NULL, reduce_often, &comms[0]) == 0);
    reduce_often(&comms[1]);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(MPI_Comm_free(&comms[0]));
    OK(MPI_Comm_free(&comms[1]));
}

/* ---- types ---- */

static void pairs(void)
{
    struct {
        double value;
        int at;
    } in[2], out[2];

    memset(in, 0, sizeof(in));
    in[0].value = rank % 2; /* several have the largest: the lowest rank counts */
    in[1].value = -rank;
    in[0].at = rank;
    in[1].at = 10 * rank;
    OK(MPI_Allreduce(in, out, 2, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
    CHECK(out[0].value == (size > 1) && out[0].at == (size > 1));
    CHECK(out[1].value == 0 && out[1].at == 0);
    OK(MPI_Scan(in, out, 2, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
    CHECK(out[0].value == 0 && out[0].at == 0);
    CHECK(out[1].value == -rank && out[1].at == 10 * rank);
}

/* The largest value of all ranks, and where it is, in each of the pairs of C. */
#define LARGEST(value_type, type)                                                        \
    do {                                                                                 \
        struct {                                                                         \
            value_type value;                                                            \
            int at;                                                                      \
        } in, out;                                                                       \
                                                                                         \
        memset(&in, 0, sizeof(in));                                                      \
        in.value = (value_type)(rank % 3);                                               \
        in.at = 7 * rank;                                                                \
        OK(MPI_Allreduce(&in, &out, 1, type, MPI_MAXLOC, MPI_COMM_WORLD));               \
        CHECK(out.value == (value_type)largest && out.at == 7 * largest);                \
    } while (0)

static void all_pairs(void)
{
    const int largest = size > 3 ? 2 : size - 1;

    LARGEST(short, MPI_SHORT_INT);
    LARGEST(int, MPI_2INT);
    LARGEST(long, MPI_LONG_INT);
    LARGEST(float, MPI_FLOAT_INT);
    LARGEST(double, MPI_DOUBLE_INT);
    LARGEST(long double, MPI_LONG_DOUBLE_INT);
}

static void fortran(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    const int integer = rank + 1;
    const float complex_one[2] = {1, (float)rank};
    const float located[2] = {(float)-rank, (float)rank};
    const double wide = 0.5;
    int sum;
    float both[2];
    double halves;

    OK(MPI_Allreduce(&integer, &sum, 1, MPI_INTEGER, MPI_SUM, w));
    CHECK(sum == size * (size + 1) / 2);
    OK(MPI_Allreduce(complex_one, both, 1, MPI_COMPLEX, MPI_SUM, w));
    CHECK(both[0] == (float)size && both[1] == (float)(size * (size - 1) / 2));
    OK(MPI_Allreduce(located, both, 1, MPI_2REAL, MPI_MINLOC, w));
    CHECK(both[0] == (float)(1 - size) && both[1] == (float)(size - 1));
    OK(MPI_Allreduce(&wide, &halves, 1, MPI_DOUBLE_PRECISION, MPI_SUM, w));
    CHECK(halves == size * 0.5);
    IS_ERROR(MPI_Allreduce(complex_one, both, 1, MPI_COMPLEX, MPI_MAX, w), MPI_ERR_OP);
}

/* Types by their size, by precision and range, pairs, and logicals. */
static void fortran_sized(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    const int64_t integer = rank + 1;
    const double real = rank - 1;
    const int pair[2] = {-rank, rank};
    const double wide_pair[2] = {rank, -rank};
    const int is_true = 1;
    MPI_Datatype type;
    int64_t sum;
    double most;
    double wide[2];
    int both[2];
    int all;

    OK(MPI_Allreduce(&integer, &sum, 1, MPI_INTEGER8, MPI_SUM, w));
    CHECK(sum == (int64_t)size * (size + 1) / 2);
    OK(MPI_Allreduce(&real, &most, 1, MPI_REAL8, MPI_MAX, w));
    CHECK(most == size - 2);
    OK(MPI_Type_create_f90_real(15, 300, &type));
    OK(MPI_Allreduce(&real, &most, 1, type, MPI_MIN, w));
    CHECK(most == -1);
    OK(MPI_Type_create_f90_integer(15, &type));
    OK(MPI_Scan(&integer, &sum, 1, type, MPI_SUM, w));
    CHECK(sum == (int64_t)(rank + 1) * (rank + 2) / 2);
    OK(MPI_Allreduce(pair, both, 1, MPI_2INTEGER, MPI_MINLOC, w));
    CHECK(both[0] == 1 - size && both[1] == size - 1);
    OK(MPI_Allreduce(wide_pair, wide, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, w));
    CHECK(wide[0] == size - 1 && wide[1] == 1 - size);
    OK(MPI_Allreduce(&is_true, &all, 1, MPI_LOGICAL, MPI_LAND, w));
    CHECK(all == 1);
    IS_ERROR(MPI_Allreduce(&is_true, &all, 1, MPI_LOGICAL, MPI_SUM, w), MPI_ERR_OP);
    IS_ERROR(MPI_Allreduce(pair, both, 1, MPI_2INTEGER, MPI_SUM, w), MPI_ERR_OP);
}

/* ---- counts that do not match ---- */

/* Whoever gets too much says so; what it passes on is as long as its own count. */
static void check_failed(int err)
{
    const int is_failed = err == MPI_ERR_TRUNCATE;
    int failed;

    CHECK(is_failed || err == MPI_SUCCESS);
    OK(MPI_Allreduce(&is_failed, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(size == 1 || failed > 0);
}

/* What is too long is an error where it arrives; nobody waits for ever. */
static void mismatched(void)
{
    const int given = rank == 0 ? 3 : 1;
    int got[MOST] = {0};
    int data[3] = {0};
    MPI_Request request;
    MPI_Comm comm;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    check_failed(MPI_Bcast(data, given, MPI_INT, 0, comm));
    OK(MPI_Ibcast(data, given, MPI_INT, 0, comm, &request));
    check_failed(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm));
    CHECK(got[size - 1] == size - 1);
    OK(MPI_Comm_free(&comm));
}

/* What is written to standard error while `request` is waited for. */
static int listen_to(MPI_Request *request, char *text, size_t room)
{
    FILE *file = tmpfile();
    const int old = dup(STDERR_FILENO);
    size_t length;
    int err;

    CHECK(file != NULL && old >= 0);
    CHECK(dup2(fileno(file), STDERR_FILENO) >= 0);
    err = MPI_Wait(request, MPI_STATUS_IGNORE);
    CHECK(dup2(old, STDERR_FILENO) >= 0);
    rewind(file);
    length = fread(text, 1, room - 1, file);
    text[length] = '\0';
    fclose(file);
    close(old);
    return err;
}

/* An error that is found by a wait names the collective and its communicator. */
static void named(void)
{
    MPI_Request request;
    MPI_Comm comm;
    char text[4096];
    int data[2] = {0};

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_name(comm, "the rows"));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Ibcast(data, rank == 0 ? 2 : 1, MPI_INT, 0, comm, &request));
    if (rank > 0) {
        IS_ERROR(listen_to(&request, text, sizeof(text)), MPI_ERR_TRUNCATE);
        CHECK(strstr(text, "MPI_Wait of MPI_Ibcast on ") != NULL);
        CHECK(strstr(text, "the rows") != NULL);
    } else {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    int level;

    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(level == MPI_THREAD_MULTIPLE && size <= MOST);
    if (argc > 1 && strcmp(argv[1], "named") == 0) {
        named();
        MPI_Finalize();
        return 0;
    }
    narrow_rings();
    ends_of_a_line();
    typed_neighbours();
    freed_while_kept();
    freed_while_used();
    nothing_at_all();
    nothing_for_some();
    in_place_moves();
    in_place_sizes();
    in_place_reductions();
    any_order();
    statuses();
    barrier_overtaken();
    two_threads();
    pairs();
    all_pairs();
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    exscan_without_result();
    in_place_refused();
    in_place_refused_sizes();
    in_place_refused_around();
    roots();
    arrays_changed();
    places_from_bottom();
    cancel_refused();
    fortran();
    fortran_sized();
    mismatched();
    MPI_Finalize();
    return 0;
}
