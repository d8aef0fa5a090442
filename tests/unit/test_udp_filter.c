/*
 * test_udp_filter.c - what the kernel lets through to a socket for datagrams
 * (transport/dgram/udp_filter.c), over the loopback of both versions of IP.
 *
 * A stranger sends what is not of the job, and then a peer what is. The loopback keeps
 * the order of one receiver, so what the port gives out tells what was let through.
 */
#include "unit.h"

#include "base/process.h"
#include "transport/dgram/udp.h"
#include "transport/dgram/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <unistd.h>

enum {
    JOB = 0x8a41c3f5,
    RANK = 7,
    FIRST = 41000,
    LAST = 41999,
    PATIENCE_MS = 20000,
    HEADER = sizeof(struct weft_dgram_header),
    LONG = 1000,
    TRAIN = 10,
};

static const struct weft_net_address loopbacks[] = {
    {.interface = "lo", .text = "127.0.0.1", .prefix = 8},
    {.interface = "lo", .text = "::1", .prefix = 128},
};

static bool is_refused; /* the kernel takes no filter */
static struct weft_port *port;
static struct weft_port_peer self; /* the port, as one of its peers sees it */
static int stranger;

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes);

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
    if (is_refused && name == SO_ATTACH_FILTER) {
        errno = EPERM;
        return -1;
    }
    return __real_setsockopt(fd, level, name, value, bytes);
}

/* False: this machine does not have that version of IP. */
static bool open_port(const struct weft_net_address *at)
{
    const struct weft_port_wishes wishes = {
        .own = at,
        .ports = {.first = FIRST, .last = LAST, .begin = (int)getpid()},
        .job = JOB,
    };

    port = NULL;
    if (weft_port_open_udp(&wishes, &port) != WEFT_OK) {
        return false;
    }
    assert_int_equal(port->ops->accept_peer(port, &port->address, &self), WEFT_OK);
    stranger = socket(self.to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(stranger >= 0);
    return true;
}

static void close_port(void)
{
    close(stranger);
    port->ops->close(port);
}

static void send_as_stranger(const void *bytes, size_t length)
{
    const socklen_t all =
        self.to.any.sa_family == AF_INET6 ? sizeof(self.to.six) : sizeof(self.to.four);

    assert_int_equal(sendto(stranger, bytes, length, 0, &self.to.any, all), length);
}

static struct weft_dgram_header header_of(uint32_t job, uint32_t rank)
{
    return (struct weft_dgram_header){
        .process = weft_process(job, rank),
        .number = 42,
        .version = weft_dgram_version(),
        .kind = WEFT_DGRAM_ORDERED,
    };
}

/* As many datagrams as come up to the one with the number 43, and that one, too. */
static int count_up_to_last(void)
{
    struct pollfd look = {.fd = port->fd, .events = POLLIN};
    struct weft_dgram_header header;
    int count = 0;

    for (;;) {
        struct weft_datagram got;

        if (port->ops->receive(port, &got, 1) == 0) {
            assert_int_equal(poll(&look, 1, PATIENCE_MS), 1);
            continue;
        }
        count++;
        memset(&header, 0, sizeof(header));
        memcpy(&header, got.bytes, got.length < HEADER ? got.length : HEADER);
        if (header.number == 43) {
            return count;
        }
    }
}

/* What is of another job, of another version, or shorter than a header. */
static int send_what_is_not_of_the_job(void)
{
    static const uint32_t jobs[] = {JOB + 1, JOB - 1,    JOB ^ 0x80000000,
                                    0,       0xf5c3418a, 0xffffffff};
    struct weft_dgram_header header;
    int count = 0;

    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++, count++) {
        header = header_of(jobs[i], JOB); /* the right number in the wrong place */
        send_as_stranger(&header, sizeof(header));
    }
    for (int bit = 0; bit < 8; bit++, count++) {
        header = header_of(JOB, RANK);
        header.version ^= (uint8_t)(1 << bit);
        send_as_stranger(&header, sizeof(header));
    }
    header = header_of(JOB, RANK);
    for (size_t length = 1; length < sizeof(header); length++, count++) {
        send_as_stranger(&header, length);
    }
    return count;
}

static void send_last(void)
{
    struct weft_dgram_header header = header_of(JOB, RANK);

    header.number = 43;
    send_as_stranger(&header, sizeof(header));
}

static void only_datagrams_of_the_job_come(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        if (!open_port(&loopbacks[i])) {
            continue;
        }
        (void)send_what_is_not_of_the_job();
        send_as_stranger("", 0);
        send_last();
        assert_int_equal(count_up_to_last(), 1);
        assert_int_equal(port->counts.rejected, 0);
        close_port();
    }
}

static void they_wake_nobody(void **state)
{
    struct pollfd look = {.events = POLLIN};

    (void)state;
    assert_true(open_port(&loopbacks[0]));
    look.fd = port->fd;
    assert_int_equal(port->ops->arm(port), WEFT_OK);
    (void)send_what_is_not_of_the_job();
    assert_int_equal(poll(&look, 1, 0), 0);
    assert_int_equal(port->ops->arm(port), WEFT_OK);
    send_last();
    assert_int_equal(poll(&look, 1, PATIENCE_MS), 1);
    assert_int_equal(count_up_to_last(), 1);
    close_port();
}

/* The ranks of the job differ, and long ones come as trains. */
static void all_datagrams_of_the_job_come(void **state)
{
    static uint8_t bytes[TRAIN][LONG];
    struct iovec pieces[TRAIN];
    const struct weft_train train = {pieces, TRAIN, TRAIN, LONG};
    uint32_t taken = 0;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        if (!open_port(&loopbacks[i])) {
            continue;
        }
        for (uint32_t j = 0; j < TRAIN; j++) {
            const struct weft_dgram_header header = header_of(JOB, j * 1000003);

            memcpy(bytes[j], &header, sizeof(header));
            pieces[j] = (struct iovec){bytes[j], LONG};
        }
        assert_int_equal(port->ops->send(port, &self, &train, &taken), WEFT_OK);
        assert_int_equal(taken, TRAIN);
        send_last();
        assert_int_equal(count_up_to_last(), TRAIN + 1);
        close_port();
    }
}

static void without_a_filter_everything_comes(void **state)
{
    int count;

    (void)state;
    is_refused = true;
    assert_true(open_port(&loopbacks[0]));
    is_refused = false;
    count = send_what_is_not_of_the_job();
    send_last();
    assert_int_equal(count_up_to_last(), count + 1);
    close_port();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_datagrams_of_the_job_come),
        cmocka_unit_test(they_wake_nobody),
        cmocka_unit_test(all_datagrams_of_the_job_come),
        cmocka_unit_test(without_a_filter_everything_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
