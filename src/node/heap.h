/*
 * heap.h - extents of the job segment that a rank takes when it needs them, and that the
 * other ranks of the node map by their offset in the file.
 *
 * The heap lies behind the slices. Every slot has a range of it, of which only its owner
 * takes extents and gives them back; so nothing here is shared but the bytes, and no two
 * processes ever allocate from one list. Whoever learns of an extent, by a message, maps
 * it. An extent is whole pages and zero when it is taken. Giving it back punches a hole
 * into the file: the memory is gone at once, for all who have it mapped, and they read
 * zeros; so the owner gives it back when the others are through with it.
 *
 * Ownership: heap_take() and heap_give() by the owner, once each; every heap_map() is
 * undone by a heap_unmap() of the same process. Needs the library's lock.
 */
#ifndef WEFT_NODE_HEAP_H
#define WEFT_NODE_HEAP_H

#include "node/node.h"

/* A range of the segment's file. */
struct weft_extent {
    uint64_t at;
    uint64_t bytes;
};

/* Takes at least `bytes` from this process's range. WEFT_ERR_NOMEM: the range is used up,
 * or the node has no memory; `out` is as it was. */
WEFT_MUST_CHECK enum weft_rc weft_heap_take(struct weft_node *node, uint64_t bytes,
                                            struct weft_extent *out);

/* Gives back an extent that this process has taken; its memory goes back to the node. */
void weft_heap_give(struct weft_node *node, struct weft_extent extent);

/* Maps an extent of any rank; NULL: it is none of this segment, or cannot be mapped. */
void *weft_heap_map(struct weft_node *node, struct weft_extent extent);

/* Maps the extent at an address that is a multiple of `alignment`, a power of 2. */
void *weft_heap_map_aligned(struct weft_node *node, struct weft_extent extent,
                            size_t alignment);
void weft_heap_unmap(void *memory, struct weft_extent extent);

/* Drops the list of what is free, for weft_node_close(). */
void weft_heap_close(struct weft_node *node);

#endif
