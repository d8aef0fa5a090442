/*
 * engine.h - what moves packets and makes progress, for the rooms above.
 *
 * The engine knows peers, packets and operations. It knows neither requests nor
 * communicators nor matching: rooms above register what they want to be called for. All
 * calls need the lock, but for those that say otherwise.
 *
 *   hot.h              the engine's state, for files on the way of a message
 *   wire.h             what travels
 *   dispatch.c         where a packet goes when it has arrived
 *   peer.c             the processes that this one knows
 *   retry.c            packets out, and what is tried again
 *   transports.c       the transports that are open, and first contact
 *   promote.c          which of two networks leads to a peer (promote.h)
 *   poll.c             one look at everything that can go on
 *   hooks.c            what rooms above are called for
 *   work.c             what is done outside the lock (work.h)
 *   work_threads.c     adding work, and the threads for the part of it that blocks
 *   warm.c             what is loaded before the first contact with a network (warm.h)
 *   wait.c             waiting for events, words and room (wait.h, event.h)
 *   note.c             what a rank that waits says of it
 *   await.c            those for whose steps this process waits
 *   ask.c              those that are waited for are asked whether they are there
 *   failed.c           processes that have failed
 *   progress_thread.c  progress while the program computes
 *   quiet.c            whether a ring for the progress thread would be in vain (quiet.h)
 *   network_thread.c   the thread that sleeps on descriptors (network_thread.h)
 *   threads.c          the library's own threads, all of them
 *   seal.h             checksums of packets
 *   lock.h             the lock
 *   held.h             assertions about the thread that holds it
 *   thread.h           how the library's own threads are started
 */
#ifndef WEFT_ENGINE_ENGINE_H
#define WEFT_ENGINE_ENGINE_H

#include "engine/hot.h"

/* Resets the engine. The caller then registers the kinds of packets, and opens
 * transports. */
void weft_engine_open(struct weft_job *job);

/* From now on packets of this kind go to kind->handler; the struct is copied. */
void weft_engine_kind(uint8_t number, const struct weft_packet_kind *kind);

/*
 * The upcalls of transports, and of whoever sends to itself. arrived() hands an ordered
 * packet to the handler of its kind if it is its turn and there is room; a packet that
 * makes no sense ends the job. meet() makes a peer of a process that is heard for the
 * first time; it ends the job if there is no memory.
 */
enum weft_taken weft_engine_arrived(void *owner, struct weft_peer *from,
                                    const void *header, const void *data, size_t len,
                                    unsigned flags);
enum weft_taken weft_engine_arrived_in_pieces(void *owner, struct weft_peer *from,
                                              const void *header,
                                              const struct iovec *pieces, size_t count,
                                              size_t len);
bool weft_engine_may_take(void *owner, const struct weft_peer *from, const void *header,
                          unsigned flags);
void weft_engine_control_arrived(void *owner, struct weft_peer *from, const void *header,
                                 const void *data, size_t len);
void weft_engine_told(void *owner, uint64_t word);
struct weft_peer *weft_engine_meet(void *owner, uint64_t process);

/* Asks those for whom somebody waits whether they are there: a round begins with every
 * fifth call or later, and a call asks so many at most (ask.c). */
enum { WEFT_ASK_EACH = 5, WEFT_ASK_MOST = 16 };
void weft_engine_ask(void *owner);

/*
 * Ends the job: the peer has sent, or written into shared memory, what no rank sends.
 * `header` is the packet's, or NULL if it is none. With or without the lock.
 */
_Noreturn void weft_engine_reject(const struct weft_peer *from,
                                  const struct weft_header *header, size_t len,
                                  const char *what);

/*
 * A peer's way out, made on first contact; or why there is none. The slow part is
 * weft_engine_begin().
 */
WEFT_MUST_CHECK enum weft_rc weft_engine_begin(struct weft_peer *peer);
WEFT_MUST_CHECK enum weft_rc weft_engine_reach(struct weft_peer *peer);

/* Two steps of closing: before the transports are closed, and after. */
void weft_peers_disconnect(void);
void weft_peers_close(void);

/* ---- what rooms above are called for (hooks.c) ---- */

/*
 * Each registers a function behind those that are there; weft_engine_open() forgets all.
 *
 *   look       While weft_engine.watched is not 0, whoever polls looks at what peers have
 *              changed in shared memory. After a thread has published a wake level, it
 *              asks whether that would find anything (has_news; NULL: it never does).
 *   ready      Whoever polls while WEFT_REASON_READY is counted.
 *   failed     After peers have failed (peer->is_failed).
 *
 * And one function for all: it calls weft_engine_await() for those for whose messages
 * schedules wait.
 */
void weft_engine_on_look(void (*look)(void), bool (*has_news)(void));
void weft_engine_on_ready(void (*run_ready)(void));
void weft_engine_on_failed(void (*failed)(void));
void weft_engine_on_await(void (*await)(void));

/* Call them. */
void weft_engine_look(void);
bool weft_engine_has_news(void);
void weft_engine_run_ready(void);

/* ---- packets out, and what is tried again (retry.c) ---- */

/* An ordered packet, to ourselves too. WEFT_AGAIN: no room. */
WEFT_MUST_CHECK enum weft_rc weft_engine_send(struct weft_peer *peer,
                                              struct weft_header *header,
                                              const void *data, size_t len,
                                              unsigned flags);

/* A control packet of at most WEFT_CONTROL_MAX bytes, by the peer's first path or by
 * another one of its. It is kept if there is no room. */
void weft_engine_control(struct weft_peer *peer, enum weft_packet kind, const void *data,
                         size_t len);
void weft_engine_control_by(struct weft_peer *peer, struct weft_path *path,
                            enum weft_packet kind, const void *data, size_t len);

/* Sends a control packet by the first path, and does not keep it. False: the path had no
 * room. */
bool weft_engine_try_control(struct weft_peer *peer, enum weft_packet kind,
                             const void *data, size_t len);

/* The header of a control packet that waits in a queue of the class CONTROL; NULL: what
 * waits there is something else. */
const struct weft_header *weft_engine_kept_control(const struct weft_retry *retry);

/* A control packet that was sent before, and that its transport has not delivered. */
void weft_engine_keep_control(struct weft_peer *peer, const void *header,
                              const void *data);

/* Queues a packet that has found no room, or has to wait behind one that has not. */
void weft_engine_retry_later(struct weft_peer *peer, enum weft_retry_class which,
                             struct weft_retry *retry);

/* The same for a list of them, before all others of its class. */
void weft_engine_retry_before(struct weft_peer *peer, enum weft_retry_class which,
                              struct weft_retry *first);

/* Tries everything that is queued. */
void weft_engine_retry(void);

/* Ends everything of a class that is queued for a peer, which has failed. */
void weft_engine_fail_retries(struct weft_peer *peer, enum weft_retry_class which);

/* failed() of what was allocated for its own sake, with the retry as its first member,
 * and for which nothing else waits. */
void weft_retry_free(struct weft_retry *retry);

/* At the end, when nothing is sent any more: empties a class. What fails by
 * weft_retry_free() is freed; the rest goes with the pool that it is of. */
void weft_engine_drop_retries(struct weft_peer *peer, enum weft_retry_class which);

/* To be called when something has changed that the fast path to a peer depends on. */
void weft_engine_update_fast(struct weft_peer *peer);

/* ---- transports (transports.c) ---- */

/* Opens a transport and appends it to the list; closes all of them. */
WEFT_MUST_CHECK enum weft_rc weft_transport_add(const struct weft_packet_ops *ops);
void weft_transports_close(void);

/* Does a transport lead out of this node? */
bool weft_transports_leave_node(void);

/* The first handles at most `budget` packets of each transport that is due; the second
 * makes all of them due. The third takes what a process has sent before it failed. */
void weft_transports_poll(int budget);
void weft_transports_are_due(void);
void weft_transports_poll_out(int budget, int turns);

/* Does something wait for free space that no event will announce? */
bool weft_transports_need_tick(void);

/* Tells peers that this process has ended its last use of MPI, so that they do not take
 * the end of its connections for a failure. */
void weft_transports_say_goodbye(void);

/* Connects with every rank to which a connection leads (WEFT_CONNECT=all); returns when
 * all have, without taking any packet. */
WEFT_MUST_CHECK enum weft_rc weft_transports_wire_all(void);

/* ---- progress ---- */

/* Does what is to be done now (WEFT_REASONS_NOW). */
void weft_engine_go_on(void);

/* The first looks once at everything. The second also does work, for which it drops the
 * lock. */
void weft_engine_poll(void);
void weft_engine_work_and_poll(void);

/* The library's own threads: prepared once transports are open; started, if there is a
 * network, with the lock in the form that it keeps; ended, without the lock, before its
 * form changes, when blocking work is done. Whoever needs them later starts them again.
 */
WEFT_MUST_CHECK enum weft_rc weft_threads_open(void);
void weft_threads_start(void);
void weft_threads_stop(void);
void weft_threads_close(void);

/* Logs how often this process was woken, when its threads have ended. */
void weft_threads_log_wakeups(void);

/* ---- steps of others (await.c) ---- */

/* A schedule waits for a step of this process, which is told, and woken if it computes.
 */
void weft_engine_await(uint64_t process);

/* All those for whom schedules wait; nobody any more. */
void weft_engine_await_steps(void);
void weft_engine_await_end(void);

/* ---- failed processes (failed.c) ---- */

/* Looks for failed processes, and calls the functions that were registered for them. */
void weft_engine_notice_failed(void);

/* The upcall: a transport cannot reach a process any more. */
void weft_engine_lost(void *owner, uint64_t process, bool has_left, const char *why);

/* The reason why a process has failed, for messages. */
const char *weft_engine_why_failed(uint64_t process);

#endif
