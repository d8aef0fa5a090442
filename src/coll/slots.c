#include "coll/slots.h"

#include "base/wait.h"
#include "coll/disagree.h"
#include "coll/shared.h"
#include "engine/engine.h"
#include "engine/lock.h"
#include "p2p/p2p.h"
#include "node/heap.h"

#include <assert.h>
#include <stdlib.h>

enum {
    LINE = 64,
    FLAGS_RANKS = 8, /* up to here a member looks at the flags of all others */
};

#define POISON  UINT32_C(0x80000000)
#define NUMBERS (POISON - 1) /* the bits of the number of a call, or of a meeting */

/* ---- what is shared ---- */

struct meeting {
    _Atomic uint64_t arrived; /* members, and from bit 32 on the sum of their marks */
    _Atomic uint32_t generation;
    _Atomic uint32_t sleepers; /* on `generation` */
    _Atomic uint32_t verdict;  /* enum verdict, of the last one to come, for all */
    uint32_t unused[11];
};

enum verdict { AGREED, REFUSED, DISAGREED };

struct head {
    _Atomic uint32_t done;     /* the last call that this member has finished */
    _Atomic uint32_t sleepers; /* on `done`, and on flags of this member's lines */
    uint32_t unused[14];
};

struct line {
    _Atomic uint32_t flag; /* the call whose data are here */
    uint32_t word;         /* which call it is (signature.h) */
    uint64_t bytes;
    uint8_t data[WEFT_SLOT_INLINE];
};

struct member {
    struct head head;
    struct line lines[WEFT_SLOTS_ROUNDS];
};

struct shared {
    struct meeting meeting;
    uint8_t result[LINE];
    struct member members[];
};

_Static_assert(sizeof(struct meeting) == LINE, "one cache line");
_Static_assert(sizeof(struct head) == LINE, "one cache line");
_Static_assert(sizeof(struct line) == LINE, "one cache line");

/* ---- what each process has ---- */

struct weft_slots {
    struct weft_comm *comm;
    struct weft_extent extent;
    struct shared *shared;
    int n;
    int rank;
    uint32_t call;     /* the call under way, or the last one */
    uint32_t word;     /* which call it is */
    uint32_t finished; /* a call that all members have finished, by all that we know */
    uint32_t meetings;
    bool is_crowded;
    bool is_owner;
    struct weft_shared *large;      /* for large data; NULL: there are too many members */
    struct weft_node_area *areas[]; /* of the members */
};

/* Stands for: this communicator has none, and never will. */
static struct weft_slots none;

/* A thread that waits, for weft_engine_on_failed(). With the lock. */
struct waiting {
    struct waiting *next;
    const struct weft_slots *slots;
    _Atomic uint32_t *word;
};
static struct waiting *all_waiting;

static uint64_t (*owner_of_context)(uint32_t context);

static struct line *line_of(const struct weft_slots *slots, int rank)
{
    return &slots->shared->members[rank].lines[slots->call % WEFT_SLOTS_ROUNDS];
}

static size_t head_bytes(int n)
{
    const size_t bytes = sizeof(struct shared) + (size_t)n * sizeof(struct member);

    return (bytes + WEFT_NODE_PAGE - 1) / WEFT_NODE_PAGE * WEFT_NODE_PAGE;
}

/* The long data of a member; behind the last one's are those of a result. */
static void *long_data(const struct weft_slots *slots, int rank, uint32_t round)
{
    return (char *)slots->shared + head_bytes(slots->n) +
           ((size_t)rank * WEFT_SLOTS_ROUNDS + round) * WEFT_SLOT_BYTES;
}

/* The board of large calls is the last. */
static uint64_t bytes_before_board(int n)
{
    return head_bytes(n) + ((uint64_t)n * WEFT_SLOTS_ROUNDS + 1) * WEFT_SLOT_BYTES;
}

static uint64_t all_bytes(int n)
{
    return bytes_before_board(n) + (n <= WEFT_PIECES_RANKS ? weft_board_bytes(n) : 0);
}

/* ---- failures ---- */

static bool has_failed_member(const struct weft_comm *comm)
{
    return comm->is_revoked || weft_p2p_failed_from(comm, 0) != MPI_UNDEFINED;
}

/* Changes a word that a thread of ours awaits. Another process may have done so before:
 * then it changes once more, because our thread may have gone back to sleep since. */
static void poison(_Atomic uint32_t *word)
{
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(
        word, &seen, POISON | ((seen + 1) & NUMBERS), memory_order_seq_cst,
        memory_order_relaxed)) {
    }
}

/* With the lock. */
static void notice_failed(void)
{
    for (struct waiting *at = all_waiting; at != NULL; at = at->next) {
        if (has_failed_member(at->slots->comm)) {
            poison(at->word);
        }
    }
}

void weft_slots_open(uint64_t (*context_owner)(uint32_t context))
{
    owner_of_context = context_owner;
    all_waiting = NULL;
    weft_engine_on_failed(notice_failed);
    weft_shared_start();
}

static enum weft_rc give_up(struct weft_comm *comm)
{
    weft_p2p_revoke(comm);
    return WEFT_ERR_PROC_FAILED;
}

/* Has anybody of the job failed? Then whether it is a member is to be found out. */
static bool is_job_whole(void)
{
    return weft_likely(atomic_load_explicit(weft_engine.failures, memory_order_relaxed) ==
                       0);
}

static enum weft_rc check_members(struct weft_comm *comm)
{
    enum weft_rc rc = WEFT_OK;

    weft_lock();
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed();
    }
    if (has_failed_member(comm)) {
        rc = give_up(comm);
    }
    weft_unlock();
    return rc;
}

/* ---- waiting ---- */

struct awaited {
    _Atomic uint32_t *word;
    _Atomic uint32_t *sleepers;
    uint32_t value;
    bool is_at_least; /* or any later value */
};

/* Is a number not before the other? They wrap around, and are never far apart. */
static bool is_at_least(uint32_t number, uint32_t other)
{
    return ((number - other) & NUMBERS) < NUMBERS / 2;
}

static bool is_reached(const struct awaited *a, uint32_t value)
{
    return (value & POISON) == 0 &&
           (a->is_at_least ? is_at_least(value, a->value) : value == a->value);
}

static bool is_there(const struct awaited *a)
{
    return is_reached(a, atomic_load_explicit(a->word, memory_order_acquire));
}

/* ---- members that do not come, or come with another call ---- */

struct long_wait {
    struct weft_call_wait base; /* first */
    struct weft_slots *slots;
    const struct awaited *awaited;
};

/* The bytes of a block in the call of a line, which has the blocks of all members in some
 * collectives. */
static uint64_t block_bytes(const struct weft_slots *slots, const struct line *line)
{
    switch (weft_signature_kind(line->word)) {
    case WEFT_COLL_SCATTER:
    case WEFT_COLL_ALLTOALL:
    case WEFT_COLL_REDUCE_SCATTER_BLOCK:
        return line->bytes / (unsigned)slots->n;
    case WEFT_COLL_REDUCE_SCATTER:
        return 0;
    default:
        return line->bytes;
    }
}

/* A member that has shown its line says there which call it makes; others are asked. */
static void look_for_missing(struct weft_call_wait *base, int first)
{
    const struct long_wait *wait = (struct long_wait *)base;
    const struct weft_slots *slots = wait->slots;

    for (int rank = first; rank < slots->n; rank++) {
        const struct line *line = line_of(slots, rank);

        if (rank == slots->rank) {
            continue;
        }
        if (atomic_load_explicit(&line->flag, memory_order_acquire) != slots->call ||
            !weft_signature_is_same_call(line->word, slots->word)) {
            if (!weft_call_wait_ask(base, rank)) {
                base->next = rank;
                return;
            }
        } else if (line->word != slots->word) {
            weft_call_wait_found(base, rank, line->word, block_bytes(slots, line));
            return;
        }
    }
    weft_call_wait_ask_all(base, first);
}

static void end_wait(struct weft_call_wait *base)
{
    const struct awaited *a = ((struct long_wait *)base)->awaited;

    poison(a->word);
    weft_wait_wake(a->word, a->sleepers);
}

static enum weft_rc wait_long(struct weft_slots *slots, const struct awaited *a,
                              const struct weft_wait_reason *why)
{
    struct waiting self = {.slots = slots, .word = a->word};
    struct long_wait long_wait = {
        .base = {.comm = slots->comm, .missing = look_for_missing, .end = end_wait},
        .slots = slots,
        .awaited = a,
    };
    enum weft_rc rc = WEFT_OK;
    struct waiting **at;

    weft_lock();
    self.next = all_waiting;
    all_waiting = &self;
    weft_call_wait_begin(&long_wait.base);
    while (rc == WEFT_OK) {
        const uint32_t seen = atomic_load_explicit(a->word, memory_order_acquire);

        if (is_reached(a, seen)) {
            break;
        }
        if (!weft_calls_are_whole(slots->comm)) {
            rc = WEFT_ERR_DISAGREE;
        } else if (has_failed_member(slots->comm)) {
            rc = give_up(slots->comm);
        } else {
            weft_engine_wait_word(a->word, seen, a->sleepers, why);
        }
    }
    weft_call_wait_end(&long_wait.base);
    for (at = &all_waiting; *at != &self; at = &(*at)->next) {
    }
    *at = self.next;
    weft_engine_leave();
    weft_unlock();
    return rc;
}

static enum weft_rc wait_for(struct weft_slots *slots, const struct awaited *a,
                             const struct weft_wait_reason *why)
{
    uint32_t seen;

    do {
        seen = atomic_load_explicit(a->word, memory_order_acquire);
        if (is_reached(a, seen)) {
            return WEFT_OK;
        }
    } while (weft_wait_briefly(a->word, seen));
    return wait_long(slots, a, why);
}

/* A member that waits for a line of an earlier call to be read has not shown its own. */
const struct weft_comm *weft_slots_waiting(int *missing)
{
    const struct weft_slots *slots = all_waiting != NULL ? all_waiting->slots : NULL;

    weft_assert_locked();
    *missing = -1;
    for (int rank = 0; slots != NULL && rank < slots->n && *missing < 0; rank++) {
        const struct awaited shown = {.word = &line_of(slots, rank)->flag,
                                      .value = slots->call};

        if (rank != slots->rank && !is_there(&shown)) {
            *missing = rank;
        }
    }
    return slots != NULL ? slots->comm : NULL;
}

/* Stores a word of this member that others may await, and wakes those who sleep. */
static void store(struct weft_slots *slots, _Atomic uint32_t *word, uint32_t value,
                  _Atomic uint32_t *sleepers)
{
    if (slots->is_crowded) {
        atomic_store_explicit(word, value, memory_order_seq_cst);
        weft_wait_wake(word, sleepers);
        return;
    }
    atomic_store_explicit(word, value, memory_order_release);
    for (int rank = 0; rank < slots->n; rank++) {
        if (rank != slots->rank) {
            weft_node_notice(slots->areas[rank], WEFT_WAKE_ALL);
        }
    }
}

/*
 * A member's line has another word. If it is of another number, that member has made this
 * rank's call by another way, and its answer says which call that was: waits for it.
 */
static WEFT_COLD enum weft_rc differ(struct weft_slots *slots, int rank,
                                     const struct weft_wait_reason *why)
{
    struct line *line = line_of(slots, rank);
    const struct awaited never = {
        .word = &line->flag,
        .sleepers = &slots->shared->members[rank].head.sleepers,
        .value = POISON,
    };

    return weft_signature_is_same_call(line->word, slots->word)
               ? weft_disagree_word(slots->comm, rank, line->word,
                                    block_bytes(slots, line))
               : wait_long(slots, &never, why);
}

/* ---- making ---- */

static bool is_over_shared_memory(void)
{
    for (int i = 0; i < weft_engine.list_count; i++) {
        if (weft_engine.list[i].ops->is_node_local) {
            return true;
        }
    }
    return false;
}

/* By what all members know alike. */
static bool could_have(const struct weft_comm *comm)
{
    const struct weft_segment *segment = &weft_engine.job->segment;

    if (weft_comm_is_inter(comm) || comm->size < 2 || comm->size > WEFT_SLOTS_RANKS ||
        !is_over_shared_memory()) {
        return false;
    }
    for (int rank = 0; rank < comm->size; rank++) {
        const uint64_t process = weft_comm_process(comm, rank);

        if (weft_process_job(process) != segment->job ||
            weft_segment_map(segment)[weft_process_rank(process)].node !=
                segment->header->node) {
            return false;
        }
    }
    return true;
}

static void unmap(struct weft_slots *slots)
{
    if (slots->large != NULL) {
        weft_shared_close(slots->large);
    }
    weft_heap_unmap(slots->shared, slots->extent);
    free(slots);
}

/* With the lock: what this process has of them; NULL: it cannot map them. */
static struct weft_slots *map(struct weft_comm *comm, struct weft_extent extent)
{
    const size_t n = (size_t)comm->size;
    struct weft_slots *slots = calloc(1, sizeof(*slots) + n * sizeof(slots->areas[0]));
    bool is_complete = slots != NULL && extent.bytes > 0;

    for (int rank = 0; is_complete && rank < comm->size; rank++) {
        slots->areas[rank] =
            weft_node_find(&weft_engine.node, weft_comm_process(comm, rank));
        is_complete = slots->areas[rank] != NULL;
    }
    if (is_complete) {
        slots->shared = weft_heap_map(&weft_engine.node, extent);
    }
    if (!is_complete || slots->shared == NULL) {
        free(slots);
        return NULL;
    }
    slots->comm = comm;
    slots->extent = extent;
    if (comm->size <= WEFT_PIECES_RANKS) {
        slots->large = weft_shared_open(
            comm, (void *)((char *)slots->shared + bytes_before_board(comm->size)));
        if (slots->large == NULL) {
            unmap(slots);
            return NULL;
        }
    }
    slots->n = comm->size;
    slots->rank = comm->rank;
    slots->is_crowded = weft_wait_is_crowded();
    return slots;
}

/* The member that learns that all are through with the communicator (comm/unmake.c). */
static int owner_of(const struct weft_comm *comm)
{
    const int rank = weft_group_rank_of(comm->group, owner_of_context(comm->context));

    return rank != MPI_UNDEFINED ? rank : 0;
}

static enum weft_rc make(struct weft_comm *comm, const char *name,
                         const struct weft_slots_ask *ask)
{
    const int owner = owner_of(comm);
    struct weft_extent extent = {0, 0};
    struct weft_slots *slots;
    int mine;
    int all;
    enum weft_rc rc;

    if (comm->rank == owner) {
        weft_lock();
        if (weft_heap_take(&weft_engine.node, all_bytes(comm->size), &extent) !=
            WEFT_OK) {
            extent = (struct weft_extent){0, 0};
        }
        weft_unlock();
    }
    rc = ask->bcast(comm, name, &extent, sizeof(extent), owner);
    if (rc != WEFT_OK) {
        return rc;
    }
    weft_lock();
    slots = map(comm, extent);
    weft_unlock();
    mine = slots != NULL ? 1 : 0;
    rc = ask->sum(comm, name, &mine, &all, 1);
    if (rc == WEFT_OK && all == comm->size) {
        slots->is_owner = comm->rank == owner;
        comm->slots = slots;
        return WEFT_OK;
    }
    weft_lock();
    if (slots != NULL) {
        unmap(slots);
    }
    if (rc == WEFT_OK && comm->rank == owner && extent.bytes > 0) {
        weft_heap_give(&weft_engine.node, extent);
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_slots_of(struct weft_comm *comm, const char *name,
                           const struct weft_slots_ask *ask, struct weft_slots **out)
{
    enum weft_rc rc = WEFT_OK;

    if (weft_unlikely(comm->slots == NULL)) {
        comm->slots = &none; /* for the messages that make them */
        if (could_have(comm)) {
            rc = make(comm, name, ask);
        }
    }
    *out = comm->slots != &none ? comm->slots : NULL;
    return rc;
}

bool weft_slots_are_made(const struct weft_comm *comm)
{
    return comm->slots != NULL && comm->slots != &none;
}

struct weft_extent weft_slots_leave(struct weft_comm *comm)
{
    struct weft_slots *slots = comm->slots;
    struct weft_extent extent = {0, 0};

    weft_assert_locked();
    comm->slots = NULL;
    if (slots != NULL && slots != &none) {
        if (slots->is_owner) {
            extent = slots->extent;
        }
        unmap(slots);
    }
    return extent;
}

void weft_slots_give(struct weft_extent extent)
{
    weft_assert_locked();
    if (extent.bytes > 0) {
        weft_heap_give(&weft_engine.node, extent);
    }
}

uint32_t weft_slots_calls(const struct weft_comm *comm)
{
    return weft_slots_are_made(comm)
               ? comm->slots->call +
                     (comm->slots->large != NULL ? comm->slots->large->call << 16 : 0)
               : 0;
}

struct weft_shared *weft_slots_large(const struct weft_slots *slots)
{
    return slots->large;
}

/* ---- a call ---- */

/* The call that had the lines of this one before. */
static uint32_t call_before(const struct weft_slots *slots)
{
    return (slots->call - WEFT_SLOTS_ROUNDS) & NUMBERS;
}

/* Returns when all members have finished the call that had our line before, and notes how
 * far all of them are, so that the next calls need not look. */
static enum weft_rc await_readers(struct weft_slots *slots,
                                  const struct weft_wait_reason *why)
{
    uint32_t finished = slots->call;
    enum weft_rc rc = WEFT_OK;

    for (int rank = 0; rank < slots->n && rc == WEFT_OK; rank++) {
        struct head *head = &slots->shared->members[rank].head;
        const struct awaited a = {&head->done, &head->sleepers, call_before(slots), true};

        if (rank != slots->rank) {
            uint32_t done;

            rc = wait_for(slots, &a, why);
            done = atomic_load_explicit(&head->done, memory_order_acquire) & NUMBERS;
            finished = is_at_least(done, finished) ? finished : done;
        }
    }
    slots->finished = finished;
    return rc;
}

enum weft_rc weft_slots_begin(struct weft_slots *slots, uint32_t word,
                              const struct weft_wait_reason *why)
{
    enum weft_rc rc = is_job_whole() ? WEFT_OK : check_members(slots->comm);

    slots->call = (slots->call + 1) & NUMBERS;
    slots->word = word;
    if (rc == WEFT_OK && !is_at_least(slots->finished, call_before(slots))) {
        rc = await_readers(slots, why);
    }
    return rc;
}

void weft_slots_end(struct weft_slots *slots)
{
    struct head *head = &slots->shared->members[slots->rank].head;

    store(slots, &head->done, slots->call, &head->sleepers);
}

void *weft_slots_place(struct weft_slots *slots, uint64_t bytes)
{
    assert(bytes <= WEFT_SLOT_BYTES);
    return bytes <= WEFT_SLOT_INLINE
               ? line_of(slots, slots->rank)->data
               : long_data(slots, slots->rank, slots->call % WEFT_SLOTS_ROUNDS);
}

void weft_slots_show(struct weft_slots *slots, uint64_t bytes)
{
    struct line *line = line_of(slots, slots->rank);

    line->word = slots->word;
    line->bytes = bytes;
    store(slots, &line->flag, slots->call,
          &slots->shared->members[slots->rank].head.sleepers);
}

static inline enum weft_rc await_line(struct weft_slots *slots, int rank,
                                      const struct weft_wait_reason *why)
{
    struct line *line = line_of(slots, rank);
    const struct awaited a = {&line->flag, &slots->shared->members[rank].head.sleepers,
                              slots->call, false};
    const enum weft_rc rc = wait_for(slots, &a, why);

    return rc == WEFT_OK && weft_unlikely(line->word != slots->word)
               ? differ(slots, rank, why)
               : rc;
}

enum weft_rc weft_slots_await(struct weft_slots *slots, int rank,
                              const struct weft_wait_reason *why)
{
    return await_line(slots, rank, why);
}

const void *weft_slots_data(const struct weft_slots *slots, int rank, uint64_t *bytes)
{
    const struct line *line = line_of(slots, rank);

    *bytes = line->bytes;
    return *bytes <= WEFT_SLOT_INLINE
               ? line->data
               : long_data(slots, rank, slots->call % WEFT_SLOTS_ROUNDS);
}

/* ---- all members ---- */

bool weft_slots_meets(const struct weft_slots *slots)
{
    return slots->is_crowded || slots->n > FLAGS_RANKS;
}

/* The others have begun this call, so they have finished those before it. */
static void note_all_here(struct weft_slots *slots)
{
    slots->finished = (slots->call - 1) & NUMBERS;
}

static enum weft_rc look_at_all(struct weft_slots *slots,
                                const struct weft_wait_reason *why)
{
    enum weft_rc rc = WEFT_OK;

    for (int rank = 0; rank < slots->n && rc == WEFT_OK; rank++) {
        if (rank != slots->rank) {
            rc = await_line(slots, rank, why);
        }
    }
    return rc;
}

/* Words of which some differ have marks whose sum is, but for chance, not that of words
 * that are equal. */
static uint32_t mark_of(uint32_t word)
{
    word = (word ^ word >> 15) * UINT32_C(0x2c1b3c6d);
    word = (word ^ word >> 12) * UINT32_C(0x297a2d39);
    return word ^ word >> 15;
}

/* All lines are shown: the first member whose call is another one. */
static enum weft_rc find_other_word(struct weft_slots *slots,
                                    const struct weft_wait_reason *why)
{
    for (int rank = 0; rank < slots->n; rank++) {
        if (line_of(slots, rank)->word != slots->word) {
            return differ(slots, rank, why);
        }
    }
    return WEFT_ERR_DISAGREE;
}

/* Members that have made different numbers of calls in slots do not agree, either: they
 * show and read lines of different rounds. The last one to come says for all how it went,
 * before it lets them go. */
static enum weft_rc meet(struct weft_slots *slots, const struct weft_wait_reason *why,
                         weft_slots_fold *fold, const void *call)
{
    struct meeting *meeting = &slots->shared->meeting;
    const uint32_t n = (uint32_t)slots->n;
    const uint32_t mark = mark_of(slots->word ^ slots->call * UINT32_C(0x9e3779b1));
    const uint64_t self = (uint64_t)mark << 32 | 1;
    const struct awaited over = {&meeting->generation, &meeting->sleepers,
                                 slots->meetings, false};
    const uint64_t arrived =
        self + atomic_fetch_add_explicit(&meeting->arrived, self, memory_order_acq_rel);
    enum verdict verdict = AGREED;

    if ((uint32_t)arrived != n) {
        const enum weft_rc rc = wait_for(slots, &over, why);

        return rc == WEFT_OK && weft_unlikely(atomic_load_explicit(
                                                  &meeting->verdict,
                                                  memory_order_relaxed) == DISAGREED)
                   ? find_other_word(slots, why)
                   : rc;
    }
    if (weft_unlikely(arrived >> 32 != mark * n)) {
        verdict = DISAGREED;
    } else if (fold != NULL && !fold(slots, call)) {
        verdict = REFUSED;
    }
    atomic_store_explicit(&meeting->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&meeting->verdict, verdict, memory_order_relaxed);
    atomic_store_explicit(&meeting->generation, slots->meetings, memory_order_seq_cst);
    weft_wait_wake(&meeting->generation, &meeting->sleepers);
    return verdict == DISAGREED ? find_other_word(slots, why) : WEFT_OK;
}

enum weft_rc weft_slots_meet(struct weft_slots *slots, const struct weft_wait_reason *why,
                             weft_slots_fold *fold, const void *call)
{
    enum weft_rc rc;

    slots->meetings = (slots->meetings + 1) & NUMBERS;
    rc = weft_slots_meets(slots) ? meet(slots, why, fold, call) : look_at_all(slots, why);
    if (rc == WEFT_OK) {
        note_all_here(slots);
    }
    return rc;
}

bool weft_slots_has_refused(const struct weft_slots *slots)
{
    return atomic_load_explicit(&slots->shared->meeting.verdict, memory_order_relaxed) ==
           REFUSED;
}

void *weft_slots_result(struct weft_slots *slots, uint64_t bytes)
{
    return bytes <= sizeof(slots->shared->result) ? (void *)slots->shared->result
                                                  : long_data(slots, slots->n, 0);
}
