/*
 * target.h - operations as they come, at their target. With the lock, by whoever polls.
 */
#ifndef WEFT_RMA_TARGET_H
#define WEFT_RMA_TARGET_H

/* Once, when the engine is open. */
void weft_target_register_kinds(void);

#endif
