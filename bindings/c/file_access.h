/*
 * file_access.h - what the calls that read and write files share.
 */
#ifndef WEFT_BINDING_FILE_ACCESS_H
#define WEFT_BINDING_FILE_ACCESS_H

#include "binding.h"

#include "check/file.h"

/* The arguments of a call, in the order of the standard. */
#define WEFT_FILE_ARGS(name, write, collective, where, at)                               \
    {                                                                                    \
        .function = (name), .file = fh, .is_write = (write),                             \
        .is_collective = (collective), .pointer = (where), .offset = (at),               \
        .buffer = buf, .count = count, .type = datatype                                  \
    }

/* Check a call and perform it; or start it, with a request; or begin a split collective
 * of this kind, as "read_all". */
int weft_file_run(const struct weft_file_args *args, MPI_Status *status);
int weft_file_start(const struct weft_file_args *args, MPI_Request *request);
int weft_file_begin(const struct weft_file_args *args, const char *kind);

/* Ends a split collective of this kind. */
int weft_file_end(const char *function, MPI_File fh, const char *kind,
                  MPI_Status *status);

#endif
