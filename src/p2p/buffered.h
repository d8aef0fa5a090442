/*
 * buffered.h - messages sent in buffered mode, and the buffers that hold them meanwhile.
 *
 * A communicator, a session and the process may have a buffer each, attached by the user.
 * A message uses the first of these that there is, in this order, and fails if that has
 * no room, whatever the others have. A small message that can go out at once needs none.
 * Any other is copied, contiguous, into the buffer and sent from there by a request that
 * nobody holds; when that is over the room is free again (weft_p2p_release).
 *
 * The memory belongs to the user; Weft uses it from attach until detach returns. With
 * MPI_BUFFER_AUTOMATIC in place of an address, Weft allocates memory for each message. A
 * detached buffer takes no more messages, and detaching waits until those that it has are
 * gone.
 *
 * The functions take the lock, unless they say that it is held.
 */
#ifndef WEFT_P2P_BUFFERED_H
#define WEFT_P2P_BUFFERED_H

#include "p2p/p2p.h"

/* Names a buffer by its owner: a communicator, or the session with this number; if both
 * are 0, the process. */
struct weft_buffer_owner {
    struct weft_comm *comm;
    uint64_t session;
};

/* Attaches a buffer. WEFT_ERR_BUFFER: the owner has one already. */
WEFT_MUST_CHECK enum weft_rc weft_buffer_attach(struct weft_buffer_owner owner,
                                                void *memory, uint64_t size);

struct weft_attached {
    void *memory;
    uint64_t size;
};

/* Detaches the owner's buffer and returns it when its messages are gone; NULL and 0 bytes
 * if there is none. */
struct weft_attached weft_buffer_detach(struct weft_buffer_owner owner, const char *call);

/* Detaches the buffers of a session's communicators that the user has not freed, and
 * returns when their messages are gone. */
void weft_buffer_detach_comms(uint64_t session, const char *call);

/* The first returns, and the request of the second is complete, when the messages that
 * are now in the buffer are gone. */
WEFT_MUST_CHECK enum weft_rc weft_buffer_flush(struct weft_buffer_owner owner,
                                               const char *call);
WEFT_MUST_CHECK enum weft_rc weft_buffer_iflush(struct weft_buffer_owner owner,
                                                struct weft_request **out);

/*
 * Detaches at the end of the world, when all ranks have said that they have received what
 * they want: waits for nothing. What was never received is not sent any more.
 */
void weft_buffer_abandon(struct weft_buffer_owner owner);

/* Abandons the buffers of all communicators of the world, the predefined ones too. */
void weft_buffer_abandon_comms(void);

/*
 * Sends in buffered mode; the data may be changed when it returns. WEFT_ERR_BUFFER: no
 * room, nothing was sent. With the lock at both ends, which is dropped while it copies.
 */
WEFT_MUST_CHECK enum weft_rc weft_bsend_locked(struct weft_comm *comm, int dest, int tag,
                                               const struct weft_data *data);

/* Sends in buffered mode, as weft_bsend_locked() does; takes the lock itself. */
WEFT_MUST_CHECK enum weft_rc weft_bsend(struct weft_comm *comm, int dest, int tag,
                                        const struct weft_data *data);

#endif
