/*
 * stage.h - staging buffers: memory of this rank that the others of its node read, or
 * unpack, without a copy.
 *
 * There are WEFT_STAGES of them, of WEFT_STAGE_BYTES each, in this rank's slice. The
 * owner takes one, writes it and tells its number in a packet, which also orders the
 * bytes; it gives the buffer back when the peer has said that it has read them.
 */
#ifndef WEFT_NODE_STAGE_H
#define WEFT_NODE_STAGE_H

#include "node/node.h"

/* A buffer of ours and its number; NULL: all are taken. */
void *weft_stage_take(struct weft_node *node, uint32_t *number);
void weft_stage_give(struct weft_node *node, uint32_t number);

/* A peer's, by number; NULL: there is none of that number. Without the lock. */
const void *weft_stage_of(const struct weft_node_area *area, uint32_t number);

#endif
