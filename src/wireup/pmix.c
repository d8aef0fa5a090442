/*
 * pmix.c - PMIx, the client's side: see kvs.h. The library is loaded here, on the thread
 * that calls MPI_Init, because it costs 13-25 ms, megabytes and a thread in every process
 * that has it; a job under our own mpiexec never does.
 */
#include "wireup/kvs.h"

#include "base/library.h"
#include "base/log.h"
#include "base/texts.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <pmix.h>

enum { MOST_DESCRIPTORS = 4096 }; /* among which PMIx's own is looked for */

static struct {
    pmix_status_t (*init)(pmix_proc_t *, pmix_info_t *, size_t);
    pmix_status_t (*finalize)(const pmix_info_t *, size_t);
    pmix_status_t (*get)(const pmix_proc_t *, const char *, const pmix_info_t *, size_t,
                         pmix_value_t **);
    pmix_status_t (*put)(pmix_scope_t, const char *, pmix_value_t *);
    pmix_status_t (*commit)(void);
    pmix_status_t (*fence)(const pmix_proc_t *, size_t, const pmix_info_t *, size_t);
    pmix_status_t (*abort)(int, const char *, pmix_proc_t *, size_t);
    pmix_status_t (*resolve_nodes)(const pmix_nspace_t, char **);
    pmix_status_t (*resolve_peers)(const char *, const pmix_nspace_t, pmix_proc_t **,
                                   size_t *);
    const char *(*error_string)(pmix_status_t);
    pmix_proc_t me;
    bool is_open;
} pmix;

static enum weft_rc load(void)
{
    const struct weft_symbol symbols[] = {
        {"PMIx_Init", &pmix.init},
        {"PMIx_Finalize", &pmix.finalize},
        {"PMIx_Get", &pmix.get},
        {"PMIx_Put", &pmix.put},
        {"PMIx_Commit", &pmix.commit},
        {"PMIx_Fence", &pmix.fence},
        {"PMIx_Abort", &pmix.abort},
        {"PMIx_Error_string", &pmix.error_string},
        {"PMIx_Resolve_nodes", &pmix.resolve_nodes},
        {"PMIx_Resolve_peers", &pmix.resolve_peers},
    };
    void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    const char *missing;

    if (library == NULL) {
        const char *why = dlerror();

        weft_log_error(WEFT_S_PMIX_LIBRARY, why,
                       weft_library_advice(why, "install libpmix (Debian: libpmix2)"));
        return WEFT_ERR_LAUNCH;
    }
    missing = weft_library_find(library, symbols, sizeof(symbols) / sizeof(symbols[0]));
    if (missing != NULL) {
        weft_log_error(WEFT_S_PMIX_SYMBOL, missing);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}

static enum weft_rc failed(const char *doing, pmix_status_t status)
{
    weft_log_error(WEFT_S_PMIX_FAILED, doing, pmix.error_string(status));
    return WEFT_ERR_LAUNCH;
}

/* Asks for a key of `rank`, without waiting for it to appear; NULL if nobody has it. */
static pmix_value_t *lookup(pmix_rank_t rank, const char *key)
{
    pmix_proc_t whom = pmix.me;
    pmix_info_t now;
    pmix_value_t *value = NULL;

    memset(&now, 0, sizeof(now));
    snprintf(now.key, sizeof(now.key), "%s", PMIX_IMMEDIATE);
    now.value.type = PMIX_BOOL;
    now.value.data.flag = true;
    whom.rank = rank;
    return pmix.get(&whom, key, &now, 1, &value) == PMIX_SUCCESS ? value : NULL;
}

/* The types of numbers differ between launchers. */
static bool to_number(const pmix_value_t *value, int64_t *out)
{
    switch (value->type) {
    case PMIX_UINT16:
        *out = value->data.uint16;
        return true;
    case PMIX_UINT32:
        *out = value->data.uint32;
        return true;
    case PMIX_UINT64:
        *out = (int64_t)value->data.uint64;
        return true;
    case PMIX_INT:
        *out = value->data.integer;
        return true;
    case PMIX_INT32:
        *out = value->data.int32;
        return true;
    case PMIX_PROC_RANK:
        *out = value->data.rank;
        return true;
    default:
        return false;
    }
}

static bool get_number(pmix_rank_t rank, const char *key, int *out)
{
    pmix_value_t *value = lookup(rank, key);
    int64_t number;
    bool is_good =
        value != NULL && to_number(value, &number) && number >= 0 && number < 0x7fffffff;

    if (is_good) {
        *out = (int)number;
    }
    free(value);
    return is_good;
}

/* The text in a value, which goes with it; to be freed. NULL if it is none. */
static char *take_text(pmix_value_t *value)
{
    char *text = value != NULL && value->type == PMIX_STRING ? value->data.string : NULL;

    free(value);
    return text;
}

/* Counts the comma-separated ranks on this node and finds our place among them. */
static bool read_peers(struct weft_who *who)
{
    char *text = take_text(lookup(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS));
    bool is_found = false;
    char *rest;

    who->local_size = 0;
    who->local_rank = 0;
    who->leader = who->rank;
    for (char *w = text != NULL ? strtok_r(text, ",", &rest) : NULL; w != NULL;
         w = strtok_r(NULL, ",", &rest)) {
        char *end;
        const long peer = strtol(w, &end, 10);

        if (end == w || *end != '\0' || peer < 0 || peer >= who->size ||
            who->local_size == who->size) {
            is_found = false;
            break;
        }
        who->local_size++;
        who->local_rank += peer < who->rank ? 1 : 0;
        who->leader = peer < who->leader ? (int)peer : who->leader;
        is_found = is_found || peer == who->rank;
    }
    free(text);
    return is_found;
}

/*
 * Nodes are numbered as in the launcher's list of them, which is the same everywhere;
 * Slurm gives PMIX_NODEID only for the ranks of one's own node.
 */
static bool find_node(struct weft_who *who)
{
    char *mine = take_text(lookup(pmix.me.rank, PMIX_HOSTNAME));
    char *nodes = NULL;
    bool is_found = false;
    char *rest;
    int index = 0;

    if (mine != NULL && pmix.resolve_nodes(pmix.me.nspace, &nodes) == PMIX_SUCCESS &&
        nodes != NULL) {
        for (char *w = strtok_r(nodes, ",", &rest); w != NULL && !is_found;
             w = strtok_r(NULL, ",", &rest)) {
            is_found = strcmp(w, mine) == 0;
            who->node = is_found ? index : who->node;
            index++;
        }
    }
    free(nodes);
    free(mine);
    return is_found && who->node < who->node_count;
}

static enum weft_rc ask_who(struct weft_who *who)
{
    snprintf(who->job, sizeof(who->job), "%s", pmix.me.nspace);
    who->rank = (int)pmix.me.rank;
    who->node = 0;
    who->node_count = 1;
    if (!get_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &who->size) ||
        pmix.me.rank >= (pmix_rank_t)who->size) {
        weft_log_error(WEFT_S_PMIX_SIZE);
        return WEFT_ERR_LAUNCH;
    }
    if (!get_number(PMIX_RANK_WILDCARD, PMIX_NUM_NODES, &who->node_count) ||
        who->node_count < 1) {
        who->node_count = 1;
        weft_log_info("PMIx: the launcher does not say how many nodes the job has");
    }
    if (!read_peers(who) || (who->node_count > 1 && !find_node(who))) {
        weft_log_error(WEFT_S_PMIX_NODE);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}

/*
 * libpmix leaves its socket open to the programs that a rank starts. It is the one whose
 * other end has the port of the server.
 */
static void close_on_exec(void)
{
    static const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
                                        "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                                        "PMIX_SERVER_URI2"};
    const char *port = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && port == NULL; i++) {
        const char *uri = getenv(names[i]); /* "name;tcp4://address:port" */

        port = uri != NULL ? strrchr(uri, ':') : NULL;
    }
    for (int fd = 0; port != NULL && fd < MOST_DESCRIPTORS; fd++) {
        struct sockaddr_in peer = {0}; /* for IPv6 the port lies at the same place */
        socklen_t length = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
            (peer.sin_family == AF_INET || peer.sin_family == AF_INET6) &&
            ntohs(peer.sin_port) == atoi(port + 1)) {
            fcntl(fd, F_SETFD, FD_CLOEXEC);
        }
    }
}

static enum weft_rc pmix_open(struct weft_who *who)
{
    enum weft_rc rc = load();
    pmix_status_t status;

    if (rc != WEFT_OK) {
        return rc;
    }
    status = pmix.init(&pmix.me, NULL, 0);
    if (status != PMIX_SUCCESS) {
        return failed("reach the launcher", status);
    }
    pmix.is_open = true;
    close_on_exec();
    return ask_who(who);
}

/* Marks the ranks of the node with this name; false if there are none. */
static bool place_node(const char *name, uint32_t node, const struct weft_who *who,
                       struct weft_location *map)
{
    pmix_proc_t *peers = NULL;
    size_t count = 0;

    if (pmix.resolve_peers(name, pmix.me.nspace, &peers, &count) != PMIX_SUCCESS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (peers[i].rank < (pmix_rank_t)who->size) {
            map[peers[i].rank].node = node;
        }
    }
    free(peers);
    return count > 0;
}

static enum weft_rc pmix_locations(const struct weft_who *who, struct weft_location *map)
{
    struct weft_who copy = *who;
    char *nodes = NULL;
    char *rest;
    uint32_t node = 0;
    bool is_good = true;

    if (who->node_count > 1) { /* else all are on node 0, which the map says already */
        is_good = pmix.resolve_nodes(pmix.me.nspace, &nodes) == PMIX_SUCCESS;
        for (char *w = is_good ? strtok_r(nodes, ",", &rest) : NULL; w != NULL && is_good;
             w = strtok_r(NULL, ",", &rest)) {
            is_good = place_node(w, node++, who, map);
        }
        free(nodes);
    }
    if (!is_good) {
        weft_log_error(WEFT_S_PMIX_MAP);
        return WEFT_ERR_LAUNCH;
    }
    return weft_who_from_nodes(&copy, map);
}

static enum weft_rc put(const char *key, const char *text)
{
    pmix_value_t value;
    pmix_status_t status;

    memset(&value, 0, sizeof(value));
    value.type = PMIX_STRING;
    value.data.string = (char *)(uintptr_t)text; /* read only by PMIx */
    status = pmix.put(PMIX_GLOBAL, key, &value);
    if (status == PMIX_SUCCESS) {
        status = pmix.commit();
    }
    return status == PMIX_SUCCESS ? WEFT_OK : failed("put", status);
}

static enum weft_rc fence(bool is_collecting)
{
    pmix_info_t collect;
    pmix_status_t status;

    memset(&collect, 0, sizeof(collect));
    snprintf(collect.key, sizeof(collect.key), "%s", PMIX_COLLECT_DATA);
    collect.value.type = PMIX_BOOL;
    collect.value.data.flag = true;
    status = pmix.fence(NULL, 0, is_collecting ? &collect : NULL, is_collecting ? 1 : 0);

    return status == PMIX_SUCCESS ? WEFT_OK : failed("fence", status);
}

static enum weft_rc get(int rank, const char *key, char *text)
{
    pmix_proc_t whom = pmix.me;
    pmix_value_t *value = NULL;
    char *found;
    enum weft_rc rc = WEFT_ERR_ARGUMENT;

    whom.rank = (pmix_rank_t)rank;
    if (pmix.get(&whom, key, NULL, 0, &value) != PMIX_SUCCESS || value == NULL) {
        return WEFT_ERR_ARGUMENT; /* nobody put it */
    }
    found = take_text(value);
    if (found != NULL && strlen(found) <= WEFT_KVS_VALUE_MAX) {
        strcpy(text, found);
        rc = WEFT_OK;
    }
    free(found);
    return rc;
}

/*
 * A get() that the daemons of Slurm had to fetch was seen to hang, both for a key that
 * came late and, once, after a fence that had not collected it. So publishing collects.
 */
static bool pmix_is_lazy(void)
{
    return false;
}

static void pmix_abort(int code, const char *cause)
{
    if (pmix.is_open) {
        pmix.abort(code, cause, NULL, 0);
    }
}

static void pmix_close(void)
{
    if (pmix.is_open) {
        pmix.is_open = false;
        pmix.finalize(NULL, 0);
    }
}

const struct weft_kvs_ops weft_pmix_ops = {
    .name = "pmix",
    .open = pmix_open,
    .locations = pmix_locations,
    .put = put,
    .fence = fence,
    .get = get,
    .is_lazy = pmix_is_lazy,
    .abort = pmix_abort,
    .close = pmix_close,
};
