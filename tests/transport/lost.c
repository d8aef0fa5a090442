/*
 * lost.c - cases for networks: the connection between ranks 0 and 1 breaks while another
 * stream between them is being made, and each of the two is told once of the loss, and
 * stays able to poll; or somebody else listens where rank 1 did.
 */
#include "suite.h"

#include "base/clock.h"
#include "base/settings.h"
#include "transport/ofi/msg/msg.h"

#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DESCRIPTORS = 1024,
    SOCKETS = 8,
    MAKING_NS = 100 * 1000 * 1000, /* time enough for a stream */
    AFTER_NS = 300 * 1000 * 1000,  /* in which nothing more is told */
};

struct sockets {
    int fds[SOCKETS];
    int count;
};

static bool is_connected(int fd)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof(address);

    return getpeername(fd, (struct sockaddr *)&address, &bytes) == 0 &&
           (address.ss_family == AF_INET || address.ss_family == AF_INET6);
}

static struct sockets find_sockets(void)
{
    struct sockets found = {.count = 0};

    for (int fd = 3; fd < DESCRIPTORS && found.count < SOCKETS; fd++) {
        if (is_connected(fd)) {
            found.fds[found.count++] = fd;
        }
    }
    return found;
}

static void break_sockets(const struct sockets *sockets)
{
    for (int i = 0; i < sockets->count; i++) {
        check(shutdown(sockets->fds[i], SHUT_RDWR) == 0);
    }
}

/* Looks at connections alone: packets, and the end of what brings them, go unnoticed. */
static void look_at_events(void)
{
    suite.ops->poll(suite.tp, 0);
    sched_yield();
}

static void look_at_events_for(uint64_t ns)
{
    const uint64_t until = weft_clock_ns() + ns;

    while (weft_clock_ns() < until) {
        look_at_events();
    }
}

static void progress_for(uint64_t ns)
{
    const uint64_t until = weft_clock_ns() + ns;

    while (weft_clock_ns() < until) {
        suite_progress();
    }
}

/* Closes the transport, and opens it once more. */
static void open_afresh(void)
{
    const char *name = suite.ops->name;

    suite_meet_quietly();
    suite_close();
    suite_meet_quietly();
    suite_open(name);
    suite_meet_quietly();
}

/* A new transport, that may lose peers. */
static void open_again(void)
{
    open_afresh();
    suite.lost = 0;
    suite.may_lose = true;
}

/* With the first stream between ranks 0 and 1. */
static void begin(void)
{
    open_again();
    if (suite.me < 2) {
        suite_send_word(1 - suite.me, 1);
        (void)suite_await_word(1 - suite.me);
    }
    suite_meet_quietly();
}

/* Both are told, once. */
static void end(void)
{
    while (suite.me < 2 && suite.lost == 0) {
        suite_progress();
    }
    progress_for(AFTER_NS);
    check(suite.lost == (suite.me < 2 ? 1 : 0));
    suite.may_lose = false;
    open_afresh();
}

static bool has_streams(void)
{
    return weft_setting(WEFT_SET_STREAMS) > 1;
}

/* Asks for a further stream to the other of ranks 0 and 1. */
static void ask_for_stream(void)
{
    for (int64_t i = 0; i < weft_setting(WEFT_SET_STREAMS); i++) {
        (void)suite.ops->next_path(suite.path[1 - suite.me]);
    }
}

static const struct weft_msg_peer *other(void)
{
    return weft_msg_stream_of(suite.path[1 - suite.me])->peer;
}

static void look_until_state(enum weft_msg_state state)
{
    while (other()->streams[1]->state != state) {
        look_at_events();
    }
}

/* Has this rank answered an ask for the stream? A rank that looks late may have accepted
 * the connection since, or lost it. */
static bool has_begun(const struct weft_msg_stream *stream)
{
    return stream != NULL && (stream->has_answered || stream->state != WEFT_MSG_NONE);
}

/* Rank 0 breaks the first stream, and knows that it is lost. */
static void break_first(const struct sockets *first)
{
    break_sockets(first);
    while (other()->first.state != WEFT_MSG_LOST) {
        suite_progress();
    }
}

/* The connection breaks when a further stream, which rank 0 has asked for, is made
 * halfway: rank 1 goes on with it. */
static void lose_in_state(enum weft_msg_state state)
{
    begin();
    if (suite.me == 0) {
        const struct sockets first = find_sockets();

        ask_for_stream();
        look_until_state(state);
        break_first(&first);
    } else if (suite.me == 1 && state == WEFT_MSG_CONFIRMING) {
        while (!has_begun(other()->streams[1])) {
            look_at_events();
        }
    }
    suite_meet_quietly();
    if (suite.me == 1) {
        look_at_events_for(MAKING_NS);
    }
    end();
}

void case_lost_with_pending_stream(void)
{
    if (has_streams()) {
        lose_in_state(WEFT_MSG_ASKING);
        lose_in_state(WEFT_MSG_CONFIRMING);
    }
}

/* Rank 0 has lost the connection; rank 1 does not know it yet, and asks for a stream. */
void case_lost_before_new_stream(void)
{
    if (!has_streams()) {
        return;
    }
    begin();
    if (suite.me == 0) {
        const struct sockets first = find_sockets();

        break_first(&first);
    }
    suite_meet_quietly();
    if (suite.me == 1) {
        ask_for_stream();
        look_at_events_for(MAKING_NS);
    }
    end();
}

/* ---- somebody else at the address of a rank ---- */

/* Where this rank would have listened, once it has closed its transport. */
static int listen_at(const char *text, int port)
{
    const int one = 1;
    struct sockaddr_storage at;
    socklen_t bytes;
    int fd;

    check(weft_net_address_of(text, port, &at, &bytes));
    fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0);
    check(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
    check(bind(fd, (const struct sockaddr *)&at, bytes) == 0);
    check(listen(fd, 1) == 0);
    return fd;
}

/* Accepts the first that asks, as libfabric's tcp does, and waits until it has gone. */
static void accept_one(int listener)
{
    const uint8_t yes[32] = {[0] = 3, [1] = 1, [24] = 1}; /* version, answer, order */
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    uint8_t request[512];

    check(fd >= 0);
    check(recv(fd, request, sizeof(request), 0) > 0);
    check(send(fd, yes, sizeof(yes), MSG_NOSIGNAL) == (ssize_t)sizeof(yes));
    check(recv(fd, request, sizeof(request), 0) <= 0); /* no packet comes */
    close(fd);
}

/* Rank 1 closes its transport, and somebody else accepts what is asked for there. */
static void be_replaced(void)
{
    const char *name = suite.ops->name;
    const struct weft_net_address own = suite.tp->own[0];
    const int port = suite.tp->quirks.early.port;
    int listener;

    suite_close();
    listener = listen_at(own.text, port);
    suite_meet_quietly();
    accept_one(listener);
    close(listener);
    suite_open(name);
}

/* Who accepts an ask, instead of proving that it knows the secret, gets nothing. Where
 * the network listens by itself, nobody can be put in its place. */
void case_impostor(void)
{
    if (strcmp(suite.ops->name, "msg") != 0 || !suite.tp->quirks.is_over_sockets) {
        return;
    }
    open_again();
    if (suite.me == 1) {
        be_replaced();
    } else {
        suite_meet_quietly();
        while (suite.me == 0 && suite.lost == 0) {
            check(suite_try(1, 10, 0) == WEFT_AGAIN);
            suite_progress();
        }
    }
    suite_meet_quietly();
    suite.may_lose = false;
    open_afresh();
}
