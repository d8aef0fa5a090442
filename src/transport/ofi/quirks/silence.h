/*
 * silence.h - finds connections over TCP whose other end does not answer any more.
 *
 * If the route to a host is cut, or a firewall drops what goes there, no error comes: TCP
 * tries again for about 15 minutes, for two while it connects, and a process that only
 * waits for a message would wait for ever. A peer whose kernel has not answered for two
 * heartbeats (WEFT_HEARTBEAT) is silent:
 *
 *   - while we connect, the kernel gives up after that time (TCP_USER_TIMEOUT);
 *   - afterwards an idle connection asks for a sign of life (keep-alive), data on their
 *     way are repeated by TCP itself, and TCP_INFO tells since when there is no answer.
 *
 * TCP_USER_TIMEOUT is taken back once the connection is open: it would also end one whose
 * peer answers and does not read, because its process computes or was stopped.
 */
#ifndef WEFT_OFI_QUIRKS_SILENCE_H
#define WEFT_OFI_QUIRKS_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

/* After how many milliseconds without an answer a peer is silent. */
uint64_t weft_silence_ms(void);
/* How long to wait between two looks at a connection. */
uint64_t weft_silence_check_ns(void);

/* Sets the kernel's time-outs of a socket that connects, or that is connected. */
void weft_silence_watch_connecting(int fd);
void weft_silence_watch_open(int fd);

/* Has the other kernel been asked again and again, and not answered for so long? */
bool weft_silence_is(int fd);

#endif
