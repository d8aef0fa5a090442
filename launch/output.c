#include "output.h"

#include "habits.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Room that must be free before a stream may be read: a full line, its label, a break. */
enum { RESERVE = STREAM_BYTES + 64 };

/* For how long others wait for a rank in a long line: that is silent, and in all. */
static const uint64_t SILENCE_NS = UINT64_C(1000000000);
static const uint64_t TURN_NS = UINT64_C(5000000000);

/* ---- writing ---- */

/* Writes to a terminal that blocks, in a thread that lives as long as the process. */
struct writer {
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    int fd;
    int error; /* errno of a write; 0: none has failed */
    size_t count;
    char text[STREAM_BYTES];
};

/* Another program may have made the terminal nonblocking. */
static bool await_room(int fd)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};

    return poll(&room, 1, -1) >= 0 || errno == EINTR;
}

static bool write_whole(int fd, const char *text, size_t n)
{
    while (n > 0) {
        const ssize_t written = write(fd, text, n);

        if (written < 0 && errno != EINTR && (errno != EAGAIN || !await_room(fd))) {
            return false;
        }
        text += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static void *write_on(void *arg)
{
    struct writer *writer = arg;

    pthread_mutex_lock(&writer->lock);
    for (;;) {
        size_t n;
        bool is_written;

        while (writer->count == 0) {
            pthread_cond_wait(&writer->has_work, &writer->lock);
        }
        n = writer->count;
        pthread_mutex_unlock(&writer->lock); /* nothing is added while `count` is not 0 */
        is_written = write_whole(writer->fd, writer->text, n);
        pthread_mutex_lock(&writer->lock);
        writer->error = is_written ? 0 : errno;
        writer->count = 0;
    }
    return NULL;
}

/* NULL if there can be no thread. */
static struct writer *make_writer(int fd)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    int error;

    if (writer == NULL) {
        return NULL;
    }
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->has_work, NULL);
    writer->fd = fd;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    error = pthread_create(&thread, NULL, write_on, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        free(writer);
        return NULL;
    }
    pthread_detach(thread);
    return writer;
}

static bool is_writing(struct writer *writer)
{
    bool is_so;

    if (writer == NULL) {
        return false;
    }
    pthread_mutex_lock(&writer->lock);
    is_so = writer->count > 0;
    pthread_mutex_unlock(&writer->lock);
    return is_so;
}

/* As write() on a descriptor that does not block. */
static ssize_t hand_over(struct writer *writer, const char *text, size_t n)
{
    int error;

    n = n < sizeof(writer->text) ? n : sizeof(writer->text);
    pthread_mutex_lock(&writer->lock);
    error = writer->count > 0 ? EAGAIN : writer->error;
    if (error == 0) {
        memcpy(writer->text, text, n);
        writer->count = n;
        pthread_cond_signal(&writer->has_work);
    }
    pthread_mutex_unlock(&writer->lock);
    errno = error;
    return error == 0 ? (ssize_t)n : -1;
}

/* The file of `fd` once more, as one that does not block; -1: it cannot be had. */
static int open_again(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void sink_open(struct sink *sink, int fd)
{
    struct stat st = {.st_mode = 0};
    int own = -1;

    memset(sink, 0, sizeof(*sink));
    (void)fstat(fd, &st);
    sink->is_terminal = isatty(fd) == 1;
    sink->is_socket = S_ISSOCK(st.st_mode);
    if (sink->is_terminal || S_ISFIFO(st.st_mode)) {
        own = open_again(fd);
    }
    sink->fd = own >= 0 ? own : fd;
    sink->is_own = own >= 0;
    if (sink->is_terminal && !sink->is_own) {
        sink->writer = make_writer(fd);
    }
    sink->held = malloc(SINK_BYTES);
    if (sink->held == NULL) {
        perror("mpiexec");
        exit(1);
    }
    sink->room = SINK_BYTES;
}

bool sink_is_same(int fd, int other)
{
    struct stat a;
    struct stat b;

    return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static bool can_write(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) != 0;
}

/* As write() on a descriptor that does not block. */
static ssize_t write_some(struct sink *sink, const char *text, size_t n)
{
    assert(n > 0);
    if (sink->writer != NULL) {
        return hand_over(sink->writer, text, n);
    }
    if (sink->is_socket) {
        return send(sink->fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (!sink->is_own && !can_write(sink->fd)) {
        errno = EAGAIN;
        return -1;
    }
    /* A pipe that can be written takes this much at once. */
    return write(sink->fd, text, n < PIPE_BUF ? n : PIPE_BUF);
}

void sink_flush(struct sink *sink)
{
    size_t done = 0;
    bool has_space = true;

    while (done < sink->count && sink->error == 0 && has_space) {
        const ssize_t written = write_some(sink, sink->held + done, sink->count - done);

        if (written > 0) {
            done += (size_t)written;
        } else if (written == 0 || errno == EAGAIN) {
            has_space = false;
        } else if (errno != EINTR) {
            sink->error = errno;
        }
    }
    if (sink->error != 0) {
        done = sink->count;
    }
    sink->count -= done;
    memmove(sink->held, sink->held + done, sink->count);
    sink->is_waiting = sink->count > 0 || is_writing(sink->writer);
    if (!sink->is_waiting) {
        sink->waiting_since = 0;
    } else if (done > 0 || sink->waiting_since == 0) {
        sink->waiting_since = weft_clock_ns();
    }
}

/* ---- what is to be written ---- */

/* Labels before very short lines can make more of a full buffer than was kept free. */
static void grow(struct sink *sink, size_t room)
{
    char *grown = realloc(sink->held, room);

    if (grown != NULL) {
        sink->held = grown;
        sink->room = room;
    }
}

static void sink_add(struct sink *sink, const char *text, size_t n)
{
    if (n > sink->room - sink->count) {
        grow(sink, 2 * sink->room + n);
    }
    while (n > 0) {
        size_t room = sink->room - sink->count;
        size_t part = n < room ? n : room;

        memcpy(sink->held + sink->count, text, part);
        sink->count += part;
        text += part;
        n -= part;
        if (n > 0) { /* no memory: now we have to wait for the reader */
            struct pollfd p = {.fd = sink->fd, .events = POLLOUT};

            poll(&p, 1, 1000);
            sink_flush(sink);
        }
    }
}

/* What has been said of an unfinished line stays alone; the rest will start anew. */
static void break_line(struct sink *sink)
{
    if (sink->is_mid_line) {
        sink_add(sink, "\n", 1);
        sink->is_mid_line = false;
        sink->last->is_label_due = true;
    }
}

/*
 * Writes to the rank's own file, which is made with the first text. False: it cannot be
 * written; one line says so, and the text goes to the sink from now on.
 */
static bool write_file(struct stream *stream, const char *text, size_t n)
{
    char line[4096];

    if (!stream->has_file) {
        stream->file = habits_open_output(stream->pattern, stream->rank);
        stream->has_file = stream->file >= 0;
    }
    while (stream->has_file && n > 0) {
        const ssize_t written = write(stream->file, text, n);

        if (written < 0 && errno != EINTR) {
            break;
        }
        text += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    if (stream->has_file && n == 0) {
        return true;
    }
    n = (size_t)snprintf(line, sizeof(line), "mpiexec: rank %d: its file %.3000s: %s\n",
                         stream->rank, stream->pattern, strerror(errno));
    sink_say(stream->sink->complaints, line, n);
    stream->pattern = NULL;
    return false;
}

/* Passes `n` bytes of a stream on; they are one or more whole lines, or the rest of one.
 */
static void pass_on(struct stream *stream, const char *text, size_t n)
{
    struct sink *sink = stream->sink;

    if (n == 0 || (stream->pattern != NULL && write_file(stream, text, n))) {
        return;
    }
    if (sink->last != stream) {
        break_line(sink);
    }
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t part = end != NULL ? (size_t)(end - text) + 1 : n;

        if (stream->is_labelled && stream->is_label_due) {
            char label[32];
            int length = snprintf(label, sizeof(label), "[%d] ", stream->rank);

            sink_add(sink, label, (size_t)length);
        }
        sink_add(sink, text, part);
        stream->is_label_due = end != NULL;
        sink->is_mid_line = end == NULL;
        text += part;
        n -= part;
    }
    sink->last = stream;
    sink_flush(sink);
}

void sink_say(struct sink *sink, const char *line, size_t n)
{
    break_line(sink);
    sink_add(sink, line, n);
    sink->last = NULL;
    sink_flush(sink);
}

static bool has_room(const struct sink *sink)
{
    return sink->count + 2 * RESERVE <= SINK_BYTES;
}

static void end_turn(struct sink *sink)
{
    sink->owner->has_had_turn = true;
    sink->owner = NULL;
}

void sink_end_long_line(struct sink *sink, uint64_t now)
{
    struct stream *owner = sink->owner;

    if (owner == NULL || !sink->is_leaving_out) {
        sink->others_since = 0;
        return;
    }
    if (!has_room(sink)) { /* all wait for the reader, the owner as well */
        owner->since = now;
        sink->others_since = 0;
        return;
    }
    sink->others_since = sink->others_since == 0 ? now : sink->others_since;
    if (now - owner->since >= SILENCE_NS || now - sink->others_since >= TURN_NS) {
        end_turn(sink);
        sink->others_since = 0;
    }
}

/* Takes the first `n` bytes out of the stream's buffer. */
static void pass_on_held(struct stream *stream, size_t n)
{
    pass_on(stream, stream->text, n);
    stream->count -= n;
    memmove(stream->text, stream->text + n, stream->count);
}

bool stream_may_read(const struct stream *stream)
{
    const struct sink *sink = stream->sink;

    return (stream->fd >= 0 || stream->is_given) &&
           (sink->owner == NULL || sink->owner == stream) && has_room(sink);
}

static void give_up_sink(struct stream *stream)
{
    if (stream->sink->owner == stream) {
        stream->sink->owner = NULL;
    }
}

/* Where the last carriage return is that begins a text of its own; -1: there is none. One
 * at the very end may be half of a line end. */
static long find_return(const struct stream *stream)
{
    for (long i = (long)stream->count - 2; i >= 0; i--) {
        if (stream->text[i] == '\r' && stream->text[i + 1] != '\n') {
            return i;
        }
    }
    return -1;
}

/* A line that fills the buffer takes the sink for itself, up to a carriage return. */
static void sort_out_long(struct stream *stream)
{
    const long part = find_return(stream);

    if (part > 0 || (part == 0 && stream->count < STREAM_BYTES)) {
        pass_on_held(stream, (size_t)part);
        give_up_sink(stream);
        return;
    }
    if (stream->pattern == NULL && !stream->has_had_turn) {
        stream->sink->owner = stream;
    } else {
        give_up_sink(stream);
    }
    pass_on_held(stream, stream->count);
}

/* Whole lines go out. */
static void sort_out(struct stream *stream)
{
    const char *last = memrchr(stream->text, '\n', stream->count);

    if (last != NULL) {
        pass_on_held(stream, (size_t)(last - stream->text) + 1);
        give_up_sink(stream);
        stream->has_had_turn = false;
    }
    if (stream->count == STREAM_BYTES || stream->sink->owner == stream) {
        sort_out_long(stream);
    }
}

void stream_open_given(struct stream *stream, struct sink *sink, int rank,
                       bool is_labelled, const char *pattern, size_t *taken)
{
    *stream = (struct stream){
        .fd = -1,
        .rank = rank,
        .is_labelled = is_labelled,
        .pattern = pattern,
        .sink = sink,
        .is_given = true,
        .taken = taken,
    };
}

bool stream_is_empty(const struct stream *stream)
{
    return stream->is_given ? stream->given.count == 0 : stream->fd < 0;
}

/* From the pipe, or from what was given; as read(). */
static ssize_t take_in(struct stream *stream, char *to, size_t room)
{
    size_t n = stream->given.count < room ? stream->given.count : room;

    if (!stream->is_given) {
        return read(stream->fd, to, room);
    }
    if (n == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(to, stream->given.at, n);
    bytes_drop(&stream->given, n);
    *stream->taken += n;
    return (ssize_t)n;
}

bool stream_read(struct stream *stream)
{
    ssize_t n;

    if (stream->text == NULL) {
        stream->text = malloc(STREAM_BYTES);
        if (stream->text == NULL) {
            return true; /* later */
        }
        stream->is_label_due = true;
    }
    n = take_in(stream, stream->text + stream->count, STREAM_BYTES - stream->count);
    if (n == 0) {
        return false;
    }
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    if (stream->count == 0) {
        stream->since = weft_clock_ns();
    }
    stream->count += (size_t)n;
    sort_out(stream);
    return true;
}

void stream_finish(struct stream *stream)
{
    if (stream->fd < 0 && !stream->is_given) {
        return;
    }
    while (stream->is_given && stream->given.count > 0 && stream->sink->error == 0) {
        stream_read(stream);
    }
    while (!stream->is_given) {
        struct pollfd p = {.fd = stream->fd, .events = POLLIN};

        if (stream->sink->error != 0 || poll(&p, 1, 0) <= 0 || !stream_read(stream)) {
            break;
        }
    }
    if (stream->count > 0) {
        pass_on_held(stream, stream->count);
    }
    give_up_sink(stream);
    if (stream->fd >= 0) {
        close(stream->fd);
        stream->fd = -1;
    }
    if (stream->has_file) {
        close(stream->file);
        stream->has_file = false;
    }
    stream->is_given = false;
    bytes_free(&stream->given);
    free(stream->text);
    stream->text = NULL;
}

void stream_prompt(struct stream *stream, uint64_t now, uint64_t ns)
{
    if (stream->count > 0 && stream->sink->is_terminal && stream->sink->owner == NULL &&
        now - stream->since >= ns) {
        pass_on_held(stream, stream->count);
    }
}
