/*
 * error.h - a table of the error classes, with their names and texts. Needs no lock.
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
