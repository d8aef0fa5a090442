#include "rma/direct.h"

#include "datatype/cursor.h"
#include "engine/engine.h"
#include "rma/apply.h"
#include "rma/update.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are moved at once where neither side is one block, and the most of them that
 * are staged on the stack, which may be a small one. */
enum { STAGE = 8192, STAGE_STACK = 512 };

/* Memory for staging `bytes` bytes at a time, from `small` if they fit, or NULL. */
static char *take_stage(char *small, size_t bytes)
{
    return bytes <= STAGE_STACK ? small : malloc(bytes);
}

static void give_stage(const char *small, char *stage)
{
    if (stage != small) {
        free(stage);
    }
}

/* ---- memory of the member ---- */

/* Counts a copy (words.h). False: the member has taken its memory back. */
static bool begin_copy(const struct weft_win *win, const struct weft_near *near)
{
    _Atomic uint16_t *copies =
        weft_words_copies(win->own_words, win->near_members, near->number);

    atomic_fetch_add_explicit(copies, 1, memory_order_seq_cst);
    if (weft_likely(atomic_load_explicit(&near->words->is_closed, memory_order_seq_cst) ==
                    0)) {
        return true;
    }
    atomic_fetch_sub_explicit(copies, 1, memory_order_relaxed);
    return false;
}

/* Release: whoever sees the count has what was copied. */
static void end_copy(const struct weft_win *win, const struct weft_near *near)
{
    atomic_fetch_sub_explicit(
        weft_words_copies(win->own_words, win->near_members, near->number), 1,
        memory_order_release);
}

/* The blocks of some bytes of the data, from `offset` on; *bytes becomes what they are.
 */
static size_t list_blocks(const struct weft_data *data, uint64_t offset, size_t *bytes,
                          struct iovec blocks[WEFT_IOV_MAX])
{
    struct weft_cursor cursor;
    size_t n;

    if (data->type == NULL) {
        blocks[0] = (struct iovec){weft_data_at(data, offset), *bytes};
        return 1;
    }
    weft_data_start_cursor(&cursor, data);
    cursor.position = offset;
    n = weft_cursor_iov(&cursor, blocks, WEFT_IOV_MAX, *bytes);
    *bytes = (size_t)(cursor.position - offset);
    return n;
}

/* Moves a block of ours to or from the member's memory, by single copy. */
static enum weft_rc move(const struct weft_near *near, const struct weft_data *there,
                         uint64_t offset, void *ours, size_t bytes, bool is_put)
{
    const struct weft_memory_ops *ops = near->path->memory;
    struct iovec theirs[WEFT_IOV_MAX];

    while (bytes > 0) {
        size_t some = bytes;
        const size_t n = list_blocks(there, offset, &some, theirs);
        const struct iovec mine = {ours, some};
        const struct weft_move one = {0, theirs, n, &mine, 1};
        const enum weft_rc rc =
            is_put ? ops->put(near->path, &one, NULL) : ops->get(near->path, &one, NULL);

        if (rc != WEFT_OK) {
            return rc;
        }
        ours = (char *)ours + some;
        offset += some;
        bytes -= some;
    }
    return WEFT_OK;
}

static enum weft_rc load(const struct weft_near *near, const struct weft_data *there,
                         uint64_t offset, void *to, size_t bytes)
{
    if (!near->is_mapped) {
        return move(near, there, offset, to, bytes, false);
    }
    weft_data_gather(there, offset, to, bytes);
    return WEFT_OK;
}

static enum weft_rc store(const struct weft_near *near, const struct weft_data *there,
                          uint64_t offset, const void *from, size_t bytes)
{
    if (!near->is_mapped) {
        return move(near, there, offset, (void *)(uintptr_t)from, bytes, true);
    }
    weft_data_scatter(there, offset, from, bytes);
    return WEFT_OK;
}

/* ---- put and get ---- */

static enum weft_rc put(const struct weft_near *near, const struct weft_data *there,
                        const struct weft_rma_call *call)
{
    _Alignas(64) char small[STAGE_STACK];
    char *stage;
    enum weft_rc rc = WEFT_OK;

    if (call->origin.type == NULL) {
        return store(near, there, 0, call->origin.buffer, call->bytes);
    }
    if (near->is_mapped && there->type == NULL) {
        weft_data_gather(&call->origin, 0, weft_data_at(there, 0), call->bytes);
        return WEFT_OK;
    }
    stage = take_stage(small, call->bytes < STAGE ? call->bytes : STAGE);
    if (stage == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (uint64_t at = 0; at < call->bytes && rc == WEFT_OK; at += STAGE) {
        const uint64_t left = call->bytes - at;
        const size_t some = left < STAGE ? (size_t)left : STAGE;

        weft_data_gather(&call->origin, at, stage, some);
        rc = store(near, there, at, stage, some);
    }
    give_stage(small, stage);
    return rc;
}

static enum weft_rc get(const struct weft_near *near, const struct weft_data *there,
                        const struct weft_rma_call *call)
{
    _Alignas(64) char small[STAGE_STACK];
    char *stage;
    enum weft_rc rc = WEFT_OK;

    if (call->result.type == NULL) {
        return load(near, there, 0, weft_data_at(&call->result, 0), call->bytes);
    }
    if (near->is_mapped && there->type == NULL) {
        weft_data_scatter(&call->result, 0, weft_data_at(there, 0), call->bytes);
        return WEFT_OK;
    }
    stage = take_stage(small, call->bytes < STAGE ? call->bytes : STAGE);
    if (stage == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (uint64_t at = 0; at < call->bytes && rc == WEFT_OK; at += STAGE) {
        const uint64_t left = call->bytes - at;
        const size_t some = left < STAGE ? (size_t)left : STAGE;

        rc = load(near, there, at, stage, some);
        if (rc == WEFT_OK) {
            weft_data_scatter(&call->result, at, stage, some);
        }
    }
    give_stage(small, stage);
    return rc;
}

/* ---- accumulates ---- */

static bool is_fetch(const struct weft_rma_call *call)
{
    return call->kind != WEFT_RMA_ACCUMULATE;
}

/* Some elements, packed, under the word. The stage has room for two times their bytes. */
static enum weft_rc update_some(const struct weft_near *near,
                                const struct weft_data *there,
                                const struct weft_rma_call *call, uint64_t at,
                                size_t some, char *stage)
{
    char *values = stage;
    char *in = stage + some;
    const bool is_changed = call->kind == WEFT_RMA_SWAP || call->op != MPI_NO_OP;
    enum weft_rc rc;

    if (is_changed) {
        weft_data_gather(&call->origin, at, in, some);
    }
    rc = load(near, there, at, values, some);
    if (rc == WEFT_OK && is_fetch(call)) {
        weft_data_scatter(&call->result, at, values, some);
    }
    if (rc != WEFT_OK || !is_changed) {
        return rc;
    }
    if (call->kind == WEFT_RMA_SWAP) {
        weft_rma_swap(call->basic, call->compare.buffer, in, values);
    } else {
        weft_rma_apply(call->op, call->basic, in, values, some);
    }
    rc = store(near, there, at, values, some);
    /* Of several blocks some may have been stored, and are not to be added to again. */
    return rc == WEFT_ERR_UNSUPPORTED && there->type != NULL ? WEFT_ERR_ADDRESS : rc;
}

/* Can the arithmetic be done on the member's memory, and on the origin's buffer? */
static bool is_plain(const struct weft_near *near, const struct weft_data *there,
                     const struct weft_rma_call *call)
{
    return near->is_mapped && there->type == NULL && call->op != MPI_NO_OP &&
           call->kind != WEFT_RMA_SWAP && call->origin.type == NULL;
}

static enum weft_rc update(struct weft_win *win, const struct weft_near *near,
                           const struct weft_data *there,
                           const struct weft_rma_call *call)
{
    const bool plain = is_plain(near, there, call);
    const size_t room = plain ? WEFT_UPDATE_BYTES : STAGE;
    const size_t most = room / call->basic->size * call->basic->size;
    _Alignas(64) char small[STAGE_STACK];
    char *stage = small;
    enum weft_rc rc = WEFT_OK;

    if (!plain) {
        stage = take_stage(small, 2 * (call->bytes < most ? call->bytes : most));
    }
    if (stage == NULL) {
        return WEFT_ERR_NOMEM;
    }
    for (uint64_t at = 0; at < call->bytes && rc == WEFT_OK; at += most) {
        const uint64_t left = call->bytes - at;
        const size_t some = left < most ? (size_t)left : most;

        weft_update_begin(win, near->words);
        if (!plain) {
            rc = update_some(near, there, call, at, some, stage);
        } else {
            if (is_fetch(call)) {
                weft_data_scatter(&call->result, at, weft_data_at(there, at), some);
            }
            weft_rma_apply(call->op, call->basic, weft_data_at(&call->origin, at),
                           weft_data_at(there, at), some);
        }
        weft_update_end(near->words);
        if (rc == WEFT_ERR_UNSUPPORTED && at > 0) {
            rc = WEFT_ERR_ADDRESS;
        }
    }
    give_stage(small, stage);
    return rc;
}

static enum weft_rc run(struct weft_win *win, const struct weft_near *near,
                        const struct weft_rma_call *call)
{
    const uintptr_t base =
        near->is_mapped ? (uintptr_t)near->memory : (uintptr_t)near->base;
    const struct weft_data there = weft_data_of(
        (void *)(base + (uintptr_t)call->where.at), (MPI_Count)call->where.count,
        call->where.type, call->where.count * call->where.type->size);

    switch (call->kind) {
    case WEFT_RMA_PUT:
        return put(near, &there, call);
    case WEFT_RMA_GET:
        return get(near, &there, call);
    default:
        return update(win, near, &there, call);
    }
}

/* ---- failures ---- */

static bool is_told(const struct weft_near_wait *wait)
{
    const struct weft_peer *peer =
        weft_peer_find(weft_comm_process(wait->win->comm, wait->rank));

    return peer != NULL && peer->is_failed;
}

static bool is_never_vain(const struct weft_near_wait *wait)
{
    (void)wait;
    return false;
}

/* Returns when the launcher has told of the end of a member whose process is gone. */
static enum weft_rc await_failure(struct weft_win *win, const struct weft_near *near,
                                  const char *call)
{
    struct weft_near_wait wait = {
        .win = win,
        .words = win->own_words,
        .word = &win->own_words->bell,
        .is_so = is_told,
        .is_vain = is_never_vain,
        .rank = near->rank,
        .call = call,
    };
    const enum weft_rc rc = weft_near_wait_long(&wait);

    return rc == WEFT_OK ? WEFT_ERR_PROC_FAILED : rc;
}

enum weft_rc weft_direct_run(struct weft_win *win, const struct weft_near *near,
                             const struct weft_rma_call *call)
{
    enum weft_rc rc;

    if (near->is_mapped) {
        return run(win, near, call);
    }
    if (!begin_copy(win, near)) {
        return WEFT_ERR_ARGUMENT;
    }
    rc = run(win, near, call);
    end_copy(win, near);
    switch (rc) {
    case WEFT_OK:
    case WEFT_ERR_NOMEM:
    case WEFT_ERR_UNSUPPORTED:
        return rc;
    case WEFT_ERR_PROC_FAILED:
        return await_failure(win, near, call->name);
    default:
        return WEFT_ERR_ADDRESS;
    }
}

static bool copy_block(const struct weft_near *near, uint64_t at, void *ours,
                       size_t bytes, bool is_put)
{
    const struct iovec theirs = {(void *)(uintptr_t)(near->base + at), bytes};
    const struct iovec mine = {ours, bytes};
    const struct weft_move one = {0, &theirs, 1, &mine, 1};
    const struct weft_memory_ops *ops = near->path->memory;

    return (is_put ? ops->put(near->path, &one, NULL)
                   : ops->get(near->path, &one, NULL)) == WEFT_OK;
}

bool weft_direct_copy(const struct weft_win *win, const struct weft_near *near,
                      uint64_t at, void *ours, size_t bytes, bool is_put)
{
    bool is_done;

    if (weft_unlikely(!begin_copy(win, near))) {
        return false;
    }
    is_done = copy_block(near, at, ours, bytes, is_put);
    end_copy(win, near);
    return is_done;
}

bool weft_direct_change(struct weft_win *win, const struct weft_near *near, uint64_t at,
                        const struct weft_direct_update *update)
{
    _Alignas(64) char values[WEFT_DIRECT_UPDATE];
    const uint32_t bytes = update->bytes;
    bool is_done;

    assert(bytes <= sizeof(values));
    if (weft_unlikely(!begin_copy(win, near))) {
        return false;
    }
    weft_update_begin(win, near->words);
    is_done = copy_block(near, at, values, bytes, false);
    if (is_done) {
        if (update->old != NULL) {
            memcpy(update->old, values, bytes);
        }
        if (update->compare != NULL) {
            weft_rma_swap(update->type, update->compare, update->in, values);
        } else {
            weft_rma_apply(update->op, update->type, update->in, values, bytes);
        }
        is_done = update->op == MPI_NO_OP || copy_block(near, at, values, bytes, true);
    }
    weft_update_end(near->words);
    end_copy(win, near);
    return is_done;
}
