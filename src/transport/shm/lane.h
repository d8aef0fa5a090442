/*
 * lane.h - an SPSC ring (one sender, one receiver) in the receiver's slice of the job
 * segment.
 *
 * A lane is a ring of 64-byte cells that a single rank writes. A message takes as many
 * neighbouring cells as it needs. The sender fills them, sets the flag of the cell behind
 * them to 0, and then stores the flag of the first with release order; so the receiver,
 * who loads the flag where the next message must begin with acquire order, never takes
 * old bytes for a flag. It gives cells back by advancing `taken` (release), which the
 * sender reads (acquire) only when the lane looks full. Zeroed memory is an empty lane.
 * Nothing here blocks, locks or allocates.
 *
 * Pushing is the common case: up to 32 bytes are one cache line. A full lane is rare and
 * is reported, never waited for.
 */
#ifndef WEFT_SHM_LANE_H
#define WEFT_SHM_LANE_H

#include "base/copy.h"
#include "transport/shm/layout.h"

#include <string.h>

enum {
    WEFT_LANE_MASK = WEFT_LANE_CELLS - 1,
    WEFT_CELL_HEAD = 4 + WEFT_HEADER_BYTES, /* in front of a message's data */
    WEFT_LANE_AHEAD = 8,                    /* cells whose flags are cleared ahead */
    WEFT_LANE_LOOK = 2, /* a receiver with a backlog looks this far ahead */
};

/* The sender's private side. */
struct weft_lane_out {
    struct weft_lane *lane; /* NULL: none given */
    uint64_t head;          /* where the next message begins */
    uint64_t cleared;       /* the flags of the cells from head to here are 0 */
    uint64_t taken;         /* as last seen */
};

/* The receiver's private side. */
struct weft_lane_in {
    struct weft_lane *lane;
    uint64_t position;      /* where the next message must begin */
    struct weft_peer *peer; /* its sender, as the upcalls call it */
    uint32_t from;          /* rank of its sender in the job */
    uint32_t local;         /* and on the node */
};

static inline uint32_t weft_lane_cells(size_t len)
{
    return (uint32_t)((WEFT_CELL_HEAD + len + WEFT_CELL_BYTES - 1) / WEFT_CELL_BYTES);
}

static inline struct weft_cell *weft_lane_cell(struct weft_lane *lane, uint64_t position)
{
    return &lane->cells[position & WEFT_LANE_MASK];
}

/* Are `cells` cells and the one behind them free? */
static inline bool weft_lane_has_room(struct weft_lane_out *out, uint64_t cells)
{
    if (weft_likely(out->head + cells + 1 - out->taken <= WEFT_LANE_CELLS)) {
        return true;
    }
    out->taken = atomic_load_explicit(&out->lane->taken, memory_order_acquire);
    return out->head + cells + 1 - out->taken <= WEFT_LANE_CELLS;
}

static inline void weft_lane_clear_to(struct weft_lane_out *out, uint64_t end)
{
    while (out->cleared < end) {
        atomic_store_explicit(&weft_lane_cell(out->lane, out->cleared)->flag, 0,
                              memory_order_relaxed);
        out->cleared++;
    }
}

/* Leaves the rest of the ring unused, so that a message does not cross its end. */
static inline bool weft_lane_skip(struct weft_lane_out *out, uint32_t cells)
{
    uint64_t rest = WEFT_LANE_CELLS - (out->head & WEFT_LANE_MASK);

    if (!weft_lane_has_room(out, rest + cells)) {
        return false;
    }
    weft_lane_clear_to(out, out->head + rest + 1);
    atomic_store_explicit(&weft_lane_cell(out->lane, out->head)->flag, WEFT_CELL_WRAP,
                          memory_order_release);
    out->head += rest;
    return true;
}

/*
 * Publishes the cells from `cell` to the new head, and clears flags ahead of it, a few at
 * a time. The next few are asked for then, so that clearing them will not have to wait.
 */
static inline void weft_lane_publish(struct weft_lane_out *out, struct weft_cell *cell,
                                     size_t len)
{
    if (weft_unlikely(out->cleared <= out->head)) {
        out->cleared = out->head; /* what we have just written is no longer clear */
        weft_lane_clear_to(out, out->head + 1);
    }
    /* Pairs with the acquire in weft_lane_next(). */
    atomic_store_explicit(&cell->flag, (uint32_t)len + 1, memory_order_release);
    if (weft_unlikely(out->cleared - out->head < WEFT_LANE_AHEAD / 2) &&
        out->head + WEFT_LANE_AHEAD - out->taken <= WEFT_LANE_CELLS) {
        weft_lane_clear_to(out, out->head + WEFT_LANE_AHEAD);
        for (uint64_t i = 0; i < WEFT_LANE_AHEAD / 2; i++) {
            weft_prefetch_to_write(weft_lane_cell(out->lane, out->cleared + i));
        }
    }
}

/* A message that fits one cell: the common case. False: full, nothing was written. */
static inline bool weft_lane_push_small(struct weft_lane_out *out, const void *header,
                                        const void *data, size_t len)
{
    struct weft_cell *cell;

    if (weft_unlikely(!weft_lane_has_room(out, 1))) {
        return false;
    }
    cell = weft_lane_cell(out->lane, out->head);
    memcpy(cell->header, header, WEFT_HEADER_BYTES);
    weft_copy(cell->data, data, len);
    out->head++;
    weft_lane_publish(out, cell, len);
    return true;
}

/*
 * The receiver's processor has these cells from the lap before. Asks for them while
 * nobody waits, as many as the last message took: the next is often as long.
 */
static inline void weft_lane_fetch_ahead(struct weft_lane_out *out, uint32_t cells)
{
    if (cells > WEFT_LANE_AHEAD / 2 &&
        out->head + cells - out->taken <= WEFT_LANE_CELLS) {
        for (uint32_t i = 0; i < cells; i++) {
            weft_prefetch_to_write(weft_lane_cell(out->lane, out->head + i));
        }
    }
}

/* Any message. False: full, nothing was written. */
static inline bool weft_lane_push(struct weft_lane_out *out, const void *header,
                                  const void *data, size_t len)
{
    uint32_t cells = weft_lane_cells(len);
    struct weft_cell *cell;

    if (weft_unlikely((out->head & WEFT_LANE_MASK) + cells > WEFT_LANE_CELLS) &&
        !weft_lane_skip(out, cells)) {
        return false;
    }
    if (weft_unlikely(!weft_lane_has_room(out, cells))) {
        return false;
    }
    cell = weft_lane_cell(out->lane, out->head);
    memcpy(cell->header, header, WEFT_HEADER_BYTES);
    if (len > 0) {
        memcpy((uint8_t *)cell + WEFT_CELL_HEAD, data, len);
    }
    out->head += cells;
    weft_lane_publish(out, cell, len);
    weft_lane_fetch_ahead(out, cells);
    return true;
}

/*
 * The next message and its length, or NULL. It stays until weft_lane_drop(). A length of
 * SIZE_MAX: what is written there is no message.
 */
static inline struct weft_cell *weft_lane_next(struct weft_lane_in *in, size_t *len)
{
    struct weft_cell *cell = weft_lane_cell(in->lane, in->position);
    uint32_t flag = atomic_load_explicit(&cell->flag, memory_order_acquire);

    if (weft_unlikely(flag == WEFT_CELL_WRAP)) {
        in->position += WEFT_LANE_CELLS - (in->position & WEFT_LANE_MASK);
        atomic_store_explicit(&in->lane->taken, in->position, memory_order_release);
        cell = &in->lane->cells[0];
        flag = atomic_load_explicit(&cell->flag, memory_order_acquire);
    }
    if (flag == 0) {
        return NULL;
    }
    *len = flag - 1;
    if (*len > sizeof(cell->data) &&
        weft_unlikely(*len > WEFT_SHORT_MAX ||
                      (in->position & WEFT_LANE_MASK) + weft_lane_cells(*len) >
                          WEFT_LANE_CELLS)) {
        *len = SIZE_MAX;
    }
    return cell;
}

static inline void weft_lane_drop(struct weft_lane_in *in, size_t len)
{
    in->position += weft_lane_cells(len);
    atomic_store_explicit(&in->lane->taken, in->position, memory_order_release);
}

#endif
