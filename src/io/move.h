/*
 * move.h - a read or write of one process: prepared, moved, finished.
 *
 * From its place to the last step the call keeps its view and its type. A call whose data
 * must be converted has staging memory: prepare fills it for a write, finish empties it
 * after a read.
 */
#ifndef WEFT_IO_MOVE_H
#define WEFT_IO_MOVE_H

#include "io/call.h"

/* Without the lock: fills in what moves, of a call that has its place (place.h), and
 * converts what is written. What fails is in call->fault. */
void weft_move_prepare(struct weft_file_call *call);

/* Without the lock, on any thread: moves the bytes, and blocks. */
void weft_move_run(const struct weft_file_call *call, struct weft_moved *moved);

/* Without the lock, on a thread of the program: converts what was read. Returns how many
 * bytes of the user's data were moved. Faults go to *moved. */
uint64_t weft_move_convert(struct weft_file_call *call, struct weft_moved *moved);

/* Does weft_move_convert() call a function of the user? */
bool weft_move_needs_user(const struct weft_file_call *call);

/* With the lock: gives back what the call keeps. */
void weft_move_release(struct weft_file_call *call);

#endif
