/*
 * error.h - the error classes, their names and what they mean, in one table.
 */
#ifndef WEFT_CORE_ERROR_H
#define WEFT_CORE_ERROR_H

struct weft_error_row {
    int class;
    const char *name;    /* "MPI_ERR_RANK" */
    const char *meaning; /* a clause in lower case */
};

/* The row of a class, or NULL where the standard knows none. */
const struct weft_error_row *weft_error_row(int class);

#endif
