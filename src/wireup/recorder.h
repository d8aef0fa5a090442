/*
 * recorder.h - the writer of this process' black box (trace.h).
 *
 * What every call writes lies where few instructions reach it. The ring is mapped once
 * more, at a multiple of twice its size, so that the next slot follows by an addition and
 * a mask. The page with `inside` is mapped over a page of the library's own data. Where
 * nothing is to be recorded, both are private memory, so that no call need ask.
 *
 * weft_record() is called after weft_recorder_open(), with the library's lock; trace.h
 * says who may do without it.
 */
#ifndef WEFT_WIREUP_RECORDER_H
#define WEFT_WIREUP_RECORDER_H

#include "base/rc.h"
#include "wireup/trace.h"

enum { WEFT_RECORDER_BYTES = WEFT_TRACE_EVENTS * sizeof(struct weft_trace_slot) };

struct weft_recorder {
    union {
        struct weft_trace_now now;
        uint8_t page[WEFT_TRACE_PAGE]; /* this page is the segment's */
    };
    /* With the lock, or by the one thread that calls MPI; NULL: not open. */
    struct weft_trace_slot *_Atomic next;
};

extern WEFT_OURS struct weft_recorder weft_recorder;

/*
 * Maps the black box at this place of the segment. If `fd` is -1, or cannot be mapped
 * there, private memory takes its place. False: there is no memory.
 */
WEFT_MUST_CHECK bool weft_recorder_open(int fd, uint64_t offset);

/* Others see no more of what is recorded, until the recorder is opened again. */
void weft_recorder_close(void);

/* Is the black box that of the segment? */
bool weft_recorder_is_shared(void);

static inline struct weft_trace_slot *weft_recorder_slot(void)
{
    return atomic_load_explicit(&weft_recorder.next, memory_order_relaxed);
}

/* Notes a call, with a time; weft_record_untimed() without, until the caller sets it by
 * weft_trace_set_time() with the slot that is returned. */
static inline struct weft_trace_slot *
weft_record_at(uint64_t when, enum weft_call_number call, const void *site,
               uint32_t context, int32_t peer, int32_t tag, uint32_t bytes)
{
    struct weft_trace_slot *slot = weft_recorder_slot();
    const uintptr_t next =
        ((uintptr_t)slot + sizeof(*slot)) & ~(uintptr_t)WEFT_RECORDER_BYTES;

    weft_trace_store_at(slot, when, call, site, context, peer, tag, bytes);
    atomic_store_explicit(&weft_recorder.next, (struct weft_trace_slot *)next,
                          memory_order_relaxed);
    /* The next call stores there. A miss would hold back its message: stores keep their
     * order. */
    __builtin_prefetch((const void *)next, 1);
    return slot;
}

static inline struct weft_trace_slot *weft_record_untimed(enum weft_call_number call,
                                                          const void *site,
                                                          uint32_t context, int32_t peer,
                                                          int32_t tag, uint32_t bytes)
{
    return weft_record_at(WEFT_TRACE_UNTIMED, call, site, context, peer, tag, bytes);
}

static inline void weft_record(enum weft_call_number call, const void *site,
                               uint32_t context, int32_t peer, int32_t tag,
                               uint32_t bytes)
{
    (void)weft_record_at(weft_trace_ticks(), call, site, context, peer, tag, bytes);
}

/* Notes a call that begins, as weft_record() does, and is inside it from now on. The one
 * call that opens the recorder is kept until then. */
void weft_recorder_call(enum weft_call_number call, const void *site, uint32_t context,
                        int32_t peer, int32_t tag, uint32_t bytes);

/* If the newest event is MPI_Wait or MPI_Waitall: for what it waits. */
void weft_recorder_awaits(uint32_t context, int32_t peer, int32_t tag, uint32_t bytes);

/* The same for a call that looks and does not wait: its event takes the place of one with
 * the same call and site, if only such calls came after that one. */
void weft_recorder_poll(enum weft_call_number call, const void *site, uint32_t context,
                        int32_t peer, int32_t tag);

/* The call that was recorded last has not returned; and it has. */
static inline void weft_recorder_enter(void)
{
    atomic_store_explicit(&weft_recorder.now.inside, 1, memory_order_release);
}

static inline void weft_recorder_leave(void)
{
    atomic_store_explicit(&weft_recorder.now.inside, 0, memory_order_relaxed);
}

/* Counts an operation that leaves no event, so that who watches sees the program move. Of
 * threads that do so at a time one may be lost. */
static inline void weft_recorder_count(void)
{
    _Atomic uint64_t *unnoted = &weft_recorder.now.unnoted;

    atomic_store_explicit(unnoted,
                          atomic_load_explicit(unnoted, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* With the lock: one thread more waits for long, or one less. */
static inline void weft_recorder_wait(int more)
{
    _Atomic uint32_t *waiting = &weft_recorder.now.waiting;

    atomic_store_explicit(
        waiting, atomic_load_explicit(waiting, memory_order_relaxed) + (uint32_t)more,
        memory_order_relaxed);
}

#endif
