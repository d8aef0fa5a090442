#include "io/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 512 }; /* of memory, for one call of the system */

struct side {
    struct weft_cursor cursor; /* of data with a layout, at the next byte */
    const struct weft_data *data;
};

struct work {
    const struct weft_access *access;
    struct weft_io_range range;
    struct weft_io_merge merge;
    struct side *side;
    int sources;
    char *buffer; /* as large as the window, or NULL */
    struct weft_moved *moved;
    /* What is collected for the next call of the system: touching bytes of the file. */
    uint64_t start;
    uint64_t end;
    struct iovec block[BLOCKS];
    int blocks;
};

/* ---- the system ---- */

static ssize_t call_system(const struct work *work, const struct iovec *block, int count,
                           uint64_t offset)
{
    const struct weft_access *access = work->access;
    ssize_t done;

    do {
        done = access->is_write
                   ? access->ops->pwritev(access->fd, block, count, (off_t)offset)
                   : access->ops->preadv(access->fd, block, count, (off_t)offset);
    } while (done < 0 && errno == EINTR);
    return done;
}

/* Drops the first `done` bytes of some blocks; returns the first block that is left. */
static int drop_bytes(struct iovec *block, int count, size_t done)
{
    int i = 0;

    while (i < count && done >= block[i].iov_len) {
        done -= block[i++].iov_len;
    }
    if (i < count) {
        block[i].iov_base = (char *)block[i].iov_base + done;
        block[i].iov_len -= done;
    }
    return i;
}

/* Moves blocks from or to `offset` on. */
static void move_blocks(struct work *work, struct iovec *block, int count,
                        uint64_t offset)
{
    struct weft_moved *moved = work->moved;

    while (count > 0 && moved->fault == 0 && !moved->is_at_end) {
        const ssize_t done = call_system(work, block, count, offset);
        int dropped;

        if (done > 0) {
            dropped = drop_bytes(block, count, (size_t)done);
            block += dropped;
            count -= dropped;
            offset += (uint64_t)done;
            moved->bytes += (uint64_t)done;
            continue;
        }
        moved->at = offset;
        moved->is_at_end = done == 0 && !work->access->is_write;
        if (!moved->is_at_end) {
            moved->fault = done < 0 ? errno : EIO;
        }
    }
}

/* ---- large pieces: straight between file and memory ---- */

static void flush_blocks(struct work *work)
{
    move_blocks(work, work->block, work->blocks, work->start);
    work->start = work->end;
    work->blocks = 0;
}

/* Lists memory of a piece; returns how many bytes it is of. */
static uint64_t list_some(struct work *work, const struct weft_io_piece *piece,
                          uint64_t from)
{
    struct side *side = &work->side[piece->source];
    struct iovec *block = &work->block[work->blocks];
    uint64_t bytes = 0;
    size_t count = 1;

    if (side->data->type == NULL) {
        bytes = piece->bytes - from;
        *block = (struct iovec){weft_data_at(side->data, piece->packed + from), bytes};
    } else {
        side->cursor.position = side->data->skip + piece->packed + from;
        count = weft_cursor_iov(&side->cursor, block, (size_t)(BLOCKS - work->blocks),
                                piece->bytes - from);
        for (size_t i = 0; i < count; i++) {
            bytes += block[i].iov_len;
        }
    }
    work->blocks += (int)count;
    return bytes;
}

static void move_large(struct work *work)
{
    struct weft_io_piece piece;

    while (work->moved->fault == 0 && !work->moved->is_at_end &&
           weft_io_merge_next(&work->merge, &piece)) {
        uint64_t from = 0;

        if (piece.offset != work->end) {
            flush_blocks(work);
            work->start = piece.offset;
            work->end = piece.offset;
        }
        while (from < piece.bytes) {
            const uint64_t bytes = list_some(work, &piece, from);

            from += bytes;
            work->end += bytes;
            if (work->blocks == BLOCKS) {
                flush_blocks(work);
            }
        }
    }
    flush_blocks(work);
}

/* ---- small pieces: by way of the buffer ---- */

static void copy_piece(const struct work *work, const struct weft_io_piece *piece)
{
    struct side *side = &work->side[piece->source];
    char *at = work->buffer + (piece->offset - work->range.start);

    if (side->data->type == NULL) {
        char *memory = weft_data_at(side->data, piece->packed);

        memcpy(work->access->is_write ? at : memory, work->access->is_write ? memory : at,
               (size_t)piece->bytes);
        return;
    }
    side->cursor.position = side->data->skip + piece->packed;
    if (work->access->is_write) {
        weft_cursor_pack(&side->cursor, at, (size_t)piece->bytes);
    } else {
        weft_cursor_unpack(&side->cursor, at, (size_t)piece->bytes);
    }
}

static void flush_buffer(struct work *work)
{
    struct iovec all = {work->buffer + (work->start - work->range.start),
                        work->end - work->start};

    if (work->end > work->start) {
        move_blocks(work, &all, 1, work->start);
    }
}

/* Pieces that touch or overlap are written at once. */
static void write_small(struct work *work)
{
    struct weft_io_piece piece;

    while (work->moved->fault == 0 && weft_io_merge_next(&work->merge, &piece)) {
        if (piece.offset > work->end) {
            flush_buffer(work);
            work->start = piece.offset;
            work->end = piece.offset;
        }
        copy_piece(work, &piece);
        if (piece.offset + piece.bytes > work->end) {
            work->end = piece.offset + piece.bytes;
        }
    }
    flush_buffer(work);
}

/* The bytes between the first and the last piece are read, holes and all. Pieces behind
 * the end of the file keep what their memory has. */
static void read_small(struct work *work, struct weft_io_range used)
{
    struct weft_io_piece piece;
    uint64_t end;

    work->start = used.start;
    work->end = used.end;
    flush_buffer(work);
    if (work->moved->fault != 0) {
        return;
    }
    end = work->moved->is_at_end ? work->moved->at : used.end;
    while (weft_io_merge_next(&work->merge, &piece) && piece.offset < end) {
        if (piece.bytes > end - piece.offset) {
            piece.bytes = end - piece.offset;
        }
        copy_piece(work, &piece);
    }
}

/* ---- the whole ---- */

struct sums {
    uint64_t bytes;
    uint64_t pieces;
    struct weft_io_range used; /* from the first piece to the last */
};

static struct sums sum(const struct weft_io_supply *supply, int sources)
{
    struct sums sums = {.used = {UINT64_MAX, 0}};

    for (int s = 0; s < sources; s++) {
        for (uint64_t i = 0; i < supply[s].runs; i++) {
            const struct weft_io_run *run = &supply[s].run[i];
            const uint64_t end =
                run->offset + (run->count - 1) * run->stride + run->bytes;

            sums.pieces += run->count;
            sums.used.start =
                run->offset < sums.used.start ? run->offset : sums.used.start;
            sums.used.end = end > sums.used.end ? end : sums.used.end;
        }
        sums.bytes += supply[s].data.bytes;
    }
    return sums;
}

static enum weft_rc make(struct work *work, const struct weft_io_supply *supply,
                         bool is_small)
{
    const size_t count = (size_t)work->sources;

    work->side = reallocarray(NULL, count, sizeof(*work->side));
    work->merge.source = reallocarray(NULL, count, sizeof(*work->merge.source));
    work->merge.heap = reallocarray(NULL, count, sizeof(*work->merge.heap));
    work->buffer =
        is_small ? malloc((size_t)(work->range.end - work->range.start)) : NULL;
    if (work->side == NULL || work->merge.source == NULL || work->merge.heap == NULL ||
        (is_small && work->buffer == NULL)) {
        return WEFT_ERR_NOMEM;
    }
    for (int s = 0; s < work->sources; s++) {
        work->side[s].data = &supply[s].data;
        if (supply[s].data.type != NULL) {
            weft_data_start_cursor(&work->side[s].cursor, &supply[s].data);
        }
        work->merge.source[s] =
            (struct weft_io_source){.run = supply[s].run, .left = supply[s].runs};
    }
    weft_io_merge_start(&work->merge, work->sources);
    return WEFT_OK;
}

static void clear(struct work *work)
{
    free(work->side);
    free(work->merge.source);
    free(work->merge.heap);
    free(work->buffer);
}

void weft_io_window_move(const struct weft_access *access, struct weft_io_range range,
                         const struct weft_io_supply *supply, int sources,
                         struct weft_moved *moved)
{
    const struct sums sums = sum(supply, sources);
    struct work work = {
        .access = access,
        .range = range,
        .sources = sources,
        .moved = moved,
        .start = range.start,
        .end = range.start,
    };
    const bool is_small =
        sums.pieces > 1 && sums.bytes / sums.pieces < WEFT_IO_SMALL_PIECE;

    if (sums.pieces == 0 || moved->fault != 0 || moved->is_at_end) {
        return;
    }
    if (make(&work, supply, is_small) != WEFT_OK) {
        moved->fault = weft_io_fault_of(WEFT_ERR_NOMEM);
        moved->at = sums.used.start;
    } else if (!is_small) {
        move_large(&work);
    } else if (access->is_write) {
        write_small(&work);
    } else {
        read_small(&work, sums.used);
    }
    clear(&work);
}
