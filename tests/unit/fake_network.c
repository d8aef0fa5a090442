#include "fake_network.h"

#include "engine/hot.h"
#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct fake_net fake_net;

/* An operation that is under way; its bytes move when it is finished. */
struct pending {
    struct weft_op *op;
    void *to;
    const void *from;
    size_t len;
};

struct arrival {
    struct arrival *next;
    uint32_t from;
    struct weft_header header;
    size_t len;
    _Alignas(8) uint8_t data[];
};

static const struct weft_memory_ops memory_ops;
static const struct weft_memory_ops telling_ops;

static struct {
    struct weft_upcalls *up;
    int descriptor; /* readable while something has come, if the test wants it */
    int events;     /* while a connection is asked for */
    bool has_changed;
    uint32_t lost[NET_PEERS]; /* ranks, to be told of */
    int lost_count;
    bool is_asked;
    struct weft_path path[NET_PEERS][2]; /* two each */
    struct pending pending[NET_OPS];
    bool is_finishing;
    enum weft_rc rc;
    struct arrival *arrivals[NET_PATHS]; /* ordered packets */
    struct arrival *control[NET_PATHS];
    uint32_t numbers[NET_PEERS]; /* of the next ordered packet from each */
} net;

static void fail(const char *what)
{
    if (fake_net.fault == NULL) {
        fake_net.fault = what;
    }
}

void fake_net_reset(void)
{
    memset(&fake_net, 0, sizeof(fake_net));
    fake_net.packet_max = WEFT_EAGER_MAX;
    fake_net.zcopy_max = NET_ZCOPY_MAX;
    memset(&net, 0, sizeof(net));
}

/* ---- descriptors ---- */

static bool open_descriptors(void)
{
    net.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    net.events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return net.descriptor >= 0 && net.events >= 0;
}

static void close_descriptors(void)
{
    close(net.descriptor);
    close(net.events);
}

static void announce(int descriptor)
{
    if (fake_net.has_events && eventfd_write(descriptor, 1) != 0) {
        fail("a descriptor cannot be made readable");
    }
}

static void quieten(int descriptor)
{
    eventfd_t count;

    (void)eventfd_read(descriptor, &count); /* EAGAIN: it was quiet */
}

void fake_net_change_descriptors(void)
{
    close_descriptors();
    if (!open_descriptors()) {
        fail("there are no descriptors");
    }
    net.has_changed = true;
}

static enum weft_rc net_open(struct weft_upcalls *up, struct weft_node *node,
                             struct weft_transport **out)
{
    (void)node;
    net.up = up;
    *out = NULL;
    return open_descriptors() ? WEFT_OK : WEFT_ERR_SYSTEM;
}

static void net_close(struct weft_transport *tp)
{
    (void)tp;
    close_descriptors();
    if (fake_net.registered != 0) {
        fail("memory is registered at the end");
    }
    for (int path = 0; path < NET_PATHS; path++) {
        if (net.arrivals[path] != NULL || net.control[path] != NULL) {
            fail("packets have not arrived");
        }
    }
}

static enum weft_rc net_connect(struct weft_transport *tp, struct weft_peer *peer,
                                uint64_t process, struct weft_path **out)
{
    const uint32_t rank = weft_process_rank(process);

    for (uint8_t number = 0; number < 2; number++) {
        net.path[rank][number] = (struct weft_path){
            .packets = &fake_net_ops,
            .memory = fake_net.has_no_memory ? NULL
                      : fake_net.has_told    ? &telling_ops
                                             : &memory_ops,
            .transport = tp,
            .peer = peer,
            .process = process,
            .packet_max = fake_net.packet_max,
            .zcopy_max = fake_net.zcopy_max,
            .number = number,
            .prefers_get = fake_net.prefers_get,
        };
    }
    *out = &net.path[rank][0];
    return WEFT_OK;
}

static struct net_packet *new_packet(const struct weft_path *path, const void *header)
{
    struct net_packet *packet = &fake_net.sent[fake_net.sent_count++ % NET_PACKETS];

    memset(packet, 0, offsetof(struct net_packet, data));
    packet->peer = weft_process_rank(path->process);
    packet->path = path->number;
    memcpy(&packet->header, header, sizeof(packet->header));
    return packet;
}

static bool refuses(int *times)
{
    if (*times == 0) {
        return false;
    }
    --*times;
    return true;
}

static enum weft_rc net_send(struct weft_path *path, const void *header, const void *data,
                             size_t len, unsigned flags)
{
    struct net_packet *packet;

    if (refuses(&fake_net.refuse_send)) {
        return WEFT_AGAIN;
    }
    packet = new_packet(path, header);
    if (len > fake_net.packet_max) {
        fail("a packet is too long");
    }
    packet->flags = flags;
    packet->len = len;
    if (len > 0) {
        memcpy(packet->data, data, len);
    }
    return WEFT_OK;
}

static struct weft_path *net_next_path(struct weft_path *path)
{
    return &net.path[weft_process_rank(path->process)][1];
}

static struct weft_path *net_find_path(struct weft_path *path, uint32_t number)
{
    return &net.path[weft_process_rank(path->process)][number];
}

static enum weft_rc begin(struct weft_op *op, void *to, const void *from, size_t len)
{
    if (fake_net.pending == NET_OPS) {
        fail("too many operations");
        return WEFT_ERR_NOMEM;
    }
    net.pending[fake_net.pending++] = (struct pending){op, to, from, len};
    return WEFT_PENDING;
}

static enum weft_rc net_send_zcopy(struct weft_path *path, const void *header,
                                   const void *head, size_t head_len, const void *data,
                                   size_t len, struct weft_op *op)
{
    struct net_packet *packet;

    if (refuses(&fake_net.refuse_zcopy)) {
        return WEFT_AGAIN;
    }
    if (head_len > WEFT_HEAD_MAX || head_len + len > fake_net.zcopy_max) {
        fail("a zero-copy send is too long");
    }
    packet = new_packet(path, header);
    packet->is_zcopy = true;
    packet->head_len = head_len;
    packet->len = head_len + len;
    if (head_len > 0) {
        memcpy(packet->data, head, head_len);
    }
    return begin(op, packet->data + head_len, data, len);
}

static enum weft_rc net_put(struct weft_path *path, const struct weft_move *move,
                            struct weft_op *op)
{
    (void)path;
    if (refuses(&fake_net.refuse_rma)) {
        return WEFT_AGAIN;
    }
    fake_net.puts++;
    return begin(op, move->theirs->iov_base, move->ours->iov_base, move->ours->iov_len);
}

static enum weft_rc net_put_tell(struct weft_path *path, const struct weft_move *move,
                                 uint64_t word, struct weft_op *op)
{
    const enum weft_rc rc = net_put(path, move, op);

    if (rc == WEFT_PENDING) {
        fake_net.told++;
        fake_net.word = word;
    }
    return rc;
}

static enum weft_rc net_get(struct weft_path *path, const struct weft_move *move,
                            struct weft_op *op)
{
    (void)path;
    if (refuses(&fake_net.refuse_rma)) {
        return WEFT_AGAIN;
    }
    fake_net.gets++;
    return begin(op, move->ours->iov_base, move->theirs->iov_base, move->ours->iov_len);
}

static enum weft_rc net_mr_register(struct weft_transport *tp, void *memory, size_t bytes,
                                    unsigned how, struct weft_key *key, void **mr)
{
    (void)tp;
    (void)bytes;
    if (fake_net.refuse_mr) {
        return WEFT_AGAIN;
    }
    if (how != WEFT_MR_PUT && how != WEFT_MR_GET) {
        fail("memory is registered for nothing, or for both");
    }
    fake_net.registered++;
    *key = (struct weft_key){.address = (uint64_t)(uintptr_t)memory, .key = 77};
    *mr = memory;
    return WEFT_OK;
}

static void net_mr_deregister(struct weft_transport *tp, void *mr)
{
    (void)tp;
    if (mr == NULL || fake_net.registered == 0) {
        fail("memory that is not registered is deregistered");
    }
    fake_net.registered--;
}

static const struct weft_memory_ops memory_ops = {
    .iov_max = 1,
    .put = net_put,
    .get = net_get,
    .mr_register = net_mr_register,
    .mr_deregister = net_mr_deregister,
};

static const struct weft_memory_ops telling_ops = {
    .iov_max = 1,
    .put = net_put,
    .put_tell = net_put_tell,
    .get = net_get,
    .mr_register = net_mr_register,
    .mr_deregister = net_mr_deregister,
};

static void finish_all(void)
{
    const int count = fake_net.pending;
    struct pending finished[NET_OPS];

    memcpy(finished, net.pending, sizeof(finished));
    fake_net.pending = 0;
    net.is_finishing = false;
    for (int i = 0; i < count; i++) {
        if (net.rc == WEFT_OK) {
            memcpy(finished[i].to, finished[i].from, finished[i].len);
        }
        finished[i].op->done(finished[i].op, net.rc);
    }
}

static bool is_ordered(const struct weft_header *header)
{
    return header->kind == WEFT_PKT_EAGER || header->kind == WEFT_PKT_ANNOUNCE ||
           header->kind == WEFT_PKT_DATA || header->kind == WEFT_PKT_STORED;
}

static struct weft_peer *sender_of(const struct arrival *a)
{
    return net.up->meet(net.up->owner, weft_engine_process(a->from));
}

static bool offer(const struct arrival *a)
{
    struct weft_peer *from = sender_of(a);

    if (!is_ordered(&a->header)) {
        net.up->control(net.up->owner, from, &a->header, a->data, a->len);
        return true;
    }
    return net.up->arrived(net.up->owner, from, &a->header, a->data, a->len, 0) ==
           WEFT_TAKEN;
}

/* What is not taken stays first in its queue. */
static int poll_arrivals(struct arrival **first, int budget)
{
    int n = 0;

    while (*first != NULL && n < budget && offer(*first)) {
        struct arrival *a = *first;

        *first = a->next;
        free(a);
        n++;
    }
    return n;
}

static int net_poll(struct weft_transport *tp, int budget)
{
    int n = 0;

    (void)tp;
    fake_net.polls++;
    quieten(net.descriptor);
    quieten(net.events);
    if (net.is_finishing) {
        finish_all();
    }
    fake_net.answered += net.is_asked ? 1 : 0;
    net.is_asked = false;
    while (net.lost_count > 0) {
        fake_net_lose(net.lost[--net.lost_count]);
    }
    for (int path = 0; path < NET_PATHS; path++) {
        if (!fake_net.is_held[path]) {
            n += poll_arrivals(&net.control[path], budget - n);
            n += poll_arrivals(&net.arrivals[path], budget - n);
        }
    }
    return n;
}

static enum weft_rc net_arm(struct weft_transport *tp)
{
    bool has_something = fake_net.keeps_coming || net.lost_count > 0 || net.is_asked;

    (void)tp;
    if (net.has_changed) {
        return WEFT_PENDING;
    }
    for (int path = 0; path < NET_PATHS; path++) {
        const struct arrival *a = net.arrivals[path];

        has_something |=
            !fake_net.is_held[path] &&
            (net.control[path] != NULL ||
             (a != NULL && net.up->may_take(net.up->owner, sender_of(a), &a->header, 0)));
    }
    return has_something ? WEFT_AGAIN : WEFT_OK;
}

static int net_descriptors(struct weft_transport *tp, int out[WEFT_DESCRIPTORS])
{
    (void)tp;
    net.has_changed = false;
    out[0] = net.descriptor;
    out[1] = net.events;
    return 2;
}

static void net_count(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    (void)tp;
    (void)traffic;
}

const struct weft_packet_ops fake_net_ops = {
    .name = "fake network",
    .open = net_open,
    .close = net_close,
    .connect = net_connect,
    .send = net_send,
    .poll = net_poll,
    .arm = net_arm,
    .count = net_count,
    .send_zcopy = net_send_zcopy,
    .next_path = net_next_path,
    .find_path = net_find_path,
    .descriptors = net_descriptors,
};

void fake_net_finish(enum weft_rc rc)
{
    net.is_finishing = true;
    net.rc = rc;
}

static void append(struct arrival **end, struct arrival *a)
{
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = a;
}

void fake_net_arrive_by(uint32_t from, int path, const struct weft_header *header,
                        const void *data, size_t len)
{
    struct arrival *a = malloc(sizeof(*a) + len);

    *a = (struct arrival){.from = from, .header = *header, .len = len};
    if (len > 0) {
        memcpy(a->data, data, len);
    }
    if (is_ordered(header)) {
        a->header.sequence = net.numbers[from]++;
        append(&net.arrivals[path], a);
    } else {
        append(&net.control[path], a);
    }
    announce(net.descriptor);
}

void fake_net_arrive(uint32_t from, const struct weft_header *header, const void *data,
                     size_t len)
{
    fake_net_arrive_by(from, 0, header, data, len);
}

void fake_net_lose_later(uint32_t rank)
{
    net.lost[net.lost_count++] = rank;
    announce(net.descriptor);
}

void fake_net_ask(void)
{
    net.is_asked = true;
    announce(net.events);
}

void fake_net_tell(uint64_t word)
{
    net.up->told(net.up->owner, word);
}

void fake_net_lose(uint32_t rank)
{
    net.up->lost(net.up->owner, weft_engine_process(rank), false, "lost by a test");
}

const struct net_packet *fake_net_nth(enum weft_packet kind, int n)
{
    for (int i = 0; i < fake_net.sent_count; i++) {
        if (fake_net.sent[i].header.kind == (uint8_t)kind && n-- == 0) {
            return &fake_net.sent[i];
        }
    }
    return NULL;
}

int fake_net_count(enum weft_packet kind)
{
    int n = 0;

    while (fake_net_nth(kind, n) != NULL) {
        n++;
    }
    return n;
}
