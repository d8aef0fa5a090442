/*
 * coll_inter.c - collectives between two groups: ranks below `first` against the others.
 *
 * Every operation is done blocking, nonblocking and persistent. Group 0 gives numbers
 * from 1000 on, group 1 from 2000 on.
 */
#include "check.h"

#include <stdbool.h>

enum { MOST = 64, COUNT = 3 };

static MPI_Comm inter;
static int rank;   /* in our own group */
static int ours;   /* ranks in our own group */
static int theirs; /* ranks in the other one */
static int side;   /* which group is ours */

static int number(int of_side, int of_rank, int i)
{
    return 1000 * (of_side + 1) + 10 * of_rank + i;
}

/* Of all ranks of a group. */
static int sum(int of_side, int i)
{
    const int ranks = of_side == side ? ours : theirs;
    int all = 0;

    for (int r = 0; r < ranks; r++) {
        all += number(of_side, r, i);
    }
    return all;
}

#define EACH_WAY(Name, name, ...)                                                        \
    do {                                                                                 \
        MPI_Request request;                                                             \
                                                                                         \
        switch (way) {                                                                   \
        case 0:                                                                          \
            CHECK(MPI_##Name(__VA_ARGS__) == MPI_SUCCESS);                               \
            break;                                                                       \
        case 1:                                                                          \
            CHECK(MPI_I##name(__VA_ARGS__, &request) == MPI_SUCCESS);                    \
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);                 \
            break;                                                                       \
        default:                                                                         \
            CHECK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request) ==             \
                  MPI_SUCCESS);                                                          \
            for (int again = 0; again < 2; again++) {                                    \
                CHECK(MPI_Start(&request) == MPI_SUCCESS);                               \
                CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);             \
            }                                                                            \
            CHECK(MPI_Request_free(&request) == MPI_SUCCESS);                            \
        }                                                                                \
    } while (0)

/* What this rank passes as root, if rank `root` of side `of` is it. */
static int root_of(int of, int root)
{
    if (of != side) {
        return root;
    }
    return rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void rooted(int way, int of, int root)
{
    const bool is_root = of == side && rank == root;
    const int as = root_of(of, root);
    int out[MOST * COUNT];
    int in[MOST * COUNT] = {0};

    for (int i = 0; i < COUNT; i++) {
        out[i] = number(side, rank, i);
    }
    EACH_WAY(Gather, gather, out, COUNT, MPI_INT, in, COUNT, MPI_INT, as, inter);
    for (int i = 0; is_root && i < theirs * COUNT; i++) {
        CHECK(in[i] == number(1 - side, i / COUNT, i % COUNT));
    }
    memset(in, 0, sizeof(in));
    EACH_WAY(Reduce, reduce, out, in, COUNT, MPI_INT, MPI_SUM, as, inter);
    for (int i = 0; i < COUNT; i++) {
        CHECK(in[i] == (is_root ? sum(1 - side, i) : 0));
    }
    for (int i = 0; i < theirs * COUNT; i++) {
        out[i] = i;
    }
    EACH_WAY(Scatter, scatter, out, COUNT, MPI_INT, in, COUNT, MPI_INT, as, inter);
    for (int i = 0; of != side && i < COUNT; i++) {
        CHECK(in[i] == rank * COUNT + i);
    }
    memcpy(in, out, sizeof(in));
    in[0] = is_root ? 77 : 0;
    EACH_WAY(Bcast, bcast, in, 1, MPI_INT, as, inter);
    CHECK(in[0] == (is_root || of != side ? 77 : 0));
}

static void to_all(int way)
{
    int out[MOST * COUNT];
    int in[MOST * COUNT];

    for (int i = 0; i < theirs; i++) {
        out[i] = number(side, rank, i);
    }
    EACH_WAY(Barrier, barrier, inter);
    EACH_WAY(Allgather, allgather, out, 1, MPI_INT, in, 1, MPI_INT, inter);
    for (int r = 0; r < theirs; r++) {
        CHECK(in[r] == number(1 - side, r, 0));
    }
    EACH_WAY(Alltoall, alltoall, out, 1, MPI_INT, in, 1, MPI_INT, inter);
    for (int r = 0; r < theirs; r++) {
        CHECK(in[r] == number(1 - side, r, rank));
    }
    EACH_WAY(Allreduce, allreduce, out, in, 1, MPI_INT, MPI_SUM, inter);
    CHECK(in[0] == sum(1 - side, 0));
}

/* Both groups divide as many elements: ours * theirs. */
static void scattered(int way)
{
    int out[MOST * MOST];
    int in[MOST];
    int counts[MOST];
    const int all = ours * theirs;

    for (int i = 0; i < all; i++) {
        out[i] = number(side, rank, i);
    }
    for (int r = 0; r < ours; r++) {
        counts[r] = theirs;
    }
    EACH_WAY(Reduce_scatter_block, reduce_scatter_block, out, in, theirs, MPI_INT,
             MPI_SUM, inter);
    for (int i = 0; i < theirs; i++) {
        CHECK(in[i] == sum(1 - side, rank * theirs + i));
    }
    memset(in, 0, sizeof(in));
    EACH_WAY(Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < theirs; i++) {
        CHECK(in[i] == sum(1 - side, rank * theirs + i));
    }
}

/* Blocks of different lengths: rank r of either group gives r + 1 numbers. */
static void sized(int way)
{
    int out[MOST * MOST];
    int in[MOST * MOST];
    int counts[MOST];
    int displs[MOST];
    int mine[MOST];
    int at[MOST];

    for (int r = 0; r < theirs; r++) {
        counts[r] = r + 1;
        displs[r] = r == 0 ? 0 : displs[r - 1] + counts[r - 1];
        mine[r] = rank + 1;
        at[r] = 0;
    }
    for (int i = 0; i <= rank; i++) {
        out[i] = number(side, rank, i);
    }
    EACH_WAY(Allgatherv, allgatherv, out, rank + 1, MPI_INT, in, counts, displs, MPI_INT,
             inter);
    for (int r = 0; r < theirs; r++) {
        for (int i = 0; i <= r; i++) {
            CHECK(in[displs[r] + i] == number(1 - side, r, i));
        }
    }
    memset(in, 0, sizeof(in));
    EACH_WAY(Alltoallv, alltoallv, out, mine, at, MPI_INT, in, counts, displs, MPI_INT,
             inter);
    for (int r = 0; r < theirs; r++) {
        for (int i = 0; i <= r; i++) {
            CHECK(in[displs[r] + i] == number(1 - side, r, i));
        }
    }
}

static void errors(void)
{
    int word = 0;
    int sums[MOST];

    CHECK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(MPI_Bcast(&word, 1, MPI_INT, theirs, inter), MPI_ERR_ROOT);
    IS_ERROR(MPI_Scan(&word, sums, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    IS_ERROR(MPI_Exscan(&word, sums, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    IS_ERROR(MPI_Allreduce(MPI_IN_PLACE, sums, 1, MPI_INT, MPI_SUM, inter),
             MPI_ERR_BUFFER);
}

static void with_groups(int first, int size, int world_rank)
{
    MPI_Comm half;

    side = world_rank < first ? 0 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side == 0 ? first : 0, 7, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &ours);
    MPI_Comm_remote_size(inter, &theirs);
    CHECK(ours + theirs == size);
    for (int way = 0; way < 3; way++) {
        to_all(way);
        scattered(way);
        sized(way);
        for (int of = 0; of < 2; of++) {
            const int ranks = of == side ? ours : theirs;

            rooted(way, of, 0);
            rooted(way, of, ranks - 1);
        }
    }
    errors();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    int world_rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int first = 1; first < size; first++) {
        with_groups(first, size, world_rank);
    }
    MPI_Finalize();
    return 0;
}
