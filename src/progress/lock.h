/*
 * lock.h - the one lock that guards the library's state.
 *
 * Held for short: nothing over 4 KiB is copied, nothing sleeps and no callback of the
 * user runs under it. It works before MPI_Init too, because info objects and error
 * handlers may be made at any time.
 */
#ifndef WEFT_PROGRESS_LOCK_H
#define WEFT_PROGRESS_LOCK_H

void weft_lock(void);
void weft_unlock(void);

#endif
