/*
 * sockets.c - descriptors of sockets that libfabric has made.
 *
 * libfabric gives no descriptor of an endpoint away, and makes all of them without
 * close-on-exec. It tells the address of an endpoint, which no other socket of the
 * process has together with its peer's; so we look for the socket that has both. Sockets
 * are made at the lowest free number, so the next one is searched for near the last that
 * was found, and in the list of all descriptors otherwise.
 */
#include "transport/ofi/msg/msg.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEAR = 16 }; /* numbers from the last one on that are tried first */

static bool is_same(const struct weft_msg_place *a, const struct weft_msg_place *b)
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

bool weft_msg_place_of(struct fid *fid, struct weft_msg_place *out)
{
    size_t bytes = sizeof(out->at);

    memset(out, 0, sizeof(*out));
    return fi_getname(fid, &out->at, &bytes) == 0;
}

bool weft_msg_place_of_peer(struct fid_ep *ep, struct weft_msg_place *out)
{
    size_t bytes = sizeof(out->at);

    memset(out, 0, sizeof(*out));
    return fi_getpeer(ep, &out->at, &bytes) == 0;
}

static bool is_at(int fd, const struct weft_msg_place *place)
{
    struct weft_msg_place found = {.at.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof(found.at);

    return getsockname(fd, (struct sockaddr *)&found.at, &bytes) == 0 &&
           is_same(&found, place);
}

static bool is_connected_to(int fd, const struct weft_msg_place *peer)
{
    struct weft_msg_place found = {.at.ss_family = AF_UNSPEC};
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

static bool is_it(int fd, const struct weft_msg_place *at,
                  const struct weft_msg_place *peer)
{
    return is_at(fd, at) && (peer == NULL || is_connected_to(fd, peer));
}

int weft_msg_find_socket(struct weft_transport *tp, const struct weft_msg_place *at,
                         const struct weft_msg_place *peer)
{
    for (int fd = tp->last_found; fd < tp->last_found + NEAR; fd++) {
        if (is_it(fd, at, peer)) {
            tp->last_found = fd;
            return fd;
        }
    }
    rewinddir(tp->all_descriptors);
    for (int fd; (fd = next_descriptor(tp->all_descriptors)) >= 0;) {
        if (is_it(fd, at, peer)) {
            tp->last_found = fd;
            return fd;
        }
    }
    return -1;
}

/* Is it at one of the addresses where we listen? */
static bool is_ours(const struct weft_transport *tp, int fd)
{
    for (int i = 0; i < tp->listener_count; i++) {
        if (is_at(fd, &tp->places[i])) {
            return true;
        }
    }
    return false;
}

void weft_msg_for_all_sockets(struct weft_transport *tp,
                              void (*call)(struct weft_transport *tp, int fd))
{
    rewinddir(tp->all_descriptors);
    for (int fd; (fd = next_descriptor(tp->all_descriptors)) >= 0;) {
        if (is_ours(tp, fd)) {
            call(tp, fd);
        }
    }
}

/* ---- close-on-exec ---- */

void weft_msg_close_on_exec(int fd)
{
    const int flags = fd >= 0 ? fcntl(fd, F_GETFD) : -1;

    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) {
        (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    }
}

void weft_msg_note_sockets(struct weft_transport *tp, struct weft_msg_noted *noted)
{
    struct stat about;

    *noted = (struct weft_msg_noted){.all = NULL};
    rewinddir(tp->all_descriptors);
    for (int fd; (fd = next_descriptor(tp->all_descriptors)) >= 0;) {
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

static bool is_noted(const struct weft_msg_noted *noted, uint64_t inode)
{
    for (size_t i = 0; i < noted->count; i++) {
        if (noted->all[i] == inode) {
            return true;
        }
    }
    return false;
}

void weft_msg_close_new_on_exec(struct weft_transport *tp, struct weft_msg_noted *noted)
{
    struct stat about;

    rewinddir(tp->all_descriptors);
    for (int fd; (fd = next_descriptor(tp->all_descriptors)) >= 0;) {
        if (fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) &&
            !is_noted(noted, about.st_ino)) {
            weft_msg_close_on_exec(fd);
        }
    }
    free(noted->all);
}
