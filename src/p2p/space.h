/*
 * space.h - room for messages in memory that the user has attached.
 *
 * Blocks are taken as from a ring: behind the one that was taken last, or from the
 * beginning where the end is too near. MPI promises the user as much as such a ring holds
 * that is given back in the order in which it was taken; whatever fits there gets the
 * same place here. Where the ring has no room, a block goes into any gap that is large
 * enough: blocks are given back in any order.
 *
 * The description of a block is in front of it, in the user's memory. It costs at most
 * WEFT_SPACE_OVERHEAD bytes a block, with all that is lost by rounding, which is what
 * MPI_BSEND_OVERHEAD is for. The user must not write there, as for the
 * messages. Taking behind the last block is O(1), looking for a gap O(blocks).
 *
 * The caller owns the memory and sees to locking. Nothing here allocates.
 */
#ifndef WEFT_P2P_SPACE_H
#define WEFT_P2P_SPACE_H

#include <stddef.h>
#include <stdint.h>

enum { WEFT_SPACE_OVERHEAD = 64 };

struct weft_block;

struct weft_space {
    char *begin; /* rounded up */
    char *end;
    char *cursor;              /* where the ring goes on */
    struct weft_block *behind; /* the block that lies next before the cursor, or NULL */
    struct weft_block *first;  /* by address, or NULL: all is free */
};

void weft_space_init(struct weft_space *space, void *memory, size_t size);

/* Room for `bytes`, which may be 0, or NULL. */
void *weft_space_take(struct weft_space *space, size_t bytes);
void weft_space_give(struct weft_space *space, void *taken);

#endif
