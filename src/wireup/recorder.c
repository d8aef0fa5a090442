#include "wireup/recorder.h"

#include "wireup/polls.h"

#include <string.h>
#include <sys/mman.h>

enum {
    RING_AT = offsetof(struct weft_trace, events),
    POLLS_MOST = 8, /* lines of a program that look in turn */
};

_Alignas(WEFT_TRACE_PAGE) struct weft_recorder weft_recorder;

static void *ring; /* NULL: not open */
static bool is_shared;

/* The call that opens it. */
static struct weft_trace_slot first;

/* An address range whose begin is a multiple of twice the ring's size; NULL: none. */
static void *reserve(void)
{
    const size_t wanted = 3 * (size_t)WEFT_RECORDER_BYTES;
    const uintptr_t grain = 2 * (uintptr_t)WEFT_RECORDER_BYTES;
    void *range = mmap(NULL, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t from = (uintptr_t)range;
    uintptr_t begin = (from + grain - 1) / grain * grain;

    if (range == MAP_FAILED) {
        return NULL;
    }
    if (begin > from) {
        munmap(range, begin - from);
    }
    munmap((void *)(begin + WEFT_RECORDER_BYTES),
           from + wanted - (begin + WEFT_RECORDER_BYTES));
    return (void *)begin;
}

static bool map_at(void *address, size_t bytes, int fd, uint64_t offset)
{
    const int how = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

    return mmap(address, bytes, PROT_READ | PROT_WRITE, how | MAP_FIXED, fd,
                (off_t)offset) != MAP_FAILED;
}

static bool map_both(int fd, uint64_t offset)
{
    return map_at(ring, WEFT_RECORDER_BYTES, fd, fd >= 0 ? offset + RING_AT : 0) &&
           map_at(weft_recorder.page, sizeof(weft_recorder.page), fd,
                  fd >= 0 ? offset : 0);
}

bool weft_recorder_open(int fd, uint64_t offset)
{
    ring = reserve();
    if (ring == NULL) {
        return false;
    }
    is_shared = fd >= 0 && map_both(fd, offset);
    if (!is_shared && !map_both(-1, 0)) {
        munmap(ring, WEFT_RECORDER_BYTES);
        ring = NULL;
        return false;
    }
    atomic_store_explicit(&weft_recorder.next, ring, memory_order_relaxed);
    if (first.where != 0) { /* its time is that of its begin */
        memcpy(ring, &first, sizeof(first));
        memset(&first, 0, sizeof(first));
        atomic_store_explicit(&weft_recorder.next, (struct weft_trace_slot *)ring + 1,
                              memory_order_relaxed);
        weft_recorder_enter();
    }
    return true;
}

/* The page stays, because a call may store that it has returned. */
void weft_recorder_close(void)
{
    if (ring != NULL) {
        munmap(ring, WEFT_RECORDER_BYTES);
        (void)map_at(weft_recorder.page, sizeof(weft_recorder.page), -1, 0);
        ring = NULL;
        is_shared = false;
        atomic_store_explicit(&weft_recorder.next, NULL, memory_order_relaxed);
    }
}

void weft_recorder_call(enum weft_call_number call, const void *site, uint32_t context,
                        int32_t peer, int32_t tag, uint32_t bytes)
{
    if (weft_recorder_slot() != NULL) {
        weft_record(call, site, context, peer, tag, bytes);
    } else {
        weft_trace_store(&first, call, site, context, peer, tag, bytes);
    }
    weft_recorder_enter();
}

/* The slot that was written so many events ago. */
static struct weft_trace_slot *slot_before(size_t back)
{
    const size_t at = (size_t)(weft_recorder_slot() - (struct weft_trace_slot *)ring);

    return (struct weft_trace_slot *)ring + (at - back) % WEFT_TRACE_EVENTS;
}

void weft_recorder_awaits(uint32_t context, int32_t peer, int32_t tag, uint32_t bytes)
{
    struct weft_trace_slot *slot = weft_recorder_slot() != NULL ? slot_before(1) : NULL;
    const uint64_t where =
        slot != NULL ? atomic_load_explicit(&slot->where, memory_order_relaxed) : 0;

    if (where >> WEFT_TRACE_CALL_AT == WEFT_CALL_Wait ||
        where >> WEFT_TRACE_CALL_AT == WEFT_CALL_Waitall) {
        atomic_store_explicit(&slot->context, context, memory_order_release);
        atomic_store_explicit(&slot->peer, peer, memory_order_release);
        atomic_store_explicit(&slot->tag, tag, memory_order_release);
        atomic_store_explicit(&slot->bytes, bytes, memory_order_release);
    }
}

/* The slot of the same call among the last ones, or NULL. */
static struct weft_trace_slot *find_poll(uint64_t where)
{
    for (size_t back = 1; back <= POLLS_MOST; back++) {
        struct weft_trace_slot *slot = slot_before(back);
        const uint64_t there = atomic_load_explicit(&slot->where, memory_order_relaxed);

        if (there == where) {
            return slot;
        }
        if (!weft_call_is_poll((unsigned)(there >> WEFT_TRACE_CALL_AT))) {
            return NULL;
        }
    }
    return NULL;
}

void weft_recorder_poll(enum weft_call_number call, const void *site, uint32_t context,
                        int32_t peer, int32_t tag)
{
    struct weft_trace_slot *slot =
        weft_recorder_slot() != NULL ? find_poll(weft_trace_where(call, site)) : NULL;

    if (slot == NULL) {
        weft_recorder_call(call, site, context, peer, tag, 0);
    } else {
        weft_trace_store(slot, call, site, context, peer, tag, 0);
        weft_recorder_enter();
    }
}

bool weft_recorder_is_shared(void)
{
    return is_shared;
}
