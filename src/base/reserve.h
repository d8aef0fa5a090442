/*
 * reserve.h - memory for what has to be kept, also where the system refuses more.
 *
 * A message that has arrived, or an answer that a peer waits for, has no caller to whom
 * an error could be returned. Such memory comes from malloc(), and where that refuses,
 * from a static reserve. The reserve holds 256 KiB, which cost nothing before they are
 * used. It is for small objects that live for a short time. The functions are thread safe
 * and need no lock.
 */
#ifndef WEFT_BASE_RESERVE_H
#define WEFT_BASE_RESERVE_H

#include <stddef.h>

enum {
    WEFT_RESERVE_CELL = 256,   /* bytes; what is taken begins at a multiple of them */
    WEFT_RESERVE_CELLS = 1024, /* of the whole reserve */
    WEFT_RESERVE_MOST = 64,    /* cells of one object */
};

/* Both return NULL only when the system and the reserve have no memory. */
void *weft_reserve_take(size_t bytes);
void *weft_reserve_take_zeroed(size_t bytes);

/* Frees what came from here, or from malloc(); or NULL. */
void weft_reserve_give(void *memory);

#endif
