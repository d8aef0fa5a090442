/*
 * lost.c - cases for networks: the connection between ranks 0 and 1 breaks while another
 * stream between them is being made. Each of the two is told once of the loss, and stays
 * able to poll.
 */
#include "suite.h"

#include "base/clock.h"
#include "base/settings.h"
#include "transport/ofi/msg/msg.h"

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

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

/* A new transport, with the first stream between ranks 0 and 1. */
static void begin(void)
{
    const char *name = suite.ops->name;

    suite_meet_quietly();
    suite_close();
    suite_meet_quietly();
    suite_open(name);
    suite_meet_quietly();
    suite.lost = 0;
    suite.may_lose = true;
    if (suite.me < 2) {
        suite_send_word(1 - suite.me, 1);
        (void)suite_await_word(1 - suite.me);
    }
    suite_meet_quietly();
}

/* Both are told, once. */
static void end(void)
{
    const char *name = suite.ops->name;

    while (suite.me < 2 && suite.lost == 0) {
        suite_progress();
    }
    progress_for(AFTER_NS);
    check(suite.lost == (suite.me < 2 ? 1 : 0));
    suite_meet_quietly();
    suite_close();
    suite.may_lose = false;
    suite_meet_quietly();
    suite_open(name);
    suite_meet_quietly();
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
        while (other()->streams[1] == NULL || !other()->streams[1]->has_answered) {
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
