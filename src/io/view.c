#include "io/view.h"

#include <assert.h>
#include <stdlib.h>

enum { BATCH = 64 };

enum weft_rc weft_view_make(const struct weft_view *from, struct weft_view **out)
{
    struct weft_view *view = malloc(sizeof(*view));

    if (view == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *view = *from;
    view->references = 1;
    weft_datatype_keep(view->etype);
    weft_datatype_keep(view->filetype);
    weft_datatype_keep(view->in_file);
    *out = view;
    return WEFT_OK;
}

void weft_view_keep(struct weft_view *view)
{
    view->references++;
}

void weft_view_release(struct weft_view *view)
{
    assert(view->references > 0);
    if (--view->references == 0) {
        weft_datatype_release(view->etype);
        weft_datatype_release(view->filetype);
        weft_datatype_release(view->in_file);
        free(view);
    }
}

void weft_view_start(struct weft_view_walk *walk, const struct weft_view *view,
                     uint64_t position, uint64_t bytes)
{
    const struct weft_datatype *type = view->in_file;

    walk->left = type->size > 0 ? bytes : 0;
    if (walk->left > 0) {
        /* One instance more than is needed does no harm. */
        weft_cursor_init(&walk->cursor, &type->layout, type->extent,
                         (position + bytes) / type->size + 1,
                         (const void *)(uintptr_t)view->displacement);
        walk->cursor.position = position;
    }
}

size_t weft_view_next(struct weft_view_walk *walk, struct weft_file_extent *out,
                      size_t most)
{
    struct iovec blocks[BATCH];
    size_t n;

    if (walk->left == 0) {
        return 0;
    }
    n = weft_cursor_iov(&walk->cursor, blocks, most < BATCH ? most : BATCH, walk->left);
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct weft_file_extent){
            .offset = (uint64_t)(uintptr_t)blocks[i].iov_base,
            .length = blocks[i].iov_len,
        };
        walk->left -= blocks[i].iov_len;
    }
    return n;
}

uint64_t weft_view_offset(const struct weft_view *view, uint64_t position)
{
    struct weft_file_extent first = {.offset = view->displacement};
    struct weft_view_walk walk;

    weft_view_start(&walk, view, position, 1);
    (void)weft_view_next(&walk, &first, 1);
    return first.offset;
}

bool weft_view_is_within(const struct weft_view *view, uint64_t etype, uint64_t bytes,
                         uint64_t *position)
{
    const struct weft_datatype *type = view->in_file;
    const uint64_t size = type->size > 0 ? type->size : 1;
    int64_t reach;
    uint64_t end;

    if (__builtin_mul_overflow(etype, view->etype_bytes, position) ||
        __builtin_add_overflow(*position, bytes, &end) ||
        __builtin_mul_overflow(end / size + 1, (uint64_t)type->extent, &end)) {
        return false;
    }
    return !__builtin_add_overflow(view->displacement, end, &end) &&
           !__builtin_add_overflow(end, (uint64_t)type->true_extent, &reach);
}

/* Instances of the filetype may interleave, so offsets ascend only within one of them. */
uint64_t weft_view_etype_at(const struct weft_view *view, uint64_t offset)
{
    const struct weft_datatype *type = view->in_file;
    uint64_t instance = 0;
    uint64_t last;
    uint64_t low;
    uint64_t high;

    if (type->size == 0 || offset <= view->displacement || view->etype_bytes == 0) {
        return 0;
    }
    last = weft_view_offset(view, type->size - view->etype_bytes);
    if (last < offset && type->extent == 0) {
        return WEFT_VIEW_NO_ETYPE;
    }
    if (last < offset) { /* the first instance whose last etype is far enough behind */
        const uint64_t extent = (uint64_t)type->extent;

        instance = (offset - last - 1) / extent + 1;
    }
    low = instance * (type->size / view->etype_bytes);
    high = low + type->size / view->etype_bytes - 1;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (weft_view_offset(view, middle * view->etype_bytes) >= offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* ---- what an access spans ---- */

bool weft_view_overlaps(const struct weft_view *view)
{
    struct weft_file_extent extents[BATCH];
    struct weft_view_walk walk;
    uint64_t end = 0;
    size_t n;

    weft_view_start(&walk, view, 0, view->in_file->size);
    while ((n = weft_view_next(&walk, extents, BATCH)) > 0) {
        for (size_t i = 0; i < n; i++) {
            if (extents[i].offset < end) {
                return true;
            }
            end = extents[i].offset + extents[i].length;
        }
    }
    return false;
}

/* Where the first byte of an instance lies, if it has all its bytes. */
static uint64_t start_of(const struct weft_view *view, uint64_t instance)
{
    const struct weft_datatype *type = view->in_file;

    return view->displacement + instance * (uint64_t)type->extent +
           (uint64_t)type->true_lb;
}

static uint64_t end_of(const struct weft_view *view, uint64_t instance)
{
    return start_of(view, instance) + (uint64_t)view->in_file->true_extent;
}

struct weft_file_extent weft_view_range(const struct weft_view *view, uint64_t position,
                                        uint64_t bytes)
{
    const uint64_t size = view->in_file->size;
    uint64_t start = weft_view_offset(view, position);
    uint64_t end = start;

    if (size > 0 && bytes > 0) {
        const uint64_t first = position / size;
        const uint64_t last = (position + bytes - 1) / size;

        end = weft_view_offset(view, position + bytes - 1) + 1;
        if (first < last && start_of(view, first + 1) < start) {
            start = start_of(view, first + 1);
        }
        if (first < last && end_of(view, last - 1) > end) {
            end = end_of(view, last - 1);
        }
        if (view->is_overlapping) {
            start = start_of(view, first) < start ? start_of(view, first) : start;
            end = end_of(view, last) > end ? end_of(view, last) : end;
        }
    }
    return (struct weft_file_extent){.offset = start, .length = end - start};
}
