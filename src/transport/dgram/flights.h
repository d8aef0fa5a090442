/*
 * flights.h - datagrams on their way: what an acknowledgement ends, and what it shows to
 * be lost.
 */
#ifndef WEFT_DGRAM_FLIGHTS_H
#define WEFT_DGRAM_FLIGHTS_H

#include "transport/dgram/core.h"

/* A record, which belongs to nobody yet; NULL: no memory. */
struct weft_dgram_flight *weft_dgram_flight_take(struct weft_dgram_core *core);

/* A record that weft_dgram_flight_take() gave out joins those of a busy peer as the
 * newest one. */
void weft_dgram_flight_add(struct weft_dgram_busy *busy,
                           struct weft_dgram_flight *flight);

void weft_dgram_flight_give(struct weft_dgram_core *core,
                            struct weft_dgram_flight *flight);

/*
 * Takes note of what a header of a busy peer says: records end, packets are freed, the
 * round trip is measured, grants grow. `more` shows the numbers that the header does not;
 * NULL: nothing is known of them. False: the peer claims what cannot be.
 */
WEFT_MUST_CHECK bool weft_dgram_flights_ack(struct weft_dgram_core *core,
                                            struct weft_dgram_peer *peer,
                                            const struct weft_dgram_header *header,
                                            const struct weft_dgram_more *more);

/* Repeats what the same two show to be lost. */
void weft_dgram_flights_repeat(struct weft_dgram_core *core, struct weft_dgram_peer *peer,
                               const struct weft_dgram_header *header,
                               const struct weft_dgram_more *more);

/* Repeats the oldest, because its time is over. False: the port does not take it now. */
bool weft_dgram_flights_timeout(struct weft_dgram_core *core,
                                struct weft_dgram_peer *peer);

#endif
