/*
 * collective.h - reads and writes that all members of a file make together.
 *
 * For now each member does its own part; then all agree on a fault. That is right as long
 * as what members write does not overlap.
 */
#ifndef WEFT_IO_COLLECTIVE_H
#define WEFT_IO_COLLECTIVE_H

#include "io/op.h"

/* Without the lock: performs a prepared call of all members, and returns when this
 * member's part is done. moved->fault is the same for all of them. A member with a fault
 * of its own (call->fault) has no data and still takes part. */
void weft_collective_run(const struct weft_file_call *call, struct weft_moved *moved);

/* With the lock: begins a prepared call of all members. weft_file_op_end() is called,
 * with the lock, when it is over and op->moved says how; op->moved.fault may be set
 * before. */
void weft_collective_start(struct weft_file_op *op);

#endif
