/*
 * door.c - ports that are ours before libfabric is there.
 *
 * Loading libfabric and asking what it offers takes a third of a second, a tenth of it
 * processor time in every rank (docs/engine.md, 0), and many ranks never speak to another
 * node. So a rank begins with plain sockets, its doors, that listen where it will listen
 * itself. It opens the network when it wants to speak, or when somebody knocks, which is
 * any attempt to connect: those at the door are turned away then, and ask again
 * (connect.c). Whoever knocks without being of the job has achieved that, and no more.
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
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
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

/*
 * A port is given from hand to hand: the door is shut before libfabric can listen there.
 * So that no other rank takes it in between, whoever wants a port first takes its name,
 * an abstract socket's, which exists in the same network namespace and ends with us.
 */
static int take_name(int port)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int used =
        snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "weft-port-%d", port);
    const socklen_t bytes =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)used);

    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, bytes) != 0) {
        const int cause = errno;

        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

/* Listens at an address; -1, and errno says why. */
static int listen_at(const char *text, int port)
{
    const int is_reused = 1; /* what is left of another job's connections is no matter */
    struct sockaddr_storage at;
    socklen_t bytes;
    int fd;

    if (!weft_net_address_of(text, port, &at, &bytes)) {
        errno = EINVAL;
        return -1;
    }
    fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &is_reused, sizeof(is_reused)) != 0 ||
         bind(fd, (const struct sockaddr *)&at, bytes) != 0 ||
         listen(fd, SOMAXCONN) != 0)) {
        const int cause = errno;

        close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

static bool try_door(struct weft_transport *tp, int which, int port)
{
    tp->names[which] = take_name(port);
    if (tp->names[which] < 0) {
        return false;
    }
    tp->doors[which] = listen_at(tp->own[which].text, port);
    if (tp->doors[which] < 0) {
        const int cause = errno;

        close(tp->names[which]);
        tp->names[which] = -1;
        errno = cause;
        return false;
    }
    tp->ports[which] = port;
    return true;
}

/* At a port of the range; ranks of a host begin at different ones. */
static enum weft_rc open_door(struct weft_transport *tp, int which)
{
    struct epoll_event event = {.events = EPOLLIN};
    int first = 0;
    int last = -1;

    if (!weft_net_read_ports(weft_setting_text(WEFT_SET_PORTS), &first, &last)) {
        weft_log_error("WEFT_PORTS=%s is no range of ports",
                       weft_setting_text(WEFT_SET_PORTS));
        return WEFT_ERR_ARGUMENT;
    }
    errno = EADDRINUSE;
    for (int i = 0; i <= last - first && errno == EADDRINUSE; i++) {
        if (try_door(tp, which,
                     first + (tp->job->who.local_rank + i) % (last - first + 1))) {
            return epoll_ctl(tp->knocks, EPOLL_CTL_ADD, tp->doors[which], &event) == 0
                       ? WEFT_OK
                       : WEFT_ERR_SYSTEM;
        }
    }
    weft_log_error("cannot listen at %s, ports %d to %d (WEFT_PORTS): %s",
                   tp->own[which].text, first, last, strerror(errno));
    return WEFT_ERR_SYSTEM;
}

enum weft_rc weft_msg_open_doors(struct weft_transport *tp)
{
    enum weft_rc rc = WEFT_OK;

    tp->knocks = epoll_create1(EPOLL_CLOEXEC);
    if (tp->knocks < 0) {
        return WEFT_ERR_SYSTEM;
    }
    for (int i = 0; i < tp->own_count && rc == WEFT_OK; i++) {
        rc = open_door(tp, i);
    }
    return rc;
}

bool weft_msg_is_knocked(const struct weft_transport *tp)
{
    struct epoll_event event;

    return tp->knocks >= 0 && epoll_wait(tp->knocks, &event, 1, 0) > 0;
}

void weft_msg_close_door(struct weft_transport *tp, int which)
{
    if (tp->doors[which] >= 0) {
        close(tp->doors[which]);
        tp->doors[which] = -1;
    }
}

void weft_msg_close_doors(struct weft_transport *tp)
{
    weft_msg_end_knocks(tp);
    for (int i = 0; i < WEFT_MSG_LISTENERS; i++) {
        weft_msg_close_door(tp, i);
        if (tp->names[i] >= 0) {
            close(tp->names[i]);
            tp->names[i] = -1;
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
