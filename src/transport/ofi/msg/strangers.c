/*
 * strangers.c - who connects to our port and is not of the job.
 *
 * Whoever sends something is answered by the handshake, or dropped by the provider. Who
 * says nothing is not seen by us: the provider has accepted the connection, waits for a
 * request and gives no handle for it. Two things would hurt with libfabric's tcp: such
 * connections add up, each a descriptor, and a request of which only the first half comes
 * blocks the read of the second, and with it the process. So we look at the sockets
 * themselves, which are known by the address that they share with the listener:
 *
 *   - a read that waits gives up after a millisecond, a property that connections inherit
 *     from the listener's socket;
 *   - a connection that has been silent for some seconds and has brought less than any
 *     request is shut down, which the provider takes for its end.
 *
 * The list of our descriptors stays open, so that it can be read when none is left.
 * Between two looks a stranger can take as many as the process has; then
 * connections that exist go on, and new ones wait until the next look has freed some.
 * Providers that are not over sockets have nothing that this would find.
 */
#include "transport/ofi/msg/msg.h"

#include "base/clock.h"
#include "base/log.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_US = 1000,
    SILENCE_MS = 5000,
    SWEEP_NS = 1000 * 1000 * 1000,
    ENDINGS = 10,
    /* tcp's own header, and a confirm */
    REQUEST_LEAST = 32 + WEFT_CONFIRM_PREFIX + WEFT_CONFIRM_BYTES,
};

void weft_msg_count_stranger(struct weft_transport *tp, const char *why)
{
    if (tp->strangers++ == 0) {
        weft_log_warn("somebody who is not of this job tries to connect (%s); refused, "
                      "as will be others",
                      why);
    }
}

/* Where somebody listens, or a socket is. */
struct place {
    struct sockaddr_storage at;
    socklen_t bytes;
};

static bool is_same(const struct place *a, const struct place *b)
{
    const struct sockaddr_in *a4 = (const void *)&a->at;
    const struct sockaddr_in *b4 = (const void *)&b->at;
    const struct sockaddr_in6 *a6 = (const void *)&a->at;
    const struct sockaddr_in6 *b6 = (const void *)&b->at;

    if (a->at.ss_family != b->at.ss_family) {
        return false;
    }
    if (a->at.ss_family == AF_INET) {
        return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    }
    return a->at.ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port &&
           memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

static bool find_listener(const struct fid_pep *listener, struct place *out)
{
    size_t bytes = sizeof(out->at);

    memset(out, 0, sizeof(*out));
    return fi_getname((struct fid *)(uintptr_t)&listener->fid, &out->at, &bytes) == 0;
}

static bool find_socket(int fd, struct place *out)
{
    memset(out, 0, sizeof(*out));
    out->bytes = sizeof(out->at);
    return getsockname(fd, (struct sockaddr *)&out->at, &out->bytes) == 0;
}

static bool is_listening(int fd)
{
    int is = 0;
    socklen_t bytes = sizeof(is);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &bytes) == 0 && is != 0;
}

static bool is_silent(int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
           bytes > offsetof(struct tcp_info, tcpi_bytes_received) &&
           info.tcpi_bytes_received < REQUEST_LEAST &&
           info.tcpi_last_data_recv >= SILENCE_MS;
}

/* The next descriptor of this process, or -1. */
static int next_descriptor(DIR *all)
{
    const struct dirent *entry;

    do {
        entry = readdir(all);
    } while (entry != NULL && entry->d_name[0] == '.');
    return entry == NULL ? -1 : atoi(entry->d_name);
}

/* Calls for every socket at one of our addresses, the listeners' own included; returns
 * for how many of them that was true. */
static int for_all_sockets(struct weft_transport *tp,
                           bool (*call)(struct weft_transport *tp, int fd))
{
    struct place ours[WEFT_MSG_LISTENERS];
    int count = 0;

    for (int i = 0; i < tp->listener_count; i++) {
        (void)find_listener(tp->listeners[i], &ours[i]); /* else it is like no socket's */
    }
    rewinddir(tp->all_descriptors);
    for (int fd; (fd = next_descriptor(tp->all_descriptors)) >= 0;) {
        struct place place;

        for (int i = 0; find_socket(fd, &place) && i < tp->listener_count; i++) {
            if (is_same(&place, &ours[i])) {
                count += call(tp, fd) ? 1 : 0;
                break;
            }
        }
    }
    return count;
}

static bool guard_one(struct weft_transport *tp, int fd)
{
    const struct timeval patience = {.tv_usec = READ_US};

    (void)tp;
    if (is_listening(fd)) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    }
    return true;
}

void weft_msg_guard(struct weft_transport *tp)
{
    tp->all_descriptors = opendir("/proc/self/fd");
    if (tp->all_descriptors != NULL) {
        (void)for_all_sockets(tp, guard_one);
    }
}

static bool end_one(struct weft_transport *tp, int fd)
{
    (void)tp;
    return !is_listening(fd) && shutdown(fd, SHUT_RDWR) == 0;
}

/* The provider would forget those who are about to ask, and their descriptors with them;
 * what has ended it closes. */
void weft_msg_unguard(struct weft_transport *tp)
{
    if (tp->all_descriptors != NULL) {
        for (int i = 0; i < ENDINGS; i++) { /* it accepts further ones meanwhile */
            const int count = weft_msg_handle_events(tp);

            if (for_all_sockets(tp, end_one) + count == 0) {
                break;
            }
        }
        closedir(tp->all_descriptors);
        tp->all_descriptors = NULL;
    }
}

static bool sweep_one(struct weft_transport *tp, int fd)
{
    const bool is_to_end = !is_listening(fd) && is_silent(fd);

    if (is_to_end) {
        weft_msg_count_stranger(tp, "it says nothing");
        shutdown(fd, SHUT_RDWR);
    }
    return is_to_end;
}

void weft_msg_sweep(struct weft_transport *tp)
{
    const uint64_t now = weft_clock_ns();

    if (now >= tp->sweep_at_ns && tp->all_descriptors != NULL) {
        tp->sweep_at_ns = now + SWEEP_NS;
        (void)for_all_sockets(tp, sweep_one);
    }
}
