#include "coll/shared.h"

#include "base/clock.h"
#include "base/texts.h"
#include "base/wait.h"
#include "coll/disagree.h"
#include "engine/engine.h"
#include "engine/wait.h"
#include "p2p/p2p.h"
#include "transfer/accessible.h"
#include "transfer/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STUCK_NS UINT64_C(10000000000) /* a death is known long before */

/* With the lock. */
static struct weft_shared *all_waiting;
static int users;   /* struct weft_shared that are open */
static void *spare; /* scratch that nobody uses, or NULL */

/* ---- news ---- */

/* Sequentially consistent, for weft_wait_wake(). */
static void tell(struct weft_board *board)
{
    atomic_fetch_add_explicit(&board->news, 1, memory_order_seq_cst);
    weft_wait_wake(&board->news, &board->sleepers);
}

static struct weft_board_entry *mine(const struct weft_shared *shared)
{
    return &shared->board->entries[shared->rank];
}

/* Somebody has died: whoever waits looks who it was. */
static void notice_failed(void)
{
    for (struct weft_shared *at = all_waiting; at != NULL; at = at->next_waiting) {
        tell(at->board);
    }
}

void weft_shared_start(void)
{
    all_waiting = NULL;
    weft_engine_on_failed(notice_failed);
}

/* ---- giving up ---- */

static bool is_dead(const struct weft_shared *shared, int rank)
{
    const struct weft_peer *peer = weft_peer_find(weft_comm_process(shared->comm, rank));

    return peer != NULL && peer->is_failed;
}

/* With the lock, which is dropped meanwhile. */
static void await_idle(const struct weft_shared *shared, int rank)
{
    const struct weft_board_entry *entry = &shared->board->entries[rank];

    while (atomic_load_explicit(&entry->is_busy, memory_order_seq_cst) != 0 &&
           !is_dead(shared, rank)) {
        weft_unlock();
        weft_wait_moment();
        weft_lock();
        weft_engine_poll();
    }
}

/* With the lock. Afterwards nobody works on this rank's buffers. */
static enum weft_rc give_up(struct weft_shared *shared)
{
    atomic_store_explicit(&mine(shared)->is_gone, 1, memory_order_seq_cst);
    for (int rank = 0; rank < shared->n; rank++) {
        if (rank != shared->rank) {
            await_idle(shared, rank);
        }
    }
    weft_p2p_revoke(shared->comm);
    return WEFT_ERR_PROC_FAILED;
}

/* ---- pieces that could not be moved ---- */

static void look_at(const struct weft_shared *shared, const struct weft_data *data,
                    bool is_received)
{
    char what[128];

    snprintf(what, sizeof(what), WEFT_S_BUFFER_CALL, is_received ? "receive" : "send",
             shared->name, shared->comm->name);
    weft_data_end_if_inaccessible(weft_engine.job, data, 0, data->bytes, is_received,
                                  what);
}

/* With the lock: ends the job if this rank's buffers are the cause. */
static void look_at_buffers(struct weft_shared *shared)
{
    shared->has_looked = true;
    look_at(shared, &shared->shown.gives, false);
    look_at(shared, &shared->shown.gets, true);
}

/* With the lock: a piece of ours could not be moved. A member has died, or has given the
 * communicator up, or ends the job. */
static void end_if_stuck(const struct weft_shared *shared)
{
    if (shared->stuck_since != 0 && weft_clock_ns() - shared->stuck_since > STUCK_NS) {
        weft_wireup_abort(weft_engine.job, MPI_ERR_BUFFER,
                          "the memory of a member cannot be read or written any more");
    }
}

/* Where no timer asks members, because there was no memory for it. */
static void await_end(const struct weft_shared *shared)
{
    end_if_stuck(shared);
    weft_unlock();
    weft_wait_moment();
    weft_lock();
    weft_engine_poll();
}

/* ---- waiting ---- */

struct news_wait {
    struct weft_call_wait base; /* first */
    struct weft_shared *shared;
};

/* Has a member not come? Before the first call that is whether it can reach all others.
 */
static bool is_missing(const struct weft_shared *shared, int rank)
{
    const struct weft_board_entry *entry = &shared->board->entries[rank];

    return shared->reach == WEFT_REACH_UNKNOWN
               ? atomic_load_explicit(&entry->reach, memory_order_acquire) ==
                     WEFT_REACH_UNKNOWN
               : atomic_load_explicit(&entry->shown, memory_order_acquire) !=
                     shared->call;
}

const struct weft_comm *weft_shared_waiting(int *missing)
{
    const struct weft_shared *shared = all_waiting;

    weft_assert_locked();
    *missing = -1;
    for (int rank = 0; shared != NULL && rank < shared->n && *missing < 0; rank++) {
        if (rank != shared->rank && is_missing(shared, rank)) {
            *missing = rank;
        }
    }
    return shared != NULL ? shared->comm : NULL;
}

/* A member that has shown its buffers says which call it makes. Others are asked, and so
 * is one that has given up: it may have heard of a member that makes another call. */
static void look_for_missing(struct weft_call_wait *base, int first)
{
    const struct weft_shared *shared = ((struct news_wait *)base)->shared;

    end_if_stuck(shared);
    for (int rank = first; rank < shared->n; rank++) {
        const struct weft_board_entry *entry = &shared->board->entries[rank];
        uint32_t word;

        if (rank == shared->rank) {
            continue;
        }
        if (is_missing(shared, rank) || !weft_shared_stays(shared, rank)) {
            if (!weft_call_wait_ask(base, rank)) {
                base->next = rank;
                return;
            }
            continue;
        }
        word = atomic_load_explicit(&entry->word, memory_order_relaxed);
        if (word == shared->word || shared->reach == WEFT_REACH_UNKNOWN) {
            continue;
        }
        if (weft_signature_is_same_call(word, shared->word)) {
            weft_call_wait_found(
                base, rank, word,
                atomic_load_explicit(&entry->given, memory_order_relaxed));
            return;
        }
        if (!weft_call_wait_ask(base, rank)) { /* it has made this call by another way */
            base->next = rank;
            return;
        }
    }
    weft_call_wait_ask_all(base, first);
}

static void end_wait(struct weft_call_wait *base)
{
    tell(((struct news_wait *)base)->shared->board);
}

static void wait_for_news(struct weft_shared *shared, uint32_t seen)
{
    const struct weft_wait_reason why = {shared->name, shared->comm->name, MPI_ANY_SOURCE,
                                         MPI_ANY_TAG, 0};
    struct news_wait wait = {
        .base = {.comm = shared->comm, .missing = look_for_missing, .end = end_wait},
        .shared = shared,
    };
    struct weft_shared **at;

    shared->next_waiting = all_waiting;
    all_waiting = shared;
    weft_call_wait_begin(&wait.base);
    weft_engine_wait_word(&shared->board->news, seen, &shared->board->sleepers, &why);
    weft_call_wait_end(&wait.base);
    for (at = &all_waiting; *at != shared; at = &(*at)->next_waiting) {
    }
    *at = shared->next_waiting;
}

/* Returns when there is news since `seen`, or a member has died. */
static enum weft_rc await(struct weft_shared *shared, uint32_t seen)
{
    enum weft_rc rc = WEFT_OK;

    if (shared->stuck_since == 0 && weft_wait_briefly(&shared->board->news, seen)) {
        return WEFT_OK;
    }
    weft_lock();
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed();
    }
    if (atomic_load_explicit(&shared->board->has_trouble, memory_order_relaxed) != 0 &&
        !shared->has_looked) {
        look_at_buffers(shared);
    }
    if (!weft_calls_are_whole(shared->comm)) {
        (void)give_up(shared);
        rc = WEFT_ERR_DISAGREE;
    } else if (shared->comm->is_revoked ||
               weft_p2p_failed_from(shared->comm, 0) != MPI_UNDEFINED) {
        rc = give_up(shared);
    } else if (shared->stuck_since != 0 && shared->comm->calls == NULL) {
        await_end(shared);
    } else {
        wait_for_news(shared, seen);
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}

static uint32_t news(const struct weft_shared *shared)
{
    return atomic_load_explicit(&shared->board->news, memory_order_acquire);
}

/* ---- opening ---- */

/* With the lock: can we read and write there? What a member shows for such trials never
 * changes (node/node.c), and so it is written as it is. Some systems refuse one of both.
 */
static bool can_move(const struct weft_peer *peer)
{
    const struct weft_node_area *area = weft_node_find(&weft_engine.node, peer->process);
    const struct weft_key key = {.address = area != NULL ? area->probe_address : 0};
    uint64_t value = 0;

    return area != NULL && weft_peer_can_reach(peer) &&
           weft_path_get(peer->path, &key, 0, &value, sizeof(value), NULL) == WEFT_OK &&
           value == area->probe_value &&
           weft_path_put(peer->path, &key, 0, &value, sizeof(value), NULL) == WEFT_OK;
}

/* With the lock: a way to the memory of each member. */
static bool find_paths(struct weft_shared *shared)
{
    for (int rank = 0; rank < shared->n; rank++) {
        struct weft_peer *peer = weft_peer_get(weft_comm_process(shared->comm, rank));

        if (rank == shared->rank) {
            continue;
        }
        if (peer == NULL || weft_engine_reach(peer) != WEFT_OK || !can_move(peer)) {
            return false;
        }
        shared->paths[rank] = peer->path;
    }
    return true;
}

struct weft_shared *weft_shared_open(struct weft_comm *comm, struct weft_board *board)
{
    struct weft_shared *shared =
        calloc(1, sizeof(*shared) + (size_t)comm->size * sizeof(shared->paths[0]));

    weft_assert_locked();
    if (shared != NULL) {
        shared->comm = comm;
        shared->board = board;
        shared->n = comm->size;
        shared->rank = comm->rank;
        users++;
    }
    return shared;
}

void weft_shared_close(struct weft_shared *shared)
{
    weft_assert_locked();
    if (shared != NULL && --users == 0) {
        free(spare);
        spare = NULL;
    }
    free(shared);
}

/* What all members have found; unknown, as long as one of them has not come. */
static enum weft_reach reach_of_all(const struct weft_shared *shared)
{
    enum weft_reach all = WEFT_REACH_ALL;

    for (int rank = 0; rank < shared->n; rank++) {
        const enum weft_reach one = (enum weft_reach)atomic_load_explicit(
            &shared->board->entries[rank].reach, memory_order_acquire);

        if (one == WEFT_REACH_UNKNOWN) {
            return one;
        }
        all = one == WEFT_REACH_NOT ? one : all;
    }
    return all;
}

static uint32_t count_workers(int n)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors < 1 ? 1 : (uint32_t)(processors < n ? processors : n);
}

uint64_t weft_shared_workers(const struct weft_shared *shared)
{
    return shared->board->workers;
}

static enum weft_rc agree(struct weft_shared *shared)
{
    enum weft_rc rc = WEFT_OK;
    bool can;

    weft_lock();
    can = !weft_has_checksum() && find_paths(shared);
    weft_unlock();
    if (shared->rank == 0) {
        shared->board->workers = count_workers(shared->n);
    }
    atomic_store_explicit(&mine(shared)->reach, can ? WEFT_REACH_ALL : WEFT_REACH_NOT,
                          memory_order_release);
    tell(shared->board);
    while (rc == WEFT_OK && shared->reach == WEFT_REACH_UNKNOWN) {
        const uint32_t seen = news(shared);

        shared->reach = reach_of_all(shared);
        if (shared->reach == WEFT_REACH_UNKNOWN) {
            rc = await(shared, seen);
        }
    }
    return rc;
}

enum weft_rc weft_shared_agree(struct weft_shared *shared, const char *name, bool *can)
{
    enum weft_rc rc = WEFT_OK;

    if (weft_unlikely(shared->reach == WEFT_REACH_UNKNOWN)) {
        shared->name = name;
        rc = agree(shared);
    }
    *can = shared->reach == WEFT_REACH_ALL;
    return rc;
}

/* ---- a call ---- */

void weft_shared_begin(struct weft_shared *shared, const char *name)
{
    shared->name = name;
    shared->call++;
}

void weft_shared_show(struct weft_shared *shared, const struct weft_shown *shown)
{
    struct weft_board_entry *entry = mine(shared);

    shared->shown = *shown;
    atomic_store_explicit(&entry->shown, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* pairs with weft_shared_look() */
    entry->from = (uint64_t)(uintptr_t)shown->gives.buffer;
    entry->to = (uint64_t)(uintptr_t)shown->gets.buffer;
    atomic_store_explicit(&entry->given, shown->given, memory_order_relaxed);
    atomic_store_explicit(&entry->gotten, shown->gotten, memory_order_relaxed);
    atomic_store_explicit(&entry->word, shared->word, memory_order_relaxed);
    atomic_store_explicit(&entry->other, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->open, shown->open, memory_order_relaxed);
    atomic_store_explicit(&entry->shown, shared->call, memory_order_release);
    tell(shared->board);
}

/* Pairs with the release in weft_shared_close_one() and _all(). */
static bool is_over(const struct weft_shared *shared)
{
    return atomic_load_explicit(&mine(shared)->open, memory_order_acquire) == 0;
}

enum weft_rc weft_shared_run(struct weft_shared *shared, void (*step)(void *work),
                             void *work)
{
    uint32_t other;

    for (;;) {
        const uint32_t seen = news(shared);
        enum weft_rc rc;

        step(work);
        if (is_over(shared)) {
            break;
        }
        rc = await(shared, seen);
        if (rc != WEFT_OK) {
            return rc;
        }
    }
    other = atomic_load_explicit(&mine(shared)->other, memory_order_relaxed);
    if (weft_likely(other == 0)) {
        return WEFT_OK;
    }
    (void)weft_disagree_bytes(
        shared->comm, (int)other - 1,
        atomic_load_explicit(&mine(shared)->other_bytes, memory_order_relaxed));
    return WEFT_ERR_TRUNCATE;
}

/* ---- pieces ---- */

bool weft_shared_look(const struct weft_shared *shared, int rank, uint64_t *given,
                      uint64_t *gotten)
{
    const struct weft_board_entry *entry = &shared->board->entries[rank];

    if (!weft_shared_has(shared, rank)) {
        return false;
    }
    *given = atomic_load_explicit(&entry->given, memory_order_relaxed);
    *gotten = atomic_load_explicit(&entry->gotten, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire); /* pairs with weft_shared_show() */
    return atomic_load_explicit(&entry->shown, memory_order_relaxed) == shared->call;
}

int weft_shared_take(struct weft_shared *shared, _Atomic uint64_t *claims, int pieces,
                     enum weft_claims_end end)
{
    int piece;

    atomic_store_explicit(&mine(shared)->is_busy, 1, memory_order_seq_cst);
    piece = weft_claims_take(claims, shared->call, pieces, end);
    if (piece == WEFT_NO_PIECE) {
        weft_shared_drop(shared);
    }
    return piece;
}

/* Release: what was done is over for whoever sees it. */
void weft_shared_drop(struct weft_shared *shared)
{
    atomic_store_explicit(&mine(shared)->is_busy, 0, memory_order_release);
}

bool weft_shared_stays(const struct weft_shared *shared, int rank)
{
    return atomic_load_explicit(&shared->board->entries[rank].is_gone,
                                memory_order_seq_cst) == 0;
}

/* Who is gone has seen that a member is dead, which we shall see as well. */
static bool fail(struct weft_shared *shared)
{
    weft_shared_drop(shared);
    shared->stuck_since = weft_clock_ns();
    atomic_store_explicit(&shared->board->has_trouble, 1, memory_order_relaxed);
    tell(shared->board);
    return false;
}

bool weft_shared_get(struct weft_shared *shared, int rank, uint64_t offset, void *to,
                     size_t bytes)
{
    const struct weft_key key = {.address = shared->board->entries[rank].from};

    return (weft_shared_stays(shared, rank) &&
            weft_path_get(shared->paths[rank], &key, offset, to, bytes, NULL) ==
                WEFT_OK) ||
           fail(shared);
}

bool weft_shared_put(struct weft_shared *shared, int rank, uint64_t offset,
                     const void *from, size_t bytes)
{
    const struct weft_key key = {.address = shared->board->entries[rank].to};

    return (weft_shared_stays(shared, rank) &&
            weft_path_put(shared->paths[rank], &key, offset, from, bytes, NULL) ==
                WEFT_OK) ||
           fail(shared);
}

void weft_shared_note_other(struct weft_shared *shared, int rank, int other,
                            uint64_t bytes)
{
    struct weft_board_entry *entry = &shared->board->entries[rank];

    atomic_store_explicit(&entry->other_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&entry->other, (uint32_t)other + 1, memory_order_relaxed);
}

void weft_shared_close_one(struct weft_shared *shared, int rank)
{
    /* Release, and acquire for the last: it is told that all is done. */
    if (atomic_fetch_sub_explicit(&shared->board->entries[rank].open, 1,
                                  memory_order_acq_rel) == 1 &&
        rank != shared->rank) {
        tell(shared->board);
    }
}

void weft_shared_close_all(struct weft_shared *shared)
{
    for (int rank = 0; rank < shared->n; rank++) {
        atomic_fetch_sub_explicit(&shared->board->entries[rank].open, 1,
                                  memory_order_release);
    }
    tell(shared->board);
}

/* ---- buffers ---- */

enum weft_rc weft_shared_side_open(struct weft_shared_side *side,
                                   const struct weft_data *data, bool is_empty)
{
    *side = (struct weft_shared_side){.data = *data};
    if (data->type == NULL) {
        side->at = weft_data_at(data, 0);
        return WEFT_OK;
    }
    side->copy = malloc(data->bytes);
    if (side->copy == NULL) {
        return WEFT_ERR_NOMEM;
    }
    side->at = side->copy;
    if (!is_empty) {
        weft_data_pack(data, side->copy);
    }
    return WEFT_OK;
}

void weft_shared_side_close(struct weft_shared_side *side)
{
    free(side->copy);
    side->copy = NULL;
}

void weft_shared_side_unpack(struct weft_shared_side *side)
{
    if (side->copy != NULL) {
        weft_data_scatter(&side->data, 0, side->copy, side->data.bytes);
    }
}

void *weft_shared_scratch_take(void)
{
    void *scratch;

    weft_lock();
    scratch = spare;
    spare = NULL;
    weft_unlock();
    return scratch != NULL ? scratch : aligned_alloc(64, WEFT_SCRATCH_BYTES);
}

void weft_shared_scratch_give(void *scratch)
{
    weft_lock();
    if (spare == NULL) {
        spare = scratch;
        scratch = NULL;
    }
    weft_unlock();
    free(scratch);
}
