/*
 * choices.h - the algorithms of the calls on a communicator: chosen once for each shape,
 * kept for the next call of it, told to the user and counted.
 *
 * A communicator has at most one collective call at a time that is being made, so what is
 * kept needs no lock. It is plain memory, which the communicator frees (core/comm.h).
 */
#ifndef WEFT_COLL_CHOICES_H
#define WEFT_COLL_CHOICES_H

#include "coll/algorithm.h"

/*
 * The algorithm for a call of this shape inside one group: the user's (force.h) or the
 * best one. With WEFT_LOG=info, the first rank tells of every algorithm that is new on
 * the communicator.
 */
const struct weft_algorithm *weft_choices_find(struct weft_comm *comm,
                                               enum weft_coll_kind kind,
                                               const struct weft_shape *shape);

/* A call by this algorithm begins; and how many have. */
void weft_choices_count(const struct weft_algorithm *at);
uint64_t weft_choices_counted(int number);

#endif
