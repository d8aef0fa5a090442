/*
 * collective.h - reads and writes that all members of a file make together.
 *
 * Every call is a chain of schedules (sched/sched.h) on the file's communicator, so that
 * blocking, split and nonblocking calls are one code. Messages have the number of the
 * call, in the order in which members begin collective calls, as their tag.
 *
 *   table     Every member learns what all of them access.
 *   prepare   Work that may block: all make the same plan (plan.h). If nothing is
 *             exchanged, each member accesses its own bytes here; the end follows.
 *   ready     Before each pass of the exchange all agree that no member has a fault, as
 *             that it lacks memory for the pass. If one has, this is the end.
 *   heads     One pass of the exchange (exchange.h): heads,
 *   lists     lists,
 *   moves     data and work on windows. Then prepare for the next pass.
 *   end       All agree on a fault, and on how far the file was read or written.
 *
 * Work on the file is done by the thread of a blocking call, which waits here anyway, and
 * by threads for blocking work otherwise.
 */
#ifndef WEFT_IO_COLLECTIVE_H
#define WEFT_IO_COLLECTIVE_H

#include "io/op.h"

/*
 * Take and give back the file's spare memory. A member that has no other one takes part
 * in a call with it, and no data: all members get its fault. If an earlier call that is
 * under way has it, the member waits for that call. WEFT_ERR_NOMEM.
 */
WEFT_MUST_CHECK enum weft_rc weft_collective_open(struct weft_file *file);
void weft_collective_close(struct weft_file *file);

/* Without the lock: performs a prepared call of all members, and returns when this
 * member's part is done. `moved->fault` is the same for all of them. */
void weft_collective_run(const struct weft_file_call *call, struct weft_moved *moved);

/* With the lock, which it may give up for a while: begins a prepared call of all members.
 * weft_file_op_end() is called, with the lock, when it is over and op->moved says how. */
void weft_collective_start(struct weft_file_op *op);

#endif
