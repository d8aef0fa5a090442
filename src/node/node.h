/*
 * node.h - this process as one of those that share a node's job segment.
 *
 * It is opened once the job is known and before any transport, and closed after them. It
 * owns the node's part of this rank's slice (layout.h): the doorbell by which peers wake
 * this process (doorbell.h), staging buffers that they read (stage.h) and the copy shares
 * in which two processes copy one message (copy_share.h); and a range of the segment's
 * heap (heap.h). A peer is a `struct
 * weft_node_area *`, which stays valid until the node is closed.
 *
 * Needs the library's lock, but for what says otherwise.
 */
#ifndef WEFT_NODE_NODE_H
#define WEFT_NODE_NODE_H

#include "node/layout.h"
#include "wireup/wireup.h"

struct weft_free;

struct weft_node {
    struct weft_job *job;
    struct weft_node_area *area; /* mine */
    uint32_t shares_used;        /* a bit each; copy_share.c */
    uint32_t stages_used;        /* a bit each; stage.c */
    uint32_t first_bell;         /* the doorbell's count at opening */
    bool has_membarrier;         /* is needed and granted; doorbell.c */
    bool has_asked_for_room;     /* a peer was asked to report free space, since the last
                                  * barrier */
    uint64_t probe;              /* the word that others read to see that they can */
    struct weft_free *heap_free; /* what is free of our range of the heap; heap.c */
    bool is_heap_open;
};

void weft_node_open(struct weft_job *job, struct weft_node *node);
void weft_node_close(struct weft_node *node);

/*
 * Does this process share this node's segment? *local is its number there. False also
 * where it could not map the segment, and for a process of another job.
 */
bool weft_node_has(const struct weft_node *node, uint64_t process, uint32_t *local);

/* Where a process can be woken and shows its buffers; NULL: it is not on this node. */
struct weft_node_area *weft_node_find(const struct weft_node *node, uint64_t process);

#endif
