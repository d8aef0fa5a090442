/*
 * network_thread.h - the thread that sleeps on the descriptors of transports.
 *
 * A thread cannot sleep on a futex and on descriptors at once, so a thread of ours waits
 * for the descriptors and tells of what has come. A process all of whose transports are
 * inside the node has no such thread.
 */
#ifndef WEFT_ENGINE_NETWORK_THREAD_H
#define WEFT_ENGINE_NETWORK_THREAD_H

#include "base/rc.h"

/* What it calls, without the lock: something has come; somebody has to poll, also if no
 * thread is in MPI and nothing is outstanding. */
struct weft_network_callbacks {
    void (*came)(void);
    void (*call)(void);
};

/* With transports open. WEFT_ERR_SYSTEM: nothing to sleep on. */
WEFT_MUST_CHECK enum weft_rc
weft_network_thread_open(const struct weft_network_callbacks *callbacks);

/* Starts it, if a transport needs it and it does not run; ends it. */
void weft_network_thread_start(void);
void weft_network_thread_stop(void);
void weft_network_thread_close(void);

/*
 * With the lock, once the wake level is published: lets every transport wake whoever is
 * armed. WEFT_AGAIN: something is there, poll.
 */
WEFT_MUST_CHECK enum weft_rc weft_transports_arm(void);

/* Arms those outside the node alone, whatever is published. */
WEFT_MUST_CHECK enum weft_rc weft_descriptors_arm(void);

#endif
