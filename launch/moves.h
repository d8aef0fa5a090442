/*
 * moves.h - whether a rank gets on, as its black box shows it.
 */
#ifndef WEFT_LAUNCH_MOVES_H
#define WEFT_LAUNCH_MOVES_H

#include "wireup/trace.h"

/* The time of the newest call that may have brought the program on: of none that only
 * looks, as MPI_Test. 0: there is none. */
uint64_t moves_newest(const struct weft_trace *trace);

#endif
