/*
 * ways.h - which ways operations on the windows of this process take, for tools.
 *
 * A way belongs to a pair of processes in a window: memory of one target may be mapped
 * while that of another is reached by messages. So a window counts for every way that
 * leads to another member of it with memory, and may count several times. Nothing is kept
 * for this: windows are looked at when a tool asks. Whether the kernel copies memory of
 * the user is known from the first operation on it; before that it counts for no way.
 */
#ifndef WEFT_RMA_WAYS_H
#define WEFT_RMA_WAYS_H

#include <stdint.h>

struct weft_rma_ways {
    uint64_t windows; /* that exist */
    /* Put and get, to members on this node and on others. */
    uint64_t node_mapped;
    uint64_t node_copied; /* by single copy */
    uint64_t node_messages;
    uint64_t net_memory; /* by the memory table of the network: data in one block */
    uint64_t net_messages;
    /* Accumulates: by the origin, under the target's word; or by the target. */
    uint64_t accumulate_word;
    uint64_t accumulate_process;
};

/* With the lock. */
void weft_rma_ways_read(struct weft_rma_ways *ways);

#endif
