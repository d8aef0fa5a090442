/*
 * record.h - notes the calls of the program in its black box (wireup/trace.h).
 *
 * A function that communicates or can wait says so when it begins, before it checks its
 * arguments, and says when it returns. MPI_Send and MPI_Recv do so on their own way
 * (p2p/p2p.h).
 *
 * Threads. Where one thread at a time calls MPI, it is the one that writes. Otherwise the
 * event is stored with the library's lock. A thread that shares the lock while another
 * records may take the same slot as that one: one of both events is lost.
 */
#ifndef WEFT_CHECK_RECORD_H
#define WEFT_CHECK_RECORD_H

#include "core/comm.h"
#include "wireup/doing.h"
#include "wireup/recorder.h"

/* Notes that a call begins. `comm` is as the user wrote it, `peer` and `tag` as in
 * wireup/trace.h. */
void weft_record_begin(enum weft_call_number call, const void *site, MPI_Comm comm,
                       enum weft_plane plane, int peer, int tag, uint64_t bytes);

/* A call without communicator. */
void weft_record_plain(enum weft_call_number call, const void *site);

/* MPI_Abort: it takes no lock, and its tag is the code. */
void weft_record_abort(const void *site, const struct weft_comm *comm, int code);

/* Notes that the call returns. */
static inline void weft_record_end(void)
{
    weft_recorder_leave();
}

/* So many elements in bytes; 0 if the handle is none of a datatype. */
uint64_t weft_record_bytes(MPI_Count count, MPI_Datatype datatype);

/* Notes the call of the function that it stands in, until the function returns. */
static inline void weft_record_end_scope(const char *scope)
{
    (void)scope;
    weft_record_end();
}

#define WEFT_RECORD_SCOPE                                                                \
    const char recorded __attribute__((cleanup(weft_record_end_scope), unused)) = 0

#define WEFT_RECORD(Name, comm, plane, peer, tag, bytes)                                 \
    WEFT_RECORD_SCOPE;                                                                   \
    weft_record_begin(WEFT_CALL_##Name, __builtin_return_address(0), comm, plane, peer,  \
                      tag, bytes)

#define WEFT_RECORD_PLAIN(Name)                                                          \
    WEFT_RECORD_SCOPE;                                                                   \
    weft_record_plain(WEFT_CALL_##Name, __builtin_return_address(0))

#endif
