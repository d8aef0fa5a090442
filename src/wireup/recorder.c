#include "wireup/recorder.h"

#include <string.h>
#include <sys/mman.h>

enum { RING_AT = offsetof(struct weft_trace, events) };

_Alignas(WEFT_TRACE_PAGE) union weft_recorder_page weft_recorder_page;
struct weft_trace_slot *weft_recorder_next;

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
           map_at(&weft_recorder_page, sizeof(weft_recorder_page), fd,
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
    weft_recorder_next = ring;
    if (first.where != 0) { /* its time is that of its begin */
        memcpy(weft_recorder_next++, &first, sizeof(first));
        memset(&first, 0, sizeof(first));
        weft_recorder_enter();
    }
    return true;
}

/* The page stays, because a call may store that it has returned. */
void weft_recorder_close(void)
{
    if (ring != NULL) {
        munmap(ring, WEFT_RECORDER_BYTES);
        (void)map_at(&weft_recorder_page, sizeof(weft_recorder_page), -1, 0);
        ring = NULL;
        is_shared = false;
        weft_recorder_next = NULL;
    }
}

void weft_recorder_call(enum weft_call_number call, const void *site, uint32_t context,
                        int32_t peer, int32_t tag, uint32_t bytes)
{
    if (weft_recorder_next != NULL) {
        weft_record(call, site, context, peer, tag, bytes);
    } else {
        weft_trace_store(&first, call, site, context, peer, tag, bytes);
    }
    weft_recorder_enter();
}

bool weft_recorder_is_shared(void)
{
    return is_shared;
}
