/*
 * control.c - see control.h. Every message is its length in eight bytes, then the bytes.
 */
#include "gauge/start/control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool gauge_write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

bool gauge_read_all(int fd, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t n = recv(fd, at, size, 0);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool put(int fd, const void *bytes, size_t size)
{
    uint64_t length = size;

    return gauge_write_all(fd, &length, sizeof(length)) &&
           gauge_write_all(fd, bytes, size);
}

static bool take(int fd, void *bytes, size_t size)
{
    uint64_t length = 0;

    return gauge_read_all(fd, &length, sizeof(length)) && length == size &&
           gauge_read_all(fd, bytes, size);
}

static enum gauge_rc left(int end)
{
    return gauge_fail("end %d has left the run", end);
}

enum gauge_rc gauge_control_open(struct gauge_control *control, int end, int ends,
                                 const int *fd)
{
    int streams = end == 0 ? ends : 1;

    *control = (struct gauge_control){.end = end, .ends = ends};
    control->fd = calloc((size_t)streams, sizeof(*control->fd));
    control->host = calloc((size_t)ends, sizeof(*control->host));
    if (control->fd == NULL || control->host == NULL) {
        free(control->fd);
        free(control->host);
        return gauge_fail("no memory for %d ends", ends);
    }
    for (int i = 0; i < streams; i++) {
        control->fd[i] = end == 0 && i == 0 ? -1 : fd[i];
    }
    return GAUGE_OK;
}

void gauge_control_close(struct gauge_control *control)
{
    for (int i = 0; i < (control->end == 0 ? control->ends : 1); i++) {
        if (control->fd[i] >= 0) {
            close(control->fd[i]);
        }
    }
    free(control->fd);
    free(control->host);
}

/* Appends what end `from` sends. */
static bool append(int fd, char **all, size_t *total, size_t *size)
{
    uint64_t length = 0;
    char *grown = NULL;

    if (!gauge_read_all(fd, &length, sizeof(length))) {
        return false;
    }
    grown = realloc(*all, *total + length + 1);
    if (grown == NULL) {
        return false;
    }
    *all = grown;
    *size = length;
    *total += length;
    return gauge_read_all(fd, grown + *total - length, length);
}

enum gauge_rc gauge_control_gather(struct gauge_control *control, const void *mine,
                                   size_t size, void **all, size_t *sizes)
{
    char *bytes = NULL;
    size_t total = size;

    if (control->end != 0) {
        return put(control->fd[0], mine, size) ? GAUGE_OK : left(0);
    }
    bytes = malloc(size + 1);
    if (bytes == NULL) {
        return gauge_fail("no memory for %zu bytes", size);
    }
    if (size > 0) {
        memcpy(bytes, mine, size);
    }
    sizes[0] = size;
    for (int i = 1; i < control->ends; i++) {
        if (!append(control->fd[i], &bytes, &total, &sizes[i])) {
            free(bytes);
            return left(i);
        }
    }
    *all = bytes;
    return GAUGE_OK;
}

enum gauge_rc gauge_control_share(struct gauge_control *control, void *bytes, size_t size)
{
    if (control->end != 0) {
        return take(control->fd[0], bytes, size) ? GAUGE_OK : left(0);
    }
    for (int i = 1; i < control->ends; i++) {
        if (!put(control->fd[i], bytes, size)) {
            return left(i);
        }
    }
    return GAUGE_OK;
}

enum gauge_rc gauge_control_share_text(struct gauge_control *control, char **text,
                                       size_t *size)
{
    enum gauge_rc rc = gauge_control_share(control, size, sizeof(*size));

    if (rc == GAUGE_OK && control->end != 0) {
        *text = malloc(*size + 1);
        if (*text == NULL) {
            return gauge_fail("no memory for %zu bytes", *size);
        }
        (*text)[*size] = '\0';
    }
    return rc == GAUGE_OK ? gauge_control_share(control, *text, *size) : rc;
}

enum gauge_rc gauge_control_exchange(struct gauge_control *control, const void *mine,
                                     size_t size, void *all)
{
    if (control->end != 0) {
        if (!put(control->fd[0], mine, size)) {
            return left(0);
        }
    } else {
        if (size > 0) {
            memcpy(all, mine, size);
        }
        for (int i = 1; i < control->ends; i++) {
            if (!take(control->fd[i], (char *)all + (size_t)i * size, size)) {
                return left(i);
            }
        }
    }
    return gauge_control_share(control, all, size * (size_t)control->ends);
}

enum gauge_rc gauge_control_barrier(struct gauge_control *control)
{
    return gauge_control_exchange(control, "", 0, "");
}

/* The address at the other side of a stream; one machine's own ends are on loopback. */
static void name_peer(int fd, char *host)
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof(peer);

    strcpy(host, "127.0.0.1");
    if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
        (peer.ss_family == AF_INET || peer.ss_family == AF_INET6)) {
        getnameinfo((struct sockaddr *)&peer, length, host, GAUGE_HOST, NULL, 0,
                    NI_NUMERICHOST);
    }
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

enum gauge_rc gauge_control_introduce(struct gauge_control *control)
{
    size_t size = (size_t)control->ends * sizeof(*control->host);
    enum gauge_rc rc = GAUGE_OK;

    strcpy(control->host[0], "127.0.0.1");
    for (int i = 1; control->end == 0 && i < control->ends; i++) {
        name_peer(control->fd[i], control->host[i]);
    }
    rc = gauge_control_share(control, control->host, size);
    if (rc != GAUGE_OK || control->end == 0) {
        return rc;
    }
    /* What is loopback for end 0 is where end 0 is, for us. */
    for (int i = control->ends - 1; i >= 0; i--) {
        if (is_loopback(control->host[i])) {
            name_peer(control->fd[0], control->host[i]);
        }
    }
    return GAUGE_OK;
}
