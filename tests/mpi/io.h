/*
 * io.h - what the programs that read and write files share. The first argument is the
 * name of a file of the test's own, which no other program uses.
 */
#ifndef WEFT_TEST_IO_H
#define WEFT_TEST_IO_H

#include "check.h"

#include <stdbool.h>
#include <stdint.h>

#define DONE(call) CHECK((call) == MPI_SUCCESS)

enum { NAME_BYTES = 4096 };

static int rank;
static int size;
static char path[NAME_BYTES];

/* After MPI_Init. */
static inline void begin_with(int argc, char **argv)
{
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(argc > 1);
    snprintf(path, sizeof(path), "%s.data", argv[1]);
}

static inline void begin(int argc, char **argv)
{
    DONE(MPI_Init(&argc, &argv));
    begin_with(argc, argv);
}

/* A new file of all ranks, which is deleted when it is closed. */
static inline MPI_File new_file(int more)
{
    MPI_File fh = MPI_FILE_NULL;

    if (rank == 0) {
        MPI_File_delete(path, MPI_INFO_NULL); /* of a run that was killed */
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_File_open(MPI_COMM_WORLD, path,
                       MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | more, MPI_INFO_NULL,
                       &fh));
    CHECK(fh != MPI_FILE_NULL);
    return fh;
}

static inline MPI_Offset size_of(MPI_File fh)
{
    MPI_Offset bytes = -1;

    DONE(MPI_File_get_size(fh, &bytes));
    return bytes;
}

static inline int count_of(const MPI_Status *status, MPI_Datatype type)
{
    int count = -1;

    DONE(MPI_Get_count(status, type, &count));
    return count;
}

/* What one rank has written is what the others read from now on. */
static inline void sync_all(MPI_File fh)
{
    DONE(MPI_File_sync(fh));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_File_sync(fh));
}

#endif
