#include "transfer/data.h"

#include "base/copy.h"
#include "base/crc32c.h"
#include "datatype/cursor.h"

#include <string.h>

struct weft_data weft_data_part(const struct weft_data *data, uint64_t offset,
                                uint64_t bytes)
{
    if (data->type == NULL) {
        return (struct weft_data){
            .buffer = weft_data_at(data, offset),
            .bytes = (size_t)bytes,
        };
    }
    return (struct weft_data){
        .buffer = data->buffer,
        .bytes = (size_t)bytes,
        .type = data->type,
        .count = data->count,
        .skip = data->skip + offset,
    };
}

void weft_data_start_cursor(struct weft_cursor *cursor, const struct weft_data *data)
{
    weft_cursor_init(cursor, &data->type->layout, data->type->extent, data->count,
                     data->buffer);
    cursor->position = data->skip;
}

/* A cursor at the byte at `offset`. */
static void start_at(struct weft_cursor *cursor, const struct weft_data *data,
                     uint64_t offset)
{
    weft_data_start_cursor(cursor, data);
    cursor->position += offset;
}

void weft_data_pack(const struct weft_data *data, void *to)
{
    struct weft_cursor cursor;

    if (data->type == NULL) {
        weft_copy(to, data->buffer, data->bytes);
        return;
    }
    weft_data_start_cursor(&cursor, data);
    weft_cursor_pack(&cursor, to, data->bytes);
}

void weft_data_gather(const struct weft_data *data, uint64_t offset, void *to,
                      size_t bytes)
{
    struct weft_cursor cursor;

    if (data->type == NULL) {
        memcpy(to, weft_data_at(data, offset), bytes);
        return;
    }
    start_at(&cursor, data, offset);
    weft_cursor_pack(&cursor, to, bytes);
}

void weft_data_scatter(const struct weft_data *data, uint64_t offset, const void *from,
                       size_t bytes)
{
    struct weft_cursor cursor;

    if (data->type == NULL) {
        memcpy(weft_data_at(data, offset), from, bytes);
        return;
    }
    start_at(&cursor, data, offset);
    weft_cursor_unpack(&cursor, from, bytes);
}

uint32_t weft_data_crc(const struct weft_data *data, uint64_t offset, uint64_t bytes)
{
    struct weft_cursor cursor;
    uint8_t part[4096];
    uint32_t crc = 0;

    if (data->type == NULL) {
        return weft_crc32c(weft_data_at(data, offset), (size_t)bytes);
    }
    start_at(&cursor, data, offset);
    while (bytes > 0) {
        const size_t n = bytes < sizeof(part) ? (size_t)bytes : sizeof(part);

        weft_cursor_pack(&cursor, part, n);
        crc = weft_crc32c_more(crc, part, n);
        bytes -= n;
    }
    return crc;
}
