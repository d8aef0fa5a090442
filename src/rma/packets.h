/*
 * packets.h - what the packets of one-sided operations carry behind their header. The
 * kinds are numbered in engine/wire.h.
 *
 * A packet names its window by header.context, the context of the window's own
 * communicator with the plane WEFT_PLANE_RMA, and its sender by header.source, its rank
 * there. All kinds are ordered: whatever path each takes, the target sees them in the
 * order in which they were sent. So what follows operations finds them applied.
 *
 * A struct travels as it lies in memory. Packets are not aligned, so a handler makes a
 * copy.
 */
#ifndef WEFT_RMA_PACKETS_H
#define WEFT_RMA_PACKETS_H

#include "engine/wire.h"

enum weft_rma_kind {
    WEFT_RMA_PUT = 1,
    WEFT_RMA_GET,
    WEFT_RMA_ACCUMULATE,
    WEFT_RMA_GET_ACCUMULATE,
    WEFT_RMA_SWAP, /* compare and swap */
    WEFT_RMA_KINDS,
};

/* RMA: a part of an operation. `runs` of struct weft_rma_run follow, then `data` bytes.
 */
struct weft_pkt_rma {
    uint64_t operation; /* the origin's number, to be named in what is brought back; with
                         * a step: the number of that */
    uint64_t offset;    /* of this part in the origin's buffer, in packed bytes */
    uint32_t bytes;     /* of the target's memory that it is about */
    uint32_t data;      /* bytes behind the runs */
    uint16_t type;      /* of the elements: number of a predefined type, or 0 */
    uint16_t op;        /* the ABI's number of the reduction, or 0 */
    uint16_t runs;
    uint8_t kind; /* enum weft_rma_kind */
    uint8_t step; /* enum weft_rma_sync, of a put or accumulate: what follows it; or 0 */
};
_Static_assert(sizeof(struct weft_pkt_rma) == 32, "WEFT_WIRE_VERSION");

/* Where memory of the target lies: `count` blocks of `length` bytes, `stride` bytes
 * apart. It is counted from the window's base; in a dynamic window from address 0. */
struct weft_rma_run {
    uint64_t at;
    int64_t stride;
    uint32_t length;
    uint32_t count;
};
_Static_assert(sizeof(struct weft_rma_run) == 24, "WEFT_WIRE_VERSION");

/* RMA_DATA: precedes what an operation brings back, which is the rest of the packet. */
struct weft_pkt_rma_data {
    uint64_t operation; /* the origin's */
    uint64_t offset;
    uint32_t is_refused; /* the memory is not in the window: nothing follows */
    uint32_t bytes;      /* that were refused */
};
_Static_assert(sizeof(struct weft_pkt_rma_data) == 24, "WEFT_WIRE_VERSION");

enum weft_rma_sync {
    WEFT_RMA_FLUSH = 1, /* tell me when you have come to this packet */
    WEFT_RMA_FLUSHED,
    WEFT_RMA_LOCK_SHARED, /* I want the lock */
    WEFT_RMA_LOCK_EXCLUSIVE,
    WEFT_RMA_GRANTED,
    WEFT_RMA_UNLOCK,
    WEFT_RMA_POST,           /* my window is open to you */
    WEFT_RMA_COMPLETE,       /* my operations of this epoch are before this packet */
    WEFT_RMA_REFUSED,        /* an operation of yours is outside my window */
    WEFT_RMA_COMPLETE_ASKED, /* COMPLETE, and tell me when you have come to this packet */
    WEFT_RMA_WITHDRAW, /* my memory is mine again: tell me when you do not reach it */
    WEFT_RMA_SYNCS,
};

struct weft_pkt_rma_sync {
    uint32_t what; /* enum weft_rma_sync */
    uint32_t number;
};
_Static_assert(sizeof(struct weft_pkt_rma_sync) == 8, "WEFT_WIRE_VERSION");

#endif
