/*
 * field.c - a field of two dimensions in one file, written by n ranks and read by m.
 *
 * The file holds the field row by row, whatever the number of ranks. A file view
 * (MPI_File_set_view with a subarray type) tells MPI which block of the field a rank has,
 * and all ranks write or read together. Without arguments, the program writes and reads
 * field.bin. It works with any number of ranks.
 *
 *     mpicc field.c -o field
 *     mpiexec -n 6 ./field write FILE
 *     mpiexec -n 4 ./field read FILE
 *
 * Rank 0 prints how many of the cells read differ from those written:
 *
 *     0 cells are wrong
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1200, COLUMNS = 900 };

/* The rows and columns of one rank. */
struct block {
    int sizes[2];
    int first[2];
};

/* Sets the size and the beginning of one of `parts` parts of `cells`. */
static void share(int cells, int parts, int part, int *size, int *first)
{
    *first = cells * part / parts;
    *size = cells * (part + 1) / parts - *first;
}

static struct block block_of(MPI_Comm comm)
{
    int grid[2] = {0, 0};
    struct block block;
    int rank;
    int ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Dims_create(ranks, 2, grid);
    share(ROWS, grid[0], rank / grid[1], &block.sizes[0], &block.first[0]);
    share(COLUMNS, grid[1], rank % grid[1], &block.sizes[1], &block.first[1]);
    return block;
}

static double value_at(int row, int column)
{
    return row + column / 10000.0;
}

/* By default, errors of files do not end the program: MPI returns them. */
static void check(int err, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (err != MPI_SUCCESS) {
        MPI_Error_string(err, text, &length);
        fprintf(stderr, "%s: %s\n", what, text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Opens the file, with a view that contains the cells of the block only. */
static MPI_File open_field(const char *name, int mode, const struct block *block)
{
    const int field[2] = {ROWS, COLUMNS};
    MPI_Datatype cells;
    MPI_File file;

    check(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file), name);
    if (block->sizes[0] > 0 && block->sizes[1] > 0) {
        MPI_Type_create_subarray(2, field, block->sizes, block->first, MPI_ORDER_C,
                                 MPI_DOUBLE, &cells);
    } else {
        MPI_Type_contiguous(1, MPI_DOUBLE, &cells); /* more ranks than cells */
    }
    MPI_Type_commit(&cells);
    check(MPI_File_set_view(file, 0, MPI_DOUBLE, cells, "native", MPI_INFO_NULL), "view");
    MPI_Type_free(&cells);
    return file;
}

static void write_field(const char *name, const struct block *block, double *cells,
                        int count)
{
    MPI_File file = open_field(name, MPI_MODE_CREATE | MPI_MODE_WRONLY, block);

    for (int i = 0; i < count; i++) {
        cells[i] = value_at(block->first[0] + i / block->sizes[1],
                            block->first[1] + i % block->sizes[1]);
    }
    check(MPI_File_write_all(file, cells, count, MPI_DOUBLE, MPI_STATUS_IGNORE), "write");
    check(MPI_File_close(&file), "close");
}

/* Returns how many cells are wrong. */
static int read_field(const char *name, const struct block *block, double *cells,
                      int count)
{
    MPI_File file = open_field(name, MPI_MODE_RDONLY, block);
    MPI_Status status;
    int got;
    int wrong = 0;

    check(MPI_File_read_all(file, cells, count, MPI_DOUBLE, &status), "read");
    check(MPI_File_close(&file), "close");
    MPI_Get_count(&status, MPI_DOUBLE, &got);
    for (int i = 0; i < got; i++) {
        wrong += cells[i] != value_at(block->first[0] + i / block->sizes[1],
                                      block->first[1] + i % block->sizes[1]);
    }
    return wrong + (count - got);
}

int main(int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : "field.bin";
    struct block block;
    double *cells;
    int count;
    int wrong = 0;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    block = block_of(MPI_COMM_WORLD);
    count = block.sizes[0] * block.sizes[1];
    cells = malloc((size_t)(count > 0 ? count : 1) * sizeof(*cells));
    check(cells != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM, "cells");
    if (argc < 2 || strcmp(argv[1], "read") != 0) {
        write_field(name, &block, cells, count);
    }
    if (argc < 2 || strcmp(argv[1], "write") != 0) {
        wrong = read_field(name, &block, cells, count);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d cells are wrong\n", wrong);
    }
    free(cells);
    MPI_Finalize();
    return wrong > 0;
}
