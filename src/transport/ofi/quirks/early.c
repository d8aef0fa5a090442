#include "transport/ofi/quirks/early.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/texts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
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

/* Has the user chosen no provider, or tcp? */
static bool is_open_to_tcp(void)
{
    const char *chosen = getenv("FI_PROVIDER");

    return chosen == NULL || strcmp(chosen, "tcp") == 0;
}

bool weft_early_may_defer(void)
{
    for (size_t i = 0; i < sizeof(hardware) / sizeof(hardware[0]); i++) {
        if (has_entries(hardware[i])) {
            return false;
        }
    }
    return is_open_to_tcp();
}

void weft_early_init(struct weft_early *early)
{
    *early = (struct weft_early){.pending = -1};
    for (int i = 0; i < WEFT_LISTENERS_MAX; i++) {
        early->listeners[i] = -1;
    }
}

static void prepare(int fd, const void *argument)
{
    const struct weft_early *early = argument;

    weft_filter_attach(fd, early->token);
}

static enum weft_rc take_port(struct weft_early *early,
                              const struct weft_net_address *own, int count,
                              int local_rank)
{
    struct weft_net_ports ports = {.begin = local_rank};

    if (!weft_net_read_ports(weft_setting_text(WEFT_SET_PORTS), &ports.first,
                             &ports.last)) {
        weft_log_error(WEFT_S_PORTS, weft_setting_text(WEFT_SET_PORTS));
        return WEFT_ERR_ARGUMENT;
    }
    early->port = weft_net_listen(own, count, &ports, prepare, early, early->listeners);
    if (early->port < 0) {
        weft_log_error(WEFT_S_LISTEN_PORTS, own[0].text,
                       count > 1 ? " and further addresses" : "", ports.first, ports.last,
                       strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    early->count = count;
    return WEFT_OK;
}

static enum weft_rc watch(struct weft_early *early)
{
    struct epoll_event event = {.events = EPOLLIN};
    bool is_good;

    early->pending = epoll_create1(EPOLL_CLOEXEC);
    is_good = early->pending >= 0;
    for (int i = 0; is_good && i < early->count; i++) {
        is_good =
            epoll_ctl(early->pending, EPOLL_CTL_ADD, early->listeners[i], &event) == 0;
    }
    if (!is_good) {
        weft_log_error(WEFT_S_WATCH, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

enum weft_rc weft_early_open(struct weft_early *early, const struct weft_net_address *own,
                             int count, int local_rank)
{
    enum weft_rc rc;

    if (getrandom(early->token, sizeof(early->token), 0) != sizeof(early->token)) {
        weft_log_error(WEFT_S_RANDOM, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    rc = take_port(early, own, count, local_rank);
    return rc == WEFT_OK ? watch(early) : rc;
}

void weft_early_end_waiting(struct weft_early *early)
{
    if (early->pending >= 0) {
        close(early->pending);
        early->pending = -1;
    }
}

void weft_early_close(struct weft_early *early)
{
    weft_early_end_waiting(early);
    for (int i = 0; i < WEFT_LISTENERS_MAX; i++) {
        if (early->listeners[i] >= 0) {
            close(early->listeners[i]);
            early->listeners[i] = -1;
        }
    }
    early->count = 0;
}

bool weft_early_is_pending(const struct weft_early *early)
{
    struct pollfd fds[WEFT_LISTENERS_MAX];

    for (int i = 0; i < early->count; i++) {
        fds[i] = (struct pollfd){.fd = early->listeners[i], .events = POLLIN};
    }
    return poll(fds, (nfds_t)early->count, 0) > 0;
}

bool weft_early_adopt(const struct weft_early *early, int which,
                      struct weft_descriptors *descriptors, struct fid_pep *listener)
{
    struct weft_socket_address address;
    int fd;

    if (!weft_socket_address_of(&listener->fid, &address)) {
        return false;
    }
    fd = weft_descriptors_find(descriptors, &address, NULL);
    return fd >= 0 && dup3(early->listeners[which], fd, O_CLOEXEC) == fd;
}
