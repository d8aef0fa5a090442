/*
 * reap.h - ends connections that were accepted and send no request.
 *
 * Where the kernel takes no filter (filter.h), the provider accepts connections from
 * outside the job. They are ended when they are some seconds old, and the oldest first as
 * soon as there are more than WEFT_UNKNOWN_MOST, by shutting them down, which the
 * provider takes for their end. What they send makes no difference. At most
 * WEFT_UNKNOWN_ROOM of them have a descriptor at any time.
 *
 * When the process has no descriptor left, a pending connection cannot be accepted, and
 * would keep the listener ready and this process awake. One descriptor is kept in
 * reserve, by which such connections are accepted and closed at once; a peer asks again.
 */
#ifndef WEFT_OFI_QUIRKS_REAP_H
#define WEFT_OFI_QUIRKS_REAP_H

#include "transport/ofi/quirks/descriptors.h"
#include "transport/ofi/quirks/early.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_UNKNOWN_MOST = 64, /* accepted and without a request, after reaping */
    WEFT_LOOKS_MOST = 16,   /* at pending connections, before reaping again */
    /* ... so many at any time: each look accepts one connection of each listener. */
    WEFT_UNKNOWN_ROOM = WEFT_UNKNOWN_MOST + WEFT_LOOKS_MOST * WEFT_LISTENERS_MAX,
};

/* A connection that was accepted, and has sent no request yet. */
struct weft_unknown {
    uint64_t cookie; /* the kernel's name for the socket */
    uint64_t since_ns;
    int fd;
};

struct weft_unknowns {
    struct weft_unknown all[WEFT_UNKNOWN_ROOM];
    int count;
};

struct weft_reap {
    uint64_t rejected; /* connections refused because they are not of the job */
    uint64_t reaped_at_ns;
    uint32_t looks_since; /* at pending connections, since then */
    int ended;            /* connections, by one pass */
    struct weft_unknowns unknowns;
    struct weft_unknowns seen; /* by the pass that is under way */
    int reserved;              /* a descriptor for when there is no other, or -1 */
    bool has_exhausted;        /* descriptors; it was said */
    int next_accepted;         /* descriptor of the next connection; -1: none */
};

void weft_reap_init(struct weft_reap *reap);
/* Takes the descriptor that is kept in reserve; gives it back. */
void weft_reap_open(struct weft_reap *reap, const struct weft_early *early);
void weft_reap_close(struct weft_reap *reap);

/* Counts one connection from outside the job; says so the first time. */
void weft_reap_count(struct weft_reap *reap, const char *why);

/* Looks at pending and at accepted connections; cheap if called often. To be called
 * before the provider is, which accepts. */
void weft_reap_before(struct weft_reap *reap, const struct weft_early *early,
                      struct weft_descriptors *descriptors);
/* To be called after the provider was: children do not inherit what it has accepted. */
void weft_reap_after(struct weft_reap *reap);

/* Ends all connections without a request; returns how many. */
int weft_reap_all(struct weft_reap *reap, struct weft_descriptors *descriptors);

#endif
