/*
 * simulate.c - cores talk over a bad network in memory; every byte is checked.
 *
 *   simulate PACKETS SEEDS [BASE]   PACKETS in all over SEEDS new seeds; BASE: the first
 *                                   seed, which is printed, else from the clock
 *   simulate stream LOSS [BASE]     packets of 64 KiB one way over 10 Gbit/s and 50 us of
 *                                   round trip; LOSS in parts of a million
 *   simulate crowd RANKS CORES [BASE]   RANKS busy processes that share CORES: repeats
 *                                   that were not needed are counted
 *
 * A seed draws the network's habits, the sizes of datagrams and pools, and the traffic.
 * Each packet says who sent it to whom, its kind and its turn there, and what follows is
 * made from these. Some are not taken at first (WEFT_KEEP), some are answered from within
 * the upcall, and the port refuses some. The run has to end with everything delivered
 * once, in order, and all cores settled; a failure prints its seed.
 */
#include "net.h"

#include "transport/dgram/assemble.h"
#include "transport/dgram/look.h"
#include "transport/dgram/open.h"
#include "transport/dgram/receive.h"
#include "transport/dgram/send.h"
#include "transport/ofi/sodium.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    NODES_MOST = NET_NODES,
    LOOK_MOST = 100, /* datagrams */
    FEW = 8,         /* nodes of a seed that checks bytes */
    DATA_MOST = WEFT_DGRAM_PACKET_MAX - WEFT_HEADER_BYTES,
};

/* What the header of a packet says. */
struct title {
    uint32_t from;
    uint32_t to;
    uint32_t class;
    uint32_t turn;
    uint32_t length;
    uint32_t zero[2];
};

_Static_assert(sizeof(struct title) == WEFT_HEADER_BYTES, "a header");

struct world;

struct node {
    struct world *world;
    int index;
    struct weft_dgram_core core;
    struct weft_upcalls up;
    uint64_t look_at; /* when something has arrived or is to be sent; UINT64_MAX: none */
    uint64_t looked_at;
    uint64_t left;        /* packets to send */
    uint32_t out[FEW][2]; /* turns */
    uint32_t in[FEW][2];
    uint64_t closed_until[FEW]; /* nothing of that node is taken */
    struct weft_dgram_peer *peers[NODES_MOST];
};

struct world {
    uint64_t seed;
    struct net net;
    uint64_t now;
    int nodes;
    uint64_t delivered;
    uint64_t wanted;
    uint32_t keeps;   /* of NET_ALL */
    uint32_t refuses; /* of NET_ALL */
    uint32_t answers; /* of NET_ALL */
    uint64_t close_for;
    bool is_checked;   /* bytes and order */
    bool has_crc;      /* else some packets are sent without a copy */
    uint64_t borrowed; /* sends whose bytes are still needed */
    struct node *node[NODES_MOST];
    struct net_buffer buffers[NODES_MOST];
};

static uint8_t secret[WEFT_DGRAM_SECRET_BYTES] = "a secret of the simulated job";
static uint64_t longest; /* simulated time of a seed */
static uint8_t pattern[DATA_MOST + 64 * 8];

static _Noreturn void fail(const struct world *world, const char *what)
{
    fprintf(stderr, "simulate: seed %llu at %.6f s: %s\n",
            (unsigned long long)world->seed, (double)world->now / 1e9, what);
    exit(1);
}

static void check(const struct world *world, bool is_true, const char *what)
{
    if (!is_true) {
        fail(world, what);
    }
}

/* Data of a packet: a piece of one pattern, which its turn chooses. */
static const uint8_t *data_of(uint32_t turn)
{
    return pattern + turn % 509;
}

static struct weft_peer *meet(void *owner, uint64_t process)
{
    (void)owner;
    return (struct weft_peer *)(uintptr_t)(process + 1);
}

static int node_of(const struct weft_peer *peer)
{
    return (int)((uintptr_t)peer - 1);
}

static bool try_to_send(struct node *node);

static void check_packet(struct node *node, const struct weft_peer *from, unsigned class,
                         const void *header, const void *data, size_t len)
{
    struct world *world = node->world;
    const int sender = node_of(from);
    struct title title;

    memcpy(&title, header, sizeof(title));
    world->delivered++;
    if (!world->is_checked) {
        return;
    }
    check(world, title.from == (uint32_t)sender, "a packet of another node");
    check(world, title.to == (uint32_t)node->index, "a packet for another node");
    check(world, title.class == class, "a packet of another kind");
    check(world, title.turn == node->in[sender][class], "a packet out of its turn");
    check(world, title.length == len, "a packet of another length");
    check(world, memcmp(data_of(title.turn), data, len) == 0, "other bytes");
    node->in[sender][class]++;
    if (net_chance(&world->net, world->answers)) {
        (void)try_to_send(node);
    }
}

static enum weft_taken arrived(void *owner, struct weft_peer *from, const void *header,
                               const void *data, size_t len, unsigned flags)
{
    struct node *node = owner;
    struct world *world = node->world;

    (void)flags;
    if (world->is_checked) {
        uint64_t *closed = &node->closed_until[node_of(from)];

        if (world->now >= *closed && net_chance(&world->net, world->keeps)) {
            *closed = world->now + net_below(&world->net, world->close_for);
        }
        if (world->now < *closed) {
            return WEFT_KEEP;
        }
    }
    check_packet(node, from, WEFT_DGRAM_IN_ORDER, header, data, len);
    return WEFT_TAKEN;
}

static enum weft_taken arrived_in_pieces(void *owner, struct weft_peer *from,
                                         const void *header, const struct iovec *pieces,
                                         size_t count, size_t len)
{
    static uint8_t joined[DATA_MOST];
    const struct node *node = owner;
    size_t at = 0;

    if (net_below(&node->world->net, 4) == 0) {
        return WEFT_KEEP; /* it is wanted in one piece */
    }
    for (size_t i = 0; i < count; i++) {
        check(node->world, at + pieces[i].iov_len <= len, "pieces that are too long");
        memcpy(joined + at, pieces[i].iov_base, pieces[i].iov_len);
        at += pieces[i].iov_len;
    }
    check(node->world, at == len, "pieces that are too short");
    return arrived(owner, from, header, joined, len, 0);
}

static bool may_take(void *owner, const struct weft_peer *from, const void *header,
                     unsigned flags)
{
    const struct node *node = owner;

    (void)header;
    (void)flags;
    return !node->world->is_checked ||
           node->world->now >= node->closed_until[node_of(from)];
}

static void control(void *owner, struct weft_peer *from, const void *header,
                    const void *data, size_t len)
{
    check_packet(owner, from, WEFT_DGRAM_AHEAD, header, data, len);
}

static void lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    (void)process;
    (void)has_left;
    fail(((struct node *)owner)->world, why);
}

static unsigned emit(void *owner, void *place, const struct weft_dgram_train *train)
{
    struct node *node = owner;
    struct world *world = node->world;
    unsigned taken = train->datagrams;
    uint64_t to;

    memcpy(&to, place, sizeof(to));
    if (net_chance(&world->net, world->refuses)) {
        taken = (unsigned)net_below(&world->net, taken);
    }
    for (unsigned i = 0; i < taken; i++) {
        const struct iovec *pieces = train->pieces + 2 * i;
        const size_t bytes = pieces[0].iov_len + pieces[1].iov_len;

        check(world, bytes <= node->core.config.datagram, "a datagram that is too long");
        check(world,
              i + 1 < train->datagrams ? bytes == train->bytes : bytes <= train->bytes,
              "datagrams of a train differ");
        net_send(&world->net, world->now, node->index, (int)to - 1, pieces[0].iov_base,
                 pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len);
    }
    return taken;
}

static bool accept(void *owner, uint64_t process, const void *address, size_t length,
                   void *place)
{
    struct node *node = owner;
    uint64_t told;

    check(node->world, length == sizeof(told), "an address of another length");
    memcpy(&told, address, sizeof(told));
    check(node->world, told == process + 1, "another address");
    memcpy(place, &told, sizeof(told));
    return true;
}

static bool is_from(void *owner, const void *source, const void *place)
{
    uint64_t told;

    (void)owner;
    memcpy(&told, place, sizeof(told));
    return *(const int *)source == (int)told - 1;
}

static void nonsense(void *owner, uint64_t process, const char *why)
{
    (void)process;
    fail(((struct node *)owner)->world, why);
}

/* No path here drops the same datagram again and again. */
static void silent(void *owner, struct weft_peer *peer)
{
    (void)peer;
    fail(((struct node *)owner)->world, "a path seems narrow");
}

static struct node *make_node(struct world *world, int index,
                              const struct weft_dgram_config *like)
{
    struct node *node = calloc(1, sizeof(*node));
    const uint64_t address = (uint64_t)index + 1;
    struct weft_dgram_config config = *like;

    if (node == NULL) {
        abort();
    }
    node->world = world;
    node->index = index;
    node->look_at = world->now;
    node->up = (struct weft_upcalls){.owner = node,
                                     .meet = meet,
                                     .arrived = arrived,
                                     .arrived_in_pieces = arrived_in_pieces,
                                     .may_take = may_take,
                                     .control = control,
                                     .lost = lost,
                                     .silent = silent};
    config.owner = node;
    config.up = &node->up;
    config.emit = emit;
    config.accept = accept;
    config.is_from = is_from;
    config.nonsense = nonsense;
    config.place_bytes = sizeof(address);
    config.secret = secret;
    config.self = (struct weft_dgram_end){(uint64_t)index, 1000 + (uint64_t)index};
    config.address = &address;
    config.address_length = sizeof(address);
    config.has_crc = world->has_crc;
    check(world, weft_dgram_open(&node->core, &config, world->now) == WEFT_OK, "open");
    return node;
}

static struct weft_dgram_peer *peer_of(struct node *node, int to)
{
    struct world *world = node->world;

    if (node->peers[to] == NULL) {
        const struct weft_dgram_end end = {(uint64_t)to, 1000 + (uint64_t)to};
        const uint64_t place = (uint64_t)to + 1;

        node->peers[to] =
            weft_dgram_connect(&node->core, &end, world->node[to]->core.config.datagram,
                               &place, meet(NULL, (uint64_t)to));
        check(world, node->peers[to] != NULL, "no memory");
    }
    return node->peers[to];
}

static size_t draw_length(struct net *net)
{
    const uint64_t drawn = net_below(net, 1000);

    return drawn < 800   ? net_below(net, 200)
           : drawn < 950 ? net_below(net, 2000)
           : drawn < 997 ? net_below(net, 8000)
                         : net_below(net, DATA_MOST + 1);
}

/* A send without a copy: its bytes are freed as soon as they may be. */
struct borrowed {
    struct weft_op op;
    struct world *world;
    uint8_t data[];
};

static void give_back(struct weft_op *op, enum weft_rc rc)
{
    struct borrowed *one = (struct borrowed *)(void *)op;

    check(one->world, rc == WEFT_OK, "a send without a copy has failed");
    one->world->borrowed--;
    free(one);
}

static enum weft_rc send_borrowed(struct node *node, int to, const struct title *title)
{
    struct borrowed *one = malloc(sizeof(*one) + title->length);
    const size_t head = title->length < 16 ? title->length : 16;
    enum weft_rc rc;

    if (one == NULL) {
        abort();
    }
    one->op = (struct weft_op){.done = give_back};
    one->world = node->world;
    memcpy(one->data, data_of(title->turn), title->length);
    rc = weft_dgram_send_zcopy(&node->core, peer_of(node, to), title,
                               data_of(title->turn), head, one->data + head,
                               title->length - head, &one->op, node->world->now);
    if (rc != WEFT_PENDING) {
        free(one);
        return rc;
    }
    node->world->borrowed++;
    return WEFT_OK;
}

/* Sends one packet to somebody; false: nothing is left, or not now. */
static bool try_to_send(struct node *node)
{
    struct world *world = node->world;
    struct net *net = &world->net;
    const unsigned class = net_below(net, 4) == 0;
    int to = (int)net_below(net, (uint64_t)world->nodes - 1);
    struct title title;
    enum weft_rc rc;

    to += to >= node->index;
    if (node->left == 0) {
        return false;
    }
    title = (struct title){
        (uint32_t)node->index,      (uint32_t)to, class, node->out[to % FEW][class],
        (uint32_t)draw_length(net), {0, 0}};
    rc = class == 0 && !world->has_crc
             ? send_borrowed(node, to, &title)
             : weft_dgram_send(&node->core, peer_of(node, to), &title,
                               data_of(title.turn), title.length,
                               class == 1 ? WEFT_SEND_CONTROL : 0, world->now);
    check(world, rc == WEFT_OK || rc == WEFT_AGAIN, "a send has failed");
    if (rc == WEFT_OK) {
        node->out[to % FEW][class]++;
        node->left--;
    }
    return rc == WEFT_OK;
}

/* Hands at most so many datagrams to the core, some of them in memory that is good until
 * all were handed over; true: these are all. */
static bool read_datagrams(struct node *node, int most)
{
    struct world *world = node->world;
    const bool is_batch = net_below(&world->net, 2) == 0;
    struct net_datagram *batch[LOOK_MOST];
    int count = 0;

    if (is_batch) {
        weft_dgram_batch_begin(&node->core);
    }
    while (count < most) {
        struct net_datagram *datagram = net_take(&world->buffers[node->index]);

        if (datagram == NULL) {
            break;
        }
        weft_dgram_receive(&node->core, datagram->bytes, datagram->length,
                           &datagram->from);
        batch[count++] = is_batch ? datagram : NULL;
        if (!is_batch) {
            free(datagram);
        }
    }
    weft_dgram_batch_end(&node->core);
    for (int i = 0; i < count; i++) {
        free(batch[i]);
    }
    return count < most;
}

static void look(struct node *node, uint64_t away)
{
    struct world *world = node->world;
    const int most = 1 + (int)net_below(&world->net, LOOK_MOST);
    uint64_t deadline;
    bool is_drained;

    weft_dgram_begin(&node->core, world->now, away, 1 + most);
    is_drained = read_datagrams(node, most);
    (void)weft_dgram_end(&node->core, world->now, is_drained);
    for (uint64_t burst = net_below(&world->net, 20); burst > 0; burst--) {
        (void)try_to_send(node);
    }
    node->looked_at = world->now;
    deadline = weft_dgram_deadline(&node->core);
    node->look_at = deadline == 0 ? UINT64_MAX : deadline;
    if (node->left > 0 || node->core.kept != NULL || node->core.over != NULL ||
        world->buffers[node->index].count > 0) {
        const uint64_t soon = world->now + 1 + net_below(&world->net, 40000);

        node->look_at = soon < node->look_at ? soon : node->look_at;
    }
}

/* The next thing that happens: something arrives, or a node looks. False: nothing will.
 */
static bool step(struct world *world)
{
    struct node *next = world->node[0];
    uint64_t arrives = net_next(&world->net);

    for (int i = 1; i < world->nodes; i++) {
        if (world->node[i]->look_at < next->look_at) {
            next = world->node[i];
        }
    }
    if (arrives == UINT64_MAX && next->look_at == UINT64_MAX) {
        return false;
    }
    if (arrives <= next->look_at) {
        struct node *node;

        world->now = arrives > world->now ? arrives : world->now;
        node = world->node[net_arrive(&world->net, world->buffers)];
        if (world->now + 2000 < node->look_at) {
            node->look_at = world->now + 2000;
        }
        return true;
    }
    world->now = next->look_at > world->now ? next->look_at : world->now;
    if (net_below(&world->net, 2000) == 0) { /* it does not run now */
        const uint64_t away = net_below(&world->net, 20000000);

        next->look_at = world->now + away;
        return true;
    }
    look(next, 0);
    return true;
}

static bool are_settled(const struct world *world)
{
    for (int i = 0; i < world->nodes; i++) {
        if (world->node[i]->left > 0 || !weft_dgram_is_settled(&world->node[i]->core)) {
            return false;
        }
    }
    return world->delivered == world->wanted && world->borrowed == 0;
}

static void draw_habits(struct world *world, struct weft_dgram_config *config)
{
    static const uint16_t sizes[] = {512, 1472, 1472, 1472, 8972};
    struct net *net = &world->net;
    const bool is_bad = net_below(net, 4) != 0;

    net->habits = (struct net_habits){
        .loss = (uint32_t)net_below(net, is_bad ? NET_ALL / 10 : NET_ALL / 1000),
        .repeat = (uint32_t)net_below(net, is_bad ? NET_ALL / 20 : 1),
        .corrupt = (uint32_t)net_below(net, is_bad ? NET_ALL / 50 : 1),
        .reorder = (uint32_t)net_below(net, is_bad ? NET_ALL / 10 : 1),
        .replay = (uint32_t)net_below(net, is_bad ? NET_ALL / 100 : 1),
        .delay = 5000 + net_below(net, 100000),
        .late = 1 + net_below(net, 2000000),
        .room = 8 + (uint32_t)net_below(net, 300),
    };
    *config = (struct weft_dgram_config){
        .datagram = sizes[net_below(net, 5)],
        .train = (uint16_t)(1 + net_below(net, 64)),
        .room = net->habits.room,
        .receive_pool = 20000 + net_below(net, 2000000),
        .send_pool = 20000 + net_below(net, 2000000),
        .lost_after = UINT64_C(60000000000),
        .narrow_after = UINT64_C(300000000),
    };
    world->keeps = (uint32_t)net_below(net, NET_ALL / 50);
    world->refuses = (uint32_t)net_below(net, NET_ALL / 50);
    world->answers = (uint32_t)net_below(net, NET_ALL / 2);
    world->close_for = 1 + net_below(net, 5000000);
    world->has_crc = net_below(net, 2) == 0;
    net->habits.corrupt = world->has_crc ? net->habits.corrupt : 0;
}

static void close_world(struct world *world)
{
    for (int i = 0; i < world->nodes; i++) {
        struct net_datagram *datagram;

        weft_dgram_close(&world->node[i]->core);
        while ((datagram = net_take(&world->buffers[i])) != NULL) {
            free(datagram);
        }
        free(world->node[i]);
    }
    net_close(&world->net);
}

static void add_counts(struct weft_dgram_counts *sum, const struct world *world)
{
    for (int i = 0; i < world->nodes; i++) {
        const uint64_t *from = (const uint64_t *)&world->node[i]->core.counts;

        for (size_t at = 0; at < sizeof(*sum) / sizeof(uint64_t); at++) {
            ((uint64_t *)sum)[at] += from[at];
        }
    }
}

static void run_seed(uint64_t seed, uint64_t packets, struct weft_dgram_counts *sum)
{
    static struct world world;
    struct weft_dgram_config config;
    uint64_t steps = 0;
    uint64_t start;

    memset(&world, 0, sizeof(world));
    world.seed = seed;
    world.net.random = seed;
    world.is_checked = true;
    world.now = 1000000000 + net_below(&world.net, 1000000000);
    start = world.now;
    world.nodes = 2 + (int)net_below(&world.net, FEW - 1);
    draw_habits(&world, &config);
    for (int i = 0; i < world.nodes; i++) {
        world.node[i] = make_node(&world, i, &config);
        world.node[i]->left = packets / (uint64_t)world.nodes;
        world.wanted += world.node[i]->left;
    }
    while (step(&world)) {
        if (++steps % 64 == 0 && are_settled(&world)) {
            break;
        }
        check(&world, steps < 1000000 + 2000 * packets, "it does not end");
        check(&world, world.now - start < UINT64_C(20000000000), "it takes too long");
    }
    check(&world, are_settled(&world), "something is missing");
    add_counts(sum, &world);
    longest = world.now - start > longest ? world.now - start : longest;
    close_world(&world);
}

static void print_counts(const struct weft_dgram_counts *sum)
{
    printf(
        "datagrams %llu, acks %llu, repeats by time %llu, by ack %llu, duplicates %llu, "
        "forged %llu, replayed %llu, corrupt %llu, malformed %llu, no room %llu\n",
        (unsigned long long)sum->sent, (unsigned long long)sum->acks_sent,
        (unsigned long long)sum->repeats_by_time, (unsigned long long)sum->repeats_by_ack,
        (unsigned long long)sum->duplicates, (unsigned long long)sum->forged,
        (unsigned long long)sum->replayed, (unsigned long long)sum->corrupt,
        (unsigned long long)sum->malformed, (unsigned long long)sum->no_room);
}

/* All ranks want to run all the time, and get slices in turn. Nothing is lost but what
 * finds a buffer full, so what comes twice was repeated too early, or its acknowledgement
 * found no room. */
static int run_crowd(int ranks, int cores, uint64_t seed)
{
    static struct world world;
    const uint64_t slice = 800000;
    struct weft_dgram_config config = {.datagram = 1472,
                                       .train = 44,
                                       .room = 92,
                                       .receive_pool = 8 << 20,
                                       .send_pool = 4 << 20,
                                       .lost_after = UINT64_C(60000000000)};
    struct weft_dgram_counts sum = {0};
    uint64_t repeats;
    int turn = 0;

    world.seed = world.net.random = seed;
    world.now = 1000000000;
    world.nodes = ranks;
    world.has_crc = true;
    world.net.habits = (struct net_habits){.delay = 20000, .room = 92};
    for (int i = 0; i < ranks; i++) {
        world.node[i] = make_node(&world, i, &config);
        world.node[i]->left = 200;
        world.wanted += 200;
    }
    for (int round = 0; round < 200 * ranks / cores; round++) {
        const uint64_t from = world.now;

        for (int i = 0; i < 8; i++) { /* looks in a slice */
            world.now = from + (uint64_t)i * slice / 8;
            while (net_next(&world.net) <= world.now) {
                (void)net_arrive(&world.net, world.buffers);
            }
            for (int core = 0; core < cores; core++) {
                struct node *node = world.node[(turn + core) % ranks];

                look(node,
                     node->looked_at == 0 ? 0 : (world.now - node->looked_at) / 1000);
            }
        }
        turn = (turn + cores) % ranks;
        world.now = from + slice;
    }
    check(&world, world.delivered == world.wanted, "something is missing");
    add_counts(&sum, &world);
    print_counts(&sum);
    repeats = sum.duplicates;
    printf("buffers had no room for %llu\n", (unsigned long long)world.net.overflowed);
    printf("%d ranks on %d cores: %.2f %% of the datagrams came twice\n", ranks, cores,
           100.0 * (double)repeats / (double)sum.sent);
    close_world(&world);
    return 10 * repeats < sum.sent ? 0 : 1;
}

/* One packet of 64 KiB after the other, as soon as it is taken. */
static void stream_on(struct node *node)
{
    struct world *world = node->world;
    const struct title title = {0, 1, 0, 0, DATA_MOST, {0, 0}};

    while (node->left > 0 &&
           weft_dgram_send(&node->core, peer_of(node, 1), &title, pattern, DATA_MOST, 0,
                           world->now) == WEFT_OK) {
        node->left--;
    }
}

/* Looks of a node that always runs: as soon as something comes, or is due. */
static void look_at_once(struct node *node)
{
    struct net_datagram *datagram;
    uint64_t deadline;

    weft_dgram_begin(&node->core, node->world->now, 0, 1000);
    while ((datagram = net_take(&node->world->buffers[node->index])) != NULL) {
        weft_dgram_receive(&node->core, datagram->bytes, datagram->length,
                           &datagram->from);
        free(datagram);
    }
    (void)weft_dgram_end(&node->core, node->world->now, true);
    if (node->index == 0) {
        stream_on(node);
    }
    deadline = weft_dgram_deadline(&node->core);
    node->look_at = deadline == 0 ? UINT64_MAX : deadline;
}

/* Whether fewer than two of a thousand datagrams were repeated without need. */
static int run_stream(uint32_t loss, uint64_t seed)
{
    static struct world world;
    const uint64_t packets = 4000;
    const struct weft_dgram_config config = {.datagram = 1472,
                                             .train = 44,
                                             .room = 184,
                                             .receive_pool = 8 << 20,
                                             .send_pool = 4 << 20,
                                             .lost_after = UINT64_C(60000000000)};
    struct weft_dgram_counts sum = {0};
    double seconds;

    world.seed = world.net.random = seed;
    world.now = 1000000000;
    world.nodes = 2;
    world.wanted = packets;
    world.has_crc = true;
    world.net.habits = (struct net_habits){
        .loss = (uint32_t)((uint64_t)loss * NET_ALL / 1000000),
        .delay = 25000,
        .gap = 1200,
        .room = 184,
    };
    world.node[0] = make_node(&world, 0, &config);
    world.node[1] = make_node(&world, 1, &config);
    world.node[0]->left = packets;
    while (world.delivered < packets) {
        struct node *next = world.node[world.node[1]->look_at < world.node[0]->look_at];

        if (net_next(&world.net) <= next->look_at) {
            world.now = net_next(&world.net);
            next = world.node[net_arrive(&world.net, world.buffers)];
            next->look_at =
                next->look_at < world.now + 3000 ? next->look_at : world.now + 3000;
        } else {
            world.now = next->look_at;
            look_at_once(next);
        }
    }
    seconds = (double)(world.now - 1000000000) / 1e9;
    add_counts(&sum, &world);
    print_counts(&sum);
    printf("loss of %.2f %%: %.3f GB/s, %.2f %% of the datagrams were repeated, %.2f %% "
           "came "
           "twice\n",
           loss / 1e4, (double)(packets * DATA_MOST) / seconds / 1e9,
           100.0 * (double)(sum.repeats_by_ack + sum.repeats_by_time) / (double)sum.sent,
           100.0 * (double)sum.duplicates / (double)sum.sent);
    close_world(&world);
    return 500 * sum.duplicates < sum.sent ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct weft_dgram_counts sum = {0};
    const bool is_crowd = argc > 3 && strcmp(argv[1], "crowd") == 0;
    struct timespec now;
    uint64_t base;
    uint64_t seeds;

    if (argc < 3 || weft_sodium_open() != WEFT_OK) {
        fprintf(stderr, "simulate PACKETS SEEDS [BASE] | crowd RANKS CORES [BASE]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = (uint8_t)(i * 2654435761U >> 13);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    base = (uint64_t)now.tv_sec * 1000000;
    if (is_crowd) {
        base = argc > 4 ? strtoull(argv[4], NULL, 10) : base;
        printf("seed %llu\n", (unsigned long long)base);
        return run_crowd(atoi(argv[2]), atoi(argv[3]), base);
    }
    base = argc > 3 ? strtoull(argv[3], NULL, 10) : base;
    if (strcmp(argv[1], "stream") == 0) {
        return run_stream((uint32_t)strtoul(argv[2], NULL, 10), base);
    }
    seeds = strtoull(argv[2], NULL, 10);
    printf("seeds from %llu on\n", (unsigned long long)base);
    fflush(stdout);
    for (uint64_t i = 0; i < seeds; i++) {
        run_seed(base + i, strtoull(argv[1], NULL, 10) / seeds, &sum);
    }
    print_counts(&sum);
    printf("the longest seed took %.3f s of simulated time\n", (double)longest / 1e9);
    return 0;
}
