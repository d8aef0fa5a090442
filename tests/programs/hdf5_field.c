/*
 * hdf5_field.c - a field in an HDF5 file: written by n ranks, read by m.
 *
 *     hdf5_field write FILE    blocks of rows, one collective write; then an attribute
 * and a chunked data set of columns, each rank for itself hdf5_field read FILE     blocks
 * of columns, one collective read; every cell is checked
 *
 * Rank 0 prints "N of N cells are right"; the exit code is 1 if one is wrong.
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 240, COLUMNS = 180, STEP = 17 };

static int rank, ranks;

static void must(int is_good, const char *what)
{
    if (is_good)
        return;
    fprintf(stderr, "rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int value_of(const char *name, hsize_t row, hsize_t column)
{
    return (int)(row * COLUMNS + column) + (strcmp(name, "chunked") == 0 ? 1000000 : 0);
}

/* The cells that are this rank's if `dimension` is divided. */
static void my_block(int dimension, hsize_t first[2], hsize_t size[2])
{
    const hsize_t field[2] = {ROWS, COLUMNS};
    const hsize_t all = field[dimension];

    first[0] = first[1] = 0;
    size[0] = ROWS;
    size[1] = COLUMNS;
    first[dimension] = all * (hsize_t)rank / (hsize_t)ranks;
    size[dimension] = all * ((hsize_t)rank + 1) / (hsize_t)ranks - first[dimension];
}

static hid_t transfer(H5FD_mpio_xfer_t kind)
{
    const hid_t list = H5Pcreate(H5P_DATASET_XFER);

    must(list >= 0 && H5Pset_dxpl_mpio(list, kind) >= 0, "H5Pset_dxpl_mpio");
    return list;
}

/* Moves this rank's block between `set` and `cells`, in one call. */
static void move(hid_t set, int dimension, H5FD_mpio_xfer_t kind, int *cells,
                 int is_write)
{
    hsize_t first[2], size[2];
    const hid_t list = transfer(kind);
    const hid_t space = H5Dget_space(set);
    herr_t err;

    my_block(dimension, first, size);
    const hid_t memory = H5Screate_simple(2, size, NULL);
    must(memory >= 0, "H5Screate_simple");
    err = H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, size, NULL);
    must(err >= 0, "H5Sselect_hyperslab");
    if (is_write)
        err = H5Dwrite(set, H5T_NATIVE_INT, memory, space, list, cells);
    else
        err = H5Dread(set, H5T_NATIVE_INT, memory, space, list, cells);
    must(err >= 0, is_write ? "H5Dwrite" : "H5Dread");
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(list);
}

static void write_set(hid_t file, const char *name, int dimension, H5FD_mpio_xfer_t kind)
{
    const hsize_t field[2] = {ROWS, COLUMNS}, chunk[2] = {32, 25};
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(2, field, NULL);
    hsize_t first[2], size[2];

    const int is_chunked = strcmp(name, "chunked") == 0;

    if (is_chunked)
        must(H5Pset_chunk(list, 2, chunk) >= 0, "H5Pset_chunk");
    const hid_t set = H5Dcreate2(file, name, is_chunked ? H5T_STD_I32BE : H5T_NATIVE_INT,
                                 space, H5P_DEFAULT, list, H5P_DEFAULT);
    must(set >= 0, "H5Dcreate");
    my_block(dimension, first, size);
    int *cells = malloc(size[0] * size[1] * sizeof(*cells) + 1);
    must(cells != NULL, "malloc");
    for (hsize_t row = 0; row < size[0]; row++)
        for (hsize_t column = 0; column < size[1]; column++)
            cells[row * size[1] + column] =
                value_of(name, first[0] + row, first[1] + column);
    move(set, dimension, kind, cells, 1);
    free(cells);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
}

static long read_set(hid_t file, const char *name, int dimension, H5FD_mpio_xfer_t kind)
{
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    hsize_t first[2], size[2];
    long right = 0;

    must(set >= 0, "H5Dopen");
    my_block(dimension, first, size);
    int *cells = calloc(size[0] * size[1] + 1, sizeof(*cells));
    must(cells != NULL, "calloc");
    move(set, dimension, kind, cells, 0);
    for (hsize_t row = 0; row < size[0]; row++)
        for (hsize_t column = 0; column < size[1]; column++)
            right += cells[row * size[1] + column] ==
                     value_of(name, first[0] + row, first[1] + column);
    free(cells);
    H5Dclose(set);
    return right;
}

static void write_all(hid_t file)
{
    const int step = STEP;

    write_set(file, "plain", 0, H5FD_MPIO_COLLECTIVE);
    write_set(file, "chunked", 1, H5FD_MPIO_INDEPENDENT);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute =
        H5Acreate2(file, "step", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    must(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT, &step) >= 0, "H5Awrite");
    H5Aclose(attribute);
    H5Sclose(space);
}

static int read_all(hid_t file)
{
    const long cells = 2L * ROWS * COLUMNS;
    const hid_t attribute = H5Aopen(file, "step", H5P_DEFAULT);
    int step = 0;
    long right;

    must(attribute >= 0 && H5Aread(attribute, H5T_NATIVE_INT, &step) >= 0, "H5Aread");
    H5Aclose(attribute);
    must(step == STEP, "the attribute's check");
    right = read_set(file, "plain", 1, H5FD_MPIO_COLLECTIVE);
    right += read_set(file, "chunked", 0, H5FD_MPIO_COLLECTIVE);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld of %ld cells are right\n", right, cells);
    return right == cells ? 0 : 1;
}

int main(int argc, char **argv)
{
    int code = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(argc == 3, "the usage (write or read, and a file)");
    const int is_write = strcmp(argv[1], "write") == 0;
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    must(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
    const hid_t file = is_write ? H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, list)
                                : H5Fopen(argv[2], H5F_ACC_RDONLY, list);
    must(file >= 0, "opening the file");
    if (is_write)
        write_all(file);
    else
        code = read_all(file);
    must(H5Fclose(file) >= 0, "H5Fclose");
    H5Pclose(list);
    MPI_Finalize();
    return code;
}
