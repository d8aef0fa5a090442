/*
 * look.h - one look at the port, from its beginning to its end, and when the next is due.
 */
#ifndef WEFT_DGRAM_LOOK_H
#define WEFT_DGRAM_LOOK_H

#include "transport/dgram/core.h"

/* A look begins, which offers at most `budget` packets. `away`: microseconds that
 * this process wanted to run and did not. */
void weft_dgram_begin(struct weft_dgram_core *core, uint64_t now, uint64_t away,
                      int budget);

/*
 * The look ends: kept packets are offered, acknowledgements sent, and, if all datagrams
 * that were there were read (`is_drained`), timers checked. Returns how many packets were
 * offered.
 */
int weft_dgram_end(struct weft_dgram_core *core, uint64_t now, bool is_drained);

/* Is a timer over, in a look that has begun? Then all datagrams that are there should be
 * read before the look ends: they may acknowledge what would be repeated. */
bool weft_dgram_is_late(const struct weft_dgram_core *core);

/* When the next look has to be; 0: whenever something comes. */
uint64_t weft_dgram_deadline(const struct weft_dgram_core *core);

/* Is something there that only waits to be taken? For arm(). */
bool weft_dgram_may_take(const struct weft_dgram_core *core);

#endif
