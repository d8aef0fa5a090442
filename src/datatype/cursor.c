#include "datatype/cursor.h"

#include "base/copy.h"
#include "datatype/blocks.h"

#include <assert.h>
#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { RECORD_BLOCKS = 32, /* more in a round are walked round by round */ CHUNK = 4096 };

/* A block of the walk; `packed` is where its first byte goes to or comes from. */
struct walk {
    char *packed;
    bool is_pack;
};

static char *at(uintptr_t base, int64_t offset)
{
    return (char *)(base + (uintptr_t)offset); /* absolute addresses start at 0 */
}

static ALWAYS_INLINE void move(struct walk *w, char *memory, size_t bytes)
{
    if (w->is_pack) {
        weft_copy(w->packed, memory, bytes);
    } else {
        weft_copy(memory, w->packed, bytes);
    }
    w->packed += bytes;
}

static void walk_piece(struct walk *w, const struct weft_piece *piece, uintptr_t base,
                       uint64_t from, uint64_t to);

/* ---- bodies, from one packed byte to another ---- */

static size_t find_piece(const struct weft_body *body, uint64_t byte)
{
    size_t low = 0;
    size_t high = body->n;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (body->pieces[middle].start <= byte) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void walk_row(struct walk *w, const struct weft_body *body, uintptr_t base,
                     uint64_t from, uint64_t to)
{
    assert(from <= to && to <= body->size);
    for (size_t i = find_piece(body, from); from < to; i++) {
        const struct weft_piece *piece = &body->pieces[i];
        uint64_t end = piece->start + weft_piece_bytes(piece);

        end = end < to ? end : to;
        walk_piece(w, piece, base, from - piece->start, end - piece->start);
        from = end;
    }
}

static size_t find_block(const struct weft_body *body, uint64_t byte)
{
    size_t low = 0;
    size_t high = body->n;

    if (body->starts == NULL) {
        return (size_t)(byte / body->block);
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (body->starts[middle] <= byte) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static ALWAYS_INLINE void walk_equal_blocks(struct walk *w, const int64_t *offsets,
                                            uint64_t n, uintptr_t base, size_t bytes)
{
    char *packed = w->packed;

    for (uint64_t i = 0; i < n; i++) {
        char *memory = at(base, offsets[i]);

        if (w->is_pack) {
            memcpy(packed, memory, bytes);
        } else {
            memcpy(memory, packed, bytes);
        }
        packed += bytes;
    }
    w->packed = packed;
}

static void walk_even(struct walk *w, const int64_t *offsets, uint64_t n, uintptr_t base,
                      size_t bytes)
{
    switch (bytes) {
    case 4:
        walk_equal_blocks(w, offsets, n, base, 4);
        break;
    case 8:
        walk_equal_blocks(w, offsets, n, base, 8);
        break;
    case 16:
        walk_equal_blocks(w, offsets, n, base, 16);
        break;
    case 24:
        walk_equal_blocks(w, offsets, n, base, 24);
        break;
    case 32:
        walk_equal_blocks(w, offsets, n, base, 32);
        break;
    default:
        walk_equal_blocks(w, offsets, n, base, bytes);
        break;
    }
}

/* Lists are mostly of a few doubles: up to 64 bytes without a call. */
static ALWAYS_INLINE void move_short(struct walk *w, char *memory, size_t bytes)
{
    if (bytes > 32 && bytes <= 64) {
        char *to = w->is_pack ? w->packed : memory;
        const char *from = w->is_pack ? memory : w->packed;

        memcpy(to, from, 32);
        memcpy(to + bytes - 32, from + bytes - 32, 32); /* they may overlap */
        w->packed += bytes;
    } else {
        move(w, memory, bytes);
    }
}

static void walk_uneven(struct walk *w, const struct weft_body *body, uintptr_t base,
                        size_t first, size_t end)
{
    struct walk local = *w; /* in registers */
    uint64_t start = body->starts[first];

    for (size_t i = first; i < end; i++) {
        const uint64_t next = body->starts[i + 1];

        move_short(&local, at(base, body->offsets[i]), (size_t)(next - start));
        start = next;
    }
    w->packed = local.packed;
}

static uint64_t block_start(const struct weft_body *body, size_t i)
{
    return body->starts == NULL ? i * body->block : body->starts[i];
}

static void walk_list(struct walk *w, const struct weft_body *body, uintptr_t base,
                      uint64_t from, uint64_t to)
{
    size_t first = find_block(body, from);
    size_t end = to == body->size ? body->n : find_block(body, to);
    uint64_t skip = from - block_start(body, first);

    assert(from < to && to <= body->size);
    if (skip > 0 || first == end) { /* begins inside a block, and may end there */
        uint64_t stop = block_start(body, first + 1);

        stop = stop < to ? stop : to;
        move(w, at(base, body->offsets[first] + (int64_t)skip), (size_t)(stop - from));
        from = stop;
        first++;
    }
    if (from >= to) {
        return;
    }
    if (body->starts == NULL) {
        walk_even(w, body->offsets + first, end - first, base, (size_t)body->block);
    } else {
        walk_uneven(w, body, base, first, end);
    }
    if (end < body->n && to > block_start(body, end)) {
        move(w, at(base, body->offsets[end]), (size_t)(to - block_start(body, end)));
    }
}

static void walk_body(struct walk *w, const struct weft_body *body, uintptr_t base,
                      uint64_t from, uint64_t to)
{
    if (body->pieces != NULL) {
        walk_row(w, body, base, from, to);
    } else {
        walk_list(w, body, base, from, to);
    }
}

/* ---- whole rounds ---- */

static void copy_sides(struct walk *w, struct weft_side memory, struct weft_side packed,
                       size_t bytes, uint64_t n, uint64_t rows)
{
    if (w->is_pack) {
        weft_copy_grid(packed, memory, bytes, n, rows);
    } else {
        weft_copy_grid(memory, packed, bytes, n, rows);
    }
}

static void walk_blocks(struct walk *w, char *memory, int64_t stride, size_t bytes,
                        uint64_t n)
{
    copy_sides(w, (struct weft_side){.at = memory, .stride = stride},
               (struct weft_side){.at = w->packed, .stride = (int64_t)bytes}, bytes, n,
               1);
    w->packed += bytes * n;
}

/* Rounds of one strided piece. */
static void walk_grid(struct walk *w, const struct weft_piece *row, char *memory,
                      int64_t stride, uint64_t n)
{
    const uint64_t bytes = weft_piece_bytes(row);

    copy_sides(w,
               (struct weft_side){
                   .at = memory + row->offset, .stride = row->stride, .outer = stride},
               (struct weft_side){.at = w->packed,
                                  .stride = (int64_t)row->size,
                                  .outer = (int64_t)bytes},
               (size_t)row->size, row->count, n);
    w->packed += bytes * n;
}

/*
 * Rounds of a few blocks each: records with gaps. Block by block over as many rounds as
 * stay in the cache, so that the length is known to the loop.
 */
static void walk_records(struct walk *w, const struct weft_body *body, char *memory,
                         int64_t stride, uint64_t n)
{
    const uint64_t most = 1 + CHUNK / body->size;

    while (n > 0) {
        const uint64_t part = n < most ? n : most;

        for (size_t i = 0; i < body->n; i++) {
            const uint64_t start = block_start(body, i);

            copy_sides(
                w, (struct weft_side){.at = memory + body->offsets[i], .stride = stride},
                (struct weft_side){.at = w->packed + start,
                                   .stride = (int64_t)body->size},
                (size_t)(block_start(body, i + 1) - start), part, 1);
        }
        w->packed += part * body->size;
        memory += (int64_t)part * stride;
        n -= part;
    }
}

static void walk_rounds(struct walk *w, const struct weft_piece *piece, char *memory,
                        uint64_t n)
{
    const struct weft_body *body = piece->body;

    if (body == NULL) {
        walk_blocks(w, memory, piece->stride, (size_t)piece->size, n);
    } else if (body->pieces != NULL && body->n == 1 && body->pieces[0].body == NULL) {
        walk_grid(w, &body->pieces[0], memory, piece->stride, n);
    } else if (body->pieces == NULL && body->n <= RECORD_BLOCKS && n > 2) {
        walk_records(w, body, memory, piece->stride, n);
    } else {
        for (uint64_t i = 0; i < n; i++) {
            walk_body(w, body, (uintptr_t)memory, 0, body->size);
            memory += piece->stride;
        }
    }
}

/* A part of one round. */
static void walk_part(struct walk *w, const struct weft_piece *piece, char *memory,
                      uint64_t from, uint64_t to)
{
    if (piece->body == NULL) {
        move(w, memory + from, (size_t)(to - from));
    } else {
        walk_body(w, piece->body, (uintptr_t)memory, from, to);
    }
}

static void walk_piece(struct walk *w, const struct weft_piece *piece, uintptr_t base,
                       uint64_t from, uint64_t to)
{
    const uint64_t size = piece->size;
    uint64_t round = from < size ? 0 : from / size;
    uint64_t skip = from - round * size;
    char *memory = at(base, piece->offset + (int64_t)round * piece->stride);
    uint64_t rounds;

    if (skip > 0 || to - from < size) {
        uint64_t part = to - from < size - skip ? to - from : size - skip;

        walk_part(w, piece, memory, skip, skip + part);
        from += part;
        memory = at((uintptr_t)memory, piece->stride);
    }
    rounds = (to - from) / size;
    if (rounds > 0) {
        walk_rounds(w, piece, memory, rounds);
        from += rounds * size;
        memory = at((uintptr_t)memory, (int64_t)rounds * piece->stride);
    }
    if (from < to) {
        walk_part(w, piece, memory, 0, to - from);
    }
}

/* ---- cursors ---- */

void weft_cursor_init(struct weft_cursor *cursor, const struct weft_layout *layout,
                      int64_t extent, uint64_t count, const void *buffer)
{
    const struct weft_piece *top = &layout->top;

    assert(layout->top.count == 0 || layout->top.size > 0);
    cursor->all = *top;
    cursor->buffer = (uintptr_t)buffer;
    cursor->position = 0;
    cursor->end = weft_piece_bytes(top) * count;
    if (count <= 1 || cursor->end == 0) {
        return;
    }
    /* As weft_layout_repeat, with the memory for one more level here. */
    if (top->count == 1) {
        if (top->body == NULL && extent == (int64_t)top->size) {
            cursor->all.size *= count;
        } else {
            cursor->all.count = count;
            cursor->all.stride = extent;
        }
    } else if ((uint64_t)extent == top->count * (uint64_t)top->stride) {
        cursor->all.count *= count;
    } else {
        cursor->element = *top;
        cursor->element.offset = 0;
        cursor->round = (struct weft_body){
            .size = weft_piece_bytes(top), .n = 1, .pieces = &cursor->element};
        cursor->all.count = count;
        cursor->all.stride = extent;
        cursor->all.size = cursor->round.size;
        cursor->all.body = &cursor->round;
    }
}

static size_t step(struct weft_cursor *cursor, char *packed, size_t bytes, bool is_pack)
{
    const uint64_t left = cursor->end - cursor->position;
    struct walk w = {packed, is_pack};

    assert(cursor->position <= cursor->end);
    bytes = bytes < left ? bytes : (size_t)left;
    if (bytes > 0) {
        walk_piece(&w, &cursor->all, cursor->buffer, cursor->position,
                   cursor->position + bytes);
        cursor->position += bytes;
    }
    return bytes;
}

size_t weft_cursor_pack(struct weft_cursor *cursor, void *to, size_t room)
{
    return step(cursor, to, room, true);
}

size_t weft_cursor_unpack(struct weft_cursor *cursor, const void *from, size_t length)
{
    return step(cursor, (char *)(uintptr_t)from, length, false);
}

/* ---- vectors ---- */

struct iov_out {
    struct iovec *out;
    size_t n;
    size_t most;
    uint64_t bytes; /* in them */
};

/* False: no room. */
static bool add_iov(struct iov_out *v, char *memory, uint64_t bytes)
{
    struct iovec *last = v->n > 0 ? &v->out[v->n - 1] : NULL;

    if (last != NULL && (char *)last->iov_base + last->iov_len == memory) {
        last->iov_len += (size_t)bytes;
    } else if (v->n == v->most) {
        return false;
    } else {
        v->out[v->n++] = (struct iovec){.iov_base = memory, .iov_len = (size_t)bytes};
    }
    v->bytes += bytes;
    return true;
}

static bool list_piece(struct iov_out *v, const struct weft_piece *piece, uintptr_t base,
                       uint64_t from, uint64_t to);

static bool list_body(struct iov_out *v, const struct weft_body *body, uintptr_t base,
                      uint64_t from, uint64_t to)
{
    const bool is_row = body->pieces != NULL;
    bool has_room = true;

    for (size_t i = is_row ? find_piece(body, from) : find_block(body, from);
         from < to && has_room; i++) {
        uint64_t start = is_row ? body->pieces[i].start : block_start(body, i);
        uint64_t end = is_row ? start + weft_piece_bytes(&body->pieces[i])
                              : block_start(body, i + 1);

        end = end < to ? end : to;
        has_room = is_row
                       ? list_piece(v, &body->pieces[i], base, from - start, end - start)
                       : add_iov(v, at(base, body->offsets[i] + (int64_t)(from - start)),
                                 end - from);
        from = end;
    }
    return has_room;
}

static bool list_piece(struct iov_out *v, const struct weft_piece *piece, uintptr_t base,
                       uint64_t from, uint64_t to)
{
    uint64_t round = from / piece->size;
    char *memory = at(base, piece->offset + (int64_t)round * piece->stride);
    bool has_room = true;

    from -= round * piece->size;
    to -= round * piece->size;
    while (from < to && has_room) {
        uint64_t end = to < piece->size ? to : piece->size;

        has_room = piece->body == NULL
                       ? add_iov(v, memory + from, end - from)
                       : list_body(v, piece->body, (uintptr_t)memory, from, end);
        memory = at((uintptr_t)memory, piece->stride);
        to -= end;
        from = 0;
    }
    return has_room;
}

size_t weft_cursor_iov(struct weft_cursor *cursor, struct iovec *out, size_t most,
                       size_t bytes)
{
    const uint64_t left = cursor->end - cursor->position;
    struct iov_out v = {.out = out, .most = most};

    assert(cursor->position <= cursor->end);
    bytes = bytes < left ? bytes : (size_t)left;
    if (bytes > 0) {
        (void)list_piece(&v, &cursor->all, cursor->buffer, cursor->position,
                         cursor->position + bytes);
        cursor->position += v.bytes;
    }
    return v.n;
}
