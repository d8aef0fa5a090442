/*
 * layers.h - what the layers of libfabric that make an endpoint without connections of
 * another one read when they are loaded. Seen with libfabric 1.17.
 *
 * ofi_rxm over tcp posts 4,096 receive buffers of 16 KiB when its endpoint is opened, and
 * touches them all: 70 MiB for each process, however many peers it has. With as many as
 * it takes from its pool at once it has 18 MiB. What finds no buffer waits in the socket.
 *
 * ofi_rxm cuts a message of 16 to 128 KiB into segments that it copies on both sides,
 * each of which waits for a progress call. A packet with 16 KiB and its frame took 27 us
 * over the loopback, and 10 us as one message, which tcp stores into the buffer of our
 * pool (2026-11-17, fastest batches of two runs in turn). Over tcp the limit may be above
 * the size of the layer's own buffers; over verbs it may not.
 *
 * ofi_rxd does not recover from datagrams that the kernel drops because a socket's buffer
 * is full (docs/engine.md, 2), so it may have fewer of them on their way to a peer.
 */
#ifndef WEFT_OFI_QUIRKS_LAYERS_H
#define WEFT_OFI_QUIRKS_LAYERS_H

/* Before libfabric is loaded; what the user has set stays. The second is for endpoints
 * whose receive buffers take any packet, and none where the provider matches messages
 * (matching.h). */
void weft_layers_prepare(void);
void weft_layers_prepare_packets(void);

#endif
