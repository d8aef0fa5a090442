/*
 * weft.c - Weft's transports as they are below MPI: packets and polling, no matching.
 *
 * A message goes as packets of at most `short_max` bytes, and one of 0 bytes as an empty
 * packet; both ends name the same size, so every packet belongs to one message. A packet
 * that comes before its receive is kept in a list per peer, as MPI would; the common case
 * is a receive that waits already, into which the packet is copied straight.
 *
 * The transport stands on a job segment of its own, made by end 0 and opened by the
 * others through its /proc, and not on the launcher's: so no launcher is needed, and an
 * MPI library of Weft's may be measured by the same processes.
 */
#include "gauge/modules/queue.h"
#include "gauge/modules/ring.h"

#include "transport/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUDGET = 64 };

static struct gauge_option options[] = {
    {"transport", GAUGE_TEXT, "shm", "NAME", "which of Weft's transports"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

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
};

struct weft {
    const struct weft_transport_ops *ops;
    struct weft_job job;
    struct weft_upcalls up;
    struct weft_transport *transport;
    struct weft_endpoint **to; /* each end; NULL to ourselves */
    struct source *from;
    struct queues queues;
    int ends;
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

static void on_arrived(void *owner, uint32_t from, const void *header, const void *data,
                       size_t length)
{
    struct weft *weft = owner;
    struct source *source = &weft->from[from];

    (void)header;
    if (source->waiting != NULL && !source->waiting->is_over) {
        take(source->waiting, data, length);
    } else {
        keep(weft, source, data, length);
    }
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

static bool may_take(void *owner, uint32_t from)
{
    (void)owner;
    (void)from;
    return true;
}

static void on_done(void *owner, struct weft_op *op, enum weft_rc rc)
{
    (void)owner;
    (void)op; /* nothing is lent to the transport */
    (void)rc;
}

static enum gauge_rc poll(struct weft *weft)
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
        rc = poll(weft);
        source->waiting = NULL;
    }
    return rc;
}

static enum gauge_rc send_some(struct weft *weft, struct transfer *t)
{
    static const unsigned char header[WEFT_HEADER_BYTES];
    struct weft_endpoint *to = weft->to[t->peer];

    do {
        size_t left = t->size - t->done;
        size_t length = left < to->short_max ? left : to->short_max;
        enum weft_rc rc = weft->ops->send(to, header, t->bytes + t->done, length, 0);

        if (rc == WEFT_AGAIN) {
            return poll(weft);
        }
        if (rc != WEFT_OK) {
            return gauge_fail("weft: cannot send to end %d: error %d", t->peer, (int)rc);
        }
        t->done += length;
    } while (t->done < t->size);
    t->is_over = true;
    return GAUGE_OK;
}

static enum gauge_rc move(void *owner, struct transfer *t)
{
    return t->is_send ? send_some(owner, t) : receive_some(owner, t);
}

/* Messages */

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
        ring_pause(&looks);
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
        ring_pause(&looks);
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
        .job = (uint64_t)getpid(),
        .job_size = (uint32_t)weft->ends,
        .node_count = 1,
        .local_size = (uint32_t)weft->ends,
    };

    if (weft_segment_create(&plan, segment) != WEFT_OK) {
        return false;
    }
    for (uint32_t i = 0; i < plan.job_size; i++) {
        weft_segment_map(segment)[i] = (struct weft_place){.node = 0, .local_rank = i};
        weft_segment_locals(segment)[i] = i;
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

static enum gauge_rc connect_all(struct weft *weft, int end)
{
    if (weft->ops->open(&weft->up, &weft->job, &weft->transport) != WEFT_OK) {
        weft->transport = NULL;
        return gauge_fail("weft: the transport %s does not open", weft->ops->name);
    }
    for (int i = 0; i < weft->ends; i++) {
        if (i != end &&
            weft->ops->connect(weft->transport, (uint32_t)i, &weft->to[i]) != WEFT_OK) {
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
        if (weft->to != NULL && weft->to[i] != NULL) {
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
    }
    weft_segment_close(&weft->job.segment);
    queues_close(&weft->queues);
    free(weft->to);
    free(weft->from);
    free(weft);
    module->state = NULL;
}

static enum gauge_rc fill(struct weft *weft, const struct gauge_world *world)
{
    weft->ops = weft_transport_find(gauge_option_text(options, "transport"));
    weft->ends = world->ends;
    weft->up = (struct weft_upcalls){
        .owner = weft, .arrived = on_arrived, .may_take = may_take, .done = on_done};
    weft->job = (struct weft_job){
        .who = {.rank = world->end,
                .size = world->ends,
                .node_count = 1,
                .local_rank = world->end,
                .local_size = world->ends},
        .segment = {.fd = -1},
        .pid = getpid(),
        .is_one_node = true,
    };
    weft->to = calloc((size_t)world->ends, sizeof(*weft->to));
    weft->from = calloc((size_t)world->ends, sizeof(*weft->from));
    if (weft->to == NULL || weft->from == NULL) {
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
    if (fill(weft, world) != GAUGE_OK || share_segment(weft, world) != GAUGE_OK ||
        connect_all(weft, world->end) != GAUGE_OK || world->barrier(world) != GAUGE_OK) {
        weft_shutdown(module);
        return GAUGE_FAILED;
    }
    return GAUGE_OK;
}

static const char *weft_configure(struct gauge_module *module)
{
    static char fault[160];
    const char *name = gauge_option_text(options, "transport");

    (void)module;
    if (weft_transport_find(name) != NULL) {
        return NULL;
    }
    snprintf(fault, sizeof(fault), "there is no transport \"%.100s\"", name);
    return fault;
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
