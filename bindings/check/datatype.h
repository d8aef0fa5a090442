/*
 * datatype.h - argument checks of calls about datatypes: see check.h for what they
 * answer.
 */
#ifndef WEFT_CHECK_DATATYPE_H
#define WEFT_CHECK_DATATYPE_H

#include "check/check.h"
#include "datatype/array.h"

int weft_bad_type(const char *function, struct weft_comm *comm, MPI_Datatype handle);

/* A type, committed or not, which goes to *out; the world is open. */
int weft_check_type(const char *function, MPI_Datatype handle,
                    struct weft_datatype **out);

/* A type to move data with: not committed is an error. */
int weft_check_committed(const char *function, struct weft_comm *comm,
                         const struct weft_datatype *type);

/* Not negative; `name` is that of the parameter. */
int weft_check_number(const char *function, const char *name, MPI_Count number);

/* An array of `n` numbers that is there if n > 0, none of them negative. */
int weft_check_lengths(const char *function, const char *name, MPI_Count n,
                       struct weft_numbers numbers);
int weft_check_places(const char *function, const char *name, MPI_Count n,
                      struct weft_numbers numbers);

int weft_check_subarray(const char *function, int dimensions, struct weft_numbers sizes,
                        struct weft_numbers part_sizes, struct weft_numbers starts,
                        int order);
int weft_check_process_grid(const char *function, const struct weft_grid *grid);

#endif
