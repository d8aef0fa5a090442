/*
 * layout.h - what the shared-memory transport keeps in a rank's slice of the job segment,
 * behind what the node keeps there (node/layout.h). All-zero is its empty state. Nothing
 * is touched before it is used: a rank that nobody speaks to costs no memory.
 *
 *     lane owners                              written by senders that want a lane
 *     control                                  many writers, small, always taken
 *     inbox                                    many writers: first contact and rare peers
 *     lanes                                    one writer each, given on demand
 */
#ifndef WEFT_SHM_LAYOUT_H
#define WEFT_SHM_LAYOUT_H

#include "transport/transport.h"

#include <stdatomic.h>

enum {
    WEFT_CELL_BYTES = 64,
    WEFT_LANES = 32,
    WEFT_LANE_CELLS = 1024, /* 64 KiB a lane */
    WEFT_SHORT_MAX =
        4096, /* bytes in one packet; also what may be copied under the lock */
    WEFT_RING_CELL_BYTES = 256,
    WEFT_CONTROL_CELLS = 64,
    WEFT_INBOX_CELLS = 128,
};

/* The first cell of a message; the others are data only. */
struct weft_cell {
    _Atomic uint32_t flag; /* bytes of data + 1, or WEFT_CELL_WRAP; 0: not written yet */
    uint8_t header[WEFT_HEADER_BYTES];
    uint8_t data[WEFT_CELL_BYTES - 4 - WEFT_HEADER_BYTES];
};
_Static_assert(sizeof(struct weft_cell) == WEFT_CELL_BYTES, "one cache line");

#define WEFT_CELL_WRAP UINT32_MAX

struct weft_lane {
    _Alignas(64) _Atomic uint64_t taken;      /* cells consumed; by the receiver */
    _Alignas(64) _Atomic uint32_t wants_room; /* its sender waits for free cells */
    _Alignas(64) struct weft_cell cells[WEFT_LANE_CELLS];
};

struct weft_ring_cell {
    _Atomic uint32_t generation; /* how often this cell was filled, this time included */
    uint32_t cells;              /* of this message; in its first cell */
    uint8_t data[WEFT_RING_CELL_BYTES - 8];
};
_Static_assert(sizeof(struct weft_ring_cell) == WEFT_RING_CELL_BYTES, "");

/* Many writers; the cells follow. */
struct weft_ring {
    _Alignas(64) _Atomic uint64_t claimed; /* cells given to writers */
    _Alignas(64) _Atomic uint64_t taken;   /* cells consumed */
};

/*
 * What a writer is about to claim in some ring, so that cells which it does not live to
 * fill can be passed over (weft_ring_mend).
 */
struct weft_ring_claim {
    _Atomic uint64_t first; /* cell */
    _Atomic uint32_t cells;
    _Atomic uint32_t
        ring; /* WEFT_RING_CONTROL or _INBOX + twice the receiver's local rank */
};

enum { WEFT_RING_CONTROL = 1, WEFT_RING_INBOX = 2 }; /* 0: none yet */

struct weft_shm_area {
    _Alignas(64) _Atomic uint32_t lane_mask; /* lanes that were ever given */
    _Atomic uint32_t lanes_wanted;           /* senders that found none free */
    /* Here, and not in the lanes, whose pages a search would touch. */
    _Alignas(64) _Atomic uint32_t lane_owner[WEFT_LANES]; /* local rank + 1; 0: free */

    _Alignas(64) struct weft_ring_claim claim; /* our own, in a ring of another's */
    struct weft_ring control;
    struct weft_ring_cell control_cells[WEFT_CONTROL_CELLS];
    struct weft_ring inbox;
    struct weft_ring_cell inbox_cells[WEFT_INBOX_CELLS];
    _Alignas(4096) struct weft_lane lanes[WEFT_LANES];
};

enum { WEFT_SHM_AREA_AT = WEFT_NODE_AREA_END };
_Static_assert(WEFT_SHM_AREA_AT % WEFT_NODE_PAGE == 0, "lanes are aligned to pages");
_Static_assert(WEFT_SHM_AREA_AT + sizeof(struct weft_shm_area) <= WEFT_SEGMENT_TRACE_AT,
               "a slice holds all of it");

static inline struct weft_shm_area *weft_shm_area_of(const struct weft_segment *segment,
                                                     uint32_t local_rank)
{
    return (struct weft_shm_area *)((char *)weft_segment_slice(segment, local_rank) +
                                    WEFT_SHM_AREA_AT);
}

#endif
