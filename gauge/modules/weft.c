/*
 * weft.c - Weft's transports as they are below MPI: packets and polling, no matching.
 *
 * A message goes as packets of at most `packet_max` bytes, and one of 0 bytes as an empty
 * packet; both ends name the same size, so every packet belongs to one message. A packet
 * that comes before its receive is kept in a list per peer, as MPI would; the common case
 * is a receive that waits already, into which the packet is copied straight.
 *
 * The transport stands on a job segment of its own, and not on the launcher's: so no
 * launcher is needed, and an MPI library of Weft's may be measured by the same processes.
 * Inside a node end 0 makes the segment, and the others open it through its /proc. Over a
 * network every end makes its own, with the secret of end 0, and what the transport
 * publishes goes through the control channel.
 */
#include "gauge/modules/queue.h"
#include "gauge/modules/ring.h"

#include "base/clock.h"
#include "base/process.h"
#include "transport/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUDGET = 64 };

static struct gauge_option options[] = {
    {"transport", GAUGE_TEXT, "shm", "NAME", "which of Weft's transports: shm or msg"},
    {"wait", GAUGE_TEXT, "spin", "KIND", "how to wait: spin, or block on a network"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

static bool is_network(const struct weft_packet_ops *ops)
{
    return !ops->is_node_local;
}

/* A packet that nobody waits for yet. */
struct early {
    struct early *next;
    size_t length;
    unsigned char bytes[];
};

/* What comes from one end. */
struct source {
    struct transfer *waiting; /* the receive whose turn it is, or NULL */
    struct early *first;
    struct early **last;
    uint32_t taken; /* packets */
};

struct weft {
    const struct weft_packet_ops *ops;
    struct weft_job job;
    struct weft_node node;
    struct weft_upcalls up;
    struct weft_transport *transport;
    struct weft_path **to; /* each end; NULL to ourselves */
    uint32_t *sent;        /* packets to each */
    struct source *from;
    struct queues queues;
    int ends;
    bool is_network;
    bool is_blocking;
    bool is_refused; /* the last packet found no room, after a look */
    bool has_failed;
};

/* Receiving: the transport hands packets to on_arrived() while it is polled. */

static void take(struct transfer *t, const void *data, size_t length)
{
    size_t left = t->size - t->done;

    if (length > left) {
        length = left; /* sizes that do not match are the pattern's fault: it will see */
    }
    if (length > 0) {
        memcpy(t->bytes + t->done, data, length);
    }
    t->done += length;
    t->is_over = t->done == t->size;
}

static void keep(struct weft *weft, struct source *source, const void *data,
                 size_t length)
{
    struct early *early = malloc(sizeof(*early) + length);

    if (early == NULL) {
        gauge_fail("weft: no memory for a packet of %zu bytes", length);
        weft->has_failed = true;
        return;
    }
    *early = (struct early){.length = length};
    if (length > 0) {
        memcpy(early->bytes, data, length);
    }
    *source->last = early;
    source->last = &early->next;
}

/* To the transport, a peer is where its packets go. */
static struct weft_peer *on_meet(void *owner, uint64_t process)
{
    struct weft *weft = owner;

    return (struct weft_peer *)&weft->from[weft_process_rank(process)];
}

/* Every packet begins with its number. Those to one end may take several ways at first.
 */
static bool may_take(void *owner, const struct weft_peer *from, const void *header,
                     unsigned flags)
{
    const struct source *source = (const struct source *)from;

    (void)owner;
    (void)flags;
    return memcmp(header, &source->taken, sizeof(source->taken)) == 0;
}

static enum weft_taken on_arrived(void *owner, struct weft_peer *from, const void *header,
                                  const void *data, size_t length, unsigned flags)
{
    struct weft *weft = owner;
    struct source *source = (struct source *)from;

    if (!may_take(owner, from, header, flags)) {
        return WEFT_KEEP;
    }
    source->taken++;
    if (source->waiting != NULL && !source->waiting->is_over) {
        take(source->waiting, data, length);
    } else {
        keep(weft, source, data, length);
    }
    return WEFT_TAKEN;
}

static void take_early(struct source *source, struct transfer *t)
{
    while (!t->is_over && source->first != NULL) {
        struct early *early = source->first;

        take(t, early->bytes, early->length);
        source->first = early->next;
        if (source->first == NULL) {
            source->last = &source->first;
        }
        free(early);
    }
}

static enum gauge_rc poll_once(struct weft *weft)
{
    weft->ops->poll(weft->transport, BUDGET);
    return weft->has_failed ? GAUGE_FAILED : GAUGE_OK;
}

static enum gauge_rc receive_some(struct weft *weft, struct transfer *t)
{
    struct source *source = &weft->from[t->peer];
    enum gauge_rc rc = GAUGE_OK;

    take_early(source, t);
    if (!t->is_over) {
        source->waiting = t;
        rc = poll_once(weft);
        source->waiting = NULL;
    }
    return rc;
}

static enum gauge_rc send_some(struct weft *weft, struct transfer *t)
{
    unsigned char header[WEFT_HEADER_BYTES] = {0};
    struct weft_path *to = weft->to[t->peer];

    weft->is_refused = false;
    do {
        size_t left = t->size - t->done;
        size_t length = left < to->packet_max ? left : to->packet_max;
        enum weft_rc rc;

        memcpy(header, &weft->sent[t->peer], sizeof(uint32_t));
        rc = weft->ops->send(to, header, t->bytes + t->done, length, 0);
        if (rc == WEFT_OK) {
            weft->sent[t->peer]++;
            t->done += length;
            weft->is_refused = false;
        } else if (rc != WEFT_AGAIN) {
            return gauge_fail("weft: cannot send to end %d: error %d", t->peer, (int)rc);
        } else if (weft->is_refused) {
            return GAUGE_OK;
        } else {
            weft->is_refused = true; /* once more when there may be room */
            if (poll_once(weft) != GAUGE_OK) {
                return GAUGE_FAILED;
            }
        }
    } while (t->done < t->size || weft->is_refused);
    t->is_over = true;
    return GAUGE_OK;
}

/* An end that has left is through with its part. */
static void on_lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    struct weft *weft = owner;

    if (!has_left) {
        gauge_fail("weft: end %u: %s", weft_process_rank(process), why);
        weft->has_failed = true;
    }
}

static enum gauge_rc move(void *owner, struct transfer *t)
{
    return t->is_send ? send_some(owner, t) : receive_some(owner, t);
}

/* Messages */

static bool needs_retry(const struct weft *weft)
{
    return weft->ops->needs_retry != NULL && weft->ops->needs_retry(weft->transport);
}

/* Not where the descriptors are silent: a refused packet whose room has come while we
 * looked for other messages, and one that the provider refused. */
static bool may_sleep(struct weft *weft)
{
    return weft->is_blocking && !(weft->is_refused && weft->queues.under_way > 1) &&
           !needs_retry(weft) && weft->ops->arm(weft->transport) == WEFT_OK;
}

/* Milliseconds until the transport wants to be polled again, for poll(); -1: no end. */
static int patience(const struct weft *weft)
{
    const uint64_t due =
        weft->ops->deadline != NULL ? weft->ops->deadline(weft->transport) : 0;
    const uint64_t now = weft_clock_ns();

    if (due == 0) {
        return -1;
    }
    return due <= now ? 0 : (int)((due - now) / 1000000) + 1;
}

/* Between two looks that were not enough. */
static void rest(struct weft *weft, unsigned *looks)
{
    struct pollfd ready[WEFT_DESCRIPTORS];
    int fds[WEFT_DESCRIPTORS];
    const int count = may_sleep(weft) && weft->ops->descriptors != NULL
                          ? weft->ops->descriptors(weft->transport, fds)
                          : 0;

    for (int i = 0; i < count; i++) { /* poll passes over one that is -1 */
        ready[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    if (count > 0) {
        poll(ready, (nfds_t)count, patience(weft));
    } else {
        ring_pause(looks);
    }
}

static enum gauge_rc weft_test(struct gauge_module *module, struct gauge_request *request)
{
    struct weft *weft = module->state;

    (void)request;
    return queues_progress(&weft->queues);
}

static enum gauge_rc weft_wait(struct gauge_module *module, struct gauge_request *request)
{
    struct weft *weft = module->state;
    enum gauge_rc rc = GAUGE_OK;
    unsigned looks = 0;

    while (rc == GAUGE_OK && !request->is_done) {
        rc = queues_progress(&weft->queues);
        if (rc == GAUGE_OK && !request->is_done) {
            rest(weft, &looks);
        }
    }
    return rc;
}

static enum gauge_rc weft_isendto(struct gauge_module *module, int dest,
                                  const void *buffer, size_t size,
                                  struct gauge_request *request)
{
    struct weft *weft = module->state;
    struct transfer t = transfer_make(dest, buffer, size, true);

    return queues_start(&weft->queues, &t, request);
}

static enum gauge_rc weft_irecvfrom(struct gauge_module *module, int source, void *buffer,
                                    size_t size, struct gauge_request *request)
{
    struct weft *weft = module->state;
    struct transfer t = transfer_make(source, buffer, size, false);

    return queues_start(&weft->queues, &t, request);
}

/* With nothing else under way a message goes straight through. */
static enum gauge_rc transfer_now(struct gauge_module *module, struct transfer *t)
{
    struct weft *weft = module->state;
    enum gauge_rc rc = GAUGE_OK;
    unsigned looks = 0;

    if (weft->queues.under_way > 0) {
        struct gauge_request request = {.is_done = false};

        rc = queues_start(&weft->queues, t, &request);
        return rc == GAUGE_OK ? weft_wait(module, &request) : rc;
    }
    for (rc = move(weft, t); rc == GAUGE_OK && !t->is_over; rc = move(weft, t)) {
        rest(weft, &looks);
    }
    return rc;
}

static enum gauge_rc weft_sendto(struct gauge_module *module, int dest,
                                 const void *buffer, size_t size)
{
    struct transfer t = transfer_make(dest, buffer, size, true);

    return transfer_now(module, &t);
}

static enum gauge_rc weft_recvfrom(struct gauge_module *module, int source, void *buffer,
                                   size_t size)
{
    struct transfer t = transfer_make(source, buffer, size, false);

    return transfer_now(module, &t);
}

/* Opening */

/* How the others find the segment of end 0. */
struct card {
    int64_t process;
    int64_t fd; /* -1: there is none */
};

static bool make_segment(struct weft *weft, struct card *card)
{
    struct weft_segment *segment = &weft->job.segment;
    const struct weft_segment_plan plan = {
        .job = (uint32_t)getpid(),
        .job_size = (uint32_t)weft->ends,
        .node_count = 1,
        .local_size = (uint32_t)weft->ends,
    };

    if (weft_segment_create(&plan, segment) != WEFT_OK) {
        return false;
    }
    for (uint32_t i = 0; i < plan.job_size; i++) {
        weft_segment_map(segment)[i] = (struct weft_location){.node = 0, .local_rank = i};
        weft_segment_plan_slot(segment, i, i);
    }
    *card = (struct card){getpid(), segment->fd};
    return true;
}

static bool open_segment(struct weft *weft, const struct card *card)
{
    char path[64];
    int fd = -1;

    snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)card->process,
             (long long)card->fd);
    fd = card->fd >= 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    if (weft_segment_attach(fd, &weft->job.segment) != WEFT_OK) {
        close(fd);
        return false;
    }
    return true;
}

/* Every end takes part in both meetings, also one that has failed. */
static enum gauge_rc share_segment(struct weft *weft, const struct gauge_world *world)
{
    struct card mine = {.fd = -1};
    struct card *cards = calloc((size_t)world->ends, sizeof(*cards));
    bool is_shared = world->end != 0 || make_segment(weft, &mine);

    if (cards == NULL || world->exchange(world, &mine, sizeof(mine), cards) != GAUGE_OK) {
        free(cards);
        return GAUGE_FAILED;
    }
    if (world->end != 0) {
        is_shared = open_segment(weft, &cards[0]);
    }
    free(cards);
    if (is_shared) {
        weft_segment_join(&weft->job.segment, (uint32_t)world->end);
    }
    if (world->barrier(world) != GAUGE_OK) {
        return GAUGE_FAILED;
    }
    return is_shared ? GAUGE_OK
                     : gauge_fail("weft: end 0's shared memory is out of reach: %s",
                                  strerror(errno));
}

/* Of a network: a segment for ourselves, with the secret of end 0. */
static enum gauge_rc own_segment(struct weft *weft, const struct gauge_world *world)
{
    uint8_t mine[WEFT_SEGMENT_SECRET_BYTES];
    uint8_t(*all)[WEFT_SEGMENT_SECRET_BYTES] = calloc((size_t)world->ends, sizeof(*all));
    enum gauge_rc rc = GAUGE_OK;

    if (all == NULL || getentropy(mine, sizeof(mine)) != 0) {
        rc = gauge_fail("weft: no memory, or no random numbers");
    }
    rc = rc == GAUGE_OK ? world->exchange(world, mine, sizeof(mine), all) : rc;
    if (rc == GAUGE_OK) {
        const struct weft_segment_plan plan = {
            .job = 1,
            .job_size = (uint32_t)weft->ends,
            .node = (uint32_t)world->end,
            .node_count = (uint32_t)weft->ends,
            .local_size = 1,
            .secret = all[0],
        };

        if (weft_segment_create(&plan, &weft->job.segment) != WEFT_OK) {
            rc = gauge_fail("weft: no shared memory: %s", strerror(errno));
        }
    }
    free(all);
    return rc;
}

/* What ends publish, as the transport expects it of a launcher. Its functions know no
 * owner, so there is one of it: the module is open once. */
static struct words {
    char mine[WEFT_KVS_VALUE_MAX + 1];
    char (*all)[WEFT_KVS_VALUE_MAX + 1];
    int ends;
} words;

static enum weft_rc put_words(const char *key, const char *value)
{
    (void)key; /* a transport publishes one */
    snprintf(words.mine, sizeof(words.mine), "%s", value);
    return WEFT_OK;
}

static enum weft_rc get_words(int rank, const char *key, char *value)
{
    (void)key;
    if (words.all == NULL || rank >= words.ends) {
        return WEFT_ERR_ARGUMENT;
    }
    memcpy(value, words.all[rank], sizeof(*words.all));
    return WEFT_OK;
}

static bool are_words_lazy(void)
{
    return true; /* they are exchanged once the transport is open */
}

static const struct weft_kvs_ops word_ops = {
    .name = "gauge",
    .put = put_words,
    .get = get_words,
    .is_lazy = are_words_lazy,
};

static enum gauge_rc exchange_words(const struct gauge_world *world)
{
    words.ends = world->ends;
    words.all = calloc((size_t)world->ends, sizeof(*words.all));
    return words.all != NULL
               ? world->exchange(world, words.mine, sizeof(words.mine), words.all)
               : gauge_fail("weft: no memory for %d ends", world->ends);
}

/* One packet to and from every other end, so that all are connected. */
static enum gauge_rc greet_all(struct gauge_module *module, int end)
{
    struct weft *weft = module->state;
    struct gauge_request *both = calloc(2 * (size_t)weft->ends, sizeof(*both));
    enum gauge_rc rc = both != NULL ? GAUGE_OK : gauge_fail("weft: no memory");

    for (int i = 0; rc == GAUGE_OK && i < 2 * weft->ends; i++) {
        if (i / 2 != end) {
            struct transfer t = transfer_make(i / 2, "", 0, i % 2 == 0);

            rc = queues_start(&weft->queues, &t, &both[i]);
        }
    }
    for (int i = 0; rc == GAUGE_OK && i < 2 * weft->ends; i++) {
        rc = i / 2 != end ? weft_wait(module, &both[i]) : GAUGE_OK;
    }
    free(both);
    return rc;
}

static enum gauge_rc open_transport(struct weft *weft, const struct gauge_world *world)
{
    weft_node_open(&weft->job, &weft->node);
    if (weft->ops->open(&weft->up, &weft->node, &weft->transport) != WEFT_OK) {
        weft_node_close(&weft->node);
        weft->transport = NULL;
        return gauge_fail("weft: the transport %s does not open", weft->ops->name);
    }
    return weft->is_network ? exchange_words(world) : GAUGE_OK;
}

static enum gauge_rc connect_all(struct weft *weft, int end)
{
    for (int i = 0; i < weft->ends; i++) {
        const uint64_t process = weft_process(weft->job.segment.job, (uint32_t)i);

        if (i != end && weft->ops->connect(weft->transport, on_meet(weft, process),
                                           process, &weft->to[i]) != WEFT_OK) {
            weft->to[i] = NULL;
            return gauge_fail("weft: the transport %s does not reach end %d",
                              weft->ops->name, i);
        }
    }
    return GAUGE_OK;
}

static void weft_shutdown(struct gauge_module *module)
{
    struct weft *weft = module->state;

    for (int i = 0; i < weft->ends; i++) {
        if (weft->to != NULL && weft->to[i] != NULL && weft->ops->disconnect != NULL) {
            weft->ops->disconnect(weft->to[i]);
        }
        while (weft->from != NULL && weft->from[i].first != NULL) {
            struct early *early = weft->from[i].first;

            weft->from[i].first = early->next;
            free(early);
        }
    }
    if (weft->transport != NULL) {
        weft->ops->close(weft->transport);
        weft_node_close(&weft->node);
    }
    weft_segment_close(&weft->job.segment);
    free(words.all);
    words.all = NULL;
    queues_close(&weft->queues);
    free(weft->to);
    free(weft->sent);
    free(weft->from);
    free(weft);
    module->state = NULL;
}

/* Ends that know each other by one address are on one host. */
static bool is_one_host(const struct gauge_world *world)
{
    for (int i = 1; i < world->ends; i++) {
        if (strcmp(world->host(world, i), world->host(world, 0)) != 0) {
            return false;
        }
    }
    return true;
}

static struct weft_job make_job(const struct weft *weft, const struct gauge_world *world)
{
    const bool is_network = weft->is_network;

    return (struct weft_job){
        .who = {.rank = world->end,
                .size = world->ends,
                .node = is_network ? world->end : 0,
                .node_count = is_network ? world->ends : 1,
                .local_rank = is_network ? 0 : world->end,
                .local_size = is_network ? 1 : world->ends},
        .segment = {.fd = -1},
        .kvs = is_network ? &word_ops : NULL,
        .is_kvs_open = is_network,
        .pid = getpid(),
        .is_one_node = !is_network || is_one_host(world), /* or at the loopback */
    };
}

static enum gauge_rc fill(struct weft *weft, const struct gauge_world *world)
{
    weft->ops = weft_transport_find(gauge_option_text(options, "transport"));
    weft->ends = world->ends;
    weft->is_network = is_network(weft->ops);
    weft->is_blocking = strcmp(gauge_option_text(options, "wait"), "block") == 0;
    weft->up = (struct weft_upcalls){
        .owner = weft,
        .meet = on_meet,
        .arrived = on_arrived,
        .may_take = may_take,
        .lost = on_lost,
    };
    weft->job = make_job(weft, world);
    weft->to = calloc((size_t)world->ends, sizeof(*weft->to));
    weft->sent = calloc((size_t)world->ends, sizeof(*weft->sent));
    weft->from = calloc((size_t)world->ends, sizeof(*weft->from));
    if (weft->to == NULL || weft->sent == NULL || weft->from == NULL) {
        return gauge_fail("weft: no memory for %d ends", world->ends);
    }
    for (int i = 0; i < world->ends; i++) {
        weft->from[i].last = &weft->from[i].first;
    }
    return queues_open(&weft->queues, world->ends, move, weft, "weft");
}

static enum gauge_rc weft_init(struct gauge_module *module,
                               const struct gauge_world *world)
{
    struct weft *weft = calloc(1, sizeof(*weft));

    if (weft == NULL) {
        return gauge_fail("weft: no memory");
    }
    if (world->ends == 1) {
        free(weft);
        return gauge_fail("weft: a transport leads to others: give at least two ends");
    }
    module->state = weft;
    if (fill(weft, world) != GAUGE_OK ||
        (weft->is_network ? own_segment(weft, world) : share_segment(weft, world)) !=
            GAUGE_OK ||
        open_transport(weft, world) != GAUGE_OK ||
        connect_all(weft, world->end) != GAUGE_OK ||
        greet_all(module, world->end) != GAUGE_OK || world->barrier(world) != GAUGE_OK) {
        weft_shutdown(module);
        return GAUGE_FAILED;
    }
    return GAUGE_OK;
}

static const char *weft_configure(struct gauge_module *module)
{
    static char fault[160];
    const char *name = gauge_option_text(options, "transport");
    const char *kind = gauge_option_text(options, "wait");
    const struct weft_packet_ops *ops = weft_transport_find(name);

    if (ops == NULL) {
        snprintf(fault, sizeof(fault), "there is no transport \"%.100s\"", name);
        return fault;
    }
    if (strcmp(kind, "spin") != 0 && strcmp(kind, "block") != 0) {
        return "--wait is spin or block";
    }
    if (strcmp(kind, "block") == 0 && !is_network(ops)) {
        return "--wait block needs a network: --transport msg";
    }
    if (is_network(ops)) {
        module->flags &= ~(unsigned)GAUGE_ONE_NODE;
    } else {
        module->flags |= GAUGE_ONE_NODE;
    }
    return NULL;
}

struct gauge_module gauge_weft = {
    .name = "weft",
    .description = "Weft's transports below MPI: packets and polling",
    .flags = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_ONE_NODE,
    .header = WEFT_HEADER_BYTES,
    .options = options,
    .configure = weft_configure,
    .init = weft_init,
    .shutdown = weft_shutdown,
    .sendto = weft_sendto,
    .recvfrom = weft_recvfrom,
    .isendto = weft_isendto,
    .irecvfrom = weft_irecvfrom,
    .test = weft_test,
    .wait = weft_wait,
};
