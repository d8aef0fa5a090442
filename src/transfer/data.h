/*
 * data.h - the bytes that a message moves: a contiguous buffer, or elements of a
 * datatype.
 *
 * A description owns nothing: buffer and type belong to whoever made it, and live at
 * least as long as it is used. Offsets count packed bytes, in the order in which they
 * travel, so a part is found by its offset alone: parts may move in any order and by any
 * thread. Nothing here needs the lock, allocates or fails.
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
    uint64_t stage; /* what a peer is told in place of the buffer's address, or 0 */
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

/* Where contiguous data have the byte at `offset`. */
static inline void *weft_data_at(const struct weft_data *data, uint64_t offset)
{
    return (void *)((uintptr_t)data->buffer + (uintptr_t)offset);
}

/* Some of the data, from `offset` on. */
struct weft_data weft_data_part(const struct weft_data *data, uint64_t offset,
                                uint64_t bytes);

struct weft_cursor;

/* A cursor at the first byte of data that have a type. */
void weft_data_start_cursor(struct weft_cursor *cursor, const struct weft_data *data);

/* Copies all bytes to `to`. */
void weft_data_pack(const struct weft_data *data, void *to);

/* Copy some bytes, from `offset` on, out of the data and into them. */
void weft_data_gather(const struct weft_data *data, uint64_t offset, void *to,
                      size_t bytes);
void weft_data_scatter(const struct weft_data *data, uint64_t offset, const void *from,
                       size_t bytes);

/* The CRC32C of some bytes, from `offset` on. */
uint32_t weft_data_crc(const struct weft_data *data, uint64_t offset, uint64_t bytes);

#endif
