/*
 * door.c - ports that are ours before libfabric is there.
 *
 * Loading libfabric and asking what it offers takes a third of a second, a tenth of it
 * processor time in every rank (docs/engine.md, 0), and many ranks never speak to another
 * node. So a rank begins with plain sockets, its doors, that listen where it will listen
 * itself. It opens the network when it wants to speak, or when somebody knocks: has asked
 * for a connection and knows our token. The kernel turns others away (strangers.c).
 * Whoever knocks with a recorded token achieves that libfabric comes up, and no more.
 *
 * The doors stay for the whole job. libfabric makes a socket of its own to listen at, at
 * any port; before it listens, the door is laid under its descriptor. So the port is
 * never free for others in between, and who has knocked is accepted.
 *
 * A rank has one port for all its addresses, so that WEFT_PORTS is a number of ranks.
 *
 * Knocking works where the provider connects by sockets. With other hardware in the
 * machine, or a provider chosen by the user, the network is opened at once. A provider
 * with ports of its own leaves the doors standing, and nobody is let in by them.
 */
#include "transport/ofi/msg/msg.h"

#include "base/log.h"
#include "base/settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where the kernel lists devices that libfabric would reach past the sockets. */
static const char *const hardware[] = {"/sys/class/infiniband", "/sys/class/cxi",
                                       "/sys/class/hfi1"};

static bool has_entries(const char *folder)
{
    DIR *all = opendir(folder);
    bool has = false;

    if (all != NULL) {
        for (const struct dirent *entry; !has && (entry = readdir(all)) != NULL;) {
            has = entry->d_name[0] != '.';
        }
        closedir(all);
    }
    return has;
}

bool weft_msg_may_defer(void)
{
    const char *chosen = getenv("FI_PROVIDER");

    for (size_t i = 0; i < sizeof(hardware) / sizeof(hardware[0]); i++) {
        if (has_entries(hardware[i])) {
            return false;
        }
    }
    return chosen == NULL || strcmp(chosen, "tcp") == 0;
}

static void guard(int fd, const void *argument)
{
    weft_msg_guard(argument, fd);
}

/* At a port of the range; ranks of a host begin at different ones. */
static enum weft_rc take_port(struct weft_transport *tp)
{
    struct weft_net_ports ports = {.begin = tp->job->who.local_rank};

    if (!weft_net_read_ports(weft_setting_text(WEFT_SET_PORTS), &ports.first,
                             &ports.last)) {
        weft_log_error("WEFT_PORTS=%s is no range of ports",
                       weft_setting_text(WEFT_SET_PORTS));
        return WEFT_ERR_ARGUMENT;
    }
    tp->port = weft_net_listen(tp->own, tp->own_count, &ports, guard, tp, tp->doors);
    if (tp->port < 0) {
        weft_log_error("cannot listen at %s%s, ports %d to %d (WEFT_PORTS): %s",
                       tp->own[0].text, tp->own_count > 1 ? " and further addresses" : "",
                       ports.first, ports.last, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

static enum weft_rc watch_doors(struct weft_transport *tp)
{
    struct epoll_event event = {.events = EPOLLIN};

    bool is_good;

    tp->knocks = epoll_create1(EPOLL_CLOEXEC);
    is_good = tp->knocks >= 0;
    for (int i = 0; is_good && i < tp->own_count; i++) {
        is_good = epoll_ctl(tp->knocks, EPOLL_CTL_ADD, tp->doors[i], &event) == 0;
    }
    if (!is_good) {
        weft_log_error("watch for connections: %s", strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

enum weft_rc weft_msg_open_doors(struct weft_transport *tp)
{
    enum weft_rc rc;

    if (getrandom(tp->token, sizeof(tp->token), 0) != sizeof(tp->token)) {
        weft_log_error("no random numbers: %s", strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    rc = take_port(tp);
    return rc == WEFT_OK ? watch_doors(tp) : rc;
}

bool weft_msg_is_knocked(const struct weft_transport *tp)
{
    struct pollfd fds[WEFT_MSG_LISTENERS];

    for (int i = 0; i < tp->own_count; i++) {
        fds[i] = (struct pollfd){.fd = tp->doors[i], .events = POLLIN};
    }
    return poll(fds, (nfds_t)tp->own_count, 0) > 0;
}

bool weft_msg_lay_under(struct weft_transport *tp, int which, struct fid_pep *listener)
{
    struct weft_msg_place place;
    int fd;

    if (!weft_msg_place_of(&listener->fid, &place)) {
        return false;
    }
    fd = weft_msg_find_socket(tp, &place, NULL);
    return fd >= 0 && dup3(tp->doors[which], fd, O_CLOEXEC) == fd;
}

void weft_msg_close_doors(struct weft_transport *tp)
{
    weft_msg_end_knocks(tp);
    for (int i = 0; i < WEFT_MSG_LISTENERS; i++) {
        if (tp->doors[i] >= 0) {
            close(tp->doors[i]);
            tp->doors[i] = -1;
        }
    }
}

void weft_msg_end_knocks(struct weft_transport *tp)
{
    if (tp->knocks >= 0) {
        close(tp->knocks);
        tp->knocks = -1;
    }
}
