#include "sched/span.h"

#include "datatype/cursor.h"

#include <assert.h>
#include <string.h>

enum { BOUNCE = 4096 };

/* The bytes of a receive's weft_data, which are written to. */
static char *written(const struct weft_data *data)
{
    return (char *)(uintptr_t)data->buffer;
}

static void copy_typed(const struct weft_data *from, const struct weft_data *to)
{
    char bounce[BOUNCE];
    struct weft_cursor in;
    struct weft_cursor out;

    weft_data_start_cursor(&in, from);
    weft_data_start_cursor(&out, to);
    for (size_t done = 0; done < from->bytes; done += BOUNCE) {
        const size_t left = from->bytes - done;
        const size_t bytes = left < BOUNCE ? left : BOUNCE;

        weft_cursor_pack(&in, bounce, bytes);
        weft_cursor_unpack(&out, bounce, bytes);
    }
}

void weft_span_copy(const struct weft_data *from, const struct weft_data *to)
{
    struct weft_cursor cursor;

    assert(from->bytes == to->bytes);
    if (from->bytes == 0) {
        return;
    }
    if (from->type == NULL && to->type == NULL) {
        memcpy(written(to), from->buffer, from->bytes);
    } else if (to->type == NULL) {
        weft_data_pack(from, written(to));
    } else if (from->type == NULL) {
        weft_data_start_cursor(&cursor, to);
        weft_cursor_unpack(&cursor, from->buffer, from->bytes);
    } else {
        copy_typed(from, to);
    }
}

struct weft_data weft_span_piece(const struct weft_data *data, size_t at, size_t bytes)
{
    struct weft_data piece = *data;

    assert(at + bytes <= data->bytes);
    piece.bytes = bytes;
    if (data->type == NULL) {
        piece.buffer = (const char *)data->buffer + at;
    } else {
        piece.skip += at;
    }
    return piece;
}
