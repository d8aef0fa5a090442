/*
 * buffer.h - how much the kernel's receive buffer of a UDP socket really holds.
 *
 * The kernel counts the memory of a datagram, not its bytes ("truesize"): on Linux 6.18
 * some 2,300 bytes for one of 1,472, and 768 for one of 8. How much it is depends on who
 * has allocated it. Loopback and veth allocate for the length; a network card's driver
 * may give each packet a page. So the cost of the longest datagram is measured by sending
 * one to ourselves, and where the address is not the loopback's it is taken to be a page
 * and its description at least.
 *
 * A socket that is read from gives its memory back late: up to a quarter of the buffer
 * may be counted for datagrams that have been read (Linux since 4.10). So three quarters
 * are what may wait at once.
 */
#ifndef WEFT_DGRAM_BUFFER_H
#define WEFT_DGRAM_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Raises the receive buffer of a socket towards `wanted` bytes, beyond the system's limit
 * (net.core.rmem_max) where this process may; it never shrinks. Returns what it is, as
 * the kernel counts.
 */
uint32_t weft_port_buffer_raise(int fd, uint32_t wanted);

/* What the kernel counts for a datagram of this length that arrives at `at`, an address
 * of this host. */
uint32_t weft_port_buffer_cost(const struct sockaddr *at, socklen_t at_bytes,
                               uint32_t length);

/* How many of these fit a buffer at once. */
uint32_t weft_port_buffer_room(uint32_t buffer_bytes, uint32_t cost);

/* How many datagrams the kernel has dropped at a socket; 0 where it does not say. */
uint64_t weft_port_buffer_dropped(int fd);

#endif
