/*
 * pool.h - ofi_rxm over tcp posts 4,096 receive buffers of 16 KiB when its endpoint is
 * opened, and touches them all: 70 MiB for each process, however many peers it has. With
 * as many as it takes from its pool at once it has 18 MiB. What finds no buffer waits in
 * the socket. Seen with libfabric 1.17.
 */
#ifndef WEFT_OFI_QUIRKS_POOL_H
#define WEFT_OFI_QUIRKS_POOL_H

/* Before libfabric is loaded; what the user has set stays. */
void weft_pool_prepare(void);

#endif
