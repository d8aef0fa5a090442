/*
 * failed.c - messages of processes that have failed (engine/failed.c).
 *
 * Messages that have arrived can be received at any time. Everything that only a failed
 * process could bring to an end is completed with WEFT_ERR_PROC_FAILED: sends to it, what
 * it was sending, receives and probes that name it, and, on a communicator with a failed
 * member, those from any source, because nobody can tell whether the message would have
 * been that member's, and those of collectives, because whoever was to send may have
 * given up. Later sends and receives of these kinds fail as soon as they are started, and
 * so do long messages of collectives, which have to be waited for, to any member.
 *
 * A collective that fails so has ended for this rank, while others may still send to it.
 * What they announce is dropped, and so they come to an end too (weft_p2p_revoke). That
 * needs no message of its own. From then on the rank begins no collective on that
 * communicator: others could take what it sends for a part of the one that has failed.
 *
 * A member of another operation of several ranks that gives it up drops single messages,
 * those that it would have received (weft_p2p_drop_next).
 *
 * A process that the network has lost (weft_engine_lost) is treated in the same way. It
 * may be alive, but nothing goes there and nothing comes from it. Only the two processes
 * at the ends of a connection learn that it is lost. So a collective that fails for that
 * reason ends the job, unless these two are its only members, and so does MPI_Finalize.
 * A process that has closed its last session before its connections ended has left in
 * good order: what names it fails, but receives from any source and collectives of others
 * go on.
 *
 * A request that a thread is copying for, outside the lock, is completed when that thread
 * comes back: process_vm_* fails by itself where the other process is gone.
 */
#include "engine/lock.h"
#include "node/copy_share.h"
#include "p2p/internal.h"
#include "p2p/probe.h"
#include "p2p/tagged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- collectives that are given up ---- */

/* Drops a message that waits. */
static void drop(struct weft_unexpected *message)
{
    struct weft_p2p *p = &weft_p2p;

    weft_match_take(&p->match, &message->waiting);
    weft_p2p_drop(message->from, &message->header, message->data);
    weft_unexpected_free(&p->unexpected, &p->match, message);
    weft_engine.order.is_full = p->unexpected.is_full;
}

void weft_p2p_drop_waiting(uint32_t context)
{
    struct weft_unexpected *message;

    if (weft_p2p_is_tagged(context & (WEFT_PLANES - 1))) {
        weft_tagged_drop(context);
    }
    while ((message = (struct weft_unexpected *)weft_match_find(
                &weft_p2p.match, context, WEFT_ANY_SOURCE, MPI_ANY_TAG)) != NULL &&
           message->header.kind == WEFT_PKT_EAGER) {
        drop(message);
    }
}

/* ---- single messages ---- */

void weft_p2p_drop_next(uint32_t context, int source, int tag)
{
    struct weft_unexpected *message =
        (struct weft_unexpected *)weft_match_find(&weft_p2p.match, context, source, tag);

    weft_assert_locked();
    if (message != NULL) {
        drop(message);
        return;
    }
    weft_p2p_note_unwanted(context, source, tag);
}

void weft_p2p_on_refuse(bool (*refuses)(const struct weft_header *header))
{
    weft_p2p.refuses = refuses;
}

static bool is_refused(const struct weft_waiting *entry)
{
    return weft_p2p.refuses(&((const struct weft_unexpected *)entry)->header);
}

static void drop_refused(void)
{
    struct weft_waiting *entry;

    while (weft_p2p.refuses != NULL &&
           (entry = weft_match_find_if(&weft_p2p.match, is_refused)) != NULL) {
        drop((struct weft_unexpected *)entry);
    }
}

/* ---- revoking ---- */

/* With two members, both know. */
static void end_if_others_wait(const struct weft_comm *comm)
{
    const char *why = comm->peers > 2 ? weft_p2p_why_lost(comm) : NULL;
    char cause[WEFT_CAUSE_BYTES];

    if (why != NULL) {
        snprintf(cause, sizeof(cause), "a collective on %s cannot complete: %s",
                 comm->name, why);
        weft_wireup_abort(weft_engine.job, MPI_ERR_PROC_ABORTED, cause);
    }
}

static void drop_collectives(uint32_t context)
{
    struct weft_unexpected *message;

    weft_p2p.drops = true;
    while ((message = (struct weft_unexpected *)weft_match_find_below(
                &weft_p2p.match, context | WEFT_PLANE_COLL, WEFT_COLL_NUMBERS)) != NULL) {
        drop(message);
    }
    weft_transfers_look(); /* what was dropped is over */
}

void weft_p2p_revoke(struct weft_comm *comm)
{
    weft_assert_locked();
    end_if_others_wait(comm);
    comm->is_revoked = true;
    drop_collectives(comm->context);
}

void weft_p2p_revoke_left(uint32_t context)
{
    weft_assert_locked();
    drop_collectives(context);
}

void weft_p2p_on_left(bool (*is_left)(uint32_t context))
{
    weft_p2p.is_left = is_left;
}

/* ---- what waits for it ---- */

/* Everything but what waits for room. */
static void fail_send(struct weft_p2p_request *send)
{
    if (send->peer == NULL || !send->peer->is_failed) {
        return;
    }
    if (weft_tagged_has(send)) {
        weft_tagged_end_send(send, WEFT_ERR_PROC_FAILED);
    } else if (send->transfer != NULL &&
               send->transfer->work.state == WEFT_WORK_RUNNING) {
        weft_p2p.has_unfailed = true;
    } else {
        weft_p2p_end_send(send, WEFT_ERR_PROC_FAILED);
    }
}

/* Bytes of its message were to come. */
static void fail_transfer(struct weft_transfer *recv)
{
    if (recv == NULL || !recv->peer->is_failed) {
        return;
    }
    if (recv->work.state == WEFT_WORK_RUNNING) {
        weft_p2p.has_unfailed = true;
    } else {
        weft_transfer_end(recv, WEFT_ERR_PROC_FAILED);
    }
}

/* Because of whom it will never be matched, or MPI_UNDEFINED. */
static int blocked_by(const struct weft_p2p_request *recv)
{
    const struct weft_comm *comm = recv->base.comm;

    if (recv->peer != NULL && recv->peer->is_failed) {
        return recv->posted.source;
    }
    if (!weft_p2p_is_on_all(recv->posted.context & (WEFT_PLANES - 1),
                            recv->posted.source)) {
        return MPI_UNDEFINED;
    }
    if (comm == NULL) { /* a blocking receive has none */
        comm = weft_comm_of_context(recv->posted.context);
    }
    return comm != NULL ? weft_p2p_failed_from(comm, 0) : MPI_UNDEFINED;
}

/* Members of one collective may wait for what they have announced to each other, while
 * all of them have given up their receives: so what is announced is dropped from now on.
 */
static void note_collective(const struct weft_p2p_request *recv)
{
    struct weft_comm *comm = weft_comm_of_context(recv->posted.context);

    if (comm != NULL && (recv->posted.context & (WEFT_PLANES - 1)) == WEFT_PLANE_COLL &&
        (uint32_t)recv->posted.tag < WEFT_COLL_NUMBERS) {
        comm->has_given_up = true;
    }
}

static void revoke_if_given_up(struct weft_comm *comm)
{
    if (comm->has_given_up && !comm->is_revoked) {
        weft_p2p_revoke(comm);
    }
}

static void revoke_given_up(void)
{
    struct weft_comm *comm;
    uint32_t at = 0;

    revoke_if_given_up(&weft_comm_world);
    while ((comm = weft_comm_next(&at)) != NULL) {
        revoke_if_given_up(comm);
    }
}

/*
 * Where the node's memory is shared, a sender may claim an offer at any moment, and then
 * waits for this process, too: its message comes, and the transfer ends by itself. An
 * offer that nobody has claimed is taken back, so that nobody writes to the buffer later.
 */
static bool is_claimed_by_the_living(const struct weft_p2p_request *recv)
{
    return recv->posted.offer != NULL && !recv->peer->is_failed &&
           !weft_peer_is_on_net(recv->peer) &&
           !weft_share_take_back(recv->posted.offer, recv->posted.offer_generation);
}

/* A sender that died between claiming an offer and opening it will not open it. */
static void fail_posted(struct weft_p2p_request *recv)
{
    const int dead = blocked_by(recv);

    if (dead == MPI_UNDEFINED || is_claimed_by_the_living(recv)) {
        return;
    }
    note_collective(recv);
    if (recv->posted.state == WEFT_POSTED_AWAY) {
        weft_tagged_give_up(recv, dead);
        return;
    }
    weft_match_claimed(&weft_p2p.match, &recv->posted);
    if (recv->peer != NULL) {
        recv->peer->wanted--;
    }
    if (recv->posted.offer != NULL) {
        weft_p2p_withdraw(recv);
    }
    weft_p2p_fail_recv(recv, dead);
}

static void fail_if_failed(struct weft_request *base)
{
    struct weft_p2p_request *request = (struct weft_p2p_request *)base;

    if (base->kind == WEFT_REQUEST_SEND) {
        fail_send(request);
    } else if (base->kind == WEFT_REQUEST_RECV) {
        if (request->posted.state == WEFT_POSTED ||
            request->posted.state == WEFT_POSTED_AWAY || request->posted.offer != NULL) {
            fail_posted(request);
        } else {
            fail_transfer(request->transfer);
        }
    }
}

static void forget_offers(void)
{
    struct weft_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_table_next(&weft_engine.peers, &at)) != NULL) {
        if (peer->is_failed) {
            weft_transfer_forget(peer);
        }
    }
}

void weft_p2p_fail_requests(void)
{
    forget_offers();
    weft_p2p.has_unfailed = false;
    weft_transfers_look(); /* what is over is over */
    weft_request_each(fail_if_failed);
    revoke_given_up();
    drop_refused();
    weft_p2p.drops = true;
    weft_probe_fail();
}
