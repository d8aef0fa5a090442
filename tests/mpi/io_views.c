/*
 * io_views.c FILE - views whose filetype is longer than its extent, so that its instances
 * interleave: the end of the file, and what atomic mode locks.
 */
#include "io.h"

#include <fcntl.h>
#include <unistd.h>

enum { ROWS = 8, BYTES = ROWS * ROWS * 4 };

/* A view that sees one column of a square matrix after the other. */
static void see_columns(MPI_File fh)
{
    MPI_Datatype column;
    MPI_Datatype tile;

    DONE(MPI_Type_vector(ROWS, 1, ROWS, MPI_INT, &column));
    DONE(MPI_Type_create_resized(column, 0, 4, &tile));
    DONE(MPI_Type_commit(&tile));
    DONE(MPI_File_set_view(fh, 0, MPI_INT, tile, "native", MPI_INFO_NULL));
    DONE(MPI_Type_free(&column));
    DONE(MPI_Type_free(&tile));
}

/* The end of the file is the first etype that begins behind its last byte. */
static void end_of_columns(MPI_File fh)
{
    MPI_Offset offset = -1;
    MPI_Offset end = -1;

    see_columns(fh);
    DONE(MPI_File_set_size(fh, BYTES));
    DONE(MPI_File_seek(fh, 0, MPI_SEEK_END));
    DONE(MPI_File_get_position(fh, &end));
    for (MPI_Offset etype = 0; etype < end; etype++) {
        DONE(MPI_File_get_byte_offset(fh, etype, &offset));
        CHECK(offset < BYTES);
    }
    DONE(MPI_File_get_byte_offset(fh, end, &offset));
    CHECK(offset >= BYTES);
    DONE(MPI_File_seek_shared(fh, 2, MPI_SEEK_END));
    DONE(MPI_File_get_position_shared(fh, &offset));
    CHECK(offset == end + 2);
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* All instances of a filetype without an extent lie at the same place: a position there
 * is found only if the first one reaches it. */
static void no_extent(MPI_File fh)
{
    MPI_Offset end = -1;
    MPI_Datatype tile;

    DONE(MPI_Type_create_resized(MPI_INT, 0, 0, &tile));
    DONE(MPI_Type_commit(&tile));
    DONE(MPI_File_set_view(fh, 0, MPI_INT, tile, "native", MPI_INFO_NULL));
    IS_ERROR(MPI_File_seek(fh, 0, MPI_SEEK_END), MPI_ERR_ARG);
    IS_ERROR(MPI_File_seek_shared(fh, 0, MPI_SEEK_END), MPI_ERR_ARG);
    DONE(MPI_File_set_view(fh, BYTES, MPI_INT, tile, "native", MPI_INFO_NULL));
    DONE(MPI_File_seek(fh, 0, MPI_SEEK_END));
    DONE(MPI_File_get_position(fh, &end));
    CHECK(end == 0);
    DONE(MPI_Type_free(&tile));
}

static void lock_int(int fd, short type, off_t at)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 4};

    CHECK(fcntl(fd, F_OFD_SETLKW, &lock) == 0);
}

static int int_at(int fd, off_t at)
{
    int value = -1;

    CHECK(pread(fd, &value, 4, at) == 4);
    return value;
}

/* A write of one column and the first element of the next one. While somebody else has
 * locked an int in the middle of the column, nothing of it is written. */
static void locks_hold(MPI_File fh)
{
    const off_t locked = BYTES / 2;
    int data[ROWS + 1];
    int fd = open(path, O_RDWR);
    MPI_Request request;

    CHECK(fd >= 0);
    for (int i = 0; i <= ROWS; i++) {
        data[i] = i + 1;
    }
    lock_int(fd, F_WRLCK, locked);
    DONE(MPI_File_iwrite_at(fh, 0, data, ROWS + 1, MPI_INT, &request));
    usleep(50000); /* a write that does not wait is over by then */
    CHECK(int_at(fd, locked) == 0);
    lock_int(fd, F_UNLCK, locked);
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(int_at(fd, locked) == ROWS / 2 + 1 && int_at(fd, 4) == ROWS + 1);
    CHECK(close(fd) == 0);
}

static void atomic_columns(MPI_File fh)
{
    see_columns(fh);
    DONE(MPI_File_set_atomicity(fh, 1));
    if (rank == 0) {
        locks_hold(fh);
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    MPI_File fh;

    begin(argc, argv);
    fh = new_file(MPI_MODE_RDWR);
    end_of_columns(fh);
    no_extent(fh);
    atomic_columns(fh);
    DONE(MPI_File_close(&fh));
    DONE(MPI_Finalize());
    return 0;
}
