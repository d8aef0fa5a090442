/*
 * warm.h - the long part of a network's first contact (`warm_up` of transport.h), done
 * before it is needed: loading libfabric takes a third of a second.
 *
 * Where all networks need it, nothing can be said before, and the network thread does it.
 * Where peers begin by a network that does not (promote.h), messages go on meanwhile: a
 * thread of its own does it, and connections wait until it is over.
 */
#ifndef WEFT_ENGINE_WARM_H
#define WEFT_ENGINE_WARM_H

#include <stdbool.h>

/* When the transports are open; `over` is called without the lock when the thread has
 * done it. */
void weft_warm_open(void (*over)(void));

/* By the network thread, without the lock. */
enum weft_warm_when {
    WEFT_WARM_FIRST, /* when it starts */
    WEFT_WARM_TIMER, /* a transport is to be polled */
    WEFT_WARM_ASKED, /* a peer wants to connect */
    WEFT_WARM_QUIET, /* nothing has come for long */
};
void weft_warm_look(enum weft_warm_when when);

/* Has the network thread nothing left to wait for? */
bool weft_warm_is_begun(void);

/* Where a thread does it: is it over? If not, the thread has begun. Until then the
 * network that needs it is not polled, and makes no connection. Else true. */
bool weft_warm_is_over(void);

/* The same without beginning. */
bool weft_warm_may_poll(void);

/* The network has come up within a call. With the lock, which orders this before all that
 * others do with the network: the store itself is relaxed. */
void weft_warm_end(void);

/*
 * For a process that calls exit() without MPI_Finalize: nothing is loaded from now on,
 * and what is being loaded is there on return, or 5 s are over. exit() runs the
 * destructors of libfabric and of the libraries below it, and a thread that initializes
 * them at that time would touch freed memory. Without the lock, which the program's
 * thread may have.
 */
void weft_warm_refuse(void);

/* Waits for the thread. */
void weft_warm_stop(void);

#endif
