#include "tools/performance.h"

#include "coll/choices.h"
#include "engine/lock.h"
#include "p2p/counts.h"
#include "rma/ways.h"
#include "tools/token.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define IN_COUNTS(field) offsetof(struct weft_counts, field)
#define IN_WATCH(field)  offsetof(struct weft_watch, field)
#define IN_WAYS(field)   offsetof(struct weft_rma_ways, field)

enum {
    COUNTER = MPI_T_PVAR_CLASS_COUNTER,
    AGGREGATE = MPI_T_PVAR_CLASS_AGGREGATE,
    LEVEL = MPI_T_PVAR_CLASS_LEVEL,
    HIGH = MPI_T_PVAR_CLASS_HIGHWATERMARK,
    BASIC = MPI_T_VERBOSITY_USER_BASIC,
    TUNER = MPI_T_VERBOSITY_TUNER_BASIC,
    DETAIL = MPI_T_VERBOSITY_TUNER_DETAIL,
};

static const struct weft_performance_row rows[] = {
    {"messages_sent", COUNTER, BASIC, IN_COUNTS(messages_sent),
     "Messages sent, those of collective operations and to itself included."},
    {"messages_received", COUNTER, BASIC, IN_COUNTS(messages_received),
     "Messages that have arrived, whether or not a receive has taken them."},
    {"unexpected_messages", LEVEL, BASIC, IN_COUNTS(unexpected_messages),
     "Unexpected messages that wait for a matching receive."},
    {"unexpected_bytes", LEVEL, BASIC, IN_COUNTS(unexpected_bytes),
     "Memory in which unexpected messages wait, in bytes."},
    {"unexpected_messages_high", HIGH, BASIC, IN_WATCH(messages),
     "The most unexpected messages that waited at once while this was started."},
    {"unexpected_bytes_high", HIGH, BASIC, IN_WATCH(bytes),
     "The most bytes of unexpected messages that waited while this was started."},
    {"requests", LEVEL, BASIC, IN_COUNTS(requests),
     "Requests that exist: the program's, and those of operations under way."},
    {"polls", COUNTER, TUNER, IN_COUNTS(polls), "How often a call began to poll."},
    {"sleeps", COUNTER, TUNER, IN_COUNTS(sleeps),
     "How often a waiting thread stopped polling and went to sleep."},
    {"self_messages_sent", COUNTER, TUNER, IN_COUNTS(messages_to_self),
     "Messages that this process sent to itself."},
    {"shm_packets_sent", COUNTER, TUNER, IN_COUNTS(shm.packets_sent),
     "Packets to ranks of this node: messages, announcements of long ones, chunks."},
    {"shm_packets_received", COUNTER, TUNER, IN_COUNTS(shm.packets_received),
     "Packets from ranks of this node."},
    {"shm_bytes_sent", AGGREGATE, TUNER, IN_COUNTS(shm.bytes_sent),
     "Bytes put into queues of this node's ranks, with headers, in whole cells."},
    {"shm_bytes_received", AGGREGATE, TUNER, IN_COUNTS(shm.bytes_received),
     "Bytes taken from this rank's queues, with headers, in whole cells."},
    {"shm_bytes_fetched", AGGREGATE, TUNER, IN_COUNTS(shm.bytes_fetched),
     "Bytes of long messages copied straight from the memory of another process."},
    {"shm_bytes_stored", AGGREGATE, TUNER, IN_COUNTS(shm.bytes_stored),
     "Bytes of long messages copied straight into the memory of another process."},
    {"shm_lanes", LEVEL, DETAIL, IN_COUNTS(shm.lanes),
     "Ranks of this node that have a queue to this one for themselves."},
    {"shm_wakeups", COUNTER, DETAIL, IN_COUNTS(shm.wakeups),
     "How often a rank of this node woke this one."},
    {"msg_packets_sent", COUNTER, TUNER, IN_COUNTS(net.packets_sent),
     "Packets over network connections: messages, announcements of long ones, chunks."},
    {"msg_packets_received", COUNTER, TUNER, IN_COUNTS(net.packets_received),
     "Packets that came over network connections."},
    {"msg_bytes_sent", AGGREGATE, TUNER, IN_COUNTS(net.bytes_sent),
     "Bytes of packets given to network connections, with headers."},
    {"msg_bytes_received", AGGREGATE, TUNER, IN_COUNTS(net.bytes_received),
     "Bytes of packets that came over network connections, with headers."},
    {"msg_bytes_fetched", AGGREGATE, TUNER, IN_COUNTS(net.bytes_fetched),
     "Bytes of long messages read straight from memory of other ranks over a network."},
    {"msg_bytes_stored", AGGREGATE, TUNER, IN_COUNTS(net.bytes_stored),
     "Bytes of long messages written straight into memory of other ranks over a "
     "network."},
    {"msg_connections", LEVEL, DETAIL, IN_COUNTS(net.lanes),
     "Network connections that are open: one to a rank, or several (WEFT_STREAMS)."},
    {"msg_rejected", COUNTER, DETAIL, IN_COUNTS(net.rejected),
     "Connections refused because the process that asked is not of this job."},
    {"msg_registrations", COUNTER, TUNER, IN_COUNTS(net.registered),
     "How often memory of the program was registered with the network."},
    {"msg_registrations_reused", COUNTER, TUNER, IN_COUNTS(net.reused),
     "Operations on memory of the program that found a registration which was kept."},
    {"dgram_peers", LEVEL, DETAIL, IN_COUNTS(datagrams.peers),
     "Ranks with which datagrams were exchanged."},
    {"dgram_sent", COUNTER, TUNER, IN_COUNTS(datagrams.sent),
     "Datagrams that carried packets or parts of them, repeated ones included."},
    {"dgram_repeated", COUNTER, TUNER, IN_COUNTS(datagrams.repeated),
     "Datagrams that were sent again because no acknowledgement had come."},
    {"dgram_duplicates", COUNTER, TUNER, IN_COUNTS(datagrams.duplicates),
     "Datagrams that came although they had come before: these were repeated in vain."},
    {"dgram_dropped", COUNTER, TUNER, IN_COUNTS(datagrams.dropped),
     "Datagrams that found no room in the kernel's buffer or in WEFT_RECEIVE_POOL, and "
     "were sent again."},
    {"dgram_promotions", COUNTER, TUNER, IN_COUNTS(promotions),
     "Ranks that began by datagrams and for which this rank asked for a connection."},
};

/* Of windows, by the ways of their operations. A window may count in several. */
static const struct weft_performance_row window_rows[] = {
    {"rma_windows", LEVEL, BASIC, IN_WAYS(windows), "Windows that exist."},
    {"rma_node_mapped", LEVEL, TUNER, IN_WAYS(node_mapped),
     "Windows with targets on this node whose memory is mapped here."},
    {"rma_node_copied", LEVEL, TUNER, IN_WAYS(node_copied),
     "Windows with targets on this node whose memory is reached by single copy."},
    {"rma_node_messages", LEVEL, TUNER, IN_WAYS(node_messages),
     "Windows with targets on this node that are reached by messages only."},
    {"rma_net_memory", LEVEL, TUNER, IN_WAYS(net_memory),
     "Windows with targets behind a network that reads and writes their memory."},
    {"rma_net_messages", LEVEL, TUNER, IN_WAYS(net_messages),
     "Windows with targets behind a network that are reached by messages only."},
    {"rma_accumulate_word", LEVEL, TUNER, IN_WAYS(accumulate_word),
     "Windows with targets whose memory the origin changes in accumulates, under the "
     "target's lock word."},
    {"rma_accumulate_process", LEVEL, TUNER, IN_WAYS(accumulate_process),
     "Windows with targets whose process does all accumulates on its memory."},
};

enum {
    ROWS = sizeof(rows) / sizeof(rows[0]),
    WINDOW_ROWS = sizeof(window_rows) / sizeof(window_rows[0]),
    NAME = 64,
};

static bool is_of_windows(const struct weft_performance_row *row)
{
    return row >= window_rows && row < window_rows + WINDOW_ROWS;
}

/* ---- a variable for each algorithm, behind the others ---- */

static struct weft_performance_row algorithm_rows[WEFT_ALGORITHMS_MOST];
static char algorithm_names[WEFT_ALGORITHMS_MOST][NAME];
static int algorithm_count;
static pthread_once_t algorithms_once = PTHREAD_ONCE_INIT;

static void make_algorithm_rows(void)
{
    const struct weft_algorithm *at;

    for (; (at = weft_algorithm_at(algorithm_count)) != NULL; algorithm_count++) {
        char *name = algorithm_names[algorithm_count];

        snprintf(name, NAME, "coll_%s_%s", weft_coll_kind_name(at->kind), at->name);
        algorithm_rows[algorithm_count] = (struct weft_performance_row){
            .name = name,
            .class = COUNTER,
            .verbosity = TUNER,
            .at = (size_t)algorithm_count,
            .meaning = "Calls of this collective that were begun with this algorithm.",
        };
    }
}

static bool is_of_algorithm(const struct weft_performance_row *row)
{
    return row >= algorithm_rows && row < algorithm_rows + WEFT_ALGORITHMS_MOST;
}

int weft_performance_count(void)
{
    (void)pthread_once(&algorithms_once, make_algorithm_rows);
    return ROWS + WINDOW_ROWS + algorithm_count;
}

const struct weft_performance_row *weft_performance_row(int index)
{
    assert(index >= 0 && index < weft_performance_count());
    if (index < ROWS) {
        return &rows[index];
    }
    index -= ROWS;
    return index < WINDOW_ROWS ? &window_rows[index]
                               : &algorithm_rows[index - WINDOW_ROWS];
}

int weft_performance_find(const char *name, int class)
{
    for (int i = 0; i < weft_performance_count(); i++) {
        const struct weft_performance_row *row = weft_performance_row(i);

        if (row->class == class && strcmp(row->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

bool weft_performance_is_level(const struct weft_performance_row *row)
{
    return row->class == LEVEL;
}

/* ---- sessions and handles ---- */

struct weft_pvar_session {
    uintptr_t token;
    struct weft_pvar_handle *handles;
    struct weft_pvar_session *next;
};

struct weft_pvar_handle {
    uintptr_t token;
    struct weft_pvar_session *session;
    struct weft_pvar_handle *next; /* of the session */
    const struct weft_performance_row *row;
    bool is_started;
    uint64_t value;          /* of a counter: before it was last started */
    uint64_t base;           /* what the library had counted then */
    struct weft_watch watch; /* of a mark: in the list while started */
};

static struct weft_pool session_pool;
static struct weft_pool handle_pool;
static struct weft_pvar_session *sessions;

enum weft_rc weft_pvar_session_create(MPI_T_pvar_session *out)
{
    void *made;
    uintptr_t token;
    enum weft_rc rc =
        weft_token_take(&session_pool, sizeof(struct weft_pvar_session), &made, &token);

    if (rc == WEFT_OK) {
        struct weft_pvar_session *session = made;

        session->token = token;
        session->next = sessions;
        sessions = session;
        *out = (MPI_T_pvar_session)token;
    }
    return rc;
}

struct weft_pvar_session *weft_pvar_session_find(MPI_T_pvar_session session)
{
    return weft_token_find(&session_pool, (uintptr_t)session);
}

void weft_pvar_session_free(struct weft_pvar_session *session)
{
    struct weft_pvar_session **at = &sessions;

    weft_assert_locked();
    while (session->handles != NULL) {
        weft_pvar_handle_free(session->handles);
    }
    while (*at != session) {
        at = &(*at)->next;
    }
    *at = session->next;
    weft_token_give(&session_pool, session->token);
}

void weft_pvar_free_all(void)
{
    while (sessions != NULL) {
        weft_pvar_session_free(sessions);
    }
}

enum weft_rc weft_pvar_handle_alloc(struct weft_pvar_session *session, int index,
                                    MPI_T_pvar_handle *out)
{
    void *made;
    uintptr_t token;
    enum weft_rc rc =
        weft_token_take(&handle_pool, sizeof(struct weft_pvar_handle), &made, &token);

    if (rc == WEFT_OK) {
        struct weft_pvar_handle *handle = made;

        handle->token = token;
        handle->session = session;
        handle->next = session->handles;
        session->handles = handle;
        handle->row = weft_performance_row(index);
        *out = (MPI_T_pvar_handle)token;
    }
    return rc;
}

struct weft_pvar_handle *weft_pvar_handle_find(const struct weft_pvar_session *session,
                                               MPI_T_pvar_handle handle)
{
    struct weft_pvar_handle *found = weft_token_find(&handle_pool, (uintptr_t)handle);

    return found != NULL && found->session == session ? found : NULL;
}

static bool is_mark(const struct weft_pvar_handle *handle)
{
    return handle->row->class == HIGH;
}

void weft_pvar_handle_free(struct weft_pvar_handle *handle)
{
    struct weft_pvar_handle **at = &handle->session->handles;

    weft_assert_locked();
    weft_pvar_stop(handle);
    while (*at != handle) {
        at = &(*at)->next;
    }
    *at = handle->next;
    weft_token_give(&handle_pool, handle->token);
}

const struct weft_performance_row *weft_pvar_row(const struct weft_pvar_handle *handle)
{
    return handle->row;
}

static uint64_t field(const void *from, size_t at)
{
    uint64_t value;

    memcpy(&value, (const char *)from + at, sizeof(value));
    return value;
}

static uint64_t counted(const struct weft_performance_row *row)
{
    struct weft_counts counts;

    if (is_of_algorithm(row)) {
        return weft_choices_counted((int)row->at);
    }
    if (is_of_windows(row)) {
        struct weft_rma_ways ways;

        weft_rma_ways_read(&ways);
        return field(&ways, row->at);
    }
    weft_counts_read(&counts);
    return field(&counts, row->at);
}

static uint64_t marked(const struct weft_pvar_handle *handle)
{
    const uint64_t mark = field(&handle->watch, handle->row->at);

    return handle->is_started && mark > handle->value ? mark : handle->value;
}

uint64_t weft_pvar_read(const struct weft_pvar_handle *handle)
{
    if (weft_performance_is_level(handle->row)) {
        return counted(handle->row);
    }
    if (is_mark(handle)) {
        return marked(handle);
    }
    return handle->value + (handle->is_started ? counted(handle->row) - handle->base : 0);
}

void weft_pvar_start(struct weft_pvar_handle *handle)
{
    if (handle->is_started) {
        return;
    }
    handle->is_started = true;
    if (is_mark(handle)) {
        weft_counts_watch(&handle->watch);
    } else {
        handle->base = counted(handle->row);
    }
}

void weft_pvar_stop(struct weft_pvar_handle *handle)
{
    if (!handle->is_started) {
        return;
    }
    handle->value = weft_pvar_read(handle);
    handle->is_started = false;
    if (is_mark(handle)) {
        weft_counts_unwatch(&handle->watch);
    }
}

void weft_pvar_write(struct weft_pvar_handle *handle, uint64_t value)
{
    const bool was_started = handle->is_started;

    weft_pvar_stop(handle);
    handle->value = value;
    if (was_started) {
        weft_pvar_start(handle);
    }
}

/* A counter begins again with 0, a mark with what waits now. */
void weft_pvar_reset(struct weft_pvar_handle *handle)
{
    const bool was_started = handle->is_started;

    weft_pvar_write(handle, 0);
    weft_pvar_start(handle);
    if (!was_started) {
        weft_pvar_stop(handle);
    }
}

void weft_pvar_for_all(struct weft_pvar_session *session,
                       void (*act)(struct weft_pvar_handle *handle))
{
    for (struct weft_pvar_handle *h = session->handles; h != NULL; h = h->next) {
        if (!weft_performance_is_level(h->row)) {
            act(h);
        }
    }
}
