/*
 * data.h - the bytes that a message moves: a contiguous buffer, or elements of a
 * datatype.
 *
 * A description owns nothing: buffer and type belong to whoever made it, and live at
 * least as long as it is used.
 */
#ifndef WEFT_TRANSFER_DATA_H
#define WEFT_TRANSFER_DATA_H

#include "datatype/datatype.h"

#include <stddef.h>
#include <stdint.h>

struct weft_data {
    const void *buffer; /* of a receive: written to */
    size_t bytes;
    struct weft_datatype *type; /* NULL: contiguous */
    uint64_t count;
    uint64_t skip;  /* packed bytes of those elements that come before `bytes` */
    uint64_t stage; /* the transport's that has these bytes, or their list; or 0 */
    void *memory;   /* what was taken for that, or for a packed copy; or NULL */
};

/* `bytes` bytes in `count` elements at `buffer`: contiguous, if they lie in one block. */
static inline struct weft_data weft_data_of(const void *buffer, MPI_Count count,
                                            struct weft_datatype *type, size_t bytes)
{
    if (bytes == 0 || weft_datatype_is_dense(type, count)) {
        return (struct weft_data){
            .buffer = weft_datatype_data(type, buffer),
            .bytes = bytes,
        };
    }
    return (struct weft_data){
        .buffer = buffer,
        .bytes = bytes,
        .type = type,
        .count = (uint64_t)count,
    };
}

struct weft_cursor;

/* A cursor at the first byte of data that have a type. */
void weft_data_start_cursor(struct weft_cursor *cursor, const struct weft_data *data);

/* Copies all bytes, in the order in which they travel, to `to`. Needs no lock. */
void weft_data_pack(const struct weft_data *data, void *to);

#endif
