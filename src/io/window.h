/*
 * window.h - an aggregator's work on one window of the file: bytes between the file and
 * the memory of several sources, where a list of pieces says which byte belongs where.
 *
 * Large pieces go straight between file and memory, several in one call of the system
 * where they touch. Small ones pass a buffer as large as the window. A write never
 * touches bytes of the file that no source has: holes stay as they are.
 *
 * It blocks as long as the file system does, and needs no lock.
 */
#ifndef WEFT_IO_WINDOW_H
#define WEFT_IO_WINDOW_H

#include "io/access.h"
#include "io/pieces.h"
#include "io/plan.h"

enum { WEFT_IO_SMALL_PIECE = 512 }; /* bytes on average, below which a buffer pays */

/* One source of a window; the lists and the memory stay the caller's. */
struct weft_io_supply {
    const struct weft_io_run *run;
    uint64_t runs;
    struct weft_data data; /* of all its pieces in the window, in order */
};

/*
 * Moves all bytes of the window. `moved` is as in access.h: once it has a fault, or a
 * read has met the end of the file, nothing more is done. `moved->at` is then the first
 * byte of the file that was not moved; all pieces below it were.
 */
void weft_io_window_move(const struct weft_access *access, struct weft_io_range range,
                         const struct weft_io_supply *supply, int sources,
                         struct weft_moved *moved);

#endif
