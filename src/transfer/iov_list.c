#include "transfer/iov_list.h"

#include "datatype/cursor.h"

#include <assert.h>

enum {
    BLOCK_FROM = 4096, /* bytes in a block, on average, for which a list pays */
    LOOK = 16,         /* blocks that are looked at before a list is begun */
};

static uint64_t entries_in(size_t room)
{
    return (room - sizeof(struct weft_iov_list)) / sizeof(struct weft_iov) - 1;
}

/* Only the first blocks are looked at: filling notices if the others are shorter. */
bool weft_iov_list_pays(const struct weft_data *data)
{
    struct iovec first[LOOK];
    struct weft_cursor cursor;
    size_t n;

    weft_data_start_cursor(&cursor, data);
    n = weft_cursor_iov(&cursor, first, LOOK, data->bytes);
    return cursor.position - data->skip >= n * BLOCK_FROM;
}

bool weft_iov_list_fill(struct weft_iov_list *list, size_t room,
                        const struct weft_data *data)
{
    const uint64_t fit = entries_in(room);
    const uint64_t most = data->bytes / BLOCK_FROM < fit ? data->bytes / BLOCK_FROM : fit;
    struct weft_cursor cursor;
    uint64_t before = 0;

    weft_data_start_cursor(&cursor, data);
    list->n = 0;
    while (before < data->bytes) {
        struct iovec part[64];
        const size_t n = weft_cursor_iov(&cursor, part, sizeof(part) / sizeof(*part),
                                         data->bytes - before);

        if (list->n + n > most) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            list->at[list->n + i] = (struct weft_iov){
                .address = (uint64_t)(uintptr_t)part[i].iov_base,
                .start = before,
            };
            before += part[i].iov_len;
        }
        list->n += n;
    }
    list->at[list->n].start = before;
    return true;
}

/* ---- moving ---- */

/* The entry of a list of `n` that has the byte at `offset`. */
static uint64_t find_entry(const struct weft_iov_list *list, uint64_t n, uint64_t offset)
{
    uint64_t low = 0;
    uint64_t high = n;

    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;

        if (list->at[middle].start <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Blocks of a peer's list, from `offset` on, of at most `bytes` bytes; how many. */
static size_t listed_blocks(const struct weft_remote_data *theirs, uint64_t offset,
                            uint64_t bytes, struct iovec *out)
{
    const struct weft_iov_list *list = theirs->list;
    const uint64_t n = list->n <= entries_in(theirs->room) ? list->n : 0;
    size_t count = 0;

    for (uint64_t i = find_entry(list, n, offset);
         i < n && bytes > 0 && count < WEFT_IOV_MAX; i++) {
        const uint64_t skip = offset - list->at[i].start;
        const uint64_t left = list->at[i + 1].start - offset;
        const uint64_t part = left < bytes ? left : bytes;

        out[count++] = (struct iovec){
            .iov_base = (void *)(uintptr_t)(list->at[i].address + skip),
            .iov_len = (size_t)part,
        };
        offset += part;
        bytes -= part;
    }
    return count;
}

/* Blocks of a peer's data; how many. */
static size_t their_blocks(const struct weft_remote_data *theirs, uint64_t offset,
                           uint64_t bytes, struct iovec *out)
{
    if (theirs->list != NULL) {
        return listed_blocks(theirs, offset, bytes, out);
    }
    *out = (struct iovec){.iov_base = (void *)(uintptr_t)(theirs->address + offset),
                          .iov_len = (size_t)bytes};
    return 1;
}

/* Blocks of our own data; how many. */
static size_t our_blocks(const struct weft_data *ours, uint64_t at, uint64_t bytes,
                         struct iovec *out)
{
    struct weft_cursor cursor;

    if (ours->type == NULL) {
        *out =
            (struct iovec){.iov_base = weft_data_at(ours, at), .iov_len = (size_t)bytes};
        return 1;
    }
    weft_data_start_cursor(&cursor, ours);
    cursor.position += at;
    return weft_cursor_iov(&cursor, out, WEFT_IOV_MAX, (size_t)bytes);
}

static uint64_t bytes_in(const struct iovec *blocks, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        bytes += blocks[i].iov_len;
    }
    return bytes;
}

/* The first of them that have together `bytes` bytes; the last is cut. */
static size_t cut(struct iovec *blocks, uint64_t bytes)
{
    size_t n = 0;

    while (bytes > blocks[n].iov_len) {
        bytes -= blocks[n++].iov_len;
    }
    blocks[n].iov_len = (size_t)bytes;
    return n + 1;
}

static enum weft_rc move_blocks(struct weft_path *path, enum weft_direction direction,
                                const struct iovec *theirs, size_t their_count,
                                const struct iovec *ours, size_t our_count)
{
    const struct weft_move move = {
        .theirs = theirs,
        .their_count = their_count,
        .ours = ours,
        .our_count = our_count,
    };

    assert(path->memory->is_unlocked && path->memory->iov_max >= WEFT_IOV_MAX);
    return direction == WEFT_STORE ? path->memory->put(path, &move, NULL)
                                   : path->memory->get(path, &move, NULL);
}

enum weft_rc weft_iov_list_move(struct weft_path *path, enum weft_direction direction,
                                const struct weft_data *ours, uint64_t at,
                                const struct weft_remote_data *theirs, uint64_t offset,
                                uint64_t length)
{
    enum weft_rc rc = WEFT_OK;

    while (length > 0 && rc == WEFT_OK) {
        struct iovec mine[WEFT_IOV_MAX];
        struct iovec other[WEFT_IOV_MAX];
        size_t my_count = our_blocks(ours, at, length, mine);
        const uint64_t my_bytes = bytes_in(mine, my_count);
        const size_t other_count = their_blocks(theirs, offset, my_bytes, other);
        const uint64_t bytes = bytes_in(other, other_count);

        if (bytes == 0) {
            return WEFT_ERR_ARGUMENT;
        }
        my_count = bytes < my_bytes ? cut(mine, bytes) : my_count;
        rc = move_blocks(path, direction, other, other_count, mine, my_count);
        at += bytes;
        offset += bytes;
        length -= bytes;
    }
    return rc;
}
