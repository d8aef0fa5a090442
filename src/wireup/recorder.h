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

union weft_recorder_page {
    struct weft_trace_now now;
    uint8_t page[WEFT_TRACE_PAGE];
};

extern union weft_recorder_page weft_recorder_page;
extern struct weft_trace_slot *weft_recorder_next; /* with the lock; NULL: not open */

/*
 * Maps the black box at this place of the segment. If `fd` is -1, or cannot be mapped
 * there, private memory takes its place. False: there is no memory.
 */
WEFT_MUST_CHECK bool weft_recorder_open(int fd, uint64_t offset);

/* Others see no more of what is recorded, until the recorder is opened again. */
void weft_recorder_close(void);

/* Is the black box that of the segment? */
bool weft_recorder_is_shared(void);

static inline void weft_record(enum weft_call_number call, const void *site,
                               uint32_t context, int32_t peer, int32_t tag,
                               uint32_t bytes)
{
    struct weft_trace_slot *slot = weft_recorder_next;
    const uintptr_t next =
        ((uintptr_t)slot + sizeof(*slot)) & ~(uintptr_t)WEFT_RECORDER_BYTES;

    weft_trace_store(slot, call, site, context, peer, tag, bytes);
    weft_recorder_next = (struct weft_trace_slot *)next;
}

/* Notes a call that begins, as weft_record() does, and is inside it from now on. The one
 * call that opens the recorder is kept until then. */
void weft_recorder_call(enum weft_call_number call, const void *site, uint32_t context,
                        int32_t peer, int32_t tag, uint32_t bytes);

/* The call that was recorded last has not returned; and it has. */
static inline void weft_recorder_enter(void)
{
    atomic_store_explicit(&weft_recorder_page.now.inside, 1, memory_order_relaxed);
}

static inline void weft_recorder_leave(void)
{
    atomic_store_explicit(&weft_recorder_page.now.inside, 0, memory_order_relaxed);
}

/* With the lock: one thread more waits for long, or one less. */
static inline void weft_recorder_wait(int more)
{
    _Atomic uint32_t *waiting = &weft_recorder_page.now.waiting;

    atomic_store_explicit(
        waiting, atomic_load_explicit(waiting, memory_order_relaxed) + (uint32_t)more,
        memory_order_relaxed);
}

#endif
