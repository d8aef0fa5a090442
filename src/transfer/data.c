#include "transfer/data.h"

#include "base/copy.h"
#include "datatype/cursor.h"

void weft_data_start_cursor(struct weft_cursor *cursor, const struct weft_data *data)
{
    weft_cursor_init(cursor, &data->type->layout, data->type->extent, data->count,
                     data->buffer);
    cursor->position = data->skip;
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
