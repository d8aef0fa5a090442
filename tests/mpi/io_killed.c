/*
 * io_killed.c FILE write|check - ranks die in the middle of writes.
 *
 * write: all ranks write pieces of a file in turn, by collective and nonblocking
 * accesses, until rank 1 kills itself, at a moment that its clock draws. Every byte that
 * a rank writes says which place it is for. Every tenth unit is nobody's.
 *
 * check, one process: each byte of the file is the one of its place, or 0, as a hole is;
 * what is nobody's is 0.
 */
#include "check.h"

#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define DONE(call) CHECK((call) == MPI_SUCCESS)

enum { UNIT = 700, TILES = 40, ROUNDS = 100000 };

static unsigned char byte_at(long place)
{
    return (unsigned char)(1 + (place / 256 * 31 + place) % 255);
}

static int check_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    long at = 0;
    int c;

    CHECK(file != NULL);
    while ((c = getc(file)) != EOF) {
        const bool is_hole = at / UNIT % 10 == 9;

        if (c != 0 && (is_hole || c != byte_at(at))) {
            fprintf(stderr, "byte %ld is %d\n", at, c);
            return 1;
        }
        at++;
    }
    fclose(file);
    return at == 0;
}

/* The units of a tile of ten that are this rank's: those that are left over, by rank. */
static MPI_Datatype filetype_of(int rank, int size)
{
    MPI_Datatype units;
    MPI_Datatype made;
    int places[9];
    int n = 0;

    for (int u = 0; u < 9; u++) {
        if (u % size == rank) {
            places[n++] = u * UNIT;
        }
    }
    DONE(MPI_Type_create_indexed_block(n, UNIT, places, MPI_BYTE, &units));
    DONE(MPI_Type_create_resized(units, 0, 10 * UNIT, &made));
    DONE(MPI_Type_commit(&made));
    DONE(MPI_Type_free(&units));
    return made;
}

static long fill(unsigned char *buffer, int rank, int size, long first, int tiles)
{
    long n = 0;

    for (long t = first; t < first + tiles; t++) {
        for (int u = 0; u < 9; u++) {
            for (int i = 0; u % size == rank && i < UNIT; i++) {
                buffer[n++] = byte_at((t * 10 + u) * UNIT + i);
            }
        }
    }
    return n;
}

static void write_until_dead(MPI_File file, int rank, int size)
{
    unsigned char *buffer = malloc((size_t)TILES * 9 * UNIT);
    struct timespec now;
    int last;

    clock_gettime(CLOCK_MONOTONIC, &now);
    last = 5 + (int)(now.tv_nsec / 1000 % 40);
    CHECK(buffer != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        const long first = (long)(i % 20) * TILES;
        const long n = fill(buffer, rank, size, first, TILES);
        const MPI_Offset at = first * (n / TILES);
        MPI_Request request;

        if (i % 2 == 0) {
            MPI_File_iwrite_at_all(file, at, buffer, (int)n, MPI_BYTE, &request);
        } else {
            MPI_File_iwrite_at(file, at, buffer, (int)n, MPI_BYTE, &request);
        }
        if (rank == 1 && i == last) {
            kill(getpid(), SIGKILL);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    MPI_Datatype filetype;
    MPI_File file;
    int rank;
    int size;

    CHECK(argc > 2);
    if (strcmp(argv[2], "check") == 0) {
        return check_file(argv[1]);
    }
    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    DONE(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                       MPI_INFO_NULL, &file));
    filetype = filetype_of(rank, size);
    DONE(MPI_File_set_view(file, 0, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    DONE(MPI_Type_free(&filetype));
    write_until_dead(file, rank, size);
    DONE(MPI_File_close(&file));
    DONE(MPI_Finalize());
    return 0;
}
