/*
 * open.h - the room opens: once, when the engine and communicators are open.
 */
#ifndef WEFT_RMA_OPEN_H
#define WEFT_RMA_OPEN_H

void weft_rma_open(void);

#endif
