/*
 * op.h - a read or write that goes on behind a request.
 *
 * The calling thread prepares it. Threads for blocking work move the bytes. Conversion
 * functions of the user run in the call that starts a write, and, for a read, in a call
 * of the program that waits or tests. An operation owns its call's references, its
 * staging memory, and itself; all end with weft_file_op_end().
 */
#ifndef WEFT_IO_OP_H
#define WEFT_IO_OP_H

#include "core/request.h"
#include "engine/work.h"
#include "io/call.h"

struct weft_file_op {
    struct weft_work work;
    struct weft_file_call call;
    struct weft_moved moved;
    uint64_t bytes; /* of the user's data that were moved */
    struct weft_request *request;
};

/* The object behind the handle of such a request. What a completing call tells is in it,
 * so that it may outlive the operation, and the file. */
struct weft_file_request {
    struct weft_request base; /* first; `bytes` is the memory that was read or written */
    MPI_File file;
    bool is_write;
    struct weft_moved moved;
};

/*
 * Without the lock: begins a call that is prepared (move.h), and takes it over. `begin`,
 * which has the lock, is weft_file_op_move(), or weft_collective_start() of
 * collective.h. On failure, which is without memory, the call is still the caller's.
 */
WEFT_MUST_CHECK enum weft_rc weft_file_op_start(const struct weft_file_call *call,
                                                void (*begin)(struct weft_file_op *op),
                                                struct weft_request **out);

/* With the lock: a thread for blocking work moves the bytes of this process and ends the
 * operation. */
void weft_file_op_move(struct weft_file_op *op);

/* With the lock: op->moved says how it has ended. Converts what was read, completes the
 * request, and frees the operation. */
void weft_file_op_end(struct weft_file_op *op);

#endif
