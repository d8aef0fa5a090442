/*
 * probe.h - looking at messages before they are received.
 *
 * A probe looks at the unexpected messages. If none matches, the probe is kept in a list
 * until a message arrives that no posted receive takes. It is a request that the arrival
 * completes, so it waits, sleeps and is woken as a receive is, by any thread. While it is
 * in the list, it counts as a receive for the grant rule (docs/design.md, 7).
 *
 * A matched probe (MPI_Mprobe) takes its message: no receive finds it any more. Its bytes
 * are copied into an object that belongs to the program until it is received;
 * weft_probe_close() frees those that never are.
 *
 * Each function takes the lock, unless it says that it needs it.
 */
#ifndef WEFT_P2P_PROBE_H
#define WEFT_P2P_PROBE_H

#include "match/unexpected.h"
#include "p2p/p2p.h"

/* A message that was taken out of matching. */
struct weft_message {
    MPI_Message handle;
    struct weft_comm *comm;    /* one of its references is ours */
    struct weft_header header; /* as it arrived */
    struct weft_peer *from;
    void *data;                /* what came behind the header; NULL: nothing */
    struct weft_tagged *claim; /* the network has it (tagged.h); NULL: we do */
};

/*
 * Returns when a message waits that a receive with these values, wildcards or not, would
 * take, and describes it in *received. If `message` is not NULL, takes the message out of
 * matching and stores it there.
 */
WEFT_MUST_CHECK enum weft_rc weft_probe(struct weft_comm *comm, int source, int tag,
                                        struct weft_message **message,
                                        struct weft_received *received);

/* Looks for such a message without waiting; polls a little if there is none. */
WEFT_MUST_CHECK enum weft_rc weft_iprobe(struct weft_comm *comm, int source, int tag,
                                         bool *is_found, struct weft_message **message,
                                         struct weft_received *received);

/* Receives a message that was taken, which is gone then, if the call succeeds. */
WEFT_MUST_CHECK enum weft_rc weft_imrecv(struct weft_message *message,
                                         const struct weft_data *data,
                                         struct weft_request **out);

/* The message behind a handle, or NULL. Needs the lock. */
struct weft_message *weft_message_from_handle(MPI_Message handle);

/* ---- with the lock ---- */

void weft_probe_open(void);
void weft_probe_close(void);

/* A message has been kept: tells the probes that wait for it. It may be gone then. */
void weft_probe_notify(struct weft_unexpected *message);

/* For weft_tagged_on_look(): asks the network for the messages that probes wait for. */
void weft_probe_look(void);

/* Fails the probes that only the dead could have answered. */
void weft_probe_fail(void);

/* What the probe that has waited longest waits for; false: none does. */
bool weft_probe_oldest(struct weft_comm **comm, int *source, int *tag);

/* How long a message is, by its header and what has arrived behind that. */
uint64_t weft_probe_length(const struct weft_header *header, const void *data);

/* Does a probe wait for a message of this peer, or, if it is NULL, of any? */
bool weft_probe_wants(const struct weft_peer *from);

#endif
