/*
 * strangers.c - who connects to our port and is not of the job.
 *
 * The kernel turns strangers away for us. A rank draws a random token and publishes it
 * with its address; a request to connect begins with the token of the rank that is asked.
 * Our listening sockets have a packet filter (BPF), which their connections inherit: it
 * drops what is not the beginning of a connection, its reset, or one whole request with
 * our token. A connection is complete for the kernel when its third packet arrives, and
 * the first that passes is the request. So a stranger without the token, whatever it
 * sends, is never accepted: it costs no descriptor, does not wake us, and the kernel
 * forgets it after a minute. If more strangers wait than the kernel remembers, it answers
 * with cookies, and peers connect all the same. A request is there as a whole when it is
 * read, so that the read cannot block; libfabric's tcp reads from a socket that does.
 *
 * The token is no proof, as it can be recorded from the network: the handshake that
 * follows is (handshake.h). The filter is taken off a connection when its request has
 * been read.
 *
 * Where the kernel takes no filter, three properties do a part of its work, which
 * connections inherit as well: TCP_DEFER_ACCEPT (what has brought no data within half a
 * minute is not accepted), SO_RCVTIMEO (a read that waits gives up), and SO_RCVLOWAT
 * (less than the shortest request is nothing to read). The last is a mark, too: it is
 * taken off together with the filter, so that who still has it is known to have asked for
 * nothing yet. Such connections are ended when they are some seconds old, and the oldest
 * first as soon as there are more than WEFT_MSG_UNKNOWN_MOST, by shutting them down,
 * which the provider takes for their end. What they send makes no difference.
 *
 * When the process has no descriptor left, a connection that waits could not be accepted,
 * and would keep the listener ready and us awake. We keep one descriptor in reserve, by
 * which such connections are accepted and closed at once; a peer asks again.
 *
 * The list of our descriptors stays open, so that it can be read when none is left.
 * Providers that are not over sockets have nothing that this would find.
 */
#include "transport/ofi/msg/msg.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_US = 1000, /* a read that waits all the same, where there is no filter */
    DEFER_SECONDS = 30,
    SWEEP_NS = 1000 * 1000 * 1000,
    ENDINGS = 10,
    TCP_HEAD = 32, /* in front of a request's data, of libfabric's tcp */
    TCP_VERSION = 3,
    REQUEST_LEAST = TCP_HEAD + WEFT_MSG_TOKEN_BYTES,
};

static const uint64_t PATIENCE_NS = UINT64_C(5000000000);

void weft_msg_count_rejected(struct weft_transport *tp, const char *why)
{
    if (tp->rejected++ == 0) {
        weft_log_warn("somebody who is not of this job tries to connect (%s); refused, "
                      "as will be others",
                      why);
    }
}

/* ---- what the kernel does ---- */

static uint32_t word_of(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           (uint32_t)bytes[3];
}

/*
 * Lets the packets pass that begin a connection or reset it, and those that are one whole
 * request of libfabric's tcp: a head with its version, type 0 and the length of what
 * follows, then our token. A packet begins with the header of TCP. If something is read
 * beyond its end, it is dropped, too.
 */
static bool attach_filter(int fd, const uint8_t token[WEFT_MSG_TOKEN_BYTES])
{
    enum { HEADER, DATA, SYN = 2, RST = 4 }; /* where lengths are kept; flags */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SYN | RST, 19, 0),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 12), /* the length of TCP's header, in words */
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
        BPF_STMT(BPF_ST, HEADER),
        BPF_STMT(BPF_LDX | BPF_MEM, HEADER),
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
        BPF_STMT(BPF_ST, DATA),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), /* version, type, length of the data */
        BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, (uint32_t)TCP_VERSION << 24),
        BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, TCP_HEAD),
        BPF_STMT(BPF_LDX | BPF_MEM, DATA),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 5),
        BPF_STMT(BPF_LDX | BPF_MEM, HEADER),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, TCP_HEAD),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_of(token), 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, TCP_HEAD + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_of(token + 4), 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]),
                                       .filter = code};

    _Static_assert(WEFT_MSG_TOKEN_BYTES == 8, "the filter compares two words");
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

/* All of these only make strangers cheaper: what the kernel refuses is done without. */
void weft_msg_guard(const struct weft_transport *tp, int fd)
{
    const struct timeval patience = {.tv_usec = READ_US};
    const int least = REQUEST_LEAST;
    const int seconds = DEFER_SECONDS;

    if (!attach_filter(fd, tp->token)) {
        weft_log_info("no packet filter where we listen: %s", strerror(errno));
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

static int get_option(int fd, int option)
{
    int value = -1;
    socklen_t bytes = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

/* A connection that was accepted, and whose request has not been read. */
static bool is_unknown(int fd)
{
    return get_option(fd, SO_ACCEPTCONN) == 0 &&
           get_option(fd, SO_RCVLOWAT) == REQUEST_LEAST;
}

bool weft_msg_unfilter(struct weft_transport *tp, const struct fid *listener,
                       const struct fi_info *info)
{
    const int least = 1;
    const int none = 0;
    struct weft_msg_place at;
    struct weft_msg_place peer = {.at.ss_family = AF_UNSPEC};
    int fd;

    if (!tp->is_over_sockets) {
        return true;
    }
    if (!weft_msg_place_of((struct fid *)(uintptr_t)listener, &at) ||
        info->dest_addr == NULL || info->dest_addrlen > sizeof(peer.at)) {
        return false;
    }
    memcpy(&peer.at, info->dest_addr, info->dest_addrlen);
    fd = weft_msg_find_socket(tp, &at, &peer);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) != 0) {
        return false;
    }
    weft_msg_close_on_exec(fd);
    return setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none)) == 0 ||
           errno == ENOENT; /* none was attached */
}

/* ---- those that were accepted all the same ---- */

static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t bytes = sizeof(cookie);

    (void)getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &bytes);
    return cookie;
}

static void end(struct weft_transport *tp, int fd)
{
    weft_msg_count_rejected(tp, "it says nothing that we know");
    (void)shutdown(fd, SHUT_RDWR);
}

/* When a connection was first seen; now, if it is new. */
static uint64_t first_seen(const struct weft_msg_unknowns *before, uint64_t cookie,
                           uint64_t now)
{
    for (int i = 0; i < before->count; i++) {
        if (before->all[i].cookie == cookie) {
            return before->all[i].since_ns;
        }
    }
    return now;
}

static void see(struct weft_transport *tp, int fd)
{
    struct weft_msg_unknowns *seen = &tp->unknowns_seen;
    const uint64_t cookie = is_unknown(fd) ? cookie_of(fd) : 0;
    const uint64_t now = tp->swept_at_ns;
    const uint64_t since = first_seen(&tp->unknowns, cookie, now);

    if (cookie == 0) {
        return;
    }
    if (seen->count == WEFT_MSG_UNKNOWN_ROOM || now - since >= PATIENCE_NS) {
        end(tp, fd);
        return;
    }
    seen->all[seen->count++] =
        (struct weft_msg_unknown){.fd = fd, .cookie = cookie, .since_ns = since};
}

static int youngest_first(const void *a, const void *b)
{
    const struct weft_msg_unknown *x = a;
    const struct weft_msg_unknown *y = b;

    return x->since_ns > y->since_ns ? -1 : x->since_ns < y->since_ns;
}

static void sweep(struct weft_transport *tp)
{
    struct weft_msg_unknowns *seen = &tp->unknowns_seen;

    tp->swept_at_ns = weft_clock_ns();
    tp->looks_since = 0;
    seen->count = 0;
    weft_msg_for_all_sockets(tp, see);
    qsort(seen->all, (size_t)seen->count, sizeof(seen->all[0]), youngest_first);
    while (seen->count > WEFT_MSG_UNKNOWN_MOST) {
        end(tp, seen->all[--seen->count].fd);
    }
    tp->unknowns = *seen;
}

/* ---- no descriptor left ---- */

static int reserve(const struct weft_transport *tp)
{
    return fcntl(tp->doors[0], F_DUPFD_CLOEXEC, 0);
}

/* Closes what waits to be accepted. */
static void turn_away(struct weft_transport *tp)
{
    for (int i = 0; i < tp->own_count; i++) {
        for (int fd; (fd = accept4(tp->doors[i], NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
            close(fd);
        }
    }
}

/* Somebody waits to be accepted: is there a descriptor for it? */
static void look_for_exhaustion(struct weft_transport *tp)
{
    const int one = reserve(tp);

    tp->next_accepted = one; /* the lowest that is free */
    if (one >= 0 && tp->reserved < 0) {
        tp->reserved = one;
    } else if (one >= 0) {
        close(one);
    } else if (tp->reserved >= 0) {
        if (!tp->has_exhausted) {
            tp->has_exhausted = true;
            weft_log_warn("no descriptor is left for a connection (ulimit -n): those who "
                          "connect are turned away and ask again");
        }
        close(tp->reserved);
        turn_away(tp);
        tp->reserved = reserve(tp);
    }
}

void weft_msg_keep_reserve(struct weft_transport *tp)
{
    tp->reserved = reserve(tp);
}

void weft_msg_watch_listeners(struct weft_transport *tp)
{
    if (!tp->is_over_sockets) {
        return;
    }
    if (weft_msg_is_knocked(tp)) {
        tp->looks_since++;
        look_for_exhaustion(tp);
    }
    if (tp->looks_since >= WEFT_MSG_LOOKS_MOST ||
        weft_clock_ns() - tp->swept_at_ns >= SWEEP_NS) {
        sweep(tp);
    }
}

/* The provider may have accepted: our children do not inherit it. */
void weft_msg_has_accepted(struct weft_transport *tp)
{
    const int first = tp->next_accepted;

    for (int fd = first; first >= 0 && fd < first + 2 * WEFT_MSG_LISTENERS; fd++) {
        if (is_unknown(fd)) {
            weft_msg_close_on_exec(fd);
        }
    }
    tp->next_accepted = -1;
}

/* ---- the end ---- */

static void end_unknown(struct weft_transport *tp, int fd)
{
    if (is_unknown(fd)) {
        (void)shutdown(fd, SHUT_RDWR);
        tp->ended++;
    }
}

/* The provider would forget those who are about to ask, and their descriptors with them;
 * what has ended it closes. */
void weft_msg_unguard(struct weft_transport *tp)
{
    for (int i = 0; tp->is_up && tp->is_over_sockets && i < ENDINGS; i++) {
        const int count = weft_msg_handle_events(tp); /* it accepts further ones */

        tp->ended = 0;
        weft_msg_for_all_sockets(tp, end_unknown);
        if (tp->ended + count == 0) {
            break;
        }
    }
    if (tp->reserved >= 0) {
        close(tp->reserved);
        tp->reserved = -1;
    }
    if (tp->all_descriptors != NULL) {
        closedir(tp->all_descriptors);
        tp->all_descriptors = NULL;
    }
}
