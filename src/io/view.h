/*
 * view.h - which bytes of a file a process sees (MPI-5.0, 14.3), as pure functions.
 *
 * A view is a displacement and a filetype that repeats from there on. Its data are the
 * bytes of the filetype's elements, in order; a position counts them from 0, in the
 * representation of the file. From a position and a length come the extents of the file
 * that hold these data. The start of any position is found by a division and a binary
 * search for each level of the filetype's layout.
 *
 * A view keeps its types, and lives until its last reference is gone: the file has one,
 * and each operation under way. Making, keeping and releasing need the library's lock;
 * the rest needs none and does not fail.
 */
#ifndef WEFT_IO_VIEW_H
#define WEFT_IO_VIEW_H

#include "datatype/cursor.h"
#include "datatype/datatype.h"

struct weft_representation; /* representation.h */

struct weft_file_extent {
    uint64_t offset; /* from the first byte of the file */
    uint64_t length;
};

struct weft_view {
    uint32_t references;
    uint64_t displacement;
    struct weft_datatype *etype; /* as the user gave them */
    struct weft_datatype *filetype;
    struct weft_datatype *in_file; /* the filetype with the sizes it has in the file */
    uint64_t etype_bytes;          /* of one etype in the file */
    bool is_overlapping;           /* weft_view_overlaps(), as whoever makes it says */
    const struct weft_representation *representation;
};

/* Takes references to the types, which are committed; one reference of *out is the
 * caller's. `in_file` may be the filetype itself. */
WEFT_MUST_CHECK enum weft_rc weft_view_make(const struct weft_view *from,
                                            struct weft_view **out);
void weft_view_keep(struct weft_view *view);
void weft_view_release(struct weft_view *view);

/* A walk through `bytes` bytes of data from a position on. It may point into itself: do
 * not copy or move it. */
struct weft_view_walk {
    struct weft_cursor cursor;
    uint64_t left; /* bytes that are not listed yet */
};

void weft_view_start(struct weft_view_walk *walk, const struct weft_view *view,
                     uint64_t position, uint64_t bytes);

/* Lists up to `most` extents, and moves behind them. Returns how many: 0 at the end.
 * Extents that touch are listed as one. */
size_t weft_view_next(struct weft_view_walk *walk, struct weft_file_extent *out,
                      size_t most);

/* Where the byte at a position lies in the file. A filetype without data: at the
 * displacement. */
uint64_t weft_view_offset(const struct weft_view *view, uint64_t position);

/* The first etype, as a number, that begins at `offset` or behind it. There is none if
 * the filetype has data and an extent of 0. */
#define WEFT_VIEW_NO_ETYPE UINT64_MAX
uint64_t weft_view_etype_at(const struct weft_view *view, uint64_t offset);

/* Does a block of the filetype begin before the end of the one before it? Looks at all
 * blocks. */
bool weft_view_overlaps(const struct weft_view *view);

/*
 * The part of the file from the lowest to the highest of these bytes. They need not be
 * the first and the last in the order of the data: instances of a filetype that is longer
 * than its extent interleave. With blocks that overlap it may be longer.
 */
struct weft_file_extent weft_view_range(const struct weft_view *view, uint64_t position,
                                        uint64_t bytes);

/* Can `bytes` bytes from an etype on be named by a file offset? *position is that of the
 * etype. */
bool weft_view_is_within(const struct weft_view *view, uint64_t etype, uint64_t bytes,
                         uint64_t *position);

/* Are the data of the view one block, whatever their length? */
static inline bool weft_view_is_contiguous(const struct weft_view *view)
{
    return view->in_file->is_contiguous;
}

#endif
