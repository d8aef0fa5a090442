/*
 * queue.h - messages under way, for modules whose carrier takes them in parts.
 *
 * Order is matching, so what is under way waits in a queue per peer and direction, and
 * only the first of each moves. A transfer lies in the space of its request, which the
 * pattern keeps in place; nothing here allocates but the opening. How a transfer moves is
 * the module's: a function that moves what can be moved now, and never waits.
 */
#ifndef GAUGE_QUEUE_H
#define GAUGE_QUEUE_H

#include "gauge/module.h"

struct transfer {
    struct gauge_request *next;
    unsigned char *bytes;
    size_t size;
    size_t done;
    int peer;
    bool is_send;
    bool is_over; /* set by whoever moves it, when the whole message has gone */
};
_Static_assert(sizeof(struct transfer) <= sizeof(((struct gauge_request *)0)->space),
               "a transfer fits into a request");

struct queue {
    struct gauge_request *first;
    struct gauge_request **last;
};

struct queues {
    struct queue *sends; /* to each end */
    struct queue *receives;
    int ends;
    int under_way; /* in all queues */
    enum gauge_rc (*move)(void *owner, struct transfer *transfer);
    void *owner;
};

static inline struct transfer *transfer_of(struct gauge_request *request)
{
    return (struct transfer *)(void *)request->space;
}

static inline struct transfer transfer_make(int peer, const void *buffer, size_t size,
                                            bool is_send)
{
    return (struct transfer){
        .bytes = (unsigned char *)(uintptr_t)buffer,
        .size = size,
        .peer = peer,
        .is_send = is_send,
    };
}

/* `who` is the module's name, for the sentence when there is no memory. */
enum gauge_rc queues_open(struct queues *queues, int ends,
                          enum gauge_rc (*move)(void *owner, struct transfer *transfer),
                          void *owner, const char *who);
void queues_close(struct queues *queues);

/* Puts a transfer behind the others of its peer and direction, and moves what it can. */
enum gauge_rc queues_start(struct queues *queues, const struct transfer *transfer,
                           struct gauge_request *request);
/* Moves everything on; what is over has is_done set and has left its queue. */
enum gauge_rc queues_progress(struct queues *queues);
/* Drops everything: the requests are no longer looked at. */
void queues_forget(struct queues *queues);

#endif
