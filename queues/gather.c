#include "gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMS_MOST = 1 << 14,
    OPERATIONS_MOST = 1 << 18,
    FETCHES_MOST = 1 << 23, /* for all lists together, whatever memory holds */
    STRUCT_MOST = 4096,     /* bytes of any struct that is read whole */
    MEMBERS_MOST = 1 << 24,
    UNKNOWN = -2,
};

/* ---- memory of the process ---- */

static bool fetch(struct target *target, uint64_t from, void *to, size_t bytes)
{
    if (target->fetches >= FETCHES_MOST) {
        return false;
    }
    target->fetches++;
    return from >= 4096 && bytes <= INT32_MAX &&
           target->fetch(target->process, from, (int)bytes, to) == mqs_ok;
}

static uint64_t u64_at(const void *memory, uint32_t offset)
{
    uint64_t value;

    memcpy(&value, (const char *)memory + offset, sizeof(value));
    return value;
}

static uint32_t u32_at(const void *memory, uint32_t offset)
{
    uint32_t value;

    memcpy(&value, (const char *)memory + offset, sizeof(value));
    return value;
}

static int32_t i32_at(const void *memory, uint32_t offset)
{
    return (int32_t)u32_at(memory, offset);
}

static uint8_t u8_at(const void *memory, uint32_t offset)
{
    return ((const uint8_t *)memory)[offset];
}

static uint64_t fetch_u64(struct target *target, uint64_t from)
{
    uint64_t value = 0;

    return fetch(target, from, &value, sizeof(value)) ? value : 0;
}

static uint32_t fetch_u32(struct target *target, uint64_t from)
{
    uint32_t value = 0;

    return fetch(target, from, &value, sizeof(value)) ? value : 0;
}

static void fetch_text(struct target *target, uint64_t from, char *to, size_t size)
{
    size_t n = 0;

    while (n + 1 < size && fetch(target, from + n, to + n, 1) && to[n] >= ' ' &&
           to[n] <= '~') {
        n++;
    }
    to[n] = '\0';
}

/* Are all structs of a size that we read, with their fields inside? All offsets follow
 * the first one and are small. */
static bool is_sound(const struct weft_queue_table *table)
{
    const uint32_t *at = &table->p2p_is_open;
    const uint32_t *end = (const uint32_t *)(const void *)&table->any_source;

    for (; at < end; at++) {
        if (*at > STRUCT_MOST - 64 && at != &table->slot_is_used) {
            return false;
        }
    }
    return table->planes > 0 && (table->planes & (table->planes - 1)) == 0 &&
           table->classes <= 16;
}

bool target_open(struct target *target, mqs_taddr_t table)
{
    target->fetches = 0;
    return fetch(target, table, &target->table, sizeof(target->table)) &&
           memcmp(target->table.magic, WEFT_QUEUE_MAGIC, sizeof(WEFT_QUEUE_MAGIC)) == 0 &&
           target->table.version == WEFT_QUEUE_VERSION &&
           target->table.bytes >= sizeof(target->table) && is_sound(&target->table);
}

static uint64_t root(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

bool target_is_open(struct target *target)
{
    uint8_t is_open = 0;

    return fetch(target, root(target->table.p2p) + target->table.p2p_is_open, &is_open,
                 1) &&
           is_open != 0;
}

/* ---- pools ---- */

typedef void object_fn(struct target *target, struct queues *queues, uint64_t address);

/* Calls `visit` for every object of a pool that is in use. */
static void each_object(struct target *target, struct queues *queues, uint64_t pool,
                        object_fn *visit)
{
    const struct weft_queue_table *t = &target->table;
    const uint64_t bytes = fetch_u64(target, pool + t->pool_object_size);
    const uint64_t first = fetch_u32(target, pool + t->pool_first);
    uint32_t left = fetch_u32(target, pool + t->pool_made);

    left = left < OPERATIONS_MOST ? left : OPERATIONS_MOST;
    if (pool == 0 || first == 0 || first > OPERATIONS_MOST || bytes > STRUCT_MOST) {
        return;
    }
    for (uint32_t c = 0; c < t->pool_chunks && left > 0; c++) {
        const uint64_t chunk =
            fetch_u64(target, pool + t->pool_chunk + c * sizeof(void *));

        for (uint64_t i = 0; i < first << c && left > 0; i++, left--) {
            const uint64_t slot = chunk + i * bytes;

            if (chunk != 0 && fetch_u32(target, slot + t->slot_used) == t->slot_is_used) {
                visit(target, queues, slot + t->slot_object);
            }
        }
    }
}

/* ---- communicators ---- */

static struct members read_members(struct target *target, uint64_t group)
{
    const struct weft_queue_table *t = &target->table;
    struct members members = {0, 0, 0, 0};
    char memory[STRUCT_MOST];

    if (fetch(target, group, memory, t->group_bytes)) {
        members.table = u64_at(memory, t->group_table);
        members.first = u64_at(memory, t->group_first);
        members.stride = (int64_t)u64_at(memory, t->group_stride);
        members.size = i32_at(memory, t->group_size);
    }
    if (members.size < 0 || members.size > MEMBERS_MOST) {
        members.size = 0;
    }
    return members;
}

static uint64_t process_of(struct target *target, const struct members *members, int rank)
{
    return members->table != 0
               ? fetch_u64(target, members->table + (uint64_t)rank * sizeof(uint64_t))
               : members->first + (uint64_t)rank * (uint64_t)members->stride;
}

int members_global(struct target *target, const struct members *members, int rank)
{
    return rank >= 0 && rank < members->size
               ? (int)(uint32_t)process_of(target, members, rank)
               : -1;
}

static int member_of(struct target *target, const struct members *members,
                     uint64_t process)
{
    if (members->table == 0) {
        const int64_t far = (int64_t)(process - members->first);
        const int64_t rank = members->stride != 0 ? far / members->stride : 0;

        return rank >= 0 && rank < members->size &&
                       process_of(target, members, (int)rank) == process
                   ? (int)rank
                   : UNKNOWN;
    }
    for (int r = 0; r < members->size; r++) {
        if (process_of(target, members, r) == process) {
            return r;
        }
    }
    return UNKNOWN;
}

static void *grow(void *list, uint32_t count, size_t bytes)
{
    /* Room is a power of two, so it is used up when the count is one. */
    if (count != 0 && (count & (count - 1)) != 0) {
        return list;
    }
    return realloc(list, (count == 0 ? 1 : 2 * (size_t)count) * bytes);
}

static bool add_comm(struct queues *queues, const struct comm *comm)
{
    struct comm *grown = queues->comm_count < COMMS_MOST
                             ? grow(queues->comms, queues->comm_count, sizeof(*comm))
                             : NULL;

    if (grown == NULL) {
        return false;
    }
    queues->comms = grown;
    queues->comms[queues->comm_count++] = *comm;
    return true;
}

static void read_comm(struct target *target, struct queues *queues, uint64_t address)
{
    const struct weft_queue_table *t = &target->table;
    struct comm comm = {.context = 0};
    char memory[STRUCT_MOST];
    uint64_t remote;

    if (!fetch(target, address, memory, t->comm_bytes)) {
        return;
    }
    remote = u64_at(memory, t->comm_remote);
    comm.context = u32_at(memory, t->comm_context) & ~(t->planes - 1);
    comm.rank = i32_at(memory, t->comm_rank);
    comm.local = read_members(target, u64_at(memory, t->comm_group));
    comm.peers = remote != 0 ? read_members(target, remote) : comm.local;
    fetch_text(target, u64_at(memory, t->comm_name), comm.name, sizeof(comm.name));
    if (comm.local.size > 0 && comm.rank >= 0 && comm.rank < comm.local.size) {
        (void)add_comm(queues, &comm);
    }
}

static const struct comm *find_comm(const struct queues *queues, uint32_t context)
{
    for (uint32_t i = 0; i < queues->comm_count; i++) {
        if (queues->comms[i].context == context) {
            return &queues->comms[i];
        }
    }
    return NULL;
}

/* ---- operations ---- */

static void add_operation(struct target *target, struct queues *queues,
                          const struct operation *operation)
{
    const uint32_t context = operation->context & ~(target->table.planes - 1);
    struct operation *grown;

    if (find_comm(queues, context) == NULL ||
        queues->operation_count == OPERATIONS_MOST) {
        return;
    }
    grown = grow(queues->operations, queues->operation_count, sizeof(*operation));
    if (grown != NULL) {
        queues->operations = grown;
        queues->operations[queues->operation_count++] = *operation;
    }
}

/*
 * Calls `visit` for each link of a list that leads back to `head`. A link that does not
 * point back to the one before it is none: so no circle but the list itself is followed.
 */
static void each_link(struct target *target, struct queues *queues, uint64_t head,
                      object_fn *visit)
{
    uint64_t before = head;
    uint64_t at = fetch_u64(target, head);

    for (uint32_t i = 0; at != head && at != 0 && i < OPERATIONS_MOST; i++) {
        uint64_t link[2];

        if (!fetch(target, at, link, sizeof(link)) || link[1] != before) {
            return;
        }
        visit(target, queues, at);
        before = at;
        at = link[0];
    }
}

static void read_posted(struct target *target, struct queues *queues, uint64_t link)
{
    const struct weft_queue_table *t = &target->table;
    const uint64_t request = link - t->posted_link - t->request_posted;
    char memory[STRUCT_MOST];
    const char *posted = memory + t->request_posted;

    if (fetch(target, request, memory, t->request_bytes)) {
        const int32_t source = i32_at(posted, t->posted_source);
        const int32_t tag = i32_at(posted, t->posted_tag);
        const struct operation operation = {
            .class = mqs_pending_receives,
            .context = u32_at(posted, t->posted_context),
            .number = u64_at(posted, t->posted_number),
            .peer = source == t->any_source ? -1 : source,
            .tag = tag,
            .is_any_tag = tag == t->any_tag,
            .length = u64_at(memory, t->request_length),
            .buffer = u64_at(memory, t->request_buffer),
        };

        add_operation(target, queues, &operation);
    }
}

/* All receives of a class: the keys of each bucket, and the list of each key. */
static void read_index(struct target *target, struct queues *queues, uint64_t index)
{
    const struct weft_queue_table *t = &target->table;
    const uint64_t buckets = fetch_u64(target, index + t->index_buckets);
    const uint32_t count = fetch_u32(target, index + t->index_bucket_count);
    uint32_t left = fetch_u32(target, index + t->index_node_count);

    for (uint32_t b = 0; b < count && b < OPERATIONS_MOST && left > 0; b++) {
        uint64_t node = fetch_u64(target, buckets + b * sizeof(void *));
        uint64_t mark =
            0; /* a node that was seen; ever farther, so it is met in a circle */

        for (uint32_t i = 1; node != 0 && node != mark && left > 0; i++, left--) {
            each_link(target, queues, node + t->node_head, read_posted);
            mark = (i & (i - 1)) == 0 ? node : mark;
            node = fetch_u64(target, node + t->node_next);
        }
    }
}

static void read_unexpected(struct target *target, struct queues *queues, uint64_t link)
{
    const struct weft_queue_table *t = &target->table;
    const uint64_t address = link - t->unexpected_all;
    char memory[STRUCT_MOST];
    const char *header = memory + t->unexpected_header;

    if (fetch(target, address, memory, t->unexpected_bytes)) {
        const bool is_eager = u8_at(header, t->header_kind) == t->kind_eager;
        const uint64_t data = address + t->unexpected_data;
        const struct operation operation = {
            .class = mqs_unexpected_messages,
            .context = u32_at(memory, t->unexpected_context),
            .number = queues->operation_count, /* they come in the order of arrival */
            .peer = i32_at(memory, t->unexpected_source),
            .tag = i32_at(memory, t->unexpected_tag),
            .length = is_eager ? u32_at(header, t->header_length)
                               : fetch_u64(target, data + t->announced_length),
            .buffer = is_eager ? data : 0,
            .is_eager = is_eager,
        };

        add_operation(target, queues, &operation);
    }
}

static void read_send(struct target *target, struct queues *queues, uint64_t address)
{
    const struct weft_queue_table *t = &target->table;
    char memory[STRUCT_MOST];
    const char *header = memory + t->request_header;
    const struct comm *comm;
    uint64_t peer;

    if (!fetch(target, address, memory, t->request_bytes) ||
        u8_at(memory, t->request_kind_at) != t->kind_send ||
        u8_at(memory, t->request_is_spare) != 0 ||
        u32_at(memory, t->request_is_complete) != 0) {
        return;
    }
    peer = u64_at(memory, t->request_peer);
    comm = find_comm(queues, u32_at(header, t->header_context) & ~(t->planes - 1));
    if (peer != 0 && comm != NULL) {
        const struct operation operation = {
            .class = mqs_pending_sends,
            .context = u32_at(header, t->header_context),
            .number = queues->operation_count,
            .peer = member_of(target, &comm->peers,
                              fetch_u64(target, peer + t->peer_process)),
            .tag = i32_at(header, t->header_tag),
            .length = u64_at(memory, t->request_length),
            .buffer = u64_at(memory, t->request_buffer),
            .is_eager = u8_at(memory, t->request_is_announced) == 0,
        };

        add_operation(target, queues, &operation);
    }
}

static int by_number(const void *a, const void *b)
{
    const struct operation *x = a;
    const struct operation *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Collectives and partitioned operations have messages of their own, on other planes of a
 * communicator: they are shown as communicators beside it, where there are any. */
static void add_planes(struct target *target, struct queues *queues)
{
    const struct weft_queue_table *t = &target->table;

    for (uint32_t i = 0; i < queues->operation_count; i++) {
        const uint32_t context = queues->operations[i].context;
        const uint32_t plane = context & (t->planes - 1);
        const struct comm *comm = find_comm(queues, context - plane);

        if (comm != NULL && find_comm(queues, context) == NULL) {
            struct comm other = *comm;
            char name[sizeof(other.name)];

            snprintf(name, sizeof(name), "%.44s (%s)", other.name,
                     plane == t->plane_collective    ? "collectives"
                     : plane == t->plane_partitioned ? "partitioned"
                                                     : "internal");
            memcpy(other.name, name, sizeof(name));
            other.context = context;
            (void)add_comm(queues, &other);
        }
    }
}

void queues_gather(struct target *target, struct queues *queues)
{
    const struct weft_queue_table *t = &target->table;

    memset(queues, 0, sizeof(*queues));
    target->fetches = 0;
    read_comm(target, queues, root(t->world));
    read_comm(target, queues, root(t->self));
    each_object(target, queues, root(t->comm_pool), read_comm);
    for (uint32_t c = 0; c < t->classes; c++) {
        read_index(target, queues, root(t->p2p) + t->p2p_posted + c * t->index_bytes);
    }
    if (queues->operation_count > 0) {
        qsort(queues->operations, queues->operation_count, sizeof(*queues->operations),
              by_number);
    }
    each_link(target, queues, root(t->p2p) + t->p2p_waiting_all, read_unexpected);
    each_object(target, queues, root(t->request_pool), read_send);
    add_planes(target, queues);
}

void queues_free(struct queues *queues)
{
    free(queues->comms);
    free(queues->operations);
    memset(queues, 0, sizeof(*queues));
}
