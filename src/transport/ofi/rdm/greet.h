/*
 * greet.h - first contact: two ranks make sure of each other by the job's secret, each
 * before it sends its first packet.
 *
 *   ASK      sender to receiver: who asks, and a number that it has drawn
 *   ANSWER   receiver to sender: another number, and what it will call the sender
 *
 * Both are those of handshake.h. What a confirm does there every frame does here: it
 * shows a pass that follows from both numbers and the secret, and until one with the
 * right pass has come, nothing is believed. A pass is for one direction; who was asked
 * asks in its turn when it has something to send. So asks that cross need no rule.
 *
 * An answer goes where wire-up says that its receiver is, not to where an ask came from;
 * who has not the secret gets none. An ask may be an old one that was recorded: until the
 * pass was shown, an ask with another number takes its place. Memory is taken only for
 * ranks of the job, by asks with a right tag.
 */
#ifndef WEFT_OFI_RDM_GREET_H
#define WEFT_OFI_RDM_GREET_H

#include "transport/ofi/rdm/rdm.h"

/* Asks a peer for a pass, unless that is under way or done. */
void weft_rdm_greet(struct weft_transport *tp, struct weft_rdm_peer *peer);

/* Take an ASK or ANSWER; false: it is of nobody of this job, or makes no sense. */
bool weft_rdm_on_ask(struct weft_transport *tp, const struct weft_rdm_frame *frame,
                     const void *data, size_t len);
bool weft_rdm_on_answer(struct weft_transport *tp, const struct weft_rdm_frame *frame,
                        const void *data, size_t len);

/* Sends the answers that could not be sent before; no event tells when it can. */
void weft_rdm_answer_all(struct weft_transport *tp);

#endif
