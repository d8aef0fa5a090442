/*
 * datagram.c - see datagram.h.
 *
 * A datagram is read straight into the buffer of the receive that waits for it. One that
 * turns out to be somebody else's is copied from there; the receive's own bytes will be
 * written over it.
 */
#include "gauge/modules/datagram.h"
#include "gauge/modules/queue.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 1 << 16, SOCKET_BUFFER = 4 << 20, SKIP_MOST = 64 };

/* A message that nobody waits for yet. */
struct early {
    struct early *next;
    size_t size;
    unsigned char bytes[];
};

/* What comes from one end. */
struct source {
    uint32_t next;  /* the number of the message to come */
    bool is_broken; /* one was lost: nothing comes any more in this stretch */
    struct early *first;
    struct early **last;
};

struct datagram {
    const struct datagram_carrier *carrier;
    int fd;
    int end;
    int ends;
    uint32_t secret;
    uint32_t stretch;
    struct datagram_address *to;
    uint32_t *sent; /* messages to each end */
    struct source *from;
    struct queues queues;
    bool is_blocking;
    double loss; /* on purpose, 0 .. 1 */
    unsigned short random[3];
    double patience;    /* nanoseconds */
    double quiet_since; /* since when nothing has come that was waited for */
    unsigned char spare[LARGEST];
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Sending */

static enum gauge_rc send_now(struct datagram *d, struct transfer *t)
{
    struct datagram_header header = {
        .secret = d->secret,
        .from = (uint16_t)d->end,
        .to = (uint16_t)t->peer,
        .stretch = d->stretch,
        .number = d->sent[t->peer],
        .size = (uint32_t)t->size,
    };
    struct iovec parts[2] = {{&header, sizeof(header)}, {t->bytes, t->size}};
    struct msghdr message = {
        .msg_name = &d->to[t->peer].address,
        .msg_namelen = d->to[t->peer].length,
        .msg_iov = parts,
        .msg_iovlen = 2,
    };

    if ((d->loss > 0 && erand48(d->random) < d->loss) ||
        sendmsg(d->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
        d->sent[t->peer]++;
        t->is_over = true;
    } else if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR &&
               errno != ECONNREFUSED) { /* the last is news of an earlier one */
        return gauge_fail("%s: cannot send %zu bytes to end %d: %s", d->carrier->name,
                          t->size, t->peer, strerror(errno));
    }
    return GAUGE_OK;
}

/* Receiving */

/* A copy of `size` bytes that lie in two pieces, the first of `split` bytes. */
static enum gauge_rc keep(struct datagram *d, struct source *source, size_t size,
                          const unsigned char *one, size_t split,
                          const unsigned char *two)
{
    struct early *early = malloc(sizeof(*early) + size);

    if (early == NULL) {
        return gauge_fail("%s: no memory for %zu bytes", d->carrier->name, size);
    }
    *early = (struct early){.size = size};
    split = split < size ? split : size;
    if (split > 0) {
        memcpy(early->bytes, one, split);
    }
    if (size > split) {
        memcpy(early->bytes + split, two, size - split);
    }
    *source->last = early;
    source->last = &early->next;
    return GAUGE_OK;
}

/* Whose it is; NULL when it is not for us, late, double, or after a loss. */
static struct source *sender_of(struct datagram *d, const struct datagram_header *header)
{
    struct source *source = NULL;

    if (header->secret != d->secret || header->to != d->end || header->from >= d->ends ||
        header->stretch != d->stretch) {
        return NULL;
    }
    source = &d->from[header->from];
    if (source->is_broken || header->number < source->next) {
        return NULL;
    }
    if (header->number > source->next) {
        source->is_broken = true;
        return NULL;
    }
    source->next++;
    d->quiet_since = now();
    return source;
}

static enum gauge_rc check_size(const struct datagram *d, const struct transfer *t,
                                size_t size)
{
    return size == t->size
               ? GAUGE_OK
               : gauge_fail("%s: %zu bytes came from end %d where %zu were waited for",
                            d->carrier->name, size, t->peer, t->size);
}

/* Reads one datagram, hopefully that of `t`; *is_empty when there was none. */
static enum gauge_rc read_one(struct datagram *d, struct transfer *t, bool *is_empty)
{
    struct datagram_header header;
    unsigned char skipped[SKIP_MOST];
    struct iovec parts[4] = {{skipped, d->carrier->skip},
                             {&header, sizeof(header)},
                             {t->bytes, t->size},
                             {d->spare, LARGEST}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 4};
    ssize_t length = recvmsg(d->fd, &message, MSG_DONTWAIT);
    size_t before = d->carrier->skip + sizeof(header);
    struct source *source = NULL;

    *is_empty = length < 0;
    if (length < 0) {
        return errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED
                   ? GAUGE_OK
                   : gauge_fail("%s: cannot receive: %s", d->carrier->name,
                                strerror(errno));
    }
    if ((size_t)length < before || header.size > (size_t)length - before ||
        (source = sender_of(d, &header)) == NULL) {
        return GAUGE_OK;
    }
    if (header.from == t->peer && source->first == NULL && !t->is_over) {
        t->is_over = true;
        return check_size(d, t, header.size);
    }
    return keep(d, source, header.size, t->bytes, t->size, d->spare);
}

static enum gauge_rc take_early(struct datagram *d, struct source *source,
                                struct transfer *t)
{
    struct early *early = source->first;
    enum gauge_rc rc = check_size(d, t, early->size);

    if (rc == GAUGE_OK && t->size > 0) {
        memcpy(t->bytes, early->bytes, t->size);
    }
    source->first = early->next;
    if (source->first == NULL) {
        source->last = &source->first;
    }
    free(early);
    t->is_over = true;
    return rc;
}

/* Reads until the message is there, nothing is left, or it is known to be lost. */
static enum gauge_rc receive_now(struct datagram *d, struct transfer *t)
{
    struct source *source = &d->from[t->peer];
    bool is_empty = false;
    enum gauge_rc rc = GAUGE_OK;

    if (source->first != NULL) {
        return take_early(d, source, t);
    }
    while (rc == GAUGE_OK && !t->is_over && !is_empty) {
        rc = source->is_broken ? GAUGE_LOST : read_one(d, t, &is_empty);
    }
    if (is_empty && rc == GAUGE_OK && now() - d->quiet_since > d->patience) {
        return GAUGE_LOST;
    }
    return rc;
}

static enum gauge_rc move(void *owner, struct transfer *t)
{
    return t->is_send ? send_now(owner, t) : receive_now(owner, t);
}

/* Blocking: until the socket may be worth another try, or patience has ended. */
static void rest(const struct datagram *d, bool is_sending)
{
    struct pollfd ready = {.fd = d->fd, .events = is_sending ? POLLOUT : POLLIN};

    if (d->is_blocking) {
        poll(&ready, 1, (int)(d->patience / 1e6) + 1);
    }
}

/* Messages */

enum gauge_rc datagram_test(struct gauge_module *module, struct gauge_request *request)
{
    struct datagram *d = module->state;

    (void)request;
    return queues_progress(&d->queues);
}

enum gauge_rc datagram_wait(struct gauge_module *module, struct gauge_request *request)
{
    struct datagram *d = module->state;
    enum gauge_rc rc = queues_progress(&d->queues);

    while (rc == GAUGE_OK && !request->is_done) {
        rest(d, transfer_of(request)->is_send);
        rc = queues_progress(&d->queues);
    }
    return rc;
}

static enum gauge_rc start(struct datagram *d, const struct transfer *t,
                           struct gauge_request *request)
{
    if (d->queues.under_way == 0) {
        d->quiet_since = now();
    }
    return queues_start(&d->queues, t, request);
}

enum gauge_rc datagram_isendto(struct gauge_module *module, int dest, const void *buffer,
                               size_t size, struct gauge_request *request)
{
    struct transfer t = transfer_make(dest, buffer, size, true);

    return start(module->state, &t, request);
}

enum gauge_rc datagram_irecvfrom(struct gauge_module *module, int source, void *buffer,
                                 size_t size, struct gauge_request *request)
{
    struct transfer t = transfer_make(source, buffer, size, false);

    return start(module->state, &t, request);
}

static enum gauge_rc transfer_now(struct gauge_module *module, struct transfer *t)
{
    struct datagram *d = module->state;
    enum gauge_rc rc = GAUGE_OK;

    if (d->queues.under_way > 0) {
        struct gauge_request request = {.is_done = false};

        rc = start(d, t, &request);
        return rc == GAUGE_OK ? datagram_wait(module, &request) : rc;
    }
    d->quiet_since = now();
    for (rc = move(d, t); rc == GAUGE_OK && !t->is_over; rc = move(d, t)) {
        rest(d, t->is_send);
    }
    return rc;
}

enum gauge_rc datagram_sendto(struct gauge_module *module, int dest, const void *buffer,
                              size_t size)
{
    struct transfer t = transfer_make(dest, buffer, size, true);

    return transfer_now(module, &t);
}

enum gauge_rc datagram_recvfrom(struct gauge_module *module, int source, void *buffer,
                                size_t size)
{
    struct transfer t = transfer_make(source, buffer, size, false);

    return transfer_now(module, &t);
}

static void forget(struct source *source)
{
    while (source->first != NULL) {
        struct early *early = source->first;

        source->first = early->next;
        free(early);
    }
    *source = (struct source){.last = &source->first};
}

/* Nobody sends now, and nobody will before all have been here. */
void datagram_drain(struct gauge_module *module)
{
    struct datagram *d = module->state;

    while (recv(d->fd, d->spare, LARGEST, MSG_DONTWAIT | MSG_TRUNC) >= 0) {
    }
    queues_forget(&d->queues);
    for (int i = 0; i < d->ends; i++) {
        forget(&d->from[i]);
        d->sent[i] = 0;
    }
    d->stretch++;
}

/* Opening */

struct card {
    uint32_t secret;
    struct datagram_address address;
};

static enum gauge_rc meet(struct datagram *d, const struct gauge_world *world)
{
    struct card mine = {0};
    struct card *cards = calloc((size_t)d->ends, sizeof(*cards));
    int size = SOCKET_BUFFER;
    enum gauge_rc rc = GAUGE_OK;

    if (cards == NULL || getrandom(&mine.secret, sizeof(mine.secret), 0) < 0) {
        free(cards);
        return gauge_fail("%s: no memory or no random bytes", d->carrier->name);
    }
    d->fd = d->carrier->open(&mine.address);
    rc = d->fd >= 0 ? world->exchange(world, &mine, sizeof(mine), cards) : GAUGE_FAILED;
    if (rc == GAUGE_OK) {
        setsockopt(d->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        setsockopt(d->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        d->secret = cards[0].secret;
    }
    for (int i = 0; rc == GAUGE_OK && i < d->ends; i++) {
        d->to[i] = cards[i].address;
        rc = d->carrier->complete(world->host(world, i), &d->to[i]);
    }
    free(cards);
    return rc;
}

void datagram_shutdown(struct gauge_module *module)
{
    struct datagram *d = module->state;

    for (int i = 0; d->from != NULL && i < d->ends; i++) {
        forget(&d->from[i]);
    }
    if (d->fd >= 0) {
        close(d->fd);
    }
    queues_close(&d->queues);
    free(d->to);
    free(d->sent);
    free(d->from);
    free(d);
    module->state = NULL;
}

static enum gauge_rc fill(struct datagram *d, const struct gauge_world *world)
{
    size_t ends = (size_t)world->ends;

    d->end = world->end;
    d->ends = world->ends;
    d->is_blocking = strcmp(gauge_option_text(d->carrier->options, "wait"), "block") == 0;
    d->loss = gauge_option_number(d->carrier->options, "loss");
    d->random[0] = (unsigned short)world->end;
    d->random[1] = (unsigned short)world->seed;
    d->patience = gauge_option_number(d->carrier->options, "patience") * 1e6;
    d->to = calloc(ends, sizeof(*d->to));
    d->sent = calloc(ends, sizeof(*d->sent));
    d->from = calloc(ends, sizeof(*d->from));
    if (d->to == NULL || d->sent == NULL || d->from == NULL) {
        return gauge_fail("%s: no memory for %zu ends", d->carrier->name, ends);
    }
    for (size_t i = 0; i < ends; i++) {
        d->from[i].last = &d->from[i].first;
    }
    return queues_open(&d->queues, world->ends, move, d, d->carrier->name);
}

enum gauge_rc datagram_init(struct gauge_module *module, const struct gauge_world *world,
                            const struct datagram_carrier *carrier)
{
    struct datagram *d = calloc(1, sizeof(*d));

    if (d == NULL) {
        return gauge_fail("%s: no memory", carrier->name);
    }
    d->carrier = carrier;
    d->fd = -1;
    module->state = d;
    if (fill(d, world) != GAUGE_OK || meet(d, world) != GAUGE_OK ||
        world->barrier(world) != GAUGE_OK) {
        datagram_shutdown(module);
        return GAUGE_FAILED;
    }
    return GAUGE_OK;
}

const char *datagram_tried(int fd, const char *no_right)
{
    if (fd < 0) {
        return errno == EPERM || errno == EACCES ? no_right : strerror(errno);
    }
    close(fd);
    return NULL;
}

const char *datagram_configure(struct gauge_option *options)
{
    const char *kind = gauge_option_text(options, "wait");

    if (strcmp(kind, "spin") != 0 && strcmp(kind, "block") != 0) {
        return "--wait is spin or block";
    }
    if (!(gauge_option_number(options, "patience") > 0)) {
        return "--patience is more than 0";
    }
    return gauge_option_number(options, "loss") >= 0 &&
                   gauge_option_number(options, "loss") < 1
               ? NULL
               : "--loss is a share, from 0 to below 1";
}
