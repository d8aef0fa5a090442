/*
 * slot_sizes.h - how much a slot holds (slots.h).
 */
#ifndef WEFT_COLL_SLOT_SIZES_H
#define WEFT_COLL_SLOT_SIZES_H

enum {
    WEFT_SLOTS_RANKS = 1024, /* members at most */
    WEFT_PIECES_RANKS = 64,  /* that also move large data by pieces (shared.h) */
    WEFT_SLOTS_ROUNDS = 4,
    WEFT_SLOT_INLINE = 48,
    WEFT_SLOT_BYTES = 16 << 10, /* that a member gives in one call, at most */
};

#endif
