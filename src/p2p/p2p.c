/*
 * p2p.c - opening and closing: the files of this room are put together here.
 */
#include "p2p/counts.h"
#include "p2p/internal.h"
#include "p2p/probe.h"
#include "p2p/tagged.h"
#include "engine/lock.h"
#include "engine/seal.h"
#include "transfer/rndv_net.h"

#include "base/copy.h"
#include "base/log.h"
#include "base/settings.h"
#include "core/grequest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct weft_grequest) <= sizeof(struct weft_p2p_request),
               "all requests are taken from one pool");
_Static_assert(WEFT_WIRE_VERSION == 16 && WEFT_SEGMENT_LAYOUT == 18,
               "ranks that share a segment exchange packets: where the wire version "
               "changes, the layout's does");

/* Bytes of messages outside the buffers that the progress thread may make. */
static const uint64_t BEYOND_ALONE = 32 * 1024 * 1024;

/*
 * The grant rule: a full store takes a message only if a receive or a probe could be
 * waiting for it. Where much was taken so already, it does so only while the program is
 * in MPI: a receive that it left behind would let a flood fill the memory while it
 * computes, and what it waits for is found when it calls MPI.
 */
static bool wants(const struct weft_peer *from)
{
    const struct weft_p2p *p = &weft_p2p;
    const struct weft_match *m = &p->match;

    if (weft_engine.is_progress_thread_inside && weft_engine.waiting_threads == 0 &&
        p->unexpected.beyond >= BEYOND_ALONE) {
        return false;
    }
    if (m->posted_count[WEFT_MATCH_ANY_SOURCE] + m->posted_count[WEFT_MATCH_ANY_BOTH] >
        0) {
        return true;
    }
    if (p->probes != NULL && weft_probe_wants(from)) {
        return true;
    }
    if (from == NULL) {
        return m->posted_count[WEFT_MATCH_EXACT] + m->posted_count[WEFT_MATCH_ANY_TAG] >
                   0 ||
               weft_transfers.incoming > 0;
    }
    return from->wanted > 0;
}

static void seal(struct weft_header *header, const void *data, size_t len)
{
    const bool has_chunks = header->kind == WEFT_PKT_DATA;

    weft_seal_packet(header, data, has_chunks ? sizeof(struct weft_pkt_data) : len);
}

void weft_p2p_set_checksum(bool has_checksum)
{
    weft_p2p.has_checksum = has_checksum;
    weft_engine.hooks.seal = has_checksum ? seal : NULL;
}

/* A copy has come back that kept a request of a failed peer from ending. */
static void work_rested(void)
{
    if (weft_unlikely(weft_p2p.has_unfailed)) {
        weft_p2p_fail_requests();
    }
}

static void register_all(void)
{
    struct weft_engine *e = &weft_engine;

    weft_transfer_open(work_rested);
    weft_p2p_register_kinds();
    e->hooks.wants = wants;
    e->told = weft_rndv_net_on_told;
    e->scatter = weft_p2p_scatter;
    weft_engine_on_look(weft_transfers_look, weft_transfers_have_news);
    weft_engine_on_failed(weft_p2p_fail_requests);
    weft_p2p_set_checksum(weft_setting(WEFT_SET_CHECKSUM) != 0);
}

static enum weft_rc open_transports(const struct weft_packet_ops *const *list)
{
    enum weft_rc rc = WEFT_OK;

    for (int i = 0; list[i] != NULL && rc == WEFT_OK; i++) {
        rc = weft_transport_add(list[i]);
    }
    if (rc == WEFT_OK) {
        rc = weft_threads_open();
    }
    if (rc != WEFT_OK) {
        weft_transports_close();
    }
    return rc;
}

enum weft_rc weft_p2p_open(const struct weft_packet_ops *const *transports,
                           struct weft_job *job)
{
    struct weft_p2p *p = &weft_p2p;
    enum weft_rc rc;

    memset(p, 0, sizeof(*p));
    weft_engine_open(job);
    weft_engine.has_progress = weft_setting(WEFT_SET_PROGRESS) != 0;
    register_all();
    weft_node_open(job, &weft_engine.node);
    rc = open_transports(transports);
    if (rc == WEFT_OK) {
        weft_tagged_on_look(weft_probe_look);
        rc = weft_tagged_open();
        if (rc != WEFT_OK) {
            weft_threads_close();
            weft_transports_close();
        }
    }
    if (rc != WEFT_OK) {
        weft_node_close(&weft_engine.node);
        return rc;
    }
    weft_match_init(&p->match);
    weft_request_open(sizeof(struct weft_p2p_request));
    weft_probe_open();
    weft_counts_open();
    p->is_open = true;
    if (weft_setting(WEFT_SET_CONNECT) != 0) {
        rc = weft_transports_wire_all();
        if (rc != WEFT_OK) { /* our threads want the lock before they end */
            weft_unlock();
            weft_p2p_close();
            weft_lock();
        }
    }
    return rc;
}

/* Requests go with their pool. */
static void close_peers(void)
{
    struct weft_peer *peer;
    uint32_t at = 0;

    while ((peer = weft_table_next(&weft_engine.peers, &at)) != NULL) {
        weft_engine_fail_retries(peer, WEFT_RETRY_CONTROL);
        weft_engine_drop_retries(peer, WEFT_RETRY_ORDERED);
        weft_engine_fail_retries(peer, WEFT_RETRY_BULK);
        weft_transfer_leave(peer);
    }
    weft_peers_close();
}

void weft_p2p_close(void)
{
    struct weft_p2p *p = &weft_p2p;

    weft_threads_stop();
    weft_counts_close();
    p->is_open = false;
    weft_unexpected_close(&p->unexpected, &p->match);
    weft_match_fini(&p->match);
    weft_probe_close();
    weft_peers_disconnect();
    weft_threads_close();
    weft_transports_close();
    weft_tagged_close();
    weft_rndv_net_close();
    weft_node_close(&weft_engine.node);
    close_peers();
    weft_transfer_close();
    weft_request_close();
    p->spare = NULL;
}
