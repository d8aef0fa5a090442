/*
 * test_port.c - the contract of ports for datagrams (transport/dgram/port.h), for each
 * kind of them, over the loopback.
 *
 * The cases of the first group run for a socket of our own, and again for libfabric's
 * udp. Those behind it are about one kind. Calls of the system are the test's, which
 * lets some calls fail.
 */
#include "unit.h"

#include "base/log.h"
#include "base/settings.h"
#include "transport/dgram/buffer.h"
#include "transport/dgram/fabric_port.h"
#include "transport/dgram/udp.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

enum {
    DATAGRAM = 1472,
    BUFFER = 256 * 1024,
    FIRST = 40000,
    LAST = 40999,
    BATCH = 32,
    PATIENCE_MS = 5000,
    MANY = 4096,
};

typedef enum weft_rc (*opener)(const struct weft_port_wishes *wishes,
                               struct weft_port **out);

static const struct weft_net_address loopback = {
    .interface = "lo",
    .text = "127.0.0.1",
    .prefix = 8,
};

static opener open_kind;
static struct weft_port *a;
static struct weft_port *b;
static struct weft_port_peer a_of_b; /* as b sees a */
static struct weft_port_peer b_of_a;

/* ---- calls that fail ---- */

static struct {
    int cause; /* errno; 0: they do not */
    int after; /* calls that do not */
    int left;  /* calls that do */
    bool is_for_trains;
    int receive_cause;
    int receive_left;
} failing;

long __real_weft_udp_call_send(int fd, const struct msghdr *message);
long __wrap_weft_udp_call_send(int fd, const struct msghdr *message);
int __real_weft_udp_call_receive(int fd, struct mmsghdr *list, unsigned most);
int __wrap_weft_udp_call_receive(int fd, struct mmsghdr *list, unsigned most);

long __wrap_weft_udp_call_send(int fd, const struct msghdr *message)
{
    if (failing.after > 0) {
        failing.after--;
    } else if (failing.left > 0 &&
               (!failing.is_for_trains || message->msg_controllen > 0)) {
        failing.left--;
        errno = failing.cause;
        return -1;
    }
    return __real_weft_udp_call_send(fd, message);
}

int __wrap_weft_udp_call_receive(int fd, struct mmsghdr *list, unsigned most)
{
    if (failing.receive_left > 0) {
        failing.receive_left--;
        errno = failing.receive_cause;
        return -1;
    }
    return __real_weft_udp_call_receive(fd, list, most);
}

/* ---- two ports ---- */

static struct weft_port *open_with(const struct weft_port_wishes *wishes)
{
    struct weft_port *port = NULL;

    assert_int_equal(open_kind(wishes, &port), WEFT_OK);
    return port;
}

static struct weft_port_wishes make_wishes(void)
{
    return (struct weft_port_wishes){
        .own = &loopback,
        .ports = {.first = FIRST, .last = LAST, .begin = (int)getpid()},
        .datagram_max = DATAGRAM,
        .buffer_bytes = BUFFER,
    };
}

static int open_pair(void **state)
{
    const struct weft_port_wishes wishes = make_wishes();

    (void)state;
    memset(&failing, 0, sizeof(failing));
    a = open_with(&wishes);
    b = open_with(&wishes);
    assert_int_equal(a->ops->accept_peer(a, &b->address, &b_of_a), WEFT_OK);
    assert_int_equal(b->ops->accept_peer(b, &a->address, &a_of_b), WEFT_OK);
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    a->ops->close(a);
    if (b != NULL) {
        b->ops->close(b);
    }
    return 0;
}

static enum weft_rc send_bytes(const void *bytes, size_t length, uint32_t *taken)
{
    const struct iovec piece = {(void *)(uintptr_t)bytes, length};
    const struct weft_train train = {
        .pieces = &piece,
        .piece_count = 1,
        .datagrams = 1,
        .bytes = (uint32_t)length,
    };

    return a->ops->send(a, &b_of_a, &train, taken);
}

/* Numbered datagrams of this length; returns how many were taken. */
static uint32_t send_numbered(uint32_t count, size_t length)
{
    uint8_t bytes[DATAGRAM] = {0};
    uint32_t sent = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t taken = 0;

        memcpy(bytes, &i, length < sizeof(i) ? length : sizeof(i));
        assert_int_equal(send_bytes(bytes, length, &taken), WEFT_OK);
        sent += taken;
    }
    return sent;
}

static bool is_something_there(struct weft_port *port, int patience_ms)
{
    struct pollfd look = {.fd = port->fd, .events = POLLIN};

    return port->ops->arm(port) == WEFT_AGAIN || poll(&look, 1, patience_ms) > 0;
}

/* The next datagrams, at least one; fails where none comes. */
static int await_some(struct weft_port *port, struct weft_datagram *out, int most)
{
    int count = port->ops->receive(port, out, most);

    while (count == 0) {
        assert_true(is_something_there(port, PATIENCE_MS));
        count = port->ops->receive(port, out, most);
    }
    return count;
}

/* Takes what is there, and returns how many these are. */
static uint32_t drain(struct weft_port *port)
{
    struct weft_datagram out[BATCH];
    uint32_t count = 0;

    while (is_something_there(port, 0)) {
        count += (uint32_t)port->ops->receive(port, out, BATCH);
    }
    return count;
}

/* ---- datagrams ---- */

static void a_datagram_arrives_with_its_bytes_and_its_source(void **state)
{
    struct weft_datagram got;
    uint32_t taken = 0;

    (void)state;
    assert_int_equal(send_bytes("weft", 4, &taken), WEFT_OK);
    assert_int_equal(taken, 1);
    assert_int_equal(await_some(b, &got, 1), 1);
    assert_int_equal(got.length, 4);
    assert_memory_equal(got.bytes, "weft", 4);
    assert_true(b->ops->may_be_from(b, &got, &a_of_b));
    assert_int_equal(b->ops->receive(b, &got, 1), 0);
    assert_int_equal(a->counts.sent, 1);
    assert_int_equal(b->counts.received, 1);
}

static void the_longest_datagram_arrives(void **state)
{
    static uint8_t bytes[DATAGRAM];
    struct weft_datagram got;
    uint32_t taken = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    assert_int_equal(b_of_a.datagram_max, DATAGRAM);
    assert_int_equal(send_bytes(bytes, sizeof(bytes), &taken), WEFT_OK);
    assert_int_equal(await_some(b, &got, 1), 1);
    assert_int_equal(got.length, sizeof(bytes));
    assert_memory_equal(got.bytes, bytes, sizeof(bytes));
}

/* A train of the most datagrams, of three pieces each, the last one shorter. */
struct made_train {
    struct weft_train train;
    struct iovec pieces[3 * WEFT_PORT_TRAIN_MAX];
    uint32_t heads[WEFT_PORT_TRAIN_MAX];
    uint8_t middle[100];
    uint8_t rest[DATAGRAM];
};

static void make_train(struct made_train *made, uint32_t datagrams, uint32_t bytes,
                       uint32_t last)
{
    memset(made->middle, 'm', sizeof(made->middle));
    memset(made->rest, 'r', sizeof(made->rest));
    for (uint32_t i = 0; i < datagrams; i++) {
        const uint32_t all = i + 1 < datagrams ? bytes : last;

        made->heads[i] = i;
        made->pieces[3 * i] = (struct iovec){&made->heads[i], 4};
        made->pieces[3 * i + 1] = (struct iovec){made->middle, 100};
        made->pieces[3 * i + 2] = (struct iovec){made->rest, all - 104};
    }
    made->train = (struct weft_train){
        .pieces = made->pieces,
        .piece_count = 3 * datagrams,
        .datagrams = datagrams,
        .bytes = bytes,
    };
}

static void check_of_train(const struct weft_datagram *got, uint32_t wanted,
                           uint32_t length)
{
    uint32_t number;

    assert_int_equal(got->length, length);
    memcpy(&number, got->bytes, sizeof(number));
    assert_int_equal(number, wanted);
    assert_int_equal(got->bytes[4], 'm');
    assert_int_equal(got->bytes[103], 'm');
    assert_int_equal(got->bytes[104], 'r');
    assert_int_equal(got->bytes[length - 1], 'r');
}

/* Takes a train out of b, at most `most` datagrams with each call. */
static void receive_train(const struct made_train *made, uint32_t last, int most)
{
    const struct weft_train *train = &made->train;
    struct weft_datagram got[BATCH];

    for (uint32_t next = 0; next < train->datagrams;) {
        const int count = await_some(b, got, most);

        for (int i = 0; i < count; i++, next++) {
            const bool is_last = next + 1 == train->datagrams;

            check_of_train(&got[i], next, is_last ? last : train->bytes);
            assert_true(b->ops->may_be_from(b, &got[i], &a_of_b));
        }
    }
    assert_int_equal(drain(b), 0);
}

static void a_train_arrives_as_its_datagrams(void **state)
{
    static struct made_train made;
    uint32_t taken = 0;

    (void)state;
    assert_true(a->train_max >= 40 && a->train_max <= WEFT_PORT_TRAIN_MAX);
    make_train(&made, a->train_max, DATAGRAM, 300);
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    assert_int_equal(taken, made.train.datagrams);
    receive_train(&made, 300, BATCH);
    assert_int_equal(b->counts.received, taken);
}

/* As datagrams that have a header and no data. */
static void pieces_may_be_empty(void **state)
{
    static const struct iovec pieces[] = {
        {(void *)(uintptr_t) "one", 3},
        {NULL, 0},
        {(void *)(uintptr_t) "two", 3},
        {NULL, 0},
        {NULL, 0},
    };
    const struct weft_train train = {pieces, 5, 2, 3};
    struct weft_datagram got[BATCH];
    uint32_t taken = 0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(a->ops->send(a, &b_of_a, &train, &taken), WEFT_OK);
        assert_int_equal(taken, 2);
        for (int came = 0; came < 2;) {
            const int count = await_some(b, got, BATCH);

            for (int j = 0; j < count; j++) {
                assert_int_equal(got[j].length, 3);
                assert_memory_equal(got[j].bytes, came++ == 0 ? "one" : "two", 3);
            }
        }
        if (open_kind == weft_port_open_udp) {
            weft_udp_of(a)->can_segment = false; /* the second time, one by one */
        }
    }
    assert_int_equal(drain(b), 0);
    assert_int_equal(b->counts.rejected, 0);
}

static void the_caller_says_how_many_it_takes(void **state)
{
    static struct made_train made;
    uint32_t taken = 0;

    (void)state;
    make_train(&made, 20, 512, 512);
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    receive_train(&made, 512, 1);
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    receive_train(&made, 512, 7);
}

static void both_ends_may_send(void **state)
{
    const struct iovec piece = {(void *)(uintptr_t) "back", 4};
    const struct weft_train train = {&piece, 1, 1, 4};
    struct weft_datagram got;
    uint32_t taken;

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(send_numbered(1, 8), 1);
        assert_int_equal(await_some(b, &got, 1), 1);
        assert_int_equal(b->ops->send(b, &a_of_b, &train, &taken), WEFT_OK);
        assert_int_equal(await_some(a, &got, 1), 1);
        assert_memory_equal(got.bytes, "back", 4);
        assert_true(a->ops->may_be_from(a, &got, &b_of_a));
    }
}

/* ---- room ---- */

static void as_many_as_have_room_are_not_lost(void **state)
{
    const uint32_t room = b->room_datagrams;

    (void)state;
    assert_true(room >= 32 && room < MANY);
    assert_true(b->room_bytes >= room * DATAGRAM);
    assert_int_equal(send_numbered(room, DATAGRAM), room);
    assert_int_equal(drain(b), room);
    assert_int_equal(send_numbered(room, 1), room);
    assert_int_equal(drain(b), room);
    assert_int_equal(b->counts.dropped, 0);
}

/* The kernel gives memory back late; the room counts that. */
static void there_is_room_for_those_that_were_taken(void **state)
{
    struct weft_datagram got[BATCH];
    uint32_t waiting = b->room_datagrams;
    uint32_t received = 0;
    uint32_t sent = send_numbered(waiting, DATAGRAM);

    (void)state;
    for (int i = 0; i < 20; i++) {
        const uint32_t count = (uint32_t)await_some(b, got, 1 + i % BATCH);

        received += count;
        sent += send_numbered(count, DATAGRAM);
    }
    assert_int_equal(received + drain(b), sent);
    assert_int_equal(b->counts.dropped, 0);
}

static void what_finds_no_room_is_counted(void **state)
{
    const uint32_t sent = send_numbered(8 * b->room_datagrams, DATAGRAM);
    uint32_t received = drain(b);

    (void)state;
    assert_true(received >= b->room_datagrams && received < sent);
    assert_int_equal(send_numbered(1, DATAGRAM), 1); /* tells what was lost before */
    received += drain(b);
    assert_int_equal(b->counts.dropped, sent + 1 - received);
}

/* ---- datagrams of others ---- */

static int open_stranger(void)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    return fd;
}

/* Where b is, as a socket's address. */
static struct sockaddr_in address_of_b(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};

    if (open_kind == weft_port_open_udp) {
        at = b_of_a.to.four;
    } else {
        memcpy(&at, &b->address.bytes[8], sizeof(at)); /* as libfabric has it */
    }
    return at;
}

static void what_is_empty_or_too_long_is_rejected(void **state)
{
    static const size_t lengths[] = {0, DATAGRAM + 1, 9000, 60000, 65507, 0};
    static const uint8_t bytes[65507];
    const struct sockaddr_in at = address_of_b();
    const int fd = open_stranger();
    struct weft_datagram got;

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        assert_int_equal(
            sendto(fd, bytes, lengths[i], 0, (const struct sockaddr *)&at, sizeof(at)),
            lengths[i]);
    }
    assert_int_equal(send_numbered(1, 8), 1);
    assert_int_equal(await_some(b, &got, 1), 1);
    assert_true(b->ops->may_be_from(b, &got, &a_of_b));
    assert_int_equal(drain(b), 0);
    assert_int_equal(b->counts.rejected, sizeof(lengths) / sizeof(lengths[0]));
    assert_int_equal(b->counts.received, 1);
    close(fd);
}

static void what_others_send_is_not_taken_for_a_peer_s(void **state)
{
    static const uint8_t bytes[DATAGRAM];
    const struct sockaddr_in at = address_of_b();
    const int fd = open_stranger();
    struct weft_datagram got[BATCH];
    unsigned draw = 1;
    int count = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const size_t length = 1 + (draw = draw * 1103515245 + 12345) / 65536 % DATAGRAM;

        assert_int_equal(
            sendto(fd, bytes, length, 0, (const struct sockaddr *)&at, sizeof(at)),
            length);
        for (int n = await_some(b, got, BATCH); n > 0; count++) {
            assert_false(b->ops->may_be_from(b, &got[--n], &a_of_b));
        }
    }
    assert_int_equal(count, 1000);
    assert_int_equal(b->counts.rejected, 0);
    close(fd);
}

static void a_peer_that_is_gone_is_no_error(void **state)
{
    struct weft_port_peer self;
    struct weft_datagram got;
    uint32_t taken = 0;

    (void)state;
    b->ops->close(b);
    b = NULL;
    assert_int_equal(send_numbered(20, 100), 20);
    assert_int_equal(a->ops->receive(a, &got, 1), 0);
    assert_int_equal(a->ops->accept_peer(a, &a->address, &self), WEFT_OK);
    b_of_a = self;
    assert_int_equal(send_bytes("self", 4, &taken), WEFT_OK);
    assert_int_equal(await_some(a, &got, 1), 1);
    a->ops->drop_peer(a, &self);
}

/* ---- sleep ---- */

static void a_datagram_wakes_who_sleeps(void **state)
{
    struct pollfd look = {.fd = b->fd, .events = POLLIN};
    struct weft_datagram got;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(b->fd >= 0);
        assert_int_equal(b->ops->arm(b), WEFT_OK);
        assert_int_equal(poll(&look, 1, 0), 0);
        assert_int_equal(send_numbered(1, 8), 1);
        assert_int_equal(poll(&look, 1, PATIENCE_MS), 1);
        assert_int_equal(b->ops->arm(b), WEFT_AGAIN);
        assert_int_equal(await_some(b, &got, 1), 1);
    }
    assert_int_equal(b->ops->receive(b, &got, 1), 0);
    assert_int_equal(b->ops->arm(b), WEFT_OK);
}

static void nobody_sleeps_over_what_was_read_and_not_given_out(void **state)
{
    static struct made_train made;
    struct weft_datagram got;
    uint32_t taken = 0;

    (void)state;
    make_train(&made, 3, 512, 512);
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(is_something_there(b, PATIENCE_MS));
        assert_int_equal(b->ops->arm(b), WEFT_AGAIN);
        assert_int_equal(b->ops->receive(b, &got, 1), 1);
        check_of_train(&got, i, 512);
    }
    assert_int_equal(b->ops->receive(b, &got, 1), 0);
    assert_int_equal(b->ops->arm(b), WEFT_OK);
}

/* A call that brings fewer than it may has not seen all, unless it says so. */
static void the_last_datagram_is_known(void **state)
{
    struct weft_datagram got[8];
    int count = 0;

    (void)state;
    assert_int_equal(b->ops->receive(b, got, 8), 0);
    assert_true(b->is_drained);
    assert_int_equal(send_numbered(3, 8), 3);
    while (count < 3) {
        const int more = await_some(b, got, 8);

        assert_true(!b->is_drained || count + more == 3);
        count += more;
    }
    assert_int_equal(b->ops->receive(b, got, 8), 0);
    assert_true(b->is_drained);
}

/* ---- addresses ---- */

static void what_is_no_address_is_refused(void **state)
{
    struct weft_port_address bad = b->address;
    struct weft_port_peer peer;

    (void)state;
    assert_true(bad.length <= WEFT_PORT_ADDRESS_MAX);
    for (int length = 0; length < 256; length++) {
        bad.length = (uint8_t)length;
        if (length != b->address.length) {
            assert_int_equal(a->ops->accept_peer(a, &bad, &peer), WEFT_ERR_ARGUMENT);
        }
    }
    bad = b->address;
    bad.bytes[0] = 'x';
    assert_int_equal(a->ops->accept_peer(a, &bad, &peer), WEFT_ERR_UNREACHABLE);
}

static void the_shorter_of_two_limits_counts(void **state)
{
    struct weft_port_wishes wishes = make_wishes();
    struct weft_port_peer peer;
    struct weft_port *narrow;

    (void)state;
    wishes.datagram_max = 600;
    narrow = open_with(&wishes);
    assert_int_equal(narrow->datagram_max, 600);
    assert_int_equal(a->ops->accept_peer(a, &narrow->address, &peer), WEFT_OK);
    assert_int_equal(peer.datagram_max, 600);
    assert_int_equal(narrow->ops->accept_peer(narrow, &a->address, &peer), WEFT_OK);
    assert_int_equal(peer.datagram_max, 600);
    narrow->ops->close(narrow);
}

static void a_port_of_the_range_is_taken_or_none(void **state)
{
    struct weft_port_wishes wishes = make_wishes();
    struct sockaddr_in at = address_of_b();
    struct weft_port *port = NULL;

    (void)state;
    assert_in_range(ntohs(at.sin_port), FIRST, LAST);
    wishes.ports.first = ntohs(at.sin_port);
    wishes.ports.last = ntohs(at.sin_port);
    assert_int_equal(open_kind(&wishes, &port), WEFT_ERR_SYSTEM);
    assert_null(port);
}

static int count_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(all);
    while (readdir(all) != NULL) {
        count++;
    }
    closedir(all);
    return count;
}

static void a_port_that_is_closed_leaves_nothing_open(void **state)
{
    const struct weft_port_wishes wishes = make_wishes();
    const int before = count_descriptors();

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct weft_port *port = open_with(&wishes);

        port->ops->close(port);
    }
    assert_int_equal(count_descriptors(), before);
}

static void a_pool_of_one_buffer_is_enough(void **state)
{
    static struct made_train made;
    struct weft_port_wishes wishes = make_wishes();
    uint32_t taken = 0;

    (void)state;
    b->ops->close(b);
    wishes.pool_bytes = 1;
    b = open_with(&wishes);
    assert_int_equal(a->ops->accept_peer(a, &b->address, &b_of_a), WEFT_OK);
    assert_int_equal(b->ops->accept_peer(b, &a->address, &a_of_b), WEFT_OK);
    make_train(&made, 20, 512, 200);
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    receive_train(&made, 200, BATCH);
}

/* ---- a socket of our own ---- */

static void trains_are_one_call_on_both_sides(void **state)
{
    static struct made_train made;
    uint32_t taken = 0;

    (void)state;
    make_train(&made, a->train_max, DATAGRAM, 300);
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    receive_train(&made, 300, BATCH);
    assert_int_equal(a->counts.sends, 1);
    assert_int_equal(b->counts.receives, 1);
}

static void trains_that_the_system_does_not_split_go_one_by_one(void **state)
{
    static const int causes[] = {EIO, EINVAL, EOPNOTSUPP};
    static struct made_train made;
    uint32_t taken = 0;

    (void)state;
    make_train(&made, 10, DATAGRAM, 300);
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        weft_udp_of(a)->can_segment = true;
        failing.cause = causes[i];
        failing.left = 2;
        failing.is_for_trains = true;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
            assert_int_equal(taken, 10);
            receive_train(&made, 300, BATCH);
        }
        /* An interface may become wider again. Else the second train is not tried. */
        assert_int_equal(failing.left, causes[i] == EINVAL ? 0 : 1);
    }
    assert_int_equal(a->counts.unsent, 0);
    assert_int_equal(b->counts.received, 60);
}

static void a_full_socket_or_queue_takes_nothing(void **state)
{
    static const int causes[] = {EAGAIN, ENOBUFS, ENOMEM, EINTR};
    static struct made_train made;
    uint32_t taken = 1;

    (void)state;
    make_train(&made, 10, 512, 300);
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        failing.cause = causes[i];
        failing.left = 1;
        assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_AGAIN);
        assert_int_equal(taken, 0);
        assert_int_equal(a->counts.refused, i + 1);
    }
    assert_int_equal(a->counts.sent, 0);
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    receive_train(&made, 300, BATCH);
}

static void a_train_may_be_taken_in_part(void **state)
{
    static struct made_train made;
    uint32_t taken = 0;

    (void)state;
    weft_udp_of(a)->can_segment = false;
    make_train(&made, 10, 512, 512);
    failing.cause = EAGAIN;
    failing.after = 3;
    failing.left = 1;
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_AGAIN);
    assert_int_equal(taken, 3);
    assert_int_equal(drain(b), 3);
    assert_int_equal(a->counts.sent, 3);
    assert_int_equal(a->counts.refused, 1);
}

static void what_cannot_be_sent_is_taken_and_counted(void **state)
{
    static const int causes[] = {EHOSTUNREACH, ENETUNREACH, ENETDOWN, EPERM, EMSGSIZE};
    static struct made_train made;
    uint32_t taken = 0;

    (void)state;
    make_train(&made, 4, 512, 512);
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        failing.cause = causes[i];
        failing.left = 1;
        assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
        assert_int_equal(taken, 4);
        assert_int_equal(a->counts.unsent, 4 * (i + 1));
        assert_int_equal(a->counts.last_error, causes[i]);
    }
    assert_int_equal(drain(b), 0);
}

static void the_end_of_an_earlier_peer_does_not_hold_up(void **state)
{
    struct weft_datagram got;

    (void)state;
    failing.cause = ECONNREFUSED;
    failing.left = 1;
    assert_int_equal(send_numbered(1, 8), 1);
    failing.receive_cause = ECONNREFUSED;
    failing.receive_left = 1;
    assert_true(is_something_there(b, PATIENCE_MS));
    assert_int_equal(b->ops->receive(b, &got, 1), 1);
    assert_int_equal(a->counts.unsent, 0);
    failing.left = 100;
    assert_int_equal(send_numbered(1, 8), 1);
    assert_int_equal(a->counts.unsent, 1);
    failing.left = 0;
    failing.receive_left = 100;
    assert_int_equal(b->ops->receive(b, &got, 1), 0);
    failing.receive_left = 0;
}

static void memory_that_cannot_be_read_is_an_error(void **state)
{
    void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t taken = 1;

    (void)state;
    assert_true(hole != MAP_FAILED);
    assert_int_equal(send_bytes(hole, 100, &taken), WEFT_ERR_ADDRESS);
    assert_int_equal(taken, 0);
    munmap(hole, 4096);
}

static void addresses_of_the_sixth_version_work(void **state)
{
    static const struct weft_net_address sixth = {
        .interface = "lo",
        .text = "::1",
        .prefix = 128,
    };
    struct weft_port_wishes wishes = make_wishes();
    struct weft_port_peer peer;
    struct weft_datagram got;
    struct weft_port *port;
    const struct iovec piece = {(void *)(uintptr_t) "six", 3};
    const struct weft_train train = {&piece, 1, 1, 3};
    uint32_t taken = 0;
    const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in6 at = {.sin6_family = AF_INET6,
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const bool is_there =
        fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;

    (void)state;
    if (fd >= 0) {
        close(fd);
    }
    if (!is_there) {
        skip();
    }
    wishes.own = &sixth;
    wishes.datagram_max = 0;
    port = open_with(&wishes);
    assert_int_equal(port->datagram_max, WEFT_PORT_MTU_MAX - 48);
    assert_int_equal(port->ops->accept_peer(port, &a->address, &peer),
                     WEFT_ERR_UNREACHABLE);
    assert_int_equal(port->ops->accept_peer(port, &port->address, &peer), WEFT_OK);
    assert_int_equal(port->ops->send(port, &peer, &train, &taken), WEFT_OK);
    assert_int_equal(await_some(port, &got, 1), 1);
    assert_true(port->ops->may_be_from(port, &got, &peer));
    assert_memory_equal(got.bytes, "six", 3);
    port->ops->close(port);
}

/* ---- libfabric ---- */

static void datagrams_that_cannot_be_injected_leave_from_slots(void **state)
{
    static struct made_train made;
    uint32_t taken = 0;

    (void)state;
    weft_fabric_port_of(a)->inject_max = 0;
    make_train(&made, 20, 512, 300);
    for (int i = 0; i < 40; i++) { /* more than there are slots */
        assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
        assert_int_equal(taken, 20);
        receive_train(&made, 300, BATCH);
    }
}

/* libfabric's udp has none, so that these bytes travel, too. */
static void the_provider_has_its_bytes_in_front(void **state)
{
    static struct made_train made;
    uint32_t taken = 0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct weft_fabric_port *fabric = weft_fabric_port_of(i == 0 ? a : b);

        fabric->prefix = 40;
        fabric->port.datagram_max = 1000;
        fabric->inject_max = 600;
    }
    make_train(&made, 20, 1000, 300);
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    receive_train(&made, 300, BATCH);
    make_train(&made, 20, 560, 300); /* as many as are injected */
    assert_int_equal(a->ops->send(a, &b_of_a, &made.train, &taken), WEFT_OK);
    receive_train(&made, 300, BATCH);
}

static void ports_of_two_kinds_do_not_reach_each_other(void **state)
{
    const struct weft_port_wishes wishes = make_wishes();
    struct weft_port *other = NULL;
    struct weft_port_peer peer;

    (void)state;
    assert_int_equal(weft_port_open_udp(&wishes, &other), WEFT_OK);
    assert_int_equal(other->ops->accept_peer(other, &a->address, &peer),
                     WEFT_ERR_UNREACHABLE);
    assert_int_equal(a->ops->accept_peer(a, &other->address, &peer),
                     WEFT_ERR_UNREACHABLE);
    other->ops->close(other);
}

static void a_provider_that_is_not_there_is_refused(void **state)
{
    struct weft_port_wishes wishes = make_wishes();
    struct weft_port *port = NULL;

    (void)state;
    wishes.provider = "nowhere";
    assert_int_equal(weft_port_open_fabric(&wishes, &port), WEFT_ERR_UNSUPPORTED);
    assert_null(port);
}

/* ---- neither ---- */

static void a_socket_is_taken_without_loading_libfabric(void **state)
{
    const struct weft_port_wishes wishes = make_wishes();
    struct weft_port *port = NULL;

    (void)state;
    unsetenv("FI_PROVIDER");
    assert_int_equal(weft_port_open(&wishes, &port), WEFT_OK);
    assert_string_equal(port->ops->name, "udp");
    assert_null(dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD));
    port->ops->close(port);
}

static void ports_are_those_of_the_setting(void **state)
{
    struct weft_net_ports ports;

    (void)state;
    setenv("WEFT_PORTS", "41000-41009", 1);
    assert_int_equal(weft_port_ports(3, &ports), WEFT_OK);
    assert_int_equal(ports.first, 41000);
    assert_int_equal(ports.last, 41009);
    assert_int_equal(ports.begin, 3);
    setenv("WEFT_PORTS", "many", 1);
    assert_int_equal(weft_port_ports(3, &ports), WEFT_ERR_ARGUMENT);
    unsetenv("WEFT_PORTS");
}

static void packets_are_as_wide_as_the_interface(void **state)
{
    (void)state;
    assert_int_equal(weft_port_payload("lo", false), WEFT_PORT_MTU_MAX - 28);
    assert_int_equal(weft_port_payload("lo", true), WEFT_PORT_MTU_MAX - 48);
    assert_int_equal(weft_port_payload("there is none", false), DATAGRAM);
}

static void a_datagram_costs_more_than_its_bytes(void **state)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in other = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(0xc0000201)};
    const uint32_t full = weft_port_buffer_cost((const void *)&at, sizeof(at), DATAGRAM);

    (void)state;
    assert_in_range(full, DATAGRAM + 256, 4096);
    assert_in_range(weft_port_buffer_cost((const void *)&at, sizeof(at), 8), 256, full);
    /* An address that this host does not have: a page for each packet. */
    assert_int_equal(weft_port_buffer_cost((const void *)&other, sizeof(other), DATAGRAM),
                     4352);
    assert_int_equal(weft_port_buffer_room(4 * 4352, 4352), 3);
    assert_int_equal(weft_port_buffer_room(1, 4352), 1);
}

#define FOR_EACH_KIND                                                                    \
    CASE(a_datagram_arrives_with_its_bytes_and_its_source),                              \
        CASE(the_longest_datagram_arrives), CASE(a_train_arrives_as_its_datagrams),      \
        CASE(pieces_may_be_empty), CASE(the_caller_says_how_many_it_takes),              \
        CASE(both_ends_may_send), CASE(as_many_as_have_room_are_not_lost),               \
        CASE(there_is_room_for_those_that_were_taken),                                   \
        CASE(what_finds_no_room_is_counted),                                             \
        CASE(what_is_empty_or_too_long_is_rejected),                                     \
        CASE(what_others_send_is_not_taken_for_a_peer_s),                                \
        CASE(a_peer_that_is_gone_is_no_error), CASE(a_datagram_wakes_who_sleeps),        \
        CASE(nobody_sleeps_over_what_was_read_and_not_given_out),                        \
        CASE(the_last_datagram_is_known), CASE(what_is_no_address_is_refused),           \
        CASE(the_shorter_of_two_limits_counts),                                          \
        CASE(a_port_of_the_range_is_taken_or_none),                                      \
        CASE(a_port_that_is_closed_leaves_nothing_open),                                 \
        CASE(a_pool_of_one_buffer_is_enough)

static enum weft_rc open_udp_of_libfabric(const struct weft_port_wishes *wishes,
                                          struct weft_port **out)
{
    struct weft_port_wishes wanted = *wishes;

    wanted.provider = "udp";
    return weft_port_open_fabric(&wanted, out);
}

int main(void)
{
    const struct CMUnitTest neither[] = {
        cmocka_unit_test(a_socket_is_taken_without_loading_libfabric),
        cmocka_unit_test(ports_are_those_of_the_setting),
        cmocka_unit_test(packets_are_as_wide_as_the_interface),
        cmocka_unit_test(a_datagram_costs_more_than_its_bytes),
    };
    const struct CMUnitTest udp[] = {
        FOR_EACH_KIND,
        CASE(trains_are_one_call_on_both_sides),
        CASE(trains_that_the_system_does_not_split_go_one_by_one),
        CASE(a_full_socket_or_queue_takes_nothing),
        CASE(a_train_may_be_taken_in_part),
        CASE(what_cannot_be_sent_is_taken_and_counted),
        CASE(the_end_of_an_earlier_peer_does_not_hold_up),
        CASE(memory_that_cannot_be_read_is_an_error),
        CASE(addresses_of_the_sixth_version_work),
    };
    const struct CMUnitTest fabric[] = {
        FOR_EACH_KIND,
        CASE(datagrams_that_cannot_be_injected_leave_from_slots),
        CASE(the_provider_has_its_bytes_in_front),
        CASE(ports_of_two_kinds_do_not_reach_each_other),
        CASE(a_provider_that_is_not_there_is_refused),
    };
    int failed;

    weft_log_set_limit(WEFT_LOG_NONE);
    failed = cmocka_run_group_tests_name("of no kind", neither, NULL, NULL);
    open_kind = weft_port_open_udp;
    failed += cmocka_run_group_tests_name("udp", udp, NULL, NULL);
    open_kind = open_udp_of_libfabric;
    failed += cmocka_run_group_tests_name("fabric", fabric, NULL, NULL);
    return failed;
}
