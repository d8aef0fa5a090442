/*
 * linked.h - finds the library of another MPI that a program is linked with.
 *
 * A program's file names the libraries that it is linked with. The libraries that these
 * are linked with are looked at, too, where they are found in the usual places; no
 * deeper.
 */
#ifndef WEFT_INFO_LINKED_H
#define WEFT_INFO_LINKED_H

#include <stdbool.h>

enum { LINKED_NAME = 256 };

struct linked {
    char library[LINKED_NAME]; /* of the other MPI */
    char through[LINKED_NAME]; /* the library that is linked with it; empty: none */
    const char *owner;         /* whose it is, as far as the name tells */
    bool is_fortran;           /* it has the functions for Fortran */
};

/*
 * Is the program at `path`, from `folder` on, linked with an MPI library other than
 * libmpi_abi.so? Then `linked` says which. `search` is LD_LIBRARY_PATH, or NULL. A file
 * that cannot be read is not.
 */
bool linked_with_mpi(int folder, const char *path, const char *search,
                     struct linked *linked);

#endif
