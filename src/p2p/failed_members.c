/*
 * failed_members.c - which members of a communicator have failed, and what can never come
 * to an end because of them.
 */
#include "p2p/internal.h"

#include <string.h>

static bool is_failed(uint64_t process)
{
    const struct weft_peer *peer = weft_peer_find(process);

    return peer != NULL && peer->is_failed;
}

/* Is it dead without having left in good order? */
static bool has_failed(uint64_t process)
{
    const struct weft_peer *peer = weft_peer_find(process);

    return peer != NULL && peer->is_failed && !peer->has_left;
}

int weft_p2p_failed_from(const struct weft_comm *comm, int first)
{
    for (int rank = first; weft_engine.failed_count > 0 && rank < comm->peers; rank++) {
        if (has_failed(weft_comm_process(comm, rank))) {
            return rank;
        }
    }
    return MPI_UNDEFINED;
}

bool weft_p2p_is_on_all(uint32_t plane, int source)
{
    return source == WEFT_ANY_SOURCE || plane == WEFT_PLANE_COLL;
}

int weft_p2p_failed_source(const struct weft_comm *comm, enum weft_plane plane,
                           int source)
{
    if (source != WEFT_ANY_SOURCE && is_failed(weft_comm_process(comm, source))) {
        return source;
    }
    return weft_p2p_is_on_all(plane, source) ? weft_p2p_failed_from(comm, 0)
                                             : MPI_UNDEFINED;
}

bool weft_p2p_is_lost(uint64_t process)
{
    const struct weft_peer *peer = weft_peer_find(process);

    return peer != NULL && weft_peer_why_lost(peer) != NULL;
}

const char *weft_p2p_why_lost(const struct weft_comm *comm)
{
    for (int rank = weft_p2p_failed_from(comm, 0); rank != MPI_UNDEFINED;
         rank = weft_p2p_failed_from(comm, rank + 1)) {
        const uint64_t process = weft_comm_process(comm, rank);

        if (weft_p2p_is_lost(process)) {
            return weft_engine_why_failed(process);
        }
    }
    return NULL;
}

static bool is_collective(const struct weft_header *header)
{
    return (header->context & (WEFT_PLANES - 1)) == WEFT_PLANE_COLL;
}

bool weft_p2p_has_failed_member(const struct weft_header *header)
{
    const struct weft_comm *comm;

    if (!is_collective(header)) {
        return false;
    }
    comm = weft_comm_of_context(header->context);
    return comm != NULL && weft_p2p_failed_from(comm, 0) != MPI_UNDEFINED;
}

static bool is_revoked(const struct weft_header *header)
{
    const struct weft_comm *comm;

    if (!is_collective(header) || header->tag >= WEFT_COLL_NUMBERS) {
        return false;
    }
    comm = weft_comm_of_context(header->context);
    if (comm == NULL) {
        return weft_p2p.is_left != NULL &&
               weft_p2p.is_left(header->context & ~(uint32_t)(WEFT_PLANES - 1));
    }
    return comm->is_revoked;
}

/* Messages that are to be dropped when they come. Where there are more than this many,
 * the oldest entry is forgotten: that message stays. */
enum { UNWANTED = 64 };

static struct unwanted {
    uint32_t context; /* 0: none, as for contexts of this plane */
    int source;
    int tag;
} unwanted[UNWANTED];
static unsigned unwanted_next;

void weft_p2p_note_unwanted(uint32_t context, int source, int tag)
{
    if (!weft_p2p.drops) {
        memset(unwanted, 0, sizeof(unwanted)); /* of before MPI was initialised again */
    }
    unwanted[unwanted_next++ % UNWANTED] = (struct unwanted){context, source, tag};
    weft_p2p.drops = true;
}

static bool is_unwanted(const struct weft_header *header)
{
    for (int i = 0; i < UNWANTED; i++) {
        struct unwanted *u = &unwanted[i];

        if (u->context == header->context && u->source == (int)header->source &&
            u->tag == header->tag && u->context != 0) {
            u->context = 0;
            return true;
        }
    }
    return false;
}

bool weft_p2p_is_dropped(const struct weft_header *header)
{
    return is_unwanted(header) || is_revoked(header) ||
           (weft_engine.failed_count > 0 && weft_p2p.refuses != NULL &&
            weft_p2p.refuses(header));
}
