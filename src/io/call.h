/*
 * call.h - a read or write as the program has called it; checked in bindings/.
 */
#ifndef WEFT_IO_CALL_H
#define WEFT_IO_CALL_H

#include "io/file.h"

struct weft_file_call {
    const char *name; /* of the MPI function; a constant */
    struct weft_file *file;
    struct weft_view *view; /* a reference of the call's, from its start to its end */
    bool is_write;
    uint64_t position;  /* of the first byte, in the data of the view */
    const void *buffer; /* the user's, with `count` elements of `type`, which is kept */
    MPI_Count count;    /* from the start of the call to its end */
    struct weft_datatype *type;
    struct weft_data data; /* what moves: the user's memory, or `staging` */
    void *staging;         /* converted data, or NULL */
    int fault;             /* it moves nothing; a call of all members still takes part */
};

#endif
