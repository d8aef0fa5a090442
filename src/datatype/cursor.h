/*
 * cursor.h - moves the bytes of a buffer of any datatype, in packing order.
 *
 * A cursor has a position, counted in packed bytes. Each call moves bytes from there on
 * and advances the position; a caller may also set the position. It may stop at any byte,
 * inside a basic element, too. Each call finds the memory of its position by one division
 * or binary search for each level of the layout. Several cursors may walk through one
 * buffer at once, as long as they write different bytes.
 *
 * The layout and the buffer stay the caller's, and must outlive the cursor, which needs
 * no end. No function allocates, locks or fails.
 */
#ifndef WEFT_DATATYPE_CURSOR_H
#define WEFT_DATATYPE_CURSOR_H

#include "datatype/layout.h"

#include <sys/uio.h>

struct weft_cursor {
    struct weft_piece all;     /* all elements */
    struct weft_body round;    /* one element, if elements need a level of their own */
    struct weft_piece element; /* in `round` */
    uintptr_t buffer;
    uint64_t position; /* in packed bytes */
    uint64_t end;      /* packed bytes of all elements */
};

/*
 * Sets the cursor to the start of `count` elements that lie `extent` bytes apart. The
 * cursor may point into itself: do not copy or move it.
 */
void weft_cursor_init(struct weft_cursor *cursor, const struct weft_layout *layout,
                      int64_t extent, uint64_t count, const void *buffer);

/* Packs up to `room` bytes of the buffer into `to`. Returns how many: fewer only at the
 * end of the data. */
size_t weft_cursor_pack(struct weft_cursor *cursor, void *to, size_t room);

/* Unpacks up to `length` bytes from `from` into the buffer. Returns how many: fewer only
 * at the end of the data. */
size_t weft_cursor_unpack(struct weft_cursor *cursor, const void *from, size_t length);

/*
 * Lists up to `most` contiguous blocks of memory, of at most `bytes` bytes together, and
 * advances behind them. Returns how many: none only at the end of the data. Blocks that
 * touch are listed as one.
 */
size_t weft_cursor_iov(struct weft_cursor *cursor, struct iovec *out, size_t most,
                       size_t bytes);

#endif
