/*
 * fast.h - the short way of an operation: its data are one block, the target's memory is
 * mapped here (near.h), and an epoch is open. It takes no lock and leaves no note in the
 * black box; all but the shortest puts and gets are counted there. A call that is
 * unusual, wrong, or the first on its target finds no place here, and goes the way that
 * checks everything.
 */
#ifndef WEFT_RMA_FAST_H
#define WEFT_RMA_FAST_H

#include "base/copy.h"
#include "engine/hot.h"
#include "rma/apply.h"
#include "rma/direct.h"
#include "rma/update.h"
#include "wireup/recorder.h"

/* Relaxed: epochs are opened and closed by calls that the program puts in order. */
static inline bool weft_fast_may_operate(struct weft_win *win,
                                         const struct weft_near *near)
{
    if (weft_likely(atomic_load_explicit(&near->access, memory_order_relaxed) != 0)) {
        return true;
    }
    if (!atomic_load_explicit(&win->epoch.is_fence, memory_order_relaxed)) {
        return false;
    }
    atomic_store_explicit(&win->epoch.is_used, true, memory_order_relaxed);
    return true;
}

/* The byte of the target at a displacement, if it and `bytes` bytes from there on are
 * among the first `room`: never if that is 0, even if nothing moves. */
static inline bool weft_fast_offset(const struct weft_near *near, MPI_Aint disp,
                                    uint64_t bytes, uint64_t room, uint64_t *offset)
{
    int64_t at;

    if (weft_unlikely(__builtin_mul_overflow(disp, (int64_t)near->unit, &at) ||
                      (uint64_t)at >= room || bytes > room - (uint64_t)at)) {
        return false;
    }
    *offset = (uint64_t)at;
    return true;
}

/* Where `bytes` bytes at a displacement lie in our address space, while an epoch for this
 * member alone is open. False: ask weft_fast_place(). */
static inline bool weft_fast_address(const struct weft_win *win, int rank, MPI_Aint disp,
                                     uint64_t bytes, char **out)
{
    const struct weft_near *near = weft_near_find(win, rank);
    uint64_t at;

    if (weft_unlikely(
            near == NULL ||
            !weft_fast_offset(near, disp, bytes,
                              atomic_load_explicit(&near->room, memory_order_relaxed),
                              &at))) {
        return false;
    }
    *out = near->memory + at;
    return true;
}

/* The same in any epoch, and the member; NULL: go the other way. */
static inline char *weft_fast_place(struct weft_win *win, int rank, MPI_Aint disp,
                                    uint32_t bytes, const struct weft_near **out)
{
    const struct weft_near *near = weft_near_find(win, rank);
    uint64_t at;

    if (weft_unlikely(near == NULL || near->memory == NULL ||
                      !weft_fast_offset(near, disp, bytes, near->size, &at) ||
                      !weft_fast_may_operate(win, near))) {
        return NULL;
    }
    *out = near;
    return near->memory + at;
}

/* The member, and a byte of its memory, if that is reached by copies. NULL: go the other
 * way. */
static inline const struct weft_near *weft_fast_copied(struct weft_win *win, int rank,
                                                       MPI_Aint disp, uint32_t bytes,
                                                       uint64_t *at)
{
    const struct weft_near *near = weft_near_find(win, rank);

    return near != NULL && weft_near_is_copied(near) && bytes != 0 &&
                   weft_fast_offset(near, disp, bytes, near->size, at) &&
                   weft_fast_may_operate(win, near)
               ? near
               : NULL;
}

/* Copies a block to or from memory of the target that is not mapped: by one call of the
 * kernel. False: go the other way. */
static inline bool weft_fast_copy(struct weft_win *win, int rank, MPI_Aint disp,
                                  void *ours, uint32_t bytes, bool is_put)
{
    uint64_t at;
    const struct weft_near *near = weft_fast_copied(win, rank, disp, bytes, &at);

    weft_recorder_count();
    return near != NULL && weft_direct_copy(win, near, at, ours, bytes, is_put);
}

/* The same for an update: by two calls. */
static inline bool weft_fast_change(struct weft_win *win, int rank, MPI_Aint disp,
                                    const struct weft_direct_update *update)
{
    uint64_t at;
    const struct weft_near *near;

    if (update->bytes > WEFT_DIRECT_UPDATE) {
        return false;
    }
    near = weft_fast_copied(win, rank, disp, update->bytes, &at);
    weft_recorder_count();
    return near != NULL && weft_direct_change(win, near, at, update);
}

/* Has nobody of the job failed? */
static inline bool weft_fast_is_job_whole(void)
{
    return weft_likely(atomic_load_explicit(weft_engine.failures, memory_order_relaxed) ==
                       0);
}

/* Is there nothing to be waited for, because all operations on this member went straight
 * to its memory in a passive epoch? Those of a dynamic window may have been refused: its
 * members have no size. */
static inline bool weft_fast_may_flush(const struct weft_win *win, int rank)
{
    const struct weft_near *near = weft_near_find(win, rank);

    return near != NULL &&
           (atomic_load_explicit(&near->access, memory_order_relaxed) &
            WEFT_NEAR_SETTLED) != 0 &&
           weft_fast_is_job_whole();
}

/* What was stored before is there for all, and what is loaded later is not older. GCC's
 * own fence changes the word at the stack pointer. In a function that has no frame that
 * is the return address, and the return waits for it. */
static inline void weft_fast_fence(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lock orl $0, -8(%%rsp)" : : : "memory", "cc");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
    weft_recorder_count();
}

/* An accumulate of at most WEFT_UPDATE_BYTES; what was there before goes to `old`, unless
 * that is NULL. The operation is defined for the type. */
static inline void weft_fast_update(struct weft_win *win, const struct weft_near *near,
                                    MPI_Op op, const struct weft_datatype *type,
                                    const void *in, void *memory, void *old,
                                    uint32_t bytes)
{
    weft_update_begin(win, near->words);
    if (old != NULL) {
        weft_copy(old, memory, bytes);
    }
    weft_rma_apply(op, type, in, memory, bytes);
    weft_update_end(near->words);
    weft_recorder_count();
}

#endif
