/*
 * matching.h - ofi_rxm matches messages as MPI needs it only if it is told to.
 *
 * By default it lets tcp store into posted receives (dynamic receive buffers): then a
 * message that is longer than its receive breaks its connection, and later messages are
 * lost. And it cuts messages of up to eight buffers into segments: one that was claimed
 * (FI_CLAIM) never completes. Seen with libfabric 1.17.
 */
#ifndef WEFT_OFI_QUIRKS_MATCHING_H
#define WEFT_OFI_QUIRKS_MATCHING_H

/* Before libfabric is loaded; what the user has set stays. */
void weft_matching_prepare(void);

#endif
