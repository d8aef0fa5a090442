#include "top_ask.h"

#include "top.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- text ---- */

/* Bytes that follow the first one of a character in UTF-8; -1: it is no first one. */
static int followers(unsigned char first)
{
    return first < 0x80                     ? 0
           : first >= 0xc2 && first <= 0xdf ? 1
           : first >= 0xe0 && first <= 0xef ? 2
           : first >= 0xf0 && first <= 0xf4 ? 3
                                            : -1;
}

/* The length of the printable character that begins here; 0: there is none. */
static size_t character(const unsigned char *at, size_t left)
{
    const int more = followers(*at);

    if (more < 0 || (size_t)more >= left || (*at < ' ' && *at != '\n') || *at == 0x7f ||
        (*at == 0xc2 && at[1] < 0xa0)) { /* U+0080 to U+009F are control characters */
        return 0;
    }
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return (size_t)more + 1;
}

void top_make_printable(char *text, size_t bytes)
{
    size_t at = 0;

    while (at < bytes) {
        const size_t length = character((const unsigned char *)text + at, bytes - at);

        if (length == 0) {
            text[at++] = '?';
        }
        at += length;
    }
}

/* ---- a connection ---- */

/* Says by the name of our socket that we want stacks, too. */
static bool want_stacks(int fd)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    static unsigned count;
    const int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                           TOP_STACKS "%d-%u", (int)getpid(), count++);

    return bind(fd, (struct sockaddr *)&name,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0;
}

/* Who has called listen() at the other end; false: a user whom we do not trust. */
static bool is_trusted(int fd, uid_t *user)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        return false;
    }
    *user = peer.uid;
    return peer.uid == geteuid() || geteuid() == 0;
}

/* Does not block, whatever the listener does: a full queue is tried again. If this fails
 * in the end, errno is EAGAIN. */
static bool connect_to(int fd, int pid, int times)
{
    struct sockaddr_un address;
    const socklen_t length = top_address(&address, pid);

    for (int i = 0; i < times; i++) {
        const struct timespec moment = {.tv_nsec = 50000000};

        if (connect(fd, (struct sockaddr *)&address, length) == 0) {
            return true;
        }
        if (errno != EAGAIN) {
            return false;
        }
        nanosleep(&moment, NULL);
    }
    errno = EAGAIN;
    return false;
}

/* A connection to a job that this user may ask; -1: there is none, or, if errno is
 * EAGAIN, its queue is full. */
static int open_job(int pid, bool has_stacks, int times, uid_t *user)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error;

    errno = 0;
    if (fd >= 0 && (!has_stacks || want_stacks(fd)) && connect_to(fd, pid, times) &&
        is_trusted(fd, user)) {
        return fd;
    }
    error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return -1;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum top_result top_ask(int pid, bool has_stacks, struct bytes *text)
{
    const int64_t end = now_ms() + TOP_PATIENCE_MS;
    uid_t user;
    const int fd = open_job(pid, has_stacks, 20, &user);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char part[4096];
    ssize_t n = 1;

    text->count = 0;
    if (fd < 0) {
        return errno == EAGAIN ? TOP_SILENT : TOP_NO_JOB;
    }
    while (n > 0 && text->count < TOP_BYTES_MOST && now_ms() < end) {
        n = poll(&p, 1, (int)(end - now_ms())) > 0 ? read(fd, part, sizeof(part)) : -1;
        if (n > 0) {
            bytes_add(text, part, (size_t)n);
        }
    }
    close(fd);
    top_make_printable(text->at, text->count);
    if (n >= 0 && text->count > 0) {
        return TOP_TOLD;
    }
    return n < 0 && now_ms() >= end ? TOP_SILENT : TOP_NO_JOB;
}

/* ---- jobs ---- */

static bool is_listed(const struct top_job *jobs, int count, int pid)
{
    for (int i = 0; i < count; i++) {
        if (jobs[i].pid == pid) {
            return true;
        }
    }
    return false;
}

int top_find_jobs(struct top_job *jobs)
{
    FILE *file = fopen("/proc/net/unix", "re");
    char line[512];
    int count = 0;

    while (file != NULL && count < TOP_JOBS_MOST &&
           fgets(line, sizeof(line), file) != NULL) {
        const char *name = strstr(line, "@" TOP_NAME);
        const int pid = name != NULL ? atoi(name + strlen("@" TOP_NAME)) : 0;
        uid_t user = 0;
        int fd;

        /* A connection has the name of its socket, and is listed as well. */
        if (pid <= 0 || is_listed(jobs, count, pid)) {
            continue;
        }
        fd = open_job(pid, false, 2, &user);
        if (fd >= 0) {
            close(fd);
            jobs[count++] = (struct top_job){pid, user};
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}
