#include "io/access.h"

#include "io/sieve.h"

#include <errno.h>
#include <stdlib.h>

/* Blocks of memory for one system call; extents of a view that are looked up at once. */
enum { BLOCKS = 256, EXTENTS = 64 };

const struct weft_file_ops *weft_file_posix(void)
{
    static const struct weft_file_ops ops = {preadv, pwritev};

    return &ops;
}

/* Lists the memory of `bytes` packed bytes, from `from` on, or of the first of them. */
static size_t list_memory(const struct weft_data *data, struct weft_cursor *cursor,
                          uint64_t from, uint64_t bytes, struct iovec *blocks)
{
    if (data->type == NULL) {
        blocks[0] = (struct iovec){weft_data_at(data, from), bytes};
        return 1;
    }
    cursor->position = data->skip + from;
    return weft_cursor_iov(cursor, blocks, BLOCKS, bytes);
}

/* Moves the first bytes of an extent; returns how many, 0 if that is all. */
static uint64_t move_some(const struct weft_access *access, const struct iovec *blocks,
                          size_t n, uint64_t offset, struct weft_moved *moved)
{
    ssize_t done;

    do {
        done = access->is_write
                   ? access->ops->pwritev(access->fd, blocks, (int)n, (off_t)offset)
                   : access->ops->preadv(access->fd, blocks, (int)n, (off_t)offset);
    } while (done < 0 && errno == EINTR);
    if (done > 0) {
        return (uint64_t)done;
    }
    moved->at = offset;
    if (done < 0) {
        moved->fault = errno;
    } else if (access->is_write) {
        moved->fault = EIO; /* no system writes nothing without a reason */
    } else {
        moved->is_at_end = true;
    }
    return 0;
}

static void move_extent(const struct weft_access *access, struct weft_file_extent extent,
                        const struct weft_data *data, struct weft_cursor *cursor,
                        uint64_t from, struct weft_moved *moved)
{
    struct iovec blocks[BLOCKS];

    while (extent.length > 0) {
        const size_t n = list_memory(data, cursor, from, extent.length, blocks);
        const uint64_t done = move_some(access, blocks, n, extent.offset, moved);

        if (done == 0) {
            return;
        }
        from += done;
        extent.offset += done;
        extent.length -= done;
        moved->bytes += done;
    }
}

static bool is_over(const struct weft_moved *moved)
{
    return moved->fault != 0 || moved->is_at_end;
}

static void move_extents(const struct weft_access *access,
                         const struct weft_file_extent *extents, size_t n,
                         const struct weft_data *data, struct weft_cursor *cursor,
                         uint64_t from, struct weft_moved *moved)
{
    for (size_t i = 0; i < n && !is_over(moved); i++) {
        move_extent(access, extents[i], data, cursor, from, moved);
        from += extents[i].length;
    }
}

/* Reads pieces that lie close together at once, and others one by one. */
static void sieve_extents(const struct weft_access *access,
                          const struct weft_file_extent *extents, size_t n,
                          const struct weft_data *data, struct weft_cursor *cursor,
                          char *buffer, struct weft_moved *moved)
{
    for (size_t i = 0; i < n && !is_over(moved);) {
        const size_t count = weft_sieve_count(extents + i, n - i);
        const size_t whole = count == 0
                                 ? 0
                                 : weft_sieve_read(access, extents + i, count, buffer,
                                                   data, moved->bytes, moved);

        i += whole;
        if (whole < count || count == 0) { /* it tells why there is no more */
            move_extent(access, extents[i], data, cursor, moved->bytes, moved);
            i++;
        }
    }
}

static void start_cursor(struct weft_cursor *cursor, const struct weft_data *data)
{
    if (data->type != NULL) {
        weft_data_start_cursor(cursor, data);
    }
}

void weft_access_extents(const struct weft_access *access,
                         const struct weft_file_extent *extents, size_t n,
                         const struct weft_data *data, uint64_t from,
                         struct weft_moved *moved)
{
    struct weft_cursor cursor;

    start_cursor(&cursor, data);
    move_extents(access, extents, n, data, &cursor, from, moved);
}

/* Memory for sieving, if the view has holes and they may be read; or NULL. */
static char *take_sieve(const struct weft_access *access, const struct weft_view *view)
{
    return access->may_sieve && !weft_view_is_contiguous(view) ? malloc(WEFT_SIEVE_BYTES)
                                                               : NULL;
}

void weft_access_view(const struct weft_access *access, const struct weft_view *view,
                      uint64_t position, const struct weft_data *data,
                      struct weft_moved *moved)
{
    struct weft_file_extent extents[EXTENTS];
    char *buffer = take_sieve(access, view);
    struct weft_view_walk walk;
    struct weft_cursor cursor;
    size_t n;

    start_cursor(&cursor, data);
    weft_view_start(&walk, view, position, data->bytes);
    for (n = weft_view_next(&walk, extents, EXTENTS); n > 0 && !is_over(moved);
         n = weft_view_next(&walk, extents, EXTENTS)) {
        if (buffer != NULL) {
            sieve_extents(access, extents, n, data, &cursor, buffer, moved);
        } else {
            move_extents(access, extents, n, data, &cursor, moved->bytes, moved);
        }
    }
    free(buffer);
}
