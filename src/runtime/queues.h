/*
 * queues.h - a table by which a debugger's library finds the message queues of a process
 * that it has stopped (queues/).
 *
 * The library reads the memory of a process, and may be of another build than it. So it
 * knows no struct of ours: the table says where the roots are and at which offset each
 * field is, filled by the compiler that has laid out the structs. It is found by its name
 * in the dynamic symbol table, and no debugging information is needed. Fields are added
 * at the end; a change of any other kind is a new version. The name of the table is
 * weft_queue_table; MPIR_dll_name, beside it, is the path of the library, under the name
 * that debuggers know.
 */
#ifndef WEFT_RUNTIME_QUEUES_H
#define WEFT_RUNTIME_QUEUES_H

#include <stdint.h>

#define WEFT_QUEUE_MAGIC "weft-mq"

enum { WEFT_QUEUE_VERSION = 1 };

struct weft_queue_table {
    char magic[8];
    uint32_t version;
    uint32_t bytes; /* of this table */

    /* Roots. The pools are known from Init on. */
    const void *world;
    const void *self;
    const void *comm_pool;
    const void *request_pool;
    const void *p2p;

    /* The state of point-to-point messages, and the matcher in it. */
    uint32_t p2p_is_open;
    uint32_t p2p_posted; /* an index for each class */
    uint32_t p2p_waiting_all;
    uint32_t classes;
    uint32_t index_bytes;
    uint32_t index_buckets;
    uint32_t index_bucket_count;
    uint32_t index_node_count;
    uint32_t node_head;
    uint32_t node_next;

    uint32_t pool_object_size;
    uint32_t pool_first;
    uint32_t pool_made;
    uint32_t pool_chunk;
    uint32_t pool_chunks;
    uint32_t slot_used; /* holds slot_is_used in a slot that is in use */
    uint32_t slot_is_used;
    uint32_t slot_object;

    uint32_t comm_bytes;
    uint32_t comm_rank;
    uint32_t comm_size;
    uint32_t comm_context;
    uint32_t comm_name;
    uint32_t comm_group;
    uint32_t comm_remote;
    uint32_t group_bytes;
    uint32_t group_size;
    uint32_t group_table; /* of its map */
    uint32_t group_first;
    uint32_t group_stride;
    uint32_t planes; /* contexts of a communicator */
    uint32_t plane_collective;
    uint32_t plane_partitioned;

    uint32_t request_bytes;
    uint32_t request_is_complete;
    uint32_t request_kind_at;
    uint32_t request_is_spare;
    uint32_t request_peer;
    uint32_t request_buffer;
    uint32_t request_length;
    uint32_t request_posted;
    uint32_t request_header;
    uint32_t request_is_announced;
    uint32_t kind_send;

    uint32_t posted_link;
    uint32_t posted_number;
    uint32_t posted_context;
    uint32_t posted_source;
    uint32_t posted_tag;

    uint32_t unexpected_bytes; /* without the data */
    uint32_t unexpected_all;
    uint32_t unexpected_context;
    uint32_t unexpected_source;
    uint32_t unexpected_tag;
    uint32_t unexpected_header;
    uint32_t unexpected_data;

    uint32_t header_kind;
    uint32_t header_sequence;
    uint32_t header_context;
    uint32_t header_tag;
    uint32_t header_length;
    uint32_t kind_eager;
    uint32_t announced_length; /* in the data of what is not eager */
    uint32_t peer_process;

    int32_t any_source;
    int32_t any_tag;
};

/*
 * Completes the table, when the pools of communicators and requests are there, and finds
 * the library.
 */
void weft_queues_open(void);

#endif
