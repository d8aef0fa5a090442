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
#include "core/request.h"
#include "engine/wait.h"
#include "wireup/doing.h"
#include "wireup/recorder.h"

void weft_record_slowly(enum weft_call_number call, const void *site, uint32_t context,
                        int peer, int tag, uint64_t bytes);

/* Notes that a call begins. `comm` is as the user wrote it, `peer` and `tag` as in
 * wireup/trace.h. */
void weft_record_begin(enum weft_call_number call, const void *site, MPI_Comm comm,
                       enum weft_plane plane, int peer, int tag, uint64_t bytes);

/* The same where few instructions count. */
static inline __attribute__((always_inline)) void
weft_record_quickly(enum weft_call_number call, const void *site, uint32_t context,
                    int peer, int tag, uint64_t bytes)
{
    if (weft_likely(weft_lock_is_biased() && weft_recorder_slot() != NULL)) {
        weft_record(call, site, context, peer, tag,
                    bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX);
        weft_recorder_enter();
    } else {
        weft_record_slowly(call, site, context, peer, tag, bytes);
    }
}

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

/*
 * A call that looks and does not wait. A program that calls it again and again would
 * leave nothing else in the black box. So its event takes the place of one from the same
 * line of the program, if only such calls came after that.
 */
void weft_record_poll(enum weft_call_number call, const void *site, MPI_Comm comm,
                      int peer, int tag);

/*
 * With the lock: the call that was noted last, MPI_Wait or MPI_Waitall, waits for this
 * request. Only where one thread at a time calls MPI: otherwise the last may be another.
 */
void weft_record_awaited(const struct weft_request *request,
                         const struct weft_wait_reason *why);

/* A call that waits for requests: what is noted is the first that is not complete. */
void weft_record_wait(enum weft_call_number call, const void *site, int count,
                      const MPI_Request *requests);

/* ---- in a function PMPI_X: notes its call, until it returns ---- */

static inline void weft_record_end_scope(const char *scope)
{
    (void)scope;
    weft_record_end();
}

#define WEFT_RECORD_AS(begin)                                                            \
    const char recorded __attribute__((cleanup(weft_record_end_scope), unused)) =        \
        (begin, '\0')

#define WEFT_RECORD(Name, comm, plane, peer, tag, bytes)                                 \
    WEFT_RECORD_AS(weft_record_begin(WEFT_CALL_##Name, __builtin_return_address(0),      \
                                     comm, plane, peer, tag, bytes))

#define WEFT_RECORD_PLAIN(Name)                                                          \
    WEFT_RECORD_AS(weft_record_plain(WEFT_CALL_##Name, __builtin_return_address(0)))

#define WEFT_RECORD_POLL(Name, comm, peer, tag)                                          \
    WEFT_RECORD_AS(weft_record_poll(WEFT_CALL_##Name, __builtin_return_address(0), comm, \
                                    peer, tag))

#define WEFT_RECORD_WAIT(Name, count, requests)                                          \
    WEFT_RECORD_AS(weft_record_wait(WEFT_CALL_##Name, __builtin_return_address(0),       \
                                    count, requests))

#endif
