/*
 * layout.h - what a rank shows to the others of its node, in its slice of the job
 * segment (wireup/segment.h). All-zero is its empty state, so peers may read and ring
 * before the rank has started.
 *
 *     slice                        first page
 *     +--------+--------------------------------+----------------+------------
 *     | wireup | area: wake level, bells,       | staging        | transports
 *     |        | identity, copy shares          | buffers        |
 *     +--------+--------------------------------+----------------+------------
 *
 * The words share the first page with wire-up's: a rank that nobody speaks to costs that
 * page only. Staging buffers are touched when they are used.
 */
#ifndef WEFT_NODE_LAYOUT_H
#define WEFT_NODE_LAYOUT_H

#include "wireup/segment.h"

#include <stdatomic.h>

enum {
    WEFT_NODE_PAGE = 4096,
    WEFT_NODE_AREA_AT = 1664, /* bytes into a slice */
    WEFT_SHARES = 32,
    WEFT_STAGES = 8,
    WEFT_STAGE_BYTES = 128 * 1024,
};

/*
 * One long transfer that two processes can work on at once; what the words mean is in
 * copy_share.h. Zero is a valid empty one.
 */
struct weft_copy_share {
    _Atomic uint64_t state;  /* generation and enum weft_share_state */
    _Atomic uint64_t range;  /* what nobody has claimed yet */
    _Atomic uint64_t copied; /* bytes */
    _Atomic uint64_t source; /* address in the sender */
    _Atomic uint64_t target; /* address in the receiver */
    _Atomic uint64_t length; /* bytes to be copied */
    _Atomic uint64_t note;   /* from the process that opened it to its owner */
    _Atomic uint32_t unit;   /* bytes that `range` counts in */
    _Atomic uint32_t chunk;  /* units claimed at once */
};
_Static_assert(sizeof(struct weft_copy_share) == 64, "one cache line each");

struct weft_node_area {
    union {
        struct {
            _Alignas(64) _Atomic uint32_t wake_level; /* enum weft_wake_level */
            _Atomic uint32_t doorbell;      /* a futex: for a thread that sleeps in MPI */
            _Atomic uint32_t progress_bell; /* a futex: for the progress thread */
            _Atomic uint32_t rings;         /* how often peers have rung either */
            _Atomic uint32_t awaited;       /* by how many peers, for a step of its */
            _Alignas(64) _Atomic uint32_t is_inside; /* a thread is inside MPI: a hint */
            _Alignas(
                64) _Atomic uint32_t is_known; /* its slot's pid and these are valid */
            uint64_t probe_address; /* a word of its private memory, and what it holds */
            uint64_t probe_value;
            _Alignas(64) struct weft_copy_share shares[WEFT_SHARES];
        };
        uint8_t rest_of_page[WEFT_NODE_PAGE - WEFT_NODE_AREA_AT];
    };
    uint8_t stages[WEFT_STAGES][WEFT_STAGE_BYTES];
};
_Static_assert(sizeof(struct weft_slice) <= WEFT_NODE_AREA_AT, "wire-up comes first");
_Static_assert(offsetof(struct weft_node_area, stages) ==
                   WEFT_NODE_PAGE - WEFT_NODE_AREA_AT,
               "staging buffers begin with a page");

/* Where transports may begin. */
enum { WEFT_NODE_AREA_END = WEFT_NODE_AREA_AT + sizeof(struct weft_node_area) };

static inline struct weft_node_area *weft_node_area_of(const struct weft_segment *segment,
                                                       uint32_t local_rank)
{
    return (struct weft_node_area *)((char *)weft_segment_slice(segment, local_rank) +
                                     WEFT_NODE_AREA_AT);
}

#endif
