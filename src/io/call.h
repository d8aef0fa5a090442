/*
 * call.h - a read or write as the program has called it; checked in bindings/.
 */
#ifndef WEFT_IO_CALL_H
#define WEFT_IO_CALL_H

#include "io/file.h"

struct weft_file_call {
    const char *name; /* of the MPI function; a constant */
    struct weft_file *file;
    /* View and hints of the file when the call begins: another call may change the
     * file's while this one is under way. */
    struct weft_view *view; /* a reference of the call's, from its start to its end */
    struct weft_file_hints hints;
    bool is_atomic;
    bool is_write;
    uint64_t position;  /* of the first byte, in the data of the view */
    const void *buffer; /* the user's, with `count` elements of `type`, which is kept */
    MPI_Count count;    /* from the start of the call to its end */
    struct weft_datatype *type;
    struct weft_data data; /* what moves: the user's memory, or `staging` */
    void *staging;         /* converted data, or NULL */
    int fault;             /* it moves nothing; a call of all members still takes part */
};

/* Returns how a call reads or writes: descriptor, direction, and whether it may sieve. */
static inline struct weft_access weft_call_access(const struct weft_file_call *call)
{
    return (struct weft_access){
        .ops = call->file->ops,
        .fd = call->file->fd,
        .is_write = call->is_write,
        .may_sieve = !call->is_write && call->hints.ds_read != WEFT_CHOICE_DISABLE,
    };
}

#endif
