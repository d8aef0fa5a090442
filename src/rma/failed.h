/*
 * failed.h - what becomes of windows when a member has failed: operations on it end with
 * an error, who waits for it waits no longer, and a lock that it had goes to the next.
 */
#ifndef WEFT_RMA_FAILED_H
#define WEFT_RMA_FAILED_H

/* The engine's hook: with the lock. */
void weft_rma_fail_members(void);

#endif
