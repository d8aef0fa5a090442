/*
 * shared_move.c - bcast, scatter, gather, allgather and alltoall of large blocks.
 *
 * Every block that goes from one member to another has claims of its own. The member that
 * gets it reads pieces from the front, the one that gives it writes pieces from the back,
 * and a third has nothing to do with it, because it would have to copy twice. A member
 * that comes does all that can be done with those who are there: first what it gets, then
 * what it gives. So the last one to come can do everything that is left, and where
 * members outnumber processors each is scheduled once in a call.
 *
 * Cost: each byte is copied once, whoever does it; own blocks are copied by their owners.
 * No message.
 */
#include "coll/data.h"
#include "coll/pieces.h"
#include "coll/shape.h"
#include "coll/shared.h"

#include <stdlib.h>
#include <string.h>

struct moves {
    struct weft_shared *shared;
    enum weft_coll_kind kind;
    int root;
    uint64_t given;  /* bytes of a block that this member gives */
    uint64_t gotten; /* and gets */
    bool has_gives;  /* a block for each member */
    bool has_gets;
    char *from;
    char *to;
    struct weft_shared_side gives;
    struct weft_shared_side gets;
};

/* Does a block go from one to the other? */
static bool has_block(const struct moves *m, int from, int to)
{
    switch (m->kind) {
    case WEFT_COLL_BCAST:
    case WEFT_COLL_SCATTER:
        return from == m->root && from != to;
    case WEFT_COLL_GATHER:
        return to == m->root && from != to;
    default:
        return from != to;
    }
}

/* ---- buffers ---- */

static enum weft_rc open_gives(struct moves *m, const struct weft_coll *coll)
{
    const struct weft_data data =
        weft_coll_space(&coll->send, weft_coll_elements(coll, true));

    return weft_shared_side_open(&m->gives, &data, false);
}

/* `is_empty`: nothing of it is given. */
static enum weft_rc open_gets(struct moves *m, const struct weft_coll *coll,
                              bool is_empty)
{
    const struct weft_data data =
        weft_coll_space(&coll->recv, weft_coll_elements(coll, false));

    return weft_shared_side_open(&m->gets, &data, is_empty);
}

/* What is sent in place is overwritten: it is copied first, unless its own block is all
 * that is sent. */
static enum weft_rc open_in_place(struct moves *m, const struct weft_coll *coll)
{
    enum weft_rc rc = open_gets(m, coll, false);

    if (rc != WEFT_OK) {
        return rc;
    }
    m->to = m->gets.at;
    if (m->kind != WEFT_COLL_ALLTOALL) {
        m->from = m->to + m->has_gets * m->gotten * (uint64_t)m->shared->rank;
        return WEFT_OK;
    }
    m->gives.copy = malloc(m->gets.data.bytes);
    if (m->gives.copy == NULL) {
        return WEFT_ERR_NOMEM;
    }
    m->from = memcpy(m->gives.copy, m->gets.at, m->gets.data.bytes);
    return WEFT_OK;
}

static enum weft_rc open_sides(struct moves *m, const struct weft_coll *coll)
{
    const int rank = m->shared->rank;
    const bool gives = coll->send.type != NULL;
    const bool gets = coll->recv.type != NULL;
    enum weft_rc rc = WEFT_OK;

    if (m->kind == WEFT_COLL_BCAST) {
        rc = open_gets(m, coll, rank != m->root);
        m->from = m->to = m->gets.at;
        return rc;
    }
    if (coll->send.buffer == MPI_IN_PLACE) {
        return open_in_place(m, coll);
    }
    if (gives) {
        rc = open_gives(m, coll);
        m->from = m->gives.at;
    }
    if (coll->recv.buffer == MPI_IN_PLACE) { /* the root's own block stays */
        m->to = m->from + m->has_gives * m->given * (uint64_t)rank;
    } else if (rc == WEFT_OK && gets) {
        rc = open_gets(m, coll, true);
        m->to = m->gets.at;
    }
    return rc;
}

static void close_sides(struct moves *m)
{
    weft_shared_side_close(&m->gives);
    weft_shared_side_close(&m->gets);
}

static void copy_own_block(const struct moves *m)
{
    const uint64_t rank = (uint64_t)m->shared->rank;
    char *to = m->to + (m->has_gets ? m->gotten * rank : 0);
    const char *from = m->from + (m->has_gives ? m->given * rank : 0);

    if (to != from) {
        memcpy(to, from, m->given < m->gotten ? m->given : m->gotten);
    }
    if (m->given != m->gotten) {
        weft_shared_note_other(m->shared, m->shared->rank, m->shared->rank, m->given);
    }
}

static bool has_own_block(const struct moves *m)
{
    return m->kind == WEFT_COLL_ALLGATHER || m->kind == WEFT_COLL_ALLTOALL ||
           (m->kind != WEFT_COLL_BCAST && m->shared->rank == m->root);
}

/* ---- pieces ---- */

/* A block on its way: where it is at either end, and its pieces. */
struct block {
    int from;
    int to;
    _Atomic uint64_t *claims;
    uint64_t from_at; /* behind what the one shows */
    uint64_t to_at;   /* and the other */
    uint64_t bytes;
    uint64_t given; /* by the one */
    bool is_other;  /* than the other expects */
    struct weft_pieces pieces;
};

/* The block that a member gives to another, of which this is one. They may name different
 * sizes, against the standard; then what fits is moved. False: nothing can be done with
 * it. */
static bool find_block(const struct moves *m, int from, int to, struct block *block)
{
    const int peer = from == m->shared->rank ? to : from;
    uint64_t theirs[2]; /* given, gotten */
    uint64_t given;
    uint64_t gotten;

    if (!has_block(m, from, to) ||
        !weft_shared_look(m->shared, peer, &theirs[0], &theirs[1])) {
        return false;
    }
    given = peer == from ? theirs[0] : m->given;
    gotten = peer == to ? theirs[1] : m->gotten;
    *block = (struct block){
        .from = from,
        .to = to,
        .claims = weft_board_pair(m->shared->board, m->shared->n, from, to),
        .from_at = m->has_gives ? given * (uint64_t)to : 0,
        .to_at = m->has_gets ? gotten * (uint64_t)from : 0,
        .bytes = given < gotten ? given : gotten,
        .given = given,
        .is_other = given != gotten,
    };
    block->pieces = weft_pieces_of_block(block->bytes, m->kind == WEFT_COLL_BCAST);
    return true;
}

/* Claims a piece: the part of the block from `at` on. False: none is left. */
static bool take(const struct moves *m, const struct block *block,
                 enum weft_claims_end end, uint64_t *at, uint64_t *bytes)
{
    const int piece =
        weft_shared_take(m->shared, block->claims, block->pieces.count, end);

    if (piece == WEFT_NO_PIECE) {
        return false;
    }
    *at = block->pieces.bytes * (uint64_t)piece;
    *bytes = block->bytes - *at < block->pieces.bytes ? block->bytes - *at
                                                      : block->pieces.bytes;
    return true;
}

/* One piece is done: counts it. */
static void count(const struct moves *m, const struct block *block)
{
    if (weft_claims_count(block->claims, block->pieces.count)) {
        if (block->is_other) {
            weft_shared_note_other(m->shared, block->to, block->from, block->given);
        }
        weft_shared_close_one(m->shared, block->from);
        weft_shared_close_one(m->shared, block->to);
    }
    weft_shared_drop(m->shared);
}

/* False: a piece could not be moved. */
static bool read_pieces(const struct moves *m, const struct block *block)
{
    uint64_t at;
    uint64_t bytes;

    while (take(m, block, WEFT_CLAIMS_FRONT, &at, &bytes)) {
        if (!weft_shared_get(m->shared, block->from, block->from_at + at,
                             m->to + block->to_at + at, bytes)) {
            return false;
        }
        count(m, block);
    }
    return true;
}

static bool write_pieces(const struct moves *m, const struct block *block)
{
    uint64_t at;
    uint64_t bytes;

    while (take(m, block, WEFT_CLAIMS_BACK, &at, &bytes)) {
        if (!weft_shared_put(m->shared, block->to, block->to_at + at,
                             m->from + block->from_at + at, bytes)) {
            return false;
        }
        count(m, block);
    }
    return true;
}

/* Each begins with its own neighbour, so that not all turn to one. */
static void move(void *work)
{
    const struct moves *m = work;
    const int rank = m->shared->rank;
    const int n = m->shared->n;
    struct block block;

    for (int i = 1; i < n; i++) {
        if (find_block(m, (rank + i) % n, rank, &block) && !read_pieces(m, &block)) {
            return;
        }
    }
    for (int i = 1; i < n; i++) {
        if (find_block(m, rank, (rank + n - i) % n, &block) && !write_pieces(m, &block)) {
            return;
        }
    }
}

/* ---- the call ---- */

/* Resets the claims of what this member gets; how many concern it. */
static uint32_t reset_claims(const struct moves *m)
{
    struct weft_shared *s = m->shared;
    uint32_t open = 0;

    for (int peer = 0; peer < s->n; peer++) {
        if (has_block(m, peer, s->rank)) {
            weft_claims_reset(weft_board_pair(s->board, s->n, peer, s->rank), s->call);
            open++;
        }
        open += has_block(m, s->rank, peer);
    }
    return open;
}

static uint64_t all_bytes(const struct moves *m, uint64_t bytes, bool has_blocks)
{
    return has_blocks ? bytes * (uint64_t)m->shared->n : bytes;
}

/* Do others write to this member's memory? A root that sends may have read-only memory.
 */
static bool is_written(const struct moves *m)
{
    const bool is_from_root = m->kind == WEFT_COLL_BCAST || m->kind == WEFT_COLL_SCATTER;

    return m->to != NULL && !(is_from_root && m->shared->rank == m->root);
}

/* What others read or write of ours. */
static void show(const struct moves *m)
{
    struct weft_shown shown = {
        .given = m->given,
        .gotten = m->gotten,
        .open = reset_claims(m),
    };

    if (m->from != NULL) {
        shown.gives.buffer = m->from;
        shown.gives.bytes = all_bytes(m, m->given, m->has_gives);
    }
    if (is_written(m)) {
        shown.gets.buffer = m->to;
        shown.gets.bytes = all_bytes(m, m->gotten, m->has_gets);
    }
    weft_shared_show(m->shared, &shown);
}

enum weft_rc weft_shared_move(struct weft_shared *shared, const struct weft_coll *coll,
                              const struct weft_shape *shape)
{
    const struct weft_coll_facts *facts = weft_coll_facts(coll->kind);
    struct moves m = {
        .shared = shared,
        .kind = coll->kind,
        .root = shape->root,
        .given = shape->given,
        .gotten = shape->bytes,
        .has_gives = facts->has_send_blocks,
        .has_gets = facts->has_recv_blocks,
    };
    enum weft_rc rc = open_sides(&m, coll);

    if (rc == WEFT_OK) {
        weft_shared_begin(shared, coll->name);
        show(&m);
        if (has_own_block(&m)) {
            copy_own_block(&m);
        }
        rc = weft_shared_run(shared, move, &m);
    }
    if (rc == WEFT_OK || rc == WEFT_ERR_TRUNCATE) {
        weft_shared_side_unpack(&m.gets);
    }
    close_sides(&m);
    return rc;
}
