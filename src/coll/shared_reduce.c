/*
 * shared_reduce.c - reduce, allreduce and reduce_scatter of large vectors.
 *
 * When all members have shown their vectors, whoever is inside claims pieces: it reads
 * the piece of all members, the last one's first, combines them in the order of the
 * ranks, and writes the result to all members that get it. The operands stay in its
 * cache. Every operation will do, whether it commutes or not, and a result does not
 * depend on who has computed it. In place is no hazard, because a piece is read from all
 * before it is written to any. A function of the user is called by the thread that is
 * inside the call.
 *
 * Cost: n - 1 times the data are read, n - 1 times combined, and once written for each
 * other member that gets it. No message.
 */
#include "coll/build.h"
#include "coll/data.h"
#include "coll/pieces.h"
#include "coll/shape.h"
#include "coll/shared.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(2 * (int)WEFT_PIECE_REDUCED <= (int)WEFT_SCRATCH_BYTES,
               "an operand and the result");

struct fold {
    struct weft_shared *shared;
    const struct weft_coll *coll;
    const struct weft_shape *shape;
    struct weft_datatype *type;
    uint64_t bytes; /* of a vector */
    struct weft_pieces pieces;
    char *from;
    char *to;         /* or NULL */
    int here;         /* members below this one have come */
    bool is_in_place; /* what this member gives is where it gets */
    struct weft_shared_side gives;
    struct weft_shared_side gets;
    char *scratch; /* kept between calls, or NULL */
    char *packed;  /* room for a piece, where elements have gaps */
    /* Room for an operand, and for the result. */
    struct weft_coll_scratch left;
    struct weft_coll_scratch result;
};

/* ---- who gets what ---- */

struct range {
    uint64_t begin;
    uint64_t end;
};

/* The part of the result that a member gets. */
static struct range range_of(const struct fold *f, int rank)
{
    switch (f->coll->kind) {
    case WEFT_COLL_REDUCE:
        return (struct range){0, rank == f->shape->root ? f->bytes : 0};
    case WEFT_COLL_ALLREDUCE:
        return (struct range){0, f->bytes};
    default: {
        const uint64_t begin = weft_build_parts_before(f->shape, rank);

        return (struct range){begin, begin + weft_build_part(f->shape, rank)};
    }
    }
}

static struct range common(struct range a, struct range b)
{
    const struct range c = {a.begin > b.begin ? a.begin : b.begin,
                            a.end < b.end ? a.end : b.end};

    return c.begin < c.end ? c : (struct range){0, 0};
}

/* ---- one piece ---- */

/* Has the type no gaps, so that packed bytes are elements? */
static bool is_dense(const struct fold *f)
{
    return f->packed == NULL;
}

/* Reads a piece of a member's vector to `to`, which has room for it. */
static bool load(const struct fold *f, int rank, struct range piece,
                 const struct weft_data *to)
{
    const size_t bytes = piece.end - piece.begin;
    char *at = is_dense(f) ? weft_data_at(to, 0) : f->packed;

    if (rank == f->shared->rank) {
        memcpy(at, f->from + piece.begin, bytes);
    } else if (!weft_shared_get(f->shared, rank, piece.begin, at, bytes)) {
        return false;
    }
    if (!is_dense(f)) {
        weft_data_scatter(to, 0, f->packed, bytes);
    }
    return true;
}

/* Combines a member's operand into the result. */
static bool combine(const struct fold *f, int rank, struct range piece,
                    const struct weft_data *result)
{
    const size_t bytes = piece.end - piece.begin;

    if (rank == f->shared->rank && is_dense(f)) {
        const struct weft_data own = {.buffer = f->from + piece.begin, .bytes = bytes};

        weft_coll_reduce(f->coll->op, f->type, &own, result);
    } else {
        const struct weft_data left = weft_data_part(&f->left.data, 0, bytes);

        if (!load(f, rank, piece, &left)) {
            return false;
        }
        weft_coll_reduce(f->coll->op, f->type, &left, result);
    }
    return true;
}

/* Writes what members get of a piece, whose packed bytes are at `from`. */
static bool store(const struct fold *f, struct range piece, const char *from)
{
    struct weft_shared *s = f->shared;

    for (int i = 0; i < s->n; i++) {
        const int rank = (s->rank + i) % s->n;
        const struct range whole = range_of(f, rank);
        const struct range part = common(piece, whole);
        const char *at = from + (part.begin - piece.begin);
        const size_t bytes = part.end - part.begin;

        if (bytes == 0) {
            continue;
        }
        if (rank != s->rank) {
            if (!weft_shared_put(s, rank, part.begin - whole.begin, at, bytes)) {
                return false;
            }
        } else if (f->to + (part.begin - whole.begin) != at) {
            memcpy(f->to + (part.begin - whole.begin), at, bytes);
        }
    }
    return true;
}

/* Where the result is computed: where this member gets it, if it gets all of the piece
 * and the last operand, which is the first to be there, does not overwrite its own. */
static struct weft_data place(const struct fold *f, struct range piece)
{
    const struct range mine = range_of(f, f->shared->rank);
    const size_t bytes = piece.end - piece.begin;

    if (is_dense(f) && mine.begin <= piece.begin && piece.end <= mine.end &&
        (!f->is_in_place || f->shared->rank == f->shared->n - 1)) {
        return (struct weft_data){.buffer = f->to + (piece.begin - mine.begin),
                                  .bytes = bytes};
    }
    return weft_data_part(&f->result.data, 0, bytes);
}

static bool fold_piece(const struct fold *f, struct range piece)
{
    const int last = f->shared->n - 1;
    const struct weft_data result = place(f, piece);
    const bool is_there = last == f->shared->rank && is_dense(f) &&
                          weft_data_at(&result, 0) == f->from + piece.begin;

    if (!is_there && !load(f, last, piece, &result)) {
        return false;
    }
    for (int rank = last - 1; rank >= 0; rank--) {
        if (!combine(f, rank, piece, &result)) {
            return false;
        }
    }
    if (is_dense(f)) {
        return store(f, piece, weft_data_at(&result, 0));
    }
    weft_data_gather(&result, 0, f->packed, piece.end - piece.begin);
    return store(f, piece, f->packed);
}

/* ---- the call ---- */

static bool are_all_here(struct fold *f)
{
    while (f->here < f->shared->n && weft_shared_has(f->shared, f->here)) {
        f->here++;
    }
    return f->here == f->shared->n;
}

/* Do all members name the same number of elements of one size? If one has gone on, the
 * others have done everything. */
static bool are_all_equal(const struct fold *f)
{
    uint64_t given;
    uint64_t unit;

    for (int rank = 0; rank < f->shared->n; rank++) {
        if (weft_shared_look(f->shared, rank, &given, &unit) &&
            (given != f->bytes || unit != f->type->size)) {
            return false;
        }
    }
    return true;
}

/* Tells a member of the first one whose vector differs from its own. */
static void tell_of_other(struct fold *f, int rank, uint64_t blocks)
{
    uint64_t own[2];
    uint64_t other[2];

    (void)weft_shared_look(f->shared, rank, &own[0], &own[1]);
    for (int at = 0; at < f->shared->n; at++) {
        if (weft_shared_look(f->shared, at, &other[0], &other[1]) &&
            (own[0] != other[0] || own[1] != other[1])) {
            weft_shared_note_other(f->shared, rank, at, other[0] / blocks);
            return;
        }
    }
}

/* Against the standard they do not: whoever comes first ends the call for all. */
static void refuse(struct fold *f)
{
    const bool has_blocks = f->coll->kind == WEFT_COLL_REDUCE_SCATTER_BLOCK;
    struct weft_shared *s = f->shared;

    if (!weft_claims_take_all(&s->board->all, s->call)) {
        return;
    }
    for (int rank = 0; rank < s->n; rank++) {
        tell_of_other(f, rank, has_blocks ? (uint64_t)s->n : 1);
    }
    weft_shared_close_all(s);
}

static void fold_pieces(void *work)
{
    struct fold *f = work;
    struct weft_shared *s = f->shared;
    const enum weft_claims_end end =
        s->rank < s->n / 2 ? WEFT_CLAIMS_FRONT : WEFT_CLAIMS_BACK;
    int piece;

    if (!are_all_here(f)) {
        return;
    }
    if (weft_unlikely(!are_all_equal(f))) {
        refuse(f);
        return;
    }
    while ((piece = weft_shared_take(s, &s->board->all, f->pieces.count, end)) !=
           WEFT_NO_PIECE) {
        const uint64_t at = f->pieces.bytes * (uint64_t)piece;
        const struct range range = {
            at, f->bytes - at < f->pieces.bytes ? f->bytes : at + f->pieces.bytes};

        if (!fold_piece(f, range)) {
            return;
        }
        if (weft_claims_count(&s->board->all, f->pieces.count)) {
            weft_shared_close_all(s);
        }
        weft_shared_drop(s);
    }
}

/* In place a reduce_scatter would overwrite what it still has to read: its part of the
 * result goes to memory of its own. */
static enum weft_rc open_part(struct fold *f)
{
    const struct range mine = range_of(f, f->shared->rank);

    f->gives.copy = malloc(mine.end - mine.begin + 1);
    f->to = f->gives.copy;
    f->is_in_place = false;
    return f->to != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
}

static bool is_scattered(const struct fold *f)
{
    return f->coll->kind != WEFT_COLL_REDUCE && f->coll->kind != WEFT_COLL_ALLREDUCE;
}

static enum weft_rc open_sides(struct fold *f)
{
    const struct weft_coll *coll = f->coll;
    const struct weft_data gives =
        weft_coll_space(&coll->send, weft_coll_elements(coll, true));
    const struct weft_data gets =
        weft_coll_space(&coll->recv, weft_coll_elements(coll, false));
    enum weft_rc rc = WEFT_OK;

    f->is_in_place = coll->send.buffer == MPI_IN_PLACE;
    if (coll->recv.type != NULL) {
        rc = weft_shared_side_open(&f->gets, &gets, !f->is_in_place);
        f->to = f->gets.at;
        f->from = f->gets.at;
    }
    if (rc == WEFT_OK && !f->is_in_place) {
        rc = weft_shared_side_open(&f->gives, &gives, false);
        f->from = f->gives.at;
    } else if (rc == WEFT_OK && is_scattered(f)) {
        rc = open_part(f);
    }
    return rc;
}

/* The part that was put aside goes to the user's buffer, in which it begins. */
static void put_back(struct fold *f)
{
    const struct range mine = range_of(f, f->shared->rank);

    if (f->coll->send.buffer == MPI_IN_PLACE && is_scattered(f)) {
        weft_data_scatter(&f->gets.data, 0, f->to, mine.end - mine.begin);
    } else {
        weft_shared_side_unpack(&f->gets);
    }
}

/* Room for two pieces is kept between calls, unless elements have gaps or are huge. */
static enum weft_rc open_scratch(struct fold *f)
{
    const uint64_t bytes = f->pieces.bytes;
    enum weft_rc rc;

    if (bytes <= WEFT_PIECE_REDUCED &&
        weft_datatype_is_dense(f->type, (MPI_Count)(bytes / f->type->size))) {
        f->scratch = weft_shared_scratch_take();
        f->left.data = (struct weft_data){.buffer = f->scratch, .bytes = bytes};
        f->result.data =
            (struct weft_data){.buffer = f->scratch + WEFT_PIECE_REDUCED, .bytes = bytes};
        return f->scratch != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
    }
    rc = weft_coll_scratch_make(&f->left, f->type, bytes, 1);
    if (rc == WEFT_OK) {
        rc = weft_coll_scratch_make(&f->result, f->type, bytes, 1);
    }
    if (rc == WEFT_OK && f->left.data.type != NULL) {
        f->packed = malloc(bytes);
        rc = f->packed != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
    }
    return rc;
}

static void close_all(struct fold *f)
{
    if (f->scratch != NULL) {
        weft_shared_scratch_give(f->scratch);
    }
    free(f->packed);
    free(f->left.data.memory);
    free(f->result.data.memory);
    weft_shared_side_close(&f->gives);
    weft_shared_side_close(&f->gets);
}

static void show(const struct fold *f)
{
    const struct range mine = range_of(f, f->shared->rank);
    const struct weft_shown shown = {
        .gives = {.buffer = f->from, .bytes = f->bytes},
        .gets = {.buffer = f->to, .bytes = mine.end - mine.begin},
        .given = f->bytes,
        .gotten = f->type->size,
        .open = 1,
    };

    if (f->shared->rank == 0) {
        weft_claims_reset(&f->shared->board->all, f->shared->call);
    }
    weft_shared_show(f->shared, &shown);
}

enum weft_rc weft_shared_reduce(struct weft_shared *shared, const struct weft_coll *coll,
                                const struct weft_shape *shape)
{
    struct fold f = {
        .shared = shared,
        .coll = coll,
        .shape = shape,
        .type = coll->recv.type != NULL ? coll->recv.type : coll->send.type,
    };
    enum weft_rc rc;

    f.bytes = is_scattered(&f) ? weft_build_all_parts(shape) : shape->bytes;
    f.pieces = weft_pieces_of_vector(f.bytes, f.type->size, weft_shared_workers(shared));
    rc = open_sides(&f);
    if (rc == WEFT_OK) {
        rc = open_scratch(&f);
    }
    if (rc == WEFT_OK) {
        weft_shared_begin(shared, coll->name);
        show(&f);
        rc = weft_shared_run(shared, fold_pieces, &f);
    }
    if (rc == WEFT_OK) {
        put_back(&f);
    }
    close_all(&f);
    return rc;
}
