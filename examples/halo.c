/*
 * halo.c - the faces of a block in three dimensions, sent without being copied by hand.
 *
 * Each rank has a block of a periodic grid, with a layer of ghost cells around it. A cell
 * is a struct. Two derived types describe the data: one says where the members of a cell
 * are (MPI_Type_create_struct, and MPI_Type_create_resized for the gap at its end), the
 * other says which cells are a face of the block (MPI_Type_create_subarray). The tag of a
 * message is its direction: where the grid has one or two ranks along a dimension, both
 * neighbours are the same rank. The program works with any number of ranks.
 *
 *     mpicc halo.c -o halo
 *     mpiexec -n 4 ./halo
 *
 * Rank 0 prints how many of all ghost cells on faces have a wrong value:
 *
 *     2 x 2 x 1 ranks, 2368 ghost cells, 0 are wrong
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

enum { X = 8, Y = 10, Z = 12 }; /* cells of a block, without ghost cells */

struct cell {
    double value;
    int id; /* the number of the cell in the whole grid; a gap follows */
};

static const int sizes[3] = {X, Y, Z};
static struct cell cells[X + 2][Y + 2][Z + 2];

static MPI_Datatype type_of_cell(void)
{
    const int counts[2] = {1, 1};
    const MPI_Aint offsets[2] = {offsetof(struct cell, value), offsetof(struct cell, id)};
    const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype members;
    MPI_Datatype cell;

    MPI_Type_create_struct(2, counts, offsets, types, &members);
    MPI_Type_create_resized(members, 0, sizeof(struct cell), &cell);
    MPI_Type_free(&members);
    return cell;
}

/* The face of `cells` that is one layer thick and begins at `start` along `dimension`. */
static MPI_Datatype type_of_face(MPI_Datatype cell, int dimension, int start)
{
    const int all[3] = {X + 2, Y + 2, Z + 2};
    int part[3] = {X, Y, Z};
    int from[3] = {1, 1, 1};
    MPI_Datatype face;

    part[dimension] = 1;
    from[dimension] = start;
    MPI_Type_create_subarray(3, all, part, from, MPI_ORDER_C, cell, &face);
    MPI_Type_commit(&face);
    return face;
}

/* Fills the ghost cells of all six faces. */
static void exchange(MPI_Comm grid)
{
    MPI_Datatype cell = type_of_cell();
    MPI_Request requests[12];

    for (int d = 0; d < 3; d++) {
        const int n = sizes[d];
        const int ghosts[2] = {0, n + 1};
        const int own[2] = {n, 1}; /* what becomes the lower and the upper ghosts */
        int neighbours[2];

        MPI_Cart_shift(grid, d, 1, &neighbours[0], &neighbours[1]);
        for (int side = 0; side < 2; side++) {
            MPI_Datatype in = type_of_face(cell, d, ghosts[side]);
            MPI_Datatype out = type_of_face(cell, d, own[side]);
            MPI_Request *request = &requests[4 * d + 2 * side];

            MPI_Irecv(cells, 1, in, neighbours[side], 2 * d + side, grid, &request[0]);
            MPI_Isend(cells, 1, out, neighbours[1 - side], 2 * d + side, grid,
                      &request[1]);
            MPI_Type_free(&in); /* MPI keeps a type until its messages are complete */
            MPI_Type_free(&out);
        }
    }
    MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&cell);
}

/* Fills the block with ids and values, or counts ghost cells (of faces) and wrong ones.
 */
static void visit(const int *ranks, const int *block, int is_fill, int *counts)
{
    for (int i = 0; i < (X + 2) * (Y + 2) * (Z + 2); i++) {
        const int at[3] = {i / (Z + 2) / (Y + 2), i / (Z + 2) % (Y + 2), i % (Z + 2)};
        struct cell *cell = &cells[at[0]][at[1]][at[2]];
        int outside = 0; /* 1 on a face, 2 on an edge, 3 in a corner */
        int id = 0;

        for (int d = 0; d < 3; d++) {
            const int all = ranks[d] * sizes[d];

            outside += at[d] == 0 || at[d] == sizes[d] + 1;
            id = id * all + (block[d] * sizes[d] + at[d] - 1 + all) % all;
        }
        if (is_fill && outside == 0) {
            *cell = (struct cell){id / 2.0, id};
        } else if (!is_fill && outside == 1) {
            counts[0]++;
            counts[1] += cell->id != id || cell->value != id / 2.0;
        }
    }
}

int main(int argc, char **argv)
{
    const int periods[3] = {1, 1, 1};
    int ranks[3] = {0, 0, 0};
    int block[3];
    int counts[2] = {0, 0};
    int rank;
    int size;
    MPI_Comm grid;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, ranks);
    MPI_Cart_create(MPI_COMM_WORLD, 3, ranks, periods, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 3, block);
    visit(ranks, block, 1, counts);
    exchange(grid);
    visit(ranks, block, 0, counts);
    MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT, MPI_SUM, grid);
    if (rank == 0) {
        printf("%d x %d x %d ranks, %d ghost cells, %d are wrong\n", ranks[0], ranks[1],
               ranks[2], counts[0], counts[1]);
    }
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return counts[1] > 0;
}
