/*
 * counts.h - counts of this process: messages, packets, sleeps, and how many bytes of
 * unexpected messages wait.
 *
 * The data path numbers its packets anyway; the counts are sums of these numbers, made
 * when they are read. What a closed engine has counted is kept, so the counts never fall.
 * High-water marks need a look at every arrival, in the upcall that the transport calls;
 * this is done only while a mark is watched. All calls need the library's lock.
 */
#ifndef WEFT_P2P_COUNTS_H
#define WEFT_P2P_COUNTS_H

#include "transport/datagrams.h"

struct weft_counts {
    uint64_t messages_sent; /* to ourselves too, those of collective operations too */
    uint64_t messages_received;
    uint64_t messages_to_self;
    uint64_t polls; /* how often a call began to poll */
    uint64_t sleeps;
    struct weft_traffic shm;
    struct weft_traffic net;
    struct weft_datagram_traffic datagrams;
    uint64_t unexpected_messages; /* waiting now */
    uint64_t unexpected_bytes;
    uint64_t promotions; /* peers for which a connection was asked */
    uint64_t requests;   /* that somebody has now: the user, or an operation under way */
};

/* The most that waited while it was in the list of watches. */
struct weft_watch {
    struct weft_watch *next;
    uint64_t messages;
    uint64_t bytes;
};

void weft_counts_read(struct weft_counts *counts);

/*
 * A watch starts with what waits now. It is the caller's, and stays where it is until
 * weft_counts_unwatch().
 */
void weft_counts_watch(struct weft_watch *watch);
void weft_counts_unwatch(struct weft_watch *watch);

/* Called by the engine, when it is open and before it closes. */
void weft_counts_open(void);
void weft_counts_close(void);

#endif
