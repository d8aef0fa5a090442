/*
 * network_thread.h - the thread that sleeps on the descriptors of transports.
 *
 * A thread cannot sleep on a futex and on descriptors at once. So the network thread
 * sleeps on the descriptors and wakes the thread that polls, or the progress thread, when
 * something has come. A process whose transports are all inside the node has none.
 */
#ifndef WEFT_ENGINE_NETWORK_THREAD_H
#define WEFT_ENGINE_NETWORK_THREAD_H

#include "base/rc.h"

#include <stdint.h>

/* What the network thread calls, without the lock, and a thread that has loaded a
 * network. came(): something has come; `avoided` is that thread's memory of
 * weft_thread_avoid(). call(): a thread has to poll, even if none is in MPI and no
 * request is outstanding. */
struct weft_network_callbacks {
    void (*came)(int *avoided);
    void (*call)(void);
};

/* Called when the transports are open. WEFT_ERR_SYSTEM: the kernel refuses epoll. */
WEFT_MUST_CHECK enum weft_rc
weft_network_thread_open(const struct weft_network_callbacks *callbacks);

/* The first starts the thread, if a transport needs it and it does not run; the second
 * ends it. */
void weft_network_thread_start(void);
void weft_network_thread_stop(void);
void weft_network_thread_close(void);

/*
 * With the lock, after the wake level was published: arms every transport to wake this
 * process. WEFT_AGAIN: something is there already, poll.
 */
WEFT_MUST_CHECK enum weft_rc weft_transports_arm(void);

/* With the lock, after first contact with a peer. If a transport has come up by it, its
 * new descriptors are watched, and a thread is called that polls: peers may connect to
 * this process from now on, even if it never waits. */
void weft_descriptors_follow(void);

/* With the lock, by a thread that polls until a packet comes from the network, and arms
 * before it sleeps or leaves what is outstanding: packets wake no thread until then. */
void weft_descriptors_ignore(void);

/* With the lock: somebody polls at this time, or before (`wake_at` of transport.h). */
void weft_network_wake_at(void *owner, uint64_t time);

/* With the lock, by who has polled while another thread polls in MPI: that one keeps the
 * times of transports, and the thread here need not wake up for each of them. It looks
 * again after 10 ms, because that thread may have left without arming. */
void weft_network_leave_time(void);

/* With the lock, before anybody has polled: the times of transports are kept from now on.
 */
void weft_network_keep_time(void);

/* Arms only the transports that leave the node, whatever is published. */
WEFT_MUST_CHECK enum weft_rc weft_descriptors_arm(void);

#endif
