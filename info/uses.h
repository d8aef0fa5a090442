/*
 * uses.h - which MPI functions a program or library imports, and which MPI it is linked
 * with.
 */
#ifndef WEFT_INFO_USES_H
#define WEFT_INFO_USES_H

#include "json.h"
#include "linked.h"

#include <stdbool.h>

enum { USES_MOST = 1024 };

struct uses {
    int used;          /* functions of MPI */
    int missing_count; /* of them, those that are not built yet */
    const char *missing[USES_MOST];
    int unknown_count; /* and those that are not part of the ABI */
    char *unknown[USES_MOST];
    bool has_open_mpi_symbols; /* it was compiled with Open MPI's mpi.h */
    bool is_fortran;           /* it calls MPI in Fortran */
    bool is_foreign;           /* it is linked with another MPI: */
    struct linked linked;
};

/* Reads the ELF file at `path`; false after a line on standard error. */
bool uses_read(const char *path, struct uses *uses);
void uses_close(struct uses *uses);

/* Is the program one for Weft, as it is? */
bool uses_is_for_weft(const struct uses *uses);

void uses_print(const char *path, const struct uses *uses);
void uses_write(const char *path, const struct uses *uses, struct json *json);

#endif
