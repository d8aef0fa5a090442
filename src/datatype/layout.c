#include "datatype/layout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_same_body(const struct weft_body *a, const struct weft_body *b)
{
    if (a == b) {
        return true;
    }
    if (a == NULL || b == NULL || a->size != b->size || a->n != b->n ||
        (a->pieces == NULL) != (b->pieces == NULL)) {
        return false;
    }
    if (a->pieces == NULL) {
        return (a->starts == NULL) == (b->starts == NULL) && a->block == b->block &&
               memcmp(a->offsets, b->offsets, a->n * sizeof(*a->offsets)) == 0 &&
               (a->starts == NULL ||
                memcmp(a->starts, b->starts, a->n * sizeof(*a->starts)) == 0);
    }
    for (size_t i = 0; i < a->n; i++) {
        if (!weft_piece_is_equal(&a->pieces[i], &b->pieces[i])) {
            return false;
        }
    }
    return true;
}

/* Equal wherever it lies. */
static bool is_same_shape(const struct weft_piece *a, const struct weft_piece *b)
{
    return a->count == b->count && a->size == b->size &&
           (a->count <= 1 || a->stride == b->stride) && is_same_body(a->body, b->body);
}

bool weft_piece_is_equal(const struct weft_piece *a, const struct weft_piece *b)
{
    return is_same_shape(a, b) && (a->count == 0 || a->offset == b->offset);
}

/* Zeroed, with its arrays behind it. */
static struct weft_body *new_body(struct weft_layout *layout, size_t bytes)
{
    struct weft_body *body = calloc(1, sizeof(*body) + bytes);

    if (body != NULL) {
        body->next = layout->owned;
        layout->owned = body;
    }
    return body;
}

/* The bodies made after `mark` go again. */
static void drop_bodies(struct weft_layout *layout, const struct weft_body *mark)
{
    while (layout->owned != mark) {
        struct weft_body *body = layout->owned;

        layout->owned = body->next;
        free(body);
    }
}

void weft_layout_fini(struct weft_layout *layout)
{
    drop_bodies(layout, NULL);
}

static int64_t distance(const struct weft_piece *from, const struct weft_piece *to)
{
    return (int64_t)((uint64_t)to->offset - (uint64_t)from->offset);
}

static struct weft_piece one_round(int64_t offset, const struct weft_body *body)
{
    return (struct weft_piece){
        .offset = offset, .count = 1, .size = body->size, .body = body};
}

/* The first piece comes to lie at 0. */
static struct weft_body *new_row(struct weft_layout *layout,
                                 const struct weft_piece *pieces, size_t n)
{
    struct weft_body *body = new_body(layout, n * sizeof(*pieces));

    if (body != NULL) {
        body->n = n;
        body->pieces = (struct weft_piece *)(body + 1);
        for (size_t i = 0; i < n; i++) {
            body->pieces[i] = pieces[i];
            body->pieces[i].offset = distance(&pieces[0], &pieces[i]);
            body->pieces[i].start = body->size;
            body->size += weft_piece_bytes(&pieces[i]);
        }
    }
    return body;
}

enum weft_rc weft_layout_repeat(struct weft_layout *layout,
                                const struct weft_piece *piece, uint64_t count,
                                int64_t stride, struct weft_piece *out)
{
    struct weft_piece inner = *piece;

    if (count == 0 || weft_piece_bytes(piece) == 0) {
        *out = (struct weft_piece){.count = 0};
        return WEFT_OK;
    }
    *out = *piece;
    if (count == 1) {
        return WEFT_OK;
    }
    if (piece->count == 1) {
        if (piece->body == NULL && stride == (int64_t)piece->size) {
            out->size *= count;
        } else {
            out->count = count;
            out->stride = stride;
        }
        return WEFT_OK;
    }
    if ((uint64_t)stride == piece->count * (uint64_t)piece->stride) {
        out->count *= count;
        return WEFT_OK;
    }
    out->body = new_row(layout, &inner, 1);
    if (out->body == NULL) {
        return WEFT_ERR_NOMEM;
    }
    out->size = out->body->size;
    out->count = count;
    out->stride = stride;
    return WEFT_OK;
}

/* ---- rows ---- */

enum weft_rc weft_row_begin(struct weft_row *row, size_t most)
{
    *row = (struct weft_row){.room = most};
    row->pieces = most == 0 ? NULL : malloc(most * sizeof(*row->pieces));
    return row->pieces == NULL && most > 0 ? WEFT_ERR_NOMEM : WEFT_OK;
}

void weft_row_add(struct weft_row *row, const struct weft_piece *piece, int64_t offset)
{
    struct weft_piece *last = row->n > 0 ? &row->pieces[row->n - 1] : NULL;
    const int64_t at = (int64_t)((uint64_t)piece->offset + (uint64_t)offset);

    assert(row->n < row->room || weft_piece_bytes(piece) == 0 || last != NULL);
    if (weft_piece_bytes(piece) == 0) {
        return;
    }
    if (last != NULL && weft_piece_is_block(last) && weft_piece_is_block(piece) &&
        (uint64_t)last->offset + last->size == (uint64_t)at) {
        last->size += piece->size;
        return;
    }
    row->pieces[row->n] = *piece;
    row->pieces[row->n].offset = at;
    row->n++;
}

static bool are_blocks(const struct weft_piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!weft_piece_is_block(&pieces[i])) {
            return false;
        }
    }
    return true;
}

/* How many pieces from the first on are alike and at the same distance, into *stride. */
static size_t run_length(const struct weft_piece *pieces, size_t n, uint64_t *stride)
{
    size_t run = 1;

    *stride = 0;
    while (run < n && is_same_shape(&pieces[0], &pieces[run])) {
        uint64_t step = (uint64_t)distance(&pieces[run - 1], &pieces[run]);

        if (run > 1 && step != *stride) {
            break;
        }
        *stride = step;
        run++;
    }
    return run;
}

/* Makes one piece of each run, in place, into *n of them. */
static enum weft_rc fold_once(struct weft_layout *layout, struct weft_piece *pieces,
                              size_t *n)
{
    size_t made = 0;

    for (size_t i = 0; i < *n;) {
        uint64_t stride;
        size_t run = run_length(&pieces[i], *n - i, &stride);
        enum weft_rc rc =
            weft_layout_repeat(layout, &pieces[i], run, (int64_t)stride, &pieces[made]);

        if (rc != WEFT_OK) {
            return rc;
        }
        made++;
        i += run;
    }
    *n = made;
    return WEFT_OK;
}

/* Each pass that does not at least shorten by a quarter is the last: linear time. */
static enum weft_rc fold(struct weft_layout *layout, struct weft_piece *pieces, size_t *n)
{
    size_t before;
    enum weft_rc rc;

    do {
        before = *n;
        rc = fold_once(layout, pieces, n);
    } while (rc == WEFT_OK && *n > 1 && *n < before && *n <= before - before / 4);
    return rc;
}

static enum weft_rc make_blocks(struct weft_layout *layout,
                                const struct weft_piece *pieces, size_t n,
                                struct weft_piece *out)
{
    bool is_even = true;
    struct weft_body *body;

    assert(n > 1);
    for (size_t i = 1; i < n && is_even; i++) {
        is_even = pieces[i].size == pieces[0].size;
    }
    body = new_body(layout, (is_even ? n : 2 * n + 1) * sizeof(uint64_t));
    if (body == NULL) {
        return WEFT_ERR_NOMEM;
    }
    body->n = n;
    body->offsets = (int64_t *)(body + 1);
    body->block = is_even ? pieces[0].size : 0;
    body->starts = is_even ? NULL : (uint64_t *)(body->offsets + n);
    for (size_t i = 0; i < n; i++) {
        body->offsets[i] = distance(&pieces[0], &pieces[i]);
        body->size += pieces[i].size;
        if (!is_even) {
            body->starts[i + 1] = body->size;
        }
    }
    *out = one_round(pieces[0].offset, body);
    return WEFT_OK;
}

/*
 * Any two blocks of one length are a run, so folding a list without order halves it and
 * leaves strides that are worse than the list. It counts only where it leaves little.
 */
static enum weft_rc fold_blocks(struct weft_layout *layout, struct weft_row *row)
{
    const struct weft_body *mark = layout->owned;
    struct weft_piece *folded = malloc(row->n * sizeof(*folded));
    size_t n = row->n;
    enum weft_rc rc;

    if (folded == NULL) {
        return WEFT_ERR_NOMEM;
    }
    memcpy(folded, row->pieces, n * sizeof(*folded));
    rc = fold(layout, folded, &n);
    if (rc == WEFT_OK && (n == 1 || n <= row->n / 4)) {
        memcpy(row->pieces, folded, n * sizeof(*folded));
        row->n = n;
    } else {
        drop_bodies(layout, mark);
    }
    free(folded);
    return rc;
}

enum weft_rc weft_row_end(struct weft_row *row, struct weft_layout *layout,
                          struct weft_piece *out)
{
    static const struct weft_piece nothing = {.count = 0};
    enum weft_rc rc = WEFT_OK;

    if (row->n > 1) {
        rc = are_blocks(row->pieces, row->n) ? fold_blocks(layout, row)
                                             : fold(layout, row->pieces, &row->n);
    }
    if (rc != WEFT_OK || row->n <= 1) {
        *out = row->n == 0 ? nothing : row->pieces[0];
    } else if (are_blocks(row->pieces, row->n)) {
        rc = make_blocks(layout, row->pieces, row->n, out);
    } else {
        const struct weft_body *body = new_row(layout, row->pieces, row->n);

        rc = body == NULL ? WEFT_ERR_NOMEM : WEFT_OK;
        if (body != NULL) {
            *out = one_round(row->pieces[0].offset, body);
        }
    }
    free(row->pieces);
    *row = (struct weft_row){0};
    return rc;
}
