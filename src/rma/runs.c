#include "rma/runs.h"

#include "datatype/cursor.h"

#include <assert.h>

/* Added for the cursor, which reckons with pointers: 0 is none. */
enum { BIAS = 1 << 12 };

/* Does a block continue the last run? */
static bool is_next(const struct weft_rma_run *run, uint64_t at, uint64_t length)
{
    if (length != run->length || run->count == UINT32_MAX) {
        return false;
    }
    return run->count == 1 || at == run->at + (uint64_t)run->stride * run->count;
}

void weft_runs_append(struct weft_rma_runs *runs, uint64_t at, uint64_t length)
{
    struct weft_rma_run *last = runs->n > 0 ? &runs->at[runs->n - 1] : NULL;

    runs->bytes += length;
    if (last != NULL && is_next(last, at, length)) {
        last->stride = last->count == 1 ? (int64_t)(at - last->at) : last->stride;
        last->count++;
        return;
    }
    assert(runs->n < WEFT_RUNS_MAX);
    runs->at[runs->n++] =
        (struct weft_rma_run){.at = at, .length = (uint32_t)length, .count = 1};
}

/* Takes some bytes from the end. */
static void cut(struct weft_rma_runs *runs, uint64_t bytes)
{
    while (bytes > 0) {
        struct weft_rma_run *last = &runs->at[runs->n - 1];
        const uint64_t some = last->length < bytes ? last->length : bytes;
        const struct weft_rma_run rest = {
            .at = last->at + (uint64_t)last->stride * (last->count - 1),
            .length = (uint32_t)(last->length - some),
            .count = 1,
        };

        runs->bytes -= some;
        bytes -= some;
        if (--last->count == 0) {
            runs->n--;
        }
        if (rest.length > 0) {
            assert(runs->n < WEFT_RUNS_MAX);
            runs->at[runs->n++] = rest;
        }
    }
}

/* The bytes that may still be appended in a block; 0: none. A block may need a run, and
 * cutting one more. */
static uint64_t room_for_block(const struct weft_rma_runs *runs, uint64_t most,
                               size_t room, bool has_data)
{
    const uint64_t used =
        (runs->n + 2) * sizeof(struct weft_rma_run) + (has_data ? runs->bytes : 0);
    const uint64_t left = most - runs->bytes;

    if (runs->n + 1 >= WEFT_RUNS_MAX || used >= room) {
        return 0;
    }
    return has_data && room - used < left ? room - used : left;
}

void weft_runs_take(struct weft_rma_runs *runs, const struct weft_where *where,
                    uint64_t offset, uint64_t most, size_t room, bool has_data,
                    uint64_t unit)
{
    struct weft_cursor cursor;
    struct iovec block;
    uint64_t left;

    runs->n = 0;
    runs->bytes = 0;
    weft_cursor_init(&cursor, &where->type->layout, where->type->extent, where->count,
                     (void *)(uintptr_t)(where->at + BIAS));
    cursor.position = offset;
    while ((left = room_for_block(runs, most, room, has_data)) > 0 &&
           weft_cursor_iov(&cursor, &block, 1, (size_t)left) == 1) {
        weft_runs_append(runs, (uint64_t)(uintptr_t)block.iov_base - BIAS, block.iov_len);
    }
    cut(runs, runs->bytes % unit);
}

bool weft_rma_run_span(const struct weft_rma_run *run, int64_t *low, int64_t *high)
{
    int64_t reach;

    if (run->count == 0 || run->length == 0 ||
        __builtin_mul_overflow(run->stride, (int64_t)run->count - 1, &reach)) {
        return false;
    }
    *low = reach < 0 ? reach : 0;
    return !__builtin_add_overflow(reach > 0 ? reach : 0, (int64_t)run->length, high);
}
