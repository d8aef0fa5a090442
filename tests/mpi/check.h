/*
 * check.h - what the MPI programs in this folder share.
 *
 * CHECK ends the job with a line that says where and on which rank; IS_ERROR checks the
 * class that a call returns.
 */
#ifndef WEFT_TEST_CHECK_H
#define WEFT_TEST_CHECK_H

#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(claim)                                                                     \
    do {                                                                                 \
        if (!(claim)) {                                                                  \
            fail(__FILE__, __LINE__, #claim);                                            \
        }                                                                                \
    } while (0)

#define IS_ERROR(call, class) CHECK((call) == (class))

static inline void fail(const char *file, int line, const char *claim)
{
    int is_open = 0;
    int is_closed = 0;
    int rank = -1;

    PMPI_Initialized(&is_open);
    PMPI_Finalized(&is_closed);
    if (is_open && !is_closed) {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    fprintf(stderr, "%s:%d: rank %d: not so: %s\n", file, line, rank, claim);
    if (is_open && !is_closed) {
        PMPI_Abort(MPI_COMM_WORLD, 99);
    }
    exit(99);
}

#endif
