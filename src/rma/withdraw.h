/*
 * withdraw.h - a member takes its memory back while others, which live, may be in an
 * epoch: a member has failed, so they cannot meet.
 */
#ifndef WEFT_RMA_WITHDRAW_H
#define WEFT_RMA_WITHDRAW_H

#include "rma/win.h"

/* Without the lock. Returns when no other member that lives reads or writes our memory;
 * what they do later is refused by messages. Nobody has to call MPI for that, unless a
 * member has no progress thread (WEFT_PROGRESS). */
void weft_rma_withdraw(struct weft_win *win, const char *call);

#endif
