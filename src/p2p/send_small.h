/*
 * send_small.h - the way of a small message out, in the common case.
 *
 * It is a header, because the binding of MPI_Send has it too: bindings are compiled
 * without link-time optimisation, and a function between them and the transport costs 20
 * instructions, about what the record of the call takes (docs/performance.md).
 */
#ifndef WEFT_P2P_SEND_SMALL_H
#define WEFT_P2P_SEND_SMALL_H

#include "core/comm.h"
#include "engine/hot.h"
#include "transport/transport.h"

#include <assert.h>

/* With the lock. AGAIN: it has to go another way. */
static inline __attribute__((always_inline)) enum weft_rc
weft_send_small(const struct weft_comm *comm, int dest, int tag, const void *buffer,
                size_t bytes, unsigned plane, bool is_standard)
{
    struct weft_peer *peer = weft_peer_find(weft_comm_process(comm, dest));

    if (weft_likely(peer != NULL && bytes < peer->fast_below && is_standard)) {
        struct weft_header header; /* field by field: an initialiser clears it first */
        enum weft_rc rc;

        assert(peer->fast != NULL);
        header.kind = WEFT_PKT_EAGER;
        header.channel = 0;
        header.flags = 0;
        header.path = 0;
        header.sequence = (uint32_t)peer->next_sequence;
        header.context = comm->context | plane;
        header.source = (uint32_t)comm->rank;
        header.tag = tag;
        header.length = (uint32_t)bytes;
        header.check = 0;
        rc = peer->fast->packets->send(peer->fast, &header, buffer, bytes, 0);
        if (weft_likely(rc == WEFT_OK)) {
            peer->next_sequence++;
        }
        return rc;
    }
    return WEFT_AGAIN;
}

#endif
