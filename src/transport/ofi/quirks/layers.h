/*
 * layers.h - what the layers of libfabric that make an endpoint without connections of
 * another one read when they are loaded. Seen with libfabric 1.17.
 *
 * ofi_rxm over tcp posts 4,096 receive buffers of 16 KiB when its endpoint is opened, and
 * touches them all: 70 MiB for each process, however many peers it has. With as many as
 * it takes from its pool at once it has 18 MiB. What finds no buffer waits in the socket.
 *
 * ofi_rxd does not recover from datagrams that the kernel drops because a socket's buffer
 * is full (docs/engine.md, 2), so it may have fewer of them on their way to a peer.
 */
#ifndef WEFT_OFI_QUIRKS_LAYERS_H
#define WEFT_OFI_QUIRKS_LAYERS_H

/* Before libfabric is loaded; what the user has set stays. */
void weft_layers_prepare(void);

#endif
