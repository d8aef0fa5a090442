/*
 * credits.h - how much a sender may have under way to one receiver, and how the receiver
 * returns what it has taken. For networks whose receive buffers serve all peers.
 *
 * Ordered packets are counted in bytes and sent against a window. Control packets are
 * counted one by one, against a window of WEFT_CONTROL_CREDITS. Every frame carries how
 * much its sender has taken of each kind so far; a receiver that has nothing to send
 * returns credits by a frame of its own before the sender runs out. See
 * tests/models/pool.pml.
 *
 * Both ends count on and on. Differences matter, so the counts may wrap; of control
 * packets 16 bits are enough.
 */
#ifndef WEFT_OFI_CREDITS_H
#define WEFT_OFI_CREDITS_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_CONTROL_CREDITS = 64 };

/* Between this process and one peer. */
struct weft_credits {
    uint32_t sent;         /* bytes of ordered packets to the peer */
    uint32_t acknowledged; /* of those, what the peer has taken */
    uint32_t taken;        /* of the peer's, bytes of ordered packets */
    uint32_t returned;     /* of those, what the peer knows */
    uint16_t sent_control; /* control packets */
    uint16_t acknowledged_control;
    uint16_t taken_control;
    uint16_t returned_control;
    bool is_put_off; /* in the list of those that could not be returned */
    struct weft_credits *next_due;
};

/* Credits that could not be returned when it was time. */
struct weft_credits_due {
    struct weft_credits *first;
    bool is_refused; /* no event will announce when to try again */
};

/* Do the credits allow an ordered packet of `bytes` bytes? */
static inline bool weft_credits_allow(const struct weft_credits *c, uint32_t window,
                                      size_t bytes)
{
    return c->sent - c->acknowledged + bytes <= window;
}

static inline bool weft_credits_allow_control(const struct weft_credits *c)
{
    return (uint16_t)(c->sent_control - c->acknowledged_control) < WEFT_CONTROL_CREDITS;
}

/* Does the receiver know all that was taken of its packets? */
static inline bool weft_credits_are_returned(const struct weft_credits *c)
{
    return c->returned == c->taken && c->returned_control == c->taken_control;
}

/* Is it time for a frame that only returns credits? `each`: bytes, at most half of the
 * peer's window. */
static inline bool weft_credits_are_due(const struct weft_credits *c, uint32_t each)
{
    return c->taken - c->returned >= each ||
           (uint16_t)(c->taken_control - c->returned_control) >= WEFT_CONTROL_CREDITS / 2;
}

/* A frame that says so has been sent. */
static inline void weft_credits_return(struct weft_credits *c, uint32_t taken,
                                       uint16_t taken_control)
{
    c->returned = taken;
    c->returned_control = taken_control;
}

/* Takes note of what a frame of the peer's says. Frames of several connections may arrive
 * in another order than they were sent in. False: the peer claims to have taken more than
 * was sent. */
WEFT_MUST_CHECK bool weft_credits_acknowledge(struct weft_credits *c, uint32_t taken,
                                              uint16_t taken_control);

static inline bool weft_credits_are_put_off(const struct weft_credits *c)
{
    return c->is_put_off;
}

/* Must somebody try again by the clock? */
static inline bool weft_credits_are_refused(const struct weft_credits_due *due)
{
    return due->first != NULL && due->is_refused;
}

/* The frame could not be sent. It is as if it was refused, until trying again shows. */
void weft_credits_put_off(struct weft_credits_due *due, struct weft_credits *c);

/* Calls `try` for all that were put off; those for which it returns true are no longer.
 */
void weft_credits_try_again(struct weft_credits_due *due,
                            bool (*try)(void *argument, struct weft_credits *c),
                            void *argument);

#endif
