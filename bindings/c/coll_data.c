#include "coll_data.h"

#include "datatype/cursor.h"

#include <stdlib.h>

static void start(struct weft_cursor *cursor, const struct weft_coll_data *side)
{
    const struct weft_datatype *type = side->blocks->type;

    weft_cursor_init(cursor, &type->layout, type->extent, side->elements,
                     side->blocks->buffer);
}

enum weft_rc weft_coll_data_open(struct weft_coll_data *side,
                                 const struct weft_blocks *blocks, int ranks)
{
    const struct weft_datatype *type = blocks->type;
    struct weft_cursor cursor;
    size_t bytes;

    *side = (struct weft_coll_data){.blocks = blocks};
    side->data = (void *)(uintptr_t)blocks->buffer;
    if (blocks->buffer == MPI_IN_PLACE || type == NULL) { /* or it does not matter here */
        return WEFT_OK;
    }
    side->elements =
        (uint64_t)blocks->count * (blocks->is_for_each ? (unsigned)ranks : 1u);
    bytes = side->elements * type->size;
    if (bytes == 0 || weft_datatype_is_dense(type, (MPI_Count)side->elements)) {
        side->data = weft_datatype_data(type, blocks->buffer);
        return WEFT_OK;
    }
    side->copy = malloc(bytes);
    if (side->copy == NULL) {
        return WEFT_ERR_NOMEM;
    }
    side->data = side->copy;
    /* Also where only results are expected: what nobody sends stays as it is. */
    start(&cursor, side);
    weft_cursor_pack(&cursor, side->copy, bytes);
    return WEFT_OK;
}

void weft_coll_data_close(struct weft_coll_data *side, bool has_result)
{
    if (side->copy != NULL && has_result) {
        struct weft_cursor cursor;

        start(&cursor, side);
        weft_cursor_unpack(&cursor, side->copy,
                           side->elements * side->blocks->type->size);
    }
    free(side->copy);
    side->copy = NULL;
}
