#include "io/pieces.h"

#include <stdlib.h>

/* ---- lists ---- */

void weft_io_runs_free(struct weft_io_runs *runs)
{
    free(runs->run);
    *runs = (struct weft_io_runs){0};
}

static bool has_room(struct weft_io_runs *runs)
{
    const size_t room = runs->room > 0 ? 2 * runs->room : 16;
    struct weft_io_run *run;

    if (runs->count < runs->room) {
        return true;
    }
    run = reallocarray(runs->run, room, sizeof(*run));
    if (run == NULL) {
        runs->rc = WEFT_ERR_NOMEM;
        return false;
    }
    runs->run = run;
    runs->room = room;
    return true;
}

/* Does a piece join this run? */
static bool join(struct weft_io_run *last, uint64_t offset, uint64_t bytes)
{
    if (last->count == 1 && offset == last->offset + last->bytes) {
        last->bytes += bytes;
        return true;
    }
    if (last->bytes != bytes || offset <= last->offset) {
        return false;
    }
    if (last->count == 1) {
        last->stride = offset - last->offset;
    } else if (offset != last->offset + last->count * last->stride) {
        return false;
    }
    last->count++;
    return true;
}

void weft_io_runs_add(struct weft_io_runs *runs, size_t least, uint64_t offset,
                      uint64_t bytes)
{
    if (bytes == 0 || runs->rc != WEFT_OK) {
        return;
    }
    if (runs->count > least && join(&runs->run[runs->count - 1], offset, bytes)) {
        return;
    }
    if (has_room(runs)) {
        runs->run[runs->count++] =
            (struct weft_io_run){.offset = offset, .bytes = bytes, .count = 1};
    }
}

/* The byte behind the last piece of a run that lies between `start` and `end`, or 0. */
static uint64_t end_of_run(const struct weft_io_run *run, uint64_t start, uint64_t end)
{
    const bool is_one = run->count == 1;

    if (run->count == 0 || run->bytes == 0 || run->offset < start || run->offset >= end ||
        run->bytes > end - run->offset || (!is_one && run->stride == 0)) {
        return 0;
    }
    if (!is_one && run->count - 1 > (end - run->offset - run->bytes) / run->stride) {
        return 0;
    }
    return run->offset + (run->count - 1) * run->stride + run->bytes;
}

bool weft_io_runs_are_valid(const struct weft_io_run *run, size_t count, uint64_t start,
                            uint64_t end, uint64_t bytes)
{
    uint64_t before = start;
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        const uint64_t behind = end_of_run(&run[i], start, end);

        if (behind == 0 || run[i].offset < before ||
            run[i].bytes > (UINT64_MAX - sum) / run[i].count) {
            return false;
        }
        sum += run[i].bytes * run[i].count;
        before = behind - run[i].bytes;
    }
    return sum == bytes;
}

/* ---- merging ---- */

static uint64_t offset_of(const struct weft_io_source *source)
{
    return source->run->offset + source->index * source->run->stride;
}

static bool is_before(const struct weft_io_merge *merge, int a, int b)
{
    const uint64_t left = offset_of(&merge->source[a]);
    const uint64_t right = offset_of(&merge->source[b]);

    return left != right ? left < right : a < b;
}

static void sink(struct weft_io_merge *merge, int at)
{
    const int source = merge->heap[at];

    for (;;) {
        int child = 2 * at + 1;

        if (child + 1 < merge->left &&
            is_before(merge, merge->heap[child + 1], merge->heap[child])) {
            child++;
        }
        if (child >= merge->left || !is_before(merge, merge->heap[child], source)) {
            break;
        }
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    merge->heap[at] = source;
}

void weft_io_merge_start(struct weft_io_merge *merge, int sources)
{
    merge->left = 0;
    for (int i = 0; i < sources; i++) {
        if (merge->source[i].left > 0) {
            merge->heap[merge->left++] = i;
        }
    }
    for (int at = merge->left / 2; at-- > 0;) {
        sink(merge, at);
    }
}

bool weft_io_merge_next(struct weft_io_merge *merge, struct weft_io_piece *piece)
{
    struct weft_io_source *source;

    if (merge->left == 0) {
        return false;
    }
    piece->source = merge->heap[0];
    source = &merge->source[piece->source];
    piece->offset = offset_of(source);
    piece->bytes = source->run->bytes;
    piece->packed = source->packed;
    source->packed += source->run->bytes;
    if (++source->index == source->run->count) {
        source->index = 0;
        source->run++;
        if (--source->left == 0) {
            merge->heap[0] = merge->heap[--merge->left];
        }
    }
    if (merge->left > 0) {
        sink(merge, 0);
    }
    return true;
}
