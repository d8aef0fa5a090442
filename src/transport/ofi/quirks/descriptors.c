#include "transport/ofi/quirks/descriptors.h"

#include "base/log.h"
#include "base/texts.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/fi_cm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEAR = 16 }; /* numbers from the last one on that are tried first */

enum weft_rc weft_descriptors_open(struct weft_descriptors *d)
{
    d->all = opendir("/proc/self/fd");
    if (d->all == NULL) {
        weft_log_error(WEFT_S_DESCRIPTORS, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

void weft_descriptors_close(struct weft_descriptors *d)
{
    if (d->all != NULL) {
        closedir(d->all);
        d->all = NULL;
    }
    d->listener_count = 0;
}

static bool is_same(const struct weft_socket_address *a,
                    const struct weft_socket_address *b)
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

bool weft_socket_address_of(struct fid *fid, struct weft_socket_address *out)
{
    size_t bytes = sizeof(out->at);

    memset(out, 0, sizeof(*out));
    return fi_getname(fid, &out->at, &bytes) == 0;
}

bool weft_socket_address_of_peer(struct fid_ep *ep, struct weft_socket_address *out)
{
    size_t bytes = sizeof(out->at);

    memset(out, 0, sizeof(*out));
    return fi_getpeer(ep, &out->at, &bytes) == 0;
}

static bool is_at(int fd, const struct weft_socket_address *address)
{
    struct weft_socket_address found = {.at.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof(found.at);

    return getsockname(fd, (struct sockaddr *)&found.at, &bytes) == 0 &&
           is_same(&found, address);
}

static bool is_connected_to(int fd, const struct weft_socket_address *peer)
{
    struct weft_socket_address found = {.at.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof(found.at);

    return getpeername(fd, (struct sockaddr *)&found.at, &bytes) == 0 &&
           is_same(&found, peer);
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

static bool is_it(int fd, const struct weft_socket_address *at,
                  const struct weft_socket_address *peer)
{
    return is_at(fd, at) && (peer == NULL || is_connected_to(fd, peer));
}

int weft_descriptors_find(struct weft_descriptors *d,
                          const struct weft_socket_address *at,
                          const struct weft_socket_address *peer)
{
    for (int fd = d->last_found; fd < d->last_found + NEAR; fd++) {
        if (is_it(fd, at, peer)) {
            d->last_found = fd;
            return fd;
        }
    }
    rewinddir(d->all);
    for (int fd; (fd = next_descriptor(d->all)) >= 0;) {
        if (is_it(fd, at, peer)) {
            d->last_found = fd;
            return fd;
        }
    }
    return -1;
}

/* Is it at one of the addresses where we listen? */
static bool is_ours(const struct weft_descriptors *d, int fd)
{
    for (int i = 0; i < d->listener_count; i++) {
        if (is_at(fd, &d->listeners[i])) {
            return true;
        }
    }
    return false;
}

void weft_descriptors_for_all(struct weft_descriptors *d,
                              void (*call)(void *argument, int fd), void *argument)
{
    rewinddir(d->all);
    for (int fd; (fd = next_descriptor(d->all)) >= 0;) {
        if (is_ours(d, fd)) {
            call(argument, fd);
        }
    }
}

/* ---- close-on-exec ---- */

void weft_close_on_exec(int fd)
{
    const int flags = fd >= 0 ? fcntl(fd, F_GETFD) : -1;

    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) {
        (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    }
}

void weft_descriptors_note(struct weft_descriptors *d, struct weft_noted_sockets *noted)
{
    struct stat about;

    *noted = (struct weft_noted_sockets){.all = NULL};
    rewinddir(d->all);
    for (int fd; (fd = next_descriptor(d->all)) >= 0;) {
        uint64_t *more;

        if (fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) {
            continue;
        }
        more = realloc(noted->all, (noted->count + 1) * sizeof(*more));
        if (more == NULL) {
            return;
        }
        noted->all = more;
        noted->all[noted->count++] = about.st_ino;
    }
}

static bool is_noted(const struct weft_noted_sockets *noted, uint64_t inode)
{
    for (size_t i = 0; i < noted->count; i++) {
        if (noted->all[i] == inode) {
            return true;
        }
    }
    return false;
}

void weft_descriptors_close_new_on_exec(struct weft_descriptors *d,
                                        struct weft_noted_sockets *noted)
{
    struct stat about;

    rewinddir(d->all);
    for (int fd; (fd = next_descriptor(d->all)) >= 0;) {
        if (fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) &&
            !is_noted(noted, about.st_ino)) {
            weft_close_on_exec(fd);
        }
    }
    free(noted->all);
}
