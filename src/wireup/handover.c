#include "wireup/handover.h"

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/texts.h"
#include "wireup/backing.h"
#include "wireup/passing.h"
#include "wireup/same.h"
#include "wireup/secret.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME_BYTES = 32,           /* 16 random bytes in hexadecimal */
    CLOSED = 1 << 30,          /* in `attached`: too late to join */
    DEADLINE_MS = 3000,        /* for the file, which only few jobs need */
    LEAST_OF_A_RANK = 1 << 20, /* bytes of the file that a rank may well touch */
};

/*
 * Where the ranks of a node find the segment, as the leader publishes it. Anyone can list
 * the names of sockets, so that of the file cannot be found from it.
 */
struct names {
    char socket[NAME_BYTES + 1];
    char file[NAME_BYTES + 1];
};

/* ---- making it ---- */

/*
 * All nodes of a job find the same number, from the launcher's name for it; a job of one
 * without a launcher draws its own. It is never 0.
 */
static uint32_t number_of(const struct weft_who *who)
{
    uint32_t number = 0;

    if (who->job[0] != '\0') {
        number = weft_crc32c(who->job, strlen(who->job));
    } else if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
        number = (uint32_t)getpid();
    }
    return number != 0 ? number : 1;
}

static enum weft_rc make(const struct weft_kvs_ops *kvs, const struct weft_who *who,
                         struct weft_segment *out)
{
    const struct weft_segment_plan plan = {
        .job = number_of(who),
        .job_size = (uint32_t)who->size,
        .node_count = (uint32_t)who->node_count,
        .node = (uint32_t)who->node,
        .local_size = (uint32_t)who->local_size,
    };
    enum weft_rc rc = weft_segment_create(&plan, out);
    struct weft_location *map;
    uint32_t at = 0;

    if (rc != WEFT_OK) {
        return rc;
    }
    map = weft_segment_map(out);
    rc = kvs->locations(who, map);
    if (rc != WEFT_OK) {
        weft_segment_close(out);
        return rc;
    }
    for (int r = 0; r < who->size && at < out->header->local_size; r++) {
        if (map[r].node == out->header->node) {
            weft_segment_plan_slot(out, at++, (uint32_t)r);
        }
    }
    return WEFT_OK;
}

enum weft_rc weft_handover_alone(struct weft_who *who, struct weft_segment *out)
{
    const struct weft_segment_plan plan = {
        .job = number_of(who),
        .job_size = (uint32_t)who->size,
        .node_count = (uint32_t)who->node_count,
        .node = (uint32_t)who->node,
        .local_size = 1,
    };
    enum weft_rc rc = weft_segment_create(&plan, out);

    if (rc != WEFT_OK) {
        return rc;
    }
    weft_segment_map(out)[who->rank].node = plan.node;
    who->local_rank = 0;
    who->local_size = 1;
    who->leader = who->rank;
    weft_segment_plan_slot(out, 0, (uint32_t)who->rank);
    weft_segment_join(out, 0);
    return WEFT_OK;
}

/* The map of one that shares no memory: the nodes are as all others see them, but nobody
 * else has a slot here. */
static enum weft_rc locate(const struct weft_kvs_ops *kvs, const struct weft_who *who,
                           const struct weft_segment *segment)
{
    struct weft_location *map = weft_segment_map(segment);
    const enum weft_rc rc = kvs->locations(who, map);

    map[who->rank].local_rank = 0;
    return rc;
}

/* ---- the socket ---- */

static socklen_t abstract_name(struct sockaddr_un *address, const char *name)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "weft-%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       strlen(address->sun_path + 1));
}

static bool is_same_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

static int listen_at(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = abstract_name(&address, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, length) != 0 ||
                    listen(fd, SOMAXCONN) != 0)) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        weft_log_error(WEFT_S_SEGMENT_LISTEN, strerror(errno));
    }
    return fd;
}

static void send_descriptor(int to, int fd)
{
    if (weft_pass_descriptor(to, "w", 1, fd, 0) < 0) {
        weft_log_info("cannot hand the job segment over: %s", strerror(errno));
    }
}

/* The descriptor that comes with the next byte, or -1. */
static int receive_descriptor(int from)
{
    char byte;
    int fd;

    return weft_take_descriptor(from, &byte, 1, &fd) == 1 ? fd : -1;
}

/* The leader's thread during Init: gives the descriptor to whoever comes. */
struct server {
    int listener;
    int fd;
};

static void *serve(void *arg)
{
    const struct server *s = arg;

    for (;;) {
        int peer = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

        if (peer < 0) {
            if (errno == EINTR || errno == ECONNABORTED) {
                continue;
            }
            return NULL; /* shut down: everyone had their turn */
        }
        if (is_same_user(peer)) {
            send_descriptor(peer, s->fd);
        }
        close(peer);
    }
}

static enum weft_rc attach_by_socket(const char *name, struct weft_segment *out)
{
    struct sockaddr_un address;
    socklen_t length = abstract_name(&address, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval patience = {.tv_sec = DEADLINE_MS / 1000, .tv_usec = 0};
    int segment = -1;
    enum weft_rc rc = WEFT_ERR_SYSTEM;

    if (fd < 0) {
        return WEFT_ERR_SYSTEM;
    }
    /* A leader that has run out of descriptors cannot answer: the file is next. */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&address, length) == 0 && is_same_user(fd)) {
        segment = receive_descriptor(fd);
    }
    close(fd);
    if (segment >= 0) {
        rc = weft_segment_attach(segment, out);
        if (rc != WEFT_OK) {
            close(segment);
        }
    }
    return rc;
}

/* ---- the file ---- */

static void file_name(char *path, size_t size, const char *name)
{
    snprintf(path, size, "/dev/shm/weft-%s", name);
}

/* Reserves all pages, so that a full /dev/shm is no SIGBUS later. Where it is too small
 * for that, most jobs still do: they touch far less. */
static bool has_pages(int fd, const struct weft_segment *segment)
{
    const uint64_t all = segment->slices_at + segment->slice_bytes * segment->local_size;

    return weft_backing_reserve(fd, all) ||
           (errno == ENOSPC &&
            weft_backing_has_room(fd, LEAST_OF_A_RANK * segment->local_size));
}

/* Makes an empty segment as a file: written aside, then renamed, so nobody sees half. */
static enum weft_rc make_file(const char *name, struct weft_segment *segment)
{
    char path[64];
    char aside[72];
    int fd;

    file_name(path, sizeof(path), name);
    snprintf(aside, sizeof(aside), "%s.new", path);
    fd = open(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        weft_log_info("%s: %s", aside, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    /* What precedes the slices is all that is not zero. */
    atomic_store_explicit(&segment->header->attached, 0, memory_order_relaxed);
    if (ftruncate(fd, (off_t)segment->header->bytes) != 0 || !has_pages(fd, segment) ||
        pwrite(fd, segment->header, segment->header->slices_at, 0) !=
            (ssize_t)segment->header->slices_at ||
        rename(aside, path) != 0) {
        weft_log_info("%s: %s", path, strerror(errno));
        unlink(aside);
        close(fd);
        return WEFT_ERR_SYSTEM;
    }
    close(fd);
    return WEFT_OK;
}

static void pause_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* Another user who can write to the file could forge messages. */
static enum weft_rc attach_own_file(const char *path, int fd, struct weft_segment *out)
{
    enum weft_rc rc = WEFT_ERR_SYSTEM;

    if (!weft_segment_is_private(fd)) {
        weft_log_error(WEFT_S_SEGMENT_USER, path);
    } else {
        rc = weft_segment_attach(fd, out);
    }
    if (rc != WEFT_OK) {
        close(fd);
    }
    return rc;
}

/* Opens the leader's file as soon as it is there. */
static enum weft_rc attach_by_file(const char *name, struct weft_segment *out)
{
    const uint64_t end = weft_clock_ns() + DEADLINE_MS * UINT64_C(1000000);
    char path[64];

    file_name(path, sizeof(path), name);
    do {
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

        if (fd >= 0) {
            return attach_own_file(path, fd, out);
        }
        pause_ms(1);
    } while (weft_clock_ns() < end);
    return WEFT_ERR_SYSTEM;
}

/*
 * Joins, unless it is too late; then waits until all have, or until the leader, whose
 * patience decides, closes the list. Returns false for a latecomer.
 */
static bool join(struct weft_segment *segment, const struct weft_who *who)
{
    const bool is_leader = who->rank == who->leader;
    _Atomic uint32_t *attached = &segment->header->attached;
    const uint64_t end = weft_clock_ns() + DEADLINE_MS * UINT64_C(1000000);
    uint32_t count = weft_segment_join(segment, (uint32_t)who->local_rank);

    if ((count & CLOSED) != 0) {
        atomic_store_explicit(
            &weft_segment_slot(segment, (uint32_t)who->local_rank)->state,
            WEFT_SLOT_PLANNED, memory_order_relaxed);
        return false;
    }
    weft_futex_wake(attached, 1 << 20);
    while ((count & CLOSED) == 0 && count < segment->header->local_size) {
        if (is_leader && weft_clock_ns() >= end) {
            atomic_fetch_or_explicit(attached, CLOSED, memory_order_acq_rel);
            weft_futex_wake(attached, 1 << 20);
            break;
        }
        weft_futex_wait(attached, count, 10000000);
        count = atomic_load_explicit(attached, memory_order_acquire);
    }
    return true;
}

static enum weft_rc share_file(const char *name, const struct weft_who *who,
                               struct weft_segment *out)
{
    const bool is_leader = who->rank == who->leader;
    struct weft_segment file = {.fd = -1};
    enum weft_rc rc = is_leader ? make_file(name, out) : WEFT_OK;

    if (rc == WEFT_OK) {
        rc = attach_by_file(name, &file);
    }
    if (rc == WEFT_OK && !join(&file, who)) {
        weft_segment_close(&file);
        rc = WEFT_ERR_SYSTEM;
    }
    if (is_leader) {
        char path[64];

        file_name(path, sizeof(path), name);
        unlink(path);
    }
    if (rc == WEFT_OK) {
        weft_segment_close(out);
        *out = file;
    }
    return rc;
}

/* ---- the ladder ---- */

static enum weft_rc random_name(char *name)
{
    unsigned char bytes[NAME_BYTES / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        weft_log_error(WEFT_S_RANDOM, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(name + 2 * i, 3, "%02x", bytes[i]);
    }
    return WEFT_OK;
}

static enum weft_rc random_names(struct names *names)
{
    enum weft_rc rc = random_name(names->socket);

    return rc == WEFT_OK ? random_name(names->file) : rc;
}

/* One word holds both. */
static enum weft_rc publish_names(const struct weft_kvs_ops *kvs, const char *key,
                                  const struct names *names)
{
    char value[2 * NAME_BYTES + 1];

    snprintf(value, sizeof(value), "%s%s", names->socket, names->file);
    return kvs->put(key, value);
}

static bool read_names(const char *value, struct names *names)
{
    if (strlen(value) != 2 * NAME_BYTES ||
        strspn(value, "0123456789abcdef") != 2 * NAME_BYTES) {
        return false; /* it becomes a path */
    }
    snprintf(names->socket, sizeof(names->socket), "%.*s", NAME_BYTES, value);
    snprintf(names->file, sizeof(names->file), "%.*s", NAME_BYTES, value + NAME_BYTES);
    return true;
}

static uint32_t attached_count(const struct weft_segment *segment)
{
    return atomic_load_explicit(&segment->header->attached, memory_order_acquire) &
           ~(uint32_t)CLOSED;
}

/* The leader's part until everyone has tried the socket. */
static enum weft_rc lead(const struct weft_kvs_ops *kvs, const struct weft_who *who,
                         const char *key, struct names *names, struct weft_segment *out)
{
    struct server server = {.listener = -1, .fd = -1};
    pthread_t thread;
    enum weft_rc rc = random_names(names);

    assert(who->rank == who->leader);
    if (rc == WEFT_OK) {
        rc = make(kvs, who, out);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    server.fd = out->fd;
    server.listener = listen_at(names->socket);
    if (server.listener < 0 || pthread_create(&thread, NULL, serve, &server) != 0) {
        weft_segment_close(out);
        return WEFT_ERR_SYSTEM;
    }
    rc = publish_names(kvs, key, names);
    if (rc == WEFT_OK && who->rank == 0) {
        rc = weft_secret_leave(kvs, out);
    }
    if (rc == WEFT_OK && who->rank == 0) {
        rc = weft_same_leave(kvs);
    }
    if (rc == WEFT_OK) {
        rc = kvs->fence(true); /* the name is known, and the rest to other nodes */
    }
    if (rc == WEFT_OK && who->rank != 0) {
        rc = weft_secret_take(kvs, out);
    }
    weft_segment_join(out, (uint32_t)who->local_rank);
    if (rc == WEFT_OK) {
        rc = kvs->fence(false); /* everyone has tried */
    }
    shutdown(server.listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(server.listener);
    return rc;
}

static enum weft_rc follow(const struct weft_kvs_ops *kvs, const struct weft_who *who,
                           const char *key, struct names *names, struct weft_segment *out)
{
    char value[WEFT_KVS_VALUE_MAX + 1];
    enum weft_rc rc = kvs->fence(true);

    assert(who->rank != who->leader);
    if (rc != WEFT_OK) {
        return rc;
    }
    rc = kvs->get(who->leader, key, value);
    if (rc != WEFT_OK || !read_names(value, names)) {
        weft_log_error(WEFT_S_SEGMENT_NONE, who->leader);
        return WEFT_ERR_LAUNCH;
    }
    if (attach_by_socket(names->socket, out) == WEFT_OK) {
        weft_segment_join(out, (uint32_t)who->local_rank);
    }
    return kvs->fence(false);
}

enum weft_rc weft_handover(const struct weft_kvs_ops *kvs, struct weft_who *who,
                           struct weft_segment *out)
{
    const bool is_leader = who->rank == who->leader;
    char key[32];
    struct names names;
    enum weft_rc rc;

    assert(who->local_rank >= 0 && who->local_rank < who->local_size);
    out->header = NULL;
    snprintf(key, sizeof(key), "weft-segment-%d", who->node);
    rc =
        is_leader ? lead(kvs, who, key, &names, out) : follow(kvs, who, key, &names, out);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (out->header != NULL && attached_count(out) == out->header->local_size) {
        return WEFT_OK;
    }
    if (share_file(names.file, who, out) == WEFT_OK) {
        return WEFT_OK;
    }
    if (out->header != NULL && attached_count(out) > 1) {
        return WEFT_OK; /* at least some of us share a segment */
    }
    weft_segment_close(out);
    weft_log_info("no memory can be shared with the other ranks of this node");
    rc = weft_handover_alone(who, out);
    if (rc == WEFT_OK) {
        rc = locate(kvs, who, out);
    }
    return rc == WEFT_OK ? weft_secret_take(kvs, out) : rc;
}
