/*
 * coll.h - what the programs about collectives share: the sizes and types they run with,
 * and bytes that tell whose they are.
 */
#ifndef WEFT_TEST_COLL_H
#define WEFT_TEST_COLL_H

#include "check.h"

#include <stdbool.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { GUARD = 64 }; /* bytes behind every buffer, which nobody may touch */

static const int counts[] = {0, 1, 3, 1000, 20000};

static const struct type_row {
    MPI_Datatype type;
    size_t width;
} types[] = {
    {MPI_BYTE, 1},
    {MPI_SHORT, sizeof(short)},
    {MPI_DOUBLE, sizeof(double)},
    {MPI_2INT, 2 * sizeof(int)},
};

static int rank;
static int size;
static int call; /* counts the calls, so that no two of them carry the same bytes */

static inline void begin(int *argc, char ***argv)
{
    CHECK(MPI_Init(argc, argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
}

/* Errors come back as classes, on both predefined communicators. */
static inline void return_errors(void)
{
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

static inline unsigned char byte_of(int who, size_t at)
{
    return (unsigned char)((size_t)call * 101 + (size_t)who * 37 + at * 7 + (at >> 8));
}

static inline void fill(unsigned char *to, size_t bytes, int who)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = byte_of(who, i);
    }
}

static inline bool is_from(const unsigned char *buffer, size_t bytes, int who)
{
    for (size_t i = 0; i < bytes; i++) {
        if (buffer[i] != byte_of(who, i)) {
            return false;
        }
    }
    return true;
}

/* Memory with a guard behind it, all of it spoilt. */
static inline unsigned char *make_buffer(size_t bytes)
{
    unsigned char *buffer = malloc(bytes + GUARD);

    CHECK(buffer != NULL);
    memset(buffer, 0xa5, bytes + GUARD);
    return buffer;
}

static inline void free_buffer(unsigned char *buffer, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++) {
        CHECK(buffer[bytes + i] == 0xa5);
    }
    free(buffer);
}

#endif
