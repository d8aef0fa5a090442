/*
 * engine.h - what moves packets and makes progress, for the rooms above.
 *
 * The engine knows peers, packets and operations. It knows neither requests nor
 * communicators nor matching: rooms above register what they want to be called for. All
 * calls need the lock, but for those that say otherwise.
 *
 *   hot.h         the engine's state, for files on the way of a message
 *   wire.h        what travels
 *   dispatch.c    where a packet goes when it has arrived
 *   peer.c        the processes that this one knows
 *   lock.h        the lock, and the debug build's check that it is held
 *   thread.h      the library's own threads
 */
#ifndef WEFT_ENGINE_ENGINE_H
#define WEFT_ENGINE_ENGINE_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_header;
struct weft_job;
struct weft_packet_kind;
struct weft_peer;

/* Forgets everything; the kinds of packets are registered next, then transports opened.
 */
void weft_engine_open(struct weft_job *job);

/* From now on packets of this kind go to kind->handler; the struct is copied. */
void weft_engine_kind(uint8_t number, const struct weft_packet_kind *kind);

/*
 * The upcalls of transports, and of whoever sends to itself. arrived() hands a packet to
 * the handler of its kind, or ends the job. meet() makes a peer of a process that is
 * heard for the first time; it ends the job if there is no memory.
 */
void weft_engine_arrived(void *owner, struct weft_peer *from, const void *header,
                         const void *data, size_t len);
struct weft_peer *weft_engine_meet(void *owner, uint32_t process);

/*
 * Ends the job: the peer has sent, or written into shared memory, what no rank sends.
 * `header` is the packet's, or NULL if it is none. With or without the lock.
 */
_Noreturn void weft_engine_reject(const struct weft_peer *from,
                                  const struct weft_header *header, size_t len,
                                  const char *what);

/* What we were about to send besides messages. */
void weft_peer_forget_control(struct weft_peer *peer);

/* Two steps of closing: before the transports are closed, and after. */
void weft_peers_disconnect(void);
void weft_peers_close(void);

#endif
