/*
 * step.h - what collectives are made of: messages on the collective plane, with the tag
 * of the call. For the files of this room.
 */
#ifndef WEFT_COLL_STEP_H
#define WEFT_COLL_STEP_H

#include "coll/coll.h"
#include "core/request.h"

/* A receive under way, which weft_coll_finish() waits for and frees. */
struct weft_coll_step {
    struct weft_request *request;
    int peer;
    size_t bytes;
};

WEFT_MUST_CHECK enum weft_rc weft_coll_post(const struct weft_coll *coll, int source,
                                            void *buffer, size_t bytes,
                                            struct weft_coll_step *step);
WEFT_MUST_CHECK enum weft_rc weft_coll_finish(const struct weft_coll *coll,
                                              const struct weft_coll_step *step);

/* Return when the buffer may be reused, or has been filled. */
WEFT_MUST_CHECK enum weft_rc weft_coll_send(const struct weft_coll *coll, int dest,
                                            const void *buffer, size_t bytes);
WEFT_MUST_CHECK enum weft_rc weft_coll_recv(const struct weft_coll *coll, int source,
                                            void *buffer, size_t bytes);

/*
 * Both at once. If it cannot be sent, for want of memory, the receive stays posted and is
 * lost: then no more can come of this call, and the buffer is not safe until the process
 * ends.
 */
WEFT_MUST_CHECK enum weft_rc weft_coll_exchange(const struct weft_coll *coll, int dest,
                                                const void *send, size_t send_bytes,
                                                int source, void *recv,
                                                size_t recv_bytes);

/* This rank's own block. WEFT_ERR_TRUNCATE if it does not fit, as with a message. */
WEFT_MUST_CHECK enum weft_rc weft_coll_copy(const void *from, size_t from_bytes, void *to,
                                            size_t to_bytes);

/* Where the block of a rank begins. */
static inline char *weft_coll_block(void *buffer, size_t bytes, int rank)
{
    return (char *)buffer + bytes * (size_t)rank;
}

/* Trees are built for root 0; a rank's position in a tree, and the rank at a position. */
static inline int weft_coll_position(const struct weft_comm *comm, int rank, int root)
{
    return rank >= root ? rank - root : rank - root + comm->size;
}

static inline int weft_coll_rank_at(const struct weft_comm *comm, int position, int root)
{
    return weft_coll_position(comm, position, comm->size - root);
}

#endif
