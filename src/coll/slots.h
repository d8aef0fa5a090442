/*
 * slots.h - memory that the members of a communicator share, all of which are on one
 * node: in it they exchange small data and flags without messages.
 *
 *     extent of the segment's heap (node/heap.h)
 *     +---------+--------+----------------------------------+------------------+--------+
 *     | meeting | result | for each member: head, and a     | for each member  | long   |
 *     |         |        | line for each of ROUNDS calls    | and round: data  | result |
 *     +---------+--------+----------------------------------+------------------+--------+
 *
 * Every call has a number, the same on all members, from 1 on. A member that gives
 * something in a call writes it to its line of that call's round, or, if it is longer
 * than the rest of a line, to the data behind it, and then shows the line: it stores the
 * call's number as the line's flag, with release order. That pairs with the acquire load
 * of members that await it. When a member has read all that it wants, it stores the
 * call's number in `done` of its head, with release order. That pairs with the acquire
 * load of the members that write the same line again, ROUNDS calls later.
 *
 * Where ranks outnumber processors, members meet instead of looking at each other's
 * flags: each adds one to `arrived`, and the last one, which has seen what all others
 * wrote before they came (acquire and release), sets `arrived` back and then adds one to
 * `generation` (release), which the others await (acquire).
 *
 * Waiting is the engine's wait for a word (engine/wait.h). Who stores a word that others
 * await looks who of them sleeps, and wakes them. Where members outnumber processors,
 * that is a count of sleepers beside the word: store and load are sequentially
 * consistent, as in base/wait.h. Else it is the wake level of each member, read without a
 * barrier, because a member that goes to sleep passes one on all processors
 * (node/doorbell.h).
 *
 * Failure. If a member fails, every member that waits changes the word that it awaits to
 * one with POISON in it, and returns WEFT_ERR_PROC_FAILED, as do all later calls.
 *
 * The slots are made by the first blocking collective of the communicator, in which all
 * members agree whether all of them could map the memory; they are given back with the
 * communicator. All functions are called without the lock, but for those that say
 * otherwise, by one thread at a time: the order of collectives on a communicator is the
 * program's.
 */
#ifndef WEFT_COLL_SLOTS_H
#define WEFT_COLL_SLOTS_H

#include "coll/coll.h"
#include "coll/slot_sizes.h"
#include "engine/wait.h"
#include "node/heap.h"

struct weft_slots;
struct weft_shared;

/* Once, when the engine is open. The process that owns the context of a communicator
 * learns when no member needs it any more, and so it owns the slots. */
void weft_slots_open(uint64_t (*context_owner)(uint32_t context));

/* With the lock: this process needs the slots of a communicator no longer, if it has any.
 * The first returns what its owner gives back when no member needs them any more. */
struct weft_extent weft_slots_leave(struct weft_comm *comm);
void weft_slots_give(struct weft_extent extent);

/*
 * The slots of a communicator; NULL: it has none and never will. The first call is made
 * by all members in their first blocking collective, and makes them: it asks for a bcast
 * and an allreduce, by messages.
 */
struct weft_slots_ask {
    enum weft_rc (*bcast)(struct weft_comm *comm, const char *name, void *buffer,
                          size_t bytes, int root);
    enum weft_rc (*sum)(struct weft_comm *comm, const char *name, const int *mine,
                        int *all, size_t count);
};
WEFT_MUST_CHECK enum weft_rc weft_slots_of(struct weft_comm *comm, const char *name,
                                           const struct weft_slots_ask *ask,
                                           struct weft_slots **out);

/* Has an earlier collective of this communicator made them? The same on all members. */
bool weft_slots_are_made(const struct weft_comm *comm);

/* What moves large data (shared.h); NULL: there are too many members. */
/* The number of calls that this process has made in them. */
uint32_t weft_slots_calls(const struct weft_comm *comm);

struct weft_shared *weft_slots_large(const struct weft_slots *slots);

/*
 * A call: begin, then place, show, await, meet and data in any order, then end. The line
 * of this member is free after begin(). On failure the call is over, without end().
 * `word` says which call it is (signature.h), and is shown with the line: await() and
 * meet() return WEFT_ERR_DISAGREE if a member has shown another word.
 */
WEFT_MUST_CHECK enum weft_rc weft_slots_begin(struct weft_slots *slots, uint32_t word,
                                              const struct weft_wait_reason *why);
void weft_slots_end(struct weft_slots *slots);

/* Where this member writes `bytes` bytes, and the word to all others that they are there.
 */
void *weft_slots_place(struct weft_slots *slots, uint64_t bytes);
void weft_slots_show(struct weft_slots *slots, uint64_t bytes);

/* Returns when that member has shown its line; what it has written, and how much. */
WEFT_MUST_CHECK enum weft_rc weft_slots_await(struct weft_slots *slots, int rank,
                                              const struct weft_wait_reason *why);
const void *weft_slots_data(const struct weft_slots *slots, int rank, uint64_t *bytes);

/*
 * All members call this, after show(). The last one to come calls fold(), if that is not
 * NULL, before the others go on. On return all lines are shown. fold() returns false if
 * it has refused; then has_refused() is true on all members until they meet again.
 */
typedef bool weft_slots_fold(struct weft_slots *slots, const void *call);
WEFT_MUST_CHECK enum weft_rc weft_slots_meet(struct weft_slots *slots,
                                             const struct weft_wait_reason *why,
                                             weft_slots_fold *fold, const void *call);

bool weft_slots_has_refused(const struct weft_slots *slots);

/*
 * With the lock: the communicator in whose slots a thread of this process waits, or NULL;
 * *missing is the first member that has not come.
 */
const struct weft_comm *weft_slots_waiting(int *missing);

/* Room for what fold() leaves to all, as much as weft_slots_place() has. It keeps it
 * until the next meeting. */
void *weft_slots_result(struct weft_slots *slots, uint64_t bytes);

/* Do all members meet, rather than look at each other's flags? The same on all. */
bool weft_slots_meets(const struct weft_slots *slots);

#endif
