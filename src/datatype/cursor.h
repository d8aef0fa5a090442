/*
 * cursor.h - walking through the bytes of a buffer of some datatype, in packing order.
 *
 * A cursor stands at a byte and can stop and go on at any, forwards or by a jump; it is a
 * position and a piece, and costs nothing to make or to forget. What it moves in one call
 * is found from its position alone: a division or a search for each level of the layout.
 * Several cursors may walk one buffer at once, as long as they write different bytes.
 *
 * The caller keeps the layout and the buffer. Nothing here allocates, locks or fails.
 */
#ifndef WEFT_DATATYPE_CURSOR_H
#define WEFT_DATATYPE_CURSOR_H

#include "datatype/layout.h"

#include <sys/uio.h>

struct weft_cursor {
    struct weft_piece all;  /* all elements */
    struct weft_body round; /* an element, where all of them need a level of their own */
    struct weft_piece element;
    uintptr_t buffer;
    uint64_t position; /* packed bytes before it */
    uint64_t end;
};

/*
 * At the start of `count` elements, `extent` bytes apart. Not to be copied or moved: it
 * may point into itself.
 */
void weft_cursor_init(struct weft_cursor *cursor, const struct weft_layout *layout,
                      int64_t extent, uint64_t count, const void *buffer);

/* At most `room` bytes from the buffer to `to`; how many. Only at the end less. */
size_t weft_cursor_pack(struct weft_cursor *cursor, void *to, size_t room);

/* The other way. */
size_t weft_cursor_unpack(struct weft_cursor *cursor, const void *from, size_t length);

/*
 * At most `most` contiguous blocks of memory, of together at most `bytes` bytes, and
 * steps behind them; how many. Neighbours are one. Only at the end none.
 */
size_t weft_cursor_vectors(struct weft_cursor *cursor, struct iovec *out, size_t most,
                           size_t bytes);

#endif
