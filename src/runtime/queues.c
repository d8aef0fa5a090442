#include "runtime/queues.h"

#include "core/comm.h"
#include "core/handle.h"
#include "p2p/request.h"
#include "p2p/state.h"
#include "transfer/packets.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN   __attribute__((visibility("default"), used))
#define QUEUES "libweft_queues.so"

enum { NAME_BYTES = 1024 };

/* The path from Init on. A program that is linked with libmpi_abi.a has only the name. */
SEEN char MPIR_dll_name[NAME_BYTES] = QUEUES;

SEEN struct weft_queue_table weft_queue_table = {
    .magic = WEFT_QUEUE_MAGIC,
    .version = WEFT_QUEUE_VERSION,
    .bytes = sizeof(struct weft_queue_table),
    .world = &weft_comm_world,
    .self = &weft_comm_self,
    .p2p = &weft_p2p,

    .p2p_is_open = offsetof(struct weft_p2p, is_open),
    .p2p_posted = offsetof(struct weft_p2p, match.posted),
    .p2p_waiting_all = offsetof(struct weft_p2p, match.all),
    .classes = WEFT_MATCH_CLASSES,
    .index_bytes = sizeof(struct weft_match_index),
    .index_buckets = offsetof(struct weft_match_index, buckets),
    .index_bucket_count = offsetof(struct weft_match_index, bucket_count),
    .index_node_count = offsetof(struct weft_match_index, node_count),
    .node_head = offsetof(struct weft_match_node, head),
    .node_next = offsetof(struct weft_match_node, next),

    .pool_object_size = offsetof(struct weft_pool, object_size),
    .pool_first = offsetof(struct weft_pool, first),
    .pool_made = offsetof(struct weft_pool, made),
    .pool_chunk = offsetof(struct weft_pool, chunk),
    .pool_chunks = WEFT_POOL_CHUNKS,
    .slot_used = offsetof(struct weft_pool_slot, next_free),
    .slot_is_used = WEFT_POOL_IN_USE,
    .slot_object = offsetof(struct weft_pool_slot, object),

    .comm_bytes = sizeof(struct weft_comm),
    .comm_rank = offsetof(struct weft_comm, rank),
    .comm_size = offsetof(struct weft_comm, size),
    .comm_context = offsetof(struct weft_comm, context),
    .comm_name = offsetof(struct weft_comm, name),
    .comm_group = offsetof(struct weft_comm, group),
    .comm_remote = offsetof(struct weft_comm, remote),
    .group_bytes = sizeof(struct weft_group),
    .group_size = offsetof(struct weft_group, size),
    .group_table = offsetof(struct weft_group, map.table),
    .group_first = offsetof(struct weft_group, map.first),
    .group_stride = offsetof(struct weft_group, map.stride),
    .planes = WEFT_PLANES,
    .plane_collective = WEFT_PLANE_COLL,
    .plane_partitioned = WEFT_PLANE_PARTITIONED,

    .request_bytes = sizeof(struct weft_p2p_request),
    .request_is_complete = offsetof(struct weft_p2p_request, base.event.is_set),
    .request_kind_at = offsetof(struct weft_p2p_request, base.kind),
    .request_is_spare = offsetof(struct weft_p2p_request, base.is_spare),
    .request_peer = offsetof(struct weft_p2p_request, peer),
    .request_buffer = offsetof(struct weft_p2p_request, data.buffer),
    .request_length = offsetof(struct weft_p2p_request, data.bytes),
    .request_posted = offsetof(struct weft_p2p_request, posted),
    .request_header = offsetof(struct weft_p2p_request, header),
    .request_is_announced = offsetof(struct weft_p2p_request, is_announced),
    .kind_send = WEFT_REQUEST_SEND,

    .posted_link = offsetof(struct weft_posted, link),
    .posted_number = offsetof(struct weft_posted, number),
    .posted_context = offsetof(struct weft_posted, context),
    .posted_source = offsetof(struct weft_posted, source),
    .posted_tag = offsetof(struct weft_posted, tag),

    .unexpected_bytes = sizeof(struct weft_unexpected),
    .unexpected_all = offsetof(struct weft_unexpected, waiting.all),
    .unexpected_context = offsetof(struct weft_unexpected, waiting.context),
    .unexpected_source = offsetof(struct weft_unexpected, waiting.source),
    .unexpected_tag = offsetof(struct weft_unexpected, waiting.tag),
    .unexpected_header = offsetof(struct weft_unexpected, header),
    .unexpected_data = offsetof(struct weft_unexpected, data),

    .header_kind = offsetof(struct weft_header, kind),
    .header_sequence = offsetof(struct weft_header, sequence),
    .header_context = offsetof(struct weft_header, context),
    .header_tag = offsetof(struct weft_header, tag),
    .header_length = offsetof(struct weft_header, length),
    .kind_eager = WEFT_PKT_EAGER,
    .announced_length = offsetof(struct weft_pkt_announce, length),
    .peer_process = offsetof(struct weft_peer, process),

    .any_source = WEFT_ANY_SOURCE,
    .any_tag = WEFT_ANY_TAG,
};

/*
 * Finds the library from the place of the one that this function is in, so that a prefix
 * can be moved: beside it, or where Debian's packages or a build have it.
 */
static void find_library(void)
{
    static const char *const places[] = {QUEUES, "weft/lib/" QUEUES, "../queues/" QUEUES};
    char folder[PATH_MAX];
    char path[NAME_BYTES];
    Dl_info here;
    char *slash;

    if (dladdr(&weft_queue_table, &here) == 0 || here.dli_fname == NULL ||
        realpath(here.dli_fname, folder) == NULL) {
        return;
    }
    slash = strrchr(folder, '/');
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const int bytes = snprintf(path, sizeof(path), "%s%s", folder, places[i]);

        if (bytes < (int)sizeof(path) && access(path, R_OK) == 0) {
            memcpy(MPIR_dll_name, path, (size_t)bytes + 1);
            return;
        }
    }
}

void weft_queues_open(void)
{
    find_library();
    weft_queue_table.comm_pool = weft_handle_pool(WEFT_KIND_COMM);
    weft_queue_table.request_pool = weft_handle_pool(WEFT_KIND_REQUEST);
}
