/*
 * failed.c - processes that have ended without MPI_Finalize while others go on, or that
 * no transport reaches any more.
 *
 * The launcher lists them in the segment of every node (weft_segment_fail). A thread
 * that polls compares the list's count with the one seen last, a thread that is about to
 * sleep compares it once more, and a thread that sleeps is rung. A transport that has
 * lost the way to a process says so (weft_engine_lost), and the next poll finds that too.
 *
 * What a process has sent before it ended is taken first, as far as there is room. Then
 * its peer is marked, what was to be tried again is ended, and the rooms above are called
 * in the order in which they have registered; each fails its own operations.
 */
#include "engine/engine.h"

#include "engine/held.h"
#include "engine/hot.h"

#include <stdlib.h>
#include <string.h>

enum { BUDGET = 64, TURNS = 1024 };

/* From now on nothing is started that goes there; what was started ends later. */
static struct weft_peer *mark_failed(uint64_t process)
{
    struct weft_peer *peer = weft_engine_meet(NULL, process);

    if (!peer->is_failed) {
        peer->is_failed = true;
        weft_engine.failed_count++;
        weft_engine_update_fast(peer);
    }
    return peer;
}

void weft_engine_lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    struct weft_engine *e = &weft_engine;
    struct weft_peer *peer = weft_engine_meet(owner, process);

    weft_assert_locked();
    if (peer->is_failed) {
        return; /* the launcher has said so, and why */
    }
    mark_failed(process);
    peer->has_left = has_left;
    weft_peer_rare(peer)->why_lost = strdup(why);
    if (peer->rare->why_lost == NULL) {
        weft_wireup_abort(e->job, 1, why);
    }
    /* The count only grows, so that whoever compares finds a failure to be noticed. */
    e->failures_seen = atomic_load_explicit(e->failures, memory_order_relaxed) - 1;
}

const char *weft_engine_why_failed(uint64_t process)
{
    const struct weft_peer *peer = weft_peer_find(process);
    const struct weft_segment *segment = &weft_engine.job->segment;
    const char *why;
    uint32_t local;

    if (peer != NULL && weft_peer_why_lost(peer) != NULL) {
        return weft_peer_why_lost(peer);
    }
    if (!weft_node_has(&weft_engine.node, process, &local)) {
        return "it has ended on another node";
    }
    why = weft_segment_why_lost(segment, local);
    return why != NULL ? why : "";
}

/* The launcher's word, which all processes get, in place of a connection that broke. */
static void note_failed(uint32_t rank)
{
    if (rank < weft_engine.job->segment.job_size) {
        struct weft_peer *peer = mark_failed(weft_engine_process(rank));

        if (peer->rare != NULL) {
            free(peer->rare->why_lost);
            peer->rare->why_lost = NULL;
        }
    }
}

static void fail_retries(void)
{
    struct weft_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_table_next(&weft_engine.peers, &at)) != NULL) {
        for (int i = 0; peer->is_failed && i < WEFT_RETRY_CLASSES; i++) {
            weft_engine_fail_retries(peer, (enum weft_retry_class)i);
        }
    }
}

void weft_engine_notice_failed(void)
{
    struct weft_engine *e = &weft_engine;
    const struct weft_segment *segment = &e->job->segment;
    /* Acquire: after the count, the marks and what the process has sent are seen. */
    const uint32_t failures = atomic_load_explicit(e->failures, memory_order_acquire);

    weft_assert_locked();
    e->failures_seen = failures;
    e->up.has_failed = failures > 0;
    weft_transports_poll_out(BUDGET, TURNS); /* may lose a peer: that is noticed next */
    for (uint32_t i = 0; i < failures && i < segment->job_size; i++) {
        note_failed(weft_segment_failed(segment, i));
    }
    fail_retries();
    for (int i = 0; i < WEFT_HOOKS_MAX && e->hooks.failed[i] != NULL; i++) {
        e->hooks.failed[i]();
    }
    if (e->is_in_barrier && failures > 0) {
        /* If not all have come, the last to come releases us. Where nobody has died the
         * barrier counts, and who is lost to us comes there as others do. */
        (void)weft_segment_release(segment, e->barrier_generation);
    }
}
